"""Problems that nobody tunes to one by one, each learner next to its peer in one interleaved run.

    python bench/shapes.py --seed 0                      60 problems, all learners
    python bench/shapes.py --seed 3 --learners SVC,SVR   60 problems of two learners
    python bench/shapes.py --cpu                         CPU time on one thread (a busy machine)

A seed draws rows (200 to 20 000), columns (2 to 784), kind of data, classes and their balance,
kernel and C. Fit and prediction are timed apart, as minima of five rounds (fewer where a round
lasts); a ratio is the peer's time over ours, so larger is better. Per learner the table has the
geometric mean and the worst case next to their targets (for two idle cores and problems of at
least 1000 rows), the worst ten problems, and where answers differ. A problem that neither side ends
in minutes is named and left out.

The peer of smoothers is statsmodels' KernelReg where it serves: dense rows of up to 300 columns
and a Gaussian. It goes query by query, so it is timed on SOME of them and its time multiplied.
Elsewhere the peer is a weighted mean in NumPy over scikit-learn's matrix K, which is far faster;
every smoother is measured beside that, too, in a second column that has no target.

A new learner is one function of a `Problem` that gives a `Contest`, entered in `LEARNERS`.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import math
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from _peers import (
    KernelRegMeans,
    LoopPerceptron,
    PeerWhole,
    Transformer,
    WeightedMeans,
    Whole,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances, laplacian_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, OneClassSVM
from threadpoolctl import threadpool_limits

import mercer
from mercer._machine.deadline import OutOfTime, now, until
from mercer.kernels import Gaussian, Laplacian
from mercer.learners import KernelNeighborsClassifier, KernelOneClass, KernelSVC, KernelSVR
from mercer.maps import NystromMap

ROWS = (200, 20_000)
COLUMNS = (2, 8, 30, 120, 784)
DATA = ("real", "pixels", "binary", "csr")
KERNELS = ("wide", "median", "narrow", "polynomial", "laplacian")
#: Rows² × columns at most: what a peer does in seconds, so that sixty problems fit in half an hour.
WORK = 5e9
#: Rows of a kernel that the peer can only take as a whole matrix.
WHOLE = 3_000
#: Seconds of one round above which there are fewer rounds, and of the peer's first one above which
#: it has no other: nothing that is touched for the first time counts then.
LONG, VERY_LONG = 1.0, 10.0
#: Seconds in which our first fit should end, and where it does not, the peer's.
PATIENCE = 30.0, 120.0
#: Queries that a peer is timed on which goes query by query.
SOME = 40
#: Rows from which problems count for the targets: geometric mean and worst case of fit and predict.
COUNTED = 1000
_MACHINE, _OTHER = ((8.0, 2.0), (12.0, 2.0)), ((3.0, 0.95), (3.0, 0.95))
TARGETS = {"svc": _MACHINE, "svr": _MACHINE} | dict.fromkeys(
    ("ridge", "neighbors", "smoother", "nystrom"), _OTHER
)


# ---------------------------------------------------------------- problems


@dataclass(frozen=True)
class Problem:
    """One draw; `rng` makes its numbers, so that every learner sees the same ones."""

    learner: str
    seed: tuple[int, int]
    rows: int
    columns: int
    data: str
    classes: int
    balanced: bool
    kernel: str
    C: float

    @property
    def name(self) -> str:
        balance = "" if self.balanced else " 1:50"
        kind = f"{self.rows} × {self.columns} {self.data}"
        return f"{kind}, {self.classes} classes{balance}, {self.kernel}, C {self.C:g}"

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng([*self.seed, 1])

    def labels(self) -> np.ndarray:
        """Classes of half as many rows again as are learned from; the rest is predicted."""
        n, share = self.rows * 3 // 2, np.ones(self.classes)
        if not self.balanced:
            share[0] = 50.0
        y = self.rng.choice(self.classes, n, p=share / share.sum())
        y[: 4 * self.classes] = np.tile(np.arange(self.classes), 4)
        return y

    def features(self) -> Any:
        """Clusters that overlap, three per class, in the kind of data that was drawn."""
        rng, y, d = self.rng, self.labels(), self.columns
        centers = rng.normal(size=(3 * self.classes, d)) * 1.5 / math.sqrt(min(d, 8))
        noise = rng.normal(size=(len(y), d)) * math.sqrt(min(d, 8) / d)
        X = centers[3 * y + rng.integers(0, 3, len(y))] + noise
        if self.data == "pixels":
            return (np.clip(np.round(40 * X), 0, 255) / 255).astype(np.float32)
        if self.data == "binary":
            return (X > 0.5).astype(np.float64)
        if self.data == "csr":
            return sp.csr_array(np.where(X > 0.8, X, 0.0))
        return X

    def targets(self, X: Any) -> np.ndarray:
        """A smooth function of a few directions, and noise."""
        rng = self.rng
        along = np.asarray(X @ rng.normal(size=(self.columns, 3)))
        along /= along.std(axis=0) + 1e-12
        return np.sin(2 * along).sum(axis=1) + 0.1 * rng.normal(size=len(along))

    def split(self, values: Any) -> tuple[Any, Any]:
        return values[: self.rows], values[self.rows :]


def draw(seed: int, number: int, learner: str) -> Problem:
    """Problem `number` of a seed."""
    rng = np.random.default_rng([seed, number])
    low, high = np.log(ROWS)
    rows, columns = int(np.exp(rng.uniform(low, high))), int(rng.choice(COLUMNS))
    kernel = str(rng.choice(KERNELS))
    rows = min(rows, int(math.sqrt(WORK / columns)), WHOLE if kernel == "laplacian" else rows)
    rows = min(rows, 2 * WHOLE) if learner in WITH_MATRIX else rows
    classes = int(rng.choice((2, 5, 26)))
    data, balanced = str(rng.choice(DATA)), bool(rng.random() < 0.7)
    C = float(rng.choice((1, 10, 100)))
    return Problem(learner, (seed, number), rows, columns, data, classes, balanced, kernel, C)


def kernels(problem: Problem, X: Any) -> tuple[Any, dict[str, Any]]:
    """The kernel for ours, and the same in scikit-learn's words."""
    sample = X[:500]
    if problem.kernel == "polynomial":
        gamma = 1.0 / max(1e-12, float(np.mean(np.asarray((sample @ sample.T).diagonal()))))
        ours = mercer.kernels.as_kernel(f"{gamma!r} * linear() + 1.0") ** 3
        return ours, {"kernel": "poly", "degree": 3, "gamma": gamma, "coef0": 1.0}
    distance = float(np.median(euclidean_distances(sample))) or 1.0
    if problem.kernel == "laplacian":
        dense = sample.toarray() if sp.issparse(sample) else sample
        length = float(np.median(np.abs(dense[:, None, :] - dense[None, :50]).sum(axis=2))) or 1.0
        return Laplacian(1.0 / length, norm=1), {
            "kernel": partial(laplacian_kernel, gamma=1.0 / length)
        }
    sigma = distance * {"wide": 3.0, "median": 1.0, "narrow": 0.3}[problem.kernel]
    return Gaussian(sigma), {"kernel": "rbf", "gamma": 0.5 / sigma**2}


