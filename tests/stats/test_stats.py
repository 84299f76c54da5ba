"""Statistics against loops over pairs, exact p-values, streams, bad input, answers in words."""

import numpy as np
import pytest

from mercer import Gaussian, Laplacian, Linear, Spectrum, config, plot, stats
from mercer.stats._shared import joint_p_value

R = np.random.default_rng(5)
X, Y = R.normal(size=(40, 3)), R.normal(size=(25, 3)) * 1.5


def brute_mmd(k, X, Y):
    xx, yy, xy = k(X), k(Y), k(X, Y)
    np.fill_diagonal(xx, 0.0)
    np.fill_diagonal(yy, 0.0)
    n, m = len(X), len(Y)
    return xx.sum() / (n * (n - 1)) + yy.sum() / (m * (m - 1)) - 2 * xy.mean()


@pytest.mark.parametrize("kernel", [Gaussian(1.2), Laplacian(0.4, norm=1), Linear() ** 2 + 1])
def test_mmd_is_the_sum_over_pairs(kernel):
    found = stats.mmd_test(X, Y, kernel, 20, 0)
    assert found.statistic == pytest.approx(brute_mmd(kernel, X, Y), rel=1e-10)
    assert found.p_value == found.pvalue == tuple(found)[1]


def test_permuted_mmds_are_those_of_permuted_samples():
    """Many rows: one triangle in tiles, single precision, and permutations in several parts."""
    from mercer.gram.dispatch import make_gram
    from mercer.stats.two_samples import _permuted, sums_of, unbiased

    A, B = R.normal(size=(700, 2)), R.normal(size=(900, 2))
    both, kernel = np.concatenate([A, B]), Gaussian(0.7)
    W = _permuted(np.repeat([1 / 700, -1 / 900], [700, 900]), slice(0, 4), R, np.float32)
    with config(memory="32MB", threads=2):
        sums = sums_of(make_gram(kernel, both), W)
    for i, value in enumerate(unbiased(sums, sums.squares, W, 700, 900)):
        inside = W[:, i] > 0
        assert value == pytest.approx(brute_mmd(kernel, both[inside], both[~inside]), abs=1e-7)


def test_blocks_are_means_over_blocks_and_streams_give_the_same():
    k, B = Gaussian(1.0), R.normal(size=(40, 3)) + 1.0
    found = stats.mmd_test(X, B, k, 50, 0, block=10)
    paired = []
    for i in range(0, 40, 10):
        a, b = X[i : i + 10], B[i : i + 10]
        h = k(a) + k(b) - k(a, b) - k(a, b).T
        paired.append((h.sum() - np.trace(h)) / 90)
    assert found.statistic == pytest.approx(np.mean(paired), rel=1e-10)
    halves = ((S[:20] for S in (T, T[20:])) for T in (X, B))
    streamed = stats.mmd_test(*halves, k, 50, 0, block=10)
    assert streamed.statistic == pytest.approx(found.statistic, rel=1e-10)
    linear = stats.mmd_test(np.tile(X, (20, 1)), np.tile(B, (20, 1)), block=2, random_state=0)
    assert linear.pvalue < 0.01


def test_hsic_is_the_sum_over_pairs_in_every_order():
    from mercer.stats._loops import over_permutations, products

    k, other, y = Gaussian(1.0), Laplacian(0.5), X[:, :1] ** 2
    n = len(X)
    H = np.eye(n) - 1.0 / n
    K, L = H @ k(X) @ H, other(y)
    found = stats.hsic_test(X, y, k, 20, 0, kernel_y=other)
    assert found.statistic == pytest.approx(np.trace(K @ L) / n**2, rel=1e-10)
    assert found.contributions.sum() == pytest.approx(found.statistic, rel=1e-8)
    order = np.stack([R.permutation(n) for _ in range(11)])
    out = np.empty((11, 1))
    over_permutations(products, order, K[None], L, out)
    expected = [(K * L[np.ix_(p, p)]).sum() for p in order]
    assert np.allclose(out[:, 0], expected)


def test_gains_are_reductions_of_the_spread():
    from mercer.stats.changes import gains

    k, s = Gaussian(1.0), R.normal(size=(12, 1))
    K = k(s)
    p = R.permutation(12)
    Q = K[np.ix_(p, p)]
    for t, gain in zip(range(3, 10), gains(K, p[None], 3)[0], strict=True):
        a, b = Q[:t, :t], Q[t:, t:]
        assert gain == pytest.approx(a.sum() / t + b.sum() / (12 - t) - Q.sum() / 12)


def test_a_joint_p_value_counts_orders_that_are_as_extreme():
    alone, best = joint_p_value(np.array([[3.0, 1.0, 3.0, 2.0]]))
    assert (alone, best) == (0.5, 0)
    p, best = joint_p_value(np.array([[9.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0]]))
    assert (p, best) == (0.5, 0)  # the last order leads in the second row


def test_strings_words_and_frames():
    pd = pytest.importorskip("pandas")
    a, b = ["aab", "aba", "aaa", "abaa"] * 3, ["bbc", "bcb", "cbc", "ccb"] * 3
    found = stats.mmd_test(a, b, Spectrum(1), 200, 0)
    assert found.pvalue < 0.01
    assert "typical of X" in str(found)
    assert repr(found).startswith("MMDResult(statistic=")
    frame = pd.DataFrame(X, columns=list("abc"))
    one = stats.mmd_test(frame, frame + 3.0, Gaussian("median").on(["a"]), 99, 0)
    assert one.pvalue == 0.01
    assert one.tried == 7
    both = stats.hsic_test(a, [len(s) for s in a], Spectrum(1), 50, 0)
    assert "dependent most" in str(both)


