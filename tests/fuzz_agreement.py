"""One number per pair, whichever road makes it: ``python tests/fuzz_agreement.py 2000 0``.

Random kernels three deep, 1 to 100 columns, 1 to 3000 rows, offsets up to 10⁹ times the spread,
scales of 10⁻⁶ to 10⁶, float32 and float64, arrays and CSR matrices. K as a whole, blocks, tiles,
rows, products, diagonals, expansions asked for one row, for 50 and for all at once, and now and
then an ONNX graph: a few pairs of each against mpmath, within the error that is promised.
"""

import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import mpmath
import numpy as np
import scipy.sparse as sp

import mercer

sys.path.insert(0, str(Path(__file__).parent))
from fuzz_kernels import Wrong, _normalized, _pair, _power, _times
from kernels.test_extremes import EXACT

from mercer.gram.accuracy import PROMISED
from mercer.testing.oracle import oracle

mpf = mpmath.mpf
#: Numbers of K, and of all differences of its rows, up to which all of it is made.
ENTRIES, PAIRS = 1_000_000, 7
#: Cases in a row with the same kernel but for its numbers: compiling takes most of the time.
SHARED = 3
#: Every so many cases are exported.
EXPORTED = 25
#: What gives NaN for pairs that it does not have.
PARTIAL = ("diagonal", "diag", "k of fifty rows", "fifty rows")


def leaf(shape, rng, X, unit):
    """A kernel of a width of the data's order, its value in mpf, and the error it may have."""
    spread = float(np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=1).max())) or 1.0

    def width():
        return float(spread * np.exp(rng.uniform(-5, 3)))

    length = float(np.abs(X).max()) or 1.0
    choices = {
        "Linear": {},
        "Cosine": {},
        "Constant": {"value": float(np.exp(rng.normal()))},
        "Gaussian": {"sigma": width()},
        "SquaredDistance": {},
        "NegativeSquaredDistance": {},
        "Polynomial": {"degree": int(shape.integers(1, 4)), "offset": length**2},
        "Laplacian": {"rate": 1 / width(), "norm": [1, 2, "inf"][shape.integers(3)]},
        "Matern": {"nu": [0.5, 1.5, 2.5][shape.integers(3)], "length": width()},
        "RationalQuadratic": {"alpha": float(np.exp(rng.normal())), "length": width()},
        "ArcCosine": {"order": int(shape.integers(1, 3))},
        "Wendland": {"smoothness": int(shape.integers(4)), "width": width()},
        "Tricube": {"width": width()},
        "Epanechnikov": {"width": width()},
    }
    name = str(shape.choice(list(choices)))
    parameters, exact = choices[name], EXACT[name]
    kernel = getattr(mercer, name)(**parameters)
    largest = float(np.abs(oracle(kernel, X[:1].astype(float), X.astype(float))).max())

    def value(x, z):
        both = abs(exact(x, x, **parameters)) + abs(exact(z, z, **parameters)) + largest
        return exact(x, z, **parameters), unit * both

    return kernel, value


def grown(shape, rng, depth, X, unit):
    """A tree of kernels, and a function of two rows that gives k(x, z) and a bound on its error.

    What is compiled depends on `shape`, the numbers in it come from `rng`.
    """
    if depth == 0 or shape.random() < 0.3:
        return leaf(shape, rng, X, unit)
    k, f = grown(shape, rng, depth - 1, X, unit)
    action = str(shape.choice(["+", "-", "*", "scaled", "power", "normalized"]))
    if action in "+-*":
        other, g = grown(shape, rng, depth - 1, X, unit)
        made = {"+": k + other, "-": k - other, "*": k * other}[action]
        return made, partial(_pair, action, f, g)
    if action == "scaled":
        factor = round(float(rng.uniform(-2, 3)), 2) or 1.0
        return factor * k, lambda x, z: tuple(_times(factor, f(x, z)))
    if action == "power":
        n = int(shape.integers(2, 4))
        return k**n, lambda x, z: _power(n, *f(x, z))
    positive = np.all(k.diag(X[:4].astype(float)) > 0)
    return (k.normalized(), partial(_normalized, f)) if positive else (k, f)


