"""The Gram panel: K as a picture, its spectrum, distances, and where φ sends the points."""

from __future__ import annotations

import warnings

import numpy as np

from mercer import KernelPCA
from mercer.lab.compute.scripts import data_lines
from mercer.lab.compute.states import State, takes
from mercer.lab.compute.wire import Reply
from mercer.plot.kernels import chained

#: Rows of K that are sent as a picture.
MOST_ROWS = 300
#: Eigenvalues that are shown, the largest in size.
MOST_VALUES = 40


@takes(state=State.read)
def gram(state: State) -> Reply:
    """K with its rows by class, its eigenvalues, and three coordinates of kernel PCA."""
    n = len(state.y)
    if n < 4:
        raise ValueError("draw four points at least")
    order = np.argsort(state.y, kind="stable")
    if n > MOST_ROWS:
        order = order[np.unique(np.linspace(0, n - 1, MOST_ROWS).astype(int))]
    with warnings.catch_warnings(action="ignore"):
        kernel = state.parsed.fitted(state.X)
        K = np.asarray(kernel(state.X[order]), dtype=np.float64)
        chain = chained(K, state.y[order])
        order, K = order[chain], K[np.ix_(chain, chain)]
        X = state.X[order]
        values = np.linalg.eigvalsh((K + K.T) / 2)[::-1]
        places = KernelPCA(kernel, n_components=3).fit_transform(X)
    sizes = np.abs(values)
    largest = np.sort(np.argsort(-sizes, kind="stable")[:MOST_VALUES])
    shown = np.zeros((len(X), 3))
    shown[:, : places.shape[1]] = places
    facts = {
        "order": order,
        "kernel": repr(kernel),
        "least": float(values[-1]),
        "rank": int((sizes > 1e-9 * max(float(sizes.max()), 1e-300)).sum()),
        "explained": float(np.maximum(values[:3], 0).sum() / max(float(sizes.sum()), 1e-300)),
    }
    arrays = {"K": K, "values": values[largest], "places": shown}
    return Reply(facts, arrays)


@takes(state=State.read)
def gram_script(state: State) -> Reply:
    """A script that prints the numbers of the panel."""
    made = data_lines(state)
    names = ["KernelPCA", *(["data"] if made[0].startswith("X, y = data.") else []), "parse"]
    some = f"np.unique(np.linspace(0, len(y) - 1, {MOST_ROWS}).astype(int))"
    few = [f'X = X[np.argsort(y, kind="stable")[{some}]]'] if len(state.y) > MOST_ROWS else []
    lines = [
        "import numpy as np",
        f"from mercer import {', '.join(names)}",
        "",
        *made,
        "",
        f"kernel = parse({state.kernel!r}).fitted(X)",
        *few,
        "K = kernel(X)",
        "values = np.linalg.eigvalsh((K + K.T) / 2)[::-1]",
        'print(f"largest eigenvalue {values[0]:.9g}")',
        'print(f"least eigenvalue   {values[-1]:.9g}")',
        "first = np.maximum(values[:3], 0).sum() / np.abs(values).sum()",
        'print(f"in the first three {first:.9g}")',
        "places = KernelPCA(kernel, n_components=3).fit_transform(X)",
        "for i, spread in enumerate(places.std(axis=0)):",
        '    print(f"spread of coordinate {i + 1} {spread:.9g}")',
    ]
    return Reply({"script": "\n".join(lines) + "\n"})
