"""Which norm, metric, inputs and number of rounds: judged by folds that learn M without their rows.

Leave-one-out errors are blind to what M has seen of a row, so they choose length, power and λ only.
All members of the family learn from one fold; the best of them learns from every fold, and the
round of the least mean error wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from mercer._lazy import record
from mercer._machine.deadline import now, time_left
from mercer._progress import progress
from mercer.gram.gradients import outer_product
from mercer.maps.learned.inputs import Inputs
from mercer.maps.learned.rounds import Fitted, Shape, bent, best_of, warn_interrupted

METRICS = ("fixed", "diagonal", "full")
#: Rows that choose, and the folds they make: eigenvectors of 400 rows take 12 ms on one core. On
#: 36 tables 400 chose worse on 14 and better on 6, and missed which of 32 columns matter in one of
#: them (R² .20 instead of .93), at two thirds of the time.
JUDGE_ROWS, FOLDS = 600, 3
#: Rounds at most.
ROUNDS = 5
#: Columns up to which a full and a diagonal metric are learned.
MOST_FULL, MOST_WEIGHTED = 400, 4000
#: Fewer rows than this are no folds: the kernel keeps its metric.
FEWEST_FOLDED = 24
#: Lengths, in units of the median distance, and powers that are tried. On 13 tables the second
#: power was worth 0.002 of R² or accuracy; twice the folds, other members on all folds, half or
#: twice the lengths or the gain that a round must show were not worth anything that could be seen.
LENGTHS, POWERS = (1.0, 4.0), (1.0, 1.7)


#: The share of the time left after which no other member is tried, and no other fold.
CHOICE_SHARE = 0.4
#: X, Y and weights.
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
#: Per round the error of each row that judges, by λ, and the solution.
Chain = list[tuple[np.ndarray, Fitted]]


@record
class Member:
    """One of the family."""

    inputs: str
    norm: float
    metric: str


class Part:
    """Rows that learn and rows that judge, with targets and weights."""

    def __init__(self, learn: Rows, judge: Rows) -> None:
        (self.X, self.Y, self.w), self.judge = learn, judge

    def least(self, step: tuple[np.ndarray, Fitted]) -> float:
        """The mean error of the rows that judge, at the λ that is best for them."""
        return float(np.average(step[0], axis=0, weights=self.judge[2]).min())

    def inputs(self, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """Both kinds of rows as a kernel takes them."""
        inputs = Inputs.of(kind, self.X, self.w)
        return inputs(self.X), inputs(self.judge[0])


@record
class Recipe:
    """A member, and the shape and λ of each of its solutions, the last one included."""

    member: Member
    shapes: tuple[Shape, ...]
    penalties: tuple[float, ...]
    error: float


def family(inputs: str, norm: float | str, metric: str, columns: int) -> list[Member]:
    """The members that settings leave open."""
    wide = columns > MOST_WEIGHTED
    kinds = (("values",) if wide else ("values", "both")) if inputs == "auto" else (inputs,)
    norms = (1.0, 2.0) if norm == "auto" else (float(norm),)
    members = []
    for kind, p in product(kinds, norms):
        metrics: tuple[str, ...] = (metric,)
        if metric == "auto":
            full = p == 2 and (2 if kind == "both" else 1) * columns <= MOST_FULL
            metrics = ("fixed",) if wide else ("diagonal", "full") if full else ("diagonal",)
        members += [Member(kind, p, one) for one in metrics]
    return members


@record
class Search:
    """Values to try inside a round: lengths and powers, unless they are given, and λ."""

    length: float | None
    power: float | None
    penalties: np.ndarray

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to try."""
        return None not in (self.length, self.power) and len(self.penalties) == 1

    def shapes(self, norm: float, before: Fitted | None) -> list[Shape]:
        """All lengths and powers at first, then all lengths at the power that was best."""
        lengths = LENGTHS if self.length is None else (self.length,)
        power = self.power if before is None else before.shape.power
        tried = POWERS if power is None else (power,)
        powers = [q for q in tried if q <= norm] or [norm]
        return [Shape(norm, length, q) for q in powers for length in lengths]


def chosen(
    X: np.ndarray,
    Y: np.ndarray,
    w: np.ndarray,
    members: list[Member],
    rounds: int | None,
    search: Search,
    least: int = 0,
) -> Recipe:
    """The best member and number of rounds, at least `least`, for rows without copies.

    Where time is short, of the members that were reached, by one fold if need be.
    """
    most = ROUNDS if rounds is None else rounds
    order = np.random.default_rng(0).permutation(len(X))[:JUDGE_ROWS]
    some = X[order], Y[order], w[order]
    if (settled := _without_folds(some, members, rounds, search)) is not None:
        return settled
    if not len(Inputs.of("both", X, w).ranked):  # ranks of two values are these values
        members = [one for one in members if one.inputs == members[0].inputs]
    trial = (parts := list(_folds(*some)))[0]
    tried: list[tuple[Recipe, Chain]] = []
    end = now() + CHOICE_SHARE * time_left()
    with progress("metrics", len(members) + 1) as bar:
        try:
            for member in members:
                if tried and now() > end:
                    break
                chain = _chain(member, trial, most, search, None, stops=rounds is None)
                tried.append((_recipe(member, [trial], [chain], rounds, least, search), chain))
                bar.advance(note=f"error {tried[-1][0].error:.3g}")
            best, chain = min(tried, key=lambda pair: pair[0].error)
            if now() > end:
                return best
            hints, longest = [fitted.shape for _, fitted in chain], min(len(chain), most)
            chains = [_chain(best.member, part, longest, search, hints) for part in parts]
            return _recipe(best.member, parts, chains, rounds, least, search)
        except KeyboardInterrupt:
            if not tried:
                raise
            warn_interrupted()
    return min((one for one, _ in tried), key=lambda one: one.error)