# ---------------------------------------------------------------- learners


@dataclass(frozen=True)
class Contest:
    """Two models that were not fitted, what they learn from, and rows to predict."""

    ours: Any
    peer: Any
    learned: tuple[Any, ...]
    asked: Any
    #: Largest share of predictions (classes) or relative error (numbers) that may differ.
    tolerance: float = 0.01
    #: The method whose answers are compared: signs of numbers near 0 mean nothing.
    answers: str = "predict"
    #: How many of the rows the peer predicts, if not all: each costs it the same.
    shown: int | None = None
    #: A second peer, which has no target.
    second: Any = None

    def agree(self) -> bool:
        if self.shown is not None:
            shown = replace(self, asked=self.asked[: self.shown], shown=None)
            return shown._alike(shown.peer, shown.asked)
        if math.isinf(self.tolerance) or self._alike(self.peer, self.asked):
            return True
        if self.asked.dtype != np.float32:
            return False
        # The peer solves in single precision then, and may be the one that is wrong.
        X, *targets = self.learned
        peer = copy.deepcopy(self.peer).fit(X.astype(np.float64), *targets)
        return self._alike(peer, self.asked.astype(np.float64))

    def _alike(self, peer: Any, asked: Any) -> bool:
        mine = np.asarray(getattr(self.ours, self.answers)(self.asked))
        theirs = np.asarray(getattr(peer, self.answers)(asked))
        if mine.dtype.kind in "iuOU":
            return float(np.mean(mine != theirs)) <= self.tolerance
        return float(np.abs(mine - theirs).max()) <= self.tolerance * float(np.ptp(theirs))


