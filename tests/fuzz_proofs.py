"""Random kernels asked whether they are kernels: ``python tests/fuzz_proofs.py 10000 0``.

Every class with a formula at extreme parameters, indefinite matrices, columns, powers, factors of
any size. The answer is a proof, a counterexample or neither, and never an exception. What is proved
has no negative eigenvalue beyond rounding, and a counterexample holds in float64 or in 50 digits.
"""

import sys
from functools import partial
from pathlib import Path

import numpy as np

import mercer

sys.path.insert(0, str(Path(__file__).parent))
from kernels.test_extremes import EXACT, SWEEP

SECONDS = 0.2


class Wrong(Exception):
    """A verdict that is not right."""


def leaf(rng):
    if rng.random() < 0.3:
        size = int(rng.integers(1, 4))
        A = rng.choice([-1.0, 0.0, 1.0, 1e-9, 1e150], (size, size))
        return mercer.kernels.Bilinear((A + A.T) / 2)
    name = str(rng.choice(list(EXACT)))
    sweep = SWEEP.get(name, [{}])
    return getattr(mercer.kernels, name)(**sweep[int(rng.integers(len(sweep)))])


def grown(rng, depth):
    if depth == 0 or rng.random() < 0.15:
        return leaf(rng)
    k = grown(rng, depth - 1)
    action = str(rng.choice(["+", "-", "*", "scaled", "power", "exp", "normalized", "on", "warp"]))
    if action in "+-*":
        other = grown(rng, depth - 1)
        return {"+": k + other, "-": k - other, "*": k * other}[action]
    if action == "scaled":
        return float(rng.choice([-1.0, 0.5, 3.0, 1e-200, 1e200])) * k
    if action == "power":
        return k ** int(rng.integers(2, 5))
    if action == "on":
        return k.on(sorted({int(c) for c in rng.integers(0, 3, 2)}))
    if action == "warp":
        return k.warp(str(rng.choice(["tanh", "sqrt", "log1p"])))
    return k.exp() if action == "exp" else k.normalized()


def proof(rng, i):
    kernel = grown(rng, 2)  # a ValueError: a kernel that cannot be written
    width = None if rng.random() < 0.5 else int(rng.integers(1, 5))
    try:
        answer = mercer.prove(kernel, n_features=width, seconds=SECONDS)
        str(answer)
    except Exception as error:
        raise Wrong(f"{kernel!r} in {width}: {type(error).__name__}: {error}") from error
    if answer.holds is False and answer.kind == "indefinite" and not answer.check() <= 0:
        raise Wrong(f"{kernel!r} is refuted by points where cᵀKc is {answer.check()}")
    if answer.holds:
        look_at(kernel, np.abs(rng.normal(size=(8, width or answer.max_dims or 3))))


def look_at(kernel, X):
    """An eigenvalue of a proved kernel, where there is one."""
    with np.errstate(all="ignore"):
        try:
            K = kernel(X)
        except ValueError:
            return  # no points of its domain
        size = np.sqrt(np.outer(np.diag(K), np.diag(K)))
    if np.isfinite(K).all() and np.isfinite(size).all() and size.min() > 1e-300:
        least = np.linalg.eigvalsh(K / size).min()
        if least < -1e-7:
            raise Wrong(f"{kernel!r} is proved, and has the eigenvalue {least}")


def main(count, seed):
    from fuzzing import Guard, turns

    mercer.set_config(memory="512MB", progress=False)
    guard = Guard((ValueError,), extra_memory=16 * 2**30, audit=False)
    for i in turns(count):
        label = f"proof {i} of seed {seed}"
        guard.attempt(label, partial(proof, np.random.default_rng([seed, i]), i))
    guard.report()


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main(int(sys.argv[1]), int(sys.argv[2]))
