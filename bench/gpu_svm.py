"""KernelSVC on all of MNIST on a GPU, the digits already there; run by hand on a CUDA machine.

    MERCER_DATA=… PYTHONPATH=src python bench/gpu_svm.py

Prints the time of the first fit (which compiles), the median of five more, the sum of the 45 dual
objectives beside LIBSVM's, the number of support vectors, the test error, and the time to predict.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from _harness import data_file, no_data

from mercer.kernels import Gaussian
from mercer.learners import KernelSVC

C, GAMMA = 5.0, 0.02
#: The sum over the 45 pairs of what LIBSVM minimizes: from KernelSVC on the CPU at tol = 1e-3,
#: whose optimum is LIBSVM's (bench/svc_optimum.py); at tol = 1e-5 it is −13005.885235.
LIBSVM = -13005.884204
TARGET_SECONDS, TARGET_ERROR = 4.0, 1e-4


def seconds(run: Callable[[], Any]) -> float:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    run()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def main() -> None:
    path = data_file("mnist.npz")
    if path is None:
        print(no_data("mnist.npz"))
        return
    with np.load(path, allow_pickle=False) as data:
        X = torch.as_tensor((data["X_train"] / 255).astype(np.float32), device="cuda")
        Z = torch.as_tensor((data["X_test"] / 255).astype(np.float32), device="cuda")
        y, t = data["y_train"].astype(int), data["y_test"].astype(int)
    model = KernelSVC(Gaussian.from_gamma(GAMMA), C=C)
    print(f"MNIST {len(X)}, C = {C:g}, γ = {GAMMA:g} on {torch.cuda.get_device_name()}")
    first = seconds(lambda: model.fit(X, y))
    fits = [seconds(lambda: model.fit(X, y)) for _ in range(5)]
    middle = statistics.median(fits)
    print(f"fit: {middle:.2f} s (first {first:.2f}), target ≤ {TARGET_SECONDS:g} s")
    print("     " + ", ".join(f"{s:.3f}" for s in fits))
    objective = float(model.dual_objective_.sum())
    away = abs(objective / LIBSVM - 1)
    print(f"dual objective: {objective:.6f}, LIBSVM {LIBSVM:.6f}: relative difference {away:.1e}")
    print(f"                target ≤ {TARGET_ERROR:g}; steps {int(model.n_iter_.sum())}")
    print(f"support vectors: {len(model.support_)} (LIBSVM 13307)")
    answers: list[Any] = []
    predict = [seconds(lambda: answers.append(model.predict(Z))) for _ in range(4)]
    wrong = 100 * float((answers[-1].cpu().numpy() != t).mean())
    print(f"test error: {wrong:.2f} % (LIBSVM 1.44 %)")
    print(f"predict {len(Z)}: {statistics.median(predict[1:]):.3f} s (first {predict[0]:.2f})")


if __name__ == "__main__":
    main()
