"""Kernel: what k(x, z) is. An immutable value with an algebra; it knows no device, no learner."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from mercer.formula import nodes
from mercer.formula.inputs import FrozenArray
from mercer.formula.nodes import ROOT, Formula, Input
from mercer.kernels.claims import Claim

if TYPE_CHECKING:
    from mercer.gram.operator import Gram

#: How tightly an expression binds, for parentheses: sum < product < power < call.
SUM, PRODUCT, POWER, ATOM = range(4)


class Kernel:
    """Base of all kernels: parameters, identity, the algebra, and what can be asked of any k."""

    binding: ClassVar[int] = ATOM
    #: False for a black box that may give k(x, z) ≠ k(z, x): no triangle is saved on it.
    symmetric: ClassVar[bool] = True

    # --- what a kernel says of itself -----------------------------------------------------

    def lower(self, rows: Input, path: str = "") -> Formula:
        """The formula of k over `rows`; parameters are named under `path`."""
        raise NotImplementedError

    def claim(self, n_features: int | None = None) -> Claim:
        """What is known about positive semi-definiteness, by rules alone."""
        return Claim(None, "no rule", self, "nothing is known about this kernel")

    def features(self, X: Any) -> np.ndarray:
        """φ(x) for each row, with φ(x)·φ(z) = k(x, z), where a finite φ exists."""
        raise _no_finite_map(self)

    def n_dims(self, n_features: int) -> int | float:
        """The length of φ: an exact integer, or infinity."""
        return math.inf

    def feature_names(self, names: Sequence[str]) -> list[str]:
        """A name for each coordinate of φ."""
        return [f"phi{i}" for i in range(int(self.n_dims(len(names))))]

    def latex(self, x: str = "x", z: str = "z") -> str:
        """k(x, z) as LaTeX."""
        return rf"\mathrm{{{type(self).__name__}}}({x}, {z})"

    def children(self) -> tuple[tuple[str, Kernel], ...]:
        return tuple((n, v) for n, v in self._fields() if isinstance(v, Kernel))

    # --- what can be asked of any kernel --------------------------------------------------

    def formula(self) -> Formula:
        """k as an expression over pair statistics; opaque kernels have none."""
        if self.is_opaque:
            raise TypeError(f"{self!r} holds an opaque kernel: it gives blocks, not a formula")
        return self.lower(ROOT)

    @property
    def is_opaque(self) -> bool:
        return any(child.is_opaque for _, child in self.children())

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        """The dense block of k(x, z) for all rows x of X and z of Z (X itself by default)."""
        return self.gram(X, Z).dense()

    def gram(self, X: Any, Z: Any = None) -> Gram:
        """The lazy Gram operator: nothing is computed until asked for."""
        from mercer.gram.device import make_gram

        return make_gram(self, X, Z)

    def diag(self, X: Any) -> np.ndarray:
        """k(x, x) for every row, without the matrix."""
        from mercer.gram.functions import diagonal

        return diagonal(self, X)

    def distance(self, X: Any, Z: Any = None) -> np.ndarray:
        """‖φ(x) − φ(z)‖ = √(k(x,x) − 2k(x,z) + k(z,z)).

        >>> from mercer import Linear
        >>> Linear().distance([[0.0, 0.0]], [[3.0, 4.0]])
        array([[5.]])
        """
        from mercer.gram.functions import distance

        return distance(self, X, Z)

    def gradient(self, X: Any, Z: Any = None) -> dict[str, np.ndarray]:
        """∂k(x, z)/∂p for each scalar parameter p, named as in `get_params`."""
        from mercer.gram.functions import gradient

        return gradient(self, X, Z)

    def feature_map(self, n_features: int) -> Any:
        """An explicit φ as a scikit-learn transformer, where a finite one exists."""
        if self.n_dims(n_features) == math.inf:
            raise _no_finite_map(self)
        from mercer.maps import ExplicitMap

        return ExplicitMap(self).fit(np.zeros((1, n_features)))

    def prove(self, n_features: int | None = None, data: Any = None) -> Any:
        """Proof, Counterexample or Undecided: see `mercer.prove`."""
        from mercer.proof import prove

        return prove(self, data=data, n_features=n_features)

    def explain(self, X: Any, Z: Any = None) -> Any:
        """Tree, formula, plan, flops, bytes, and the source an engine generated."""
        from mercer.gram.explain import explain

        return explain(self, X, Z)

    def stationary(self) -> bool:
        """Whether k(x, z) depends on x − z only, by the structure of its formula."""
        from mercer.formula.shape import is_stationary

        return not self.is_opaque and is_stationary(self.formula())

    def radial(self) -> bool:
        """Whether k(x, z) depends on ‖x − z‖ only, by the structure of its formula."""
        from mercer.formula.shape import is_radial

        return not self.is_opaque and is_radial(self.formula())

    # --- building blocks ------------------------------------------------------------------

    def __add__(self, other: Kernel | float) -> Kernel:
        from mercer.kernels.algebra import Sum
        from mercer.kernels.dots import Constant

        if isinstance(other, Kernel):
            return Sum(self, other)
        return Sum(self, Constant(other)) if _is_number(other) else NotImplemented

    def __radd__(self, other: float) -> Kernel:
        from mercer.kernels.algebra import Sum
        from mercer.kernels.dots import Constant

        return Sum(Constant(other), self) if _is_number(other) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        from mercer.kernels.algebra import Product, Scaled

        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(other, self) if _is_number(other) else NotImplemented

    def __rmul__(self, other: float) -> Kernel:
        return self * other

    def __neg__(self) -> Kernel:
        return self * -1.0

    def __sub__(self, other: Kernel | float) -> Kernel:
        return self + (-other)

    def __rsub__(self, other: float) -> Kernel:
        return other + (-self)

    def __truediv__(self, other: float) -> Kernel:
        if not _is_number(other):
            return NotImplemented
        if other == 0:
            raise ValueError(f"{self!r} cannot be divided by 0")
        return self * (1.0 / other)

    def __pow__(self, degree: int) -> Kernel:
        from mercer.kernels.algebra import Power

        return Power(self, degree)

    def polynomial(self, coefficients: Sequence[float]) -> Kernel:
        """q(k) = c₀ + c₁k + c₂k² + …"""
        from mercer.kernels.algebra import PolynomialOf

        return PolynomialOf(self, coefficients)  # type: ignore[arg-type]

    def exp(self) -> Kernel:
        """exp(k)."""
        from mercer.kernels.algebra import Exp

        return Exp(self)

    def warp(self, phi: Any) -> Kernel:
        """k(φ(x), φ(z)); φ takes a set of rows (a function, a transformer, a registered name)."""
        from mercer.kernels.on_inputs import Warp

        return Warp(self, phi)

    def reweight(self, f: Any) -> Kernel:
        """f(x) k(x, z) f(z); f takes a set of rows and gives one number for each."""
        from mercer.kernels.on_inputs import Reweight

        return Reweight(self, f)

    def normalized(self) -> Kernel:
        """k(x, z) / √(k(x, x) k(z, z))."""
        from mercer.kernels.algebra import Normalized

        return Normalized(self)

    def on(self, columns: Any) -> Kernel:
        """The same kernel on some columns: an index, a name, or a list of them."""
        from mercer.kernels.on_inputs import On

        return On(self, columns)

    # --- identity, parameters, text -------------------------------------------------------

    # NumPy must leave `np.float64(2) * k` to us.
    __array_ufunc__ = None

    def _fields(self) -> list[tuple[str, Any]]:
        return [(f.name, getattr(self, f.name)) for f in dataclasses.fields(self)]  # type: ignore[arg-type]

    def _key(self) -> tuple[Any, ...]:
        values = (FrozenArray.of(v) if isinstance(v, np.ndarray) else v for _, v in self._fields())
        # repr tells 1 from 1.0 and 0.0 from -0.0 nowhere that matters: values are normalised.
        return (type(self), *values)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Kernel) and self._key() == other._key())

    def __hash__(self) -> int:
        # Kept, because formulas that hold kernels are looked up often, and to the very end.
        if "_hash" not in self.__dict__:
            self._set("_hash", hash(self._key()))
        return self.__dict__["_hash"]  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        # The hash of a text differs from process to process.
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that arrays come back read-only.
        return type(self), tuple(value for _, value in self._fields())

    def __sklearn_clone__(self) -> Self:
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; those of sub-kernels as ``left__sigma``."""
        params = dict(self._fields())
        if deep:
            for name, child in self.children():
                params |= {f"{name}__{k}": v for k, v in child.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Kernel:
        """A new kernel with these parameters; kernels never change."""
        if not params:
            return self
        own: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        known = dict(self._fields())
        for name, value in params.items():
            head, _, rest = name.partition("__")
            if head not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {head!r}; it has {sorted(known)}"
                )
            if rest:
                nested.setdefault(head, {})[rest] = value
            else:
                own[head] = value
        for head, inner in nested.items():
            child = own.get(head, known[head])
            if not isinstance(child, Kernel):
                raise ValueError(f"the parameter {head!r} of {type(self).__name__} has no parts")
            own[head] = child.set_params(**inner)
        return dataclasses.replace(self, **own)  # type: ignore[type-var]

    def __repr__(self) -> str:
        shown = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.default is dataclasses.MISSING or not _same(value, field.default):
                shown.append(f"{field.name}={_literal(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_latex_(self) -> str:
        return f"$k(x, z) = {self.latex()}$"

    def _named(self, path: str, name: str) -> Formula:
        """This kernel's parameter as a node of the formula."""
        return nodes.param(f"{path}{name}", getattr(self, name))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _make_positive(self, *names: str) -> None:
        for name in names:
            self._make_float(name)
            if not getattr(self, name) > 0:
                raise ValueError(
                    f"{type(self).__name__}: {name} must be positive, got {getattr(self, name)!r}"
                )

    def _make_float(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if not _is_number(value):
                raise TypeError(
                    f"{type(self).__name__}: {name} must be a number, got {type(value).__name__}"
                )
            value = float(value)
            if not math.isfinite(value):
                raise ValueError(f"{type(self).__name__}: {name} must be finite, got {value}")
            self._set(name, value)

    def _make_integer(self, name: str, least: int, most: int | None = None) -> None:
        value = getattr(self, name)
        if not _is_number(value):
            raise TypeError(
                f"{type(self).__name__}: {name} must be an integer, got {type(value).__name__}"
            )
        whole = math.isfinite(value) and value == int(value)
        if not whole or value < least or (most is not None and value > most):
            span = f"an integer ≥ {least}" if most is None else f"one of {least}, …, {most}"
            raise ValueError(f"{type(self).__name__}: {name} must be {span}, got {value!r}")
        self._set(name, int(value))


def _is_number(value: Any) -> bool:
    # NumPy registers its real scalars as Real, and its complex ones not.
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False
    return bool(a == b)


def _literal(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    if isinstance(value, tuple):
        return repr(list(value))
    if callable(value):
        return getattr(value, "__name__", repr(value))
    return repr(value)


def _no_finite_map(kernel: Kernel) -> ValueError:
    return ValueError(
        f"{kernel!r} has no finite feature map. Approximate ones: mercer.maps.NystromMap (any "
        "kernel), RandomFourierMap (Gaussian, Laplacian, Matérn), TaylorGaussianMap, "
        "TensorSketchMap (polynomials)."
    )


def bracket(kernel: Kernel, binding: int) -> str:
    """The text of a part, in parentheses where it binds less tightly than its place asks."""
    text = repr(kernel)
    return f"({text})" if kernel.binding < binding else text
