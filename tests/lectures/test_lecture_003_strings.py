"""Lecture 003: discrete kernels, such as those on strings."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import KernelPerceptron
from mercer.kernels import BagOfWords, Mismatch, Spectrum, Subsequence, WeightedDegree

TEXTS = ["banana", "bandana", "ananas", "cabana", "urbane", "banner"]


def test_a_string_kernel_counts_common_substrings():
    """003, line 280: k(x, x') = Σ over words u of length p of #u(x) #u(x')."""

    def count(text, p):
        return {text[i : i + p] for i in range(len(text) - p + 1)}, [
            text[i : i + p] for i in range(len(text) - p + 1)
        ]

    K = Spectrum(2)(TEXTS)
    for i, a in enumerate(TEXTS):
        for j, b in enumerate(TEXTS):
            (kinds, of_a), (_, of_b) = count(a, 2), count(b, 2)
            assert K[i, j] == sum(of_a.count(u) * of_b.count(u) for u in kinds)
    assert K[0, 2] == 8.0  # an, na: 2·2 and 2·2


@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(2),
        Mismatch(3, 1, alphabet=26),
        Subsequence(2, 0.5),
        WeightedDegree(2),
        BagOfWords(),
    ],
    ids=repr,
)
def test_string_kernels_are_kernels(kernel, smallest_eigenvalue):
    """003, lines 225-232, 280: legal ones, with a map behind them."""
    texts = [t[:6] for t in TEXTS]  # weighted degrees compare places, so lengths are equal
    assert smallest_eigenvalue(kernel(texts)) > -1e-12
    assert isinstance(mercer.prove(kernel), mercer.proof.Proof)


def test_the_dual_perceptron_takes_strings():
    """003, lines 205-215, 280: it never looks at an example but through k."""
    y = np.array([1, 1, 1, -1, -1, -1])
    model = KernelPerceptron(Spectrum(3), epochs=20, shuffle=False).fit(TEXTS, y)
    assert (model.predict(TEXTS) == y).all()
    scores = Spectrum(3)(["banananas"], TEXTS) @ model.alpha_
    assert np.sign(scores[0]) == model.predict(["banananas"])[0]
