"""Whether `compare` says what would make its score a lie: planted leaks, and clean tables.

Each kind of leak is planted in tables that are clean but for it, several times, for classes and for
numbers where it makes sense. All must be told, by name. Of twenty clean tables, among them four
that come with scikit-learn, nothing may be told.

    python bench/leaks.py [--seed=0] [--rounds=3]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from _harness import Row, below, claim, main
from truth import option

from mercer.data.dataset import Dataset
from mercer.selection.data_checks import check
from mercer.selection.preprocess import check_targets

Random = np.random.Generator
TASKS = ("classification", "regression")


def clean_table(random: Random, task: str) -> pd.DataFrame:
    """Measurements, counts, words, truths, dates, gaps; one column may be a very good one."""
    n = int(random.choice([80, 200, 600, 2_000]))
    frame = pd.DataFrame({
        "height": random.normal(170, 10, n),
        "income": np.exp(random.normal(8, 0.8, n)).round(),
        "visits": random.poisson(3, n),
        "age": random.integers(18, 90, n),
        "town": random.choice(["Ulm", "Bonn", "Kiel", "Jena"], n),
        "member": random.random(n) < 0.3,
        "born": pd.to_datetime("1990-01-01") + pd.to_timedelta(random.integers(0, 9_000, n), "D"),
        "grade": random.choice([1.0, 1.3, 1.7, 2.0, 2.3, np.nan], n),
    })  # fmt: skip
    value = (frame["height"] - 170) / 10 + 0.8 * (frame["town"] == "Ulm") + 0.3 * frame["visits"]
    value += random.uniform(0.15, 1.0) * random.normal(size=n)
    if task == "regression":
        frame["y"] = value
    else:
        cuts = np.quantile(value, [0.5] if random.random() < 0.5 else [0.3, 0.7])
        frame["y"] = np.array(["low", "mid", "high"])[np.searchsorted(cuts, value)]
    # The best column takes up to 0.9 of the error away: good, and no leak.
    frame["good"] = value + random.uniform(0.35, 1.0) * value.std() * random.normal(size=n)
    return frame


def known_tables() -> list[pd.DataFrame]:
    """Fisher's irises and three others, shuffled, each row once."""
    from sklearn import datasets

    made = []
    for name in ("iris", "wine", "breast_cancer", "diabetes"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).assign(y=y)
        made.append(frame.drop_duplicates().sample(frac=1, random_state=0))
    return made


def told(frame: pd.DataFrame) -> list[str]:
    """What is said about a table, beyond how its columns were read."""
    found = check_targets(Dataset.of(frame.reset_index(drop=True), target="y"))
    return [str(note) for note in (*check(found).notes, *_about_columns(found))]


def _about_columns(found: Dataset) -> list[str]:
    return [note for note in found.notes if "left out" in note]


# --- leaks ---------------------------------------------------------------------------------------


def _column(make: Callable[[pd.DataFrame, Random], Any]) -> Any:
    """A leak that is one more column, called "leak"."""
    return lambda frame, random: frame.assign(leak=make(frame, random))


def _codes(frame: pd.DataFrame, random: Random) -> np.ndarray:
    """Classes as numbers in another order; numbers in another unit."""
    if frame["y"].dtype.kind == "f":
        return 2.54 * frame["y"].to_numpy() + 7
    names, index = np.unique(frame["y"], return_inverse=True)
    return (10 * random.permutation(len(names)) + 3)[index]


def _noisy(frame: pd.DataFrame, random: Random) -> Any:
    """One class in fifty is another; a number is off by a twentieth of its spread."""
    y = frame["y"]
    if y.dtype.kind == "f":
        return y + 0.05 * y.std() * random.normal(size=len(y))
    return np.where(random.random(len(y)) < 0.02, random.permutation(y), y)


