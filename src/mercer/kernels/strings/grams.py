"""Kernels that count what strings have in common: k is an inner product of sparse counts."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from mercer._parameters import Count, Declared, Flag, declare
from mercer.kernels.catalog import kernel
from mercer.kernels.claims import Claim, Rule
from mercer.kernels.core import Examples
from mercer.kernels.strings.counts import (
    Counts,
    Gapped,
    KernelOfCounts,
    count_grams,
    count_letters,
    split,
)
from mercer.kernels.strings.sequences import Sequences, checked_weights, encode, read_pair, rows_of

# Regular expressions that take no time without end: tried on repetitions before they are used.


#: Lengths to try. A pattern that doubles its work with every character is found by the first ones,
#: one that takes a high power of the length by the last.
LENGTHS = (*range(4, 28, 2), 64, 128, 256, 512)
#: Seconds of work: harmless patterns take microseconds.
MOST = 0.05


@lru_cache(maxsize=256)
def checked_pattern(pattern: str) -> re.Pattern[str]:
    """The compiled pattern; a ValueError if it is none, or if it may search without end."""
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"BagOfWords: {pattern!r} is not a pattern: {error}") from None
    letters = dict.fromkeys([*"a0 -", *(c for c in pattern if c.isalnum())])
    for letter in list(letters)[:24]:
        for length in LENGTHS:
            start = time.thread_time()
            for end in ("", "\0"):  # a search is longest where it fails at the end
                for _ in compiled.finditer(letter * length + end):
                    pass
            if time.thread_time() - start > MOST:
                raise ValueError(
                    f"BagOfWords: the pattern {pattern!r} takes too long on {length} characters "
                    f"{letter!r}: parts of it match the same text in many ways. Make them exclude "
                    "each other, as in \\w+ instead of (\\w+)+."
                )
    return compiled


class CountingKernel(KernelOfCounts):
    """k(x, z) = Σ over grams of weight · count in x · count in z; the counts are the state."""

    takes = "strings"

    def _kinds(self) -> list[Gapped]:
        raise NotImplementedError

    def _read(self, X: Any, Z: Any) -> tuple[Sequences, Sequences]:
        return read_pair(X, Z)

    def _check(self, strings: Sequences) -> None:
        """A look at all letters of both sides."""

    def prepare_pair(self, X: Any, Z: Any) -> tuple[Counts, Counts]:
        x, z = self._read(X, Z)
        if Z is None:
            self._check(x)
            counts = count_grams(x, self._kinds())
            return counts, counts
        both = Sequences(
            x.codes, np.concatenate([x.starts, z.starts]), np.concatenate([x.lengths, z.lengths])
        )
        self._check(both)
        return split(count_grams(both, self._kinds()), x.shape[0])

    def bytes_per_pair(self) -> int:
        return 16  # the result, and the part of it that common grams add


@kernel
class Spectrum(CountingKernel):
    """k(x, z) = Σᵤ |x|ᵤ |z|ᵤ over all strings u of p letters, |x|ᵤ the times u occurs in x.

    ``blended=True`` takes all lengths 1, …, p; ``weights=(w₁, …, wₚ)`` weighs each of them. Strings
    are str, bytes or lists of tokens, of any alphabet; the time is linear in their length.

    Parameters
    ----------
    p : int
        Letters of the strings that are counted.
    blended : bool, default False
        Whether shorter strings count, too.
    weights : tuple of float or None
        One per length, where lengths are blended.

    Examples
    --------
    >>> from mercer import Spectrum
    >>> Spectrum(2)(["banana", "bandana"])
    array([[9., 7.],
           [7., 8.]])
    >>> Spectrum(2, blended=True)(["banana"], ["bandana"])
    array([[21.]])
    >>> Spectrum(1)([["to", "be"]], [["to", "see", "to", "believe"]])
    array([[2.]])
    """

    p: int
    blended: bool = False
    weights: tuple[float, ...] | None = None
    examples: ClassVar[Examples] = (
        "spectrum(2)",
        "spectrum(3, blended=True)",
        "spectrum(2, weights=[1, 0.5])",
    )

    parameters: ClassVar[Declared] = declare(p=Count(1, floats=True), blended=Flag())

    def _check_together(self) -> None:
        if self.weights is None:
            return
        if self.blended:
            raise ValueError("Spectrum: give blended=True (all weights 1) or weights, not both")
        self._set("weights", checked_weights(self.weights, self.p, "Spectrum"))

    def _lengths(self) -> Iterator[tuple[int, float]]:
        if self.weights is not None:
            return ((i + 1, w) for i, w in enumerate(self.weights) if w)
        return ((length, 1.0) for length in range(1 if self.blended else self.p, self.p + 1))

    def _kinds(self) -> list[Gapped]:
        kinds = [Gapped(tuple(range(n)), n, weight) for n, weight in self._lengths()]
        return kinds or [Gapped((0,), 1, 0.0)]

    def claim(self, n_features: int | None = None) -> Claim:
        if self.weights is not None and min(self.weights) < 0:
            return Claim(None, "spectrum", self, "the rule needs weights ≥ 0")
        return Claim(True, "inner product of features", self, "φ(x) = the counts of all grams")

    def latex(self, x: str = "x", z: str = "z") -> str:
        if self.weights is None and not self.blended:
            return rf"\sum_{{u \in \Sigma^{{{self.p}}}}} |{x}|_u \, |{z}|_u"
        weight = "" if self.weights is None else "w_{|u|} \\, "
        return rf"\sum_{{1 \le |u| \le {self.p}}} {weight}|{x}|_u \, |{z}|_u"


@kernel
class Mismatch(CountingKernel):
    """k(x, z) = Σᵤ φᵤ(x) φᵤ(z), φᵤ(x) the number of p-grams of x that differ from u in at most m
    letters, u over all strings of p letters of an alphabet of that size.

    The strings u are not listed: k is computed from gapped grams, exactly and for any alphabet.
    The size of the alphabet is part of the definition (a u that is in neither string counts if it
    is near to both), so it is a parameter and not taken from the data: 4 for DNA, 20 for proteins.

    Parameters
    ----------
    p : int
        Letters of a gram.
    m : int, default 1
        Letters that may differ.
    alphabet : int, default 4
        Letters that there are: 4 for DNA, 20 for proteins.

    Examples
    --------
    >>> from mercer.kernels import Mismatch
    >>> Mismatch(3, 1)(["ACG", "TTT"], ["ACG", "ACT", "AGT"])
    array([[10.,  4.,  2.],
           [ 0.,  2.,  2.]])
    """

    p: int
    m: int = 1
    alphabet: int = 4
    tex = (
        r"\sum_{u \in \Sigma^{<p>}} |\{v \in x : d(u, v) \le <m>\}| "
        r"\cdot |\{v \in z : d(u, v) \le <m>\}|"
    )
    examples: ClassVar[Examples] = ("mismatch(3, 1, alphabet=26)",)
    proof: ClassVar[Rule] = Rule(
        True, "inner product of features", "φ(x) = the number of grams near each u"
    )

    parameters: ClassVar[Declared] = declare(
        p=Count(1, floats=True), m=Count(0, floats=True), alphabet=Count(1, floats=True)
    )

    def _check_together(self) -> None:
        if self.m >= self.p:
            raise ValueError(f"Mismatch: m = {self.m} must be less than p = {self.p}")

    def _check(self, strings: Sequences) -> None:
        found = count_letters(strings)
        if found > self.alphabet:
            raise ValueError(
                f"the strings use {found} different letters, and {self!r} is defined for an "
                f"alphabet of {self.alphabet}; give alphabet={found} or more"
            )

    def _common(self, distance: int) -> int:
        """How many u are within m of both of two grams that differ in `distance` letters."""
        p, m, others = self.p, self.m, self.alphabet - 2
        total = 0
        for first in range(distance + 1):  # differing positions where u has the letter of the first
            for second in range(distance - first + 1):
                neither = distance - first - second
                spread = math.comb(distance, first) * math.comb(distance - first, second)
                if neither and others < 1:
                    continue
                spread *= others**neither
                left = m - neither - max(first, second)
                for changed in range(min(left, p - distance) + 1):
                    total += spread * math.comb(p - distance, changed) * (others + 1) ** changed
        return total

    def _kinds(self) -> list[Gapped]:
        # A pair of grams at distance d agrees on C(p−d, j−d) of the sets of p−j positions. So sums
        # over gapped grams, weighted to give each pair its number of common neighbors, are k.
        most = min(2 * self.m, self.p)
        weights: dict[int, int] = {}
        for d in range(most, -1, -1):
            later = (w * math.comb(self.p - d, j - d) for j, w in weights.items())
            weights[d] = self._common(d) - sum(later)
        return [
            Gapped(positions, self.p, float(weight))
            for j, weight in weights.items()
            if weight
            for positions in combinations(range(self.p), self.p - j)
        ]


@kernel
class BagOfWords(CountingKernel):
    """k(x, z) = Σ over words w of count(w in x) · count(w in z).

    Words are what `pattern` matches, in lower case unless told otherwise; a list of tokens is
    taken as its words. ``binary=True`` counts each word of a text once.

    Parameters
    ----------
    lowercase : bool, default True
        Whether "The" and "the" are one word.
    binary : bool, default False
        Whether each word of a text counts once.
    pattern : str
        Regular expression of a word.

    Examples
    --------
    >>> from mercer.kernels import BagOfWords
    >>> BagOfWords()(["The cat, the mat."], ["the cat", "a dog"])
    array([[3., 0.]])
    """

    lowercase: bool = True
    binary: bool = False
    pattern: str = r"\w+"
    tex = r"\sum_w |x|_w \, |z|_w"
    examples: ClassVar[Examples] = "bag_of_words()", "bag_of_words(binary=True)"
    proof: ClassVar[Rule] = Rule(
        True, "inner product of features", "φ(x) = the counts of all words"
    )

    parameters: ClassVar[Declared] = declare(lowercase=Flag(), binary=Flag())

    def _check_together(self) -> None:
        checked_pattern(self.pattern)

    def _read(self, X: Any, Z: Any) -> tuple[Sequences, Sequences]:
        kind, rows = rows_of(X, "X")
        words = self._words(kind, rows)
        if Z is None:
            one = encode("tokens", words)
            return one, one
        kind_z, rows_z = rows_of(Z, "Z")
        if kind != kind_z:
            read_pair(X, Z)  # says what is wrong
        both = encode("tokens", words + self._words(kind_z, rows_z))
        return both[: len(words)], both[len(words) :]

    def _words(self, kind: str, rows: list[Any]) -> list[Any]:
        find = checked_pattern(self.pattern)
        if kind == "bytes":
            rows = [bytes(row).decode("utf-8", "surrogateescape") for row in rows]
        if kind != "tokens":
            rows = [
                [word.group() for word in find.finditer(row.lower() if self.lowercase else row)]
                for row in rows
            ]
        return [list(dict.fromkeys(row)) for row in rows] if self.binary else rows

    def _kinds(self) -> list[Gapped]:
        return [Gapped((0,), 1)]
