"""The fast perceptrons against the textbook loop, written out in plain Python: bit for bit."""

from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import mercer.tuning as tuning
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial, Precomputed
from mercer.solvers.online.budget import BudgetPerceptron, Store
from mercer.solvers.online.dual import DualPerceptron
from mercer.solvers.online.primal import PrimalPerceptron
from mercer.solvers.online.rule import Rule
from mercer.solvers.online.run import Schedule, run

FEW = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Textbook:
    """α, b and the list of mistakes of the loop that computes f anew at every visit."""

    def __init__(self, K, labels, rule, *, alpha=None, bias=None, max_updates=math.inf):
        self.K = [[float(v) for v in row] for row in K]
        self.labels = [int(v) for v in labels]
        self.rule, self.max_updates = rule, max_updates
        n = len(self.labels)
        self.alpha = [[0.0] * rule.outputs for _ in range(n)]
        if alpha is not None:
            self.alpha = [[float(v) for v in row] for row in alpha]
        self.b = [0.0] * rule.outputs if bias is None else [float(v) for v in bias]
        self.support = []  # for a budget, in the order of slots
        self.mistakes, self.visits, self.updates = [], 0, 0
        self.total = [[0.0] * rule.outputs for _ in range(n)]
        self.nearest = math.inf  # to the border between update and none

    def score(self, i):
        f = []
        for c in range(self.rule.outputs):
            f.append(sum(a[c] * self.K[i][j] for j, a in enumerate(self.alpha)) + self.b[c])
        return f

    def _note(self, distance, outputs):
        """How near a decision was, unless it was between numbers that have no rounding."""
        if any(a[c] for a in self.alpha for c in outputs):
            self.nearest = min(self.nearest, abs(distance))

    def wanted(self, i):
        """{output: ±1} that the rule asks for."""
        rule, y, f = self.rule, self.labels[i], self.score(i)
        first = rule.first
        if rule.ranked:
            others = [c for c in range(rule.outputs) if c != y]
            rival = max(others, key=lambda c: (f[c], -c))
            gap = f[y] - f[rival]
            self._note(gap - rule.margin, (y, rival))
            for c in others:
                if c != rival:
                    self._note(f[rival] - f[c], (rival, c))
            wrong = gap < rule.margin or (gap == rule.margin and (not first or rival < y))
            return {y: 1, rival: -1} if wrong else {}
        changes = {}
        for c in range(rule.outputs):
            t = 1 if y == (1 if rule.outputs == 1 else c) else -1
            gap = t * f[c]
            self._note(gap - rule.margin, (c,))
            if gap < rule.margin or (gap == rule.margin and (not first or t == 1)):
                changes[c] = t
        return changes

    def visit(self, i, budget=None, policy=None, random=None, slots=None):
        self.visits += 1
        changes = self.wanted(i)
        if not self.rule.ranked:
            allowed = self.max_updates - self.updates
            changes = {c: t for at, (c, t) in enumerate(changes.items()) if at < allowed}
        if changes:
            self.updates += 1 if self.rule.ranked else len(changes)
            self.mistakes.append((i, self.visits))
            if budget is not None and i not in slots:
                if len(slots) < budget:
                    slots.append(i)
                else:
                    gone = self.turn % budget if policy == "oldest" else random.randint(budget)
                    self.turn += 1
                    self.alpha[slots[gone]] = [0.0] * self.rule.outputs
                    slots[gone] = i
            for c, t in changes.items():
                self.alpha[i][c] += self.rule.rate * t
                if self.rule.bias:
                    self.b[c] += self.rule.rate * t
        for i, row in enumerate(self.alpha):
            for c, a in enumerate(row):
                self.total[i][c] += a

    def run(self, epochs, random=None, budget=None, policy=None):
        n, slots = len(self.labels), []
        self.turn = 0
        left = max(1, round(epochs * n))
        while left > 0:
            size = min(left, n)
            left -= size
            order = random.permutation(n)[:size] if random is not None else range(size)
            before = self.updates
            for i in order:
                self.visit(int(i), budget, policy, random, slots)
                if self.updates >= self.max_updates:
                    return self
            if self.updates == before and size == n:
                return self
        return self


@st.composite
def problems(draw, biggest=40):
    n = draw(st.integers(2, biggest))
    classes = draw(st.integers(2, 4))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, draw(st.integers(1, 3)))).astype(float)
    labels = rng.integers(0, classes, size=n)
    if draw(st.booleans()):  # learnable, so that some epochs are clean
        labels = (X.sum(axis=1) > 0).astype(int) if classes == 2 else np.abs(X[:, 0]) % classes
    rule = Rule(
        1 if classes == 2 else classes,
        classes > 2 and draw(st.booleans()),
        draw(st.booleans()),
        draw(st.sampled_from([0.0, 0.0, 1.0, 5.0])),
        draw(st.sampled_from([1.0, 1.0, 0.5, 2.0])),
        draw(st.booleans()),
    )
    return X, labels.astype(np.int64), rule, seed % 1000


