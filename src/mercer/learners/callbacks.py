"""scikit-learn's callbacks: an estimator tells them when `fit` begins and ends (version 1.9 on)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from mercer._bases import CallbackSupportMixin, with_callbacks


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
