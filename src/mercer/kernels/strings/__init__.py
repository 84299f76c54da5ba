"""Kernels on strings: texts, bytes, DNA, or any sequences of tokens.

Two families. Kernels that count (`Spectrum`, `Mismatch`, `BagOfWords`) turn each string once into
sparse counts, and a block is a matrix product. Kernels that align (`Subsequence`,
`LocalAlignment`, `WeightedDegree`) run a compiled dynamic program for every pair.
"""

from __future__ import annotations

from mercer.kernels.strings.alignments import LocalAlignment, Subsequence, WeightedDegree
from mercer.kernels.strings.grams import BagOfWords, Mismatch, Spectrum

__all__ = [
    "BagOfWords", "LocalAlignment", "Mismatch", "Spectrum", "Subsequence", "WeightedDegree",
]  # fmt: skip
