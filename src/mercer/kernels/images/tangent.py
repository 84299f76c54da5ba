"""Tangent distance: two images, each of which may move a little, along straight lines."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mercer._lazy import record
from mercer._parameters import Count, Declared, Maybe, Positive, declare
from mercer._tiles import over_pairs
from mercer.formula import nodes
from mercer.formula.nodes import Formula, Input
from mercer.kernels.catalog import frozen, kernel
from mercer.kernels.claims import Claim
from mercer.kernels.core import Examples, Kernel
from mercer.kernels.images.pixels import read_images
from mercer.kernels.opaque import OpaqueKernel
from mercer.kernels.parameters.widths import Width

TRANSFORMS = ("shift", "rotate", "scale", "shear", "thickness")
#: A weak spring at both images: where tangents coincide, steps along them stay finite.
SPRING = 1e-5
#: Directions shorter than this share of the longest are rounding, not tangents.
SHORTEST = 1e-4
#: Images whose tangents are made at a time, and sizes of the blocks of pairs.
IMAGES, BLOCK_X, BLOCK_Z = 512, 32, 192


@record
class Planes:
    """An image and an orthonormal basis of its tangents, one after the other: n × (1 + T) × D."""

    vectors: np.ndarray
    #: ‖x‖² and the products of the tangents with x.
    own: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.vectors.shape

    def __getitem__(self, index: Any) -> Planes:
        return Planes(self.vectors[index], self.own[index])


def tangents(
    X: Any, shape: tuple[int, int], transforms: Any = TRANSFORMS, blur: float = 1.0
) -> Any:
    """∂(transformed image)/∂(its parameter) for every image: n × T × height × width.

    In the order of `TRANSFORMS`: right, down, turned, larger, wider than high, along a diagonal,
    thicker. Derivatives are those of the image blurred by a Gaussian, which has some.
    """
    from scipy.ndimage import gaussian_filter1d

    height, width = shape
    images = np.asarray(X, dtype=float).reshape(-1, height, width)
    right = -gaussian_filter1d(gaussian_filter1d(images, blur, axis=1), blur, axis=2, order=1)
    down = -gaussian_filter1d(gaussian_filter1d(images, blur, axis=2), blur, axis=1, order=1)
    y = np.arange(height)[:, None] - (height - 1) / 2
    x = np.arange(width) - (width - 1) / 2
    fields = {
        "shift": lambda: [right, down],
        "rotate": lambda: [y * right - x * down],
        "scale": lambda: [x * right + y * down],
        "shear": lambda: [x * right - y * down, y * right + x * down],
        "thickness": lambda: [right**2 + down**2],
    }
    parts = [field for name in TRANSFORMS if name in transforms for field in fields[name]()]
    return np.stack(parts, axis=1)


def planes(X: np.ndarray, shape: tuple[int, int], transforms: Any, blur: float) -> Planes:
    """The tangent planes of all images."""
    done = []
    for first in range(0, len(X), IMAGES):
        part = X[first : first + IMAGES]
        T = tangents(part, shape, transforms, blur).reshape(len(part), -1, X.shape[1])
        lengths = np.linalg.norm(T, axis=2, keepdims=True)
        T = T / np.where(lengths > 0, lengths, 1.0)
        values, directions = np.linalg.eigh(T @ T.transpose(0, 2, 1))
        keep = values > SHORTEST**2 * np.maximum(values[:, -1:], 1e-300)
        scale = np.where(keep, 1.0 / np.sqrt(np.where(keep, values, 1.0)), 0.0)
        basis = (directions * scale[:, None, :]).transpose(0, 2, 1) @ T
        done.append(np.concatenate([part[:, None, :], basis], axis=1).astype(X.dtype))
    vectors = np.concatenate(done)
    own = np.einsum("nd,ntd->nt", vectors[:, 0], vectors, dtype=np.float64)
    return Planes(vectors, own)


@frozen
class _Squared(OpaqueKernel):
    """The squared tangent distance itself: the statistic that `TangentDistance` is made of."""

    height: int
    width: int
    transforms: tuple[str, ...]
    sides: int
    blur: float

    def prepare(self, X: Any) -> Planes:
        shape = (self.height, self.width)
        return planes(read_images(X, shape), shape, self.transforms, self.blur)

    def block(self, state_x: Planes, state_z: Planes) -> np.ndarray:
        from mercer.kernels.images.loops import one_sided, two_sided

        dtype = np.result_type(state_x.vectors, state_z.vectors)
        unit = 16.0 * float(np.finfo(dtype).eps)
        m, t, d = state_z.shape
        fill = two_sided if self.sides == 2 else one_sided

        def body(rows: slice, columns: slice, out: np.ndarray) -> None:
            for i in range(rows.start, rows.stop, BLOCK_X):
                x = state_x[i : min(i + BLOCK_X, rows.stop)]
                left = x.vectors.reshape(-1, d).astype(dtype, copy=False)
                for j in range(columns.start, columns.stop, BLOCK_Z):
                    z = state_z[j : min(j + BLOCK_Z, columns.stop)]
                    meet = left @ z.vectors.reshape(-1, d).T
                    a, b = i - rows.start, j - columns.start
                    part = out[a : a + len(x.own), b : b + len(z.own)]
                    fill(meet, x.own, z.own, SPRING, unit, part)

        # In a matrix product operations are cheap, and a panel of few rows would waste it.
        work = 4.0 * t * t
        return over_pairs((state_x.shape[0], m), body, work, False)

    def diag_of(self, state: Planes) -> np.ndarray:
        return np.zeros(state.shape[0])

    def bytes_per_pair(self) -> int:
        return 8


@kernel
class TangentDistance(Kernel):
    """k(x, z) = exp(−d²/(2σ²)),  d² = min over a, b of ‖x + T(x) a − z − T(z) b‖².

    T(x) are the derivatives of the image x under small transformations (Simard et al. 1993): the
    curve of all its transformed versions is replaced by its tangent plane, and d is the distance of
    two planes. Linear, so it is easy to compute, and only small changes are free: no 6 becomes a 9.

    Without `sigma` k = −d²/2, whose feature-space distance ``k.distance(X, Z)`` is d itself: that
    is what nearest neighbors need, and no kernel. With it k looks like a Gaussian, but planes
    violate the triangle inequality and nothing is proved. ``sides=1`` moves x only: a distance that
    depends on the order of its arguments, refused as a kernel.

    Parameters
    ----------
    height, width : int
        Of the images; they come as rows of pixels or as an n × height × width array.
    transforms : tuple of {"shift", "rotate", "scale", "shear", "thickness"}
        Small changes that cost nothing.
    sides : {2, 1}
        Whether both images may change, or x only.
    sigma : float, "scale", "median" or None
        Width; None gives k = −d²/2.
    blur : float, default 1.0
        Width, in pixels, of the Gaussian by which an image is smoothed to be differentiated.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import TangentDistance
    >>> stroke = np.exp(-np.square(np.arange(16.0) - 7) / 8) * np.ones((16, 1))
    >>> shifted = np.roll(stroke, 1, axis=1)
    >>> d = TangentDistance(16, 16).tangent_distance(stroke[None], shifted[None])
    >>> d[0] < 0.1 * np.linalg.norm(stroke - shifted)
    array([ True])
    """

    height: int
    width: int
    transforms: tuple[str, ...] = TRANSFORMS
    sides: int = 2
    sigma: float | str | None = None
    blur: float = 1.0
    takes = "images"
    examples: ClassVar[Examples] = (
        "tangent_distance(6, 6, sigma=2)",
        "tangent_distance(6, 6)",
    )

    parameters: ClassVar[Declared] = declare(
        height=Count(1, floats=True),
        width=Count(1, floats=True),
        sides=Count(1, 2, floats=True),
        sigma=Maybe(Width()),
        blur=Positive(),
    )

    spellings: ClassVar[Declared] = declare(shape=("height width", tuple))

    def _check_together(self) -> None:
        names = self.transforms
        names = (names,) if isinstance(names, str) else tuple(names)
        unknown = [name for name in names if name not in TRANSFORMS]
        if unknown or not names:
            raise ValueError(f"TangentDistance: transforms are some of {TRANSFORMS}, got {names}")
        self._set("transforms", tuple(name for name in TRANSFORMS if name in names))
        if self.sigma is not None and self.sides == 1:
            raise ValueError(f"TangentDistance: {_ONE_SIDED}")

    def _inner_rows(self, X: Any) -> Any:
        return read_images(X, (self.height, self.width))

    @property
    def is_opaque(self) -> bool:
        return True

    @property
    def _squared(self) -> _Squared:
        return _Squared(self.height, self.width, self.transforms, self.sides, self.blur)

    def lower(self, rows: Input, path: str = "") -> Formula:
        if self.sides == 1:
            raise ValueError(_ONE_SIDED)
        squared = nodes.opaque(self._squared, rows)
        if self.sigma is None:
            return -0.5 * squared
        return (squared * nodes.const(-0.5).over(self._named(path, "sigma") ** 2)).exp()

    def tangent_distance(self, X: Any, Z: Any = None) -> np.ndarray:
        """d(x, z) for all pairs; with ``sides=1`` the distance of z from the tangent plane of x."""
        leaf = self._squared
        x, z = leaf.prepare_pair(X, Z)
        squares = leaf.block(x, z)
        if Z is None:
            np.fill_diagonal(squares, 0.0)
        return np.sqrt(squares)

    def claim(self, n_features: int | None = None) -> Claim:
        if self.sides == 1:
            return Claim(False, "asymmetric", self, "d(x, z) ≠ d(z, x) where one side moves")
        if self.sigma is None:
            return Claim(
                False, "negative distance", self, "k(x, x) = 0 and k(x, z) = −d²/2 is not 0"
            )
        return Claim(None, "tangent distance", self, "a distance of planes is no metric")

    def latex(self, x: str = "x", z: str = "z") -> str:
        planes = rf"\min_{{a,b}} \|{x} + T({x})a - {z} - T({z})b\|^2"
        if self.sigma is None:
            return rf"-\tfrac12 {planes}"
        sigma = self._tex("sigma", r"\sigma")
        return rf"\exp\left(-\frac{{{planes}}}{{2 \cdot {sigma}^2}}\right)"


_ONE_SIDED = (
    "a one-sided tangent distance depends on the order of its arguments and is no kernel: "
    "take sides=2, or use .tangent_distance(X, Z)"
)
