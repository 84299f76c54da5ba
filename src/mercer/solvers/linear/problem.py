"""min Σᵢ wᵢ(tᵢ − f(xᵢ) − b)² + λ‖f‖²: what every ridge solver is given, and what it gives.

With S = diag(√w) the weighted problem is symmetric: c = (SKS + λI)⁻¹ S(t − b), a = Sc. An
unpenalized b asks for Σ aᵢ = 0: one more right-hand side, d = (SKS + λI)⁻¹ s, and b = sᵀc / sᵀd.

Leaving example i out changes its prediction by cᵢ / (sᵢ Cᵢᵢ), with C the inverse that gave c:
(SKS + λI)⁻¹, less ddᵀ/sᵀd where b is free. So all N refits are in the diagonal of one inverse.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from mercer._lazy import record
from mercer.gram import Gram


@record
class RidgePath:
    """The first axis of everything runs over `alphas`; `loo` holds leave-one-out predictions."""

    alphas: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    loo: np.ndarray


@record
class RidgeSolution:
    """One column of `coef` and one `intercept` for each target.

    `coef` belongs to all examples, or to `centers`, indices or points; `primal` to features.
    `stopped` says why iterations ended early: "rounding", "max_iter" or "interrupt". `instead`:
    the solver that the one asked turned to, and why.
    """

    coef: np.ndarray
    intercept: np.ndarray
    n_iter: int = 1
    stopped: str = ""
    residual: float = 0.0
    path: RidgePath | None = None
    centers: Any = None
    primal: np.ndarray | None = None
    instead: tuple[str, str] | None = None

    @classmethod
    def of_path(cls, path: RidgePath, **more: Any) -> RidgeSolution:
        return cls(path.coef[0], path.intercept[0], path=path, **more)


@record
class RidgeProblem:
    """Targets (N, T) with one λ for each in `alphas`, or a path of λ that all targets share."""

    targets: np.ndarray
    alphas: np.ndarray
    weights: np.ndarray | None = None
    intercept: bool = False

    @property
    def scale(self) -> np.ndarray | None:
        """√w; None where all weights are 1."""
        return None if self.weights is None else np.sqrt(self.weights)

    @property
    def s(self) -> np.ndarray:
        """√w, ones included."""
        return np.ones(len(self.targets)) if self.weights is None else np.sqrt(self.weights)

    def each_alpha(self) -> Iterator[tuple[float, np.ndarray]]:
        """Every distinct λ, and the targets that it is for."""
        for alpha in self.distinct:
            yield alpha, np.flatnonzero(self.alphas == alpha)

    @cached_property
    def distinct(self) -> list[float]:
        """Every λ once."""
        return np.unique(self.alphas).tolist()  # type: ignore[no-any-return]

    def right_hand_sides(self, which: np.ndarray | slice = slice(None)) -> np.ndarray:
        t = self.s[:, None] * self.targets[:, which]
        return np.column_stack([t, self.s]) if self.intercept else t

    def unscaled(self, solved: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """c with b taken out, d, and b."""
        if not np.isfinite(solved).all():
            raise LinAlgError("K + λI is singular: no coefficients could be found; raise alpha")
        if not self.intercept:
            return solved, None, np.zeros(solved.shape[1])
        d = solved[:, -1].astype(np.float64)
        c = solved[:, :-1].astype(np.float64)
        b = (self.s @ c) / (self.s @ d)
        return c - d[:, None] * b, d, b

    def scaled(self, c: np.ndarray) -> np.ndarray:
        return c if self.weights is None else self.s[:, None].astype(c.dtype) * c

    def leave_one_out(
        self,
        gram: Gram | None,
        c: np.ndarray,
        d: np.ndarray | None,
        b: np.ndarray,
        diagonal: np.ndarray,
    ) -> np.ndarray:
        """tᵢ − cᵢ / (sᵢ Cᵢᵢ)."""
        s = self.s
        if d is not None:
            diagonal = diagonal - np.square(d) / (s @ d)
        with np.errstate(divide="ignore", invalid="ignore"):
            loo = self.targets - c / (s * diagonal)[:, None]
        if gram is not None and (s == 0).any():  # an example without weight is left out already
            loo[s == 0] = gram.take(rows=np.flatnonzero(s == 0)) @ self.scaled(c) + b
        return loo

    def path(
        self, gram: Gram | None, parts: Iterator[tuple[np.ndarray, np.ndarray, Any]]
    ) -> RidgePath:
        """From c with its right-hand sides, the diagonal of C, and perhaps another c for `loo`."""
        coefs, bs, loos = [], [], []
        for solved, diagonal, whole in parts:
            c, d, b = self.unscaled(solved)
            coefs.append(self.scaled(c))
            bs.append(b)
            if whole is not None:
                c, d, b = self.unscaled(whole)
            loos.append(self.leave_one_out(gram, c, d, b, diagonal))
        return RidgePath(self.alphas, np.stack(coefs), np.stack(bs), np.stack(loos))
