"""Lecture 001: the same dual solution over images, sequences, graphs and text."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.kernels import BagOfWords, Gaussian, Jittered, ShortestPath, Spectrum

RING = ([(0, 1), (1, 2), (2, 3), (3, 0)], list("CCCC"))
CHAIN = ([(0, 1), (1, 2), (2, 3)], list("CCCO"))
STAR = ([(0, 1), (0, 2), (0, 3)], list("CHHH"))
PAIR = ([(0, 1)], list("CO"))


@pytest.mark.parametrize(
    ("kernel", "examples", "new"),
    [
        (Gaussian(1.0), np.array([[0.0], [1.0], [3.0]]), np.array([[2.0]])),
        (Spectrum(2), ["GATTACA", "CATGAT", "TAGTAG"], ["GATGAT"]),
        (BagOfWords(), ["the cat sat", "the dog ran", "a cat ran"], ["the cat ran"]),
        (ShortestPath(), [RING, CHAIN, STAR], [PAIR]),
        (Jittered(Gaussian(1.0), shape=(3, 3)), np.eye(9)[[0, 4, 8]], np.eye(9)[[1]]),
    ],
    ids=["vectors", "sequences", "text", "graphs", "images"],
)
def test_k_may_stand_for_vectors_images_sequences_graphs_or_text(kernel, examples, new):
    """001, line 439: y(x) = aᵀk(x), a = (K + λI)⁻¹t, whatever k compares."""
    t = np.array([1.0, -2.0, 0.5])
    model = KernelRidge(kernel, 0.1, fit_intercept=False).fit(examples, t)
    a = np.linalg.solve(kernel(examples) + 0.1 * np.eye(3), t)
    np.testing.assert_allclose(model.predict(new), kernel(new, examples) @ a, rtol=1e-8)
