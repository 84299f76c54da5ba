"""Sums of four products of bytes in one instruction, as AVX-VNNI and AVX-512 VNNI have it.

    accumulator[lane] += Σ over t < 4 of  a[4 lane + t] · b[4 lane + t],   a from 0 to 255, b signed

A processor takes four times as many of them as it takes multiplications in float32.
"""

from __future__ import annotations

from functools import lru_cache

from mercer._machine.lanes import Shape, processor


@lru_cache(maxsize=1)
def tile_shape() -> Shape | None:
    """The tile for this processor; None where it has no such instruction."""
    features = processor()
    if features.get("avx512vnni") and features.get("avx512f"):
        return Shape(16, 6, 4)
    return Shape(8, 3, 4) if features.get("avxvnni") else None
