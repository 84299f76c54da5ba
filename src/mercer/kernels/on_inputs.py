"""Building blocks that act on the inputs: mapped rows, weighted rows, chosen columns."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from mercer._parameters import Declared, declare
from mercer.formula import nodes
from mercer.formula.inputs import Columns, FrozenArray, Matrix, Scale, Step, Warped
from mercer.formula.nodes import Formula, Input
from mercer.formula.simplify import simplify
from mercer.kernels.algebra import SameFeatures, latex_factor
from mercer.kernels.catalog import check_function, frozen, name_of, resolve
from mercer.kernels.claims import ZERO, Claim, closed_under, mapped
from mercer.kernels.core import ATOM, Kernel, bracket
from mercer.kernels.parameters import Part, is_number, literal


@frozen
class Warp(Kernel):
    """k(φ(x), φ(z)): any map of the inputs, applied once per row.

    Parameters
    ----------
    kernel : Kernel
        The kernel k inside.
    phi : callable, name of a registered function, matrix or vector
        Takes rows and gives rows. A matrix A stands for φ(x) = Ax, a vector s of scales, one per
        column, for φ(x) = (s₁x₁, s₂x₂, …).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear
    >>> Linear().warp(np.square)(np.array([[2.0]]), np.array([[3.0]]))
    array([[36.]])
    >>> Linear().warp([[1, 1], [0, 2]])([[1.0, 2.0]], [[3.0, 4.0]])
    array([[53.]])
    """

    kernel: Kernel
    phi: Any

    parameters: ClassVar[Declared] = declare(kernel=Part())

    def _check_together(self) -> None:
        if isinstance(self.phi, (np.ndarray, list, tuple)):
            self._set("phi", linear_map(self.phi))
        else:
            check_function(self.phi, "warp")

    def _inner_rows(self, X: Any) -> Any:
        return self._step(X)

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.phi, np.ndarray)

    @property
    def _step(self) -> Step:
        if not self._is_linear:
            return Warped(resolve(self.phi), name_of(self.phi))
        if self.phi.ndim == 2:
            return Matrix(FrozenArray.of(self.phi.T))
        with np.errstate(divide="ignore"):  # a column of scale 0 is divided by infinity
            return Scale(FrozenArray.of(1.0 / self.phi))

    def lower(self, rows: Input, path: str = "") -> Formula:
        return self.kernel.lower(rows.then(self._step), f"{path}kernel__")

    def claim(self, n_features: int | None = None) -> Claim:
        # φ may change the number of columns: a rule that counts them must not rely on ours.
        part = self.kernel.claim(len(self.phi) if self._is_linear else None)
        claim = closed_under(self, "kernel of mapped inputs", [part], "k(φ(x), φ(z))")
        if self._is_linear:
            claim = replace(claim, max_dims=None)  # the columns of Ax are counted
        if claim.rule == ZERO:
            return claim
        if claim.max_dims is None:
            # φ may map all rows to the few where k(x, x) = 0, if there are any.
            generic = claim.holds is True and _positive_diagonal(self.kernel)
            return replace(mapped(claim, f"{self._symbol}(x)"), generic=generic)
        return Claim(None, claim.rule, self, f"φ must map to at most {claim.max_dims} dimensions")

    @property
    def _symbol(self) -> str:
        name = self.phi if isinstance(self.phi, str) else getattr(self.phi, "__name__", "")
        name = "A" if self._is_linear else name
        return name if name.isidentifier() else "φ"

    def features(self, X: Any) -> np.ndarray:
        return self.kernel.features(self._step(X))

    def n_dims(self, n_features: int) -> int | float:
        rows = self._step(np.zeros((1, n_features)))
        return self.kernel.n_dims(rows.shape[1])

    def latex(self, x: str = "x", z: str = "z") -> str:
        if self._is_linear:
            return self.kernel.latex(f"A {x}", f"A {z}")
        return self.kernel.latex(rf"\varphi({x})", rf"\varphi({z})")

    def __repr__(self) -> str:
        phi = literal(self.phi) if self._is_linear else name_of(self.phi)
        return f"{bracket(self.kernel, ATOM)}.warp({phi})"


def linear_map(given: Any) -> np.ndarray:
    """A matrix, or one scale per column, in double precision and read-only."""
    A = np.array(given)
    if A.dtype.kind not in "biuf" or A.ndim not in (1, 2) or not A.size:
        raise ValueError(
            f"a linear map is a matrix of real numbers or one scale per column, got {A.dtype} of "
            f"shape {A.shape}"
        )
    A = A.astype(np.float64)
    if not np.isfinite(A).all():
        raise ValueError("a linear map has finite entries; these hold NaN or infinity")
    A.setflags(write=False)
    return A


def root_of_metric(M: Any) -> np.ndarray:
    """M^½, symmetric, for a positive semi-definite M; per column where M is a vector of weights."""
    M = linear_map(M)
    square = M.ndim == 1 or M.shape[0] == M.shape[1]
    if not square or np.abs(M - M.T).max() > 1e-10 * np.abs(M).max():
        raise ValueError(f"a metric is a symmetric matrix or one weight per column: {M!r:.200}")
    values, vectors = (M, None) if M.ndim == 1 else np.linalg.eigh((M + M.T) / 2)
    if values.min() < -1e-12 * np.abs(values).max():
        raise ValueError(f"a metric has no negative directions; the least is {values.min():g}")
    roots: np.ndarray = np.sqrt(np.maximum(values, 0.0))
    return roots if vectors is None else (vectors * roots) @ vectors.T


def _positive_diagonal(kernel: Kernel) -> bool:
    """Whether k(x, x) is one positive number, by the structure of its formula."""
    if kernel.is_opaque:
        return False
    diagonal = simplify(nodes.at_diagonal(kernel.with_widths().formula()))
    return diagonal.op == "const" and bool(diagonal.value > 0)


@frozen
class Reweight(SameFeatures):
    """f(x) k(x, z) f(z) for any function f.

    Parameters
    ----------
    kernel : Kernel
        The kernel k inside.
    f : callable or name of a registered function
        Gives a number per row.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Constant
    >>> Constant().reweight(lambda X: np.asarray(X)[:, 0])([[2.0]], [[3.0]])
    array([[6.]])
    """

    kernel: Kernel
    f: Any

    parameters: ClassVar[Declared] = declare(kernel=Part())

    def _check_together(self) -> None:
        check_function(self.f, "reweight")

    def lower(self, rows: Input, path: str = "") -> Formula:
        f = resolve(self.f)
        weights = nodes.row_function("x", f, rows) * nodes.row_function("z", f, rows)
        return self.kernel.lower(rows, f"{path}kernel__") * weights

    def claim(self, n_features: int | None = None) -> Claim:
        part = self.kernel.claim(n_features)
        rule = "f(x) k(x, z) f(z)"
        if self.takes == "vectors" and (wrong := self._miscounted(n_features or 2)):
            return Claim(None, rule, self, wrong)
        claim = closed_under(self, rule, [part], "features f(x) φ(x)")
        return replace(claim, generic=False)  # f may be zero

    def _miscounted(self, columns: int) -> str:
        """What is wrong with what f gives for three rows; empty where f cannot be tried on them."""
        with np.errstate(all="ignore"), suppress(Exception):
            count = np.size(resolve(self.f)(np.arange(3.0 * columns).reshape(3, columns) / 7))
            return "" if count == 3 else f"f gave {count} numbers for 3 rows, not one for each"
        return ""

    def features(self, X: Any) -> np.ndarray:
        phi = self.kernel.features(X)
        return phi * np.asarray(resolve(self.f)(X)).reshape(-1, 1).astype(phi.dtype)

    def latex(self, x: str = "x", z: str = "z") -> str:
        return rf"f({x}) \, {latex_factor(self.kernel, x, z)} \, f({z})"

    def __repr__(self) -> str:
        return f"{bracket(self.kernel, ATOM)}.reweight({name_of(self.f)})"


#: Characters that LaTeX reads as its own: a name of a column is text, not a command.
_TEX = re.compile(r"[\\{}$&#%_^~]")


def _tex(found: re.Match[str]) -> str:
    return {"\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim "}.get(found[0], f"\\{found[0]}")


@frozen
class On(Kernel):
    """k on some columns of the data, by index or by name.

    Parameters
    ----------
    kernel : Kernel
        The kernel k inside.
    columns : int, str, slice or list of such
        Which columns k sees.

    Examples
    --------
    >>> from mercer import Linear
    >>> Linear().on([1])([[5.0, 2.0]], [[7.0, 3.0]])
    array([[6.]])
    """

    kernel: Kernel
    columns: Any
    picks_columns = True

    parameters: ClassVar[Declared] = declare(kernel=Part())

    def _check_together(self) -> None:
        columns = self.columns
        single = isinstance(columns, str) or is_number(columns)
        if not single and not hasattr(columns, "__iter__"):
            raise TypeError(f"on(…) takes an index, a name or a list of them, not {columns!r:.80}")
        listed = [columns] if single else list(columns)
        if not listed:
            raise ValueError("on([]) selects no column")
        for name in listed:
            whole = is_number(name) and math.isfinite(name) and name == int(name)
            if not isinstance(name, str) and not whole:
                raise TypeError(f"a column is an index or a name, got {name!r}")
        listed = [name if isinstance(name, str) else int(name) for name in listed]
        self._set("columns", listed[0] if single else tuple(listed))

    def _inner_rows(self, X: Any) -> Any:
        return self._step(X)

    @property
    def _step(self) -> Columns:
        single = not isinstance(self.columns, tuple)
        return Columns((self.columns,) if single else self.columns, single)

    def lower(self, rows: Input, path: str = "") -> Formula:
        return self.kernel.lower(rows.then(self._step), f"{path}kernel__")

    def claim(self, n_features: int | None = None) -> Claim:
        part = self.kernel.claim(len(self._step.names))
        claim = closed_under(self, "kernel on some columns", [part], "a projection of the input")
        # The columns are counted: data of any width will do.
        return replace(mapped(claim, f"x[{self._step.shown}]"), max_dims=None)

    def features(self, X: Any) -> np.ndarray:
        return self.kernel.features(self._step(X))

    def n_dims(self, n_features: int) -> int | float:
        return self.kernel.n_dims(len(self._step.names))

    def feature_names(self, names: Sequence[str]) -> list[str]:
        chosen = [names[c] if isinstance(c, int) else c for c in self._step.names]
        return self.kernel.feature_names(chosen)

    def latex(self, x: str = "x", z: str = "z") -> str:
        index = ",".join(_TEX.sub(_tex, str(c)) for c in self._step.names)
        return self.kernel.latex(f"{x}_{{{index}}}", f"{z}_{{{index}}}")

    def __repr__(self) -> str:
        return f"{bracket(self.kernel, ATOM)}.on({literal(self.columns)})"
