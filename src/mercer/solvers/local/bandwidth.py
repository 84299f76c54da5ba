"""The bandwidth h of a smoother: by leave-one-out, or by a rule of thumb.

Leave-one-out is exact: each example is predicted from the others, by the very sums that predict
does, and the mean squared error is minimized over log h: a coarse grid finds the valley (losses of
smoothers have several), a parabola search its bottom. Beyond `EXACT_ROWS` examples, that many
of them are left out in turn, each predicted from all the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._arrays import is_sparse, unit_of
from mercer._examples import count
from mercer._lazy import record
from mercer._notices import NumericalWarning, warn
from mercer._progress import progress
from mercer.formula import simplify
from mercer.formula.inputs import numeric
from mercer.gram import host_gram
from mercer.kernels import Kernel
from mercer.tuning import EXACT_ROWS

#: Examples left out for the grid: the error of a mean over 1,500 squares is about 4 %, enough to
#: find the valley.
COARSE = 1_500
#: The grid to start with: powers of two below and above the rule of thumb.
BELOW, ABOVE = 6, 5
#: Powers of two beyond the grid at which the search is called off.
FARTHEST_POWERS = 16

#: Prediction of the examples `rows` from all the others, at bandwidth h.
LeftOut = Callable[[Any, np.ndarray], np.ndarray]


@record
class Choice:
    """The bandwidth, its leave-one-out error, and every (h, error) that was tried."""

    bandwidth: Any
    error: float
    tried: tuple[tuple[Any, float], ...]


def rule_of_thumb(
    kernel: Kernel, X: Any, *, per_column: bool = False, sample_weight: Any = None
) -> Any:
    """h = 1.06 s n^(−1/(4+D)) / width of k: s the spread of the data, or of each column.

    For a Gaussian of σ = 1 this is the normal reference rule; other kernels are brought to the
    same width, so that h means the same for all.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> round(rule_of_thumb(Gaussian(), np.array([[0.0], [2.0]])), 4)
    0.9228
    """
    v = np.ones(count(X)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    spread = _spreads(X, v / v.sum())
    factor = 1.06 * len(v) ** (-1.0 / (4 + len(spread))) / width_of(kernel)
    if per_column:
        return np.where(spread > 0, spread, 1.0 / factor) * factor
    moving = spread[spread > 0]
    return float(np.sqrt(np.mean(moving**2)) * factor) if len(moving) else 1.0


def _spreads(X: Any, share: np.ndarray) -> np.ndarray:
    """The weighted standard deviation of every column (1 for columns that are no numbers)."""
    if hasattr(X, "iloc"):
        kinds = [kind.kind in "biuf" for kind in X.dtypes]
        columns = [X.iloc[:, [j]] for j in range(X.shape[1])]
        pairs = zip(columns, kinds, strict=True)
        return np.array([_spreads(c.to_numpy(), share)[0] if ok else 1.0 for c, ok in pairs])
    rows = numeric(X)
    mean = np.asarray(share @ rows, dtype=np.float64).ravel()
    if is_sparse(rows):
        square = np.asarray(share @ rows.multiply(rows), dtype=np.float64).ravel()
        variance = np.maximum(square - mean**2, 0.0)
    else:
        variance = share @ (rows - mean) ** 2
    # What rounding leaves of a constant column is no spread.
    return np.where(variance > 1e-28 * mean**2, np.sqrt(variance), 0.0)


def width_of(kernel: Kernel) -> float:
    """The standard deviation of k(0, u) as a density of u on the line; 1 if it is none.

    >>> from mercer import Gaussian
    >>> from mercer.kernels import Epanechnikov
    >>> round(width_of(Gaussian(2.0)), 3), round(width_of(Epanechnikov(1.0)), 4)
    (2.0, 0.4472)
    """
    if not kernel.stationary():
        return 1.0
    formula = simplify(kernel.formula())
    try:
        u = np.logspace(-9, 9, 3601)
        k = host_gram(formula, np.zeros((1, 1)), u[:, None]).dense()[0]
    except (ValueError, IndexError):  # k wants more than one column
        return 1.0
    k = np.maximum(k, 0.0)
    # Weighted by u, because the grid is even in log u; heavy tails are cut where k is a thousandth.
    seen = u <= u[np.flatnonzero(k >= 1e-3 * k[0])[-1]] * 1.5
    mass = float((k * u)[seen].sum())
    width = math.sqrt(float((k * u**3)[seen].sum()) / mass) if mass > 0 else 1.0
    return width if 1e-6 < width < 1e6 else 1.0


def copies(X: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Where the data holds copies: the first of each, and which one every example is a copy of.

    The same x always with the same y is a copy: with one of them left out, the other gives the
    answer away. The same x with different y is another measurement, and None is returned.
    """
    keys = _row_keys(X)
    if keys is None:
        return None
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(keys) or not np.array_equal(y, y[first][group]):
        return None
    order = np.argsort(first)  # in the order of the data
    index = np.empty(len(order), dtype=np.intp)
    index[order] = np.arange(len(order))
    return first[order], index[group]


