"""min over θ of ‖x − T(p + Bθ)‖²/s² + θᵀWθ: a template T bent by a smooth displacement Bθ.

Gauss-Newton for many images at once. A step that does not lower the price of an image is taken
back and tried again with more damping.
"""

from __future__ import annotations

import numpy as np

from mercer._lazy import record
from mercer._machine.deadline import check_time
from mercer._machine.threads import single_threaded_blas
from mercer.tuning import PANEL_ROWS, WARP_GAIN


@record
class Warps:
    """Displacements of the pixels of an image: `fields` (pixels × modes) in each direction that
    has room, and the price of every parameter."""

    shape: tuple[int, int]
    fields: np.ndarray
    axes: tuple[int, ...]
    price: np.ndarray

    @classmethod
    def cosines(cls, shape: tuple[int, int], order: int, stiffness: float) -> Warps:
        """cos(π i (y + ½)/height) · cos(π j (x + ½)/width) for all i, j ≤ order.

        >>> Warps.cosines((4, 5), 1, 2.0).price
        array([2., 4., 4., 6., 2., 4., 4., 6.])
        """
        height, width = shape
        y = np.pi * (np.arange(height) + 0.5) / height
        x = np.pi * (np.arange(width) + 0.5) / width
        modes = [
            (i, j) for i in range(min(order + 1, height)) for j in range(min(order + 1, width))
        ]
        fields = np.stack(
            [np.outer(np.cos(i * y), np.cos(j * x)).ravel() for i, j in modes], axis=1
        )
        axes = tuple(axis for axis in (0, 1) if shape[axis] > 1)
        price = stiffness * np.array([1.0 + i * i + j * j for i, j in modes])
        return cls(shape, fields, axes, np.tile(price, len(axes)))

    def positions(self, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns at which T is read, images × pixels."""
        grid = np.indices(self.shape).reshape(2, -1)
        modes = self.fields.shape[1]
        at = [np.broadcast_to(grid[axis], (len(steps), grid.shape[1])) for axis in (0, 1)]
        for part, axis in enumerate(self.axes):
            moved = steps[:, part * modes : (part + 1) * modes] @ self.fields.T
            at[axis] = np.clip(grid[axis] + moved, 0, self.shape[axis] - 1)
        return at[0], at[1]


def warped(warps: Warps, template: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """T(p + u(p)) for every row of parameters."""
    return _read(template.reshape(warps.shape), *warps.positions(steps))


def _read(image: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    from scipy.ndimage import map_coordinates

    values = map_coordinates(image, [rows.ravel(), columns.ravel()], order=1, mode="nearest")
    return np.asarray(values).reshape(rows.shape)


def fit_warps(
    warps: Warps, X: np.ndarray, template: np.ndarray, scale: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray]:
    """The best parameters for every image, and their price.

    >>> bump = lambda center: np.exp(-np.square(np.arange(30) - center) / 18)
    >>> warps = Warps.cosines((1, 30), 0, 1e-4)
    >>> steps, price = fit_warps(warps, bump(np.array([[14.0]])), bump(12.0), 1.0, 10)
    >>> steps.round(2)  # what is at 14 was at 12
    array([[-2.]])
    """
    done = []
    with single_threaded_blas():  # thousands of small products
        for i in range(0, len(X), PANEL_ROWS):
            check_time()
            done.append(_fit(warps, X[i : i + PANEL_ROWS], template, scale, max_iter))
    return np.concatenate([s for s, _ in done]), np.concatenate([p for _, p in done])


def _fit(
    warps: Warps, X: np.ndarray, template: np.ndarray, scale: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray]:
    """Levenberg and Marquardt's steps: more damping where one does not help, less where it does."""
    image = template.reshape(warps.shape)
    slopes = [np.gradient(image, axis=axis) for axis in warps.axes]
    size = len(warps.price)
    steps = np.zeros((len(X), size))
    residual = X - warped(warps, template, steps)
    price = _price(warps, residual, steps, scale)
    damping = np.full(len(X), 1e-3)
    # Each image stops on its own: what is found for it must not depend on the others.
    busy = np.arange(len(X) if size else 0)
    for _ in range(max_iter):
        if not len(busy):
            break
        trial = steps[busy] + _damped_step(
            warps, slopes, steps[busy], residual[busy], damping[busy], scale
        )
        left = X[busy] - warped(warps, template, trial)
        new = _price(warps, left, trial, scale)
        better = new < price[busy]
        gain = price[busy] - new
        done = better & (gain < WARP_GAIN * price[busy])
        taken = busy[better]
        steps[taken], residual[taken], price[taken] = trial[better], left[better], new[better]
        damping[busy] *= np.where(better, 0.25, 8.0)
        busy = busy[~done]
    return steps, price


def _damped_step(
    warps: Warps,
    slopes: list[np.ndarray],
    steps: np.ndarray,
    residual: np.ndarray,
    damping: np.ndarray,
    scale: float,
) -> np.ndarray:
    """(JJᵀ/s + P, its diagonal damped)⁻¹ (Jr/s − P·steps), J the slopes along every warp."""
    rows, columns = warps.positions(steps)
    J = np.concatenate(
        [_read(s, rows, columns)[:, None, :] * warps.fields.T for s in slopes], axis=1
    )
    H = J @ J.transpose(0, 2, 1) / scale
    corner = np.arange(len(warps.price))
    H[:, corner, corner] += warps.price
    H[:, corner, corner] *= 1.0 + damping[:, None]
    H[:, corner, corner] += 1e-12
    downhill = (J @ residual[:, :, None])[:, :, 0] / scale - warps.price * steps
    return np.linalg.solve(H, downhill[:, :, None])[:, :, 0]


def _price(warps: Warps, residual: np.ndarray, steps: np.ndarray, scale: float) -> np.ndarray:
    return np.square(residual).sum(axis=1) / scale + np.square(steps) @ warps.price


def splat(warps: Warps, X: np.ndarray, steps: np.ndarray, template: np.ndarray) -> np.ndarray:
    """The template seen through the warps: every pixel of every image goes to where it was read.

    Positions that no image looks at keep what the template has there.
    """
    height, width = warps.shape
    rows, columns = (at.ravel() for at in warps.positions(steps))
    top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
    v, u = rows - top, columns - left
    ink, weight = 1e-3 * template, np.full(len(template), 1e-3)
    for dy, p in ((0, 1 - v), (1, v)):
        for dx, q in ((0, 1 - u), (1, u)):
            at = np.minimum(top + dy, height - 1) * width + np.minimum(left + dx, width - 1)
            ink = ink + np.bincount(at, p * q * X.ravel(), len(template))
            weight = weight + np.bincount(at, p * q, len(template))
    return np.asarray(ink / weight)
