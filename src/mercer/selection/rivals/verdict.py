"""What the race says about rivals, in sentences."""

from __future__ import annotations

from mercer.selection.board.shown import metric_name, with_unit
from mercer.selection.racing.entries import Entry


def verdict(standing: list[Entry], winner: Entry, metric: str) -> list[str]:
    """Whether a rival has won, by how much, and why that may be; nothing where none took part."""
    notes = []
    ahead = next((e for e in standing if e.rival is not None and not e.rival.stored), None)
    if ahead is not None and standing.index(ahead) < standing.index(winner):
        notes.append(
            f"{ahead.trainer.learner}, which is your own, did better "
            f"({with_unit(ahead.mean, metric)}) than what is saved "
            f"({with_unit(winner.mean, metric)}): a model file can hold no code from outside, so "
            "the best of the others was fitted"
        )
    same = [e for e in standing if e.size == winner.size]
    kernel = next((e for e in same if e.kernel is not None), None)
    if winner.rival is not None and not any(e.kernel is not None for e in standing):
        notes.append(
            f"no kernel was judged: there was time for rivals only, {winner.rival.title} the best "
            f"of them ({metric_name(metric)} {with_unit(winner.mean, metric)})"
        )
    elif winner.rival is not None:
        behind, word = "", "has won"
        if kernel:
            shown = with_unit(kernel.mean, metric)
            if shown == with_unit(winner.mean, metric):
                word = "is level with the best kernel, and steadier or simpler"
            behind = f"; the best with a kernel is {kernel.name}, {shown}"
        notes.append(
            f"{winner.rival.who} {word}: {winner.rival.title}, {metric_name(metric)} "
            f"{with_unit(winner.mean, metric)} in the race"
            f"{behind}. {winner.rival.why[0].upper()}{winner.rival.why[1:]}"
        )
    return notes
