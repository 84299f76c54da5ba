"""Kernels on images that know what an image may undergo and stay the same.

`TangentDistance` allows small changes of both images, `RotationInvariant` takes the best of all
rotations (Klein) and `Jittered` averages over shifts and rotations, which alone is proved.
"""

from __future__ import annotations

from mercer.kernels.images.invariance import Jittered, RotationInvariant
from mercer.kernels.images.tangent import TangentDistance

__all__ = ["Jittered", "RotationInvariant", "TangentDistance"]
