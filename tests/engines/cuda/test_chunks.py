"""Rows that are too large for a device pass over it in chunks, and nothing else changes."""

import pytest

BEGIN = """
import numpy as np, torch, mercer
from mercer.kernels import *
from mercer.engines.cuda import streamed
from mercer.solvers.neighbors import search as on_host
from mercer.engines.cuda.solvers.neighbors import nearest
from mercer.solvers.neighbors.search import ranking_among as ranking
from mercer.gram.dispatch import engine_named
from mercer.solvers.local import weights
from mercer.solvers.local.weights import Weights

# Under Triton's interpreter host rows would be taken by the host.
weights.engine_for = lambda *rows: engine_named("cuda")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
rng = np.random.default_rng(0)
X, Z = rng.normal(size=(70, 3)), rng.normal(size=(90, 3))
Z[::9] = Z[0]  # ties, which go to the first
X[:20] = Z[:20]
there = lambda rows: torch.tensor(rows, device=DEVICE)
SMALL = 6000
made = []
whole = streamed.CudaGram.__init__

def noted(self, *rows):
    whole(self, *rows)
    made.append(self.shape)

streamed.CudaGram.__init__ = noted

def each_way():
    # Rows, points, memory, and the largest block that may be made of them.
    chunk = int(streamed.WORK_SHARE * SMALL / (streamed.COPIES * X.shape[1] * 8))
    assert 1 < chunk < 30
    yield X, Z, "1GB", (70, 90)
    yield X, there(Z), SMALL, (chunk, 90)
    yield X, Z, SMALL, (chunk, chunk)
    yield there(X), Z, SMALL, (70, chunk)
    yield X[:3], Z, SMALL, (3, chunk)
    yield X[:3], Z[:7], SMALL, (3, 7)

def checked_blocks(x, z, largest):
    assert max(n for n, _ in made) == largest[0] and max(m for _, m in made) == largest[1], made
    assert sum(n * m for n, m in made) == len(x) * len(z)
    made.clear()

"""

CASES = {
    "neighbors": """
for kernel in (Gaussian(0.3), Linear(), Polynomial(2, 1.0), Laplacian(0.5, norm=1)):
    for x, z, memory, largest in each_way():
        host, points = X[: len(x)], Z[: len(z)]
        rank = ranking(kernel.formula(), points)
        own = np.arange(len(x)) % (len(z) - 1)
        own[::7] = -1  # nobody's own
        for k, mine in ((1, own), (5, None), (len(z) - 1, own)):
            want = on_host.nearest(rank, host, points, k, mine)
            with mercer.config(device=DEVICE, memory=memory):
                got = nearest(rank, x, z, k, mine)
            checked_blocks(x, z, largest)
            assert got.index.shape == (len(x), k)
            assert np.allclose(got.value, want.value, rtol=1e-12, atol=1e-12), kernel
            if rank.by_distance:
                assert (got.index == want.index).all(), kernel
""",
    "neighbors that a product cannot tell apart": """
# Two clusters so far apart that products of single precision blur each; differences do not.
z = (rng.normal(size=(400, 3)) + 3000.0 * (np.arange(400) % 2)[:, None]).astype(np.float32)
rank, places = ranking(Gaussian().formula(), z), np.arange(60)
for x, own in ((z[:60], places), ((z[:60] + 0.01).astype(np.float32), None)):
    apart = ((x[:, None].astype(float) - z.astype(float)) ** 2).sum(2)
    if own is not None:
        apart[places, own] = np.inf
    want = np.argsort(apart, axis=1, kind="stable")[:, :3]
    for points in (z, there(z)):
        for memory in ("1GB", 24000):
            with mercer.config(device=DEVICE, memory=memory):
                got = nearest(rank, x, points, 3, own)
            assert (got.index == want).all(), memory
            assert np.allclose(-got.value, np.take_along_axis(apart, want, 1), rtol=1e-12)
""",
    "weighted sums": """
V = rng.normal(size=(90, 2))
own = np.arange(70) % 80
for kernel in (Gaussian(0.7), Epanechnikov(2.0), Gaussian(0.5) + 0.1 * Linear() + 4.0):
    for x, z, memory, largest in each_way():
        host, points, v = X[: len(x)], Z[: len(z)], V[: len(z)]
        K = kernel(host, points)
        assert K.min() >= 0
        for mine in (None, own[: len(x)] % len(z)):
            left = K.copy()
            if mine is not None:
                left[np.arange(len(x)), mine] = 0.0
            with mercer.config(device=DEVICE, memory=memory):
                got = Weights(kernel.formula(), x, z, mine).product(v)
            checked_blocks(x, z, largest)
            assert got.dtype == np.float64 and np.allclose(got, left @ v, atol=1e-12)
with mercer.config(device=DEVICE, memory=SMALL):
    try:
        Weights(Linear().formula(), X, Z).product(V)
        raise AssertionError("negative weights")
    except ValueError as error:
        assert "negative" in str(error)
""",
    "single precision": """
x, z = X.astype(np.float32), Z.astype(np.float32)
V, rank = rng.normal(size=(90, 2)), ranking(Gaussian(0.3).formula(), z)
want = on_host.nearest(rank, x, z, 5)
for points in (z, there(z)):
    with mercer.config(device=DEVICE, memory=SMALL // 2):
        got = nearest(rank, x, points, 5, None)
        sums = Weights(Gaussian(0.7).formula(), x, points).product(V)
        assert len(made) > 2
    assert (got.index == want.index).all()
    assert np.allclose(got.value, want.value, rtol=1e-6)
    assert np.allclose(sums, Gaussian(0.7)(X, Z) @ V, atol=1e-4)
""",
    "rows that are no numbers": """
rank = ranking(Gaussian().formula(), Z)
for bad, name in [((np.r_[X, [[0, np.nan, 0]]], Z), "X"), ((X, np.r_[Z, [[0, np.inf, 0]]]), "Z")]:
    for call in (lambda: nearest(rank, *bad, 3, None),
                 lambda: Weights(rank.kernel, *bad).product(np.ones((91, 1)))):
        for memory in ("1GB", SMALL):
            with mercer.config(device=DEVICE, memory=memory):
                try:
                    call()
                    raise AssertionError(name)
                except ValueError as error:
                    assert str(error).startswith(name + " "), error
""",
    "a full device": """
def full(self, *rows):
    raise RuntimeError("CUDA out of memory. Tried to allocate 3 GiB")

rank = ranking(Gaussian().formula(), Z)
for how in ("chunks", "whole"):
    streamed.CudaGram.__init__ = full
    for call in (lambda: nearest(rank, X, Z, 3, None),
                 lambda: Weights(rank.kernel, X, Z).product(np.ones((90, 1)))):
        with mercer.config(device=DEVICE, memory=SMALL if how == "chunks" else "1GB"):
            try:
                call()
                raise AssertionError("no error")
            except MemoryError as error:
                assert "(70, 3) and (90, 3)" in str(error) and "memory=" in str(error)
""",
}


@pytest.mark.parametrize("name", list(CASES))
def test_chunks_change_nothing(name, run_on_device):
    run_on_device(BEGIN + CASES[name] + '\nprint("checked")\n')
