"""The device engine: generated Triton kernels (`run_on_device`), and PyTorch's own functions."""

import textwrap

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import mercer  # noqa: E402
from mercer.engines.cuda.gram import CudaGram  # noqa: E402
from mercer.engines.cuda.rows import to_device  # noqa: E402
from mercer.kernels import (  # noqa: E402
    Anova,
    ArcCosine,
    Gaussian,
    Hamming,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Similarity,
    Tanimoto,
)

CASES = """
import numpy as np, torch, mercer
from mercer.kernels import *
from mercer.engines.cuda.gram import CudaGram
from mercer.engines.cuda.triton_launch import usable

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
rng = np.random.default_rng(0)

def check(kernel, d, n=70, m=150, precision="high", offset=0.0):
    X = (rng.normal(size=(n, d)) + offset).astype(np.float32)
    Z = (rng.normal(size=(m, d)) + offset).astype(np.float32)
    K, S = kernel(X.astype(float), Z.astype(float)), kernel(X.astype(float))
    limit = 1e-5 if precision == "high" else 2e-3
    with mercer.config(precision=precision):
        x, z = torch.tensor(X, device=DEVICE), torch.tensor(Z, device=DEVICE)
        G, Q = CudaGram(kernel, x, z), CudaGram(kernel, x)
    assert usable(G), kernel
    V, v = rng.normal(size=(m, 3)).astype(np.float32), rng.normal(size=n).astype(np.float32)
    big = np.abs(K).max()
    for got, want, size in [
        (G.dense(), K, big),
        (G @ torch.tensor(V, device=DEVICE), K @ V, big * np.linalg.norm(V, axis=0).max()),
        (G @ torch.tensor(V[:, 0], device=DEVICE), K @ V[:, 0], big * np.linalg.norm(V[:, 0])),
        (Q @ torch.tensor(v, device=DEVICE), S @ v, np.abs(S).max() * np.linalg.norm(v)),
        (Q.diagonal(), np.diag(S), np.abs(S).max()),
    ]:
        error = np.abs(got.cpu().numpy() - want).max() / size
        assert error <= limit, (kernel, d, precision, error)

{body}
print("checked")
"""

