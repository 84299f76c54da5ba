"""The kernel perceptron on MNIST, 60000 × 784, degree 4, ten classes, 10 epochs: against the floor.

Any exact method needs k between every example and every example it was wrong on (once for each time
it was wrong). The floor is the matrix product for these values alone, at the rate measured in the
same run, both ways a careful author would write it; the faster counts. The other peer is the loop
of the textbook, vectorized over the support vectors with NumPy, on 5000 images.
Ours may take less than this floor, which is BLAS's: pixels are multiplied as bytes.
"""

from __future__ import annotations

import warnings

import numpy as np
from _harness import (
    Row,
    at_most,
    claim,
    data_file,
    faster,
    main,
    no_data,
    race,
    skipped,
)
from mnist_matvec import Products

from mercer import KernelPerceptron
from mercer.kernels import Polynomial

EPOCHS, DEGREE, FEW, SAMPLE = 10, 4, 5000, 6144
FLOOR, LOOP = at_most(1.6), faster(30)
NAMES = {
    "native": "perceptron MNIST, ten classes at once, vs bare products",
    "ovr": "perceptron MNIST, one against all, vs bare products",
}
NAME_LOOP = f"perceptron MNIST {FEW} images, vs a NumPy loop"


def inputs() -> tuple[np.ndarray, ...]:
    path = data_file("mnist.npz")
    assert path is not None
    with np.load(path, allow_pickle=False) as mnist:
        parts = [mnist[f"{name}_{part}"] for part in ("train", "test") for name in ("X", "y")]
    X, y, T, t = parts
    scale = np.float32(255)
    X, T = (images.reshape(-1, 784).astype(np.float32) / scale for images in (X, T))
    return X, y.astype(np.int64), T, t.astype(np.int64)


def fit(
    X: np.ndarray, y: np.ndarray, multi_class: str, averaging: str = "last"
) -> KernelPerceptron:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KernelPerceptron(
            Polynomial(DEGREE, offset=1.0),
            EPOCHS,
            multi_class=multi_class,
            averaging=averaging,
            shuffle=False,
        ).fit(X, y)


def numpy_loop(X: np.ndarray, y: np.ndarray, classes: int) -> int:
    """The textbook's loop: scores of one example from all support vectors, at every visit."""
    points = np.empty_like(X)
    alpha = np.zeros((len(X), classes), dtype=X.dtype)
    place = np.full(len(X), -1)
    kept = mistakes = 0
    for _ in range(EPOCHS):
        before = mistakes
        for i in range(len(X)):
            k = (1.0 + points[:kept] @ X[i]) ** DEGREE
            f = k @ alpha[:kept]
            right = f[y[i]]
            f[y[i]] = -np.inf
            rival = int(f.argmax())
            if right <= f[rival]:
                mistakes += 1
                if place[i] < 0:
                    place[i] = kept
                    points[kept] = X[i]
                    kept += 1
                alpha[place[i], y[i]] += 1
                alpha[place[i], rival] -= 1
        if mistakes == before:
            break
    return mistakes


def against_floor(
    X: np.ndarray, y: np.ndarray, T: np.ndarray, t: np.ndarray, how: str, rounds: int
) -> Row:
    last = fit(X, y, how)
    average = fit(X, y, how, "average")
    # "ovr" may update several classes on one example: the kernel is needed once for all of them.
    columns = int(np.count_nonzero(np.diff(last.mistakes_, prepend=-1)))
    bare = Products(X, X[:SAMPLE], np.zeros((SAMPLE, 10), np.float32)).fastest()
    times = race(lambda: fit(X, y, how), bare, rounds=rounds)
    errors = [100 * (1 - m.score(T, t)) for m in (last, average)]
    note = (
        f"{last.n_mistakes_} mistakes, {len(last.support_)} support vectors, test error "
        f"{errors[0]:.2f} % last, {errors[1]:.2f} % average; {times.note}"
    )
    return claim(NAMES[how], times.ours, times.peer * columns / SAMPLE, FLOOR, note)


def against_loop(X: np.ndarray, y: np.ndarray) -> Row:
    made: list[int] = []
    times = race(
        lambda: made.append(fit(X, y, "native").n_mistakes_),
        lambda: made.append(numpy_loop(X, y, 10)),
        rounds=2,
    )
    note = f"{made[0]} and {made[1]} mistakes; {times.note}"
    return claim(NAME_LOOP, times.ours, times.peer, LOOP, note)


def measure() -> list[Row]:
    if data_file("mnist.npz") is None:
        why = no_data("mnist.npz")
        rows = [skipped(name, FLOOR, why) for name in NAMES.values()]
        return [*rows, skipped(NAME_LOOP, LOOP, why)]
    X, y, T, t = inputs()
    rows = [against_floor(X, y, T, t, "native", 3), against_floor(X, y, T, t, "ovr", 1)]
    return [*rows, against_loop(X[:FEW], y[:FEW])]


if __name__ == "__main__":
    main(measure)
