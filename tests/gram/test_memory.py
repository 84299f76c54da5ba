"""The memory limit: planned for, kept, and refused in a sentence where nothing fits."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
import mercer.tuning as tuning
from mercer import Gaussian, Laplacian, Polynomial
from mercer.gram import plan
from mercer.kernels import Similarity, parse

RNG = np.random.default_rng(9)


def planned(k, n: int, columns: int, limit: int, threads: int = 2, **options):
    X = np.zeros((n, columns), dtype=np.float32)
    with mercer.config(memory=limit, threads=threads):
        return k.gram(X)._plan(**options)


@pytest.mark.parametrize("text", ["gaussian(3)", "gaussian() + laplacian()*linear()", "periodic()"])
@pytest.mark.parametrize("limit", [2_000_000, 20_000_000, 100_000_000, 10_000_000_000])
def test_scratch_stays_below_the_limit(text: str, limit: int) -> None:
    p = planned(parse(text), 20_000, 30, limit)
    assert p.scratch_bytes <= limit / 1.1
    assert p.scratch_bytes <= 2 * tuning.SCRATCH_BYTES, "more scratch than the caches can use"
    assert 1 <= p.tile[0] <= 20_000
    assert 1 <= p.tile[1] <= 20_000


def test_what_is_given_away_already_is_counted() -> None:
    k = Polynomial(2)
    free = planned(k, 20_000, 30, 50_000_000)
    tight = planned(k, 20_000, 30, 50_000_000, fixed=49_000_000)
    assert tight.scratch_bytes < free.scratch_bytes
    assert tight.scratch_bytes <= 1_000_000
    with pytest.raises(MemoryError, match=r"a single tile needs .* memory limit is 50 MB"):
        planned(k, 20_000, 30, 50_000_000, fixed=50_000_000)


def test_packed_rows_are_counted_or_done_without() -> None:
    k = Laplacian(norm=1)
    roomy = planned(k, 20_000, 100, 100_000_000)
    assert roomy.compiled
    tight = planned(k, 20_000, 100, 8_000_000)
    assert not tight.compiled, "the packed rows alone take 8 MB"
    between = planned(k, 20_000, 50, 8_100_000)
    assert between.compiled
    assert between.scratch_bytes + 20_000 * 50 * 4 <= 8_100_000


def test_black_boxes_say_what_a_block_takes() -> None:
    class Hungry(Similarity):
        def bytes_per_pair(self) -> int:
            return 800

    X = RNG.normal(size=(3000, 2))
    with mercer.config(memory="20MB", threads=1):
        modest = Similarity(max).gram(X)._plan().tile
        hungry = Hungry(max).gram(X)._plan().tile
    assert hungry[0] * hungry[1] < modest[0] * modest[1] / 20


def test_dense_that_cannot_fit_fails_at_once_with_the_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.zeros((200_000, 3), dtype=np.float32)
    G = Gaussian().gram(X)
    with monkeypatch.context() as patch, mercer.config(memory="1GB"):
        # before any work: neither memory is taken nor a tile computed
        for name in ("empty", "zeros"):
            patch.setattr(np, name, lambda *_, **__: pytest.fail("memory was taken"))
        with pytest.raises(MemoryError) as told:
            G.dense()
    message = str(told.value)
    assert "200000 × 200000" in message
    assert "needs 160 GB" in message
    assert "limit is 1 GB" in message
    assert "'cg'" in message
    assert "'nystrom'" in message
    assert "mercer.set_config(memory=" in message


def test_a_very_small_limit_still_computes_or_says_why() -> None:
    X = RNG.normal(size=(300, 20)).astype(np.float32)
    expected = Gaussian(4.0)(X)
    with mercer.config(memory="150KB", threads=2):
        G = Gaussian(4.0).gram(X)
        assert G._plan().tile[0] * G._plan().tile[1] < 300 * 300
        np.testing.assert_allclose(G.dense(np.empty_like(expected)), expected, atol=1e-6)
        np.testing.assert_allclose(G @ np.ones(300), expected.sum(1), rtol=1e-5)
    with mercer.config(memory="8KB"), pytest.raises(MemoryError, match="Raise it with"):
        G @ np.ones(300)
    with mercer.config(memory="20KB"), pytest.raises(MemoryError, match="matrix needs 360 KB"):
        G.dense()


SCRIPT = """
    import threading, time
    import numpy as np
    import mercer
    from mercer.kernels import Similarity

    LIMIT = 100_000_000

    def resident():
        with open("/proc/self/statm") as numbers:
            return int(numbers.read().split()[1]) * 4096

    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 40)).astype(np.float32)
    V = rng.normal(size=(12_000, 3)).astype(np.float32)
    words = [str(i) for i in range(3000)]
    mercer.set_config(memory=LIMIT, threads=2, progress=False)
    kernels = [
        (mercer.Gaussian(6.0), X, V),
        (mercer.Gaussian(6.0) + mercer.Polynomial(2) * mercer.Laplacian(), X, V),
        (mercer.Periodic(3.0), X[:1500, :8], V[:1500]),
        (Similarity(lambda A, B: np.ones((len(A), len(B))), blocks=True), words, V[:3000]),
    ]
    import numba
    import mercer.gram.cpu.loops, mercer._machine.lanes
    mercer.Laplacian().gram(X[:200]) @ V[:200]
    for k, rows, weights in kernels:
        gram = k.gram(rows)
        gram.take(slice(0, 2), slice(0, 2)).dense()
        gram._filler(gram._plan())  # compiling takes memory of its own
        if gram._plan().compiled:
            gram.tile(slice(0, 64), slice(0, 64))
        begin = resident()
        peak, done = [begin], threading.Event()

        def watch():
            while not done.wait(0.002):
                peak[0] = max(peak[0], resident())

        watcher = threading.Thread(target=watch)
        watcher.start()
        gram @ weights
        done.set()
        watcher.join()
        growth = peak[0] - begin
        assert growth <= 1.1 * LIMIT, f"{k}: {growth / 1e6:.0f} MB"
        print(k, growth)