def _row_keys(X: Any) -> np.ndarray | None:
    """One comparable value per row, equal for equal rows; None for rows that are no numbers."""
    if hasattr(X, "iloc"):
        if not all(kind.kind in "biuf" for kind in X.dtypes):
            return None
        X = X.to_numpy()
    if is_sparse(X):
        rows = X.tocsr().copy()
        rows.sum_duplicates()
        parts = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        text = [rows.indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in parts]
        return np.array([hash(t) for t in text])
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "biuf":
        return None
    if X.shape[1] == 1:
        return X[:, 0]
    rows = np.ascontiguousarray(X)
    return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()


def leave_one_out_bandwidth(
    left_out: LeftOut,
    targets: np.ndarray,
    start: Any,
    sample_weight: np.ndarray | None = None,
    several: Callable[[list[Any], np.ndarray], list[np.ndarray]] | None = None,
) -> Choice:
    """The h of least leave-one-out error; one number, or one per column where `start` has many.

    `several`: what `left_out` gives for each of several h, where workers can do that at a time.
    """
    n = len(targets)
    if n < 2:
        return Choice(start, math.nan, ())
    v = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    unit = float(unit_of(targets).max())
    targets = targets / unit
    # Below this an error is rounding: the fit is perfect, and of those the widest h is taken.
    nothing = 1e-14 * float(v @ ((targets - v @ targets / v.sum()) ** 2).sum(axis=1) / v.sum())
    shuffled = np.random.default_rng(0).permutation(n)
    tried: list[tuple[Any, float]] = []
    with progress("bandwidth", None) as bar:

        def judged(h: Any, rows: np.ndarray, answers: np.ndarray) -> float:
            gap = targets[rows] - answers / unit
            value = max(nothing, float(v[rows] @ (gap**2).sum(axis=1) / v[rows].sum()))
            tried.append((h, value))
            bar.advance(note=f"h = {np.round(h, 4)}")
            return value

        def loss_on(rows: np.ndarray) -> Callable[[Any], float]:
            return lambda h: judged(h, rows, left_out(h, rows))

        def losses(grid: list[Any]) -> list[float]:
            assert several is not None
            found = several(grid, few)
            return [judged(h, few, answers) for h, answers in zip(grid, found, strict=True)]

        few, many = np.sort(shuffled[:COARSE]), np.sort(shuffled[:EXACT_ROWS])
        middle = float(np.exp(np.mean(np.log(start))))
        shape = np.asarray(start) / middle
        try:
            first = None if several is None else losses
            h, error = line_search(loss_on(few), loss_on(many), shape, middle, first)
            if np.ndim(start):
                h, error = _all_columns(loss_on(many), np.asarray(h), error)
        except KeyboardInterrupt:
            if not tried:
                raise
            h, error = min(tried, key=lambda pair: pair[1])
            warn(
                f"interrupted: the best of {len(tried)} bandwidths tried is kept, h = {h}",
                NumericalWarning,
            )
    # What the square of a unit is too large for is infinite.
    return Choice(h, error * unit * unit, tuple((h, loss * unit * unit) for h, loss in tried))


