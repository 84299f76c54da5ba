"""Compiled loops over one black-and-white image: thin it to lines, prune, find joints and corners.

Images have a white border of at least two pixels, so that no neighbour is outside.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

#: The eight neighbours in order around a pixel, from the one above, clockwise.
_DY = np.array([-1, -1, 0, 1, 1, 1, 0, -1])
_DX = np.array([0, 1, 1, 1, 0, -1, -1, -1])


@numba.njit(nogil=True, cache=True)
def thin(image: Any) -> Any:  # pragma: no cover - compiled
    """The skeleton after Zhang and Suen (1984), then without pixels that no connection needs."""
    skeleton = image.copy()
    height, width = image.shape
    ring = np.zeros(8, dtype=np.int64)
    changed = True
    while changed:
        changed = False
        for half in range(2):
            drop = np.zeros_like(skeleton)
            for y in range(1, height - 1):
                for x in range(1, width - 1):
                    if not skeleton[y, x]:
                        continue
                    total, rises = 0, 0
                    for d in range(8):
                        ring[d] = skeleton[y + _DY[d], x + _DX[d]]
                        total += ring[d]
                    for d in range(8):
                        rises += ring[d] == 0 and ring[(d + 1) % 8] == 1
                    if total < 2 or total > 6 or rises != 1:
                        continue
                    if half == 0:
                        edge = ring[0] * ring[2] * ring[4] == 0 and ring[2] * ring[4] * ring[6] == 0
                    else:
                        edge = ring[0] * ring[2] * ring[6] == 0 and ring[0] * ring[4] * ring[6] == 0
                    if edge:
                        drop[y, x] = True
                        changed = True
            for y in range(height):
                for x in range(width):
                    if drop[y, x]:
                        skeleton[y, x] = False
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            if skeleton[y, x] and _neighbours(skeleton, y, x) > 1 and _bridges(skeleton, y, x) == 1:
                skeleton[y, x] = False
    return skeleton


@numba.njit(nogil=True, cache=True)
def _neighbours(image: Any, y: Any, x: Any) -> Any:  # pragma: no cover - compiled
    total = 0
    for d in range(8):
        total += image[y + _DY[d], x + _DX[d]]
    return total


@numba.njit(nogil=True, cache=True)
def _bridges(image: Any, y: Any, x: Any) -> Any:  # pragma: no cover - compiled
    """Yokoi's number: the lines that would come apart without this pixel; 0 inside."""
    total = 0
    for d in range(0, 8, 2):
        a = not image[y + _DY[d], x + _DX[d]]
        b = not image[y + _DY[d + 1], x + _DX[d + 1]]
        c = not image[y + _DY[(d + 2) % 8], x + _DX[(d + 2) % 8]]
        total += a - a * b * c
    return total


@numba.njit(nogil=True, cache=True)
def prune(skeleton: Any, shortest: Any) -> None:  # pragma: no cover - compiled
    """Remove spurs: lines from a free end to a joint with fewer than `shortest` pixels."""
    height, width = skeleton.shape
    path = np.empty((height * width, 2), dtype=np.int64)
    for y0 in range(1, height - 1):
        for x0 in range(1, width - 1):
            if not skeleton[y0, x0] or _neighbours(skeleton, y0, x0) != 1:
                continue
            y, x, length, joint = y0, x0, 0, False
            while length < shortest:
                path[length, 0], path[length, 1] = y, x
                length += 1
                skeleton[y, x] = False
                found = -1
                for d in range(8):
                    if skeleton[y + _DY[d], x + _DX[d]]:
                        found = d
                        # Straight neighbours first: a diagonal one may lie behind them.
                        if d % 2 == 0:
                            break
                if found < 0:
                    break
                y, x = y + _DY[found], x + _DX[found]
                if _neighbours(skeleton, y, x) > 1:
                    joint = True
                    break
            if not joint:
                for i in range(length):
                    skeleton[path[i, 0], path[i, 1]] = True


@numba.njit(nogil=True, cache=True)
def _flood(mask: Any, y: Any, x: Any, stack: Any) -> Any:  # pragma: no cover - compiled
    """Take the component of (y, x) out of the mask; the stack lists its pixels."""
    mask[y, x] = False
    stack[0, 0], stack[0, 1] = y, x
    known, at = 1, 0
    while at < known:
        y, x = stack[at, 0], stack[at, 1]
        at += 1
        for d in range(8):
            v, u = y + _DY[d], x + _DX[d]
            if 0 <= v < mask.shape[0] and 0 <= u < mask.shape[1] and mask[v, u]:
                mask[v, u] = False
                stack[known, 0], stack[known, 1] = v, u
                known += 1
    return known


