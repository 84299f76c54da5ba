"""θ: the logarithms of the numbers of a kernel that are learned, within bounds, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer._arrays import host, is_sparse
from mercer._lazy import record
from mercer.formula.derive import lengths_of, parameters_of
from mercer.formula.nodes import ROOT
from mercer.kernels import Kernel
from mercer.kernels.parameters.widths import as_width

#: How far a number may go from where it starts, as a factor up and down, if no bounds are given.
REACH = 1e4
#: The same for the noise, in units of the mean of k(x, x).
NOISE = (1e-8, 1e2)


@record
class Numbers:
    """What is learned of a kernel: names, where they start, and their bounds, as logarithms.

    A parameter with a length per column has as many numbers, which stand together.
    """

    kernel: Kernel
    #: Name of a parameter, and the number of its lengths; 0 for a parameter of one number.
    names: tuple[tuple[str, int], ...]
    start: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, kernel: Kernel, given: Mapping[str, Any] | None) -> Numbers:
        """All numbers above 0 that have a derivative, but for those that are to stay fixed."""
        wanted = {} if given is None else dict(given)
        names, start, bounds = [], [], []
        for name, node in parameters_of(kernel.lower(ROOT)).items():
            scale = lengths_of(node)
            values = np.atleast_1d(node.value[1] if scale is None else scale.lengths.array)
            limits = wanted.pop(name, None)
            if (limits is None and not (values > 0).all()) or limits == "fixed":
                continue
            if not (values > 0).all():
                raise ValueError(f"{name} is {values.min():g}: only numbers above 0 are learned")
            names.append((name, 0 if scale is None else len(values)))
            start.append(np.log(values))
            bounds.append(_logarithms(name, limits, values))
        if wanted:
            known = list(parameters_of(kernel.lower(ROOT)))
            raise ValueError(
                f"bounds names {sorted(wanted)}, but {kernel!r} has the parameters {known} (and "
                "there is 'noise')"
            )
        if not names:
            return cls(kernel, (), np.empty(0), np.empty((0, 2)))
        return cls(kernel, tuple(names), np.concatenate(start), np.concatenate(bounds))

    def at(self, theta: np.ndarray) -> Kernel:
        """The kernel with these numbers."""
        changes: dict[str, Any] = {}
        first = 0
        for name, count in self.names:
            part = np.exp(theta[first : first + max(count, 1)])
            changes[name] = part if count else float(part[0])
            first += max(count, 1)
        return self.kernel.set_params(**changes)

    def widths(self) -> list[bool]:
        """Which numbers are widths, or rates in their place."""
        parts = dict(self.kernel.parts())
        found = []
        for name, count in self.names:
            path, _, last = name.rpartition("__")
            part = parts.get(f"{path}__" if path else "")
            width = part is not None and as_width(part.parameters.get(last)) is not None
            found += [width] * max(count, 1)
        return found

    def by_column(self, X: Any) -> np.ndarray | None:
        """Where θ starts, a length per column being the spread of the column; None without such
        lengths."""
        counts, width = [n for _, n in self.names], np.shape(X)[-1] if np.ndim(X) == 2 else 0
        if is_sparse(X) or not width or width not in counts:
            return None
        spread, first = (
            np.std(host(X), axis=0),
            sum(max(n, 1) for n in counts[: counts.index(width)]),
        )
        made = self.start.copy()
        made[first : first + width] = np.log(np.where(spread > 0, spread, 1.0))
        return made

    def slopes(self, found: Mapping[str, Any], theta: np.ndarray) -> np.ndarray:
        """Derivatives in θ from those in the numbers: ∂/∂ log p = p ∂/∂p."""
        if not self.names:
            return np.empty(0)
        each = [np.atleast_1d(found[name]) for name, _ in self.names]
        return np.asarray(np.concatenate(each) * np.exp(theta))

    def spelled(self) -> list[str]:
        """A name per number: "sigma[0]", "sigma[1]"."""
        return [
            one
            for name, count in self.names
            for one in ([f"{name}[{j}]" for j in range(count)] if count else [name])
        ]


def _logarithms(name: str, limits: Any, values: np.ndarray) -> np.ndarray:
    """Bounds of θ: those given, or a factor around each value."""
    if limits is None:
        return np.log(values)[:, None] + math.log(REACH) * np.array([-1.0, 1.0])
    low, high = pair(name, limits)
    if not ((values >= low) & (values <= high)).all():
        raise ValueError(f"{name} starts outside of its bounds ({low:g}, {high:g}): {values}")
    return np.tile(np.log([low, high]), (len(values), 1))


def pair(name: str, limits: Any) -> tuple[float, float]:
    """Two numbers 0 < low < high."""
    try:
        low, high = (float(value) for value in limits)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not 0 < low < high < math.inf:
        raise ValueError(f"the bounds of {name} must be two numbers 0 < low < high, got {limits!r}")
    return low, high
