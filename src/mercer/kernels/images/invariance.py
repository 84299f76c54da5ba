"""Any kernel on images made to forget how they lie: by the best, or by the mean, over motions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from mercer._parameters import Count, Declared, declare
from mercer.kernels.catalog import kernel
from mercer.kernels.claims import Claim, Rule, closed_under
from mercer.kernels.core import Examples, Kernel
from mercer.kernels.images.pixels import checked_shape, moved, read_images, shape_of
from mercer.kernels.opaque import OpaqueKernel
from mercer.kernels.parameters import Part


class _OverMotions(OpaqueKernel):
    """k from the base kernel on moved images; the state is n × motions × pixels."""

    base: Kernel
    shape: tuple[int, int] | None
    takes = "images"

    def _motions(self, shape: tuple[int, int]) -> Iterator[Any]:
        raise NotImplementedError

    def _check_together(self) -> None:
        self._make_numbers("angles")
        self._set("shape", checked_shape(self.shape, type(self).__name__))
        self._set("symmetric", _is_symmetric(self.base))

    def _inner_rows(self, X: Any) -> Any:
        return read_images(X, shape_of(X, self.shape))

    def _make_numbers(self, name: str) -> None:
        values = getattr(self, name)
        try:
            values = tuple(float(v) for v in values)
        except (TypeError, ValueError):
            values = ()
        if not values or not np.isfinite(values).all():
            who = type(self).__name__
            raise ValueError(f"{who}: {name} must be finite numbers, got {getattr(self, name)!r}")
        self._set(name, values)

    def prepare(self, X: Any) -> np.ndarray:
        shape = shape_of(X, self.shape)
        rows = read_images(X, shape)
        moves = [rows @ motion.T for motion in self._motions(shape)]
        return np.stack(moves, axis=1).astype(rows.dtype)

    def _pairs(self, state_x: np.ndarray, state_z: np.ndarray) -> Iterator[np.ndarray]:
        """The base on each motion of x and all motions of z: rows × rows × motions."""
        m, motions, pixels = state_z.shape
        right = state_z.reshape(m * motions, pixels)
        for s in range(state_x.shape[1]):
            yield self.base(state_x[:, s], right).reshape(len(state_x), m, motions)

    def _count(self) -> int:
        raise NotImplementedError

    def bytes_per_pair(self) -> int:
        return 8 + 16 * self._count()


def _is_symmetric(kernel: Kernel) -> bool:
    return kernel.symmetric and all(_is_symmetric(child) for _, child in kernel.children())


@kernel
class RotationInvariant(_OverMotions):
    """k(x, z) = max over angles a, b of base(x turned by a, z turned by b).

    Klein's similarity s': the best that the rotation lines of both images can do. It is
    hard to compute (all pairs of angles), it allows large changes (a 6 becomes a 9), and a maximum
    of kernels is no kernel in general: `mercer.prove` refutes it. `angles` are degrees.

    Parameters
    ----------
    base : Kernel
        On rows of pixels.
    angles : tuple of float
        Degrees by which both images are turned.
    shape : (height, width) or None
        Of an image; None takes a square.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear
    >>> from mercer.kernels import RotationInvariant
    >>> bar = np.zeros((5, 5)); bar[2] = 1
    >>> Linear()([bar.ravel()], [bar.T.ravel()])
    array([[1.]])
    >>> RotationInvariant(Linear(), [0, 90])([bar], [bar.T])
    array([[5.]])
    """

    base: Kernel
    angles: tuple[float, ...] = (0.0, 90.0, 180.0, 270.0)
    shape: tuple[int, int] | None = None
    examples: ClassVar[Examples] = ("rotation_invariant(gaussian(2), [0, 90])",)
    proof: ClassVar[Rule] = Rule(
        None, "maximum over transformations", "the larger of two kernels need not be one"
    )

    parameters: ClassVar[Declared] = declare(base=Part())

    def _motions(self, shape: tuple[int, int]) -> Iterator[Any]:
        return (moved(shape, angle) for angle in self.angles)

    def block(self, state_x: np.ndarray, state_z: np.ndarray) -> np.ndarray:
        result = np.full((len(state_x), len(state_z)), -np.inf)
        for values in self._pairs(state_x, state_z):
            np.maximum(result, values.max(axis=2), out=result)
        return result

    def diag_of(self, state: np.ndarray) -> np.ndarray:
        return np.array([self.base(x, x).max() for x in state])

    def _count(self) -> int:
        return len(self.angles)

    def latex(self, x: str = "x", z: str = "z") -> str:
        return rf"\max_{{a, b}} {self.base.latex(f'r_a({x})', f'r_b({z})')}"


@kernel
class Jittered(_OverMotions):
    """k(x, z) = mean over motions s, t of base(s(x), t(z)).

    Averaging over all motions of both images (Haar integration, where they are a group) keeps a
    kernel a kernel: φ(x) is the mean of the base's features over all versions of x. The motions
    are all shifts by up to `shifts` pixels in both directions, after each rotation by `angles`
    (degrees).

    Parameters
    ----------
    base : Kernel
        On rows of pixels.
    shifts : int, default 1
        Pixels up to which images are moved, in both directions.
    angles : tuple of float
        Degrees by which images are turned.
    shape : (height, width) or None
        Of an image; None takes a square.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.kernels import Jittered
    >>> dot = np.zeros((5, 5)); dot[2, 2] = 1
    >>> near = np.roll(dot, 1, axis=1)
    >>> k = Jittered(Gaussian(0.5), shifts=1)
    >>> k.normalized()([dot], [near]) > Gaussian(0.5)([dot.ravel()], [near.ravel()])
    array([[ True]])
    >>> bool(k.prove())
    True
    """

    base: Kernel
    shifts: int = 1
    angles: tuple[float, ...] = (0.0,)
    shape: tuple[int, int] | None = None
    examples: ClassVar[Examples] = ("jittered(gaussian(2))",)

    parameters: ClassVar[Declared] = declare(base=Part(), shifts=Count(0, floats=True))

    def _motions(self, shape: tuple[int, int]) -> Iterator[Any]:
        steps = range(-self.shifts, self.shifts + 1)
        return (moved(shape, a, dy, dx) for a in self.angles for dy in steps for dx in steps)

    def block(self, state_x: np.ndarray, state_z: np.ndarray) -> np.ndarray:
        result = np.zeros((len(state_x), len(state_z)))
        for values in self._pairs(state_x, state_z):
            result += values.mean(axis=2)
        return result / state_x.shape[1]

    def diag_of(self, state: np.ndarray) -> np.ndarray:
        return np.array([self.base(x, x).mean() for x in state])

    def _count(self) -> int:
        return len(self.angles) * (2 * self.shifts + 1) ** 2

    def claim(self, n_features: int | None = None) -> Claim:
        because = "φ(x) = mean of φ_base over all motions of x"
        parts = [self.base.claim(n_features)]
        return closed_under(self, "mean over transformations", parts, because)

    def latex(self, x: str = "x", z: str = "z") -> str:
        return rf"\langle {self.base.latex(f's({x})', f't({z})')} \rangle_{{s, t}}"