def svc(problem: Problem) -> Contest:
    X, asked = problem.split(problem.features())
    y = problem.labels()[: problem.rows]
    kernel, words = kernels(problem, X)
    return Contest(KernelSVC(kernel, C=problem.C), SVC(C=problem.C, **words), (X, y), asked)


def svr(problem: Problem) -> Contest:
    rows = problem.features()
    X, asked = problem.split(rows)
    y = problem.targets(rows)[: problem.rows]
    kernel, words = kernels(problem, X)
    return Contest(KernelSVR(kernel, C=problem.C), SVR(C=problem.C, **words), (X, y), asked)


def one_class(problem: Problem) -> Contest:
    X, asked = problem.split(problem.features())
    kernel, words = kernels(problem, X)
    nu = {1.0: 0.5, 10.0: 0.1, 100.0: 0.02}[problem.C]
    ours, peer = KernelOneClass(kernel, nu=nu), OneClassSVM(nu=nu, **words)
    return Contest(ours, peer, (X,), asked, answers="decision_function")


def named(words: dict[str, Any]) -> dict[str, Any]:
    """For what calls a function once per pair: the name of the kernel instead."""
    if isinstance(words["kernel"], str):
        return words
    return {"kernel": "laplacian", **words["kernel"].keywords}


def numbers(problem: Problem, ours: Callable[[Any], Any], peer: Callable[..., Any]) -> Contest:
    """Two models of numbers, made of the kernel and of the same in scikit-learn's words."""
    rows = problem.features()
    X, asked = problem.split(rows)
    y = problem.targets(rows)[: problem.rows]
    kernel, words = kernels(problem, X)
    return Contest(ours(kernel), peer(named(words)), (X, y), asked)


def ridge(problem: Problem) -> Contest:
    alpha = 1.0 / problem.C
    return numbers(
        problem,
        lambda kernel: mercer.KernelRidge(kernel, alpha=alpha, fit_intercept=False),
        lambda words: KernelRidge(alpha=alpha, **words),
    )


def smoother(problem: Problem) -> Contest:
    # A polynomial is no weight: it takes both signs.
    problem = replace(problem, kernel="wide" if problem.kernel == "polynomial" else problem.kernel)
    contest = numbers(
        problem,
        lambda kernel: mercer.NadarayaWatsonRegressor(kernel, bandwidth=1.0),
        WeightedMeans,
    )
    words, contest = contest.peer.kernel, replace(contest, second=contest.peer)
    if not KernelRegMeans.serves(contest.asked, words):
        return contest
    return replace(contest, peer=KernelRegMeans((0.5 / words["gamma"]) ** 0.5), shown=SOME)


def neighbors(problem: Problem) -> Contest:
    X, asked = problem.split(problem.features())
    y = problem.labels()[: problem.rows]
    # By distance: whatever the width of a Gaussian, it ranks so.
    ours = KernelNeighborsClassifier(Gaussian())
    # Of equally near examples either may vote: where rows repeat, answers tell nothing.
    dense = X.toarray() if sp.issparse(X) else X
    tolerance = 0.2 if len(np.unique(dense, axis=0)) == len(dense) else math.inf
    return Contest(ours, KNeighborsClassifier(), (X, y), asked, tolerance)


def logistic(problem: Problem) -> Contest:
    X, asked = problem.split(problem.features())
    y = problem.labels()[: problem.rows]
    kernel, words = kernels(problem, X)
    m = min(200, problem.rows)
    peer = make_pipeline(
        Nystroem(n_components=m, random_state=0, **named(words)), LogisticRegression(C=problem.C)
    )
    ours = mercer.KernelLogisticRegression(
        kernel, alpha=1.0 / problem.C, solver="nystrom", n_centers=m, random_state=0
    )
    return Contest(ours, peer, (X, y), asked, tolerance=0.2)


