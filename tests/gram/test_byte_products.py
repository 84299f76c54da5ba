"""Rows on a grid: found, multiplied as bytes, and equal to what plain float64 gives."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import mercer
import mercer.tuning as tuning
from mercer._machine.lanes import tile_sums
from mercer._tiles import Scratch
from mercer.gram import byte_rows as grid_rows
from mercer.gram.byte_rows import Grid, GridRows, find_grid, on_grid, rows_on
from mercer.gram.cpu import byte_loops as byte_product
from mercer.gram.cpu import byte_loops as vnni
from mercer.kernels import Gaussian, Intersection, Laplacian, Linear, Polynomial
from mercer.learners import KernelPerceptron

needs_instruction = pytest.mark.skipif(
    vnni.tile_shape() is None, reason="this processor has no instruction for products of bytes"
)


@pytest.fixture
def always(monkeypatch):
    """However small the data: look for a grid."""
    monkeypatch.setattr("mercer.tuning.BYTE_FLOPS", 0)
    monkeypatch.setattr("mercer.tuning.BYTE_FLOPS_PER_NUMBER", {4: 0, 8: 0})


def pixels(n, columns=50, seed=0, dtype=np.float64, high=256):
    numbers = np.random.default_rng(seed).integers(0, high, (n, columns))
    numbers[:, 0] = np.arange(n) % high
    return (numbers / dtype(255)).astype(dtype)


def encoded(spacing, rows):
    return rows_on(spacing, rows, np.arange(rows.shape[1]))


# --- finding ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("numbers", "step", "low"),
    [
        (np.arange(256) / 255, 1 / 255, 0),
        (np.arange(256) * float(np.float32(1 / 255)), 1 / 255, 0),
        (np.arange(0, 256, 5) / 256, 1 / 256, 0),
        (np.arange(17) / 16, 1 / 16, 0),
        (np.arange(17), 1.0, 0),
        (np.arange(-1, 2), 1.0, -1),
        (np.arange(1000, 1200), 1.0, 1000),
        (np.array([0.0, 0.3, 0.9, 2.7]), 0.3, 0),
        (np.zeros(3), 1.0, 0),
    ],
)
def test_the_step_is_found(numbers, step, low, dtype):
    rows = np.resize(numbers, (70, 20)).astype(dtype)
    found = find_grid(rows)
    assert found.step == pytest.approx(step, rel=1e-6)
    assert found.low == low
    back = encoded(found, rows)
    numbers = (back.codes[:, :20].astype(float) + low) * found.step
    assert np.allclose(numbers, rows, rtol=3 * np.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize(
    "rows",
    [
        np.random.default_rng(0).random((100, 30)),
        np.resize(np.arange(300.0), (300, 3)),  # too far apart for a byte
        np.array([[0.0, 1.0], [np.pi, 2.0]]),
        np.array([[1e-300, 1.0]]),
    ],
)
def test_other_numbers_are_on_no_grid(rows):
    assert find_grid(rows) is None


def test_both_sides_count():
    assert find_grid(np.array([[1.0, 2.0]]), np.array([[0.5, 2.0]])) == Grid(0.5, 0)
    assert find_grid(np.array([[0.0, 200.0]]), np.array([[-100.0, 1.0]])) is None


def test_one_number_off_the_grid_ends_it():
    rows = pixels(300)
    found = find_grid(rows)
    rows[-1, -1] += 1e-6
    assert encoded(found, rows) is None


# --- products -----------------------------------------------------------------------------------


@needs_instruction
@settings(deadline=None)  # the first example compiles
@given(
    st.integers(6, 40), st.integers(1, 150), st.integers(1, 30), st.integers(-300, 300),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_products_are_exact(n, m, columns, low, seed):
    rng = np.random.default_rng(seed)
    X, Z = (rng.integers(low, low + 256, (rows, columns)).astype(float) for rows in (n, m))
    spacing = Grid(1.0, low)
    out = np.full((n, m), np.nan)
    x, z = encoded(spacing, X), encoded(spacing, Z)
    x.product(slice(0, n), z, slice(0, m), out, Scratch(0))
    assert (out == X @ Z.T).all()
    center = rng.integers(low, low + 256, columns).astype(float)
    x, z = grid_rows.about(center, x, z)
    x.product(slice(0, n), z, slice(0, m), out, Scratch(0))
    assert (out == (X - center) @ (Z - center).T).all()
    assert (x.squared_norms() == np.square(X - center).sum(axis=1)).all()


@needs_instruction
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_go_into_a_stretch_of_a_larger_matrix(dtype):
    X = pixels(40, dtype=dtype)
    rows = encoded(find_grid(X), X)
    whole = np.full((50, 60), -1, dtype=dtype)
    rows.product(slice(3, 33), rows, slice(1, 40), whole[5:35, 7:46], Scratch(0))
    expected = X[3:33].astype(float) @ X[1:40].astype(float).T
    assert np.allclose(whole[5:35, 7:46], expected, rtol=4 * np.finfo(dtype).eps)
    whole[5:35, 7:46] = -1
    assert (whole == -1).all()


@needs_instruction
@pytest.mark.parametrize("shape", [vnni.Shape(8, 3, 4), vnni.Shape(16, 6, 4), vnni.Shape(16, 2, 1)])
def test_tiles_of_any_shape(shape):
    from llvmlite.binding import get_host_cpu_features

    features = get_host_cpu_features()
    if shape.lanes == 16 and not features.get("avx512vnni"):
        pytest.skip("no vectors of 512 bits here")
    if shape.lanes == 8 and not (features.get("avxvnni") or features.get("avx512vl")):
        pytest.skip("no vectors of 256 bits here")
    tile = tile_sums("bytes", *shape, shape.columns)

    @numba.njit
    def run(a, b, out, steps):
        tile(a, (steps, steps), b, 0, steps, out, 0)

    rng = np.random.default_rng(0)
    steps = 5
    a = rng.integers(0, 256, (shape.rows + 1, 4 * steps)).astype(np.uint8)
    b = rng.integers(-128, 128, (steps, shape.columns, 4)).astype(np.int8)
    out = np.empty((shape.rows, shape.columns), dtype=np.int32)
    run(a, b.reshape(steps, -1).view(np.uint32), out, steps)
    flat = b.transpose(0, 2, 1).reshape(4 * steps, shape.columns).astype(int)
    assert (out == a[1:].astype(int) @ flat).all()


# --- in a Gram ----------------------------------------------------------------------------------

KERNELS = [
    Gaussian.from_gamma(0.1),
    Polynomial(3, 1.0),
    Linear(),
    0.5 * Gaussian(2.0) * Polynomial(2, 1.0) + Laplacian(0.1),
]


@needs_instruction
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_gram_over_bytes_is_the_gram(kernel, dtype, always):
    X, Z = pixels(150, dtype=dtype), pixels(70, seed=1, dtype=dtype)
    G = kernel.gram(X, Z)
    assert G._x.grids
    expected = kernel(X.astype(float), Z.astype(float))
    tolerance = {np.float32: 3e-6, np.float64: 1e-13}[dtype] * abs(expected).max()
    assert G.dense() == pytest.approx(expected, abs=tolerance)
    assert G.T.dense() == pytest.approx(expected.T, abs=tolerance)
    part = G.take(rows=np.arange(40)[::-1], columns=slice(5, 60))
    assert part.dense() == pytest.approx(expected[39::-1, 5:60], abs=tolerance)
    assert G @ np.ones(70) == pytest.approx(expected.sum(axis=1), abs=70 * tolerance)
    square = kernel.gram(X)
    assert square._x.grids
    expected = kernel(X.astype(float), X.astype(float))
    assert square.dense() == pytest.approx(expected, abs=tolerance)
    chosen, all_of = np.arange(20, 120)[::3], np.arange(20, 120)
    rows = square.block(chosen, all_of)
    assert rows == pytest.approx(expected[np.ix_(chosen, all_of)], abs=tolerance)


@needs_instruction
@pytest.mark.parametrize("kernel", [Gaussian(0.6), Polynomial(2, 1.0)], ids=str)
def test_empty_columns_take_no_part_and_no_copy_is_made(kernel, always):
    X, Z = pixels(100, 80), pixels(60, 80, seed=1)
    X[:, 5:40], Z[:, 5:38] = 0.0, 0.0  # two of them are used on one side
    G = kernel.gram(X, Z)
    (rows,), (matrix,) = G._x.grids.values(), G._x.matrices.values()
    assert list(rows.used) == [*range(5), *range(38, 80)]
    assert rows.codes.shape == (100, 48)
    assert matrix is X
    assert G.dense() == pytest.approx(_plain(kernel, X, Z), abs=1e-12)
    assert kernel.gram(X).dense() == pytest.approx(_plain(kernel, X, X), abs=1e-12)


@needs_instruction
def test_a_center_leaves_empty_columns_out(always):
    X = pixels(200, 80, dtype=np.float32)
    X[:, 5:40] = 0.0
    near, along = Gaussian(0.5), Polynomial(2, 1.0)  # x·z is the centered product, put right again
    G = (near * along).gram(X)
    ((key, rows),) = G._x.grids.items()
    assert G.methods[key].center
    assert len(rows.center) == len(rows.used) == 45
    wide = X.astype(float)
    expected = _plain(near, wide, wide) * _plain(along, wide, wide)
    assert G.dense() == pytest.approx(expected, abs=3e-6 * expected.max())


@needs_instruction
def test_rows_of_zeros(always):
    X = np.zeros((50, 80))
    assert not Linear().gram(X)._x.grids
    assert (Linear().gram(X).dense() == 0).all()


@needs_instruction
def test_a_column_that_is_used_late_counts(always):
    """Looked at are the first 256 rows; one column in 80 that is empty there is not worth more."""
    X = pixels(600, 80)
    X[:500, 7] = 0.0
    assert Linear().gram(X).dense() == pytest.approx(X @ X.T, abs=1e-12)


def _plain(kernel, X, Z):
    if isinstance(kernel, Polynomial):
        return (X @ Z.T + 1.0) ** 2
    return np.exp(-np.square(X[:, None] - Z[None]).sum(axis=2) / (2 * kernel.sigma**2))


@needs_instruction
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_from_the_origin_the_center_is_taken_off(dtype, always):
    """‖x‖² is 10⁹ here and ‖x − z‖² below 10⁴: the product alone would have no digits left."""
    X = np.random.default_rng(0).integers(5000, 5020, (200, 40)).astype(dtype)
    kernel = Gaussian(60.0)
    G = kernel.gram(X)
    assert G._x.grids
    assert G.methods[next(iter(G._x.grids))].center
    gaps = np.square(X[:, None].astype(float) - X[None].astype(float)).sum(axis=2)
    tolerance = {np.float32: 3e-6, np.float64: 1e-13}[dtype]
    assert G.dense() == pytest.approx(np.exp(-gaps / (2 * 60.0**2)), abs=tolerance)


@needs_instruction
def test_a_grid_is_left_where_it_would_move_the_numbers_too_far(always):
    """In float32 k/255 is rounded; far from the origin the rounding is as large as the gaps."""
    X = ((np.random.default_rng(0).integers(0, 200, (200, 40)) + 1e6) / 255).astype(np.float32)
    sharp = Gaussian(0.05)
    G = sharp.gram(X)
    assert not G._x.grids
    assert G.dense() == pytest.approx(sharp(X.astype(float), X.astype(float)), abs=3e-6)


@needs_instruction
def test_steps_that_are_no_binary_fractions_bear_a_center(always):
    X = pixels(200, dtype=np.float32)
    kernel = Gaussian(0.6)
    G = kernel.gram(X)
    assert G.methods[next(iter(G._x.grids))].center
    assert G.dense() == pytest.approx(kernel(X.astype(float), X.astype(float)), abs=3e-6)


@needs_instruction
def test_a_perceptron_makes_the_same_mistakes(always, monkeypatch):
    X = pixels(400, 30, high=200)
    y = np.where(X[:, :15].sum(axis=1) > X[:, 15:].sum(axis=1), 1, -1)
    made = []
    for least in (0, np.inf):
        monkeypatch.setattr("mercer.tuning.BYTE_FLOPS", least)
        learner = KernelPerceptron(Polynomial(3, 1.0), epochs=3, random_state=0)
        with pytest.warns(ConvergenceWarning):
            made.append(learner.fit(X, y).mistakes_)
    assert len(made[0]) > 20
    assert (made[0] == made[1]).all()


@needs_instruction
def test_when_it_is_not_used(always, monkeypatch):
    X = pixels(100)
    key = next(iter(Linear().gram(X)._x.grids))
    inputs, sides = (key,), {key: X}
    assert on_grid(inputs, sides, sides)
    assert not Intersection().gram(X)._x.grids  # no product in it
    with mercer.config(memory=50_000):
        assert not on_grid(inputs, sides, sides)
    few = {key: X[: tuning.BYTE_TILE_ROWS - 1]}
    assert not on_grid(inputs, few, few)
    for name, much in (("BYTE_FLOPS", 1e9), ("BYTE_FLOPS_PER_NUMBER", {8: 51})):
        with monkeypatch.context() as patch:
            patch.setattr(tuning, name, much)
            assert not on_grid(inputs, sides, sides)
    for broken in (
        {"tile_shape": lambda: None},
        {"multiply": lambda *_: 1 / 0},  # a compiler that does not know the instruction
        {"multiply": lambda *arguments: arguments[5].fill(1.0)},  # or takes it for another
    ):
        with monkeypatch.context() as patch:
            for name, value in broken.items():
                patch.setattr(byte_product, name, value)
            byte_product.works.cache_clear()
            assert not on_grid(inputs, sides, sides)
    byte_product.works.cache_clear()
    assert on_grid(inputs, sides, sides)


@needs_instruction
def test_explain_says_so(always):
    assert "matrix product of bytes, steps of 1/255" in str(Gaussian().explain(pixels(100)))
    assert "matrix product of bytes, steps of 0.3" in str(Linear().explain(pixels(100) * 255 * 0.3))
    assert "bytes" not in str(Linear().explain(np.random.default_rng(0).random((100, 50))))


def test_memory_is_counted():
    rows = GridRows.of(Grid(1.0, 0), np.zeros((10, 8), dtype=np.uint8), np.arange(7), 0.0)
    assert rows.nbytes() == 10 * 8 + 2 * 10 * 8


@pytest.mark.parametrize(("setting", "value"), [("CPU_NAME", "generic"), ("ENABLE_AVX", 0)])
def test_no_tile_for_another_processor(setting, value, monkeypatch):
    monkeypatch.setattr(numba.core.config, setting, value)
    vnni.tile_shape.cache_clear()
    try:
        assert vnni.tile_shape() is None
    finally:
        monkeypatch.undo()
        vnni.tile_shape.cache_clear()
