"""Logistic regression on a device: losses and spaces of `solvers.logistic`, as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mercer._arrays import host
from mercer.engines.cuda.gram import CudaGram
from mercer.engines.cuda.solvers.nystrom import lower_factor
from mercer.engines.cuda.solvers.panels import DevicePanels
from mercer.solvers.linear.nystrom import Centers
from mercer.solvers.smooth.losses import Binary, Loss

#: Examples that the preconditioner knows: products and factorisations are cheap here.
RANK = 2000


def space_for(gram: CudaGram, loss: Loss, centers: Centers | None) -> tuple[Any, Any]:
    """Where f lives, and the loss, both on the device."""
    space: Any = DeviceSpan(gram) if centers is None else DeviceCenterSpan(centers)
    return space, DeviceLoss(loss, space.panels.device)


class DeviceLoss:
    """Σ wᵢ log-loss of one score an example (two classes) or one a class."""

    def __init__(self, loss: Loss, device: torch.device) -> None:
        self.columns = loss.columns
        self.weights = torch.as_tensor(loss.weights, device=device)
        self._binary = isinstance(loss, Binary)
        labels = np.asarray(loss.y).ravel()  # type: ignore[attr-defined]
        self.y = torch.as_tensor(labels, device=device)
        self._start = torch.as_tensor(loss.start(), device=device)

    def value(self, scores: torch.Tensor) -> float:
        if self._binary:
            f = scores[:, 0]
            each = torch.nn.functional.softplus(f, threshold=40.0) - self.y * f
        else:
            each = -scores.log_softmax(1).gather(1, self.y[:, None])[:, 0]
        return float(self.weights @ each)

    def probabilities(self, scores: torch.Tensor) -> torch.Tensor:
        return scores.sigmoid() if self._binary else scores.softmax(1)

    def residual(self, p: torch.Tensor) -> torch.Tensor:
        if self._binary:
            return self.weights[:, None] * (p - self.y[:, None])
        g = p.clone()
        g[torch.arange(len(g), device=g.device), self.y] -= 1.0
        return self.weights[:, None] * g

    def curvature(self, p: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        if self._binary:
            return self.weights[:, None] * p * (1 - p) * V
        pV = p * V
        return self.weights[:, None] * (pV - p * pV.sum(1, keepdim=True))

    def start(self) -> torch.Tensor:
        return self._start


class DeviceSpan:
    """All N examples: f = Σ aᵢ k(xᵢ, ·), ⟨a, a'⟩ = aᵀKa'."""

    def __init__(self, gram: CudaGram) -> None:
        self.gram, self.size = gram, gram.shape[0]
        self.panels = DevicePanels(gram)
        self.panels.keep(0.5)
        trace = float(gram.diagonal_tensor().double().abs().sum())
        self.rounding = 100 * float(np.finfo(gram.dtype).eps) * trace

    def zeros(self, shape: tuple[int, int]) -> torch.Tensor:
        return torch.zeros(shape, dtype=torch.float64, device=self.panels.device)

    def evaluate(self, coef: torch.Tensor) -> torch.Tensor:
        return self.panels.product(coef).double()

    def gradient(self, g: torch.Tensor) -> torch.Tensor:
        return g

    def inner(self, left: torch.Tensor, right: torch.Tensor, right_values: torch.Tensor) -> float:
        return float((left * right_values).sum())

    def preconditioner(self, diagonal: torch.Tensor, alpha: float, intercept: bool) -> Any:
        """H with all but the examples that are hardest to tell left out; r/α outside their span."""
        hard = _hardest(diagonal)
        K = self.gram.in_double(host(hard))
        L = lower_factor(K)
        if L is None:  # not positive semi-definite here: nothing to go by
            return lambda r, rb: (r / alpha, rb)
        columns: Any = self.gram.take(columns=host(hard))
        solve = _bordered(L, diagonal[hard], diagonal.sum(0), alpha, intercept)
        rows = DevicePanels(columns)
        rows.keep(0.25)

        def precondition(r: torch.Tensor, rb: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            inside = torch.linalg.solve_triangular(
                L, rows.transposed_product(r).double(), upper=False
            )
            solved, b = solve(inside, rb)
            z = r / alpha
            z[hard] += torch.linalg.solve_triangular(L.mT, solved - inside / alpha, upper=True)
            return z, b

        return precondition

    def expansion(self, coef: torch.Tensor) -> torch.Tensor:
        return coef


class DeviceCenterSpan:
    """m centres, in coordinates q = Lᵀβ, LLᵀ = K_mm, where the inner product is qᵀq."""

    rounding = 0.0

    def __init__(self, centers: Centers) -> None:
        self.panels: DevicePanels = centers.panels
        self.panels.keep(0.5)
        self.size = len(centers.positions)
        self.positions = torch.as_tensor(centers.positions, device=self.panels.device)
        L = lower_factor(centers.gram.in_double(centers.positions))  # type: ignore[attr-defined]
        if L is None:
            raise np.linalg.LinAlgError(
                "the kernel matrix of the centres has negative eigenvalues: this needs a positive "
                "semi-definite kernel (mercer.prove gives a counterexample)"
            )
        self.L = L

    zeros = DeviceSpan.zeros

    def expansion(self, coef: torch.Tensor) -> torch.Tensor:
        return torch.linalg.solve_triangular(self.L.mT, coef, upper=True)

    def evaluate(self, coef: torch.Tensor) -> torch.Tensor:
        return self.panels.product(self.expansion(coef)).double()

    def gradient(self, g: torch.Tensor) -> torch.Tensor:
        product = self.panels.transposed_product(g).double()
        return torch.linalg.solve_triangular(self.L, product, upper=False)

    def inner(self, left: torch.Tensor, right: torch.Tensor, right_values: torch.Tensor) -> float:
        return float((left * right).sum())

    def preconditioner(self, diagonal: torch.Tensor, alpha: float, intercept: bool) -> Any:
        """The hardest of the centres, each standing for N/m examples; row s of L is k(s, ·)."""
        own = diagonal[self.positions]
        hard = _hardest(own)
        Q, R = torch.linalg.qr(self.L[hard].mT)  # an orthonormal basis of their span
        share = len(diagonal) / self.size
        solve = _bordered(R.mT, share * own[hard], diagonal.sum(0), alpha, intercept)

        def precondition(r: torch.Tensor, rb: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            inside = Q.T @ r
            solved, b = solve(inside, rb)
            return r / alpha + Q @ (solved - inside / alpha), b

        return precondition


def _hardest(diagonal: torch.Tensor) -> torch.Tensor:
    """Where the objective bends most."""
    bend = diagonal.sum(1)
    if len(bend) <= RANK:
        return torch.arange(len(bend), device=bend.device)
    return torch.topk(bend, RANK).indices.sort().values


def _bordered(
    F: torch.Tensor, diagonal: torch.Tensor, totals: torch.Tensor, alpha: float, intercept: bool
) -> Any:
    """Solve [FᵀDF + αI, FᵀD1; 1ᵀDF, ΣD] (q, b) = (r, rb) for each class; ΣD over all examples."""
    rank = F.shape[1]
    classes = diagonal.shape[1]
    size = rank + intercept
    inner = torch.zeros(classes, size, size, dtype=torch.float64, device=F.device)
    for c in range(classes):
        root = diagonal[:, c].sqrt()
        scaled = root[:, None] * F
        inner[c, :rank, :rank] = scaled.T @ scaled
        inner[c].diagonal().add_(alpha)
        if intercept:
            inner[c, rank, :rank] = inner[c, :rank, rank] = root @ scaled
            total = max(float(totals[c]), float(diagonal[:, c].sum()))
            inner[c, rank, rank] = total * (1 + 1e-10) + 1e-300
    factors = torch.linalg.lu_factor(inner)

    def solve(r: torch.Tensor, rb: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        right = torch.cat([r, rb[None]]) if intercept else r
        solved = torch.linalg.lu_solve(*factors, right.T[:, :, None].contiguous())[:, :, 0].T
        return (solved[:-1], solved[-1]) if intercept else (solved, 0.0 * rb)

    return solve
