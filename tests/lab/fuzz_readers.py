"""Pages of the laboratory that ask and never read: ``python tests/lab/fuzz_readers.py 10000 0``.

So many requests, real ones, nonsense and bytes, go over a few sockets that nobody reads from; now
and then an idle worker is killed or stopped. The server stays below `MOST_GROWTH`, prints nothing,
and answers a page that behaves within `PATIENCE` seconds.
"""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

#: Bytes that the server may grow by, and seconds that another page may have to wait.
MOST_GROWTH, PATIENCE = 100e6, 20.0
#: Seconds in which the server reads a request of a page that does not read; one that answers no
#: ping either is being closed, and is not read any more.
READS = 1.0
SOCKETS = 2
#: Seconds between two requests, and between two of the page that behaves; it answers a ping only
#: while it waits for a reply, which it has 20 seconds for.
PAUSE, ASKED = 0.03, 3.0
#: Those that have a state are answered with up to 4 MB.
QUESTIONS = [
    ("kernel", {"text": "gaussian(1) + linear()"}),
    ("catalog", {}),
    ("field", {"size": 256, "visits": True}),
    ("nothing", {}),
    ("columns", {}),
]


class Page:
    """A WebSocket by hand, with a small window: nothing is read unless it is asked for."""

    def __init__(self, address, window=4096, patience=READS):
        where = urlsplit(address)
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        self.socket.settimeout(PATIENCE)
        self.socket.connect((where.hostname, where.port))
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET /talk?{where.query} HTTP/1.1", f"Host: {where.netloc}", "Upgrade: websocket",
                 "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13",
                 f"Origin: http://{where.netloc}", "", ""]  # fmt: skip
        self.socket.sendall("\r\n".join(lines).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.socket.recv(1)
        assert b" 101 " in head, head
        self.socket.settimeout(patience)

    def send(self, text, kind=1):
        """A frame of text (1), bytes (2) or a pong (10), masked with zeros."""
        data = text.encode() if isinstance(text, str) else text
        size = len(data)
        length = bytes([128 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
        self.socket.sendall(bytes([128 | kind]) + length + bytes(4) + data)

    def receive(self):
        """The facts of the next message."""
        while True:
            first, size = self._exactly(2)
            size = (
                int.from_bytes(self._exactly({126: 2, 127: 8}[size]), "big") if size > 125 else size
            )
            data = self._exactly(size)
            if first & 15 == 9:  # a ping, which a browser answers
                self.send(data, 10)
            if first & 15 == 2:
                return json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")])

    def _exactly(self, count):
        found = b""
        while len(found) < count:
            part = self.socket.recv(count - len(found))
            if not part:
                raise ConnectionError("the server closed the connection")
            found += part
        return found


def resident(process):
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return 1024 * int(line.split()[1])
    return 0


def question(rng, number, state):
    heavy = rng.random() < 0.7
    ask, body = QUESTIONS[-1 if heavy else int(rng.integers(len(QUESTIONS)))]
    extra = {"state": state} if ask in ("field", "columns") else {}
    return json.dumps({"id": number, "ask": ask, **body, **extra})


def workers_of(server):
    """The processes that the forkserver made."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            found.append((int(folder.name), parent))
        except (OSError, ValueError):
            continue
    children = {child for child, parent in found if parent == server}
    return [child for child, parent in found if parent in children]


def attack(address, server, count, rng):
    """Problems that showed, and how many requests went out."""
    problems, outcomes = [], Counter()
    state = {"kernel": "gaussian(0.3)", "learner": "perceptron", "options": {}, "source": None,
             "X": rng.uniform(-1, 1, 400).round(3).tolist(), "y": [0, 1] * 100}  # fmt: skip
    behaves, waited = Page(address, 1 << 20, PATIENCE), 0.0
    behaves.receive()
    pages = [Page(address) for _ in range(SOCKETS)]
    before, most, asked = resident(server), 0, 0.0
    for i in turns(count):
        at = i % SOCKETS
        try:
            if rng.random() < 0.002:
                pages[at].send("\x00nonsense", int(rng.integers(1, 3)))
            else:
                pages[at].send(question(rng, i, state))
            outcomes["accepted"] += 1
        except OSError:  # the server has had enough of this one
            outcomes["refused"] += 1
            pages[at] = Page(address)
        if i % 500 == 250 and (idle := workers_of(server)):
            os.kill(int(rng.choice(idle)), signal.SIGKILL if i % 1000 == 250 else signal.SIGSTOP)
        time.sleep(PAUSE)  # so that some are computed
        most = max(most, resident(server) - before)
        if (begin := time.monotonic()) - asked < ASKED and i + 1 < count:
            continue
        try:
            behaves.send(json.dumps({"id": count + i, "ask": "kernel", "text": "linear()"}))
            while (facts := behaves.receive()).get("id") != count + i:
                pass
            if facts.get("repr") != "Linear()":
                problems.append(f"readers: the page that behaves is told {facts}")
        except OSError as error:
            waits = f"has no answer in {PATIENCE} s to request {i}"
            problems.append(f"readers: the page that behaves {waits}: {error!r}")
            break
        asked = time.monotonic()
        waited = max(waited, asked - begin)
    if most > MOST_GROWTH:
        problems.append(f"readers: the server grew by {most / 1e6:.0f} MB in {count} requests")
    return problems, outcomes, waited, most


def main(count, seed):
    started = time.monotonic()
    command = [sys.executable, "-m", "mercer", "lab", "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            address = server.stdout.readline().strip()
            found = attack(address, server.pid, count, np.random.default_rng(seed))
            problems, outcomes, waited, most = found
        finally:
            for worker in workers_of(server.pid):
                os.kill(worker, signal.SIGCONT)
            server.terminate()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                problems.append("readers: the server does not end")
                server.kill()
        said = server.stderr.read()
    if "Traceback" in said:
        problems.append(f"readers: the server printed {said[-1000:]}")
    print(json.dumps({"outcomes": outcomes, "problems": problems, "n_problems": len(problems),
                      "seconds": round(time.monotonic() - started), "slowest": round(waited, 2),
                      "grown_mb": round(most / 1e6)}))  # fmt: skip


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from fuzzing import turns

    main(int(sys.argv[1]), int(sys.argv[2]))
