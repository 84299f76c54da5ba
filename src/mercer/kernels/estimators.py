"""θ ↦ k_θ for estimators: nested kernel parameters that really arrive.

scikit-learn sets ``kernel__left__sigma`` by calling ``kernel.set_params(left__sigma=...)`` and
throws the answer away, trusting that the kernel changed in place. Kernels are immutable: their
`set_params` *returns* the changed kernel. Without the mixin here, a grid search over σ would fit
the same σ every time and say nothing.

Nothing in this file imports scikit-learn, so that `import mercer` stays light.
"""

from __future__ import annotations

from typing import Any, Self

from mercer.kernels.grammar import parse


def _nested(value: Any) -> Any:
    """`value` in the form whose parameters have names: an expression string is parsed."""
    if not isinstance(value, str) or value == "precomputed":
        return value
    return parse(value)


class KernelParams:
    """A mixin, put before `BaseEstimator`: `set_params` keeps what a nested `set_params` returns.

    An estimator's own `set_params` returns itself, so one rule serves both: bind the answer.
    An expression string as ``kernel`` shows and takes nested parameters like the kernel it means.

    >>> from mercer.maps import NystromMap
    >>> NystromMap("gaussian(1) + linear()").set_params(kernel__left__sigma=3.0).kernel
    Gaussian(sigma=3.0) + Linear()
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params: dict[str, Any] = super().get_params(deep=deep)  # type: ignore[misc]
        kernel = params.get("kernel")
        if deep and isinstance(kernel, str):
            try:
                inner = _nested(kernel)
            except (ValueError, TypeError):
                return params  # a wrong expression is reported by fit, not by looking at it
            if not isinstance(inner, str):
                params.update((f"kernel__{name}", v) for name, v in inner.get_params().items())
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
        for head in (*own, *nested):
            if head not in names:
                raise ValueError(
                    f"Invalid parameter {head!r} for estimator {type(self).__name__}. "
                    f"Valid parameters are: {sorted(names)}."
                )
        for name, value in own.items():
            setattr(self, name, value)
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
