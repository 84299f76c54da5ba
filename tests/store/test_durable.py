"""Whatever happens while a model is saved, a whole file is there: the old one or the new one."""

import errno
import json
import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.store import StoreError, files
from mercer.store.files import write_atomically

SOURCES = str(Path(__file__).parents[2] / "src")
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def run(code, *arguments):
    path = os.pathsep.join([SOURCES, os.environ.get("PYTHONPATH", "")])
    found = subprocess.run(
        [sys.executable, *code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert found.returncode == 0, found.stderr[-2000:]
    return found.stdout


@pytest.mark.posix
@pytest.mark.parametrize("hits", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_a_process_killed_in_the_middle_of_the_write_leaves_a_whole_file(hits, tmp_path):
    script = Path(__file__).with_name("kill_while_saving.py")
    report = json.loads(run([str(script)], tmp_path, hits))
    assert len(report["seen"]) == hits
    assert set(report["seen"]) <= {1, 2}
    assert report["hidden"]


@pytest.mark.posix
def test_a_disk_without_room_leaves_the_old_file_and_no_litter(tmp_path):
    """The system's own limit on files stands for the disk: writing fails half-way."""
    code = """
import resource, signal, sys
import numpy as np
import mercer
path = sys.argv[1]
mercer.save({"old": 1}, path)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    mercer.save({"new": np.zeros(100_000)}, path)
except OSError as error:
    print(error)
"""
    printed = run(["-c", code], tmp_path / "m")
    assert "larger than the system allows; what was there before is unchanged" in printed
    assert mercer.load(tmp_path / "m") == {"old": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "is full"),
        (errno.EDQUOT, "quota"),
        (errno.EIO, "Input/output error"),
        (errno.EFBIG, "larger than the system allows"),
    ],
)
def test_errors_of_the_disk_are_explained(number, words, tmp_path):
    mercer.save({"old": 1}, tmp_path / "m")

    def write(stream):
        stream.write(b"half of it")
        raise OSError(number, os.strerror(number))

    with pytest.raises(OSError, match=words) as caught:
        write_atomically(tmp_path / "m", write)
    assert caught.value.errno == number
    assert "unchanged" in str(caught.value)
    assert mercer.load(tmp_path / "m") == {"old": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.EACCES, PermissionError, "cannot be written to"),
        (errno.EPERM, PermissionError, "cannot be written to"),
        (errno.EROFS, OSError, "read-only"),
        (errno.ENOSPC, OSError, "is full"),
    ],
)
def test_folders_that_cannot_be_written_to(number, kind, words, tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.os, "open", refuse)
    with pytest.raises(kind, match=f"{words}.*nothing was written"):
        mercer.save({}, tmp_path / "m")


@pytest.mark.posix
@pytest.mark.skipif(IS_ROOT, reason="root may write anywhere")
def test_a_read_only_folder(tmp_path):
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(PermissionError, match="cannot be written to"):
            mercer.save({}, tmp_path / "m")
    finally:
        tmp_path.chmod(0o755)


def test_places_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        mercer.save({}, tmp_path / "absent" / "m")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        mercer.save({}, tmp_path / "file" / "m")
    with pytest.raises(OSError, match="too long"):
        mercer.save({}, tmp_path / ("n" * 300))
    with pytest.raises(IsADirectoryError, match="folder"):
        write_atomically(tmp_path, lambda stream: None)
    mercer.save({"long": 1}, tmp_path / ("n" * 250))
    assert mercer.load(tmp_path / ("n" * 250)) == {"long": 1}


def test_links_and_permissions_stay(tmp_path):
    mercer.save({"v": 1}, tmp_path / "real")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    mercer.save({"v": 2}, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert mercer.load(tmp_path / "real") == {"v": 2}
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640


def test_an_interrupt_leaves_no_litter(tmp_path):
    def write(stream):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "m", write)
    assert not list(tmp_path.iterdir())


def test_saves_at_the_same_time(tmp_path):
    """Writers and readers of one file: each reader sees one whole model."""
    path = tmp_path / "m"
    mercer.save({"who": 0, "data": np.zeros(20_000)}, path)
    failures = []

    def writer(who):
        try:
            for _ in range(10):
                mercer.save({"who": who, "data": np.full(20_000, float(who))}, path)
        except Exception as error:
            failures.append(error)

    def reader():
        try:
            for _ in range(20):
                found = mercer.load(path)
                assert (found["data"] == found["who"]).all()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=writer, args=(i,)) for i in range(4)]
    threads += [threading.Thread(target=reader) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def fifo(folder):
    """A pipe with a name and a reader, so that writing into it would not wait."""
    os.mkfifo(folder / "pipe")
    return folder / "pipe", os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)


def terminal(folder):
    master, slave = os.openpty()
    path = Path(os.ttyname(slave))
    os.close(slave)
    return path, master


def socket_file(folder):
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(folder / "socket"))
    return folder / "socket", made.detach()


@pytest.mark.posix
@pytest.mark.parametrize("make", [fifo, terminal, socket_file])
@pytest.mark.parametrize("linked", [False, True])
def test_pipes_terminals_and_sockets_are_refused_and_stay(make, linked, tmp_path, monkeypatch):
    def moved(*arguments):
        raise AssertionError("moved over a device")

    monkeypatch.setattr(files.os, "replace", moved)
    path, handle = make(tmp_path)
    kind = stat.S_IFMT(path.lstat().st_mode)
    given = tmp_path / "link" if linked else path
    if linked:
        given.symlink_to(path)
    try:
        with pytest.raises(OSError, match=r"another device.*give the name of a file"):
            mercer.save({"model": 1}, given)
        assert stat.S_IFMT(path.lstat().st_mode) == kind
        assert given.is_symlink() == linked
    finally:
        os.close(handle)


def test_what_a_killed_process_left_is_removed_by_a_later_save(tmp_path):
    names = (f".m.{16 * '0'}", f".m.{16 * '1'}", f".another.{16 * '0'}")
    left, living, other = (tmp_path / name for name in names)
    for path in (left, living, other):
        path.write_bytes(b"half")
    for path in (left, other):
        os.utime(path, (0, 0))
    mercer.save({"v": 1}, tmp_path / "m")
    assert {p.name for p in tmp_path.iterdir()} == {"m", living.name, other.name}


@pytest.mark.posix
def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="as a whole"):
        mercer.load(tmp_path / "pipe")


@pytest.mark.posix
@pytest.mark.skipif(IS_ROOT, reason="root may read anything")
def test_a_file_without_permission(tmp_path):
    mercer.save({}, tmp_path / "m")
    (tmp_path / "m").chmod(0)
    with pytest.raises(PermissionError, match="no permission"):
        mercer.load(tmp_path / "m")
