"""One kernel over mixed records: free text, blood values and categories, in one DataFrame.

The patients are made up. What a doctor would combine (a phrase in the notes, a number from the
laboratory, a tick in a box) is combined here by adding kernels, each on its own columns.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

from mercer import Gaussian, Kernel, KernelSVC, Spectrum, prove
from mercer.kernels import Hamming

BLOOD = ["haemoglobin", "crp", "ferritin"]
BOXES = ["smoker", "ward", "sex"]

PHRASES = {
    "anaemia": ["tired for weeks", "pale skin", "short of breath on stairs", "dizzy when standing"],
    "infection": ["fever since monday", "coughing at night", "shivering", "sore throat"],
    "healthy": ["routine check", "no complaints", "feels well", "came for a certificate"],
}
SMALL_TALK = ["lives alone", "retired teacher", "plays chess", "has two cats", "sleeps badly"]
#: Means of the blood values; all share the spread below, so that the classes overlap.
MEANS = {
    "anaemia": (10.5, 6.0, 18.0),
    "infection": (13.4, 48.0, 130.0),
    "healthy": (14.0, 4.0, 90.0),
}
SPREAD = (1.6, 20.0, 50.0)
WARDS = {"anaemia": (0.6, 0.2, 0.2), "infection": (0.2, 0.6, 0.2), "healthy": (0.2, 0.2, 0.6)}


def misspelt(text: str, rng: np.random.Generator) -> str:
    """Notes are typed in a hurry: some letters are doubled, some are lost."""
    copies = rng.choice([0, 1, 2], size=len(text), p=[0.04, 0.92, 0.04])
    return "".join(letter * int(n) for letter, n in zip(text, copies, strict=True))


def records(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """n patients and what they have."""
    rng = np.random.default_rng(seed)
    y = rng.choice(list(PHRASES), size=n)
    rows = []
    for truth in y:
        # One note in four is about something else.
        topic = truth if rng.random() < 0.75 else rng.choice(list(PHRASES))
        parts = [rng.choice(PHRASES[topic]), *rng.choice(SMALL_TALK, 2, replace=False)]
        rng.shuffle(parts)
        values = np.maximum(rng.normal(MEANS[truth], SPREAD), 0.1)
        rows.append(
            {
                "notes": misspelt(", ".join(parts), rng),
                **dict(zip(BLOOD, values.round(1), strict=True)),
                "smoker": bool(rng.random() < 0.3),
                "ward": rng.choice(["internal", "pulmonary", "outpatient"], p=WARDS[truth]),
                "sex": rng.choice(["f", "m"]),
            }
        )
    return pd.DataFrame(rows), y


def kernels() -> dict[str, Kernel]:
    """Each part of a record, and all of them."""
    # The Gaussian has a width for each blood value, in its own unit.
    notes = Spectrum(3).normalized().on("notes")
    blood = Gaussian(sigma=[2.0, 30.0, 60.0]).on(BLOOD)
    boxes = Hamming().on(BOXES)
    return {"notes": notes, "blood": blood, "boxes": boxes, "all": notes + 0.1 * blood + boxes}


def main() -> None:
    console = Console()
    X, y = records(300)
    console.print(X.head(4).to_string(), highlight=False, markup=False, soft_wrap=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)

    table = Table("columns", "kernel", "accuracy, 5-fold")
    for name, kernel in kernels().items():
        scores = cross_val_score(KernelSVC(kernel), X, y, cv=folds)
        table.add_row(name, repr(kernel), f"{scores.mean():.1%}")

    # How much the blood should count is a parameter of the kernel like any other.
    search = GridSearchCV(
        KernelSVC(kernels()["all"]),
        {
            "kernel__left__right__factor": [0.1, 0.5, 2.0],
            "kernel__left__left__kernel__kernel__p": [2, 3],
        },
        cv=folds,
    ).fit(X, y)
    best = search.best_estimator_
    table.add_row("all, searched", repr(best.kernel), f"{search.best_score_:.1%}")
    console.print(table)

    new, truth = records(4, seed=1)
    for i, (guess, fact) in enumerate(zip(best.predict(new), truth, strict=True)):
        console.print(
            f"{new['notes'][i]!r:60.60} → {guess} (is {fact})", highlight=False, soft_wrap=True
        )

    console.print("\nIs the sum a kernel?")
    console.print(str(prove(best.kernel)), highlight=False, markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