kernels = st.sampled_from([Linear(), Polynomial(2, offset=1.0), Polynomial(3), Precomputed()])
passes = st.sampled_from([0.3, 1, 1.5, 3, 6])
limits = st.sampled_from([math.inf, math.inf, 1, 3, 10])


def _matrix(kernel, X, seed):
    """The matrix, and what the kernel is given: a black box need not be symmetric."""
    if isinstance(kernel, Precomputed):
        K = np.random.default_rng(seed).integers(-3, 6, size=(len(X), len(X))).astype(float)
        return K, K
    return kernel(X), X


def _alpha(walker, n):
    alpha = np.zeros((n, walker.rule.outputs))
    np.add.at(alpha, walker.journal.positions, walker.rule.rate * walker.journal.units)
    return alpha


@FEW
@given(
    problems(), kernels, passes, limits, st.integers(1, 50), st.integers(1, 20), st.booleans(),
    st.booleans(),
)  # fmt: skip
def test_the_same_updates_as_the_textbook(
    problem, kernel, epochs, limit, block, leaf, shuffle, warm
):
    X, labels, rule, seed = problem
    n = len(X)
    K, data = _matrix(kernel, X, seed)
    start = np.zeros((n, rule.outputs))
    if warm:
        start = np.random.default_rng(seed).integers(-2, 3, size=start.shape).astype(float)
    book = Textbook(K, labels, rule, alpha=start, max_updates=limit)
    book.run(epochs, np.random.RandomState(seed) if shuffle else None)
    walker = DualPerceptron(
        kernel.gram(data), labels, rule, scores=K @ start, block=block, leaf=leaf
    )
    random = np.random.RandomState(seed) if shuffle else None
    outcome = run(walker, Schedule(n, epochs, random, limit))
    assert walker.tally.visits == book.visits
    assert walker.tally.updates == book.updates
    made = list(zip(walker.journal.positions, walker.journal.times, strict=True))
    assert made == book.mistakes
    np.testing.assert_array_equal(start + _alpha(walker, n), book.alpha)
    np.testing.assert_array_equal(walker.bias, book.b)
    assert sum(record["mistakes"] for record in outcome.history) == book.updates


@FEW
@given(problems(), passes, limits, st.integers(1, 20), st.booleans(), st.booleans(), st.booleans())
def test_the_primal_loop_makes_the_same_updates(
    problem, epochs, limit, block, shuffle, sparse, compiled
):
    import scipy.sparse as sp

    X, labels, rule, seed = problem
    book = Textbook(X @ X.T, labels, rule, max_updates=limit)
    book.run(epochs, np.random.RandomState(seed) if shuffle else None)
    rows = sp.csr_array(X) if sparse else X
    coef = np.zeros((rule.outputs, X.shape[1]))
    with mock.patch.object(tuning, "PLAIN_STEPS", 0 if compiled else 10**9):
        walker = PrimalPerceptron(lambda index: rows[index], labels, rule, coef, block=block)
    run(walker, Schedule(len(X), epochs, np.random.RandomState(seed) if shuffle else None, limit))
    made = list(zip(walker.journal.positions, walker.journal.times, strict=True))
    assert made == book.mistakes
    np.testing.assert_array_equal(walker.coef, np.array(book.alpha).T @ X)
    np.testing.assert_array_equal(walker.bias, book.b)
    # Σ over the visits of w, from the two sums that are kept
    total = walker.tally.visits * walker.coef - walker.late
    np.testing.assert_array_equal(total, np.array(book.total).T @ X)


@FEW
@given(
    problems(30), kernels, passes, st.integers(1, 8), st.sampled_from(["oldest", "random"]),
    st.integers(1, 20), st.booleans(),
)  # fmt: skip
def test_a_budget_forgets_what_the_textbook_forgets(
    problem, kernel, epochs, budget, policy, block, shuffle
):
    X, labels, rule, seed = problem
    K, data = _matrix(kernel, X, seed)
    one, two = np.random.RandomState(seed), np.random.RandomState(seed)
    book = Textbook(K, labels, rule)
    # One generator draws the orders and the points that go, in the order of time.
    book.run(epochs, one, budget, policy) if shuffle else _in_order(
        book, epochs, one, budget, policy
    )
    store = Store(budget, rule.outputs, policy)
    walker = BudgetPerceptron(kernel.gram(data), labels, rule, store, random=two, block=block)
    run(walker, Schedule(len(X), epochs, two if shuffle else None))
    made = list(zip(walker.journal.positions, walker.journal.times, strict=True))
    assert made == book.mistakes
    alpha = np.zeros((len(X), rule.outputs))
    alpha[store.names] = store.weights[: len(store)]
    np.testing.assert_array_equal(alpha, book.alpha)
    np.testing.assert_array_equal(walker.bias, book.b)
    assert len(store) <= budget


