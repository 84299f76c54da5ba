"""A real server under rude clients: it answers or refuses, and leaves nothing behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mercer.lab.compute.wire import unpacked

pytestmark = [pytest.mark.slow, pytest.mark.linux]
PATIENCE = 120.0


def marked(mark):
    """The processes that were started with this mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.fixture
def server():
    mark = f"MERCER_TEST={uuid.uuid4()}"
    name, _, value = mark.partition("=")
    command = [sys.executable, "-m", "mercer", "lab", "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {name: value}
    ) as process:
        process.address = process.stdout.readline().strip()
        process.mark = mark
        yield process
        process.kill()


@contextmanager
def connected(server, **more):
    client = pytest.importorskip("websockets.sync.client")
    parts = urlsplit(server.address)
    origin = f"http://{parts.netloc}"
    address = f"ws://{parts.netloc}/talk?{parts.query}"
    with client.connect(address, origin=origin, max_size=None, **more) as found:
        found.recv()  # hello
        yield found


def asked(client, number, **body):
    client.send(json.dumps({"id": number, **body}))
    while True:
        facts = unpacked(client.recv(timeout=PATIENCE)).facts
        if facts.get("id") in (number, None):
            return facts


def gone(mark, deadline=60.0):
    end = time.monotonic() + deadline
    while marked(mark) and time.monotonic() < end:
        time.sleep(0.1)
    return not marked(mark)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_the_server(server, how):
    with connected(server) as client:
        # A search that takes its three seconds is running when the server ends.
        client.send(json.dumps({"id": 1, "ask": "proof", "text": "gaussian(1)*sigmoid(1,1)+1"}))
        assert len(marked(server.mark)) >= 4  # the server, the forkserver and the workers
        server.send_signal(how)
        server.wait(60)
    assert gone(server.mark)


def test_many_clients_are_all_answered(server):
    state = {"kernel": "gaussian(0.3)", "learner": "ridge", "options": {}, "source": None,
             "X": [0.0, 0.0, 1.0, 1.0, -1.0, 1.0, 0.5, -1.0], "y": [0, 1, 0, 1]}  # fmt: skip

    def visit(number):
        with connected(server, open_timeout=PATIENCE) as client:
            return asked(client, number, ask="field", state=state, size=16, visits=False)

    with ThreadPoolExecutor(50) as threads:
        replies = list(threads.map(visit, range(1, 201)))
    assert [reply["id"] for reply in replies] == list(range(1, 201))
    assert not [reply for reply in replies if "error" in reply]


def resident(mark):
    """Bytes of memory of all processes together, what they share counted once."""
    total = 0
    for pid in marked(mark):
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:  # it has ended meanwhile
            continue
        total += sum(1024 * int(one.split()[1]) for one in lines if one.startswith("Pss:"))
    return total


BIG = {"kernel": "gaussian(0.3)", "learner": "svm", "options": {}, "source": None,
       "X": [0.0] * 20_000, "y": [0] * 10_000}  # fmt: skip
RUDE = [
    {"ask": "field", "state": BIG, "size": 48, "visits": False},
    {"ask": "field", "state": BIG | {"X": [float("nan")] * 40, "y": [0] * 20}, "size": 48,
     "visits": False},
    {"ask": "field", "state": BIG | {"X": [0.0] * 40, "y": [0, 1] * 10, "more": 1}, "size": 48,
     "visits": False},
    {"ask": "kernel", "text": "gaussian(1)+" * 60_000},
    {"ask": "proof", "text": "(" * 400},
    {"ask": "nothing"},
]  # fmt: skip


def test_memory_returns_to_where_it_was(server):
    """Rude requests and two hundred pages, twice: the second time adds nothing."""

    def visit(number):
        with connected(server, open_timeout=PATIENCE) as client:
            for i, body in enumerate(RUDE):
                assert "error" in asked(client, number * 100 + i, **body)
            X, y = [0.1 * i for i in range(-14, 14)], [0, 1] * 7
            kernel = f"gaussian({0.3 + number / 1e3})"
            state = BIG | {"learner": "ridge", "X": X, "y": y, "kernel": kernel}
            reply = asked(client, number, ask="field", state=state, size=48, visits=False)
            assert "error" not in reply

    def crowd():
        with ThreadPoolExecutor(20) as threads:
            list(threads.map(visit, range(1, 201)))

    crowd()
    before = resident(server.mark)
    crowd()
    end = time.monotonic() + 60
    while resident(server.mark) > 1.1 * before and time.monotonic() < end:
        time.sleep(0.5)  # sockets close, workers fall idle
    assert resident(server.mark) <= 1.1 * before


def test_rude_clients_do_not_disturb_a_polite_one(server):
    parts = urlsplit(server.address)
    rude = [socket.create_connection((parts.hostname, parts.port)) for _ in range(20)]
    for one in rude:
        one.sendall(b"GET / HTTP/1.1\r\nHost: ")  # and never a word more
    with connected(server) as client, connected(server) as other:
        big = {"kernel": "gaussian(0.3)", "learner": "svm", "options": {}, "source": None,
               "X": [0.0] * 20_000, "y": [0] * 10_000}  # fmt: skip
        assert "at most" in asked(other, 1, ask="field", state=big, size=16, visits=False)["error"]
        assert asked(other, 2, ask="kernel", text="x" * 700_000)["error"]
        assert asked(client, 3, ask="kernel", text="linear()")["repr"] == "Linear()"
    for one in rude:
        one.close()
    with connected(server) as client:
        assert asked(client, 4, ask="kernel", text="linear()")["repr"] == "Linear()"