"""


@pytest.mark.linux
def test_products_stay_within_the_limit() -> None:
    """Resident memory of a process of its own, looked at every 2 ms while K V is computed."""
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) == 4


@pytest.mark.parametrize("text", ["gaussian(3).warp('tanh')", "cosine()", "gaussian(3).on([0, 2])"])
def test_the_rows_that_input_maps_make_are_counted(text: str) -> None:
    X = RNG.normal(size=(3000, 200)).astype(np.float32)
    with mercer.config(memory="20MB"):
        gram = parse(text).gram(X)
        held = plan.held_bytes(*gram.operands())
        assert 4 * 3000 * 2 <= held <= X.nbytes
        assert gram._plan().scratch_bytes + held <= 20_000_000
        assert plan.held_bytes(*Gaussian(3.0).gram(X).operands()) == 0
    with mercer.config(memory=held), pytest.raises(MemoryError, match="a single tile needs"):
        gram @ np.ones(3000)


@pytest.mark.parametrize(("columns", "share"), [(300, 0.05), (5000, 0.002)])
def test_what_products_of_sparse_rows_make_is_counted(
    columns: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("rows", "plan"):
        monkeypatch.setattr(f"mercer.gram.{module}.scatters", lambda *_: False)
    rows = sp.random_array((2000, columns), density=share, rng=RNG, format="csr")
    with mercer.config(memory="4MB", threads=1):
        plan = Gaussian().gram(rows)._plan()
    height, width = plan.tile
    made = 8 * height * width + (8 * columns * (height + width) if columns == 300 else 0)
    made += 24 * height * width if columns == 5000 else 0
    assert made <= plan.scratch_bytes <= 4_000_000


def test_sparse_rows_by_columns_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("rows", "plan"):
        monkeypatch.setattr(f"mercer.gram.{module}.scatters", lambda *_: True)
    rows = sp.random_array((500, 300), density=0.1, rng=RNG, format="csr")
    gram = Gaussian().gram(rows)
    assert plan.products_of(gram.program, *gram.operands()).held >= rows.nnz * 12
    with mercer.config(memory="1MB"):
        small = plan.products_of(gram.program, *gram.operands())
    assert small.held == 0
    assert 500 * small.per_column >= rows.nnz * 24
