"""What may be given to a device: bytes, halves, a kernel matrix, arrays of other libraries."""

import pytest

BEGIN = """
import warnings
import numpy as np, torch, mercer
from mercer.kernels import *
from mercer.learners import *
from mercer.engines.cuda.gram import CudaGram
from mercer.engines.cuda.triton_launch import layouts_of
from sklearn.base import clone

warnings.simplefilter("ignore")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
rng = np.random.default_rng(0)

def there(values, dtype=None):
    return torch.as_tensor(np.asarray(values), device=DEVICE, dtype=dtype)

def answers(model, Q):
    for name in ("decision_function", "predict", "transform", "score_samples"):
        if hasattr(model, name):
            return np.abs(np.asarray(mercer._arrays.host(getattr(model, name)(Q)), dtype=float))

X = rng.normal(size=(50, 4))
t, c = np.sin(X[:, 0]), (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
"""

CASES = {
    "one part holds whole multiples of a step": """
codes, others = rng.integers(0, 256, size=(70, 40)), rng.integers(0, 256, size=(90, 40))
apart = rng.random((70, 40))

def check(kernel, x, z, parts):
    K = kernel(x.double().cpu().numpy(), z.double().cpu().numpy())
    S = kernel(x.double().cpu().numpy())
    G, Q = CudaGram(kernel, x, z), CudaGram(kernel, x)
    (layout,) = layouts_of(G).values()
    assert (1 if not layout.split else layout.parts + 1) == parts, (kernel, x.dtype, layout)
    v, w = (there(rng.normal(size=n), torch.float32) for n in (len(z), len(x)))
    assert np.abs(G.dense().cpu().numpy() - K).max() <= 1e-5 * np.abs(K).max()
    for got, M, u in ((G @ v, K, v), (Q @ w, S, w)):
        error = np.abs(got.cpu().numpy() - M @ u.double().cpu().numpy()).max()
        assert error <= 1e-5 * np.abs(M).max() * float(u.norm())

for kernel in (Gaussian(2.0), Polynomial(3, 1.0), Gaussian(2.0) * Polynomial(2, 1.0)):
    check(kernel, there(codes, torch.float32) / 255, there(others, torch.float32) / 255, 1)
    check(kernel, there(codes % 7, torch.float32) / 3, there(others % 7, torch.float32) / 3, 1)
    check(kernel, there(apart, torch.float32), there(apart[:9], torch.float32), 3)
    # Steps that are lost in the digits of a large offset would change what the numbers say.
    far = there(codes, torch.float32) / 255 + 1000
    check(kernel, far, there(others, torch.float32) / 255 + 1000, 3)
# So would they beside a smaller offset, for a Gaussian that is narrow enough to see it.
near, beside = ((700 + there(c % 26, torch.float32)) / 255 for c in (codes, others))
check(Gaussian(0.1), near, beside, 3)
check(Gaussian(300.0), there(codes, torch.uint8), there(others, torch.uint8), 1)
for dtype in (torch.float16, torch.bfloat16):
    check(Gaussian(4.0), there(apart, dtype), there(apart[:9], dtype), 1)
# Far from zero a center must be taken off, and what is left has more digits than one half.
far = there(apart, torch.float16) + 50
check(Gaussian(2.0), far, far[:9], 3)
""",
    "narrow numbers stay as they are": """
bytes_, X, t, c = rng.integers(0, 5, size=(24, 6)), X[:24], t[:24], c[:24]
for dtype in (torch.float16, torch.bfloat16, torch.uint8):
    rows = there(bytes_, dtype) if dtype == torch.uint8 else there(X, dtype)
    assert Gaussian(1.0).gram(rows).points().dtype == dtype
    for model, target in (
        (KernelRidge("gaussian(1)", alpha=0.1), t),
        (KernelSVC("gaussian(1)"), c),
        (KernelPerceptron("gaussian(1)", epochs=2, shuffle=False), c),
        (NadarayaWatsonRegressor("gaussian(1)", bandwidth=2.0), t),
        (KernelNeighborsClassifier("gaussian(1)"), c),
    ):
        a, b = clone(model).fit(rows, target), clone(model).fit(rows.float(), target)
        assert np.allclose(answers(a, rows), answers(b, rows.float()), atol=1e-5), (model, dtype)
    d = Gaussian(1.0).distance(rows)
    assert d.dtype == torch.float32
    assert torch.allclose(d, Gaussian(1.0).distance(rows.float()), atol=1e-3)
""",
    "a matrix that is given": """
Q = rng.normal(size=(15, 4))
K, KQ = Gaussian(1.5)(X), Gaussian(1.5)(Q, X)
G = Precomputed().gram(there(K))
assert G.engine == "cuda" and torch.equal(G.dense(), there(K))
assert torch.equal(G.diagonal(), there(np.diag(K))) and "given" in G.describe()[0]
some = Precomputed().gram(there(KQ), [3, 1])
assert torch.equal(some.dense(), there(KQ[:, [3, 1]]))
assert torch.allclose(some @ there([1.0, 2.0]), there(KQ[:, [3, 1]] @ [1.0, 2.0]))
for bad, word in (
    (lambda: Precomputed().gram(there(KQ)), "square"),
    (lambda: Precomputed().gram(there(KQ), [99]), "column 99"),
    (lambda: Precomputed().gram(there(KQ), [3]).diagonal(), "k(x, x)"),
):
    try:
        bad()
        raise AssertionError(word)
    except ValueError as error:
        assert word in str(error), error
for model, target in (
    (KernelRidge("precomputed", alpha=0.1, solver="cholesky"), t),
    (KernelRidge("precomputed", alpha=0.1, solver="nystrom", n_centers=20, random_state=0), t),
    (KernelSVC("precomputed", C=2, tol=1e-6), c),
    (KernelSVR("precomputed", tol=1e-6), t),
    (KernelPerceptron("precomputed", epochs=3, shuffle=False), c),
    (KernelLogisticRegression("precomputed", alpha=0.1), c),
    (KernelPCA("precomputed", n_components=3), None),
):
    on, off = (clone(model).fit(k, target) for k in (there(K), K))
    assert np.allclose(answers(on, there(KQ)), answers(off, KQ), atol=1e-4), model
""",
    "arrays of another library": """
class Foreign:
    '''Nothing but shape, length and DLPack.'''
    def __init__(self, tensor):
        self.tensor, self.shape = tensor, tuple(tensor.shape)
    def __len__(self):
        return self.shape[0]
    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)
    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

T = there(X, torch.float32)
F = Foreign(T)
assert torch.equal(Gaussian(1.0)(F), Gaussian(1.0)(T))
assert torch.equal(Gaussian(1.0)(T, Foreign(T[:5])), Gaussian(1.0)(T, T[:5]))
for model, target in (
    (KernelRidge("gaussian(1)", alpha=0.1), t),
    (KernelSVC("gaussian(1)"), c),
    (KernelNeighborsClassifier("gaussian(1)"), c),
):
    a, b = clone(model).fit(F, Foreign(there(target))), clone(model).fit(T, target)
    assert torch.equal(a.predict(F), b.predict(T))
    assert a.score(F, Foreign(there(target))) == b.score(T, target)
""",
    "sparse rows stay sparse where few numbers are stored": """
from dataclasses import replace
from scipy import sparse
import mercer.engines.cuda as device
from mercer.gram.dispatch import make_gram
from mercer.gram.host import HostGram
from mercer.engines.cuda.sparse import SparseGram

if torch.cuda.is_available():
    mercer.set_config(device="cuda")
else:
    settings = device.get_config
    device.get_config = lambda: replace(settings(), device="cuda")
    device.require_cuda = lambda: None
S = sparse.random(60, 2000, 0.004, format="csr", random_state=0)
Q = sparse.random(25, 2000, 0.004, format="csr", random_state=1)
for kernel in (Gaussian(1.0), Polynomial(2, 1.0), Gaussian(1.0) * Linear() + Linear()):
    for dtype, limit in ((np.float64, 1e-12), (np.float32, 1e-5)):
        x, z = S.astype(dtype), Q.astype(dtype)
        K, own = (HostGram(kernel, S.toarray(), Z).dense() for Z in (Q.toarray(), None))
        G, W = make_gram(kernel, x, z), make_gram(kernel, x)
        assert isinstance(G, SparseGram) and isinstance(W, SparseGram)
        V = rng.normal(size=(25, 2))
        index = np.array([3, 50, 1])
        for got, wanted in (
            (G.dense(), K), (G @ V, K @ V), (G.T.dense(), K.T), (W.diagonal(), np.diag(own)),
            (W.take(index, [0, 5]).dense(), own[index][:, [0, 5]]), (W.in_double(), own),
        ):
            assert np.allclose(mercer._arrays.host(got), wanted, atol=limit * np.abs(own).max())
# Where differences are needed, or a center, rows are dense: so are those of many numbers.
assert not isinstance(make_gram(Laplacian(1.0, norm=1), S), SparseGram)
assert not isinstance(make_gram(Gaussian(1.0), S * 1e4), SparseGram)
assert not isinstance(make_gram(Gaussian(1.0), S[:, :50]), SparseGram) or S[:, :50].nnz < 15
y, labels = S.sum(axis=1).A1 + 0.1 * rng.normal(size=60), (S.sum(axis=1).A1 > 4).astype(int)
for model, target in (
    (KernelRidge("gaussian(1)", alpha=0.1), y),
    (KernelSVC("gaussian(1)", tol=1e-6), labels),
    (KernelPerceptron("polynomial(2, offset=1)", shuffle=False, epochs=2), labels),
    (KernelNeighborsClassifier("gaussian(1)"), labels),
):
    on, off = (clone(model).fit(rows, target) for rows in (S, S.toarray()))
    assert np.allclose(answers(on, Q), answers(off, Q.toarray()), atol=1e-5), model
""",
    "errors of memory free what was taken": """
from mercer.engines.cuda.memory import room_for
import weakref
seen = []

def product():
    big = torch.zeros(100, device=DEVICE)
    seen.append(weakref.ref(big))
    raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB.")

try:
    with room_for(X):
        product()
except MemoryError as error:
    kept = error
assert "no room for rows of shape (50, 4)" in str(kept)
assert seen[0]() is None
""",
}


