"""The compiled loops against the NumPy rendering: every operation, every way a tile is cut.

Compiling starts above an amount of work that tests do not want to do, so the threshold is lowered
here. That the generated text means the right thing is tested for every kernel without a compiler
(see `mercer.testing.oracle`); these few formulas show that it compiles, vectorized, to the same.
"""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import Gaussian, Gram, Laplacian, Linear, Polynomial
from mercer.formula import ROOT, Formula
from mercer.formula.nodes import X_J, Z_J, dot, reduce_columns
from mercer.gram.cpu import compiled
from mercer.gram.cpu.numba_header import header
from mercer.gram.cpu.numba_source import NUMBA, render
from mercer.gram.host import HostGram
from mercer.gram.rows import CHUNK
from mercer.kernels import Similarity, parse
from mercer.testing import oracle

RNG = np.random.default_rng(4)
NARROW = np.round(8 * np.abs(RNG.normal(size=(CHUNK + 150, 3)))) / 8
WIDE = np.round(8 * np.abs(RNG.normal(size=(CHUNK + 150, 20)))) / 8
LIMIT = {"float32": 1e-5, "float64": 1e-12}


@pytest.fixture(autouse=True)
def always_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer.tuning.COMPILED_PAIRS", 0)


def odd_operations() -> Formula:
    """What no kernel has for a pair, but a derivative or a formula of one's own may."""
    d = dot(ROOT)
    return (
        (d - 1.0).apply("sign") * 0.1
        + (d + 1.0).rsqrt()
        + (1.0 + d * d) ** -2
        + (0.1 * d).exp()
        + d.apply("abs").over(d - 2.0)
        + reduce_columns("max", X_J.apply("min", Z_J), ROOT)
    )


def close(value: np.ndarray, expected: np.ndarray, what: str) -> None:
    error = np.abs(value - expected).max() / np.abs(expected).max()
    assert error <= LIMIT[value.dtype.name], f"{what}: {error:.1e}"


def compare(k, rows: np.ndarray, dtype: str, products: bool = False) -> Gram:
    """Square and oblong matrices whose edges fall inside the chunks of the loop."""
    X = rows.astype(dtype)
    Z = X[7 : CHUNK + 61]
    G = HostGram(k, X, Z)
    assert G._plan().compiled
    expected = oracle(k, X, Z)
    # A tile that starts and stops inside a chunk, and one that crosses an edge.
    for columns in (slice(0, len(Z)), slice(5, 77), slice(CHUNK - 3, CHUNK + 9)):
        close(G.tile(slice(3, 40), columns), expected[3:40, columns], f"columns {columns}")
    if products:
        S = HostGram(k, X)
        close(S.dense(), oracle(k, X), "square")
        close(G.T.dense(), expected.T, "transpose")
        V = RNG.normal(size=(len(Z), 5)).astype(dtype)
        scale = (np.abs(expected) @ np.abs(V)).max()
        for W in (V, V[:, 0]):
            error = np.abs(G @ W - expected @ W).max() / scale
            assert error <= LIMIT[dtype], f"product: {error:.1e}"
    return G


FORMULAS = {
    "few columns, written out": (Gaussian(1.5), NARROW, True),
    "product": (Gaussian(6.0), WIDE, True),
    "repaired": (Laplacian(), WIDE, False),
    "l1 over many columns": (Laplacian(0.1, norm=1), WIDE, False),
    "linf": (Laplacian(0.5, norm="inf"), NARROW, False),
    "prod and pow": (mercer.kernels.BSpline(3, 2.0), NARROW, False),
    "prod over many columns": (mercer.kernels.BSpline(1, 9.0), WIDE, False),
    "log": (mercer.RationalQuadratic(1e3, 2.0), NARROW, False),
    "div": (mercer.ChiSquared(0.2), NARROW, False),
    "eq and mean": (mercer.kernels.Hamming(), WIDE, False),
    "row values": (mercer.kernels.Tanimoto() + Polynomial(3, 1.0).normalized(), NARROW, False),
    "step": (mercer.kernels.Uniform(1.3) * Linear() - Gaussian(), NARROW, False),
    "power": (mercer.kernels.PowerExponential(1.7, 1.2, norm=1.5), NARROW, False),
    "everything else": (odd_operations(), NARROW, False),
}


@pytest.mark.parametrize("name", [name for name in FORMULAS if "prod " not in name])
def test_float32(name: str) -> None:
    k, rows, products = FORMULAS[name]
    compare(k, rows, "float32", products)


@pytest.mark.parametrize(
    "name",
    [
        "few columns, written out", "repaired", "log", "row values", "everything else",
        "prod and pow", "prod over many columns",
    ],
)  # fmt: skip
def test_float64(name: str) -> None:
    k, rows, products = FORMULAS[name]
    compare(k, rows, "float64", products)


def test_every_operation_is_among_them() -> None:
    used: set[str] = set()
    for k, rows, _ in FORMULAS.values():
        program = HostGram(k, rows[:80], rows[:70]).program
        for formula in [program.epilogue, *(s.node for s in program.sources)]:
            used |= {n.op for n in formula.walk()}
    assert set(NUMBA) <= used, set(NUMBA) - used


