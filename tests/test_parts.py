"""Parts of a compiled function are optimized with what calls them, and nowhere else."""

import numpy as np
import pytest

from mercer._machine.jit import compiles, njit

pytestmark = pytest.mark.skipif(not compiles(), reason="needs Numba")


@njit(part=True)
def _shifted(x, by):
    if by < 0.0:
        raise ValueError("a negative shift")
    return x + by


@njit(part=True, fastmath={"contract"})
def _total(values, by):
    spare = np.empty(len(values))
    for i in range(len(values)):
        spare[i] = _shifted(values[i], by)
    return spare.sum()


@njit
def mean(values, by):
    return _total(values, by) / len(values)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_CACHE", str(tmp_path))
    return tmp_path


def test_parts_are_in_the_code_of_their_caller(cache):
    for dtype in (np.float32, np.float64, np.int64):
        values = np.arange(10).astype(dtype)
        assert mean(values, 0.5) == pytest.approx(5.0)
    kept = {path.name.split("-")[0] for path in cache.glob("machine-code/*/*.nbc")}
    assert kept == {"test_parts.mean"}
    for part in (_shifted, _total):
        assert part.overloads
        for result in part.overloads.values():
            with pytest.raises(Exception, match="object"):
                result.library._get_compiled_object()


def test_parts_raise_what_they_raise(cache):
    with pytest.raises(ValueError, match="a negative shift"):
        mean(np.zeros(3), -1.0)
    assert mean(np.zeros(3), 1.0) == 1.0


def test_parts_can_be_called_from_python(cache):
    assert mean(np.zeros(3), 1.0) == 1.0
    assert _shifted(2.0, 0.5) == 2.5
    assert _total(np.zeros(3), 0.5) == 1.5
    assert mean(np.zeros(3, np.float32), 1.0) == 1.0
