"""Widths the data chooses: a parameter may be "scale" or "median" instead of a number.

A kernel declares such a parameter with `Width`, which says what both words mean for it;
`Kernel.fitted(X)` replaces the words by numbers. `Spread` is what is asked of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import Any, Protocol, cast

import numpy as np

from mercer._arrays import host, is_chunked, is_sparse, is_tensor
from mercer._lazy import record
from mercer._parameters import Check, Maybe, Number
from mercer.formula.inputs import numeric

#: What may be given instead of a number.
WORDS = ("scale", "median")
#: A median is taken over the pairs among at most this many rows, drawn with a fixed seed.
MEDIAN_ROWS = 1000
#: Numbers that are brought to double precision at a time (8 MB of them).
CHUNK = 1 << 20


class Spread:
    """How far the rows of a set lie apart: what "scale" and "median" are made of.

    >>> rows = Spread([[0.0, 0.0], [2.0, 2.0]])
    >>> rows.n_columns, rows.variance, round(rows.median(), 4), rows.median(1)
    (2, 1.0, 2.8284, 4.0)
    """

    def __init__(self, rows: Any, weight: np.ndarray | None = None) -> None:
        self.rows: Any = rows if is_tensor(rows) or is_chunked(rows) else numeric(rows)
        if weight is not None and not (weight == 1).all():
            # A row without weight counts as absent, one of weight 2 as two.
            self.rows, weight = self.rows[np.flatnonzero(weight)], weight[weight != 0]
        self.weight: np.ndarray = np.ones(self.rows.shape[0]) if weight is None else weight
        if is_sparse(self.rows) and not self.rows.has_canonical_format:
            self.rows = self.rows.copy()
            self.rows.sum_duplicates()
        if not self.rows.shape[0]:
            raise ValueError("there are no rows to choose a width from")
        self.n_columns: int = int(self.rows.shape[1])
        # How many entries there are, each as often as its row counts.
        self._size = float(self.weight.sum()) * self.n_columns or 1.0

    @cached_property
    def mean(self) -> float:
        """The mean of all entries."""
        if is_sparse(self.rows):
            each = np.repeat(self.weight, np.diff(self.rows.indptr))
            total = float(each @ self.rows.data.astype(np.float64))
        elif is_chunked(self.rows):
            total = self.rows.summed(_sum)
        else:
            total = sum(float(w @ host(part.sum(1))) for part, w in self._parts())
        mean = total / self._size
        if math.isnan(mean) or math.isinf(mean):
            raise ValueError("a width cannot be chosen from rows that hold NaN or infinity")
        return mean

    @cached_property
    def variance(self) -> float:
        """The variance of all entries, as scikit-learn's ``gamma="scale"`` has it."""
        mean = self.mean
        if is_sparse(self.rows):
            each = np.repeat(self.weight, np.diff(self.rows.indptr))
            squares = float(each @ np.square(self.rows.data.astype(np.float64) - mean))
            squares += (self._size - float(each.sum())) * mean**2
        elif is_chunked(self.rows):
            squares = self.rows.summed(partial(_sum_of_squares, mean=mean))
        else:
            parts = self._parts()
            squares = sum(float(w @ host(((part - mean) ** 2).sum(1))) for part, w in parts)
        return squares / self._size

    def _parts(self) -> Iterator[tuple[Any, np.ndarray]]:
        """The rows in double precision, some at a time, with their weights."""
        step = max(1, CHUNK // max(1, self.n_columns))
        for start in range(0, self.rows.shape[0], step):
            part = self.rows[start : start + step]
            part = part.double() if is_tensor(part) else part.astype(np.float64)
            yield part, self.weight[start : start + step]

    @property
    def length(self) -> float:
        """√(D·var/2): the σ at which 1/(2σ²) is 1/(D·var)."""
        return math.sqrt(self.n_columns * self.variance / 2.0)

    def median(self, norm: Any = 2) -> float:
        """The median of ‖x − z‖ over pairs of rows, in the norm p > 0 or "inf"."""
        sample = self._sample
        n = sample.shape[0]
        if n < 2:
            return 0.0
        pairs = np.triu_indices(n, 1)
        if norm == 2:
            product = sample @ sample.T
            product = product.toarray() if is_sparse(product) else product
            own = np.diag(product)
            squares = own[:, None] + own[None, :] - 2.0 * product
            # The product loses what is below its rounding: such rows count as equal.
            squares[squares < 1e-14 * own.max(initial=0.0)] = 0.0
            return float(np.median(np.sqrt(squares[pairs])))
        from scipy.spatial.distance import pdist

        dense = sample.toarray() if is_sparse(sample) else sample
        if norm == "inf":
            return float(np.median(pdist(dense, "chebyshev")))
        return float(np.median(pdist(dense, "minkowski", p=norm)))

    @cached_property
    def _sample(self) -> Any:
        """At most `MEDIAN_ROWS` rows in double precision, dense ones around their mean."""
        n = self.rows.shape[0]
        index = np.arange(n)
        if n > MEDIAN_ROWS:
            index = np.sort(np.random.default_rng(0).choice(n, MEDIAN_ROWS, replace=False))
        rows = host(self.rows[index]).astype(np.float64)
        if is_sparse(rows):
            return rows[:, np.unique(rows.indices)]
        return rows - rows.mean(axis=0)


def _sum(rows: Any) -> float:
    return float(np.asarray(rows).sum(dtype=np.float64))


def _sum_of_squares(rows: Any, mean: float) -> float:
    return float(np.square(np.asarray(rows, dtype=np.float64) - mean).sum())


@record
class Size(Number):
    """A positive number whose square, and that of numbers some digits below it, is float64."""

    low: float = 1e-150
    high: float = 1e150

    @property
    def words(self) -> str:
        return f"a positive number between {self.low:g} and {self.high:g}"

    def bad(self) -> Iterable[Any]:
        return (math.nan, math.inf, 0.0, -1.0, 1e-200, 1e200, "1", None, True, [1.0])


SIZE = Size()


class PerColumn:
    """A positive number, or a 1-D list of them: one per column."""

    words: str = f"{SIZE.words}, or one per column"

    def __call__(self, value: Any) -> Any:
        if np.ndim(value) == 0:
            return SIZE(value)
        try:
            values = np.array(value).astype(float, casting="same_kind")  # not text, not complex
        except (TypeError, ValueError):
            raise TypeError from None
        if values.ndim != 1 or not values.size:
            raise ValueError
        if not ((values >= SIZE.low) & (values <= SIZE.high)).all():
            raise ValueError
        values.setflags(write=False)
        return values

    def bad(self) -> Iterable[Any]:
        return (0.0, -1.0, math.nan, math.inf, "1", None, 1j, [1.0, -1.0], [[1.0]], [], ["a"])


@record
class Meaning:
    """What a word is for one parameter: as text for the documentation, and as a number.

    In the text D is the number of columns, var the variance of all entries, mean their mean, and
    m the median distance.

    Parameters
    ----------
    text : str
        For the documentation.
    of : callable
        Gives the number, from the kernel and the spread of the data.

    Examples
    --------
    >>> from mercer.kernels.parameters import Meaning
    >>> Meaning("m", lambda kernel, spread: spread.median).text
    'm'
    """

    text: str
    of: Callable[[Any, Spread], float]


@record
class Width:
    """A number, or a word that `Kernel.fitted` replaces by one: the declaration of a parameter.

    Without arguments it is a length along ‖x − z‖, as the σ of a Gaussian. ``check`` says which
    numbers are allowed.

    Parameters
    ----------
    scale : Meaning
        What "scale" is.
    median : Meaning
        What "median" is.
    check : callable
        Says which numbers are allowed.

    Examples
    --------
    >>> from mercer import Gaussian
    >>> Gaussian.parameters["sigma"].scale.text
    '√(D·var/2)'
    """

    scale: Meaning = Meaning("√(D·var/2)", lambda kernel, rows: rows.length)
    median: Meaning = Meaning("m", lambda kernel, rows: rows.median())
    check: Check = SIZE

    @property
    def words(self) -> str:
        return f"{self.check.words}, or 'scale' or 'median'"

    def __call__(self, value: Any) -> Any:
        return value if isinstance(value, str) and value in WORDS else self.check(value)

    def bad(self) -> Iterable[Any]:
        return self.check.bad()

    def chosen(self, word: str, kernel: Any, X: Any, weight: np.ndarray | None) -> float:
        """The number for a word; 1 where the rows have no spread."""
        try:
            value = float(getattr(self, word).of(kernel, Spread(X, weight)))
        except ZeroDivisionError:
            return 1.0
        return value if SIZE.low <= value <= SIZE.high else 1.0

    def stand_in(self, number: float) -> float:
        return number


#: γ in front of x·z: scikit-learn's "scale", and the same of the median distance.
GAMMA = Width(
    Meaning("1/(D·var)", lambda kernel, rows: 1.0 / (rows.n_columns * rows.variance)),
    Meaning("1/m²", lambda kernel, rows: 1.0 / rows.median() ** 2),
    Number(),
)


class Chosen(Protocol):
    """The declaration of a parameter that data may choose: a width, say."""

    def chosen(self, word: str, kernel: Any, X: Any, weight: np.ndarray | None) -> Any:
        """What the word means for a kernel on these rows, of which each counts by its weight."""

    def stand_in(self, number: float) -> Any:
        """A value that is as good as any for questions about structure."""


def as_width(check: Check | None) -> Chosen | None:
    """The declaration, where data may choose the parameter."""
    if isinstance(check, Maybe):
        check = check.check
    return cast(Chosen, check) if hasattr(check, "chosen") else None
