"""KernelExpansion: f(x) = Σᵢ αᵢ k(xᵢ, x) + b, the value every global model comes down to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._arrays import host, like
from mercer._examples import count, take
from mercer.formula.monomials import Monomials, power_coefficients
from mercer.formula.written import monomial, number, raised, summed, term, variables
from mercer.gram import HOST, held, make_gram
from mercer.gram.monomial_sums import MonomialSums, coefficients_of, monomial_sums, monomials_pay
from mercer.kernels import Kernel, Linear, Polynomial, as_kernel

if TYPE_CHECKING:
    from mercer.gram import Rows

#: What is found again from the points, and not saved with them.
DERIVED = ("_rows", "_rows_in_single", "is_polynomial", "_monomials", "_single")


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """f(x) = Σᵢ αᵢ k(xᵢ, x) + b; `coef` has one column per output.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    points : array or list
        The examples xᵢ, one per row.
    coef : array of shape (n,) or (n, n_outputs)
        The coefficients α.
    intercept : float or array of shape (n_outputs,)
        The number b that is added.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelExpansion, Polynomial
    >>> f = KernelExpansion(Polynomial(2), np.array([[1.0, 1.0]]), np.array([1.0]))
    >>> f(np.array([[2.0, 3.0]]))
    array([25.])
    """

    kernel: Kernel
    points: Any
    coef: Any
    intercept: Any = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", as_kernel(self.kernel))
        coef = np.asarray(host(self.coef))
        if coef.dtype.kind not in "fiu" or coef.ndim not in (1, 2):
            raise ValueError(f"coef must be real, 1-D or 2-D; got {coef.dtype} {coef.shape}")
        coef = coef.astype(np.float64) if coef.dtype.kind != "f" else coef
        if len(coef) != count(self.points):
            raise ValueError(f"{count(self.points)} points need as many coef, got {len(coef)}")
        if not np.isfinite(coef).all():
            raise ValueError("coef has NaN or infinite entries")
        intercept = np.asarray(host(self.intercept), dtype=np.float64)
        if intercept.ndim > 1 or (intercept.ndim == 1 and intercept.shape != coef.shape[1:]):
            raise ValueError(
                f"one intercept per output is needed ({coef.shape[1:]}), got {intercept.shape}"
            )
        object.__setattr__(self, "coef", coef)
        object.__setattr__(self, "intercept", intercept if intercept.ndim else float(intercept))

    def __call__(self, X: Any) -> np.ndarray:
        """f(x) for every row of X."""
        if not len(self.coef):
            shape = (count(X), *self.coef.shape[1:])
            return like(np.zeros(shape, dtype=self.coef.dtype) + self.intercept, X)
        values = self.by_monomials(X) if self.is_polynomial else None
        return self.over(self.gram(X)) if values is None else values

    def has_monomials(self, X: Any) -> bool:
        """Whether f of these rows takes least time as a sum of monomials."""
        if not self.is_polynomial:
            return False
        coef, _ = self._stretches
        outputs = int(np.prod(self._shape, dtype=int))
        return monomials_pay(self.kernel, X, self.points, coef, outputs)

    def by_monomials(self, X: Any, then: Callable[[Any], Any] = lambda values: values) -> Any:
        """f of every row as a sum of monomials, or what `then` makes of it, where that pays."""
        if not self.has_monomials(X) or self._monomials is None:
            return None
        dtype, shape = np.result_type(X.dtype, self.points.dtype), self._shape

        def finished(values: np.ndarray) -> Any:
            values += self.intercept
            return then(values.astype(dtype, copy=False).reshape(-1, *shape))

        return self._monomials(X, finished)

    @cached_property
    def is_polynomial(self) -> bool:
        """Whether k is a polynomial in x·z whose coefficients are at least 0."""
        return coefficients_of(self.kernel) is not None

    @cached_property
    def _monomials(self) -> MonomialSums | None:
        return monomial_sums(self.kernel, self.points, *self._stretches, self._joined)

    @property
    def _shape(self) -> tuple[int, ...]:
        """The shape of f(x)."""
        return tuple(self.coef.shape[1:])

    @property
    def _stretches(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients in columns, and the ends of the runs of points that are summed apart."""
        return self.coef.reshape(len(self), -1), np.array([len(self)])

    def _joined(self, sums: np.ndarray) -> np.ndarray:
        """One column per output, of the sums over the runs of points."""
        return sums[0]

    def gram(self, X: Any) -> Any:
        """K between X and the points."""
        return make_gram(self.kernel, X, self._rows)

    def gram_in_single(self, X: Any) -> Any:
        """K on the host between X and the points, both rounded to float32.

        None where float32 cannot hold the numbers, k needs float64, or a device computes K.
        """
        try:
            with np.errstate(over="ignore"):
                rows = X.astype(np.float32, copy=False)
                gram = make_gram(self.kernel, rows, self._rows_in_single)
        except ValueError:
            return None
        return gram if gram.engine == HOST.name and gram.dtype == np.float32 else None

    @cached_property
    def _rows(self) -> Rows | Any:
        return held(self.kernel, self.points)

    @cached_property
    def _rows_in_single(self) -> Rows | Any:
        return held(self.kernel, self.points.astype(np.float32, copy=False))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in DERIVED}

    def over(self, gram: Any, then: Callable[[Any], Any] = lambda values: values) -> Any:
        """f for every row of a Gram whose columns are the points, or what `then` makes of it."""
        values = gram @ self.coef
        if isinstance(values, np.ndarray):
            return then(values + np.asarray(self.intercept, dtype=values.dtype))
        return then(values + values.new_tensor(self.intercept))  # a tensor stays where it is

    @cached_property
    def weights(self) -> Any:
        """Σᵢ |αᵢ|, one number per output: the rounding of f is at most that of k times this."""
        return np.abs(self.coef).sum(axis=0)

    def gradient(self, X: Any) -> np.ndarray:
        """∇f(x) for every row of X: (n, n_features), or (n, n_outputs, n_features).

        Where k has a kink, its slope counts as 0: of ‖x − z‖ at x = z, of |xⱼ − zⱼ| at xⱼ = zⱼ.
        Every kernel with a formula has a gradient; Python functions in it have none.

        >>> import numpy as np
        >>> from mercer import KernelExpansion, Polynomial
        >>> f = KernelExpansion(Polynomial(2), np.array([[1.0, 1.0]]), np.array([1.0]))
        >>> f.gradient(np.array([[2.0, 3.0]]))
        array([[10., 10.]])
        """
        from mercer.gram.gradients import weighted_gradient

        slopes = weighted_gradient(self.kernel, X, self.points, self.coef.reshape(len(self), -1))
        return slopes if self.coef.ndim == 2 else slopes[:, 0]

    def gradient_outer_product(self, X: Any) -> np.ndarray:
        """(1/n) Σᵢ ∇f(xᵢ) ∇f(xᵢ)ᵀ, summed over the outputs: which directions f changes along.

        >>> import numpy as np
        >>> from mercer import KernelExpansion, Linear
        >>> f = KernelExpansion(Linear(), np.array([[3.0, 0.0]]), np.array([1.0]))
        >>> f.gradient_outer_product(np.zeros((5, 2)))
        array([[9., 0.],
               [0., 0.]])
        """
        from mercer.gram.gradients import outer_product

        return outer_product(self.kernel, X, self.points, self.coef.reshape(len(self), -1))

    def pruned(self, tolerance: float = 0.0) -> KernelExpansion:
        """Drop the points whose coefficients are all zero (or at most `tolerance`)."""
        size = np.abs(self.coef) if self.coef.ndim == 1 else np.abs(self.coef).max(axis=1)
        keep = np.flatnonzero(size > tolerance)
        return KernelExpansion(
            self.kernel, take(self.points, keep), self.coef[keep], self.intercept
        )

    @cached_property
    def squared_norm(self) -> Any:
        """‖w‖² = αᵀ K α, one number per output."""
        if not len(self.coef):
            return np.zeros(self.coef.shape[1:])[()]
        if self.kernel.takes_matrix:
            raise TypeError("‖w‖² needs K between the points; a precomputed kernel keeps no points")
        image = host(make_gram(self.kernel, self.points) @ self.coef)
        return np.einsum("i...,i...->...", self.coef, image)[()]

    def margins(self, X: Any, y: Any) -> np.ndarray:
        """y f(x) / ‖w‖ for labels ±1: the signed distance to the separating surface."""
        if self.coef.ndim != 1:
            raise ValueError("margins are defined for one output; take one column of coef")
        y = np.asarray(y)
        if not np.isin(y, (-1, 1)).all():
            raise ValueError("margins need labels -1 and 1")
        norm = float(np.sqrt(max(float(self.squared_norm), 0.0)))
        if norm == 0:
            raise ValueError("margins need w ≠ 0: the expansion is the zero function")
        return y * host(self(X)) / norm

    def primal(self) -> np.ndarray:
        """w = Σᵢ αᵢ φ(xᵢ), where φ is finite."""
        phi = self.kernel.features(host(self.points))
        return phi.T @ self.coef

    def formula(self, names: Any = None) -> str:
        """f written out, where φ consists of monomials: (x₁ + x₂)², or 2 x₁x₂ + 1.

        A polynomial kernel at a single point gives the power of a sum, anything else a sum of
        monomials. Kernels without such a φ raise.

        >>> import numpy as np
        >>> from mercer import KernelExpansion, Polynomial
        >>> f = KernelExpansion(Polynomial(2), np.array([[1.0, 1.0], [1.0, -1.0]]), [1.0, -1.0])
        >>> f.formula()
        '4 x₁x₂'
        >>> KernelExpansion(Polynomial(2), np.array([[1.0, 1.0]]), np.array([1.0])).formula()
        '(x₁ + x₂)²'
        """
        if self.coef.ndim != 1:
            raise ValueError("a formula has one output; take one column of coef")
        kernel = self.kernel
        degree, offset = (
            (int(kernel.degree), float(kernel.offset))
            if isinstance(kernel, Polynomial)
            else (1, 0.0)
        )
        if not isinstance(kernel, Linear | Polynomial) or offset < 0:
            raise TypeError(f"{kernel!r} has no monomials for features: no formula to write")
        points = np.atleast_2d(np.asarray(host(self.points), dtype=float))
        names = variables(points.shape[1]) if names is None else list(names)
        b = [number(self.intercept)] if self.intercept else []
        if degree > 1 and len(points) == 1:
            parts = [term(v, n) for v, n in zip(points[0], names, strict=True) if v]
            inner = summed([*parts, *([number(offset)] if offset else [])])
            return summed([term(float(self.coef[0]), f"({inner}){raised(degree)}"), *b])
        monomials = Monomials(points.shape[1], power_coefficients(degree, offset))
        w = self.primal() * monomials.weights
        small = 1e-12 * float(np.abs(w).max(initial=0.0))
        both = zip(w, monomials.powers(), strict=True)
        return summed([*(term(c, monomial(p, names)) for c, p in both if abs(c) > small), *b])

    def contributions(self, x: Any) -> np.ndarray:
        """αᵢ k(xᵢ, x) for each point: what one prediction is made of (b comes on top)."""
        if count(x) != 1:
            raise ValueError(f"contributions explain one example, got {count(x)}")
        values = host(make_gram(self.kernel, x, self.points).dense())[0]
        return self.coef * (values if self.coef.ndim == 1 else values[:, None])

    def __len__(self) -> int:
        return len(self.coef)

    def __repr__(self) -> str:
        outputs = 1 if self.coef.ndim == 1 else self.coef.shape[1]
        return f"KernelExpansion({self.kernel!r}, {len(self)} points, {outputs} output(s))"
