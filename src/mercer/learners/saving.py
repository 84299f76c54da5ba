"""model.save(path): the one call from a learner to the store above it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from mercer._bases import CallbackSupportMixin, with_callbacks

# scikit-learn's callbacks: an estimator tells them when `fit` begins and ends (version 1.9 on).


class TellsCallbacks(CallbackSupportMixin):
    """A mixin whose `fit` is a task of its own below those of pipelines and searches."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "fit" in vars(cls) and hasattr(cls, "set_callbacks"):
            type.__setattr__(cls, "fit", _told(cls.fit))  # type: ignore[attr-defined]


def _told(fit: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(fit)
    def told(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        about = {"estimator": self, "X": X, "y": args[0] if args else options.get("y")}
        context = self._init_callback_context()
        context.call_on_fit_task_begin(**about)
        fitted = fit(self, X, *args, **options)
        context.call_on_fit_task_end(**about, reconstruction_attributes={})
        return fitted

    return with_callbacks(told)  # type: ignore[no-any-return]


#: Parameters whose "auto" decides how smooth the model is: its name says that the data chose.
_SMOOTHNESS = ("alpha", "C", "bandwidth", "noise")


class Savable(TellsCallbacks):
    """Models write themselves to a file, and say by name what the data will choose."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """The constructor's call: what is no default, and ``alpha='auto'`` though it is one.

        >>> from mercer import KernelRidge
        >>> KernelRidge(), KernelRidge("rbf", 1.0)
        (KernelRidge(alpha='auto'), KernelRidge(alpha=1.0, kernel='rbf'))
        """
        text: str = super().__repr__(N_CHAR_MAX)  # type: ignore[call-arg]
        name, _, rest = text.partition("(")
        values = {p: vars(self).get(p) for p in _SMOOTHNESS}
        words = [p for p, value in values.items() if isinstance(value, str) and value == "auto"]
        chosen = [p for p in words if f"{p}=" not in rest]
        shown = ", ".join([*(f"{p}='auto'" for p in chosen), *([rest] if rest != ")" else [])])
        return f"{name}({shown}" + (")" if rest == ")" else "")

    def save(self, path: Any) -> None:
        """Write the model to one file; `mercer.load` reads it back without running code."""
        from mercer.store import save

        save(self, path)