def rows_of(rng, sparse):
    """Rows far from 0 or around it, with equal and nearly equal ones among them."""
    n, columns = (int(np.exp(rng.uniform(0, np.log(most + 1)))) for most in (3000, 100))
    X = rng.normal(size=(n, columns))
    if rng.random() < 0.3:
        X[: n // 3] *= 1e-3
    X[n // 2] = X[0]
    if rng.random() < 0.6:
        X += 10.0 ** rng.uniform(0, 9) * (rng.normal(size=columns) if rng.random() < 0.5 else 1.0)
    X *= 10.0 ** rng.uniform(-6, 6)
    X[n // 3] = X[0] * (1 + 1e-9)
    if sparse:
        X *= rng.random(size=X.shape) < rng.uniform(0.02, 0.5)
        X[0, 0] = X[n // 2, 0] = X.flat[np.argmax(np.abs(X))] or 1.0
    return X


def roads(kernel, X, i, j):
    """k(xᵢ, xⱼ) by every road, for lists of i and j: a name, and one number per pair."""
    n = X.shape[0]
    G, at = kernel.gram(X), (np.arange(len(i)), np.arange(len(j)))
    few, whole = n * n <= ENTRIES, n * n * X.shape[1] <= 30 * ENTRIES
    if few:
        yield "k(X)", kernel(X)[i, j]
        yield "k(X, copy)", kernel(X, X.copy())[i, j]
        yield "dense", G.dense()[i, j]
        yield "transposed", G.T.dense()[j, i]
        yield "G @ I", (G @ np.eye(n, dtype=X.dtype))[i, j]
    yield "block", G.block(i, j)[at]
    yield "other block", kernel.gram(X, X.copy()).block(i, j)[at]
    one = [(slice(a, a + 1), slice(b, b + 1)) for a, b in zip(i, j, strict=True)]
    yield "tile", [G.tile(*each)[0, 0] for each in one]
    yield "diagonal", np.where(i == j, G.diagonal()[i], np.nan)
    yield "diag", np.where(i == j, kernel.diag(X)[i], np.nan)
    chosen = np.zeros((n, len(j)), dtype=X.dtype)
    chosen[j, at[1]] = 1.0
    f = mercer.KernelExpansion(kernel, X, chosen)
    yield "k of one row", [kernel(X[[a]], X)[0, b] for a, b in zip(i, j, strict=True)]
    yield "one row", [f(X[[a]])[0, b] for a, b in zip(i, at[1], strict=True)]
    start = int(min(i[0], max(0, n - 50)))
    some, inside = X[start : start + 50], (i >= start) & (i < start + 50)
    place = (i - start) % some.shape[0]
    yield "k of fifty rows", np.where(inside, kernel(some, X)[place, j], np.nan)
    yield "fifty rows", np.where(inside, f(some)[place, at[1]], np.nan)
    if whole:
        yield "K @ V", (G @ chosen)[i, at[1]]
        yield "all rows", f(X)[i, at[1]]


def exported(kernel, X, i, j):
    """The same by a graph of ONNX Runtime."""
    import onnxruntime

    chosen = np.zeros((X.shape[0], len(j)), dtype=X.dtype)
    chosen[j, np.arange(len(j))] = 1.0
    proto = mercer.onnx.export(mercer.KernelExpansion(kernel, X, chosen), dtype=X.dtype.name)
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"X": X[i]})[0][np.arange(len(i)), np.arange(len(j))]


def agreement(seed, number):
    rng = np.random.default_rng([seed, number])
    shape = np.random.default_rng([seed, number // SHARED, SHARED])
    dtype, sparse = np.dtype(rng.choice(["float32", "float64"])), bool(rng.random() < 0.25)
    dense = rows_of(rng, sparse).astype(dtype)
    n, unit = len(dense), PROMISED[dtype.itemsize]
    kernel, exact = grown(shape, rng, 3, dense, unit)
    X = sp.csr_array(dense) if sparse else dense
    i, j = rng.integers(0, n, (2, PAIRS))
    i[:3], j[:3] = (0, n // 2, n // 3), 0
    with mpmath.workdps(50):
        points = {int(a): [mpf(float(v)) for v in dense[a]] for a in {*i, *j}}
        wanted = [exact(points[int(a)], points[int(b)]) for a, b in zip(i, j, strict=True)]
        found = roads(kernel, X, i, j)
        if number % EXPORTED == 0 and not sparse and find_spec("onnxruntime"):
            found = [*found, ("onnx", exported(kernel, X, i, j))]
        tiny = float(np.finfo(dtype).tiny) * 1e3
        for road, values in found:
            for a, b, got, (value, error) in zip(i, j, values, wanted, strict=True):
                right = np.isnan(got) if error == mpmath.inf else True
                off = abs(mpf(float(got)) - value) if np.isfinite(got) else mpmath.inf
                if abs(value) > float(np.finfo(dtype).max):
                    continue  # differences of kernels say that k overflows, if not always
                if np.isnan(got) and (road in PARTIAL or right):
                    continue
                if not off <= error + 3 * unit * abs(value) + tiny:
                    raise Wrong(
                        f"{kernel!r}, {X.shape[0]} × {X.shape[1]} {dtype.name}"
                        f"{' CSR' * sparse}, {road} at {a}, {b}: {got!r}, not "
                        f"{mpmath.nstr(value, 17)} ± {mpmath.nstr(error, 2)}"
                    )


def main(count, seed):
    from fuzzing import Guard, turns

    mercer.set_config(progress=False)
    guard = Guard((ValueError, mercer.onnx.NotExportable), extra_memory=16 * 2**30, audit=False)
    for number in turns(count):
        label = f"agreement {number} of seed {seed}"
        guard.attempt(label, partial(agreement, seed, number))
    guard.report()


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main(int(sys.argv[1]), int(sys.argv[2]))
