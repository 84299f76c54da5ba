"""Sparse counts of grams, exact for any alphabet, and their products.

A gram is packed into one integer (letters as digits); where that would overflow, what has been
packed so far is numbered first. A gram's number is found through a table that keeps the grams
themselves, shared by X and Z, so no two grams are ever confused and none has to be known before.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mercer._lazy import record
from mercer._machine.deadline import check_time
from mercer._tiles import over_pairs
from mercer.kernels.opaque import OpaqueKernel
from mercer.kernels.strings.sequences import Sequences

#: Packed grams stay below this.
MAX_KEY = 1 << 62
#: Share of the strings a gram must be in for dense products to be faster.
COMMON = 0.2
#: Numbers in a dense panel of counts.
PANEL = 1 << 20

_SALT = np.uint64(int.from_bytes(os.urandom(8), "little"))


@record
class Gapped:
    """Grams of the letters at `offsets` within each window of `length` letters, and their weight.

    ``Gapped((0, 1, 2), 3)`` is the plain 3-gram, ``Gapped((0, 2), 3)`` ignores the middle letter.
    """

    offsets: tuple[int, ...]
    length: int
    weight: float = 1.0


@record
class Counts:
    """How often each gram occurs in each string, as CSR: grams that are in many strings (a matrix
    product serves them best) and rare ones (only counts that meet are multiplied)."""

    common: Any
    rare: Any
    common_weights: np.ndarray
    rare_weights: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return self.rare.shape[0], self.rare.shape[1] + self.common.shape[1]

    def __getitem__(self, index: Any) -> Counts:
        if isinstance(index, slice) and index.indices(self.shape[0]) == (0, self.shape[0], 1):
            return self  # and with it what is cached here: a solver asks for row after row
        weights = self.common_weights, self.rare_weights
        return Counts(self.common[index], self.rare[index], *weights)

    @functools.cached_property
    def weighted(self) -> Any:
        """The rare counts times their weights."""
        if (self.rare_weights == 1.0).all():
            return self.rare
        return self.rare.multiply(self.rare_weights[None, :]).tocsr()

    @functools.cached_property
    def by_feature(self) -> Any:
        """The same, gram by gram."""
        return self.weighted.tocsc()


def number(keys: np.ndarray) -> tuple[np.ndarray, int]:
    """Distinct integers to 0, 1, 2, …, in linear time."""
    from mercer.kernels.strings.loops import number_keys

    ids, known = number_keys(np.ascontiguousarray(keys, dtype=np.int64), _SALT)
    return ids, int(known)


def count_letters(strings: Sequences) -> int:
    """The size of the alphabet that the strings use."""
    return number(strings.codes)[1]


def count_grams(strings: Sequences, kinds: Iterable[Gapped]) -> Counts:
    """The counts of all kinds of grams side by side."""
    from scipy import sparse

    letters, base = number(strings.codes)
    blocks, weights = [], []
    for kind in kinds:
        check_time()
        windows = np.maximum(strings.lengths - kind.length + 1, 0)
        pointers = np.concatenate([[0], np.cumsum(windows)])
        # Where each window begins: its index among all windows, plus the letters skipped so far.
        skipped = np.repeat(strings.starts - pointers[:-1], windows)
        ids, known = _numbers(letters, skipped + np.arange(pointers[-1]), kind.offsets, base)
        small = np.int32 if len(ids) < 2**31 else np.int64
        parts = (np.ones(len(ids)), ids.astype(small), pointers.astype(small))
        block = sparse.csr_array(parts, shape=(len(windows), max(known, 1)))
        block.sum_duplicates()
        blocks.append(block)
        weights.append(np.full(block.shape[1], kind.weight))
    matrix = blocks[0] if len(blocks) == 1 else sparse.hstack(blocks, format="csr")
    matrix.sort_indices()
    return by_frequency(matrix, np.concatenate(weights))


def by_frequency(matrix: Any, weights: np.ndarray) -> Counts:
    strings = np.bincount(matrix.indices, minlength=matrix.shape[1])
    common = strings > COMMON * matrix.shape[0]
    return Counts(matrix[:, common], matrix[:, ~common], weights[common], weights[~common])


def _numbers(
    letters: np.ndarray, begins: np.ndarray, offsets: Sequence[int], base: int
) -> tuple[np.ndarray, int]:
    keys = np.zeros(len(begins), dtype=np.int64)
    span = 1
    for offset in offsets:
        if span * base >= MAX_KEY:
            keys, span = number(keys)
        keys = keys * base + letters[begins + offset]
        span *= base
    return number(keys)


def split(counts: Counts, n: int) -> tuple[Counts, Counts]:
    """The first n strings, and the others."""
    return counts[:n], counts[n:]


def products(x: Counts, z: Counts) -> np.ndarray:
    """Σ over grams of weight · count in x · count in z, for all pairs."""
    from mercer.kernels.strings.loops import scatter_products

    def body(rows: slice, columns: slice, out: np.ndarray) -> None:
        left = x.rare[rows]
        right = z.by_feature if columns.start == 0 else z.weighted[columns].tocsc()
        scatter_products(
            left.indptr, left.indices, left.data, right.indptr, right.indices, right.data, out
        )

    n, m = x.shape[0], z.shape[0]
    # A rare gram of x is in a share COMMON / 4 of the strings, say.
    work = COMMON / 4 * x.rare.nnz / max(n, 1)
    out = over_pairs((n, m), body, work, n == m and _same(x.rare, z.rare))
    if x.common.shape[1]:
        _add_dense_products(x, z, out)
    return out


def _same(a: Any, b: Any) -> bool:
    pairs = ((a.indptr, b.indptr), (a.indices, b.indices), (a.data, b.data))
    return all(np.array_equal(u, v) for u, v in pairs)


def _add_dense_products(x: Counts, z: Counts, out: np.ndarray) -> None:
    step = max(16, PANEL // x.common.shape[1])
    for i in range(0, out.shape[0], step):
        left = x.common[i : i + step].toarray() * x.common_weights
        for j in range(0, out.shape[1], step):
            out[i : i + step, j : j + step] += left @ z.common[j : j + step].toarray().T


def squares(x: Counts) -> np.ndarray:
    """Σ over grams of weight · count², for every string."""
    parts = ((x.common, x.common_weights), (x.rare, x.rare_weights))
    return np.asarray(sum(matrix.multiply(matrix) @ weights for matrix, weights in parts))


class KernelOfCounts(OpaqueKernel):
    """k(x, z) = Σ weight · count in x · count in z; the counts are the state."""

    def prepare(self, X: Any) -> Counts:
        return self.prepare_pair(X, None)[0]

    def block(self, state_x: Counts, state_z: Counts) -> np.ndarray:
        return products(state_x, state_z)

    def diag_of(self, state: Counts) -> np.ndarray:
        return squares(state)