FORMULAS = {
    "products of narrow and wide rows": """
        for d in (1, 5, 21, 64, 100):
            check(Gaussian(np.sqrt(d)), d)
            check(Gaussian(np.sqrt(d)), d, precision="fast")
        check(Polynomial(3, offset=1.0), 30)
        check(Linear(), 3)
    """,
    "differences where the product would cancel": """
        check(Laplacian(0.3), 4)
        check(Gaussian(0.01), 3)
        check(Gaussian(1.0), 3, offset=1000.0)
        check(Laplacian(0.1, norm=1), 9)
        check(Laplacian(0.1, norm="inf"), 9)
    """,
    "near pairs from differences, all others from the product": """
        from mercer.engines.cuda.triton_launch import layouts_of
        twin = lambda X: (X[rng.integers(0, len(X), 150)] + 1e-3).astype(np.float32)
        def near(kernel, d, n=70, offset=0.0, precision="high"):
            X = (rng.normal(size=(n, d)) + offset).astype(np.float32)
            Z = np.vstack([twin(X), X[:9]])
            K = kernel(X.astype(float), Z.astype(float))
            x, z = torch.tensor(X, device=DEVICE), torch.tensor(Z, device=DEVICE)
            with mercer.config(precision=precision):
                G, Q = CudaGram(kernel, x, z), CudaGram(kernel, z)
            assert usable(G) and G.near and Q.near, kernel
            limit = 1e-5 if precision == "high" else 2e-3
            for V in (rng.normal(size=159), rng.normal(size=(159, 3))):
                v = torch.tensor(V.astype(np.float32), device=DEVICE)
                size = K.max() * np.linalg.norm(V, axis=0).max()
                assert np.abs((G @ v).cpu().numpy() - K @ V).max() <= limit * size
                S = kernel(Z.astype(float))
                assert np.abs((Q @ v).cpu().numpy() - S @ V).max() <= limit * size
            for got, want in ((G.dense(), K), (Q.dense(), S), (G.take([3, 5]).dense(), K[[3, 5]])):
                assert np.abs(got.cpu().numpy() - want).max() <= limit * K.max()
        for d in (17, 40, 100):
            check(Laplacian(1 / np.sqrt(d)), d)
            near(Laplacian(1 / np.sqrt(d)), d)
            near(PowerExponential(np.sqrt(d), 0.7), d, offset=3.0)
        near(Matern(0.5, 4.0) + 0.1 * Linear(), 20)
        near(Laplacian(0.2) * Laplacian(0.1, norm=1), 30)
        near(Laplacian(0.2), 30, precision="fast")
        near(Laplacian(0.2), 300)
    """,
    "more near pairs than the list holds": """
        from mercer.engines.cuda import near_pairs
        near_pairs.FEWEST_NEAR, near_pairs.NEAR_PAIR_SHARE = 10, 0.0
        X = np.repeat(rng.normal(size=(5, 20)), 12, axis=0).astype(np.float32)
        x, v = torch.tensor(X, device=DEVICE), rng.normal(size=60)
        for kernel in (Laplacian(0.2), Laplacian(0.2) + 0.1 * Linear()):
            K = kernel(X.astype(float))
            for G in (CudaGram(kernel, x), CudaGram(kernel, x, x.clone())):
                assert G.near
                got = (G @ torch.tensor(v.astype(np.float32), device=DEVICE)).cpu().numpy()
                assert np.abs(got - K @ v).max() <= 1e-5 * K.max() * np.linalg.norm(v)
                assert np.abs(G.dense().cpu().numpy() - K).max() <= 1e-5 * K.max()
    """,
    "near pairs of narrow kernels, to a millionth of what is summed": """
        X = rng.normal(size=(60, 54)).astype(np.float32)
        Z = np.vstack([X + 0.01 * rng.normal(size=(60, 54)), rng.normal(size=(90, 54))])
        Z, kernel = Z.astype(np.float32), Gaussian(0.2 * np.sqrt(108))
        K = kernel(X.astype(float), Z.astype(float))
        for c in (1, 3, 6):
            V = rng.normal(size=(150, c)).astype(np.float32)
            G = CudaGram(kernel, torch.tensor(X, device=DEVICE), torch.tensor(Z, device=DEVICE))
            got = (G @ torch.tensor(V, device=DEVICE)).cpu().numpy()
            assert (np.abs(got - K @ V) <= 1e-6 * (K @ np.abs(V))).all(), c
    """,
    "columns one by one": """
        check(Periodic(5.0, 3.0), 4)
        check(BSpline(3, 9.0), 3)
        check(Anova(2), 4)
        check(Anova(4), 5)
        x = torch.tensor(rng.normal(size=(30, 10)), device=DEVICE, dtype=torch.float32)
        large = CudaGram(Anova(9), x)
        assert not usable(large)
        assert np.allclose(large.dense().cpu(), Anova(9)(x.double().cpu().numpy()), atol=1e-4)
        check(Hamming() + Gaussian(), 3)
    """,
    "several statistics in one kernel": """
        check(0.5 * Gaussian(2.0) * Polynomial(2, 1.0) + Laplacian(0.1, norm=1), 12)
        check((Gaussian(2.0) + Linear()).normalized(), 12)
        check(Matern(2.5, 3.0) + RationalQuadratic(2.0, 3.0) + Sigmoid(0.1), 12)
        check(Tanimoto() + Gaussian([1.0, 2.0, 3.0]).on([0, 1, 2]), 12)
        check(Linear().exp().normalized() + Epanechnikov(4.0) + Uniform(50.0), 4)
        check(Gaussian(1e3), 3, offset=0.0)
    """,
    "row values inside the product": """
        for d in (3, 16, 28, 33, 80):
            check(Gaussian(2.0), d)
            check(0.3 * Gaussian(3.0) + 2.0 * Gaussian(6.0), d)  # one distance, two exponents
        check(Gaussian(0.08), 3, precision="fast")               # exponents far below -126
        check(Matern(1.5, 300.0) + 1.0, 7)
        check(Matern(1.5, 3e4), 30, offset=1e3, m=300, n=290)    # several panels of rows
        check(RationalQuadratic(0.5, 40.0), 90, precision="fast", m=300, n=290)
    """,
}


