"""The plan of a race: who runs on how many rows, and what is done with time that is left over."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from operator import attrgetter

from mercer.kernels import Gaussian, Kernel, Sum
from mercer.selection.racing.candidates import rounded
from mercer.selection.racing.more_rows import MoreRows, first_of_each
from mercer.selection.racing.race import SECOND_ROWS, Entry, Race, with_workers
from mercer.selection.rivals.trainer import RivalTrainer
from mercer.selection.trainers.base import Trainer

#: Candidates that go on to the second and to the last stage where no budget says otherwise.
KEEP = (10, 6)
#: The share of a time budget that may be spent when a stage ends, from the first to the last.
SHARES = (0.25, 0.5)
#: The share of the time left that the last folds may take where finalists go on with more rows.
BEFORE_MORE = 0.4
#: Of time left over: so many more cross-validations, for so many of the best.
EXTRA_REPEATS, CLOSE = 3, 3
#: Factors on a scale that are tried around the best kernel, where there is time.
FACTORS = (0.7, 1.4)
_SCALES = ("sigma", "length", "rate", "gamma")


def run_stages(
    race: Race,
    kernels: Sequence[Kernel],
    trainers: dict[str, Trainer],
    repeats: int,
    rivals: Sequence[RivalTrainer] = (),
    more: MoreRows | None = None,
) -> None:
    """Run the race: cheap learners judge all kernels, the others try the best of them; then the
    better candidates go on from stage to stage."""
    budget = race.clock.budget
    everyone = {t.learner for t in (*trainers.values(), *rivals)}
    judges = {t.learner for t in trainers.values() if t.entry.judges}
    first(race, kernels, trainers, rivals, 0.0 if budget is None else _left_after(race, 0))
    if budget is not None and more is not None:
        more.measure(first_of_each(race.best(), attrgetter("kind")), SECOND_ROWS)
    level = 1
    while level < len(race.sizes) and _next_stage(race, level, judges, everyone):
        level += 1
    for repeat in range(1, min(repeats, len(race.data.splits))):
        race.run_all(_complete(race), race.last, repeat)
    # After a stage on more rows, what has been tried on fewer only is no match.
    if budget is not None and not (more is not None and more.run()):
        spend_the_rest(race, repeats)


def _next_stage(race: Race, level: int, judges: set[str], everyone: set[str]) -> bool:
    """The better candidates on more rows; False, and that stage is struck off, if time is short."""
    last = level == len(race.sizes) - 1
    standing = race.best()
    # The best rival goes all the way: what wins has been compared with it.
    best_rival = {e.trainer.learner for e in [e for e in standing if e.rival][:1]}
    keep, best_of = (KEEP[1], judges | best_rival) if last else (KEEP[0], everyone)
    if race.clock.budget is None:
        return race.stage(_survivors(standing, keep, best_of), race.sizes[level])
    if last and not _shrink(race, standing[:CLOSE]):
        return False
    # The best first, as many as the time allows.
    going = _survivors(standing, 2 * keep, best_of)
    # The best of each kind first: on more rows, others may lead.
    kinds = first_of_each(standing, attrgetter("kind"))
    going = [*kinds, *(e for e in going if e not in kinds)]
    done = race.stage(going, race.sizes[level], _left_after(race, level))
    if not done:
        del race.sizes[level:]
    return done


def spend_the_rest(race: Race, repeats: int) -> None:
    """Other scales of the best, those that were passed over, and more folds."""
    refine(race)
    race.stage([e for e in race.best() if e.size < race.last], race.last)
    again(race, repeats)


def planned(kernels: int, trainers: dict[str, Trainer], rivals: int = 0) -> int:
    """About how many candidates will be run, for a bar."""
    judges = sum(t.entry.judges for t in trainers.values()) or len(trainers)
    return kernels * judges + len(trainers) + sum(KEEP) + 1 + 2 * rivals


def _shrink(race: Race, close: list[Entry]) -> bool:
    """Cut the last stage down to rows on which a few can finish; False if none are worth it."""
    before, size = race.sizes[-2:]
    kept = max((race.reserve(e) for e in close), default=0.0)
    share = 1.0 if race.data.n == race.final_rows else BEFORE_MORE
    while share * (race.clock.left() - kept) < sum(race.cost(e, size) for e in close):
        size = int(size / 1.3)
        if size < 1.5 * before:
            race.sizes.pop()
            return False
    race.sizes[-1] = size
    return True


def _left_after(race: Race, level: int) -> float:
    """Seconds that this stage must leave to those after it."""
    assert race.clock.budget is not None
    if level == len(race.sizes) - 1:
        return 0.0
    # With two stages in all, the first is the last but one.
    share = SHARES[min(level + 3 - len(race.sizes), 1)]
    return (1 - share) * race.clock.budget


def first(
    race: Race,
    kernels: Sequence[Kernel],
    trainers: dict[str, Trainer],
    rivals: Sequence[RivalTrainer],
    keep: float,
) -> None:
    """The stage with the fewest rows; learners that choose a scale themselves run once."""
    size, everyone = race.sizes[0], list(trainers.values())
    on_matrix = [t for t in everyone if not t.entry.chooses_scale]
    judges = [t for t in on_matrix if t.entry.judges] or on_matrix
    own = attrgetter("own")
    without = sorted([race.add(None, t) for t in rivals], key=own)
    cheapest = list(itertools.filterfalse(own, without[:1]))
    judged = [race.add(k, t) for k in kernels for t in judges]
    # The cheapest rival, which can be fitted on all rows whatever the time; the most promising
    # kernel; the other rivals: a short budget may not reach further kernels. The first one has all
    # the time it takes, so it must be no estimator of the user's.
    few = len(judges)
    parts = (cheapest, judged[:few], without[len(cheapest) :], judged[few:])
    for part in parts if not with_workers() else [[*without, *judged]]:
        race.stage(part, size, keep)
    leaders = [e.kernel for e in race.best() if e.kernel is not None][:1] or kernels[:1]
    more = [race.add(k, t) for t in on_matrix if t not in judges for k in leaders]
    if not isinstance(race.data.X, list):
        more += [race.add(Gaussian(1.0), t) for t in everyone if t.entry.chooses_scale]
    race.stage(more, size, keep)


def _survivors(standing: list[Entry], keep: int, best_of: set[str]) -> list[Entry]:
    """The first `keep`, and the best of these learners."""
    going = standing[:keep]
    for learner in sorted(best_of - {e.trainer.learner for e in going}):
        going += [e for e in standing if e.trainer.learner == learner][:1]
    return going


def _complete(race: Race) -> list[Entry]:
    folds = len(race.data.splits[0])
    return [e for e in race.best() if e.size == race.last and e.folds >= folds]


def refine(race: Race) -> None:
    """Other scales of the best kernel, and its sum with the runner-up, while they fit."""
    tried: set[Entry | int] = set()
    while True:
        standing = [e for e in _complete(race) if e.kernel is not None]
        if not standing or standing[0].index in tried:
            return
        best = standing[0]
        tried.add(best.index)
        before = len(race.entries)
        fresh = [race.add(k, best.trainer) for k in _near(standing)]
        fresh = [e for e in fresh if e.index >= before]
        for together in [fresh] if with_workers() else [[e] for e in fresh]:
            # A kernel of the same form is expected to take as long as the best one did.
            if race.clock.left() < race.cost(best, race.last) + race.kept(best):
                return
            race.stage(together, race.last)


def _near(standing: list[Entry]) -> list[Kernel]:
    """Other scales of the first kernel, and its sum with the next one."""
    best = standing[0]
    assert best.kernel is not None
    near = scaled_copies(best.kernel)
    other = next((e for e in standing if e.kernel != best.kernel), None)
    if other is not None and other.kernel is not None and not isinstance(best.kernel, Sum):
        weight = rounded(best.unit / other.unit)
        near.append(best.kernel + (other.kernel if weight == 1.0 else weight * other.kernel))
    return near


def scaled_copies(kernel: Kernel) -> list[Kernel]:
    """The kernel with one of its scales, or of its inner weights, a little smaller or larger.

    >>> scaled_copies(2.0 * Gaussian(1.0))
    [2.0 * Gaussian(sigma=0.7), 2.0 * Gaussian(sigma=1.4)]
    """
    made = []
    for name, value in kernel.get_params(deep=True).items():
        scales = name.split("__")[-1] in _SCALES or name.endswith("__factor")
        if scales and isinstance(value, float) and math.isfinite(value):
            made += [kernel.set_params(**{name: float(f"{value * f:.3g}")}) for f in FACTORS]
    return made


def again(race: Race, repeats: int) -> None:
    """More cross-validations on folds drawn anew, for those close to the top: all, or none."""
    close = _complete(race)[:CLOSE]
    for repeat in range(repeats, len(race.data.splits)):
        need = sum(race.cost(e, race.last) for e in close) + max(map(race.kept, close), default=0.0)
        if len(close) < 2 or race.clock.left() < need:
            return
        before = {e.index: len(e.scores) for e in close}
        race.say(f"once more on other folds: {', '.join(e.name for e in close)}")
        folds, done = len(race.data.splits[repeat]), False
        try:
            race.run_all(close, race.last, repeat)
            done = all(len(e.scores) == before[e.index] + folds for e in close)
        finally:
            for entry in close:
                if done:
                    entry.folds += folds
                else:
                    entry.forget(before[entry.index])
        if not done:
            return
