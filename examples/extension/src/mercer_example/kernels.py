"""k(x, z) = 1 / (1 + ‖x − z‖² / width²)."""

from __future__ import annotations

from mercer.extend import SIZE, Formula, Input, Kernel, Rule, declare, kernel, sqdist


@kernel
class Cauchy(Kernel):
    """k(x, z) = 1 / (1 + ‖x − z‖² / width²): longer tails than a Gaussian.

    Parameters
    ----------
    width : float, default 1.0
        Where k has fallen to a half; larger is smoother.
    """

    width: float = 1.0
    examples = ("cauchy()", "cauchy(0.7)")
    parameters = declare(width=SIZE)
    proof = Rule(True, "Cauchy", "a mixture of Gaussians, weights ≥ 0")

    def lower(self, rows: Input, path: str = "") -> Formula:
        return (1.0 + sqdist(rows).over(self._named(path, "width") ** 2)) ** -1