def line_search(
    coarse: Callable[[Any], float],
    fine: Callable[[Any], float],
    shape: Any,
    middle: float,
    first: Callable[[list[Any]], list[float]] | None = None,
) -> tuple[Any, float]:
    """Over h = shape · eᵘ: a grid in u, extended while its end is best, then the bottom.

    `first`: what `coarse` gives for each h of the first grid, at a time.
    """
    from scipy.optimize import minimize_scalar

    def at(u: float) -> Any:
        h = shape * math.exp(u)
        return h if np.ndim(h) else float(h)

    step = math.log(2.0)
    widths = {i: at(math.log(middle) + i * step) for i in range(-BELOW, ABOVE + 1)}
    found = [*map(coarse, widths.values())] if first is None else first([*widths.values()])
    grid = dict(zip(widths, found, strict=True))
    values = np.array(list(grid.values()))
    if np.isfinite(values).all() and np.ptp(values) <= 1e-12 * np.abs(values).max():
        # k does not see the scale of x (a cosine, categories): any h will do, so none.
        return (np.ones_like(shape) if np.ndim(shape) else 1.0), float(fine(at(math.log(middle))))
    while len(grid) < BELOW + ABOVE + FARTHEST_POWERS:
        best = _best(grid)
        if min(grid) < best < max(grid):
            break
        beyond = best - 1 if best == min(grid) else best + 1
        grid[beyond] = coarse(at(math.log(middle) + beyond * step))
        if grid[beyond] > grid[best] * (1 - 1e-4):
            break
    bottom = math.log(middle) + _best(grid) * step
    if list(grid.values()).count(min(grid.values())) > 1:
        return at(bottom), float(fine(at(bottom)))
    # Where a compact k reaches no other example the loss is infinite, which leads nowhere.
    highest = max((value for value in grid.values() if math.isfinite(value)), default=math.inf)

    def finite(u: float) -> float:
        loss = fine(at(u))
        return loss if math.isfinite(loss) else highest

    limits, options = (bottom - step, bottom + step), {"xatol": 1e-3}
    result = minimize_scalar(finite, bounds=limits, method="bounded", options=options)
    u, loss = float(result.x), float(result.fun)
    if loss < highest:
        return at(u), loss
    while not math.isfinite(loss := fine(at(u))) and u < bottom + FARTHEST_POWERS * step:
        u += step
    return at(u), float(loss)


def _best(grid: dict[int, float]) -> int:
    """The index of the least loss; of equal ones the last, which is the smoothest."""
    least = min(grid.values())
    return max(i for i, value in grid.items() if value == least)


def _all_columns(
    loss: Callable[[Any], float], start: np.ndarray, error: float
) -> tuple[np.ndarray, float]:
    """From one shape of h to one number per column: Nelder and Mead's simplex in log h."""
    from scipy.optimize import minimize

    center, columns = np.log(start), len(start)
    if columns == 1:
        return start, error
    simplex = np.vstack([center, center + 0.5 * np.eye(columns)])
    result = minimize(
        lambda u: loss(np.exp(np.clip(u, center - 7.0, center + 7.0))),
        center,
        method="Nelder-Mead",
        options={
            "initial_simplex": simplex,
            "xatol": 2e-3,
            "fatol": 1e-7 * error,
            "maxfev": 60 * columns,
            "adaptive": columns > 3,
        },
    )
    if result.fun >= error:
        return start, error
    return np.exp(np.clip(result.x, center - 7.0, center + 7.0)), float(result.fun)
