"""Kernel search, alignment, and the trees and climbs they are made of."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse

import mercer
from mercer import Gaussian, Linear, Periodic
from mercer.selection import SearchNode, SearchTree, alignment, search_kernel
from mercer.selection.kernel_search.blocks import blocks_for, strongest_periods
from mercer.selection.racing.candidates import scaled_copies
from mercer.selection.trainers.grid import climb, smoothed_best
from mercer.selection.trainers.ridge import descend


def test_a_period_and_a_trend_are_found():
    random = np.random.default_rng(0)
    t = random.uniform(0, 10, 80)[:, None]
    y = 0.5 * t[:, 0] + np.sin(3 * np.pi * t[:, 0]) + 0.1 * random.normal(size=80)
    found = search_kernel(t, y)
    assert repr(found.kernel) == "Periodic(period=0.667) + 0.0571 * Linear()"
    assert found.score > 0.99
    # Far away, where a Gaussian knows nothing, the structure still holds.
    model = mercer.KernelRidge(found.kernel, alpha=0.05).fit(t, y)
    far = np.linspace(30, 31, 40)[:, None]
    truth = 0.5 * far[:, 0] + np.sin(3 * np.pi * far[:, 0])
    assert np.corrcoef(model.predict(far), truth)[0, 1] > 0.95


def test_the_evidence_finds_the_structure_and_says_it():
    random = np.random.default_rng(2)
    X = random.normal(size=(100, 3))
    y = 2 * X[:, 0] + np.sin(3 * X[:, 2]) + 0.3 * random.normal(size=100)
    found = search_kernel(X, y, criterion="evidence", steps=2)
    assert "a linear trend in column 0" in found.structure
    assert "in column 2, noise of 0.3" in found.structure
    assert found.noise == pytest.approx(0.3, abs=0.06)
    nothing = search_kernel(X, random.normal(size=100), criterion="evidence", steps=1)
    assert nothing.score < 0.1  # evidence is no easier to have for many blocks
    assert search_kernel(X, y, steps=0).noise is None


def test_the_share_is_that_of_the_evidence():
    from mercer.selection.kernel_search.search import explained
    from mercer.solvers.evidence.exact import evidence

    random = np.random.default_rng(3)
    x = random.normal(size=(25, 2))
    T = np.sin(x[:, :1]) + 0.2 * random.normal(size=(25, 1))
    T -= T.mean()
    kernel = Gaussian(1.0)
    best = max(
        evidence((s * kernel).gram(x), T, s * d, slopes=False).value
        for s in np.geomspace(0.05, 50, 40)
        for d in np.geomspace(1e-4, 10, 40)
    )
    alone = -12.5 * (np.log(2 * np.pi * np.mean(T**2)) + 1)
    share, _ = explained(kernel(x), T)
    assert share == pytest.approx(1 - np.exp(-2 / 25 * (best - alone)), abs=5e-3)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Linear() * Linear(), "a trend of degree 2"),
        (Linear() ** 3 + 1.0, "a trend of degree 3, a constant"),
        (2.0 * Linear() * Periodic(2.0), "a period of 2 that grows with the inputs"),
        (mercer.Matern(1.5, 2.0), "a rough part of length 2"),
        (
            Gaussian([1.0, 2.0]).on([0, 3]),
            "a smooth part of one length per column in columns 0 and 3",
        ),
        (Gaussian(1.0).warp("square"), "a smooth part of length 1 of the inputs through square"),
        (mercer.Polynomial(2, 1.0), "a trend of degree 2"),
        (mercer.Cosine(), "Cosine()"),
        (Periodic(2.0) * (Linear() + 1.0), "a period of 2 times (a linear trend, a constant)"),
    ],
)
def test_kernels_are_said_in_words(kernel, words):
    from mercer.selection.kernel_search.words import in_words

    assert in_words(kernel) == words


def test_every_accepted_step_is_proved_and_better():
    random = np.random.default_rng(1)
    X = random.normal(size=(120, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * random.normal(size=120)
    found = search_kernel(X, y, steps=2)
    path = found.tree.path
    assert path[-1].expression == repr(found.kernel)
    assert len(path) >= 2
    scores = [node.score for node in path]
    assert all(b > a - 0.001 for a, b in itertools.pairwise(scores))
    for node in path:
        assert node.accepted
        assert mercer.parse(node.expression).claim(3).holds
    assert ".on([" in path[-1].expression
    single = max(n.score for n in found.tree.nodes if n.parent is None)
    assert found.score > single


def test_a_sum_over_single_columns_is_found_behind_a_block_over_all():
    random = np.random.default_rng(1)
    X = random.uniform(0, 8, (120, 2))
    y = np.sin(3 * X[:, 0]) + 0.4 * X[:, 1] + 0.1 * random.normal(size=120)
    found = search_kernel((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert found.score > 0.99
    assert "Periodic" in repr(found.kernel)
    assert "Linear().on([1])" in repr(found.kernel)
    roots = [n for n in found.tree.nodes if n.parent is None and n.accepted]
    assert len(roots) == 2


def test_what_is_not_proved_is_not_scored(monkeypatch):
    real = Periodic.claim

    def doubtful(self, n_features=None):
        from dataclasses import replace

        return replace(real(self, n_features), holds=None, rule="in doubt")

    monkeypatch.setattr(Periodic, "claim", doubtful)
    t = np.linspace(0, 6, 60)[:, None]
    found = search_kernel(t, np.sin(3 * t[:, 0]), steps=1)
    doubted = [n for n in found.tree.nodes if "Periodic" in n.expression]
    assert doubted
    assert all(n.score == -math.inf and "not proved" in n.why for n in doubted)
    assert "Periodic" not in repr(found.kernel)


def test_search_of_classes_sparse_rows_and_alignment():
    X, y = mercer.data.circles(80)
    found = search_kernel(X, y, task="classification", steps=1)
    assert found.score > 0.8
    rows = sparse.csr_matrix(np.hstack([X, np.zeros((80, 20))]))
    assert search_kernel(rows, y, task="classification", steps=0).score > 0.5
    aligned = search_kernel(X, y, task="classification", criterion="alignment", steps=1)
    assert aligned.tree.criterion.startswith("alignment")
    assert 0 < aligned.score <= 1
    with pytest.raises(ValueError, match="'evidence' or 'alignment'"):
        search_kernel(X, y, criterion="aic")


def test_no_time_means_single_blocks():
    X, y = mercer.data.circles(60)
    found = search_kernel(X, y, task="classification", seconds=0.0)
    assert all(node.parent is None for node in found.tree.nodes)


def test_only_the_best_columns_get_blocks():
    random = np.random.default_rng(0)
    X = random.normal(size=(100, 30))
    T = X[:, [7]] ** 2
    made = blocks_for(X, T - T.mean())
    columns = {k.columns[0] for k, how in made if "column " in how}
    assert 7 in columns
    assert len(columns) == 8


def test_periods_of_the_targets():
    x = np.random.default_rng(0).uniform(0, 20, 300)
    T = (3 * x + np.cos(2 * np.pi * x / 1.7))[:, None]
    assert strongest_periods(x, T)[0] == pytest.approx(1.7, rel=0.01)


def test_the_tree_reads_and_folds():
    nodes = (
        SearchNode("a", 0.5, None, True, "best"),
        *[SearchNode(f"b{i}", 0.1 * i, 0, False, "plus") for i in range(6)],
        SearchNode("c", 0.9, 0, True, "grew"),
    )
    tree = SearchTree(nodes, 7, "leave-one-out")
    text = str(tree)
    assert "✓ c" in text
    assert "and 3 more" in text
    assert "b5" in text
    assert "b0" not in text
    assert [n.expression for n in tree.path] == ["a", "c"]
    assert tree.to_dict()["nodes"][7]["accepted"]


# --- alignment -----------------------------------------------------------------------------------


def test_alignment_against_the_definition():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 2)), random.normal(size=30)
    K = Gaussian(1.0)(X)
    H = np.eye(30) - 1 / 30
    Kc, T = H @ K @ H, H @ np.outer(y, y) @ H
    expected = np.sum(Kc * T) / np.linalg.norm(Kc) / np.linalg.norm(T)
    assert alignment("gaussian(1)", X, y) == pytest.approx(expected)
    assert alignment(K, None, y) == pytest.approx(expected)


def test_alignment_of_classes():
    y = np.array(["a", "b", "c"] * 4)
    K = (y[:, None] == y).astype(float)
    assert alignment(K, None, y) == pytest.approx(1.0)
    assert alignment(np.ones((12, 12)), None, y) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match="12 examples but 3"):
        alignment(K, None, y[:3])
    with pytest.raises(ValueError, match="square"):
        alignment(K[:3], None, y)


# --- grids ---------------------------------------------------------------------------------------


def test_descend_finds_the_valley_from_anywhere():
    losses = [9, 7, 4, 2, 1, 3, 5]
    for start in range(-1, 9):
        assert descend(lambda i: losses[i], start, 7) == 4
    assert descend(lambda i: math.inf if i < 5 else i, 0, 7) == 5
    assert descend(lambda i: math.inf, 0, 3) == 2


def test_climbs():
    scores = [0.1, 0.5, 0.4, 0.3, 0.9]
    assert climb(lambda i: scores[i], None, 5) == {0: 0.1, 1: 0.5, 2: 0.4, 3: 0.3}
    rising = climb(lambda i: i, 1, 6)
    assert sorted(rising) == [0, 1, 2, 3, 4, 5]
    falling = climb(lambda i: -i, 4, 6)
    assert sorted(falling) == [0, 1, 2, 3, 4, 5]
    flat = climb(lambda i: 1.0, 3, 6)
    assert sorted(flat) == [2, 3, 4]


def test_a_lonely_peak_is_not_trusted():
    assert smoothed_best({0: 0.5, 1: 0.9, 2: 0.5, 3: 0.8, 4: 0.85, 5: 0.8}) == 4
    assert smoothed_best({0: 1.0, 1: 1.0, 2: 1.0}) == 0


def test_neighbors_change_one_scale_at_a_time():
    made = scaled_copies(Gaussian(2.0) + 0.5 * Periodic(3.0, 1.0))
    assert [repr(k) for k in made] == [
        "Gaussian(sigma=1.4) + 0.5 * Periodic(period=3.0)",
        "Gaussian(sigma=2.8) + 0.5 * Periodic(period=3.0)",
        "Gaussian(sigma=2.0) + 0.35 * Periodic(period=3.0)",
        "Gaussian(sigma=2.0) + 0.7 * Periodic(period=3.0)",
        "Gaussian(sigma=2.0) + 0.5 * Periodic(period=3.0, length=0.7)",
        "Gaussian(sigma=2.0) + 0.5 * Periodic(period=3.0, length=1.4)",
    ]
    assert scaled_copies(Linear()) == []
