"""What a comparison is doing, one sentence at a time, and the share that is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer._progress import progress as progress_bar
from mercer.selection.racing.clock import Clock


class ProgressMessages:
    """Tells it to a bar, or to whoever asked."""

    def __init__(
        self, receiver: Callable[[str, float], None] | bool | None, clock: Clock, steps: int
    ) -> None:
        self.receiver = receiver if callable(receiver) else None
        self.clock: Clock = clock
        self.steps: int = steps
        self.done: int = 0
        self.share: float = 0.0

    def __enter__(self) -> Callable[[str], None]:
        self._bar = progress_bar("compare", 1.0)
        self._bar.__enter__()
        return self._say

    def _say(self, text: str) -> None:
        if self.clock.budget is None:
            share = self.done / self.steps
        else:
            share = self.clock.spent() / self.clock.budget
        self.done += 1
        # The bar never moves backwards, and is full only when the comparison has ended.
        share = min(max(share, self.share), 0.99)
        self._bar.advance(share - self.share, note=text)
        self.share = share
        if self.receiver is not None:
            self.receiver(text, share)

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)
