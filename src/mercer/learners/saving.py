"""model.save(path): the one call from a learner to the store above it."""

from __future__ import annotations

from typing import Any

from mercer.learners.callbacks import TellsCallbacks


class Savable(TellsCallbacks):
    """Models write themselves to a file."""

    def save(self, path: Any) -> None:
        """Write the model to one file; `mercer.load` reads it back without running code."""
        from mercer.store import save

        save(self, path)
