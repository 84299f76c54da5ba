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

#: Vectors that are kept at a restart beyond those wanted, or in a block that holds all of them:
#: they separate the last ones from the rest.
EXTRA = 8
#: Vectors of a block where products are cheap: enough to use K while it is in the cache.
NARROW = 8
#: Vectors of the basis at most, as a multiple of those kept, where memory sets no lower limit.
MOST = 12
#: Eigenvalues closer than this to each other, relative to the largest, may be one.
SAME = 1e-6


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
    return 3 * (count + EXTRA)


def crowded(values: np.ndarray, width: int) -> bool:
    """Whether there may be more copies of an eigenvalue than blocks of this width can find.

    Blocks of b vectors find b copies of an eigenvalue, exactly: fewer show that there are no more.

    >>> crowded(np.array([3.0, 2.0, 2.0, 1.0]), 2), crowded(np.array([3.0, 2.0, 2.0, 1.0]), 3)
    (True, False)
    """
    gaps = values[: max(0, len(values) - width + 1)] - values[width - 1 :]
    return bool((gaps <= SAME * np.abs(values).max(initial=0.0)).any())


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
    xp, (n, width), kept = namespace(start), start.shape, count + EXTRA
    most = MOST * kept if most is None else max(fewest(count), most)
    place = getattr(start, "device", None)
    # A vector per row: memory that no vector has reached is never touched.
    basis, H, size = xp.empty((most, n), dtype=start.dtype, device=place), np.zeros((0, 0)), 0
    theta, Y, residual, steps, stopped = np.zeros(0), H, np.inf, 0, "max_iter"
    # Products with K bring threads of their own; what is left is too small for several.
    with progress("eigenvectors", None) as bar, single_threaded_blas():
        try:
            new = xp.linalg.qr(start)[0]
            while steps < max_iter:
                image = multiply(new)
                basis[size : size + width] = new.T
                size, steps = size + width, steps + 1
                done = basis[:size].T
                C = done.T @ image
                H = _bordered(H, host(C))
                new, R = _next_block(xp, done, image - done @ C)
                theta, Y = (part[..., ::-1] for part in np.linalg.eigh(H))
                scale = max(abs(theta[0]), abs(theta[-1])) or 1.0
                ends = host(R) @ Y[-width:, :count]
                residual = float(np.linalg.norm(ends, axis=0).max()) / scale
                bar.advance(note=f"residual {residual:.1e}")
                if residual <= tol and size >= count:
                    stopped = ""
                    break
                if size + width > most:
                    basis[:kept] = (done @ _there(start, Y[:, :kept])).T
                    size, H = kept, np.diag(theta[:kept])
        except KeyboardInterrupt:
            if not len(theta):
                raise
            stopped = "interrupt"
            theta, Y = (part[..., ::-1] for part in np.linalg.eigh(H))
        # An interruption may have come between the basis and H.
        vectors = basis[: len(H)].T @ _there(start, Y[:, :count])
    return Eigenpairs(theta[:count].copy(), vectors, residual, steps, stopped)


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
