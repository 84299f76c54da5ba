"""Triton's hash of its own files is computed once, and again when a file has changed."""

import pytest

pytest.importorskip("triton", reason="Triton is not installed")

from triton.runtime import cache

from mercer.engines.cuda.ahead import key as triton_key


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """A hash that says how often it was computed, and a folder of Triton that can change."""
    calls = []

    def computed():
        calls.append(1)
        return triton_key._version() + "-hash"

    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "compiler.py").write_text("one = 1\n")
    monkeypatch.setattr(triton_key, "cache_folder", lambda: tmp_path)
    stamp = triton_key._stamp
    monkeypatch.setattr(triton_key, "_stamp", lambda folder: stamp(tmp_path / "triton"))

    def process():
        monkeypatch.setattr(cache, "triton_key", computed)
        triton_key.remember_key()
        return cache.triton_key()

    return calls, process, tmp_path


def test_a_second_process_is_given_what_the_first_computed(counted):
    calls, process, _ = counted
    first = process()
    calls.clear()
    assert process() == first
    assert not calls


def test_a_changed_file_is_hashed_again(counted):
    calls, process, folder = counted
    process()
    calls.clear()
    (folder / "triton" / "compiler.py").write_text("one = 2  # changed\n")
    process()
    assert calls


def test_a_spoiled_file_is_not_believed(counted):
    calls, process, folder = counted
    process()
    (kept,) = folder.glob("triton_*.key")
    kept.write_text("nonsense")
    calls.clear()
    assert process().endswith("-hash")
    assert calls