@pytest.mark.parametrize("name", list(FORMULAS))
def test_generated_kernels_agree_with_float64(name, run_on_device):
    run_on_device(CASES.replace("{body}", textwrap.dedent(FORMULAS[name])))


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(2.0),
        Polynomial(3, offset=1.0),
        Laplacian(0.3),
        ArcCosine(1),
        Tanimoto() + Matern(1.5),
        Anova(2).normalized(),
        Hamming() * 2.0,
        Linear().reweight("norm"),
        Gaussian([1.0, 2.0, 3.0]).on([0, 1, 2]),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pytorchs_own_functions_agree_too(kernel, dtype):
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(40, 4)).astype(dtype), rng.normal(size=(30, 4)).astype(dtype)
    G = CudaGram(kernel, torch.tensor(X), torch.tensor(Z))
    want = kernel(X.astype(float), Z.astype(float))
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    assert np.abs(G.dense().numpy() - want).max() <= tolerance * np.abs(want).max()
    V = rng.normal(size=(30, 2))
    assert np.allclose(
        (G @ torch.tensor(V)).numpy(), want @ V, rtol=1e-4 if tolerance > 1e-9 else 1e-9
    )
    assert np.allclose(G.T.dense().numpy(), want.T, atol=tolerance * np.abs(want).max())
    assert np.allclose(G.block([3, 1], slice(2, 9)).numpy(), want[[3, 1], 2:9], atol=tolerance * 10)
    square = CudaGram(kernel, torch.tensor(X))
    exact = kernel(X.astype(float))
    assert np.allclose(square.dense().numpy(), exact, atol=tolerance * np.abs(exact).max())
    assert square.T is square


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (torch.zeros(3), "2-D"),
        (torch.zeros(0, 3), "empty"),
        (torch.full((2, 2), float("nan")), "NaN"),
    ],
)
def test_bad_tensors_are_named(bad, message):
    with pytest.raises(ValueError, match=message):
        to_device(bad, "X")


def test_wide_whole_numbers_become_floats_and_narrow_numbers_stay():
    for narrow in (torch.bfloat16, torch.float16, torch.uint8):
        rows = to_device(torch.zeros(2, 2, dtype=narrow), "X")
        assert rows.dtype == narrow
        assert CudaGram(Gaussian(), rows).dense().dtype == torch.float32
    assert to_device(torch.zeros(2, 2, dtype=torch.int32), "X").dtype == torch.float64
    with pytest.raises(TypeError, match="real"):
        to_device(torch.zeros(2, 2, dtype=torch.complex64), "X")


def test_tensors_must_agree():
    with pytest.raises(ValueError, match="must agree"):
        CudaGram(Gaussian(), torch.zeros(2, 3), torch.zeros(2, 3, dtype=torch.float64))
    with pytest.raises(ValueError, match="columns"):
        CudaGram(Gaussian(), torch.zeros(2, 3), torch.zeros(2, 4))
    with pytest.raises(ValueError, match="length 2"):
        CudaGram(Gaussian(), torch.zeros(2, 3)) @ torch.zeros(5)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_error_says_what_is_missing():
    with mercer.config(device="cuda"), pytest.raises(RuntimeError, match="NVIDIA GPU"):
        Gaussian()(np.zeros((2, 2)))


def test_an_opaque_kernel_stays_on_the_cpu_with_one_notice(monkeypatch):
    monkeypatch.setattr("mercer.gram.dispatch._told", set())
    kernel = Similarity(lambda a, b: float(a @ b))
    with mercer.config(device="cuda"), pytest.warns(UserWarning, match="computed on the CPU"):
        assert kernel(np.ones((2, 2))).shape == (2, 2)


