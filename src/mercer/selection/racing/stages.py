"""The plan of a race: who runs on how many rows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from operator import attrgetter

from mercer.kernels import Gaussian, Kernel
from mercer.selection.racing.entries import Entry
from mercer.selection.racing.finals import Finals, first_of_each
from mercer.selection.racing.forecasts import with_workers
from mercer.selection.racing.race import SECOND_ROWS, Race
from mercer.selection.rivals.trainer import RivalTrainer
from mercer.selection.trainers.base import Trainer

#: Candidates that go on to the second and to the last stage where no budget says otherwise.
KEEP = (10, 6)
#: The share of a time budget that may be spent when a stage ends, from the first to the last.
SHARES = (0.25, 0.4)


def run_stages(
    race: Race,
    kernels: Sequence[Kernel],
    trainers: dict[str, Trainer],
    repeats: int,
    rivals: Sequence[RivalTrainer] = (),
    finals: Finals | None = None,
) -> None:
    """Run the race: cheap learners judge all kernels, the others try the best of them; then the
    better candidates go on from stage to stage, and to the finals where there are any."""
    late: list[RivalTrainer] = []
    if finals is not None:
        # More rows than this take part in the finals only; so does who has nothing to be chosen.
        race.sizes = list(dict.fromkeys(min(s, SECOND_ROWS) for s in race.sizes))
        if not race.data.with_scores:  # which are to be calibrated
            late = [r for r in rivals if r.rival.dense]
            # What takes longest may take a share of the time left: of more if it comes first.
            late.sort(key=lambda r: not r.rival.learns_metric)
    early = [r for r in rivals if r not in late]
    everyone = {t.learner for t in (*trainers.values(), *early)}
    judges = {t.learner for t in trainers.values() if t.entry.judges}
    first(race, kernels, trainers, early, _left_after(race, 0))
    level = 1
    while level < len(race.sizes) and _next_stage(race, level, judges, everyone):
        level += 1
    _again(race, repeats)
    if finals is not None:
        finals.run([race.add(None, r) for r in late])


def _again(race: Race, repeats: int) -> None:
    """Other folds for those that have run in all of them."""
    for repeat in range(1, min(repeats, len(race.data.splits))):
        folds = len(race.data.splits[0])
        whole = [e for e in race.best() if e.size == race.last and e.folds >= folds]
        race.run_all(whole, race.last, repeat)


def _next_stage(race: Race, level: int, judges: set[str], everyone: set[str]) -> bool:
    """The better candidates on more rows; False, and that stage is struck off, if time is short."""
    last = level == len(race.sizes) - 1
    best = race.best()
    # The best rival goes all the way: what wins has been compared with it.
    best_rival = {e.trainer.learner for e in [e for e in best if e.rival][:1]}
    keep, best_of = (KEEP[1], judges | best_rival) if last else (KEEP[0], everyone)
    if race.clock.budget is None:
        return race.stage(_survivors(best, keep, best_of), race.sizes[level])
    # The best of each kind first, as many as the time allows: on more rows, others may lead.
    kinds = first_of_each(best, attrgetter("kind"))
    going = [*kinds, *(e for e in _survivors(best, 2 * keep, best_of) if e not in kinds)]
    done = race.stage(going, race.sizes[level], _left_after(race, level))
    if not done:
        del race.sizes[level:]
    return done


def planned(kernels: int, trainers: dict[str, Trainer], rivals: int = 0) -> int:
    """About how many candidates will be run, for a bar."""
    judges = sum(t.entry.judges for t in trainers.values()) or len(trainers)
    return kernels * judges + len(trainers) + sum(KEEP) + 1 + 2 * rivals


def _left_after(race: Race, level: int) -> float:
    """Seconds that this stage must leave to those after it."""
    return 0.0 if race.clock.budget is None else (1 - SHARES[min(level, 1)]) * race.clock.budget


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
    # The most promising kernel, the cheapest rival, the other rivals, the other kernels: a short
    # budget may not reach those. The first one has all the time it takes, so it must be no function
    # and no estimator of the user's.
    few = len(judges)
    begin = [judged[:few], cheapest]
    if kernels and kernels[0].is_opaque:
        begin.reverse()
    parts = (*begin, without[len(cheapest) :], judged[few:])
    for i, part in enumerate(parts if not with_workers() else [[*without, *judged]]):
        race.stage(part, size, keep * (i > 1))
    more = [t for t in everyone if t not in judges]
    leaders = [e.kernel for e in race.best() if e.kernel is not None][:1] or kernels[:1]
    race.stage(_with_a_kernel(race, more, leaders), size, keep)


def _with_a_kernel(race: Race, trainers: list[Trainer], leaders: Sequence[Kernel]) -> list[Entry]:
    """Learners with the leading kernel; of vectors, those that choose a scale with a Gaussian."""
    made = [race.add(k, t) for t in trainers if not t.entry.chooses_scale for k in leaders]
    if not isinstance(race.data.X, list):
        made += [race.add(Gaussian(1.0), t) for t in trainers if t.entry.chooses_scale]
    return made


def _survivors(standing: list[Entry], keep: int, best_of: set[str]) -> list[Entry]:
    """The first `keep`, and the best of these learners."""
    going = standing[:keep]
    for learner in sorted(best_of - {e.trainer.learner for e in going}):
        going += [e for e in standing if e.trainer.learner == learner][:1]
    return going
