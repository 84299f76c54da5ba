"""What a solver needs of memory, and the sentence that names one that fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mercer._config import get_config, show_bytes


@dataclass(frozen=True)
class Size:
    """The size of a problem: N examples, T targets, M centres or features, bytes a number of K."""

    n: int
    targets: int
    columns: int
    itemsize: int


#: Bytes each solver takes beyond the data, N×N arrays first.
NEEDS: Mapping[str, Callable[[Size], float]] = {
    "cholesky": lambda s: s.n * s.n * s.itemsize + 24 * s.n * (s.targets + 2),
    # Divide and conquer works in two more matrices of the same size.
    "eigh": lambda s: 3 * s.n * s.n * s.itemsize + 24 * s.n * (s.targets + 2),
    # The band and its factors for some penalties take at most another matrix.
    "band": lambda s: 2 * s.n * s.n * s.itemsize + 24 * s.n * (s.targets + 2),
    "primal": lambda s: 4 * 8 * s.columns**2 + 24 * s.n * (s.targets + 1),
    "nystrom": lambda s: 4 * 8 * s.columns**2 + 24 * s.n * (s.targets + 1),
    "cg": lambda s: 6 * 8 * s.n * (s.targets + 1),
}


def limit_of(gram: Any) -> int:
    """The bytes that may be used where this Gram's data is."""
    return int(gram.limit_bytes)


def resident(gram: Any) -> Any:
    """The same Gram if all its rows are at hand; otherwise an error that says what works.

    Streamed rows can be multiplied by, and be predicted for; they cannot be visited in any order.
    """
    if not gram.resident:
        raise MemoryError(
            f"{gram.shape[0]} rows do not fit the device, and this solver needs all of them there. "
            "Rows are streamed by ridge regression with solver='nystrom' or 'cg' and by logistic "
            "regression with solver='nystrom' or 'gradient'; otherwise take parts of the data, "
            "config(device='cpu'), or a higher memory limit."
        )
    return gram


def fits(solver: str, size: Size, limit: int | None = None) -> bool:
    return NEEDS[solver](size) <= (get_config().memory_bytes if limit is None else limit)


def check_fits(solver: str, size: Size, others: tuple[str, ...], limit: int | None = None) -> None:
    """Refuse at once, saying how much is needed, how much there is, and what would fit."""
    limit = get_config().memory_bytes if limit is None else limit
    if fits(solver, size, limit):
        return
    fitting = [name for name in others if name != solver and fits(name, size, limit)]
    instead = " and ".join(repr(name) for name in fitting)
    advice = f"solver={instead} fits within it" if len(fitting) == 1 else f"{instead} fit within it"
    raise MemoryError(
        f"solver={solver!r} needs {show_bytes(NEEDS[solver](size))} for N = {size.n}, but the "
        f"memory limit is {show_bytes(limit)}; "
        + (f"{advice}, or " if fitting else "no exact solver fits; ")
        + "raise the limit with mercer.set_config(memory=…)."
    )