@pytest.mark.gpu
def test_cuda_tensors_in_give_cuda_tensors_out():
    X = torch.rand(1000, 8, device="cuda")
    G = Gaussian().gram(X)
    assert isinstance(G, CudaGram)
    v = torch.rand(1000, device="cuda")
    assert (G @ v).is_cuda
    with mercer.config(device="cuda"):
        assert isinstance(Gaussian()(X.cpu().numpy()), np.ndarray)


def test_what_is_folded_into_the_product():
    """Row values join the product where its value enters one sum with them and nothing else."""
    from mercer.engines.cuda.folding import folded, folds_of

    X, Z = torch.rand(20, 3), torch.rand(30, 3)

    def after(kernel):
        program = CudaGram(kernel, X, Z).program
        folds = folds_of(program.epilogue, (0,))
        return folds, repr(folded(program, folds).epilogue)

    folds, epilogue = after(Gaussian(0.5))
    assert epilogue == "exp2(tile0)"
    assert folds[0].exponent
    assert folds[0].factor == pytest.approx(4 / np.log(2))  # 2 / (2 σ² log 2)
    folds, epilogue = after(RationalQuadratic(2.0, 1.0))
    assert "row" not in epilogue
    assert not folds[0].exponent
    assert (folds[0].factor, folds[0].sides) == (-2.0, (-2.0, 1.0))
    assert after(Polynomial(2, 1.0))[0] == {}
    assert after(Gaussian(0.5) * Polynomial(2, 1.0))[0] == {}  # x·z is used twice


@pytest.mark.parametrize("rate", [0.2, 2.0])
def test_near_pairs_in_double_precision_are_computed_from_differences(rate):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 30)) + 2.0
    Z = np.vstack([X[:20] + 1e-5, rng.normal(size=(30, 30))])
    gram = CudaGram(Laplacian(rate), torch.tensor(X), torch.tensor(Z))
    assert gram.near
    exact = np.exp(-rate * np.sqrt(np.square(X[:, None] - Z[None]).sum(axis=2)))
    assert np.abs(gram.dense().numpy() - exact).max() <= 1e-13


WAITS = """
import torch
from mercer.engines.cuda.gram import CudaGram
from mercer.kernels import *
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
randn = lambda *shape: torch.randn(*shape, device=DEVICE)
kernels, X, most, exact = {case}
Z, waits = X[:200].clone(), []
for name in ("tolist", "item", "__float__", "__bool__", "__int__"):
    def noted(self, *args, real=getattr(torch.Tensor, name), name=name):
        waits.append(name)
        return real(self, *args)
    setattr(torch.Tensor, name, noted)
for kernel in kernels:
    waits.clear()
    gram = CudaGram(kernel, X, Z)
    assert 1 <= len(waits) <= most, (kernel, waits)
    assert bool(gram.exact) == exact
print("checked")
"""


@pytest.mark.parametrize("case", [
    "[Gaussian(5.0), Matern(2.5, 5.0), Laplacian(0.2), Polynomial(3)], randn(300, 30), 1, False",
    "[Gaussian(99.0), Polynomial(2)], (99 * randn(300, 30)).to(torch.uint8), 1, True",
    "[Gaussian(5.0)], randn(300, 30).half(), 1, True",
    "[Gaussian(5.0)], (4 * randn(300, 30)).round() / 4, 3, True",  # its first numbers, all others
])  # fmt: skip
def test_preparing_rows_waits_for_the_device_once(case, run_on_device):
    """For their largest norms; again where their first numbers look like those of a grid."""
    run_on_device(WAITS.format(case=case))


def test_rows_without_an_end_are_named_by_the_one_look():
    X, bad = torch.randn(20, 30), torch.randn(20, 30)
    bad[3, 4] = float("inf")
    for rows, name in (((bad, X), "X"), ((X, bad), "Z"), ((bad,), "X")):
        with pytest.raises(ValueError, match=f"^{name} contains NaN or infinite"):
            CudaGram(Gaussian(5.0), *rows)
    huge = torch.full((5, 4), 1e200, dtype=torch.float64)  # whose squares overflow
    assert (CudaGram(Gaussian(5.0), huge).dense() == 1.0).all()
