"""Random kernels, texts and commands: ``python tests/fuzz_kernels.py trees 10000 0``.

trees     random expressions against mpmath: every value, and every tenth verdict of `prove`
numbers   every kernel with a formula at random parameters and scales against mpmath
grammar   random and mistyped texts: a kernel whose text gives it back, or a sentence
commands  random and mistyped commands: an exit code that is no fault, and no escape printed
"""

import os
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path

import mpmath
import numpy as np

import mercer

sys.path.insert(0, str(Path(__file__).parent))
from kernels.test_extremes import EXACT, SWEEP, _compare

mpf = mpmath.mpf
#: The unit of error of a leaf, relative to √(k(x, x) k(z, z)).
UNIT = 1e-11
#: Beyond the one, values are infinite; below the other, 0.
LARGEST, SMALLEST = sys.float_info.max, sys.float_info.min
ESCAPES = {"\x1b", "\r", "\x07", "\u202e", "\x9b"}


class Wrong(Exception):
    """A value or a verdict that is not right."""


# --- random trees -----------------------------------------------------------------------------


def leaf(rng):
    """A kernel, and a function of two rows of mpf that gives k(x, z) and a bound on its error."""

    def width():
        return float(np.exp(rng.uniform(-1, 1.5)).round(3))

    choices = {
        "Linear": {},
        "Cosine": {},
        "Constant": {"value": width()},
        "Gaussian": {"sigma": width()},
        "Polynomial": {"degree": int(rng.integers(1, 4)), "offset": width()},
        "Laplacian": {"rate": width(), "norm": [1, 2, "inf"][rng.integers(3)]},
        "Matern": {"nu": [0.5, 1.5, 2.5][rng.integers(3)], "length": width()},
        "RationalQuadratic": {"alpha": width(), "length": width()},
        "PowerExponential": {"length": width(), "power": 0.7, "norm": 1},
        "ArcCosine": {"order": int(rng.integers(1, 3))},
        "Anova": {"degree": 2, "sigma": width()},
    }
    name = str(rng.choice(list(choices)))
    parameters, exact = choices[name], EXACT[name]

    def value(x, z):
        both = abs(exact(x, x, **parameters)) + abs(exact(z, z, **parameters))
        return exact(x, z, **parameters), UNIT * (both + mpf(10) ** -250)

    return getattr(mercer, name)(**parameters), value


def grown(rng, depth):
    """A tree of kernels three deep at most, and what it should compute."""
    if depth == 0 or rng.random() < 0.2:
        return leaf(rng)
    k, f = grown(rng, depth - 1)
    action = str(rng.choice(["+", "-", "*", "scaled", "power", "exp", "normalized"]))
    if action in "+-*":
        other, g = grown(rng, depth - 1)
        made = {"+": k + other, "-": k - other, "*": k * other}[action]
        return made, partial(_pair, action, f, g)
    if action == "scaled":
        factor = round(float(rng.uniform(-2, 3)), 2) or 1.0
        return factor * k, lambda x, z: tuple(_times(factor, f(x, z)))
    if action == "power":
        n = int(rng.integers(2, 4))
        return k**n, lambda x, z: _power(n, *f(x, z))
    if action == "exp":
        return (0.01 * k).exp(), lambda x, z: _exp(*_times(0.01, f(x, z)))
    return (k, f) if np.any(k.diag(PROBE) <= 0) else (k.normalized(), partial(_normalized, f))


PROBE = np.random.default_rng(5).normal(size=(4, 3))


def _times(factor, found):
    value, error = found
    return mpf(factor) * value, abs(factor) * error


def _pair(action, f, g, x, z):
    (a, da), (b, db) = f(x, z), g(x, z)
    if action == "*":
        return a * b, abs(a) * db + abs(b) * da + da * db
    return (a + b if action == "+" else a - b), da + db


def _power(n, value, error):
    return value**n, (abs(value) + error) ** n - abs(value) ** n


def _exp(value, error):
    return mpmath.exp(value), mpmath.exp(value) * mpmath.expm1(error + UNIT)


def _normalized(f, x, z):
    (v, dv), (a, da), (b, db) = f(x, z), f(x, x), f(z, z)
    if a <= 0 or b <= 0:
        return mpf(0), mpmath.inf  # undefined there; the library says 0 or raises
    size = mpmath.sqrt(a * b)
    return v / size, dv / size + abs(v / size) * (da / a + db / b)


def trees(rng, i):
    kernel, exact = grown(rng, 3)
    X = rng.normal(size=(4, 3))
    with np.errstate(all="ignore"):
        K = kernel(X)
    with mpmath.workdps(40):
        points = [[mpf(float(v)) for v in row] for row in X]
        for a in range(4):
            for b in range(4):
                value, error = exact(points[a], points[b])
                if abs(value) > LARGEST and np.isinf(K[a, b]):
                    continue
                if not abs(mpf(K[a, b]) - value) <= error + 1e-12 * abs(value) + SMALLEST:
                    raise Wrong(f"{kernel!r} at {X[a]}, {X[b]}: {K[a, b]!r}, not {value}")
        if i % 10 == 0:
            check_verdict(kernel, exact, points)


def check_verdict(kernel, exact, points):
    answer = mercer.prove(kernel, n_features=3, seconds=0.5)
    if answer.holds is False and answer.kind == "indefinite":
        points = [[mpf(float(v)) for v in row] for row in answer.points]
        c = [mpf(float(v)) for v in answer.vector]
        pairs = [(a, b, *exact(x, z)) for a, x in zip(c, points, strict=True)
                 for b, z in zip(c, points, strict=True)]  # fmt: skip
        if mpmath.fsum(a * b * value for a, b, value, _ in pairs) >= 0 and all(
            error < mpmath.inf for *_, error in pairs
        ):
            raise Wrong(f"{kernel!r} is refuted by points where cᵀKc is not negative")
    if answer.holds:
        K = mpmath.matrix([[exact(x, z)[0] for z in points] for x in points])
        values = mpmath.eigsy(K, eigvals_only=True)
        if min(values) < -(mpf(10) ** -25) * (1 + max(values)):
            raise Wrong(f"{kernel!r} is proved, and has the eigenvalue {min(values)}")


