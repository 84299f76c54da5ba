"""A = Q B Qᵀ with Q orthogonal and B a band: a form in which every shift A + λI is cheap.

Householder reflections clear the columns of A below the band, b at a time; then the same rows, by
symmetry; what is left is a smaller matrix of the same kind.

    ┌──┬──────────┐      ┌──┬───┬──────┐
    │D │    P     │      │D │Rᵀ   0    │     Hᵀ Pᵀ = R,  H = I − V T Vᵀ, by QR
    ├──┼──────────┤      ├──┼──────────┤
    │  │    A'    │  →   │R │          │     A' ← Hᵀ A' H = A' − V Wᵀ − W Vᵀ
    │Pᵀ│          │      │0 │ Hᵀ A' H  │     W = X − ½ V (Tᵀ Vᵀ X),  X = A' V T
    └──┴──────────┘      └──┴──────────┘

An update of rank 2b moves more numbers than it computes: those of several panels are gathered, and
until then a product with A' is one with the old A', corrected. V takes the place of P; when all is
reduced, Q = H₁H₂⋯ is made from the last V to the first in the place that they leave. So one array
holds A, then the V, then Qᵀ.

8/3 N³ operations, nearly all of them in products of matrices; eigenvectors take several times as
long, because half of the way to them is products of a matrix with single vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.linalg import get_lapack_funcs

from mercer._config import get_config
from mercer._lazy import record
from mercer._machine.threads import single_threaded_blas
from mercer._tiles import Scratch, Tiling, sweep

#: Columns gathered before the rest of the matrix is brought up to date.
GATHER = 128
#: Rows and columns of a tile. A tile on the diagonal is kept whole, others above it only.
TILE = 512
#: Rows left below which starting threads costs more than it saves.
WORTH_THREADS = 700


@record
class Band:
    """A = Q B Qᵀ; `diagonals[d, j]` is B[j + d, j] in double precision, `q_transposed` is Qᵀ."""

    diagonals: np.ndarray
    q_transposed: np.ndarray

    @property
    def width(self) -> int:
        return len(self.diagonals) - 1


def _nothing(_: float) -> None: ...


def to_band(A: np.ndarray, width: int, advance: Callable[[float], None] = _nothing) -> Band:
    """All of A is overwritten, with Qᵀ; `advance` hears of the operations done, in parts of all."""
    width = max(1, min(width, len(A) - 1))
    with single_threaded_blas():
        diagonals, triangles = _reduce(A, width, advance)
        _accumulate(A, width, triangles, advance)
    return Band(diagonals, A)


def _reduce(
    A: np.ndarray, width: int, advance: Callable[[float], None]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The band, and the triangle T of each panel; its V is left in A, to the right of the band."""
    n = len(A)
    diagonals = np.zeros((width + 1, n))
    triangles: list[np.ndarray] = []
    waiting = _Waiting(n, max(1, GATHER // width) * width, A.dtype)
    for k in range(0, n, width):
        size = min(width, n - k)
        rest = slice(k + size, n)
        panel = A[k : k + size, k:].copy()
        waiting.correct(panel, slice(k, k + size), slice(k, n))
        count = min(size, n - rest.start)
        if count:
            below = np.ascontiguousarray(panel[:, size:])
            T = _factorize(below)
            panel[:, size : size + count] = np.tril(below[:, :count])
            v = _reflectors(below, count)
            A[k : k + count, rest] = v
            triangles.append(T)
            waiting.add(v, _other_side(A, v, T, waiting, rest), rest)
        for i in range(size):
            entries = panel[i, i : i + width + 1]
            diagonals[: len(entries), k + i] = entries
        if waiting.full:
            waiting.subtract_from(A, rest)
        advance(((n - k) ** 3 - (n - rest.start) ** 3) / n**3 / 2)
    return diagonals, triangles


class _Waiting:
    """The updates VWᵀ + WVᵀ of some panels, as one product: [V W] [W V]ᵀ."""

    def __init__(self, n: int, columns: int, dtype: np.dtype) -> None:
        self._left = np.zeros((2 * columns, n), dtype=dtype)
        self._right = np.zeros((2 * columns, n), dtype=dtype)
        self._filled = 0

    @property
    def full(self) -> bool:
        return self._filled == len(self._left)

    def add(self, v: np.ndarray, w: np.ndarray, rest: slice) -> None:
        first = slice(self._filled, self._filled + len(v))
        second = slice(first.stop, first.stop + len(v))
        for part, rows in ((v, first), (w, second)):
            self._left[rows, : rest.start] = 0.0
            self._left[rows, rest] = part
        for part, rows in ((w, first), (v, second)):
            self._right[rows, : rest.start] = 0.0
            self._right[rows, rest] = part
        self._filled = second.stop

    def correct(self, part: np.ndarray, rows: slice, columns: slice) -> None:
        """What waits, subtracted from a few rows of A."""
        left, right = self._left[: self._filled], self._right[: self._filled]
        part -= left[:, rows].T @ right[:, columns]

    def correct_product(self, v: np.ndarray, x: np.ndarray, rest: slice) -> None:
        """x = vA, for the A that will be."""
        left, right = self._left[: self._filled, rest], self._right[: self._filled, rest]
        x -= (v @ left.T) @ right

    def subtract_from(self, A: np.ndarray, rest: slice) -> None:
        left, right = self._left[: self._filled], self._right[: self._filled]

        def body(thread: int, rows: slice, columns: slice) -> None:
            A[rows, columns] -= left[:, rows].T @ right[:, columns]

        _each_tile(rest, body)
        self._filled = 0


def _threads(rows: int) -> int:
    return get_config().n_threads if rows >= WORTH_THREADS else 1


def _each_tile(rest: slice, body: Callable[[int, slice, slice], None]) -> None:
    """body(thread, rows, columns) for the tiles on and above the diagonal.

    A tile always goes to the same thread, so that sums come out the same every time.
    """
    edges = [rest.start, *range((rest.start // TILE + 1) * TILE, rest.stop, TILE), rest.stop]
    cuts = [slice(a, b) for a, b in pairwise(edges) if a < b]
    tiles = [(rows, columns) for i, rows in enumerate(cuts) for columns in cuts[i:]]
    threads = max(1, min(_threads(rest.stop - rest.start), len(tiles)))

    def share(which: slice, _: slice, scratch: Scratch) -> None:
        for rows, columns in tiles[which.start :: threads]:
            body(which.start, rows, columns)

    sweep(Tiling((threads, 1), (1, 1), threads, fixed=True), share, "band")


def _factorize(below: np.ndarray) -> np.ndarray:
    """Pᵀ = QR, in place of P; returns T."""
    (geqrt,) = get_lapack_funcs(("geqrt",), (below,))
    count = min(below.shape)
    _, T, info = geqrt(count, below.T, overwrite_a=1)
    assert info == 0
    return np.triu(T[:count])


def _reflectors(below: np.ndarray, count: int) -> np.ndarray:
    """Vᵀ, one reflector in each row, with its leading one and the zeros before."""
    v = below[:count].copy()
    v[:, :count] = np.triu(v[:, :count], 1)
    v[np.arange(count), np.arange(count)] = 1.0
    return v


def _other_side(
    A: np.ndarray, v: np.ndarray, T: np.ndarray, waiting: _Waiting, rest: slice
) -> np.ndarray:
    """W = X − ½ V (Tᵀ Vᵀ X), X = A V T."""
    x = _symmetric_product(v, A, rest)
    waiting.correct_product(v, x, rest)
    w: np.ndarray = T.T @ x
    w -= (0.5 * (w @ v.T) @ T) @ v
    return w


def _symmetric_product(v: np.ndarray, A: np.ndarray, rest: slice) -> np.ndarray:
    """v A[rest, rest], from the tiles on and above the diagonal."""
    threads, columns_of_v = _threads(v.shape[1]), np.ascontiguousarray(v.T)
    sums = np.zeros((threads, *v.shape), dtype=A.dtype)
    # With v transposed, BLAS multiplies by a transposed tile half as fast again.
    transposed = np.zeros((threads, *v.shape[::-1]), dtype=A.dtype)

    def body(thread: int, rows: slice, columns: slice) -> None:
        tile = A[rows, columns]
        own = slice(rows.start - rest.start, rows.stop - rest.start)
        other = slice(columns.start - rest.start, columns.stop - rest.start)
        sums[thread][:, other] += v[:, own] @ tile
        if own != other:
            transposed[thread][own] += tile @ columns_of_v[other]

    _each_tile(rest, body)
    return np.asarray(sums.sum(axis=0) + transposed.sum(axis=0).T)


def _accumulate(
    A: np.ndarray, width: int, triangles: list[np.ndarray], advance: Callable[[float], None]
) -> None:
    """Qᵀ from the reflectors in A, which it overwrites: the last ones first."""
    n = len(A)
    per_group = max(1, 2 * GATHER // width)
    made = n  # rows and columns from here on hold Qᵀ already
    for group in reversed(range(0, len(triangles), per_group)):
        Ts = triangles[group : group + per_group]
        start = (group + 1) * width
        V = np.zeros((sum(map(len, Ts)), n - start), dtype=A.dtype)
        for i, T in enumerate(Ts):
            own, k = i * width, (group + i) * width
            V[own : own + len(T), own:] = A[k : k + len(T), start + own :]
        _apply(A, V, _joined(V, Ts), start, made)
        advance(((n - start) ** 3 - (n - made) ** 3) / n**3 / 2)
        made = start
    A[:made] = 0.0
    A[made:, :made] = 0.0
    A[range(made), range(made)] = 1.0


def _apply(A: np.ndarray, V: np.ndarray, T: np.ndarray, start: int, made: int) -> None:
    """Qᵀ ← Qᵀ H, where Qᵀ is in A from `made` on, and as good as the identity from `start` on."""
    n = len(A)
    A[start:made, start:] = 0.0
    A[made:, start:made] = 0.0
    A[range(start, made), range(start, made)] = 1.0
    triangle_v = T.T @ V
    threads = _threads(n - start)
    height = max(TILE // 4, min(TILE, (n - start) // (4 * threads)))

    def body(rows: slice, _: slice, scratch: Scratch) -> None:
        part = A[start + rows.start : start + rows.stop]
        overlap = scratch.get("overlap", (len(part), len(V)), A.dtype)
        first = start if rows.start < made - start else made  # zeros come before
        np.matmul(part[:, first:], V[:, first - start :].T, out=overlap)
        part[:, start:] -= overlap @ triangle_v

    sweep(Tiling((n - start, 1), (height, 1), threads), body, "band")


def _joined(V: np.ndarray, triangles: list[np.ndarray]) -> np.ndarray:
    """T of H₁H₂⋯: the corner of each two is −T₁ V₁ᵀV₂ T₂."""
    inner = V @ V.T
    T = np.zeros_like(inner)
    at = 0
    for own in triangles:
        new = slice(at, at + len(own))
        T[new, new] = own
        T[:at, new] = -T[:at, :at] @ inner[:at, new] @ own
        at = new.stop
    return T
