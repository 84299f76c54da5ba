"""φ: x ↦ (φ₁(x), φ₂(x), …), explicit feature maps as scikit-learn transformers.

Exact maps have φ(x)·φ(z) = k(x, z); approximate ones come close, at a width you choose.

================================  ==========================================================
`PolynomialMap`                   all monomials: (x·z + c)^d, exact
`PowersMap`                       x, x², …, x^p of every column
`TaylorGaussianMap`               the Gaussian's Taylor series, cut off
`RandomFourierMap`                cos and sin of random frequencies: shift-invariant kernels
`NystromMap`                      any kernel, by a sample; Mercer's eigenfunctions on it
`TensorSketchMap`                 (x·z + c)^d, hashed: wide or sparse input
`ExplicitMap`                     the map a kernel itself knows
`LearnedMetric`                   x ↦ M^½x, M learned from targets: which directions matter
`EmailFeatures`                   words, hosts, dates, senders … of mail, sparse and named
`PolarMap`                        radius and angle
`GlyphFeatures`                   loops, joints, angles and ink of a drawing
`SpectrumRepair`                  an indefinite kernel matrix made positive semi-definite
================================  ==========================================================

The names load on first use, so that the helpers here serve the kernels without scikit-learn.
"""

from __future__ import annotations

from mercer._lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
