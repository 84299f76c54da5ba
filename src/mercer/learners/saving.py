"""model.save(path): the one call from a learner to the store above it."""

from __future__ import annotations

from typing import Any

from mercer.learners.callbacks import TellsCallbacks

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
