"""Splice junctions: 3190 DNA sequences of 60 letters, three classes, 10-fold cross-validation.

Known: an SVM with a Gaussian kernel on one-hot letters has 96.7 %.
"""

from __future__ import annotations

import numpy as np
from _harness import Row, below, claim, data_file, main, no_data, skipped, timed
from _tables import read_columns
from sklearn.model_selection import StratifiedKFold

from mercer import Kernel, KernelSVC, Spectrum
from mercer.kernels import Mismatch, WeightedDegree

NAME, TARGET = "splice_junction.tsv.gz", below(5.0, "% error")
FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)
BEST = (4.0 * WeightedDegree(4).normalized()).exp()
# What knows nothing of places cannot see a junction, which is always in the middle.
OTHERS = {
    "Spectrum(5)": Spectrum(5).normalized(),
    "Mismatch(5, 1)": Mismatch(5, 1, alphabet=8).normalized(),
}


def error(kernel: Kernel, X: list[str], y: np.ndarray) -> float:
    """Per cent, over all folds; the Gram matrix is computed once."""
    K = kernel(X)
    wrong = 0
    for train, test in FOLDS.split(X, y):
        model = KernelSVC("precomputed", C=3.0).fit(K[np.ix_(train, train)], y[train])
        wrong += int((model.predict(K[np.ix_(test, train)]) != y[test]).sum())
    return 100.0 * wrong / len(y)


def measure() -> list[Row]:
    name = "splice junctions, string kernel + KernelSVC, 10-fold"
    path = data_file(NAME)
    if path is None:
        return [skipped(name, TARGET, no_data(NAME))]
    table = read_columns(path)
    X, y = [s.strip() for s in table["sequence"]], np.array(table["label"])
    others = ", ".join(f"{text} {error(k, X, y):.1f} %" for text, k in OTHERS.items())
    found = 0.0

    def run() -> None:
        nonlocal found
        found = error(BEST, X, y)

    seconds = timed(run)
    note = f"{100 - found:.2f} % right in {seconds:.0f} s with {BEST!r}; errors of others: {others}"
    return [claim(name, found, None, TARGET, note)]


if __name__ == "__main__":
    main(measure)
