"""Look for points on which k is no kernel: the data, plain shapes, random sets, then descent.

The order is from cheap and readable to expensive: whatever is found first is reduced to as few
points as possible and handed to `confirm`, which has the last word.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._examples import count, take

from . import confirm
from .form import Worst, fewest, plain_vector, worst
from .results import Counterexample
from .shapes import SCALES, SHAPES, clouds, mixed
from .target import Target, is_numeric

#: Candidates less negative than this are rounding of the fast block computation.
CANDIDATE = -1e-12
#: How clearly negative a reduced set must be; the first that leads to a confirmed one is taken.
CLEAR = (-1e-3, -1e-6, -1e-9, CANDIDATE)
CLOUDS = 24
STARTS = 6
DROPS = 6
MOVABLE = 48  # coordinates: beyond that a simplex crawls
MAX_ROWS = 256


@dataclass
class Search:
    """One search for a counterexample to ``target``, with a time limit and a log."""

    target: Target
    seconds: float = 3.0
    seed: int = 0
    scales: tuple[float, ...] = SCALES
    because: str = ""
    tried: list[str] = field(default_factory=list)
    fold: bool = False  # k refuses negative numbers: look at |x| only
    pool: list[tuple[float, np.ndarray]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.deadline: float = time.monotonic() + self.seconds

    @property
    def late(self) -> bool:
        return time.monotonic() > self.deadline

    # -- the stages ---------------------------------------------------------------------------

    def on_witnesses(self, candidates: Iterable[np.ndarray]) -> Counterexample | None:
        """Points that a rule names; the sum over all their pairs may be negative."""
        for points in candidates:
            vector = np.ones(len(points))
            answer = self.confirmed(points, vector)
            if answer is not None:
                return self._answer(points, vector, answer, "indefinite")
        return None

    def on_data(self, data: Any) -> Counterexample | None:
        """Among the rows of ``data`` only."""
        n = count(data)
        most = 64 if self.target.slow else MAX_ROWS
        rng = np.random.default_rng(self.seed)
        rows = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
        points = self.target.select(data, rows)
        self.tried.append(f"{len(rows)} of the {n} given rows" if n > most else f"{n} given rows")
        found = self.symmetry(points)
        if found is None:
            found = self.best_of([points])
        if found is None and is_numeric(points) and points.ndim == 2 and len(points) > 2:
            size = min(4, len(points))
            for _ in range(STARTS):
                self.pool.append((1.0, points[rng.choice(len(points), size, replace=False)]))
        return found

    def on_shapes(self, dims: Sequence[int]) -> Counterexample | None:
        """Lines, grids, cubes, corners and circles, each at every scale."""
        for d in dims:
            found = self.symmetry(mixed(d))
            if found is not None:
                return found
        names = []
        for name, least, points in SHAPES:
            for d in dims:
                if d >= least and not self.late:
                    base = points(d)
                    found = self.best_of(base * scale for scale in self.scales)
                    if found is not None:
                        return self.with_fewer(found)
                    names.append(name)
        where = ", ".join(map(str, dims)) + (" dimension" if dims[-1] == 1 else " dimensions")
        self.tried.append(
            f"{', '.join(dict.fromkeys(names))} at {len(self.scales)} scales in {where}"
        )
        return None

    def on_clouds(self, dims: Sequence[int]) -> Counterexample | None:
        """Random sets at random scales."""
        sources = [clouds(d, self.scales, self.seed + d) for d in dims]
        done = 0
        while done < CLOUDS * len(sources) and not self.late:
            found = self.best_of([next(sources[done % len(sources)])])
            if found is not None:
                return self.with_fewer(found)
            done += 1
        self.tried.append(f"{done} random sets")
        return None

    def by_descent(self, dims: Sequence[int]) -> Counterexample | None:
        """Move the points of the most promising sets downhill (they know their own dimension)."""
        starts = sorted(self.pool, key=lambda entry: entry[0])[: 2 * STARTS]
        done = 0
        for _, points in starts:
            if self.late:
                break
            moved = self.descend(points)
            found = self.refute(moved) if moved is not None else None
            if found is not None:
                return found
            done += 1
        self.tried.append(f"descent from {done} sets of points")
        return None

    # -- the tools ----------------------------------------------------------------------------

    def value(self, points: Any) -> tuple[np.ndarray, Worst] | None:
        """K and its most negative direction; None where k refuses the points."""
        try:
            K = self.target.matrix(points)
        except Exception:  # a black box may raise anything on points it was not made for
            return None
        direction = worst(K)
        return None if direction is None else (K, direction)

    def confirmed(
        self, points: Any, vector: np.ndarray, deadline: float = math.inf
    ) -> tuple[float, bool] | None:
        """cᵀKc < 0 beyond doubt, or None; k may refuse points that a part of it named."""
        try:
            return confirm.indefinite(self.target, points, vector, deadline)
        except Exception:  # see `value`
            return None

    def folded(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, Worst] | None:
        """Like `value`, on |points| if only those are in the domain of k."""
        if self.fold:
            points = np.unique(np.abs(points), axis=0)
        answer = self.value(points)
        if answer is None and not self.fold:
            positive = np.unique(np.abs(points), axis=0)
            answer = self.value(positive)
            if answer is not None:
                self.fold, points = bool((points < 0).any()), positive
        return None if answer is None else (points, *answer)

    def best_of(self, sets: Iterable[Any]) -> Counterexample | None:
        """The counterexample with the fewest points among these sets; the earliest if equal."""
        found: Counterexample | None = None
        for points in sets:
            if self.late:
                break
            if is_numeric(points):
                looked = self.folded(points)
            else:
                answer = self.value(points)
                looked = None if answer is None else (points, *answer)
            if looked is None:
                continue
            points, K, direction = looked
            if direction.value >= CANDIDATE:
                if is_numeric(points) and points.ndim == 2:
                    self._remember(points, K)
                continue
            if found is not None and len(found.points) == 1:
                break
            here = self._reduced(points, K)
            if here is not None and (found is None or count(here.points) < count(found.points)):
                found = here
        return found

    def refute(self, points: Any) -> Counterexample | None:
        """A confirmed counterexample on some of these points."""
        answer = self.value(points)
        if answer is None or answer[1].value >= CANDIDATE:
            return None
        return self._reduced(points, answer[0])

    def _reduced(self, points: Any, K: np.ndarray) -> Counterexample | None:
        tested: set[tuple[int, ...]] = set()
        for below in CLEAR:
            rows = fewest(K, below)
            if rows is None or tuple(rows) in tested:
                continue
            if tested and self.late:
                return None
            tested.add(tuple(rows))
            part = K[np.ix_(rows, rows)]
            direction = worst(part)
            if direction is None:
                continue
            few = take(points, rows)
            # What has been found is looked at, even where finding it took all the time.
            deadline = max(self.deadline, time.monotonic() + 1.0)
            for vector in (plain_vector(part, direction.vector), direction.vector):
                answer = self.confirmed(few, vector, deadline)
                if answer is not None:
                    return self._answer(few, vector, answer, "indefinite")
        return None

    def symmetry(self, points: Any) -> Counterexample | None:
        """Two points with k(x, z) ≠ k(z, x)."""
        few = take(points, range(min(count(points), 12)))
        if is_numeric(few) and self.value(few) is None:
            few = np.abs(few)
        try:
            K = self.target.both_triangles(few)
        except Exception:  # see `value`
            return None
        gap = np.abs(K - K.T) if np.isfinite(K).all() else np.zeros(1)
        if not gap.any():
            return None
        clear = np.triu(gap) > 0.1 * gap.max()  # the first such pair is the plainest
        i, j = np.unravel_index(int(np.argmax(clear)), gap.shape)
        pair = take(few, [int(i), int(j)])
        answer = confirm.asymmetric(self.target, pair)
        return None if answer is None else self._answer(pair, None, answer, "asymmetric")

    def _answer(
        self, points: Any, vector: np.ndarray | None, answer: tuple[float, bool], kind: str
    ) -> Counterexample:
        value, exact = answer
        return Counterexample(
            self.target.kernel, points, vector, value, kind, exact, self.because, self.target
        )

    def _remember(self, points: np.ndarray, K: np.ndarray) -> None:
        """Keep the least positive of a few small subsets, as a start for descent."""
        rng = np.random.default_rng(len(self.pool))
        size = min(len(points), 4)
        subsets = [rng.choice(len(points), size, replace=False) for _ in range(8)]
        scores = []
        for rows in subsets:
            direction = worst(K[np.ix_(rows, rows)])
            scores.append(1.0 if direction is None else direction.value)
        best = int(np.argmin(scores))
        self.pool.append((scores[best], points[subsets[best]]))

    def descend(self, points: np.ndarray, evaluations: int = 400) -> np.ndarray | None:
        """Move the points downhill in the smallest eigenvalue; the moved set once it is negative.

        Points that fall together make any eigenvalue small, so what is minimized is the smallest
        eigenvalue of the set over the smallest that any two of its points have.
        """
        from scipy.optimize import minimize

        if points.size > MOVABLE:
            return None
        shape = points.shape
        scale = float(np.abs(points).max()) or 1.0

        class Found(Exception):
            pass

        best: list[np.ndarray] = []

        def height(flat: np.ndarray) -> float:
            moved = flat.reshape(shape) * scale
            if self.fold:
                moved = np.abs(moved)
            answer = self.value(moved)
            if answer is None:
                return 2.0
            K, direction = answer
            if direction.value < -1e-6:
                best.append(moved)
                raise Found
            if self.late:
                raise Found
            if len(K) < 3:
                return direction.value
            lengths = np.sqrt(np.abs(np.diagonal(K)))
            pairs = 1 - np.abs(K / np.maximum(np.outer(lengths, lengths), 1e-300))
            np.fill_diagonal(pairs, 1.0)
            return direction.value / max(float(pairs.min()), 1e-12)

        with suppress(Found):
            start, options = (points / scale).ravel(), {"maxfev": evaluations}
            minimize(height, start, method="Nelder-Mead", options=options)
        return self._shorter(best[0]) if best else None

    def _shorter(self, points: np.ndarray) -> np.ndarray:
        """The same points with as few binary digits as leave the set clearly negative."""
        for digits in range(14):
            rounded = np.round(points * 2.0**digits) / 2.0**digits
            answer = self.value(rounded)
            if answer is not None and answer[1].value < -5e-7:
                return rounded
        return points

    def with_fewer(self, found: Counterexample) -> Counterexample:
        """Drop points one at a time and let descent mend the rest, a few times."""
        attempts = DROPS
        while attempts and count(found.points) > 3:
            assert found.vector is not None
            better = None
            for drop in np.argsort(np.abs(found.vector)):
                if not attempts or self.late:
                    return found
                attempts -= 1
                moved = self.descend(np.delete(found.points, drop, axis=0), 200)
                better = self.refute(moved) if moved is not None else None
                if better is not None:
                    break
            if better is None or count(better.points) >= count(found.points):
                break
            found = better
        return found
