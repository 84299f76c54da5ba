"""What there is to choose from, for the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from mercer.lab.compute.curves import SMOOTHERS, TRUTHS
from mercer.lab.compute.learners import LEARNERS, Learner
from mercer.lab.compute.presets import PRESETS, VIEW
from mercer.lab.compute.states import MOST_CLASSES, MOST_POINTS
from mercer.lab.compute.wire import Reply


def catalog(request: dict[str, Any]) -> Reply:
    series = {name: {"title": title} for name, (title, _) in TRUTHS.items()}
    limits = {"points": MOST_POINTS, "classes": MOST_CLASSES, "view": VIEW}
    presets = {
        name: {"title": entry.title, "n": entry.n, "noise": entry.noise}
        for name, entry in PRESETS.items()
    }
    return Reply({"learners": _described(LEARNERS), "smoothers": _described(SMOOTHERS),
                  "series": series, "presets": presets, "limits": limits})  # fmt: skip


def _described(entries: dict[str, Learner]) -> dict[str, Any]:
    return {
        name: {"title": entry.title, "options": [asdict(option) for option in entry.options],
               "visits": entry.averaging is not None, "kernel": entry.takes_kernel}
        for name, entry in entries.items()
    }  # fmt: skip
