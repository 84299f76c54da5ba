"""The harness judges correctly and measures what it says; `make bench` runs the claims."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parent.parent / "bench"
FILES = sorted(p.stem for p in BENCH.glob("*.py") if "\ndef measure(" in p.read_text("utf-8"))


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("_harness")


def test_targets_are_judged_the_right_way_round(harness: ModuleType) -> None:
    assert harness.claim("a", 1.1, 1.0, harness.at_most(1.15)).ok
    assert not harness.claim("a", 1.2, 1.0, harness.at_most(1.15)).ok
    assert harness.claim("a", 1.0, 3.0, harness.faster(2.5)).ok
    assert not harness.claim("a", 3.0, 1.0, harness.faster(2.5)).ok
    assert harness.claim("a", 60.0, None, harness.below(64, "MB")).ok
    assert not harness.claim("a", 65.0, None, harness.below(64, "MB")).ok
    assert harness.skipped("a", harness.faster(2), "no data").ok is None


def test_race_interleaves_and_keeps_the_cold_call_apart(
    harness: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    clock = [0.0]  # told by hand: a busy machine must not decide this test
    monkeypatch.setattr(harness, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    # A look at all objects of a whole run takes a second, and there are eight.
    monkeypatch.setattr(harness, "gc", SimpleNamespace(collect=lambda: 0))

    def slow_at_first() -> None:
        order.append("ours")
        clock[0] += 0.5 if order.count("ours") == 1 else 0.125

    def peer() -> None:
        order.append("peer")
        clock[0] += 0.25

    result = harness.race(slow_at_first, peer, rounds=3)
    assert order == ["ours", "peer", "ours", "peer", "peer", "ours", "ours", "peer"]
    assert (result.cold_ours, result.cold_peer) == (0.5, 0.25)
    assert (result.ours, result.peer) == (0.125, 0.25)


def test_peak_growth_sees_memory_that_was_freed_again(harness: ModuleType) -> None:
    if not Path("/proc/self/status").exists():
        pytest.importorskip("psutil")

    def touch() -> float:
        return float(np.ones(100_000_000 // 8).sum())

    assert 80e6 < harness.peak_growth(touch) < 160e6
    assert harness.peak_growth(lambda: None) < 40e6


def test_memory_is_measured_in_another_process(harness: ModuleType) -> None:
    assert harness.in_new_process("_harness.py", "quantity", 0.25, "s") == "250 ms"
    with pytest.raises(RuntimeError, match="failed"):
        harness.in_new_process("_harness.py", "no_such_function")


def test_missing_data_is_said(
    harness: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    (tmp_path / "here.npz").touch()
    assert harness.data_file("here.npz") == tmp_path / "here.npz"
    assert harness.data_file("absent.npz") is None
    assert "MERCER_DATA" in harness.no_data("absent.npz")


@pytest.mark.parametrize("name", FILES)
def test_every_bench_file_imports(harness: ModuleType, name: str) -> None:
    assert callable(importlib.import_module(name).measure)


def test_the_claims_of_the_foundation_are_there() -> None:
    assert {"gaussian_gram", "gaussian_matvec", "mnist_matvec", "composite"} <= set(FILES)
    assert {"laplacian_l1", "memory_limit", "import_time"} <= set(FILES)
