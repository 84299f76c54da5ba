"""k(x, z) of tensors: a tensor, with the derivatives that PyTorch finds for k written in it."""

from __future__ import annotations

import numpy as np
import pytest

import mercer

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(0)
EXPRESSIONS = (
    "gaussian(1.3)", "laplacian(0.9)", "laplacian(2, norm=1)", "matern(1.5, 1.0)", "polynomial(3)",
    "linear()", "cosine()", "rationalquadratic()", "anova(2)", "periodic(2)",
    "(linear()+1).normalized()",
    "gaussian(1).on([0, 2]) * linear() + 2", "gaussian([1, 2, 3])", "sigmoid(0.2, -0.1)",
)  # fmt: skip


def rows(n: int, **options) -> torch.Tensor:
    return torch.tensor(RNG.uniform(0.2, 1.5, size=(n, 3)), **options)


def quotients(f, X, step=1e-6):
    """The slopes of f by central differences."""
    slopes = np.zeros(X.shape)
    for i in np.ndindex(*X.shape):
        up, down = X.copy(), X.copy()
        up[i] += step
        down[i] -= step
        slopes[i] = (f(up) - f(down)) / (2 * step)
    return slopes


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_slopes_in_both_sets_of_rows(text: str) -> None:
    k = mercer.parse(text)
    X, Z, G = rows(5), rows(4), RNG.normal(size=(5, 4))
    X.requires_grad_()
    Z.requires_grad_()
    K = k(X, Z)
    np.testing.assert_array_equal(K.detach().numpy(), k(X.detach().numpy(), Z.detach().numpy()))
    (K * torch.tensor(G)).sum().backward()
    x, z = X.detach().numpy(), Z.detach().numpy()
    for found, wanted in (
        (X.grad, quotients(lambda u: (G * k(u, z)).sum(), x)),
        (Z.grad, quotients(lambda u: (G * k(x, u)).sum(), z)),
    ):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_slopes_in_rows_against_themselves(text: str) -> None:
    k = mercer.parse(text)
    X, G = rows(5, requires_grad=True), RNG.normal(size=(5, 5))
    (k(X) * torch.tensor(G)).sum().backward()
    upper = np.triu_indices(5, 1)  # not the diagonal, where a norm has a kink

    def off_diagonal(u):
        K = k(u, u.copy())
        return ((G + G.T) * K)[upper].sum() + (np.diag(G) * k.diag(u)).sum()

    np.testing.assert_allclose(
        X.grad.numpy(), quotients(off_diagonal, X.detach().numpy()), rtol=1e-6, atol=1e-7
    )


def test_slopes_are_those_of_pytorch() -> None:
    X, Z = rows(6, requires_grad=True), rows(7)
    G = torch.tensor(RNG.normal(size=(6, 7)))
    ours = torch.autograd.grad((mercer.Gaussian(0.7)(X, Z) * G).sum(), X)[0]
    K = torch.exp(-(torch.cdist(X, Z, compute_mode="donot_use_mm_for_euclid_dist") ** 2) / 0.98)
    theirs = torch.autograd.grad((K * G).sum(), X)[0]
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


def test_a_layer_in_front_of_a_kernel_learns() -> None:
    torch.manual_seed(0)
    X, layer = rows(30), torch.nn.Linear(3, 2, dtype=torch.float64)
    y = torch.sin(3 * X[:, 0])
    step = torch.optim.Adam(layer.parameters(), 0.05)
    losses = []
    for _ in range(30):
        K = mercer.Gaussian(1.0)(layer(X))
        loss = y @ torch.linalg.solve(K + 0.1 * torch.eye(30), y)
        step.zero_grad()
        loss.backward()
        step.step()
        losses.append(float(loss))
    assert losses[-1] < 0.8 * losses[0]


def test_what_kind_of_tensor_comes_back() -> None:
    k, X = mercer.Gaussian(1.0), rows(4)
    assert isinstance(k(X), torch.Tensor)
    assert not k(X).requires_grad
    assert k(X.float()).dtype == torch.float32
    grown = X.float().requires_grad_()
    k(grown, X).sum().backward()
    assert grown.grad.dtype == torch.float32
    with torch.no_grad():
        assert not k(grown).requires_grad
    assert isinstance(k(X.numpy(), X), torch.Tensor)
    assert not k(X, grown.detach()).requires_grad


def test_what_has_no_slope_says_so() -> None:
    X = rows(4, requires_grad=True)
    with pytest.raises(TypeError, match="no gradient in x"):
        mercer.kernels.Similarity(lambda x, z: 1.0)(X)
    with pytest.raises(RuntimeError, match="first derivatives only"):
        torch.autograd.grad(mercer.Gaussian(1.0)(X).sum(), X, create_graph=True)


def test_other_libraries_take_k_without_a_copy() -> None:
    K = mercer.Gaussian(1.0)(rows(4).numpy())
    assert torch.from_dlpack(K).data_ptr() == K.ctypes.data
    T = mercer.Gaussian(1.0)(rows(4))
    assert np.from_dlpack(T).ctypes.data == T.data_ptr()


class Foreign:
    """An array of another library on the CPU, as JAX's are: by DLPack, or converted by NumPy."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.shape, self.dtype = values, values.shape, values.dtype
        self.ndim = values.ndim

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return self.values.astype(dtype or self.dtype)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


def test_arrays_of_other_libraries_go_in() -> None:
    X = rows(20).numpy()
    y = X[:, 0] > 0.8
    np.testing.assert_array_equal(mercer.Gaussian(1.0)(Foreign(X)), mercer.Gaussian(1.0)(X))
    model = mercer.KernelSVC("gaussian(1)").fit(Foreign(X), Foreign(y.astype(np.int32)))
    np.testing.assert_array_equal(model.predict(Foreign(X)), model.predict(X))
