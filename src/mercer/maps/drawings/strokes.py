"""Compiled loops over one black-and-white image: thin it to lines, prune, find joints and corners.

Images have a white border of at least two pixels, so that no neighbor is outside. Only `describe`
is called from Python: what it calls is compiled into it, and arrays are its caller's, which halves
the time that compiling takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import inner, njit

#: The eight neighbors in order around a pixel, from the one above, clockwise.
_DY = np.array([-1, -1, 0, 1, 1, 1, 0, -1])
_DX = np.array([0, 1, 1, 1, 0, -1, -1, -1])


@inner(error_model="numpy")
def _thin(skeleton: Any, drop: Any) -> None:
    """The skeleton after Zhang and Suen (1984), then without pixels that no connection needs."""
    height, width = skeleton.shape
    changed = True
    while changed:
        changed = False
        for half in range(2):
            changed |= _peel(skeleton, half, drop)
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            if skeleton[y, x] and _neighbors(skeleton, y, x) > 1 and _bridges(skeleton, y, x) == 1:
                skeleton[y, x] = False


@inner(error_model="numpy")
def _peel(skeleton: Any, half: Any, drop: Any) -> Any:
    """Remove the pixels of two of the four sides; whether there were any."""
    height, width = skeleton.shape
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            drop[y, x] = skeleton[y, x] and _is_edge(skeleton, y, x, half)
    changed = False
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            if drop[y, x]:
                skeleton[y, x] = False
                changed = True
    return changed


@inner(error_model="numpy")
def _is_edge(image: Any, y: Any, x: Any, half: Any) -> Any:
    """Whether a pixel may go without breaking a line or shortening its end."""
    total, rises, last = 0, 0, image[y - 1, x - 1]
    for d in range(8):
        here = image[y + _DY[d], x + _DX[d]]
        total += here
        rises += here and not last
        last = here
    if total < 2 or total > 6 or rises != 1:
        return False
    up, right, down, left = image[y - 1, x], image[y, x + 1], image[y + 1, x], image[y, x - 1]
    if half == 0:
        return not (right and down and (up or left))
    return not (up and left and (right or down))


@inner(error_model="numpy")
def _neighbors(image: Any, y: Any, x: Any) -> Any:
    total = 0
    for d in range(8):
        total += image[y + _DY[d], x + _DX[d]]
    return total


@inner(error_model="numpy")
def _bridges(image: Any, y: Any, x: Any) -> Any:
    """Yokoi's number: the lines that would come apart without this pixel; 0 inside."""
    total = 0
    for d in range(0, 8, 2):
        a = not image[y + _DY[d], x + _DX[d]]
        b = not image[y + _DY[d + 1], x + _DX[d + 1]]
        c = not image[y + _DY[(d + 2) % 8], x + _DX[(d + 2) % 8]]
        total += a - a * b * c
    return total


@inner(error_model="numpy")
def _onward(image: Any, y: Any, x: Any) -> Any:
    """The direction of a neighbor, −1 if there is none; straight ones first, a diagonal one may lie
    behind them."""
    direction = -1
    for d in range(8):
        if image[y + _DY[d], x + _DX[d]]:
            direction = d
            if d % 2 == 0:
                break
    return direction


@inner(error_model="numpy")
def _prune(skeleton: Any, shortest: Any, path: Any) -> None:
    """Remove spurs: lines from a free end to a joint with fewer than `shortest` pixels."""
    height, width = skeleton.shape
    for y0 in range(1, height - 1):
        for x0 in range(1, width - 1):
            if not skeleton[y0, x0] or _neighbors(skeleton, y0, x0) != 1:
                continue
            y, x, length, joint = y0, x0, 0, False
            while length < shortest:
                path[length, 0], path[length, 1] = y, x
                length += 1
                skeleton[y, x] = False
                direction = _onward(skeleton, y, x)
                if direction < 0:
                    break
                y, x = y + _DY[direction], x + _DX[direction]
                if _neighbors(skeleton, y, x) > 1:
                    joint = True
                    break
            if not joint:
                for i in range(length):
                    skeleton[path[i, 0], path[i, 1]] = True


@inner(error_model="numpy")
def _flood(mask: Any, y: Any, x: Any, stack: Any) -> Any:
    """Take the component of (y, x) out of the mask; the stack lists its pixels."""
    mask[y, x] = False
    stack[0, 0], stack[0, 1] = y, x
    listed, at = 1, 0
    while at < listed:
        y, x = stack[at, 0], stack[at, 1]
        at += 1
        for d in range(8):
            v, u = y + _DY[d], x + _DX[d]
            if 0 <= v < mask.shape[0] and 0 <= u < mask.shape[1] and mask[v, u]:
                mask[v, u] = False
                stack[listed, 0], stack[listed, 1] = v, u
                listed += 1
    return listed