def _groups(frame: pd.DataFrame, random: Random) -> np.ndarray:
    """The mean of the target over the rows of a customer, the row itself included."""
    customer = random.integers(len(frame) // 4, size=len(frame))
    y = frame["y"] if frame["y"].dtype.kind == "f" else (frame["y"] == "high").astype(float)
    return y.groupby(customer).transform("mean").to_numpy()


def _afterwards(frame: pd.DataFrame, random: Random) -> np.ndarray:
    """What is entered only once the outcome is known: empty for all but one class."""
    return np.where(frame["y"] == "high", random.integers(1, 90, len(frame)), np.nan)


def _paths(frame: pd.DataFrame, random: Random) -> list[str]:
    return [f"scans/{y}/image_{i:05d}.png" for i, y in enumerate(frame["y"])]


def _twice(frame: pd.DataFrame, random: Random) -> pd.DataFrame:
    rows = random.permutation(len(frame))[: len(frame) // 5]
    return pd.concat([frame, frame.iloc[rows]]).sample(frac=1, random_state=int(rows[0]))


def _rare(frame: pd.DataFrame, random: Random) -> pd.DataFrame:
    few = random.permutation(len(frame))[: max(2, len(frame) // 60)]
    return frame.assign(y=np.where(np.isin(np.arange(len(frame)), few), "fraud", "fine"))


def _days(frame: pd.DataFrame, random: Random) -> Any:
    return pd.date_range("2024-01-01", periods=len(frame), freq="7h")


def _nearly_constant(frame: pd.DataFrame, random: Random) -> np.ndarray:
    return np.where(np.arange(len(frame)) < max(1, len(frame) // 300), 7.5, 1.0)


BOTH, CLASSES, NUMBERS = TASKS, TASKS[:1], TASKS[1:]
#: A kind of leak: for which tasks, how it is planted, and a word that must be told about it.
LEAKS: dict[str, tuple[tuple[str, ...], Any, str]] = {
    "identifier, a word": (
        BOTH, _column(lambda f, r: [f"P{v:08x}" for v in r.permutation(10**6)[: len(f)]]), "leak"),
    "identifier, a number": (
        BOTH, lambda f, r: f.assign(customer_id=r.permutation(10**6)[: len(f)]), "customer_id"),
    "identifier of groups": (
        BOTH, lambda f, r: f.assign(patientId=r.integers(10**5, 10**5 + len(f) // 6, len(f))),
        "'patientId'"),
    "running number": (BOTH, _column(lambda f, r: 5_000 + 10 * np.arange(len(f))), "leak"),
    "shuffled number": (BOTH, _column(lambda f, r: r.permutation(len(f))), "leak"),
    "running date": (BOTH, _column(_days), "'leak'"),
    "copy of the target": (BOTH, _column(lambda f, r: f["y"]), "leak"),
    "recoded target": (BOTH, _column(_codes), "leak"),
    "noisy copy": (BOTH, _column(_noisy), "leak"),
    "monotone function": (NUMBERS, _column(lambda f, r: np.exp(f["y"] / f["y"].std())), "leak"),
    "ranks of the target": (NUMBERS, _column(lambda f, r: f["y"].rank() ** 2), "leak"),
    "mean over a group": (BOTH, _column(_groups), "leak"),
    "entered afterwards": (CLASSES, _column(_afterwards), "leak"),
    "path of a file": (CLASSES, _column(_paths), "leak"),
    "nothing but paths": (
        CLASSES, lambda f, r: pd.DataFrame({"path": _paths(f, r), "y": f["y"]}), "own class"),
    "folder of a file": (CLASSES, _column(lambda f, r: "scans/" + f["y"]), "leak"),
    "copies of rows": (BOTH, _twice, "copies of others"),
    "rows in order": (BOTH, lambda f, r: f.sort_values("y"), "sorted"),
    "huge whole numbers": (
        BOTH, _column(lambda f, r: 2**62 + r.integers(0, 10**6, len(f))), "leak"),
    "one value in nearly all rows": (BOTH, _column(_nearly_constant), "leak"),
    "rare class": (CLASSES, _rare, "'fraud'"),
}  # fmt: skip


def missed(name: str, seed: int, rounds: int) -> list[str]:
    """Where a planted leak was not told, and what was said instead."""
    tasks, plant, word = LEAKS[name]
    failures = []
    for number in range(rounds):
        for task in tasks:
            random = np.random.default_rng((seed, number, len(name)))
            frame = plant(clean_table(random, task), random)
            said = told(frame)
            if not any(word in note for note in said):
                failures.append(f"{name}, {task}, {len(frame)} rows: {said}")
    return failures


def measure() -> list[Row]:
    seed, rounds = int(option("seed", 0)), int(option("rounds", 3))
    tables = [
        clean_table(np.random.default_rng((seed, 99, i)), TASKS[i % 2]) for i in range(16)
    ] + known_tables()
    false = [notes for frame in tables if (notes := told(frame))]
    passed = 0
    for name in LEAKS:
        failures = missed(name, seed, rounds)
        passed += bool(failures)
        print("MISSED" if failures else "told  ", name, *failures, sep="  ", file=sys.stderr)
    print(*(f"told of a clean table: {notes}" for notes in false), sep="\n", file=sys.stderr)
    return [
        claim("leaks: kinds that were not told", passed, None, below(0.5, ""), f"of {len(LEAKS)}"),
        claim("leaks: clean tables that something was told of", len(false), None, below(0.5, ""),
              f"of {len(tables)}"),
    ]  # fmt: skip


if __name__ == "__main__":
    main(measure)