@pytest.mark.parametrize("name", list(CASES))
def test_what_a_device_takes(name, run_on_device):
    run_on_device(BEGIN + CASES[name] + '\nprint("checked")\n')


ON_A_GPU = {
    "a full device is told, and is free again": """
X, V = torch.rand(200_000, 3, device="cuda"), torch.rand(200_000, 512, device="cuda")
G = Gaussian(0.3).gram(X)
v = torch.ones(200_000, device="cuda")
G @ v
torch.cuda.empty_cache()
room = torch.cuda.mem_get_info()[0] - (100 << 20)
hog = torch.empty(room, dtype=torch.uint8, device="cuda")
before = torch.cuda.memory_allocated()
try:
    G @ V
    raise AssertionError("there was room")
except MemoryError as error:
    kept = error
assert "no room for rows of shape (200000, 3)" in str(kept)
# G keeps its rows in half precision, 13 MB; the result would have 400.
assert torch.cuda.memory_allocated() <= before + (16 << 20)
del hog
torch.cuda.empty_cache()
assert torch.isfinite(G @ v).all()
""",
    "the perceptron of float64, update by update": """
rows = torch.rand(20_000, 30, device="cuda")
labels = ((rows[:, 0] - 0.5) * (rows[:, 1] - 0.5) > 0).long() + (rows[:, 2] > 0.7).long()
options = {"epochs": 3, "shuffle": False}
a = KernelPerceptron(Polynomial(3, 1.0), **options).fit(rows.double(), labels)
here = rows.double().cpu().numpy(), labels.cpu().numpy()
b = KernelPerceptron(Polynomial(3, 1.0), **options).fit(*here)
assert np.array_equal(a.mistakes_, b.mistakes_)
with mercer.config(memory="300MB"):
    spans = KernelPerceptron(Polynomial(3, 1.0), **options).fit(rows.double(), labels)
assert np.array_equal(a.mistakes_, spans.mistakes_)
""",
    "support vectors of scikit-learn, K kept and computed": """
from sklearn.svm import SVC
rows = rng.integers(0, 256, size=(6000, 30)).astype(np.float32) / 255
labels = ((rows[:, 0] - 0.5) * (rows[:, 1] - 0.5) > 0).astype(int) + (rows[:, 2] > 0.5)
peer = SVC(C=5, gamma=2.0, tol=1e-4).fit(rows, labels)
for memory in ("8GB", "100MB"):
    with mercer.config(memory=memory):
        model = KernelSVC(Gaussian.from_gamma(2.0), C=5, tol=1e-4).fit(there(rows), labels)
    theirs, ours = peer.decision_function(rows[:500]), model.decision_function(there(rows[:500]))
    assert np.abs(theirs - ours.cpu().numpy()).max() < 0.02, memory
""",
}


@pytest.mark.gpu
@pytest.mark.parametrize("name", list(ON_A_GPU))
def test_on_a_gpu(name, run_on_device):
    run_on_device(BEGIN + ON_A_GPU[name] + '\nprint("checked")\n')
