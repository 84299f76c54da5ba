"""θ ↦ k_θ for estimators: nested kernel parameters that really arrive.

scikit-learn sets ``kernel__left__sigma`` by calling ``kernel.set_params(left__sigma=...)`` and
throws the answer away, trusting that the kernel changed in place. Kernels are immutable: their
`set_params` *returns* the changed kernel. Without the mixin here, a grid search over σ would fit
the same σ every time and say nothing.

Nothing in this file imports scikit-learn, so that `import mercer` stays light.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import wraps
from inspect import signature
from typing import Any, Self, TypeVar, dataclass_transform

from mercer._deprecated import ENDS, modern, warn_of
from mercer._notices import warn
from mercer._parameters import Anything, Check, Count, Either, Maybe, Number, OneOf
from mercer._suggest import ARGUMENTS_HERE, nearest, suggest
from mercer.kernels import Kernel, as_kernel
from mercer.kernels.catalog import KERNELS
from mercer.kernels.grammar import BESIDE
from mercer.kernels.parameters import WORDS, is_number

C = TypeVar("C", bound=type)
#: What a number in the place of the kernel may have been meant for.
_FIRST = ("n_components", "n_clusters", "n_neighbors", "bandwidth", "C", "alpha")
ANYTHING = Anything()


def _nested(value: Any) -> Any:
    """`value` in the form whose parameters have names: an expression or a class is a kernel."""
    return as_kernel(value) if isinstance(value, (str, type)) else value


def _suggesting(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor that says what an argument is called that it does not know."""
    known = [name for name in signature(init).parameters if name != "self"]

    @wraps(init)
    def checked(self: Any, *values: Any, **named: Any) -> None:
        former = getattr(self, "former_spellings", {})
        if not former.keys().isdisjoint((*known[: len(values)], *named)):
            by_position = modern(type(self), dict(zip(known, values, strict=False)))
            values = (*by_position.values(), *values[len(known) :])
            named = modern(type(self), named)
        numbers = {n: named.pop(n) for n in BESIDE if n in named and _is_former(n, known)}
        for name in named:
            if name not in known:
                who = type(self).__name__
                raise TypeError(f"{who} has no parameter {name!r}.{_advice(name, known)}")
        init(self, *values, **named)
        if numbers:
            _set_former(self, numbers)

    return checked


#: What no parameter ever was.
_NEVER: Any = object()


def parameter(check: Check, *, default: Any, name_was: str = "", was: Any = _NEVER) -> Any:
    """The default of a parameter, and what it may be, which `fit` checks.

    `name_was` is its former name, and `was` the value that is spelled "auto" now: both still work.
    """
    return field(default=default, metadata={"check": check, "name_was": name_was, "was": was})


@dataclass_transform(eq_default=False, field_specifiers=(field, parameter))
def estimator(cls: C) -> C:
    """Make the annotated fields of an estimator its parameters, kept as they are given.

    That is all that scikit-learn lets a constructor do. What is no `parameter` may be anything.

    >>> @estimator
    ... class Halved:
    ...     factor: float = 0.5
    >>> Halved(factr=2)
    Traceback (most recent call last):
    TypeError: Halved has no parameter 'factr'. Did you mean 'factor'?
    """
    declared = vars(cls).get("_parameters", {})
    dataclass(eq=False, repr=False)(cls)
    given: Any = cls
    checks = {f.name: f.metadata.get("check", ANYTHING) for f in fields(given) if f.init}
    given._parameters = checks | declared
    former = {f.metadata["name_was"]: f.name for f in fields(given) if f.metadata.get("name_was")}
    values = {f.name: f.metadata.get("was", _NEVER) for f in fields(given)}
    spelled = {name: (was, "auto") for name, was in values.items() if was is not _NEVER}
    if former or spelled:
        given.former_spellings = former | spelled
        given.set_params = _set_modern(given.set_params)
        for name, now in former.items():
            setattr(given, name, _former_name(name, now))
    given.__init__ = _suggesting(given.__init__)
    return cls


def _set_modern(set_params: Callable[..., Any]) -> Callable[..., Any]:
    """A `set_params` that takes former names and values, too."""

    @wraps(set_params)
    def checked(self: Any, **params: Any) -> Any:
        return set_params(self, **modern(type(self), params))

    return checked


def _former_name(name: str, now: str) -> property:
    """The value of a parameter under its former name."""

    def read(self: Any) -> Any:
        warn_of(f"{type(self).__name__}.{name}", now)
        return getattr(self, now)

    return property(read)


