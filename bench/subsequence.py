"""Subsequence(p=4) on 1000 strings of 300 characters, beside the same recursion in NumPy.

Two peers. The transcription does line by line what the compiled loops do: along anti-diagonals,
where all cells are independent, so NumPy can take each diagonal at once. The shortcut replaces the
sum along one string by a cumulative sum of terms scaled by λ⁻ʲ, which needs fewer calls and
overflows where strings have more than a thousand letters. Peers are timed on a few pairs, ours on a
square block in the same rounds, and all are given per pair; then ours does all 500,500 pairs once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from _harness import Row, claim, faster, main, race, timed

from mercer.kernels import Subsequence

N, LENGTH, P, DECAY = 1000, 300, 4, 0.5
PEER_PAIRS, OUR_STRINGS = 12, 120


def strings(n: int) -> list[str]:
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz "))
    weights = 1.0 / np.arange(2, len(letters) + 2)
    picked = rng.choice(letters, size=(n, LENGTH), p=weights / weights.sum())
    return ["".join(row) for row in picked]


def letters_of(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)


def transcription(x: str, z: str) -> float:
    """K_p(x, z) by Lodhi's recursion along anti-diagonals."""
    s, t = letters_of(x), letters_of(z)[::-1].copy()
    n, m = len(s), len(t)
    scan = np.zeros((P - 1, n))
    levels = np.zeros((3, P - 1, n + 1))
    total = 0.0
    for d in range(n + m - 1):
        low, high = max(0, d - m + 1), min(n - 1, d) + 1
        begin = m - 1 - d + low
        marks = (s[low:high] == t[begin : begin + high - low]) * DECAY**2
        now, last, before = levels[d % 3], levels[(d + 2) % 3], levels[(d + 1) % 3]
        total += float(marks @ before[P - 2, low:high])
        for level in range(P - 2, -1, -1):
            line = scan[level, low:high]
            line *= DECAY
            line += marks * before[level - 1, low:high] if level else marks
            np.multiply(last[level, low:high], DECAY, out=now[level, low + 1 : high + 1])
            now[level, low + 1 : high + 1] += line
    return total


def shortcut(x: str, z: str) -> float:
    """The same with a scaled cumulative sum along z."""
    t = letters_of(z)
    grow = DECAY ** -np.arange(len(t))
    shrink = DECAY ** np.arange(len(t))
    levels = np.zeros((P, len(t) + 1))
    levels[0] = 1.0
    total = 0.0
    for letter in letters_of(x):
        hit = t == letter
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
    ours = np.diagonal(k(X[:PEER_PAIRS], X[1 : PEER_PAIRS + 1]))
    count = N * (N + 1) // 2
    whole = timed(lambda: k(X))
    notes = [f"all {count:,} pairs of {N} strings in {whole:.0f} s", "short strings only"]
    rows = []
    for peer, bound, note in zip((transcription, shortcut), (50, 30), notes, strict=True):
        assert np.abs(ours / [peer(*pair) for pair in pairs] - 1).max() < 1e-10
        times = race(lambda: k(few), functools.partial(several, peer, pairs), rounds=3)
        mine = times.ours / (OUR_STRINGS * (OUR_STRINGS + 1) / 2)
        theirs = times.peer / PEER_PAIRS
        name = f"Subsequence(p={P}), {LENGTH} letters, a pair, vs NumPy {peer.__name__}"
        speed = f"{1 / mine:,.0f} pairs/s, NumPy {1 / theirs:,.0f}; "
        rows.append(claim(name, mine, theirs, faster(bound), speed + note))
    return rows


def several(peer: Callable[[str, str], float], pairs: list[tuple[str, str]]) -> list[float]:
    return [peer(*pair) for pair in pairs]


if __name__ == "__main__":
    main(measure)
