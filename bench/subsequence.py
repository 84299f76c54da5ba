"""Subsequence(p=4) on 1000 strings of 300 characters, beside the recursion written in NumPy.

The peer is vectorised as far as the recursion allows: a Python loop over the letters of one string
and the p levels, NumPy over the letters of the other. It is timed on a few pairs, ours on a square
block in the same rounds, and both are given per pair; then ours does all 500,500 pairs once.
"""

from __future__ import annotations

import numpy as np
from _harness import Row, below, claim, faster, main, race, timed

from mercer.kernels import Subsequence

N, LENGTH, P, DECAY = 1000, 300, 4, 0.5
PEER_PAIRS, OUR_STRINGS = 12, 120


def strings(n: int) -> list[str]:
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz "))
    weights = 1.0 / np.arange(2, len(letters) + 2)
    picked = rng.choice(letters, size=(n, LENGTH), p=weights / weights.sum())
    return ["".join(row) for row in picked]


def in_numpy(x: str, z: str) -> float:
    """K_p(x, z) by Lodhi's recursion; the sum along z is a cumulative sum of λ⁻ʲ-scaled terms."""
    t = np.frombuffer(z.encode("utf-32-le"), dtype=np.uint32)
    grow = DECAY ** -np.arange(len(t))
    shrink = DECAY ** np.arange(len(t))
    levels = np.zeros((P, len(t) + 1))
    levels[0] = 1.0
    total = 0.0
    for letter in x:
        hit = t == ord(letter)
        total += levels[P - 1, :-1][hit].sum()
        scaled = np.where(hit, grow, 0.0)
        for level in range(P - 1, 0, -1):
            ending = shrink * np.cumsum(scaled * levels[level - 1, :-1])
            levels[level] *= DECAY
            levels[level, 1:] += DECAY**2 * ending
    return float(total * DECAY**2)


def measure() -> list[Row]:
    X = strings(N)
    k = Subsequence(P, decay=DECAY)
    few = X[:OUR_STRINGS]
    pairs = [(X[i], X[i + 1]) for i in range(PEER_PAIRS)]
    expected = [in_numpy(*pair) for pair in pairs]
    ours = np.diagonal(k(X[:PEER_PAIRS], X[1 : PEER_PAIRS + 1]))
    assert np.abs(ours / expected - 1).max() < 1e-10

    times = race(lambda: k(few), lambda: [in_numpy(*pair) for pair in pairs], rounds=3)
    per_pair = times.ours / (OUR_STRINGS * (OUR_STRINGS + 1) / 2)
    peer = times.peer / PEER_PAIRS
    whole = timed(lambda: k(X))
    count = N * (N + 1) / 2
    return [
        claim(
            f"Subsequence(p={P}), {LENGTH} letters, a pair, vs NumPy",
            per_pair,
            peer,
            faster(50),
            f"{1 / per_pair:,.0f} pairs/s, NumPy {1 / peer:,.0f}",
        ),
        claim(
            f"  all {count:,.0f} pairs of {N} strings",
            whole,
            None,
            below(180, "s"),
            f"{count / whole:,.0f} pairs/s",
        ),
    ]


if __name__ == "__main__":
    main(measure)
