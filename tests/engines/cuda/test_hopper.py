"""The loop for Hopper: compiled without a device, its generated part run by NumPy, all on one."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("triton.experimental.gluon", reason="this Triton has no Gluon")

import mercer  # noqa: E402
from mercer._notices import MachineWarning  # noqa: E402
from mercer.engines.cuda import hopper  # noqa: E402
from mercer.engines.cuda.gram import CudaGram  # noqa: E402
from mercer.engines.cuda.hopper.values import render_values  # noqa: E402
from mercer.engines.cuda.operands import layouts_of  # noqa: E402
from mercer.kernels import Cosine, Gaussian, Laplacian, Linear, Matern, Polynomial  # noqa: E402

KERNELS = {
    "gaussian": Gaussian(6.0),
    "matern": Matern(1.5, 12.0),
    "polynomial": Polynomial(3, 1.0),
    "cosine": Cosine(),
    "sum": 0.5 * Gaussian(5.0) * Polynomial(2, 1.0) + Gaussian(9.0) + 0.1 * Linear(),
}
#: Row values beside the product (64), as columns of it (40, 100), and packed rows (16).
WIDTHS = (16, 40, 64, 100)

COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.experimental.gluon._runtime import GluonASTSource
from mercer.engines.cuda import hopper
from mercer.engines.cuda.hopper.kernel import block_layout, kernel
from mercer.gram.cpu.compiled import load_generated

text = {text!r}
module = load_generated(text)
height, width, step, stages, warps = {tiles}
rows = lambda n: f"tensordesc<fp16[{{n}}, {{step}}],{{block_layout(n, step)!r}}>"
signature = dict(xh=rows(height), xl=rows(height), zh=rows(width), zl=rows(width))
signature |= dict.fromkeys(("rx", "rz", "numbers", "diagonal", "v", "out"), "*fp32")
signature |= dict.fromkeys(("n", "m", "height", "breadth", "length", "room"), "i32")
signature |= dict(pairs="*i64", found="*i64")
fixed = dict(
    of_rows=module.of_rows, of_columns=module.of_columns, distances=module.distances,
    values=module.values, is_near=module.is_near, far=module.far, REPAIRED={repaired},
    KIND={key[0]!r}, VECTORS=3, SQUARE={key[0]!r} == "symmetric", KEPT={key[1]}, PARTS={key[2]},
    STEPS=1 if {key[1]} else 3, STAGES=stages, num_warps=warps,
)
signature |= dict.fromkeys(fixed, "constexpr")
places = {{(kernel.arg_names.index(name),): value for name, value in fixed.items()}}
source = GluonASTSource(fn=kernel, signature=signature, constexprs=places)
made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=dict(num_warps=warps))
print("wgmma" in made.asm["ptx"], "cp.async.bulk.tensor" in made.asm["ptx"])
"""


def rows_of(d: int, n: int, seed: int) -> "torch.Tensor":
    """Rows about as far from each other, whatever their width."""
    rows = np.random.default_rng(seed).normal(size=(n, d)) * 8 / np.sqrt(d)
    return torch.tensor(rows.astype(np.float32))


@pytest.mark.parametrize(
    ("key", "kernel"),
    [
        (("symmetric", True, 2), KERNELS["sum"]),
        (("symmetric", True, 2), Laplacian(0.1)),
        pytest.param(("vector", False, 2), KERNELS["sum"], marks=pytest.mark.slow),
        pytest.param(("vector", False, 2), Laplacian(0.1), marks=pytest.mark.slow),
        pytest.param(("dense", False, 1), KERNELS["sum"], marks=pytest.mark.slow),
    ],
)
def test_the_loop_compiles_without_a_device(key, kernel):
    repaired = isinstance(kernel, Laplacian)
    gram = CudaGram(kernel, rows_of(64 if key[1] else 200, 20, 0))
    assert bool(gram.near) == repaired
    layout = layouts_of(gram)[0]
    text = render_values(gram.program, layout, 1.0).text
    tiles = hopper._tiles(key[0], replace(layout, parts=key[2]), 3)
    source = Path(hopper.__file__).parents[4]
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    run = subprocess.run(
        [sys.executable, "-c", COMPILE.format(text=text, key=key, tiles=tiles, repaired=repaired)],
        env=environment | {"PYTHONPATH": str(source)}, capture_output=True, text=True,
    )  # fmt: skip
    assert run.stdout.split() == ["True", "True"], run.stderr[-2000:]