def _without_folds(
    rows: Rows, members: list[Member], rounds: int | None, search: Search
) -> Recipe | None:
    """The recipe where nothing is left to choose or rows are too few for folds, else None."""
    if len(members) == 1 and rounds is not None and search.is_settled:
        (shape,), times = search.shapes(members[0].norm, None), rounds + 1
        return Recipe(members[0], (shape,) * times, (float(search.penalties[0]),) * times, np.nan)
    if len(rows[0]) < FEWEST_FOLDED:
        whole, small = Part(rows, rows), Member(members[0].inputs, members[0].norm, "fixed")
        return _recipe(small, [whole], [_chain(small, whole, 0, search, None)], 0, 0, search)
    return None


def _earliest(errors: list[np.ndarray], w: np.ndarray, least: int) -> int:
    """The round of the least mean error; one more must be better by two standard errors."""
    at = min(least, len(errors) - 1)
    for i in range(at + 1, len(errors)):
        gain = errors[at] - errors[i]
        mean = np.average(gain, weights=w)
        chance = np.sqrt(np.average(np.square(gain - mean), weights=w) / len(w))
        if mean > 2.0 * chance:
            at = i
    return at


def _folds(X: np.ndarray, Y: np.ndarray, w: np.ndarray) -> Iterator[Part]:
    fold = np.arange(len(X)) % FOLDS
    for i in range(FOLDS):
        a, b = fold != i, fold == i
        yield Part((X[a], Y[a], w[a]), (X[b], Y[b], w[b]))


def _chain(
    member: Member,
    part: Part,
    rounds: int,
    search: Search,
    hints: list[Shape] | None,
    stops: bool = False,
) -> Chain:
    """Solutions of up to `rounds` rounds, each with its error on the rows that judge.

    `hints`: the shapes that were best before, by round. `stops`: at the first round that is worse.
    """
    (Z, T), Y = part.inputs(member.inputs), part.judge[1]
    mean = np.average(part.Y, axis=0, weights=part.w)
    chain: Chain = []
    root: np.ndarray | None = None
    rounds = 0 if member.metric == "fixed" else rounds
    for i in range(rounds + 1):
        before = chain[-1][1] if chain else None
        shapes = [hints[min(i, len(hints) - 1)]] if hints else search.shapes(member.norm, before)
        fitted = best_of(shapes, root, Z, part.Y - mean, part.w, search.penalties)
        guess = (fitted.kernel.gram(T, Z) @ fitted.path).reshape(len(T), -1, Y.shape[1])
        chain.append((np.square(guess + mean - Y[:, None]).sum(axis=2), fitted))
        if i == rounds or (stops and i and part.least(chain[i]) >= part.least(chain[i - 1])):
            break
        diagonal = member.metric == "diagonal"
        root = bent(outer_product(fitted.kernel, Z, Z, fitted.coef, part.w, diagonal))
        if root is None:
            break
    return chain


def _recipe(
    member: Member,
    parts: list[Part],
    chains: list[Chain],
    rounds: int | None,
    least: int,
    search: Search,
) -> Recipe:
    """The choice of all folds: rounds, shapes of the first, λ in the middle, the last by errors.

    Leave-one-out errors of the last solution would take too small a λ: M has seen every row.
    """
    w = np.concatenate([part.judge[2] for part in parts])
    every = range(min(map(len, chains)))
    # Each fold is judged with the λ that it would have taken.
    judged = [
        np.concatenate([wrong[:, search.penalties == f.penalty][:, 0] for wrong, f in steps])
        for steps in ([chain[i] for chain in chains] for i in every)
    ]
    at = every[-1] if rounds is not None else _earliest(judged, w, least)
    shapes = tuple(fitted.shape for _, fitted in chains[0][: at + 1])
    penalties = [
        float(np.exp(np.mean([np.log(chain[i][1].penalty) for chain in chains]))) for i in range(at)
    ]
    errors = np.average(np.concatenate([chain[at][0] for chain in chains]), axis=0, weights=w)
    last = float(search.penalties[errors.argmin()])
    return Recipe(member, shapes, (*penalties, last), float(np.average(judged[at], weights=w)))