def numbers(rng, i):
    name = list(EXACT)[i % len(EXACT)]
    sweep = SWEEP.get(name, [{}])
    parameters = {}
    for key, value in sweep[int(rng.integers(len(sweep)))].items():
        moved = isinstance(value, float) and value != 0 and key != "nu"
        parameters[key] = float(value * np.exp(rng.normal())) if moved else value
    kernel = getattr(mercer.kernels, name)(**parameters)
    rows = float(10.0 ** rng.uniform(-8, 8)) * rng.normal(size=(4, 3))
    rows[3] = rows[0] * (1 + 1e-9)
    if kernel.claim().domain:
        rows = np.abs(rows)
    with np.errstate(all="ignore"):
        K, diagonal = kernel(rows), kernel.diag(rows)
    with mpmath.workdps(60):
        try:
            _compare(name, kernel, parameters, rows, K, diagonal)
        except AssertionError as error:
            raise Wrong(f"{kernel!r}: {error}") from None


# --- texts and commands -------------------------------------------------------------------------

PIECES = [
    *("gaussian", "linear", "polynomial", "spectrum", "matern", "bilinear", "on", "exp", "warp"),
    *("(", ")", "[", "]", ",", ".", "=", "+", "-", "*", "/", "**", "'", '"', ":", ";", " ", "\n"),
    *("1", "2.5", "-3", "1e999", "0", "1e-300", "nan", "inf", "None", "True", "9" * 400, "1j"),
    *(
        "sigma",
        "degree",
        "offset",
        "lambda x: x",
        "__class__",
        "import os",
        "{}",
        "\x00",
        "\x1b[31m",
    ),
    *("σ", "\u202e", "\ufeff", "#", "@", "if", "for", "…"),
]


def text(rng):
    """A sound expression after some accidents, or pieces in a row."""
    if rng.random() < 0.3:
        return "".join(rng.choice(PIECES, int(rng.integers(0, 12))))
    words = repr(grown(rng, 2)[0])
    for _ in range(int(rng.integers(0, 4))):
        at, to = sorted(int(v) for v in rng.integers(0, len(words) + 1, 2))
        piece = str(rng.choice(PIECES))
        words = words[:at] + piece + words[at + (to - at) * (rng.random() < 0.2) :]
    return words


def grammar(rng, i):
    kernel = mercer.parse(text(rng))
    if mercer.parse(repr(kernel)) != kernel:
        raise Wrong(f"{kernel!r} is read back as another kernel")


def commands(rng, i, table):
    from click.testing import CliRunner

    from mercer.cli.app import app

    data = [str(table), "--target", "label"]
    expression = text(rng).replace("\x00", "")
    setting = f"{rng.choice(['C', 'tol', 'max_iter', 'nu', 'q'])}={rng.choice(PIECES)}"
    model = str(table.with_name("m.mercer"))
    learner = str(rng.choice(["svm", "ridge", "centroid", "neighbors", "smv"]))
    choices = [
        ["prove", expression],
        ["explain", expression],
        ["explain", expression, "--json", "--columns", str(rng.integers(-1, 4))],
        ["data", *data, "--format", str(rng.choice(["csv", "idx", "npz", "parquet", "mbox", "x"]))],
        ["data", str(rng.choice(PIECES)) or "x"],
        ["predict", model, str(table)],
        [str(v) for v in rng.choice([*PIECES, "fit", "compare", "--json", "-h"], 3)],
        ["fit", *data, "--kernel", expression, "--learner", learner, "--model", model],
        ["fit", *data, "--kernel", "gaussian()", "--set", setting, "--model", model],
    ]
    command = [word.replace("\x00", "") for word in choices[i % len(choices)]]
    done = CliRunner().invoke(app, command)
    if done.exit_code not in (0, 1, 2, 3):
        raise Wrong(f"{command} ends with {done.exit_code}: {done.stderr[-300:]}")
    if ESCAPES & set(done.stdout + done.stderr):
        raise Wrong(f"{command} prints {done.stdout[-200:] + done.stderr[-200:]!a}")
    if done.exit_code == 2:
        raise ValueError(done.stderr.strip() or "silent")


def main(kind, count, seed):
    from fuzzing import Guard, turns

    mercer.set_config(memory="512MB", progress=False)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        table = Path(folder) / "t\x1b[31m.csv"
        rows = [f"{i % 7},{i % 3},{'yes' if i % 2 else 'no'}" for i in range(30)]
        table.write_text("\n".join(["a\x1b[31m,b,label", *rows]))
        fuzzers = {"trees": trees, "numbers": numbers, "grammar": grammar}
        act = fuzzers.get(kind) or partial(commands, table=table)
        for i in range(30 if kind == "grammar" else 0):  # so that no import happens under the guard
            with suppress(ValueError):
                act(np.random.default_rng([99, i]), i)
        # Compilers and threads need room of their own; code is generated, so none is forbidden.
        guard = Guard((ValueError,), extra_memory=16 * 2**30, audit=kind == "grammar")
        for i in turns(count):
            label = f"{kind} {i} of seed {seed}"
            guard.attempt(label, partial(act, np.random.default_rng([seed, i]), i))
        os.chdir("/")
    guard.report()


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