@estimator
class NumbersBeside:
    """The numbers that some learners take beside the name of a kernel, as in scikit-learn."""

    _: KW_ONLY
    gamma: Any = parameter(Maybe(Either(Number(), OneOf(*WORDS))), default=None)
    degree: Any = parameter(Maybe(Count(floats=True)), default=None)
    coef0: Any = parameter(Maybe(Number()), default=None)


def _is_former(name: str, known: Container[str]) -> bool:
    """Whether an argument is a number of the kernel that a learner took beside its name."""
    return name in BESIDE and "kernel" in known and name not in known


def _set_former(learner: Any, numbers: dict[str, Any]) -> None:
    """Set numbers of the kernel that were given beside its name, with a warning."""
    learner.kernel = as_kernel(learner.kernel, **numbers)
    who, written = type(learner).__name__, ", ".join(f"{n}={v!r}" for n, v in numbers.items())
    warn(
        f"{who}({written}) is gone in version {ENDS}: the numbers of a kernel stand in the kernel, "
        f"here kernel={learner.kernel!r}, or 'rbf(gamma=0.5)'",
        FutureWarning,
    )


def _advice(name: str, known: list[str]) -> str:
    here = next((n for n in ARGUMENTS_HERE.get(name, ()) if n in known), None)
    if here is not None:
        return f" Did you mean {here!r}?"
    owners = [cls.__name__ for cls in KERNELS.values() if name in cls.parameters]
    if owners and "kernel" in known and nearest(name, known, 0.8) is None:
        owner = "Gaussian" if "Gaussian" in owners else owners[0]
        return f" It is one of the kernel's: kernel={owner}({name}=…), or kernel__{name}."
    return suggest(name, known)


class KernelParams:
    """A mixin, put before `BaseEstimator`: `set_params` keeps what a nested `set_params` returns.

    An estimator's own `set_params` returns itself, so one rule serves both: bind the answer.
    An expression string as ``kernel`` shows and takes nested parameters like the kernel it means.

    >>> from mercer.maps import NystromMap
    >>> NystromMap("gaussian(1) + linear()").set_params(kernel__left__sigma=3.0).kernel
    Gaussian(sigma=3.0) + Linear()
    """

    #: Parameters of the estimator that stand beside the bare name of a kernel.
    _beside: tuple[str, ...] = BESIDE
    kernel: Any
    # Models from files that were written before there were such parameters have none of their own.
    gamma: Any = None
    degree: Any = None
    coef0: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            # Not as an assignment, which type checkers would take for a signature of its own.
            type.__setattr__(cls, "__init__", _suggesting(cls.__init__))

    def _given_kernel(self) -> Kernel:
        """The kernel as it was given, its widths still to be chosen by the data."""
        number = not isinstance(self.kernel, Kernel) and is_number(self.kernel)
        for meant in _FIRST if number else ():
            if hasattr(self, meant):
                raise TypeError(
                    f"the first argument of {type(self).__name__} is the kernel, got "
                    f"{self.kernel!r}: {meant}={self.kernel!r}?"
                )
        return as_kernel(self.kernel, **{name: getattr(self, name, None) for name in self._beside})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params: dict[str, Any] = super().get_params(deep=deep)  # type: ignore[misc]
        kernel = params.get("kernel")
        if not deep or kernel is None:
            return params
        try:
            kernel = _nested(kernel)
        except (ValueError, TypeError):
            return params  # a wrong expression is reported by fit, not by looking at it
        if isinstance(kernel, Kernel):
            named = kernel.short_params() | kernel.get_params()
            params |= {f"kernel__{name}": value for name, value in named.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        own: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            head, separator, rest = name.partition("__")
            if separator:
                nested.setdefault(head, {})[rest] = value
            else:
                own[head] = value

        names = super().get_params(deep=False)  # type: ignore[misc]
        numbers = {n: own.pop(n) for n in BESIDE if n in own and _is_former(n, names)}
        for head in (*own, *nested):
            if head not in names:
                raise ValueError(
                    f"Invalid parameter {head!r} for estimator {type(self).__name__}."
                    f"{_advice(head, list(names))} Valid parameters are: {sorted(names)}."
                )
        for name, value in own.items():
            setattr(self, name, value)
        if numbers:
            _set_former(self, numbers)
        for head, changes in nested.items():
            inner = getattr(self, head)
            if head == "kernel":
                inner = _nested(inner)
            if not hasattr(inner, "set_params"):
                raise ValueError(
                    f"{head}={inner!r} has no parameters of its own, so "
                    f"{head}__{next(iter(changes))} cannot be set."
                )
            setattr(self, head, inner.set_params(**changes))
        return self