def _in_order(book, epochs, random, budget, policy):
    class InOrder:
        @staticmethod
        def permutation(n):
            return np.arange(n)

        randint = random.randint

    book.run(epochs, InOrder, budget, policy)


@FEW
@given(problems(), st.sampled_from([0.5, 1.5]), st.integers(1, 50), st.integers(1, 20))
def test_other_kernels_agree_wherever_rounding_does_not_decide(problem, sigma, block, leaf):
    X, labels, rule, seed = problem
    X = X + np.random.default_rng(seed).normal(size=X.shape)
    kernel = Gaussian(sigma)
    book = Textbook(kernel(X), labels, rule).run(3)
    assume(book.nearest > 1e-9)
    walker = DualPerceptron(kernel.gram(X), labels, rule, block=block, leaf=leaf)
    run(walker, Schedule(len(X), 3))
    made = list(zip(walker.journal.positions, walker.journal.times, strict=True))
    assert made == book.mistakes


def test_it_meets_all_three_ways_of_applying_updates():
    """Blocks, halves and leaves on a set large enough for each; float32 products included."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(700, 5)).astype(np.float32)
    labels = rng.integers(0, 3, size=700)
    rule = Rule(3, True)
    results = []
    for block, leaf in ((4096, 256), (128, 16), (700, 700), (64, 64)):
        walker = DualPerceptron(
            Polynomial(2, offset=1.0).gram(X), labels, rule, block=block, leaf=leaf
        )
        run(walker, Schedule(700, 3))
        results.append(walker.journal.positions.copy())
    assert len(results[0]) > 500
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_the_kernel_is_evaluated_once_a_pair_and_only_against_mistakes():
    from mercer.kernels import Similarity

    seen = []

    def k(x, z):
        seen.append((float(x[0]), float(z[0])))
        return float(x @ z)

    rng = np.random.default_rng(2)
    X = np.column_stack([np.arange(50.0) - 25, rng.integers(-3, 4, size=50)])
    labels = (X[:, 1] > 0).astype(int)
    walker = DualPerceptron(Similarity(k).gram(X), labels, Rule(1, False), block=16, leaf=4)
    run(walker, Schedule(50, 1))
    mistaken = {float(X[i, 0]) for i in walker.journal.positions}
    own, others = [pair for pair in seen if pair[0] == pair[1]], [p for p in seen if p[0] != p[1]]
    assert len(own) == 50 + len(mistaken)  # k(x, x) of all, for the rule of ties
    assert {z for _, z in others} == mistaken
    assert len(others) == len(set(others)) <= 49 * len(mistaken)


def test_scores_that_overflow_are_reported():
    X = np.array([[1e37], [-1e37]])  # k = 1e148, each update adds rate * k
    gram, labels = Polynomial(4).gram(X), np.array([1, 0])
    walker = DualPerceptron(gram, labels, Rule(1, False, rate=1e170))
    with pytest.raises(ValueError, match="overflow after"), np.errstate(all="ignore"):
        walker.walk(slice(0, 2))


@pytest.mark.parametrize("kernel", [Polynomial(2, offset=1.0), Laplacian(1.0, norm=1)], ids=repr)
def test_compiled_loops_make_the_same_updates(kernel, monkeypatch):
    """What large sets get."""

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    labels = rng.integers(0, 3, size=300)
    made = []
    for least in (tuning.COMPILED_PAIRS, 0):
        monkeypatch.setattr("mercer.tuning.COMPILED_PAIRS", least)
        walker = DualPerceptron(kernel.gram(X), labels, Rule(3, True), block=64, leaf=16)
        assert (walker.gram._tile_filler.compiled is not None) == (least == 0)
        run(walker, Schedule(300, 2))
        made.append(walker.journal.positions.copy())
    np.testing.assert_array_equal(made[0], made[1])


@pytest.mark.parametrize("ranked", [True, False])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Polynomial(2)], ids=repr)
def test_k_of_a_leaf_changes_no_update(monkeypatch, kernel, ranked):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    labels, weights = rng.integers(0, 3, 300), rng.uniform(0.5, 2.0, 300)
    walkers = []
    for bought in (False, True):
        monkeypatch.setattr("mercer.tuning.LEAF_UPDATES", 0 if bought else 10**9)
        rule = Rule(3, ranked, bias=True, rate=0.5)
        walkers.append(DualPerceptron(kernel.gram(X), labels, rule, weights=weights, leaf=64))
        run(walkers[-1], Schedule(300, epochs=2))
    column, leaf = walkers
    assert len(column.journal) > 100
    for name in ("positions", "times", "units"):
        assert np.array_equal(getattr(column.journal, name), getattr(leaf.journal, name))
    assert column.tally.updates == leaf.tally.updates
    assert column.tally.loss == pytest.approx(leaf.tally.loss, rel=1e-4)
    np.testing.assert_allclose(leaf.scores, column.scores, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(leaf.bias, column.bias)