VALUES = """
import numpy as np, torch
from mercer.engines.cuda.gram import CudaGram
from mercer.engines.cuda.hopper.values import render_values
from mercer.engines.cuda.operands import layouts_of, prepare_products, scale_of
from mercer.kernels import *

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Pointer:
    '''Where an array starts, and how far from there.'''

    def __init__(self, values, at=0):
        self.values, self.at = values, at

    def __add__(self, more):
        return Pointer(self.values, self.at + more)


class Numbers:
    '''The words of Gluon that generated functions use, for NumPy arrays.'''

    float32 = np.float32
    exp2, log, sqrt, where = np.exp2, np.log, np.sqrt, np.where
    maximum, minimum, abs = np.maximum, np.minimum, np.abs

    @staticmethod
    def load(pointer):
        return pointer.values[pointer.at]

    @staticmethod
    def inline_asm_elementwise(assembly, constraints, arguments, **options):
        assert "ex2.approx" in assembly
        return np.exp2(arguments[0])


def rows_of(d, n, seed, size):
    rows = np.random.default_rng(seed).normal(size=(n, d)) * 8 / np.sqrt(d) * size
    return torch.tensor(rows.astype(np.float32), device=DEVICE)


def check_values(kernel, d, size=1.0):
    x, z = rows_of(d, 20, 1, size), rows_of(d, 30, 2, size)
    gram = CudaGram(kernel, x, z)
    (layout,) = layouts_of(gram).values()
    rows = gram.program.sources[0].rows
    left, right = (
        [p.double().cpu().numpy()[:size] for p in parts]
        for size, parts in zip((20, 30), prepare_products(gram, gram._x, gram._z, rows, layout))
    )
    t = left[0] @ right[0].T
    if layout.parts == 2:
        t = t + left[0] @ right[1].T + left[1] @ right[0].T
    scale = scale_of(gram, rows, layout.fold) ** -2 if layout.scaled else 1.0
    written = render_values(gram.program, layout, scale)
    text = written.text.replace("@gluon.jit", "")
    text = chr(10).join(line for line in text.splitlines() if not line.startswith("from "))
    made = {"tl": Numbers}
    exec(text, made)
    numbers = Pointer(np.array(written.numbers + [0.0]))
    row_values, column_values = (
        Pointer(np.concatenate([side.values[i].double().cpu().numpy() for i in wanted] or [[0.0]]))
        for side, wanted in ((gram._x, written.row_x), (gram._z, written.row_z))
    )
    k = made["values"](
        t,
        made["of_rows"](numbers, row_values, np.arange(20), 20),
        made["of_columns"](column_values, np.arange(30), 30),
    )
    exact = kernel(x.double().cpu().numpy(), z.double().cpu().numpy())
    assert np.abs(k - exact).max() <= 2e-6 * np.abs(exact).max(), (kernel, d)

{body}
print("checked")
"""


@pytest.mark.parametrize("name", KERNELS)
def test_generated_values_are_the_kernel(name, run_on_device):
    body = f"for d in {WIDTHS}:\n    check_values({KERNELS[name]!r}, d)"
    run_on_device(VALUES.replace("{body}", body))


def test_generated_values_of_rows_that_half_precision_needs_scaled(run_on_device):
    body = "for size in (1e-4, 1e4):\n    check_values(Polynomial(2, size**2), 64, size)"
    run_on_device(VALUES.replace("{body}", body))


def test_what_cannot_be_compiled_is_left_to_triton_and_what_ran_is_not(monkeypatch):
    gram = CudaGram(KERNELS["gaussian"], rows_of(64, 5, 0))
    (layout,) = layouts_of(gram).values()
    other = CudaGram(KERNELS["matern"], rows_of(64, 5, 0))
    answers = [torch.ones(5, 5)]
    monkeypatch.setattr(hopper, "_launch", lambda *a: answers.pop())
    monkeypatch.setattr(hopper, "_runs", {})
    ask = (gram, "dense", gram._x, gram._z, None, None, layout)
    assert hopper.launch(*ask) is not None
    with pytest.raises(IndexError):  # an error of its own, not of the compiler
        hopper.launch(*ask)
    with pytest.warns(MachineWarning, match="a slower one is used"):
        assert hopper.launch(gram, "vector", *ask[2:]) is None
    uses = [(one, kind) for one in (gram, other) for kind in ("dense", "vector")]
    known = [hopper._runs.get(hopper._compiled(o, kind, layouts_of(o)[0])) for o, kind in uses]
    assert known == [True, False, None, None]  # of another kernel nothing is known


@pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9,
    reason="there is no Hopper GPU",
)
@pytest.mark.parametrize("precision", ["high", "fast"])
@pytest.mark.parametrize("d", [*WIDTHS, 784])
def test_products_on_hopper(d, precision, monkeypatch):
    used = []
    real = hopper._launch
    monkeypatch.setattr(hopper, "_launch", lambda *a: used.append(a[1]) or real(*a))
    for name in KERNELS:
        used.clear()
        check(name, d, precision)
        assert "vector" in used or (precision == "fast" and d < 40)
        assert ("symmetric" in used) == (d >= 100 or (d >= 40 and precision == "high"))
        assert ("dense" in used) == (d >= 100)


def check(name, d, precision):
    X, Z = rows_of(d, 700, 3), rows_of(d, 1301, 4)
    kernel, limit = KERNELS[name], 1e-5 if precision == "high" else 2e-3
    K, S = kernel(X.double().numpy(), Z.double().numpy()), kernel(X.double().numpy())
    v, w = np.random.default_rng(5).normal(size=(2, 1301)).astype(np.float32)
    with mercer.config(precision=precision):
        G, Q = CudaGram(kernel, X.cuda(), Z.cuda()), CudaGram(kernel, X.cuda())
        for got, want in (
            (G @ torch.tensor(v).cuda(), K @ v),
            (Q @ torch.tensor(w[:700]).cuda(), S @ w[:700]),
            (G.dense(), K),
            (Q.dense(), S),
        ):
            size = np.abs(S).max() * (np.linalg.norm(v) if want.ndim == 1 else 1.0)
            assert np.abs(got.double().cpu().numpy() - want).max() <= limit * size
