"""The largest eigenvalues of a symmetric A by products A V with blocks V: block Lanczos.

    basis = [V₀ V₁ … Vₘ] orthonormal,   A basis = basis H + V₊ R Eₘᵀ,   H = basisᵀ A basis

H y = θ y gives an approximate pair (θ, basis y), and ‖A x − θ x‖ = ‖R y₍ₘ₎‖ is known without
another product. Where the basis reaches its limit, it is replaced by its best vectors and goes on
growing from there (a thick restart); the equation above still holds. The basis is orthogonalized
against all of itself, twice: a product with K costs so much more that nothing is gained by less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._arrays import host, namespace
from mercer._lazy import record
from mercer._machine.threads import single_threaded_blas
from mercer._progress import progress
from mercer.tuning import BASIS_MULTIPLE, EQUAL_EIGENVALUES, SPECTRAL_BLOCK


@record
class Eigenpairs:
    """θ, largest first; vectors as columns; the largest ‖Ax − θx‖ relative to max |θ|; products."""

    values: np.ndarray
    vectors: Any
    residual: float
    n_iter: int
    stopped: str = ""


def fewest(count: int) -> int:
    """The smallest basis that makes sense: vectors kept at a restart, and two blocks."""
    return 3 * (count + SPECTRAL_BLOCK)


def crowded(values: np.ndarray, width: int) -> bool:
    """Whether there may be more copies of an eigenvalue than blocks of this width can find.

    Blocks of b vectors find b copies of an eigenvalue, exactly: fewer show that there are no more.

    >>> crowded(np.array([3.0, 2.0, 2.0, 1.0]), 2), crowded(np.array([3.0, 2.0, 2.0, 1.0]), 3)
    (True, False)
    """
    gaps = values[: max(0, len(values) - width + 1)] - values[width - 1 :]
    return bool((gaps <= EQUAL_EIGENVALUES * np.abs(values).max(initial=0.0)).any())


def largest_eigenpairs(
    multiply: Callable[[Any], Any],
    start: Any,
    count: int,
    tol: float,
    max_iter: int = 200,
    most: int | None = None,
) -> Eigenpairs:
    """The `count` largest eigenpairs of A = `multiply`, to a residual of `tol` max |θ|.

    `start`: a block of vectors in the place where the products are made; where there are fewer than
    `count` of them, `crowded` tells whether copies of an eigenvalue may be missing. `most`: vectors
    that the basis may have.
    """
    width, kept = start.shape[1], count + SPECTRAL_BLOCK
    most = BASIS_MULTIPLE * kept if most is None else max(fewest(count), most)
    basis = _Basis(start, most)
    theta, Y, residual, steps, stopped = np.zeros(0), basis.H, np.inf, 0, "max_iter"
    # Products with K bring threads of their own; what is left is too small for several.
    with progress("eigenvectors", None) as bar, single_threaded_blas():
        try:
            new = basis.xp.linalg.qr(start)[0]
            while steps < max_iter:
                new, R = basis.extend(new, multiply(new))
                steps += 1
                theta, Y = basis.eigenpairs()
                scale = max(abs(theta[0]), abs(theta[-1])) or 1.0
                ends = R @ Y[-width:, :count]
                residual = float(np.linalg.norm(ends, axis=0).max()) / scale
                bar.advance(note=f"residual {residual:.1e}")
                if residual <= tol and len(basis.H) >= count:
                    stopped = ""
                    break
                if len(basis.H) + width > most:
                    basis.restart(theta[:kept], Y[:, :kept])
        except KeyboardInterrupt:
            if not len(theta):
                raise
            stopped = "interrupt"
            theta, Y = basis.eigenpairs()
        vectors = basis.combined(Y[:, :count])
    return Eigenpairs(theta[:count].copy(), vectors, residual, steps, stopped)


class _Basis:
    """Orthonormal vectors in the place of `start`, and H = basisᵀ A basis of those that are there.

    A vector per row: memory that no vector has reached is never touched.
    """

    def __init__(self, start: Any, most: int) -> None:
        self.xp, self.start = namespace(start), start
        place = getattr(start, "device", None)
        self.rows = self.xp.empty((most, len(start)), dtype=start.dtype, device=place)
        self.H = np.zeros((0, 0))

    def extend(self, block: Any, image: Any) -> tuple[Any, np.ndarray]:
        """Append a block V, whose image is AV; gives the next block V₊ and its R."""
        size = len(self.H)
        self.rows[size : size + block.shape[1]] = block.T
        there = self.rows[: size + block.shape[1]].T
        C = there.T @ image
        self.H = _bordered(self.H, host(C))
        block, R = _next_block(self.xp, there, image - there @ C)
        return block, host(R)

    def eigenpairs(self) -> tuple[np.ndarray, np.ndarray]:
        """θ and y of H y = θ y, largest first."""
        theta, Y = np.linalg.eigh(self.H)
        return theta[::-1], Y[:, ::-1]

    def restart(self, theta: np.ndarray, Y: np.ndarray) -> None:
        """Keep only these combinations of the vectors."""
        self.rows[: len(theta)] = self.combined(Y).T
        self.H = np.diag(theta)

    def combined(self, Y: np.ndarray) -> Any:
        # An interruption may have come between a block and its part of H.
        return self.rows[: len(self.H)].T @ _there(self.start, Y)


def _next_block(xp: Any, basis: Any, image: Any) -> tuple[Any, Any]:
    """Orthonormal vectors, orthogonal to the basis, and R with image = block R.

    Where `image` is zero but for rounding, what is left of it may point into the basis again and
    again: it is projected until most of every vector stays. Any directions will do then.
    """
    block, R = xp.linalg.qr(image)
    for _ in range(4):
        block, again = xp.linalg.qr(block - basis @ (basis.T @ block))
        R = again @ R
        if float(xp.min(xp.abs(xp.linalg.diagonal(again)))) > 0.5:
            break
    return block, R


def _bordered(H: np.ndarray, C: np.ndarray) -> np.ndarray:
    """H with the columns C appended, and as rows."""
    m, size = len(H), len(C)
    result = np.zeros((size, size))
    result[:m, :m] = H
    result[:, m:] = C
    result[m:, :m] = C[:m].T
    result[m:, m:] = (C[m:] + C[m:].T) / 2
    return result


def _there(like: Any, values: np.ndarray) -> Any:
    """A small matrix in the place of `like`."""
    values = np.ascontiguousarray(values)
    return values if isinstance(like, np.ndarray) else like.new_tensor(values)
