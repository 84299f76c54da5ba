"""Rows that are streamed: which host arrays a device is told to read by itself."""

import gc

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from mercer.engines.cuda import streamed  # noqa: E402


class Runtime:
    """What CUDA is told; like CUDA, it may refuse."""

    def __init__(self, refuses=False):
        self.told, self.answer = {}, 712 if refuses else 0

    def cudaHostRegister(self, place, size, flags):
        if not self.answer:
            self.told[place] = size
        return self.answer

    def cudaHostUnregister(self, place):
        del self.told[place]


@pytest.fixture
def runtime(monkeypatch):
    cuda = Runtime()
    monkeypatch.setattr(torch.cuda, "cudart", lambda: cuda)
    monkeypatch.setattr(streamed, "_PINNED", {})
    return cuda


def test_pages_are_named_once_and_let_go(runtime):
    X = np.zeros((1 << 15, 16))
    for part in (X, X, X[1000:20000], X[-10000:]):
        assert streamed._pinned(part)
    assert list(runtime.told.values()) == [X.nbytes]
    del X, part
    gc.collect()
    assert not runtime.told
    assert not streamed._PINNED


def test_rows_that_share_pages_with_named_ones_are_not_named(runtime):
    X = np.zeros((1 << 15, 16))
    assert streamed._pinned(X[5000:20000])
    assert not streamed._pinned(X)
    assert not streamed._pinned(X[:10000])
    assert not streamed._pinned(X[20001:])  # the next page, by rounding
    assert len(runtime.told) == 1


def test_what_cannot_be_named(runtime):
    X = np.zeros((1 << 15, 16))
    assert not streamed._pinned(X[:100])
    assert not streamed._pinned(X[:, :8])
    runtime.answer = 712
    assert not streamed._pinned(X)
    assert not streamed._PINNED