@inner(error_model="numpy")
def _joints(skeleton: Any, reach: Any, around: Any, lines: Any, rim: Any, lists: Any) -> Any:
    """Joints of three and of more lines; `lines` becomes the skeleton without their surroundings.

    Pixels with more than two neighbors that are within `reach` of each other are one joint: a
    crossing of two thick strokes has two of them. Its lines are those that leave its surroundings.
    """
    height, width = skeleton.shape
    for y in range(height):
        for x in range(width):
            around[y, x] = rim[y, x] = False
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            if skeleton[y, x] and _neighbors(skeleton, y, x) > 2:
                _mark(around, y, x, reach)
    for y in range(height):
        for x in range(width):
            lines[y, x] = skeleton[y, x] and not around[y, x]
    three, four = 0, 0
    for y in range(height):
        for x in range(width):
            if around[y, x]:
                size = _flood(around, y, x, lists[0])
                arms = _arms(lines, lists[0], size, rim, lists[1])
                three += arms == 3
                four += arms > 3
    return three, four


@inner(error_model="numpy")
def _mark(mask: Any, y: Any, x: Any, reach: Any) -> None:
    """Set all pixels of a disk."""
    for v in range(mask.shape[0]):
        for u in range(mask.shape[1]):
            if (v - y) * (v - y) + (u - x) * (u - x) <= reach * reach:
                mask[v, u] = True


@inner(error_model="numpy")
def _arms(lines: Any, region: Any, size: Any, rim: Any, ends: Any) -> Any:
    """How many lines touch a region, given as a list of pixels; `rim` is white, and stays so."""
    height, width = lines.shape
    for i in range(size):
        for d in range(8):
            v, u = region[i, 0] + _DY[d], region[i, 1] + _DX[d]
            if 0 <= v < height and 0 <= u < width and lines[v, u]:
                rim[v, u] = True
    arms = 0
    for v in range(height):
        for u in range(width):
            if rim[v, u]:
                _flood(rim, v, u, ends)
                arms += 1
    return arms


@inner(error_model="numpy")
def _walk(lines: Any, y: Any, x: Any, path: Any) -> Any:
    """Follow a line from (y, x), taking it out; the path lists its pixels in order."""
    length = 0
    while True:
        path[length, 0], path[length, 1] = y, x
        length += 1
        lines[y, x] = False
        direction = _onward(lines, y, x)
        if direction < 0:
            return length
        y, x = y + _DY[direction], x + _DX[direction]


@inner(error_model="numpy")
def _corners(lines: Any, reach: Any, least: Any, path: Any, turns: Any) -> Any:
    """How often a line turns by more than `least` (radians) within `reach` pixels."""
    height, width = lines.shape
    total = 0
    # Lines with free ends first; what is left then are rings.
    for rings in range(2):
        for y in range(1, height - 1):
            for x in range(1, width - 1):
                if lines[y, x] and (rings == 1 or _neighbors(lines, y, x) <= 1):
                    n = _walk(lines, y, x, path)
                    _measure_turns(path, n, reach, rings == 1, turns)
                    total += _peaks(turns, n, reach, rings == 1, least)
    return total


@inner(error_model="numpy")
def _measure_turns(path: Any, n: Any, reach: Any, ring: Any, turns: Any) -> None:
    """The angle between the ways to and from each pixel of a line; 0 near its ends."""
    for i in range(n):
        turns[i] = 0.0
        a, b = i - reach, i + reach
        if ring and n > 4 * reach:
            a, b = a % n, b % n
        elif a < 0 or b >= n:
            continue
        y1, x1 = path[i, 0] - path[a, 0], path[i, 1] - path[a, 1]
        y2, x2 = path[b, 0] - path[i, 0], path[b, 1] - path[i, 1]
        turns[i] = abs(np.arctan2(x1 * y2 - y1 * x2, x1 * x2 + y1 * y2))


@inner(error_model="numpy")
def _peaks(turns: Any, n: Any, reach: Any, ring: Any, least: Any) -> Any:
    """How many angles exceed `least` and all others within reach; of equal ones the first."""
    total = 0
    for i in range(n):
        best = turns[i] > least
        for k in range(-reach, reach + 1):
            j = (i + k) % n if ring else i + k
            if 0 <= j < n and (turns[j] > turns[i] or (turns[j] == turns[i] and k < 0)):
                best = False
        total += best
    return total


@inner(error_model="numpy")
def _length_of(skeleton: Any) -> Any:
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


@njit(nogil=True, error_model="numpy")
def describe(  # type: ignore[no-untyped-def]
    images, spur, reach, least, masks, lists, turns, out
):  # fmt: skip
    """(3-joints, 4-joints, angles, length in heights of the skeleton) of every image.

    Images become their thinned and pruned skeletons. Three `masks` of an image's shape, two `lists`
    of two numbers per pixel, and one number per pixel in `turns` are written over.
    """
    for i in range(len(images)):
        skeleton, lines = images[i], masks[1]
        _thin(skeleton, masks[0])
        _prune(skeleton, spur, lists[0])
        top, bottom = len(skeleton), -1
        for y in range(len(skeleton)):
            for x in range(skeleton.shape[1]):
                if skeleton[y, x]:
                    top, bottom = y if y < top else top, y
        if bottom < 0:
            continue
        out[i, 0], out[i, 1] = _joints(skeleton, reach, masks[0], lines, masks[2], lists)
        out[i, 3] = (_length_of(skeleton) + 1.0) / (bottom - top + 1.0)
        out[i, 2] = _corners(lines, (3 * reach + 1) // 2, least, lists[0], turns)
