"""The largest eigenvalues of a symmetric A by products A V with blocks V: block Lanczos.

    basis = [V₀ V₁ … Vₘ] orthonormal,   A basis = basis H + V₊ R Eₘᵀ,   H = basisᵀ A basis

H y = θ y gives an approximate pair (θ, basis y), and ‖A x − θ x‖ = ‖R y₍ₘ₎‖ is known without
another product. Where the basis reaches its limit, it is replaced by its best vectors and goes on
growing from there (a thick restart); the equation above still holds. The basis is orthogonalized
against all of itself, twice: a product with K costs so much more that nothing is gained by less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._arrays import host, namespace
from mercer._machine.threads import single_threaded_blas
from mercer._progress import progress

#: Vectors of a block beyond those that are wanted: they separate the last ones from the rest.
EXTRA = 8
#: Blocks that the basis is allowed to hold at most, where memory does not set a lower limit, and
#: the fewest that make sense: those kept at a restart, the new one and one more.
MOST_BLOCKS, FEWEST_BLOCKS = 16, 4


@dataclass(frozen=True)
class Eigenpairs:
    """θ, largest first; vectors as columns; the largest ‖Ax − θx‖ relative to max |θ|; products."""

    values: np.ndarray
    vectors: Any
    residual: float
    n_iter: int
    stopped: str = ""


def block_size(count: int) -> int:
    """Columns of a block for so many eigenpairs."""
    return count + EXTRA


def largest_eigenpairs(
    multiply: Callable[[Any], Any],
    start: Any,
    count: int,
    tol: float,
    max_iter: int = 200,
    most: int | None = None,
) -> Eigenpairs:
    """The `count` largest eigenpairs of A = `multiply`, to a residual of `tol` max |θ|.

    `start`: a block of `block_size(count)` vectors, in the place where the products are made.
    `most`: columns that the basis may have.
    """
    xp, (n, width) = namespace(start), start.shape
    most = MOST_BLOCKS * width if most is None else max(FEWEST_BLOCKS * width, most)
    place = getattr(start, "device", None)
    basis, H, size = xp.empty((n, most), dtype=start.dtype, device=place), np.zeros((0, 0)), 0
    theta, Y, residual, steps, stopped = np.zeros(0), H, np.inf, 0, "max_iter"
    # Products with K bring threads of their own; what is left is too small for several.
    with progress("eigenvectors", None) as bar, single_threaded_blas():
        try:
            new = xp.linalg.qr(start)[0]
            while steps < max_iter:
                image = multiply(new)
                basis[:, size : size + width] = new
                size, steps = size + width, steps + 1
                done = basis[:, :size]
                C = done.T @ image
                H = _bordered(H, host(C))
                new, R = _next_block(xp, done, image - done @ C)
                theta, Y = (part[..., ::-1] for part in np.linalg.eigh(H))
                scale = max(abs(theta[0]), abs(theta[-1])) or 1.0
                ends = host(R) @ Y[-width:, :count]
                residual = float(np.linalg.norm(ends, axis=0).max()) / scale
                bar.advance(note=f"residual {residual:.1e}")
                if residual <= tol:
                    stopped = ""
                    break
                if size + width > most:
                    basis[:, : 2 * width] = done @ _there(start, Y[:, : 2 * width])
                    size, H = 2 * width, np.diag(theta[: 2 * width])
        except KeyboardInterrupt:
            if not len(theta):
                raise
            stopped = "interrupt"
            theta, Y = (part[..., ::-1] for part in np.linalg.eigh(H))
        # An interruption may have come between the basis and H.
        vectors = basis[:, : len(H)] @ _there(start, Y[:, :count])
    return Eigenpairs(theta[:count].copy(), vectors, residual, steps, stopped)


def _next_block(xp: Any, basis: Any, image: Any) -> tuple[Any, Any]:
    """Orthonormal vectors and R with image = block R; also where `image` is all but zero."""
    block, R = xp.linalg.qr(image)
    block = block - basis @ (basis.T @ block)
    block, again = xp.linalg.qr(block)
    return block, again @ R


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
