"""Settings: global, for one block, and never leaking from one thread into another."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import mercer
from mercer import _config
from mercer._config import Settings, parse_bytes, show_bytes


@pytest.fixture(autouse=True)
def put_back():
    mercer.get_config()
    before = _config._global
    yield
    mercer.get_config()
    _config._global = before


def test_set_config_is_global() -> None:
    mercer.set_config(memory="2GB", threads=3)
    assert mercer.get_config().memory_bytes == 2_000_000_000
    assert mercer.get_config().n_threads == 3
    mercer.set_config(threads=1)
    assert mercer.get_config().n_threads == 1
    assert mercer.get_config().memory_bytes == 2_000_000_000, "the rest stays"


def test_a_block_that_is_never_entered_changes_nothing_and_says_so() -> None:
    before = mercer.get_config()
    block = mercer.config(threads=3)
    assert mercer.get_config() == before
    with pytest.warns(UserWarning, match="set_config"):
        del block
    assert mercer.get_config() == before


def test_a_block_puts_everything_back() -> None:
    before = mercer.get_config()
    with mercer.config(threads=1, memory="1GB", device="cuda:1", precision="fast", progress=False):
        inside = mercer.get_config()
        assert inside == Settings(1_000_000_000, 1, "cuda:1", "fast", False)
        with mercer.config(threads=2):
            assert mercer.get_config().threads == 2
            assert mercer.get_config().memory == 1_000_000_000
        assert mercer.get_config() == inside
    assert mercer.get_config() == before


def test_a_block_puts_back_after_an_error_and_can_be_entered_again() -> None:
    before = mercer.get_config()
    block = mercer.config(threads=1)

    def fail() -> None:
        assert mercer.get_config().threads == 1
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError), block:
            fail()
        assert mercer.get_config() == before


def test_set_config_inside_a_block_lasts_until_its_end() -> None:
    before = mercer.get_config()
    with mercer.config(threads=1):
        mercer.set_config(memory="3GB")
        assert mercer.get_config().memory == 3_000_000_000
        assert mercer.get_config().threads == 1
    assert mercer.get_config() == before


def in_another_thread(work):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def test_other_threads_see_what_is_global_and_not_what_is_local() -> None:
    with mercer.config(threads=7):
        assert in_another_thread(lambda: mercer.get_config().threads) != 7
    mercer.set_config(threads=7)
    assert in_another_thread(lambda: mercer.get_config().threads) == 7


def test_opening_a_block_is_invisible_to_other_threads() -> None:
    """Between `config(…)` and the start of its block another thread must not see a change."""
    block = mercer.config(threads=5)
    assert in_another_thread(lambda: mercer.get_config().threads) is None
    with block:
        pass
    assert mercer.get_config().threads is None


def test_blocks_in_many_threads_do_not_mix() -> None:
    before = mercer.get_config()
    wrong = []
    start = threading.Barrier(6)

    def work(i: int) -> None:
        start.wait()
        for _ in range(300):
            if i % 2:
                with mercer.config(threads=i):
                    seen = mercer.get_config()
                    if seen.threads != i or seen.memory != before.memory:
                        wrong.append(seen)
            else:
                with mercer.config(memory=1000 + i):
                    seen = mercer.get_config()
                    if seen.memory != 1000 + i or seen.threads != before.threads:
                        wrong.append(seen)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(1, 7)))
    assert not wrong
    assert mercer.get_config() == before


def test_defaults_come_from_the_machine() -> None:
    settings = Settings()
    assert settings.n_threads >= 1
    assert settings.memory_bytes > 50_000_000


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("4GB", 4_000_000_000),
        ("512MiB", 512 * 2**20),
        ("512 mib", 512 * 2**20),
        ("1.5 kB", 1500),
        ("1TB", 10**12),
        ("3g", 3_000_000_000),
        ("7", 7),
        ("7B", 7),
        (1e6, 1_000_000),
        (12, 12),
    ],
)
def test_sizes(size, expected: int) -> None:
    assert parse_bytes(size) == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"memory": "lots"}, "a memory size looks like '4GB' or '512MiB', got 'lots'"),
        ({"memory": "4XB"}, "a memory size looks like"),
        ({"memory": "1.2.3GB"}, "a memory size looks like"),
        ({"memory": ""}, "a memory size looks like"),
        ({"memory": True}, "a memory size looks like"),
        ({"memory": 0}, "must be positive"),
        ({"memory": -5}, "must be positive"),
        ({"memory": "0GB"}, "must be positive"),
        ({"memory": float("nan")}, "must be positive"),
        ({"memory": float("inf")}, "positive and finite"),
        ({"threads": 0}, "threads must be a whole number ≥ 1, got 0"),
        ({"threads": 1.5}, "threads must be a whole number"),
        ({"threads": "2"}, "threads must be a whole number"),
        ({"threads": True}, "threads must be a whole number"),
        ({"device": "tpu"}, "device must be one of 'cpu', 'cuda', or 'cuda:N', got 'tpu'"),
        ({"device": "cuda:x"}, "device must be"),
        ({"precision": "low"}, "precision must be 'high' or 'fast', got 'low'"),
    ],
)
def test_wrong_settings_change_nothing(settings, message: str) -> None:
    before = mercer.get_config()
    with pytest.raises(ValueError) as told:
        mercer.config(**settings)
    assert message in str(told.value)
    assert mercer.get_config() == before


def test_bytes_are_shown_short() -> None:
    assert show_bytes(0) == "0 B"
    assert show_bytes(999) == "999 B"
    assert show_bytes(1500) == "1.5 KB"
    assert show_bytes(160e9) == "160 GB"
    assert show_bytes(2.5e15) == "2.5e+03 TB"