def nystrom(problem: Problem) -> Contest:
    X, asked = problem.split(problem.features())
    kernel, words = kernels(problem, X)
    m = min(200, problem.rows)
    ours = NystromMap(kernel, m, random_state=0)
    peer = Nystroem(n_components=m, random_state=0, **named(words))
    # The features are a basis: any rotation of them is as good.
    return Contest(Transformer(ours), Transformer(peer), (X,), asked, tolerance=math.inf)


def perceptron(problem: Problem) -> Contest:
    X, asked = problem.split(problem.features())
    y = (problem.labels()[: problem.rows] == 0).astype(int)
    kernel, words = kernels(problem, X)
    ours = mercer.KernelPerceptron(
        kernel, epochs=1, averaging="last", shuffle=False, fit_intercept=False
    )
    # Scores, because the sign of one that is 0 up to rounding means nothing.
    peer = LoopPerceptron(named(words))
    return Contest(ours, peer, (X, y), asked, tolerance=0.05, answers="decision_function")


def gram(problem: Problem) -> Contest:
    return numbers(problem, Whole, PeerWhole)


def matvec(problem: Problem) -> Contest:
    return numbers(problem, partial(Whole, times=True), partial(PeerWhole, times=True))


LEARNERS: dict[str, Callable[[Problem], Contest]] = {
    "svc": svc,
    "svr": svr,
    "one_class": one_class,
    "ridge": ridge,
    "smoother": smoother,
    "neighbors": neighbors,
    "logistic": logistic,
    "nystrom": nystrom,
    "perceptron": perceptron,
    "gram": gram,
    "matvec": matvec,
}
#: Those whose `fit` only keeps the data.
KEEPING = ("smoother", "gram", "matvec")
#: Those whose peer holds a whole matrix, which some of them factorize: fewer rows.
WITH_MATRIX = ("ridge", "smoother", "perceptron", "gram", "matvec")


# ---------------------------------------------------------------- measuring


@dataclass(frozen=True)
class Result:
    """The peer's time over ours."""

    problem: Problem
    fit: float
    predict: float
    agree: bool
    ours: tuple[float, float]
    #: The same for predictions of a second peer.
    second: float | None = None


def neither_ends(contest: Contest) -> bool:
    """Whether both sides take too long: a cubic with a large C has steps without end.

    What only ours does not end is measured, however long it takes.
    """
    try:
        with until(now() + PATIENCE[0]):
            contest.ours.fit(*contest.learned)
        return False
    except OutOfTime:
        process = multiprocessing.get_context("fork").Process(
            target=contest.peer.fit, args=contest.learned
        )
    process.start()
    process.join(PATIENCE[1])
    endless = process.is_alive()
    process.terminate()
    process.join()
    return endless


def compare(problem: Problem, clock: Callable[[], float]) -> Result | None:
    contest = LEARNERS[problem.learner](problem)
    if neither_ends(contest):  # else that compiled, and touched memory
        return None
    sides = (contest.ours, contest.peer)

    def timed(model: Any) -> np.ndarray:
        shown = contest.shown if model is contest.peer else None
        asked = contest.asked if shown is None else contest.asked[:shown]
        start = clock()
        model.fit(*contest.learned)
        fitted = clock()
        model.predict(asked)
        share = asked.shape[0] / contest.asked.shape[0]
        return np.array([fitted - start, (clock() - fitted) / share])

    timed(contest.ours)  # predictions compile, too
    best, turn, rounds = [np.full(2, np.inf), timed(contest.peer)], 0, 5
    last = best[1].sum() > VERY_LONG
    while turn < rounds:
        began = time.perf_counter()
        for i in (0,) if last else (0, 1) if turn % 2 else (1, 0):
            best[i] = np.minimum(best[i], timed(sides[i]))
        turn += 1
        rounds = 5 if time.perf_counter() - began < LONG else 2
    fit, predict = best[1] / best[0]
    second = None
    if contest.second is not None:
        sides = (contest.ours, contest.second)
        pairs = np.array([[timed(side)[1] for side in sides] for _ in range(5)])
        ours, theirs = pairs.min(axis=0)
        second = float(theirs / min(ours, best[0][1]))
    return Result(problem, float(fit), float(predict), contest.agree(), tuple(best[0]), second)