def test_a_composite_of_the_same_inputs_shares_its_loop() -> None:
    k = parse("0.5*gaussian(6) + polynomial(2, offset=1).normalized() * matern(1.5, length=5)")
    G = compare(k + 0.1 * Linear(), WIDE, "float32", products=True)
    assert len(G.program.sources) == 1, "one matrix product for four kernels"


def test_black_boxes_join_the_loop() -> None:
    k = Similarity(lambda A, B: A @ B.T, blocks=True) * Gaussian(2.0) + Laplacian(0.5, norm=1)
    X = NARROW.astype(np.float32)
    G = k.gram(X)
    assert G._plan().compiled
    wide = X.astype(float)
    expected = (wide @ wide.T) * oracle(Gaussian(2.0), X) + oracle(Laplacian(0.5, norm=1), X)
    close(G.dense(), expected, "with a black box")


def test_one_sigma_per_column_far_from_the_origin() -> None:
    """Rows that were widened to float64 for their differences go through float32 loops."""
    X = (1e4 + NARROW).astype(np.float32)
    k = Gaussian([0.7, 1.1, 2.3])
    G = k.gram(X)
    assert G._plan().compiled
    close(G.dense(), oracle(k, X), "dense")
    V = np.ones((len(X), 2), dtype=np.float32)
    expected = oracle(k, X)
    assert np.abs(G @ V - expected @ V).max() <= 1e-5 * expected.sum(1).max()


def test_extreme_exponents() -> None:
    """2^x at the ends of its range: 0 far away, 1 at 0, and nothing in between is lost."""
    for dtype in ("float32", "float64"):
        x = np.array([[0.0], [1e-4], [1.0], [8.0], [13.0], [14.5], [40.0], [1e4]]).astype(dtype)
        value = Gaussian()(x, x)
        expected = oracle(Gaussian(), x)
        np.testing.assert_allclose(
            value, expected, rtol=1e-5 if dtype == "float32" else 1e-12, atol=np.finfo(dtype).tiny
        )
        up = HostGram((0.5 * dot(ROOT)).exp(), x[:6, :], np.ones((1, 1), dtype=dtype)).dense()
        np.testing.assert_allclose(up[:, 0], np.exp(0.5 * x[:6, 0].astype(float)), rtol=2e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logarithms_of_all_sizes(dtype: str) -> None:
    numba = pytest.importorskip("numba")
    space: dict = {}
    exec(header(dtype), space)  # noqa: S102 - the text is our own
    sizes = np.finfo(dtype)
    x = np.geomspace(float(sizes.tiny), float(sizes.max) / 2, 300)
    x = np.r_[x, 1 + np.linspace(-0.1, 0.1, 99), sizes.smallest_subnormal, 0, -1, np.inf, np.nan]
    x = x.astype(dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.log(x.astype(float))
    log = space["log"]
    compiled_log = numba.njit(lambda value: log(value))
    found = [compiled_log(value) for value in x]
    np.testing.assert_allclose(found, expected, rtol=2.5 * float(sizes.eps), atol=0)


def test_one_text_serves_every_parameter() -> None:
    X = NARROW[:60].astype(np.float32)
    texts = {
        render(Gaussian(s).gram(X).program, "float32", [3])[0] for s in (0.3, 0.5, 1.0, 2.0, 7.0)
    }
    assert len(texts) == 1
    for s in (0.3, 2.0, 7.0):
        close(Gaussian(s)(X), oracle(Gaussian(s), X), f"sigma {s}")


def forget_modules(monkeypatch) -> None:
    monkeypatch.setattr(compiled, "_modules", {}, raising=False)
    compiled.compile_epilogue.cache_clear()


def test_sources_are_kept_by_their_text(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MERCER_CACHE", str(tmp_path / "cache"))
    forget_modules(monkeypatch)
    k = Gaussian(1.5)
    X = NARROW[:50, :1].astype(np.float32)
    G = k.gram(X)
    engine = G._filler(G._plan())
    (kept,) = (tmp_path / "cache").glob("mercer_*.py")
    assert kept.read_text() == engine.compiled.source
    assert (tmp_path / "cache").stat().st_mode & 0o022 == 0  # others may read it, as an image's
    # A stranger's file under the name of ours is not used.
    kept.write_text("raise SystemExit('not ours')")
    forget_modules(monkeypatch)
    G._filler(G._plan())
    assert kept.read_text() == engine.compiled.source


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path, monkeypatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("MERCER_CACHE", str(blocked))
    forget_modules(monkeypatch)
    X = NARROW[:50, :1].astype(np.float32)
    G = Gaussian(1.5).gram(X)
    assert G._filler(G._plan()).compiled is not None


def test_what_has_no_vectorized_form_stays_in_numpy() -> None:
    X = NARROW[:50]
    for text in ("sigmoid()", "periodic()", "arc_cosine(1)"):
        G = parse(text).gram(X)
        assert not compiled.can_compile(G.program)
        assert not G._plan().compiled
