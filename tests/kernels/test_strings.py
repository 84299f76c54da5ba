"""Kernels on strings against their definitions, written out as plainly as possible."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer.kernels.strings import counts

short = st.text(alphabet="abc", max_size=7)
words = st.lists(short, min_size=1, max_size=4)
QUICK = settings(max_examples=60, deadline=None)


# --- definitions -----------------------------------------------------------------------------


def inner(a: Counter, b: Counter) -> float:
    return float(sum(value * b[key] for key, value in a.items()))


def table(phi, X, Z):
    return np.array([[inner(phi(x), phi(z)) for z in Z] for x in X])


def grams(s, p):
    return Counter(tuple(s[i : i + p]) for i in range(len(s) - p + 1))


def subsequences(s, p, decay):
    found: Counter = Counter()
    for places in combinations(range(len(s)), p):
        found[tuple(s[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
    return found


def neighbors(s, p, m, alphabet):
    found: Counter = Counter()
    for gram, times in grams(s, p).items():
        for u in product(alphabet, repeat=p):
            if sum(a != b for a, b in zip(u, gram, strict=True)) <= m:
                found[u] += times
    return found


def placed(s, weights):
    return Counter(
        {
            (d, i, s[i : i + d]): np.sqrt(w)
            for d, w in enumerate(weights, 1)
            for i in range(len(s) - d + 1)
        }
    )


def alignments(s, t, beta, gap_open, gap_extend, match, mismatch):
    """ln Σ exp(β score) / β over all increasing lists of joined places."""

    def gap(n):
        return gap_open + gap_extend * (n - 1) if n else 0.0

    total = 1.0
    for size in range(1, min(len(s), len(t)) + 1):
        for a in combinations(range(len(s)), size):
            for b in combinations(range(len(t)), size):
                joined = sum(match if s[i] == t[j] else mismatch for i, j in zip(a, b, strict=True))
                lost = sum(
                    gap(a[k + 1] - a[k] - 1) + gap(b[k + 1] - b[k] - 1) for k in range(size - 1)
                )
                total += np.exp(beta * (joined - lost))
    return np.log(total) / beta


# --- counting kernels ------------------------------------------------------------------------


@QUICK
@given(words, words, st.integers(1, 4))
def test_spectrum_counts_common_grams(X, Z, p):
    expected = table(lambda s: grams(s, p), X, Z)
    assert np.array_equal(mercer.Spectrum(p)(X, Z), expected)


@QUICK
@given(words, words, st.lists(st.floats(0, 3), min_size=1, max_size=4))
def test_blended_and_weighted_spectra(X, Z, weights):
    p = len(weights)
    parts = [table(lambda s, d=d: grams(s, d), X, Z) for d in range(1, p + 1)]
    assert np.array_equal(mercer.Spectrum(p, blended=True)(X, Z), sum(parts))
    mixed = sum(w * part for w, part in zip(weights, parts, strict=True))
    np.testing.assert_allclose(mercer.Spectrum(p, weights=weights)(X, Z), mixed, atol=1e-12)


@QUICK
@given(words, words, st.integers(1, 4), st.integers(0, 3), st.integers(3, 5))
def test_mismatch_against_explicit_features(X, Z, p, m, size):
    m = min(m, p - 1)
    expected = table(lambda s: neighbors(s, p, m, "abcde"[:size]), X, Z)
    assert np.array_equal(mercer.kernels.Mismatch(p, m, alphabet=size)(X, Z), expected)


@pytest.mark.parametrize("alphabet", [1, 2])
def test_mismatch_with_hardly_any_letters(alphabet):
    X = ["aaaa", "abab"[:alphabet] * 2, ""]
    expected = table(lambda s: neighbors(s, 2, 1, "ab"[:alphabet]), X, X)
    assert np.array_equal(mercer.kernels.Mismatch(2, 1, alphabet=alphabet)(X), expected)


def test_bag_of_words():
    X = ["The cat saw the dog.", "a DOG", ""]
    expected = table(lambda s: Counter(s.lower().replace(".", "").split()), X, X)
    assert np.array_equal(mercer.kernels.BagOfWords()(X), expected)
    assert mercer.kernels.BagOfWords(binary=True)(X)[0, 0] == 4
    assert mercer.kernels.BagOfWords(lowercase=False)(X)[0, 1] == 0
    assert mercer.kernels.BagOfWords(pattern=r"[A-Z]\w*", lowercase=False)(X)[0, 0] == 1
    tokens = [["to", "be"], ["to", "to"]]
    assert np.array_equal(mercer.kernels.BagOfWords()(tokens), [[2, 2], [2, 4]])
    assert mercer.kernels.BagOfWords()([b"caf\xc3\xa9 \xff"], ["café".encode()])[0, 0] == 1


def test_sparse_and_dense_products_agree(monkeypatch):
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("abcdefgh"), rng.integers(0, 60))) for _ in range(70)]
    Z = X[:20]
    for k in (
        mercer.Spectrum(3),
        mercer.kernels.Mismatch(3, 1, alphabet=8),
        mercer.Spectrum(4, True),
    ):
        monkeypatch.setattr(counts, "COMMON", 0.0)
        dense, cross = k(X), k(X, Z)
        monkeypatch.setattr(counts, "COMMON", 1.0)
        assert np.array_equal(k(X), dense)
        assert np.array_equal(k(X, Z), cross)
        assert np.array_equal(dense[:, :20], cross)
        assert np.array_equal(np.diagonal(dense), k.diag(X))


def test_grams_too_long_to_pack_are_still_exact():
    letters = [chr(0x4E00 + i) for i in range(3000)]  # 12 bits a letter: 5 letters a word
    rng = np.random.default_rng(1)
    base = "".join(rng.choice(letters, 3000))
    X = [base, base[:1500] + "x" + base[1501:], base[::-1]]
    for p in (7, 12):
        assert np.array_equal(
            mercer.Spectrum(p)(X), table(lambda s, p=p: Counter(grams(s, p)), X, X)
        )


def test_numbers_of_keys_are_exact_and_in_order_of_appearance():
    keys = np.random.default_rng(0).integers(-(2**62), 2**62, 500)
    ids, known = counts.number(np.concatenate([keys, keys[::-1]]))
    assert known == len(set(keys.tolist()))
    assert np.array_equal(ids[:500], np.arange(500))
    assert np.array_equal(ids[500:], ids[:500][::-1])


# --- kernels of pairs ------------------------------------------------------------------------


@pytest.mark.parametrize("decay", [0.1, 0.5, 0.9, 1.0])
def test_car_and_cat(decay):
    k = mercer.kernels.Subsequence(2, decay)
    assert k(["car"], ["cat"])[0, 0] == pytest.approx(decay**4, rel=1e-15)
    normalized = k.normalized()(["car"], ["cat"])[0, 0]
    assert normalized == pytest.approx(1 / (2 + decay**2), rel=1e-14)


@QUICK
@given(words, words, st.integers(1, 5), st.sampled_from([0.3, 0.5, 1.0]))
def test_subsequence_against_brute_force(X, Z, p, decay):
    expected = table(lambda s: subsequences(s, p, decay), X, Z)
    np.testing.assert_allclose(mercer.kernels.Subsequence(p, decay)(X, Z), expected, rtol=1e-12)


def test_subsequence_on_all_short_strings():
    X = ["".join(s) for n in range(5) for s in product("ab", repeat=n)]
    for p in (1, 2, 3, 4):
        expected = table(lambda s, p=p: subsequences(s, p, 0.7), X, X)
        np.testing.assert_allclose(mercer.kernels.Subsequence(p, 0.7)(X), expected, rtol=1e-13)


def test_subsequence_of_long_strings():
    """x = aⁿ: K₂ has a closed form; and memory does not grow with the product of the lengths."""
    n, decay = 3000, 0.5
    spans = np.arange(1, n)
    phi = float(((n - spans) * decay ** (spans + 1)).sum())
    X, Z = ["a" * n], ["a" * n + "b" * 40_000]
    assert mercer.kernels.Subsequence(2, decay)(X)[0, 0] == pytest.approx(phi**2, rel=1e-10)
    assert mercer.kernels.Subsequence(2, decay)(X, Z)[0, 0] == pytest.approx(phi**2, rel=1e-10)


@QUICK
@given(short, short, st.floats(0.1, 2), st.floats(0, 3), st.floats(0, 2))
def test_local_alignment_against_brute_force(s, t, beta, gap_open, gap_extend):
    s, t = s[:5], t[:5]
    k = mercer.kernels.LocalAlignment(beta, gap_open, gap_extend, 1.5, -0.5)
    expected = alignments(s, t, beta, gap_open, gap_extend, 1.5, -0.5)
    assert k([s], [t])[0, 0] == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_local_alignment_of_long_strings_does_not_overflow():
    s = "ACGT" * 700
    k = mercer.kernels.LocalAlignment(beta=5.0)
    assert k([s])[0, 0] == pytest.approx(len(s), rel=1e-3)  # exp(5 · 2800) is not a number
    assert k([s], [s[:1000]])[0, 0] == pytest.approx(1000, rel=1e-2)


def test_local_alignment_makes_no_claim():
    k = mercer.kernels.LocalAlignment()
    assert k.claim().holds is None
    assert not mercer.prove(k, data=["ab", "ba", "aab"], seconds=0.3)


def test_local_alignment_is_refuted_by_data():
    X = ["".join(s) for n in (1, 2, 3) for s in product("ab", repeat=n)]
    answer = mercer.prove(
        mercer.kernels.LocalAlignment(beta=3.0, gap_open=0.1, gap_extend=0.1), data=X
    )
    assert isinstance(answer, mercer.proof.Counterexample)
    assert answer.kind == "indefinite"
    K = np.asarray(answer.kernel(answer.points))
    assert answer.vector @ K @ answer.vector < 0


@QUICK
@given(words, words, st.lists(st.floats(0, 3), min_size=1, max_size=4))
def test_weighted_degree_against_explicit_features(X, Z, weights):
    expected = table(lambda s: placed(s, weights), X, Z)
    k = mercer.kernels.WeightedDegree(len(weights), weights=weights)
    np.testing.assert_allclose(k(X, Z), expected, atol=1e-12)


def test_weighted_degree_weights_by_default():
    k = mercer.kernels.WeightedDegree(3)
    assert k(["abc"])[0, 0] == pytest.approx(3 * 1 / 2 + 2 * 1 / 3 + 1 / 6)


# --- all of them -----------------------------------------------------------------------------

ALL = [
    mercer.Spectrum(2),
    mercer.Spectrum(3, blended=True),
    mercer.Spectrum(2, weights=(1.0, 0.5)),
    mercer.kernels.Mismatch(3, 1, alphabet=6),
    mercer.kernels.Subsequence(2, 0.5),
    mercer.kernels.WeightedDegree(3),
    mercer.kernels.LocalAlignment(),
    mercer.kernels.BagOfWords(),
]
X = ["banana", "bandana", "", "an", "nab a bun", "d"]
X = [s.replace("u", "a") for s in X]


@pytest.mark.parametrize("k", ALL, ids=repr)
def test_blocks_diagonals_and_products_agree(k):
    K = k(X)
    np.testing.assert_allclose(K, K.T, rtol=1e-14)
    np.testing.assert_allclose(k.diag(X), np.diagonal(K), rtol=1e-14)
    np.testing.assert_allclose(k(X, X[:3]), K[:, :3], rtol=1e-14)
    G = k.gram(X)
    np.testing.assert_allclose(G @ np.ones(len(X)), K.sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(G.block([4, 0], slice(1, 3)), K[[4, 0], 1:3], rtol=1e-14)
    unit = k.normalized()(X)
    full = np.diagonal(K) > 0
    np.testing.assert_allclose(np.diagonal(unit)[full], 1.0, rtol=1e-14)
    assert np.isfinite(unit).all()
    assert not unit[2].any()


@pytest.mark.parametrize("k", ALL, ids=repr)
def test_a_value_does_not_depend_on_its_company(k):
    K = k(X)
    for i, x in enumerate(X):
        for j, z in enumerate(X):
            assert k([x], [z])[0, 0] == pytest.approx(K[i, j], rel=1e-14)


@pytest.mark.parametrize("k", ALL, ids=repr)
def test_kinds_of_strings_give_the_same(k):
    K = k(X)
    forms = [
        [s.encode() for s in X],
        [bytearray(s.encode()) for s in X],
        np.array(X),
        np.array(X, dtype=object),
        np.array(X)[:, None],
        tuple(X),
    ]
    for form in forms:
        assert np.array_equal(k(form), K)
    if not isinstance(k, mercer.kernels.BagOfWords):
        assert np.array_equal(k([list(s) for s in X]), K)
        assert np.array_equal(k([np.array([ord(c) for c in s]) for s in X]), K)


def test_data_frames_and_series():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"text": X, "n": range(len(X))})
    k = mercer.Spectrum(2)
    for form in (frame["text"], frame[["text"]]):
        assert np.array_equal(k(form), k(X))
    assert np.array_equal(k.on("text")(frame), k(X))
    assert np.array_equal(k.on(["text"])(frame), k(X))
    with pytest.raises(TypeError, match=r"2 columns.*on\('text'\)"):
        k(frame)


@pytest.mark.parametrize("k", ALL, ids=repr)
def test_text_pickle_and_parameters(k):
    assert mercer.parse(repr(k)) == k
    assert eval(repr(k), vars(mercer.kernels).copy()) == k
    assert pickle.loads(pickle.dumps(k)) == k
    assert hash(pickle.loads(pickle.dumps(k))) == hash(k)
    assert k.set_params(**k.get_params()) == k
    assert k.latex("s", "t").count("s") > 0
    assert k._repr_latex_().startswith("$")


@pytest.mark.parametrize("k", ALL, ids=repr)
def test_claims_hold(k):
    claimed = k.claim().holds
    assert claimed is (None if isinstance(k, mercer.kernels.LocalAlignment) else True)
    if claimed:
        assert np.linalg.eigvalsh(k(X)).min() > -1e-10
        assert mercer.prove(k.normalized() + 0.5 * k**2)


def test_negative_weights_compute_and_claim_nothing():
    k = mercer.Spectrum(2, weights=(-1.0, 1.0))
    assert k.claim().holds is None
    assert k(["ab"])[0, 0] == -1.0
    assert mercer.kernels.WeightedDegree(1, weights=[-1]).claim().holds is None
    assert isinstance(mercer.prove(k, data=["ab", "ba"]), mercer.proof.Counterexample)


def test_threads_and_long_blocks_change_nothing():
    rng = np.random.default_rng(0)
    many = ["".join(rng.choice(list("abcd"), rng.integers(0, 120))) for _ in range(90)]
    for k in (mercer.kernels.Subsequence(3), mercer.kernels.LocalAlignment(), mercer.Spectrum(4)):
        with mercer.config(threads=1):
            one = k(many)
        with mercer.config(threads=3):
            three, cross = k(many), k(many, list(many))
        assert np.array_equal(one, three)
        np.testing.assert_allclose(cross, one, rtol=1e-13)