def report(learner: str, results: list[Result]) -> None:
    parts = ("predict",) if learner in KEEPING else ("fit", "predict")
    counted = [r for r in results if r.problem.rows >= COUNTED]
    for what, target in zip(("fit", "predict"), TARGETS.get(learner, (None, None)), strict=True):
        ratios = np.array([getattr(r, what) for r in counted])
        if what not in parts or not len(ratios):
            continue
        found = float(np.exp(np.log(ratios).mean())), float(ratios.min())
        texts = [f"{v:6.2f}" for v in found]
        if target is not None:
            texts = [
                f"{v:6.2f} (target {t:g}: {'met' if v >= t else 'MISSED'})"
                for v, t in zip(found, target, strict=True)
            ]
        print(f"{learner:>12} {what:8} {len(ratios)} problems, n ≥ {COUNTED}: "
              f"geometric mean {texts[0]}   worst {texts[1]}")  # fmt: skip
    beside = np.array([r.second for r in counted if r.second is not None])
    if len(beside):
        mean = float(np.exp(np.log(beside).mean()))
        print(f"{learner:>12} predict  {len(beside)} problems beside NumPy (no target): "
              f"geometric mean {mean:6.2f}   worst {beside.min():6.2f}")  # fmt: skip
    for r in sorted(results, key=lambda r: min(getattr(r, p) for p in parts))[:10]:
        print(f"    fit {r.fit:6.2f}  predict {r.predict:6.2f}  {r.problem.name}")
    for r in results:
        if not r.agree:
            print(f"    ANSWERS DIFFER: {r.problem.name} (seed {r.problem.seed})")


@contextlib.contextmanager
def setting(cpu: bool) -> Iterator[Callable[[], float]]:
    """The clock; CPU time is that of one thread, because waiting threads spin."""
    if not cpu:
        yield time.perf_counter
        return
    with threadpool_limits(1), mercer.config(threads=1):
        yield time.process_time


def chosen(text: str) -> list[str]:
    names = text.lower().split(",")
    unknown = set(names) - set(LEARNERS)
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown} are none of {', '.join(LEARNERS)}")
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--learners", type=chosen, default=list(LEARNERS), help="such as SVC,SVR; all without it"
    )
    parser.add_argument("--problems", type=int, default=60)
    parser.add_argument("--rows", type=int, default=ROWS[1], help="no problem has more")
    parser.add_argument("--cpu", action="store_true", help="CPU time on one thread")
    given = parser.parse_args()
    names = given.learners
    if "smoother" in names and not KernelRegMeans.is_installed():
        print(
            "STATSMODELS IS NOT INSTALLED (pip install 'mercer[bench]'): smoothers stand beside "
            "NumPy alone, which is far faster; the targets are meant beside statsmodels"
        )
    found: dict[str, list[Result]] = {name: [] for name in names}
    warnings.simplefilter("ignore", ConvergenceWarning)
    with setting(given.cpu) as clock:
        for number in range(given.problems):
            name = names[number % len(names)]
            problem = draw(given.seed, number, name)
            problem = replace(problem, rows=min(problem.rows, given.rows))
            result = compare(problem, clock)
            if result is None:
                print(f"{name:>12} left out, for neither ends in {PATIENCE[1]:g} s: {problem.name}")
                continue
            found[name].append(result)
            ms = " ".join(f"{1e3 * t:8.2f} ms" for t in result.ours)
            same = "" if result.second is None else f", beside NumPy {result.second:.2f}"
            same += "" if result.agree else "  ANSWERS DIFFER"
            print(f"{name:>12} fit {result.fit:6.2f} predict {result.predict:6.2f} ({ms}) "
                  f"{problem.name}{same}", flush=True)  # fmt: skip
    for name, results in found.items():
        if results:
            report(name, results)


if __name__ == "__main__":
    main()
