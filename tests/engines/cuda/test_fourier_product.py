"""K V by Fourier series on a device: the same numbers as from all pairs, and where it is used."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import mercer  # noqa: E402
from mercer.engines.cuda import fourier_product  # noqa: E402
from mercer.engines.cuda.gram import CudaGram  # noqa: E402
from mercer.gram.fourier_series import Price  # noqa: E402
from mercer.kernels import Gaussian, Laplacian  # noqa: E402
from mercer.solvers.local.weights import Weights  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def eager(monkeypatch):
    """A series wherever there is one, in several chunks."""
    monkeypatch.setattr(fourier_product, "FEW_PAIRS", 0)
    monkeypatch.setattr(fourier_product, "PRICE", Price(1e-9, 0.0))
    monkeypatch.setattr(fourier_product, "STEP_NUMBERS", 400_000)


def rows(n, d, dtype, seed=0, shift=0.0):
    values = np.random.default_rng(seed).random((n, d)) + shift
    return torch.tensor(values, dtype=dtype, device=DEVICE)


KERNELS = [
    Gaussian(0.4),
    0.5 * Gaussian(0.5) + 2.0 * Gaussian(3.0) + 0.25,
    Gaussian(0.7) * Gaussian(2.0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(("kind", "limit"), [("high", 1e-6), ("fast", 1e-3), ("double", 1e-14)])
def test_the_sums_are_those_of_all_pairs(eager, kernel, d, kind, limit):
    dtype = torch.float64 if kind == "double" else torch.float32
    X, Z = rows(70, d, dtype), rows(50, d, dtype, 1, 0.3)
    with mercer.config(precision="fast" if kind == "fast" else "high"):
        G, Q = CudaGram(kernel, X, Z), CudaGram(kernel, X)
    for gram, other in ((G, Z), (Q, X)):
        V = torch.tensor(np.random.default_rng(2).normal(size=(len(other), 3)), device=DEVICE)
        assert fourier_product.series_of(gram, 3)
        K = kernel(X.double().cpu().numpy(), other.double().cpu().numpy())
        want = K @ V.cpu().numpy()
        scale = K.max() * float(V.norm(dim=0).max())
        for got, expected in ((gram @ V, want), (gram @ V[:, 0], want[:, 0])):
            assert np.abs(got.double().cpu().numpy() - expected).max() <= limit * scale


def test_some_of_the_rows_do_not_decide_for_all(eager):
    """A series holds for the range of the rows it was made for, and for parts of them."""
    X = torch.linspace(0.0, 6.0, 300, dtype=torch.float64, device=DEVICE)[:, None]
    G, ones = CudaGram(Gaussian(0.5), X), torch.ones(300, dtype=torch.float64, device=DEVICE)
    few = G.take(np.arange(40), np.arange(40))
    for gram in (few, G, G.take(np.arange(260, 300))):
        K = Gaussian(0.5)(gram.points().cpu().numpy(), gram._z.raw.cpu().numpy())
        got = (gram @ ones[: gram.shape[1]]).cpu().numpy()
        np.testing.assert_allclose(got, K.sum(1), rtol=1e-12)


def test_products_that_may_be_rounded_to_ten_bits_are_made_in_double(eager, monkeypatch):
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "high")
    X = rows(80, 2, torch.float32)
    V = torch.ones(80, 1, device=DEVICE)
    G = CudaGram(Gaussian(0.4), X)
    want = Gaussian(0.4)(X.double().cpu().numpy()).sum(1)
    assert np.allclose((G @ V)[:, 0].cpu().numpy(), want, rtol=3e-7)


def test_tiny_weights_keep_their_digits(eager):
    """Far from all data a weighted mean is made of weights that a series rounds away."""
    Z, far = rows(60, 1, torch.float64), rows(1, 1, torch.float64, shift=4.0)
    G = CudaGram(Gaussian(0.3), far, Z)
    assert fourier_product.series_of(G, 1)
    ones = torch.ones(60, dtype=torch.float64, device=DEVICE)
    want = Gaussian(0.3)(far.cpu().numpy(), Z.cpu().numpy()).sum()
    assert 0 < want < 1e-20
    assert float(G.times(ones, relative=True)) == pytest.approx(want, rel=1e-9)


def test_smoothers_ask_for_all_digits(monkeypatch):
    asked = []
    times = CudaGram.times

    def remembered(self, V, relative=False):
        asked.append(relative)
        return times(self, V, relative)

    monkeypatch.setattr(CudaGram, "times", remembered)
    X, Z = rows(5, 1, torch.float64), rows(9, 1, torch.float64)
    monkeypatch.setattr(
        "mercer.solvers.local.weights.engine_for",
        lambda *data: type("Device", (), {"make": staticmethod(CudaGram)}),
    )
    Weights(mercer.gram.base.simplified(Gaussian(0.3)), X, Z).product(np.ones((9, 1)))
    assert asked == [True]


def test_few_pairs_many_columns_and_other_kernels_have_no_series(eager, monkeypatch):
    assert not fourier_product.series_of(CudaGram(Laplacian(1.0), rows(50, 2, torch.float32)), 1)
    assert not fourier_product.series_of(CudaGram(Gaussian(1.0), rows(50, 6, torch.float32)), 1)
    assert not fourier_product.series_of(CudaGram(Gaussian(1e-9), rows(50, 2, torch.float32)), 1)
    few = CudaGram(Gaussian(1.0), rows(50, 2, torch.float32))
    assert fourier_product.series_of(few, 1)
    assert "Fourier series" in few.series_in_words()
    monkeypatch.setattr(fourier_product, "FEW_PAIRS", 1e9)
    assert not fourier_product.series_of(few, 1)
