"""The one loop over tiles: every tile once, in any number of threads, stopping when told."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import mercer
from mercer._machine import threads as _threads
from mercer._machine.threads import single_threaded_blas
from mercer._tiles import Scratch, Tiling, cut, mirror, stretch, sweep


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize(("shape", "tile"), [((10, 7), (3, 4)), ((1, 1), (5, 5)), ((8, 8), (4, 8))])
def test_every_tile_once(shape, tile, fixed, threads) -> None:
    seen = np.zeros(shape, dtype=int)
    sweep(Tiling(shape, tile, threads, fixed=fixed), lambda r, c, s: _add(seen, r, c))
    assert (seen == 1).all()


def _add(seen: np.ndarray, rows: slice, columns: slice) -> None:
    seen[rows, columns] += 1


@pytest.mark.parametrize("threads", [1, 3])
def test_a_triangle_covers_everything_on_and_above_the_diagonal(threads: int) -> None:
    seen = np.zeros((11, 11), dtype=int)
    sweep(Tiling((11, 11), (4, 3), threads, triangle=True), lambda r, c, s: _add(seen, r, c))
    assert (seen[np.triu_indices(11)] == 1).all()
    assert seen[10, 0] == 0


def test_fixed_panels_belong_to_their_thread() -> None:
    owner = {}
    sweep(
        Tiling((12, 4), (2, 4), 3, fixed=True),
        lambda r, c, s: owner.__setitem__(r.start // 2, s.thread),
    )
    assert owner == {i: i % 3 for i in range(6)}


def test_nothing_to_do_is_done_at_once() -> None:
    sweep(Tiling((0, 5), (1, 5), 4), lambda r, c, s: pytest.fail("there is no tile"))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError])
def test_an_error_or_ctrl_c_stops_all_threads(kind, threads: int) -> None:
    """The one that fails stops the others, though there are many tiles left."""
    done = []

    def body(rows: slice, columns: slice, scratch: Scratch) -> None:
        if rows.start == 3:
            raise kind("stop")
        time.sleep(0.001)
        done.append(rows.start)

    with pytest.raises(kind, match="stop"):
        sweep(Tiling((2000, 1), (1, 1), threads), body)
    left = len(done)
    assert left < 200
    time.sleep(0.01)
    assert len(done) == left


def test_ctrl_c_in_the_caller() -> None:
    """Python raises it in the main thread, which works, too: the others leave after their tile."""
    done = []

    def body(rows: slice, columns: slice, scratch: Scratch) -> None:
        if threading.current_thread() is threading.main_thread() and len(done) > 20:
            raise KeyboardInterrupt
        time.sleep(0.001)
        done.append(rows.start)

    with pytest.raises(KeyboardInterrupt):
        sweep(Tiling((5000, 1), (1, 1), 2), body)
    left = len(done)
    assert left < 1000
    time.sleep(0.01)
    assert len(done) == left


def test_sweeps_in_sweeps_end_though_no_helper_is_free(monkeypatch) -> None:
    """Each thread has panels of its own, and the only helper waits in the outer sweep."""
    done = []
    with ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(_threads, "_helpers", lambda: pool)

        def inner(rows: slice, columns: slice, scratch: Scratch) -> None:
            done.append(rows.start)

        def outer(rows: slice, columns: slice, scratch: Scratch) -> None:
            sweep(Tiling((6, 1), (1, 1), 3, fixed=True), inner)

        sweep(Tiling((4, 1), (1, 1), 4, fixed=True), outer)
    assert sorted(done) == sorted([*range(6)] * 4)


def test_a_gram_is_usable_after_an_interrupt(monkeypatch) -> None:
    X = np.random.default_rng(0).normal(size=(300, 30))
    G = mercer.Polynomial(2).gram(X)
    expected = G.dense()
    engine = type(G._filler(G._plan()))
    fill = engine.fill
    with mercer.config(threads=2):
        monkeypatch.setattr(engine, "fill", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            G @ np.ones(300)
        monkeypatch.setattr(engine, "fill", fill)
        np.testing.assert_allclose(G @ np.ones(300), expected.sum(1))


def test_threads_have_the_settings_of_their_caller() -> None:
    seen = []
    with mercer.config(memory="123MB", threads=3):
        sweep(
            Tiling((6, 1), (1, 1), 3),
            lambda r, c, s: seen.append(mercer.get_config().memory_bytes),
        )
    assert set(seen) == {123_000_000}


def test_blas_has_one_thread_inside_and_its_own_again_outside() -> None:
    def blas() -> list[int]:
        return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]

    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(2, user_api="blas"):
        before = blas()
        assert 2 in before
        with single_threaded_blas():
            assert set(blas()) == {1}
            with single_threaded_blas():
                assert set(blas()) == {1}
            assert set(blas()) == {1}, "the inner block must not undo the outer one"
        assert blas() == before
        seen: list[int] = []

        def beside() -> None:
            with single_threaded_blas():
                seen.extend(blas())

        other = threading.Thread(target=beside)
        other.start()
        other.join()
        assert set(seen) == {1}, "from any thread, and not only the first that asked"
        assert blas() == before


def test_scratch_is_used_again() -> None:
    scratch = Scratch(0)
    a = scratch.get("tile", (4, 5), np.dtype("f4"))
    b = scratch.get("tile", (2, 5), np.dtype("f4"))
    assert np.shares_memory(a, b)
    assert not np.shares_memory(a, scratch.get("other", (4, 5), np.dtype("f4")))
    assert scratch.get("tile", (2, 5), np.dtype("f8")).dtype == np.float64
    assert scratch.get("tile", (9, 9), np.dtype("f8")).shape == (9, 9)


def test_cut_and_stretch() -> None:
    assert list(cut(2, 9, 3)) == [slice(2, 5), slice(5, 8), slice(8, 9)]
    assert list(cut(3, 3, 5)) == []
    assert stretch(slice(None), 5) == slice(0, 5)
    assert stretch(slice(-2, None), 5) == slice(3, 5)
    assert stretch(slice(4, 2), 5) == slice(4, 4)
    with pytest.raises(IndexError, match="a stretch of rows"):
        stretch(slice(0, 5, 2), 5)


@pytest.mark.parametrize("n", [1, 7, 255, 256, 257, 300, 513, 700, 1000])
@pytest.mark.parametrize("tile", [(64, 300), (150, 100), (256, 256), (999, 999)])
def test_the_mirror_fits_any_panel(n: int, tile: tuple[int, int]) -> None:
    """Heights that are no multiple of the squares it works in, too."""
    full = np.random.default_rng(n).normal(size=(n, n))
    full = full + full.T
    out = np.full((n, n), np.nan)

    def body(rows: slice, columns: slice, scratch: Scratch) -> None:
        out[rows, columns] = full[rows, columns]
        mirror(out, rows, columns)

    sweep(Tiling((n, n), tile, 2, triangle=True), body)
    np.testing.assert_array_equal(out, full)
