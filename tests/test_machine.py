"""Cores and memory: of the machine, and of the container that limits them."""

import os
import subprocess
import sys
import threading

import pytest

import mercer
from mercer._machine import resources as _machine

GB = 10**9


@pytest.fixture
def files(monkeypatch):
    """A machine that consists of these files."""
    there = {"/proc/meminfo": "MemTotal: 64 kB\nMemAvailable: 32000000 kB\n"}
    monkeypatch.setattr(_machine, "_read", lambda path: there.get(path.as_posix()))
    monkeypatch.setattr(_machine, "FRESH", -1.0)
    return there


def test_the_system_says_what_is_free(files):
    assert _machine.free_memory() == 32_000_000 * 1024


def test_a_system_that_says_nothing_lends_something(files):
    del files["/proc/meminfo"]
    assert _machine.free_memory() >= GB


def test_a_group_limits_memory_and_cores(files):
    own = "/sys/fs/cgroup/jobs/7"
    files["/proc/self/cgroup"] = "0::/jobs/7\n"
    files |= {f"{own}/cgroup.procs": "1\n", f"{own}/memory.max": f"{4 * GB}\n"}
    files |= {f"{own}/memory.current": f"{3 * GB}\n"}
    files |= {f"{own}/memory.stat": f"anon 1\ninactive_file {GB // 2}\n"}
    files |= {f"{own}/cpu.max": "50000 100000\n"}
    assert _machine.free_memory() == GB + GB // 2
    assert _machine.usable_cores() == 1


def test_inside_a_container_the_group_is_the_root(files):
    files["/proc/self/cgroup"] = "0::/docker/abc\n"
    files |= {"/sys/fs/cgroup/memory.max": f"{2 * GB}\n"}
    files |= {"/sys/fs/cgroup/memory.current": f"{GB}\n"}
    assert _machine.free_memory() == GB


def test_the_first_kind_of_group(files):
    files["/proc/self/cgroup"] = "5:cpu,cpuacct:/x\n4:memory:/x\n"
    own = "/sys/fs/cgroup/memory"
    files |= {f"{own}/memory.limit_in_bytes": f"{3 * GB}", f"{own}/memory.usage_in_bytes": f"{GB}"}
    assert _machine.free_memory() == 2 * GB


@pytest.mark.parametrize("limit", ["max", str(1 << 62)])
def test_a_group_without_a_limit(files, limit):
    files["/proc/self/cgroup"] = "0::/\n"
    files |= {"/sys/fs/cgroup/memory.max": limit, "/sys/fs/cgroup/memory.current": "5"}
    files |= {"/sys/fs/cgroup/cpu.max": "max 100000"}
    assert _machine.free_memory() == 32_000_000 * 1024
    assert _machine.usable_cores() >= 1


def test_cores_without_affinity(files, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert _machine.usable_cores() == 1


def test_free_memory_is_looked_at_now_and_then(files, monkeypatch):
    monkeypatch.setattr(_machine, "FRESH", 3600.0)
    monkeypatch.setattr(_machine, "_seen", (-float("inf"), 0))
    first = _machine.free_memory()
    files["/proc/meminfo"] = "MemAvailable: 1 kB\n"
    assert _machine.free_memory() == first


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_this_machine():
    assert _machine.free_memory() > 50_000_000
    assert _machine.usable_cores() >= 1


def test_the_first_kind_of_group_limits_cores(files, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)
    files["/proc/self/cgroup"] = "5:cpu,cpuacct:/x\n4:memory:/x\n"
    files |= {"/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}
    for quota, cores in (("-1", 16), ("150000", 2), ("400000", 4), ("10000", 1)):
        files |= {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": quota}
        assert _machine.usable_cores() == cores


def test_one_core_where_no_thread_can_start(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(_machine, "FRESH", -1.0)
    _machine.can_start_threads.cache_clear()
    try:
        assert _machine.usable_cores() == 1
        with mercer.config(threads=4):
            assert mercer.get_config().n_threads == 1
    finally:
        _machine.can_start_threads.cache_clear()


@pytest.mark.linux
def test_a_limit_on_addresses_is_a_limit_on_memory():
    """As `ulimit -v` sets it; a process of its own, because a limit cannot be taken back."""
    program = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
import mercer
from mercer._machine.resources import free_memory
assert mercer.get_config().memory_bytes <= 3 << 29
assert free_memory() < 3 << 30
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_system_without_limits_on_addresses(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    assert _machine._address_space() == sys.maxsize
