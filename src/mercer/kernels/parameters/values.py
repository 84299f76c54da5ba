"""Parameters: what makes two kernels equal, how their parameters are read, changed and written."""

from __future__ import annotations

import dataclasses
import numbers
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from mercer._parameters import Check, Count, checked
from mercer._suggest import nearest
from mercer.formula import nodes
from mercer.formula.inputs import FrozenArray
from mercer.formula.nodes import Formula
from mercer.kernels.parameters.widths import WORDS, as_width

if TYPE_CHECKING:
    from mercer.kernels.core import Kernel


@lru_cache(maxsize=512)
def _names(cls: Any) -> tuple[str, ...]:
    """Of the fields of a dataclass."""
    return tuple(f.name for f in dataclasses.fields(cls))


class Parameters:
    """A frozen dataclass as a value: identity by its fields, scikit-learn's names, text."""

    # NumPy must leave `np.float64(2) * k` to the kernel.
    __array_ufunc__ = None
    #: What each parameter may be. A parameter without a declaration is kept as it is given.
    parameters: ClassVar[Mapping[str, Check]] = {}
    #: Other names of parameters, with the function that makes one of the other; words stay words.
    #: Several parameters stand with blanks between them.
    spellings: ClassVar[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {}

    def children(self) -> tuple[tuple[str, Kernel], ...]:
        """The kernels among the parameters, by name."""
        if "_children" not in self.__dict__:  # kept, because it is asked for often
            cls: Any = type(self)
            every = ((name, self.__dict__[name]) for name in _names(cls))
            self.__dict__["_children"] = tuple(f for f in every if isinstance(f[1], Parameters))
        return self.__dict__["_children"]  # type: ignore[no-any-return]

    def _fields(self) -> list[tuple[str, Any]]:
        cls: Any = type(self)
        return [(name, getattr(self, name)) for name in _names(cls)]

    def _key(self) -> tuple[Any, ...]:
        """The class and the values, arrays by their bytes."""
        cls: Any = type(self)
        values = [self.__dict__[name] for name in _names(cls)]
        return (cls, *(FrozenArray.of(v) if isinstance(v, np.ndarray) else v for v in values))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Parameters) and self._key() == other._key())

    def __hash__(self) -> int:
        # Kept, because formulas that hold kernels are looked up often.
        if "_hash" not in self.__dict__:
            self.__dict__["_hash"] = hash(self._key())
        return self.__dict__["_hash"]  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        # The hash of a text differs from process to process.
        kept = ("_hash", "_children")
        return {name: value for name, value in self.__dict__.items() if name not in kept}

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that arrays come back read-only.
        return type(self), tuple(value for _, value in self._fields())

    def __sklearn_clone__(self) -> Self:
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; those of parts by their path, as ``left__sigma``."""
        params = dict(self._fields())
        if deep and self.children():
            for path, part in self.parts():
                params |= {f"{path}{name}": value for name, value in part._fields()}
        return params

    def short_params(self) -> dict[str, Any]:
        """The numbers of parts by short names, which `set_params` takes beside the full paths.

        The second Gaussian of a composed kernel, read from the left, is ``gaussian_2``.

        >>> from mercer import Gaussian, Linear
        >>> k = Gaussian(2.0) + Linear() * Gaussian(3.0)
        >>> k.short_params()
        {'gaussian__sigma': 2.0, 'gaussian_2__sigma': 3.0}
        >>> k.set_params(gaussian_2__sigma=4.0)
        Gaussian(sigma=2.0) + Linear() * Gaussian(sigma=4.0)
        """
        if not self.children():
            return {}
        parts = dict(self.parts())
        found: dict[str, Any] = {}
        for short, path in self.short_names().items():
            own = (f for f in parts[path]._fields() if not isinstance(f[1], Parameters))
            found |= {f"{short}__{name}": value for name, value in own}
        return found

    def parts(self, path: str = "") -> Iterator[tuple[str, Parameters]]:
        """This kernel and all its parts, from the left, each with the prefix of its parameters."""
        yield path, self
        for name, child in self.children():
            yield from child.parts(f"{path}{name}__")

    def short_names(self) -> dict[str, str]:
        """`gaussian`, `gaussian_2`, …: short names of parts, and the prefixes they stand for."""
        seen: Counter[str] = Counter()
        names = {}
        for path, part in self.parts():
            name = grammar_name(type(part))
            seen[name] += 1
            names[name if seen[name] == 1 else f"{name}_{seen[name]}"] = path
        return names

    @classmethod
    def by_spelling(cls, name: str, value: Any) -> dict[str, Any]:
        """The parameters that a name of another library stands for, or this one itself.

        One may stand for several: a shape is a height and a width.
        """
        if name not in cls.spellings:
            return {name: value}
        ours, convert = cls.spellings[name]
        if isinstance(value, str) and value in WORDS:
            return {ours: value}
        names, values = ours.split(), convert(value)
        if len(names) == 1:
            return {ours: values}
        if len(values) != len(names):
            raise ValueError(f"{cls.__name__}: {name} is ({', '.join(names)}), got {value!r}")
        return dict(zip(names, values, strict=True))

    def set_params(self, **params: Any) -> Self:
        """A new kernel with these parameters; kernels never change."""
        if not params:
            return self
        own: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        known = dict(self._fields())
        short = {} if all(p.partition("__")[0] in known for p in params) else self.short_names()
        for name, value in params.items():
            head, _, rest = name.partition("__")
            if head not in known and head in short:
                head, _, rest = f"{short[head]}{rest}".removesuffix("__").partition("__")
            if head not in known and (rest or head not in self.spellings):
                raise ValueError(self._no_parameter(head, short))
            if rest:
                nested.setdefault(head, {})[rest] = value
            else:
                own |= {head: value} if head in known else self.by_spelling(head, value)
        for head, inner in nested.items():
            child = own.get(head, known[head])
            if not isinstance(child, Parameters):
                raise ValueError(f"the parameter {head!r} of {type(self).__name__} has no parts")
            own[head] = child.set_params(**inner)
        return dataclasses.replace(self, **own)  # type: ignore[type-var]

    def _no_parameter(self, name: str, short: Iterable[str]) -> str:
        known, parts = sorted(dict(self._fields())), list(short)
        near = nearest(name, known, 0.7)
        return (
            f"{type(self).__name__} has no parameter {name!r}; it has {known}"
            + (f", and its parts are {', '.join(parts)}" if len(parts) > 1 else "")
            + (f". Did you mean {near!r}?" if near else "")
        )

    def __repr__(self) -> str:
        shown = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.default is dataclasses.MISSING or not _same(value, field.default):
                shown.append(f"{field.name}={literal(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def _named(self, path: str, name: str) -> Formula:
        """This kernel's parameter as a node of the formula."""
        return nodes.param(f"{path}{name}", self.number(name))

    def number(self, name: str) -> float:
        """This kernel's parameter, which data must have chosen by now."""
        value = getattr(self, name)
        if isinstance(value, str):
            raise ValueError(
                f"{self!r} has no numbers yet: {name}={value!r} is chosen by the data. "
                "kernel.fitted(X) gives the kernel with numbers; the fit of a learner does that "
                "by itself and keeps it as kernel_"
            )
        return value  # type: ignore[no-any-return]

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    # --- declared parameters ---------------------------------------------------------------

    def __post_init__(self) -> None:
        """Every declared parameter is checked and converted; then what depends on several."""
        for name, check in self.parameters.items():
            value = self.__dict__[name]
            try:
                self.__dict__[name] = check(value)
            except (TypeError, ValueError):
                why = ""
                if isinstance(value, str) and value in WORDS:
                    widths = [name for name, each in self.parameters.items() if as_width(each)]
                    only = f"only its {' and '.join(widths)}" if widths else ""
                    why = f"data choose {only or 'no parameter of this kernel'}"
                checked(type(self).__name__, name, value, check, why)
        self._check_together()

    def _check_together(self) -> None:
        """What no declaration of a single parameter can say."""

    def _tex(self, name: str, symbol: str, of: Callable[[Any], Any] = lambda value: value) -> str:
        """A number in LaTeX, `of` the parameter; the symbol where data is still to choose it."""
        value = getattr(self, name)
        return symbol if isinstance(value, str) else f"{of(value):g}"

    # --- widths the data chooses -----------------------------------------------------------

    @property
    def words(self) -> dict[str, str]:
        """The parameters that data is still to choose, by path, each with its word.

        >>> from mercer import Gaussian, Linear
        >>> (2 * Gaussian("scale") + Linear()).words
        {'left__kernel__sigma': 'scale'}
        """
        values = self.__dict__
        found = {
            name: values[name]
            for name, check in self.parameters.items()
            if isinstance(values[name], str) and as_width(check)
        }
        for name, child in self.children():
            found |= {f"{name}__{path}": word for path, word in child.words.items()}
        return found

    def fitted(self, X: Any, sample_weight: Any = None) -> Self:
        """The same kernel with numbers for "scale" and "median", chosen by these rows.

        Parts see the rows as they get them, after `.on` and `.warp`. What each word means is in the
        table of `docs/kernels.md`. A row of weight 2 counts as two of it, one of weight 0 as none.

        >>> from mercer import Gaussian
        >>> Gaussian("scale").fitted([[0.0, 0.0], [4.0, 4.0]])
        Gaussian(sigma=2.0)
        """

        words = self.words
        if not words:
            return self
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        rows = self._inner_rows(X)
        changes: dict[str, Any] = {n: child.fitted(rows, weight) for n, child in self.children()}
        for name in filter(self.parameters.__contains__, words):
            width: Any = as_width(self.parameters[name])
            changes[name] = width.chosen(words[name], self, rows, weight)
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def with_widths(self, number: float = 1.0) -> Self:
        """The same kernel with one number for all words: for questions about its structure."""
        words = self.words
        if not words:
            return self
        changes: dict[str, Any] = {n: child.with_widths(number) for n, child in self.children()}
        for name in filter(self.parameters.__contains__, words):
            width: Any = as_width(self.parameters[name])
            changes[name] = width.stand_in(number)
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def _inner_rows(self, X: Any) -> Any:
        """The rows as the parameters and parts of this kernel get them."""
        return X


def grammar_name(cls: type) -> str:
    """`squared_distance` for the class `SquaredDistance`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()


#: The degree of a power of a kernel.
WHOLE_POWER = Count(1, floats=True, why="a fractional power of a kernel need not be one")


class Part:
    """The declaration of a parameter that is a kernel."""

    words = "a Kernel"

    def __call__(self, value: Any) -> Any:
        if not isinstance(value, Parameters):
            raise TypeError
        return value

    def bad(self) -> Iterable[Any]:
        return (3, None, "linear()", [1.0])


def is_number(value: Any) -> bool:
    """Whether it is a real number, a truth value excepted."""
    # NumPy registers its real scalars as Real, and its complex ones not.
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False
    return bool(a == b)


def literal(value: Any) -> str:
    """A parameter as an expression writes it."""
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    if isinstance(value, tuple):
        return repr(list(value))
    if callable(value):
        return getattr(value, "__name__", repr(value))
    return repr(value)