def test_the_witness_names_what_differs():
    A, B = np.linspace(-1, 1, 40), np.append(np.linspace(-1, 1, 40), [8.0, 8.1])
    found = stats.mmd_test(A, B, Gaussian(0.5), 99, 0)
    assert set(found.points[1][:2]) == {40, 41}
    at = np.array([[0.3], [8.0]])
    k = found.kernel
    expected = k(at, A[:, None]).mean(axis=1) - k(at, B[:, None]).mean(axis=1)
    assert np.allclose(found.witness(at), expected)


def test_frames_of_polars_are_rows_of_numbers():
    polars = pytest.importorskip("polars")
    frames = [polars.DataFrame(rows) for rows in (X, Y)]
    options = {"permutations": 20, "random_state": 0}
    assert tuple(stats.mmd_test(*frames, **options)) == tuple(stats.mmd_test(X, Y, **options))


def test_changes_are_found_where_they_are():
    random = np.random.default_rng(2)
    parts = [random.normal(size=50), random.normal(size=40) + 3, random.normal(size=30) * 6]
    series = np.concatenate(parts)
    found = stats.change_points(series, permutations=199, random_state=1)
    assert len(found) == 2
    assert abs(found.points - [50, 90]).max() <= 2
    assert "a change at" in str(found)
    assert list(found) == found.points.tolist()
    calm = stats.change_points(random.normal(size=60), permutations=99, random_state=1)
    assert "no change" in str(calm)
    assert calm.p_value > 0.05


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: stats.mmd_test(X[:1], Y), "X holds 1 example: a test needs 2 or more"),
        (lambda: stats.mmd_test(X, Y[:, :2], Gaussian()), "column|dimension|shape"),
        (lambda: stats.mmd_test(X * np.nan, Y), "X contains NaN"),
        (lambda: stats.mmd_test(X, Y * np.nan, block=2), r"Y contains NaN \(first at row 0"),
        (lambda: stats.hsic_test(X, Y * np.nan), "Y contains NaN"),
        (lambda: stats.change_points(X * np.nan), "series contains NaN"),
        (lambda: stats.mmd_test(X, Y, permutations=0), "permutations must be"),
        (lambda: stats.mmd_test(X, Y, block=1), "block must be"),
        (lambda: stats.mmd_test(X, Y, []), "empty list"),
        (lambda: stats.mmd_test(X, Y, "precomputed"), "give a kernel, not a matrix"),
        (lambda: stats.mmd_test(iter([X]), Y, block=2), "both iterators"),
        (lambda: stats.mmd_test(iter([]), iter([]), block=2), "hold no examples"),
        (lambda: stats.hsic_test(X, Y), "X has 40 rows and Y has 25"),
        (lambda: stats.change_points(X[:6], min_size=4), "no two stretches"),
        (lambda: stats.change_points(X, alpha=1.0), "alpha must be"),
    ],
)
def test_bad_input_is_answered(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_matrices_beyond_the_limit_are_refused_with_what_works():
    with config(memory="16MB"), pytest.raises(MemoryError, match="block=1000"):
        stats.hsic_test(np.arange(3000.0), np.arange(3000.0))


def test_constant_columns_and_identical_points_differ_in_nothing():
    same = np.ones((10, 2))
    assert stats.mmd_test(same, same, random_state=0).pvalue == 1.0
    assert stats.hsic_test(same, same, random_state=0).pvalue == 1.0
    assert len(stats.change_points(same, permutations=99, random_state=0)) == 0


def test_pictures_of_one_two_and_more_columns():
    pytest.importorskip("matplotlib")
    for d in (1, 2, 3):
        found = stats.mmd_test(X[:, :d], Y[:, :d], permutations=20, random_state=0)
        assert f"p = {found.pvalue:.3g}" in plot.witness(found, points=60).get_title()


def test_rows_on_a_device(run_on_device):
    run_on_device("""
        import numpy as np, torch
        from mercer import Gaussian, stats
        X, Y = np.random.default_rng(0).normal(size=(2, 12, 2))
        here = stats.mmd_test(X, Y, Gaussian(1.0), 50, 0)
        there = stats.mmd_test(torch.tensor(X), torch.tensor(Y), Gaussian(1.0), 50, 0)
        assert abs(here.statistic - there.statistic) < 1e-9, (here, there)
        assert here.pvalue == there.pvalue
        print("checked")
    """)


@pytest.mark.slow
@pytest.mark.parametrize(
    "test",
    [
        lambda a, b, s: stats.mmd_test(a, b, None, 99, s),
        lambda a, b, s: stats.mmd_test(a, b[:20], None, 99, s),
        lambda a, b, s: stats.mmd_test(a, b, None, 99, s, block=5),
        lambda a, b, s: stats.hsic_test(a, b, None, 99, s),
        lambda a, b, s: stats.hsic_test(a, b, None, 99, s, block=10),
        lambda a, b, s: stats.change_points(np.concatenate([a, b]), None, 99, s),
    ],
    ids=["mmd", "unequal", "mmd blocks", "hsic", "hsic blocks", "changes"],
)
def test_the_size_is_five_per_cent(test):
    """400 problems without a difference: the count of p ≤ 0.05 is within its 99.9 % band."""
    from scipy.stats import binom

    random = np.random.default_rng(11)
    rejected = sum(
        test(*random.laplace(size=(2, 30, 2)), seed).pvalue <= 0.05 for seed in range(400)
    )
    low, high = binom.interval(0.999, 400, 0.05)
    assert low <= rejected <= high