@numba.njit(nogil=True, cache=True)
def joints(skeleton: Any, reach: Any) -> Any:  # pragma: no cover - compiled
    """Joints of three and of more lines; and the skeleton without their surroundings.

    Pixels with more than two neighbours that are within `reach` of each other are one joint: a
    crossing of two thick strokes has two of them. Its lines are those that leave its surroundings.
    """
    height, width = skeleton.shape
    around = np.zeros((height, width), dtype=np.bool_)
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            if skeleton[y, x] and _neighbours(skeleton, y, x) > 2:
                for v in range(max(0, y - reach), min(height, y + reach + 1)):
                    for u in range(max(0, x - reach), min(width, x + reach + 1)):
                        if (v - y) ** 2 + (u - x) ** 2 <= reach * reach:
                            around[v, u] = True
    lines = skeleton & ~around
    three, four = 0, 0
    stack = np.empty((height * width, 2), dtype=np.int64)
    ends = np.empty((height * width, 2), dtype=np.int64)
    left = around.copy()
    for y in range(height):
        for x in range(width):
            if not left[y, x]:
                continue
            known = _flood(left, y, x, stack)
            rim = np.zeros((height, width), dtype=np.bool_)
            for i in range(known):
                for d in range(8):
                    v, u = stack[i, 0] + _DY[d], stack[i, 1] + _DX[d]
                    if 0 <= v < height and 0 <= u < width and lines[v, u]:
                        rim[v, u] = True
            arms = 0
            for v in range(height):
                for u in range(width):
                    if rim[v, u]:
                        _flood(rim, v, u, ends)
                        arms += 1
            three += arms == 3
            four += arms > 3
    return three, four, lines


@numba.njit(nogil=True, cache=True)
def _walk(lines: Any, y: Any, x: Any, path: Any) -> Any:  # pragma: no cover - compiled
    """Follow a line from (y, x), taking it out; the path lists its pixels in order."""
    length = 0
    while True:
        path[length, 0], path[length, 1] = y, x
        length += 1
        lines[y, x] = False
        found = -1
        for d in range(8):
            if lines[y + _DY[d], x + _DX[d]]:
                found = d
                if d % 2 == 0:
                    break
        if found < 0:
            return length
        y, x = y + _DY[found], x + _DX[found]


@numba.njit(nogil=True, cache=True)
def corners(lines: Any, reach: Any, least: Any) -> Any:  # pragma: no cover - compiled
    """Places where a line turns by more than `least` (radians) within `reach` pixels."""
    height, width = lines.shape
    path = np.empty((height * width, 2), dtype=np.int64)
    turns = np.zeros(height * width)
    total = 0
    # Lines with free ends first; what is left then are rings.
    for rings in range(2):
        for y in range(1, height - 1):
            for x in range(1, width - 1):
                if not lines[y, x] or (rings == 0 and _neighbours(lines, y, x) > 1):
                    continue
                n = _walk(lines, y, x, path)
                for i in range(n):
                    turns[i] = 0.0
                    a, b = i - reach, i + reach
                    if rings == 1 and n > 4 * reach:
                        a, b = a % n, b % n
                    elif a < 0 or b >= n:
                        continue
                    y1, x1 = path[i, 0] - path[a, 0], path[i, 1] - path[a, 1]
                    y2, x2 = path[b, 0] - path[i, 0], path[b, 1] - path[i, 1]
                    turns[i] = abs(np.arctan2(x1 * y2 - y1 * x2, x1 * x2 + y1 * y2))
                for i in range(n):
                    if turns[i] <= least:
                        continue
                    best = True
                    for k in range(-reach, reach + 1):
                        j = i + k
                        if rings == 1:
                            j = j % n
                        if 0 <= j < n and (turns[j] > turns[i] or (turns[j] == turns[i] and k < 0)):
                            best = False
                    total += best
    return total


@numba.njit(nogil=True, cache=True)
def length_of(skeleton: Any) -> Any:  # pragma: no cover - compiled
    """The length of all lines: 1 for a step to the side, √2 for one to a corner."""
    total = 0.0
    for y in range(1, skeleton.shape[0] - 1):
        for x in range(1, skeleton.shape[1] - 1):
            if not skeleton[y, x]:
                continue
            # Each step once: to the right, down, and down both diagonals that are no detour.
            right, down = skeleton[y, x + 1], skeleton[y + 1, x]
            total += right + down
            if skeleton[y + 1, x + 1] and not right and not down:
                total += np.sqrt(2.0)
            if skeleton[y + 1, x - 1] and not skeleton[y, x - 1] and not down:
                total += np.sqrt(2.0)
    return total


@numba.njit(nogil=True, cache=True)
def describe(images: Any, spur: Any, reach: Any, least: Any, out: Any) -> None:  # pragma: no cover
    """(3-joints, 4-joints, angles, length in heights of the skeleton) of every image."""
    for i in range(len(images)):
        skeleton = thin(images[i])
        prune(skeleton, spur)
        top, bottom = len(skeleton), -1
        for y in range(len(skeleton)):
            if skeleton[y].any():
                top, bottom = min(top, y), y
        if bottom < 0:
            continue
        three, four, lines = joints(skeleton, reach)
        out[i, 0], out[i, 1] = three, four
        out[i, 3] = (length_of(skeleton) + 1.0) / (bottom - top + 1.0)
        out[i, 2] = corners(lines, (3 * reach + 1) // 2, least)
