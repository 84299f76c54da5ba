"""A budget of 500 points on a9a, 5 passes as a stream: accuracy, time per example, memory.

Time per example and memory must not grow from pass to pass: the second pass, by which the budget is
full, is compared with the fifth. Seconds are those of the processor, because a stream of small
steps on a shared machine waits more than it computes.
"""

from __future__ import annotations

import pickle
import time

import numpy as np
from _harness import Row, at_most, claim, data_file, main, no_data, skipped
from perceptron_a9a import inputs

from mercer import KernelPerceptron
from mercer.kernels import Gaussian
from mercer.solvers.online.budget import POLICIES

BUDGET, PASSES, CHUNK = 500, 5, 1000
FLAT, MEMORY = at_most(1.25), at_most(1.05, "B")


def name(policy: str) -> str:
    return f"budget {BUDGET} on a9a, {policy}: an example in pass {PASSES} vs pass 2"


def stream(policy: str, X: np.ndarray, y: np.ndarray, T: np.ndarray, t: np.ndarray) -> list[Row]:
    model = KernelPerceptron(
        Gaussian.from_gamma(0.01), budget=BUDGET, budget_policy=policy, random_state=0
    )
    random = np.random.default_rng(0)
    seconds, sizes, accuracy = [], [], []
    for _ in range(PASSES):
        order = random.permutation(len(X))
        start = time.process_time()
        for at in range(0, len(X), CHUNK):
            part = order[at : at + CHUNK]
            model.partial_fit(X[part], y[part], classes=[-1, 1])
        seconds.append((time.process_time() - start) / len(X))
        sizes.append(float(len(pickle.dumps(model))))
        accuracy.append(f"{100 * model.score(T, t):.1f}")
    note = f"test accuracy {', '.join(accuracy)} %; {model.n_mistakes_} mistakes"
    return [
        claim(name(policy), seconds[-1], seconds[1], FLAT, note),
        claim("  its memory", sizes[-1], sizes[1], MEMORY),
    ]


def measure() -> list[Row]:
    if data_file("a9a.npz") is None:
        return [skipped(name(policy), FLAT, no_data("a9a.npz")) for policy in POLICIES]
    data = inputs()
    return [row for policy in POLICIES for row in stream(policy, *data)]


if __name__ == "__main__":
    main(measure)
