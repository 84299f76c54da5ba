"""Compiled loops over letters; imported on first use, because Numba is.

The dynamic programs walk along anti-diagonals: the cells of one depend on the two before it only,
so that the inner loops are plain vector operations, and memory is a few vectors as long as the
shorter string. Each inner loop is a function of few arrays: with more of them the compiler gives
up proving that they do not overlap, and with that vectorization.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import njit

_FAST = {"contract", "reassoc", "nsz"}


@njit(nogil=True)
def number_keys(keys: Any, salt: Any) -> Any:
    """Distinct keys to 0, 1, 2, … by order of appearance, with a hash table that keeps the keys.

    Two keys in one slot are compared, not merged, so the numbers are exact. The salt makes slots
    unpredictable: nobody can write a text that makes the table slow.
    """
    size = 16
    while size < 2 * len(keys):
        size *= 2
    mask = np.uint64(size - 1)
    slots = np.full(size, -1, dtype=np.int64)
    first = np.empty(len(keys), dtype=np.int64)
    ids = np.empty(len(keys), dtype=np.int64)
    known = 0
    for i in range(len(keys)):
        h = np.uint64(keys[i]) ^ salt
        h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        slot = (h ^ (h >> np.uint64(31))) & mask
        while slots[slot] >= 0 and first[slots[slot]] != keys[i]:
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0:
            slots[slot] = known
            first[known] = keys[i]
            known += 1
        ids[i] = slots[slot]
    return ids, known


@njit(nogil=True)
def scatter_products(
    pointers: Any, columns: Any, counts: Any, by_feature: Any, rows: Any, other: Any, out: Any
) -> None:
    """out += X Zᵀ for X by rows and Z by features: only counts that meet are multiplied."""
    for i in range(len(pointers) - 1):
        row = out[i]
        for a in range(pointers[i], pointers[i + 1]):
            f, c = columns[a], counts[a]
            for b in range(by_feature[f], by_feature[f + 1]):
                row[rows[b]] += c * other[b]


# --- gap-weighted subsequences ---------------------------------------------------------------


@njit(nogil=True)
def _mark(s: Any, t: Any, hit: Any, miss: Any, out: Any) -> None:
    for j in range(len(out)):
        out[j] = hit if s[j] == t[j] else miss


@njit(nogil=True, fastmath=_FAST)
def _dot(a: Any, b: Any) -> Any:
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@njit(nogil=True, fastmath=_FAST)
def _first_level(marks: Any, scan: Any, above: Any, decay: Any, out: Any) -> None:
    for j in range(len(out)):
        v = decay * scan[j] + marks[j]
        scan[j] = v
        out[j] = decay * above[j] + v


@njit(nogil=True, fastmath=_FAST)
def _next_level(marks: Any, before: Any, scan: Any, above: Any, decay: Any, out: Any) -> None:
    for j in range(len(out)):
        v = decay * scan[j] + marks[j] * before[j]
        scan[j] = v
        out[j] = decay * above[j] + v


@njit(nogil=True)
def _subsequences(s: Any, t: Any, p: Any, decay: Any, scan: Any, levels: Any, marks: Any) -> Any:
    """K_p(s, t), t written backwards, by the recursion of Lodhi et al. (2002)

    K''_l(i, j) = λ K''_l(i, j−1) + [sᵢ = tⱼ] λ² K'_{l−1}(i−1, j−1)
    K'_l(i, j)  = λ K'_l(i−1, j) + K''_l(i, j)            K'_0 = 1
    K_p = Σᵢⱼ [sᵢ = tⱼ] λ² K'_{p−1}(i−1, j−1)

    `levels` holds K' of three anti-diagonals in turn, shifted by one so that entry 0 is i = −1;
    `scan` holds K'' of the last one. No term is ever subtracted.
    """
    n, m = len(s), len(t)
    scan[:, :n] = 0.0
    levels[:, :, : n + 1] = 0.0
    total = 0.0
    for d in range(n + m - 1):
        low = max(0, d - m + 1)
        width = min(n - 1, d) - low + 1
        mark = marks[:width]
        begin = m - 1 - d + low
        _mark(s[low : low + width], t[begin : begin + width], decay * decay, 0.0, mark)
        if p == 1:
            for j in range(width):
                total += mark[j]
            continue
        now, last, before = levels[d % 3], levels[(d + 2) % 3], levels[(d + 1) % 3]
        total += _dot(mark, before[p - 2, low : low + width])
        for a in range(p - 2, -1, -1):
            line = scan[a, low : low + width]
            above = last[a, low : low + width]
            out = now[a, low + 1 : low + 1 + width]
            if a == 0:
                _first_level(mark, line, above, decay, out)
            else:
                _next_level(mark, before[a - 1, low : low + width], line, above, decay, out)
    return total


@njit(nogil=True)
def fill_subsequence(
    x: Any, xs: Any, xn: Any, z: Any, zs: Any, zn: Any, p: Any, decay: Any, out: Any
) -> None:
    """k for all pairs of strings, given as (letters, starts, lengths)."""
    longest = min(xn.max(), zn.max())
    scan = np.empty((max(p - 1, 1), longest))
    levels = np.empty((3, max(p - 1, 1), longest + 1))
    marks = np.empty(longest)
    backwards = np.empty(max(xn.max(), zn.max()), dtype=x.dtype)
    for i in range(len(xn)):
        a = x[xs[i] : xs[i] + xn[i]]
        for j in range(len(zn)):
            b = z[zs[j] : zs[j] + zn[j]]
            if min(len(a), len(b)) < p:
                out[i, j] = 0.0
                continue
            short, long = (a, b) if len(a) <= len(b) else (b, a)
            back = backwards[: len(long)]
            for s in range(len(long)):
                back[s] = long[len(long) - 1 - s]
            out[i, j] = _subsequences(short, back, p, decay, scan, levels, marks)


# --- local alignments ------------------------------------------------------------------------

#: Sums of alignments are brought down by this factor whenever they grow beyond its inverse.
_DOWN = 2.0**-500


@njit(nogil=True, fastmath=_FAST)
def _gap(begun: Any, longer: Any, begin: Any, extend: Any, out: Any) -> None:
    for j in range(len(out)):
        out[j] = begin * begun[j] + extend * longer[j]


@njit(nogil=True, fastmath=_FAST)
def _join(marks: Any, ends: Any, start: Any, out: Any) -> Any:
    total = 0.0
    for j in range(len(out)):
        v = marks[j] * (start + ends[j])
        out[j] = v
        total += v
    return total


@njit(nogil=True, fastmath=_FAST)
def _ends(match: Any, down: Any, right: Any, first: Any, out: Any) -> None:
    """What may follow: any of the three; and after a gap in s, one in t but not the reverse."""
    for j in range(len(out)):
        v = match[j] + down[j]
        first[j] = v
        out[j] = v + right[j]


@njit(nogil=True)
def _alignments(
    s: Any, t: Any, match: Any, mismatch: Any, begin: Any, extend: Any, buffers: Any, marks: Any
) -> Any:
    """ln Σ over local alignments of Π of their weights (Saigo et al. 2004), t written backwards.

    `buffers[d % 3]` holds, for anti-diagonal d, the sums of alignments that end in a match, in a
    gap of one string, in a gap of the other, in either of the first two, and in any.
    """
    n, m = len(s), len(t)
    buffers[:, :, : n + 1] = 0.0
    start, total, shift = 1.0, 1.0, 0.0
    for d in range(n + m - 1):
        low = max(0, d - m + 1)
        width = min(n - 1, d) - low + 1
        offset = m - 1 - d + low
        mark = marks[:width]
        _mark(s[low : low + width], t[offset : offset + width], match, mismatch, mark)
        now, last, before = buffers[d % 3], buffers[(d + 2) % 3], buffers[(d + 1) % 3]
        here, above = slice(low + 1, low + 1 + width), slice(low, low + width)
        total += _join(mark, before[4, above], start, now[0, here])
        _gap(last[0, above], last[1, above], begin, extend, now[1, here])
        _gap(last[3, here], last[2, here], begin, extend, now[2, here])
        _ends(now[0, here], now[1, here], now[2, here], now[3, here], now[4, here])
        if total > 1.0 / _DOWN:
            buffers[:, :, : n + 1] *= _DOWN
            start *= _DOWN
            total *= _DOWN
            shift -= np.log(_DOWN)
    return np.log(total) + shift


@njit(nogil=True)
def fill_alignment(
    x: Any,
    xs: Any,
    xn: Any,
    z: Any,
    zs: Any,
    zn: Any,
    match: Any,
    mismatch: Any,
    begin: Any,
    extend: Any,
    out: Any,
) -> None:
    """ln of the sum over alignments for all pairs; weights are given as exponentials."""
    longest = min(xn.max(), zn.max())
    buffers = np.empty((3, 5, longest + 1))
    marks = np.empty(longest)
    backwards = np.empty(max(xn.max(), zn.max()), dtype=x.dtype)
    for i in range(len(xn)):
        a = x[xs[i] : xs[i] + xn[i]]
        for j in range(len(zn)):
            b = z[zs[j] : zs[j] + zn[j]]
            if min(len(a), len(b)) == 0:
                out[i, j] = 0.0
                continue
            short, long = (a, b) if len(a) <= len(b) else (b, a)
            back = backwards[: len(long)]
            for s in range(len(long)):
                back[s] = long[len(long) - 1 - s]
            out[i, j] = _alignments(short, back, match, mismatch, begin, extend, buffers, marks)


# --- aligned sequences -----------------------------------------------------------------------


@njit(nogil=True)
def fill_weighted_degree(
    x: Any, xs: Any, xn: Any, z: Any, zs: Any, zn: Any, sums: Any, out: Any
) -> None:
    """Σ over positions of ``sums[r]``, r ≤ p the length of the run of equal letters ending there.

    A run of r letters ends in one common gram of each length up to r.
    """
    p = len(sums) - 1
    for i in range(len(xn)):
        for j in range(len(zn)):
            length = min(xn[i], zn[j])
            a, b = x[xs[i] : xs[i] + length], z[zs[j] : zs[j] + length]
            total, run = 0.0, 0
            for q in range(length):
                run = min(run + 1, p) if a[q] == b[q] else 0
                total += sums[run]
            out[i, j] = total
