"""Compiled code is kept where it can be trusted, and never stands in the way."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import mercer
from mercer._machine import cache as _cache

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes of POSIX")

COMPILES = """
    import warnings
    import numpy as np
    from mercer import Gaussian
    from mercer.gram import plan as planner

    planner.COMPILE_WORK = 0
    X = np.linspace(0, 1, 1800).reshape(600, 3)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        K = Gaussian().gram(X).dense()
    gaps = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    assert np.allclose(K, np.exp(-gaps / 2))
    print(*[str(w.message) for w in told], "done")
"""


def run(**environment):
    """The script in a process of its own; what it printed."""
    kept = {k: v for k, v in os.environ.items() if k not in ("MERCER_CACHE", "XDG_CACHE_HOME")}
    kept["PYTHONPATH"] = os.pathsep.join(os.path.abspath(p) for p in sys.path)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(COMPILES)],
        env={k: v for k, v in (kept | environment).items() if v is not None},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.rstrip().endswith("done")
    return done.stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache that one process has filled."""
    folder = tmp_path_factory.mktemp("filled") / "cache"
    run(MERCER_CACHE=str(folder))
    assert list(folder.glob("mercer_*.py"))
    assert list(folder.glob("machine-code/*/*.nbi"))
    return folder


@pytest.fixture
def filled(cache, tmp_path):
    return shutil.copytree(cache, tmp_path / "cache")


class Evil:
    def __reduce__(self):
        return (os.mkdir, (self.where,))


def test_planted_code_is_not_run(filled, tmp_path):
    """Byte code and sources are never read back; an index that others could write is not either."""
    evil = Evil()
    evil.where = str(tmp_path / "evil was here")
    for source in filled.glob("mercer_*.py"):
        planted = filled / "__pycache__" / f"{source.stem}.cpython-311.pyc"
        planted.parent.mkdir(exist_ok=True)
        planted.write_bytes(b"not byte code")
        source.write_text(f"import os; os.mkdir({evil.where!r})")
    for index in filled.glob("machine-code/*/*.nbi"):
        index.write_bytes(pickle.dumps(evil))
        index.parent.chmod(0o777)
    run(MERCER_CACHE=str(filled))
    assert not Path(evil.where).exists()
    os.chmod(filled, 0o777)
    assert "can be written to by others" in run(MERCER_CACHE=str(filled))
    assert not Path(evil.where).exists()


@pytest.mark.parametrize(
    "damage",
    [
        b"\x80\x05junk",
        pytest.param(b"", marks=pytest.mark.slow),
        pytest.param(b"\0" * 1000, marks=pytest.mark.slow),
    ],
)
def test_a_damaged_cache_is_made_anew(filled, damage):
    files = [p for p in filled.rglob("*") if p.is_file()]
    for file in files:
        file.write_bytes(damage)
    assert run(MERCER_CACHE=str(filled)) == "done\n"
    assert run(MERCER_CACHE=str(filled)) == "done\n"


def test_folders_in_the_way(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    assert "cannot be made" in run(MERCER_CACHE=str(file))
    (tmp_path / "machine-code").write_text("not a folder")
    run(MERCER_CACHE=str(tmp_path))


def test_no_home_and_nothing_left_behind(tmp_path):
    said = run(HOME="/nonexistent/home", TMPDIR=str(tmp_path))
    assert "done" in said
    assert not list(tmp_path.glob("mercer-*"))


def test_who_may_write_where(tmp_path):
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True, mode=0o700)
    assert _cache.is_trusted(folder)
    folder.chmod(0o720)
    assert not _cache.is_trusted(folder)
    folder.chmod(0o700)
    folder.parent.chmod(0o777)
    assert not _cache.is_trusted(folder), "a parent that others may write to"
    folder.parent.chmod(0o1777)
    assert _cache.is_trusted(folder), "as in /tmp, where only owners may rename"
    assert not _cache.is_trusted(tmp_path / "missing")
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert _cache.is_trusted(link)


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.delenv("MERCER_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _cache.cache_folder() == tmp_path / "mercer"
    assert (tmp_path / "mercer").stat().st_mode & 0o077 == 0
    monkeypatch.setenv("MERCER_CACHE", str(tmp_path / "other"))
    assert _cache.cache_folder() == tmp_path / "other"


def test_a_cache_of_the_system_serves_everybody(filled, monkeypatch):
    """Owned by root, filled, and not to be written to by the one who uses it."""
    monkeypatch.setenv("MERCER_CACHE", str(filled))
    monkeypatch.setattr(_cache, "SYSTEM", os.geteuid())
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    assert _cache.cache_folder() == filled
    shutil.rmtree(filled / "machine-code")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.warns(mercer.MachineWarning, match="cannot be written to"):
        assert _cache.cache_folder() != filled


def test_what_is_kept_in_a_named_folder_can_be_read_by_others(cache):
    """An image is built by root and run by another user."""
    assert cache.stat().st_mode & 0o055 == 0o055
    for path in cache.rglob("*"):
        needed = 0o055 if path.is_dir() else 0o044
        assert path.stat().st_mode & needed == needed, path
