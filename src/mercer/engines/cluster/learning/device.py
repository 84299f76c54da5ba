"""Panels of a chunk on a worker's GPU: rows pass over the device, sums come back to the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._arrays import host
from mercer.solvers.linear.panels import Normal, Panels


class Fetched(Panels):
    """Panels of a device whose results are arrays of the host, as sums of other workers are."""

    def __init__(self, panels: Any) -> None:
        self.panels: Any = panels
        self.shape: tuple[int, int] = panels.shape
        self.dtype: np.dtype = panels.dtype

    def _there(self, values: Any) -> Any:
        return None if values is None else self.panels.asarray(values)

    def normal(self, targets: Any, weights: Any, matrix: bool = True) -> Normal:
        sums = self.panels.normal(targets, weights, matrix)
        arrays = (host(sums.H), host(sums.R), host(sums.sums), host(sums.target_sums))
        return Normal(*arrays, float(sums.weight))

    def product(self, B: Any) -> np.ndarray:
        return np.asarray(host(self.panels.product(self._there(B))))

    def transposed_product(self, V: Any) -> np.ndarray:
        return np.asarray(host(self.panels.transposed_product(self._there(V))))

    def normal_product(self, B: Any, weights: Any = None) -> np.ndarray:
        return np.asarray(host(self.panels.normal_product(self._there(B), self._there(weights))))

    def images_and_squares(self, *arrays: Any) -> tuple[np.ndarray, np.ndarray]:
        images, squares = self.panels.images_and_squares(*map(self._there, arrays))
        return np.asarray(host(images)), np.asarray(host(squares))

    def each(self, body: Callable[[slice, Any], None], what: str, copies: int = 1) -> None:
        self.panels.each(lambda rows, panel: body(rows, host(panel)), what, copies)
