"""The server without worker processes: who may ask, and what is refused."""

import asyncio
import json
import socket
import threading

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from mercer.lab.compute.requests import answer, read
from mercer.lab.compute.wire import unpacked
from mercer.lab.serving.app import MOST_CHARACTERS, make_app
from mercer.lab.serving.outbox import Outbox
from mercer.lab.serving.turns import BACKGROUND

TOKEN, HOST = "secret", "127.0.0.1:8000"
ORIGIN = {"host": HOST, "origin": f"http://{HOST}"}


class HerePool:
    """Answers in the server itself."""

    async def start(self):
        self.asked = []

    async def close(self):
        self.asked = None

    def ask(self, asker, job):
        self.asked.append(asker)
        if asker != BACKGROUND:
            self.task = asyncio.ensure_future(job.deliver(answer(read(job.message))))

    def forget(self, page):
        self.asked = [a for a in self.asked if a[0] != page]


class BusyPool(HerePool):
    """Keeps what it is asked."""

    def ask(self, asker, job):
        self.asked.append(json.loads(job.message))
        self.task = asyncio.ensure_future(job.deliver(b""))


@pytest.fixture
def client():
    app = make_app(TOKEN, frozenset({HOST}), HerePool(), {"greeting": 1})
    with TestClient(app, base_url=f"http://{HOST}") as client:
        yield client


def test_every_learner_is_prepared_once():
    from mercer.lab.compute.learners import LEARNERS
    from mercer.lab.serving.app import _prepared

    pool = BusyPool()

    async def story():
        await pool.start()
        await _prepared(pool)

    asyncio.run(story())
    assert [request["learner"] for request in pool.asked] == list(LEARNERS)


def test_the_page_needs_the_token(client):
    assert client.get("/").status_code == 403
    assert client.get("/?token=wrong").status_code == 403
    page = client.get(f"/?token={TOKEN}")
    assert page.status_code == 200
    assert "mercer lab" in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_other_hosts_are_refused(client):
    assert client.get(f"/?token={TOKEN}", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/static/main.js", headers={"host": "evil.example"}).status_code == 421


def test_only_the_files_of_the_page_are_served(client):
    script = client.get("/static/main.js")
    assert script.headers["content-type"].startswith("text/javascript")
    for path in ("../../__init__.py", "%2e%2e/__init__.py", "nothing.js", "/etc/passwd", ""):
        assert client.get(f"/static/{path}").status_code == 404


def test_every_module_that_the_page_imports_is_there(client):
    import re

    waiting, seen = ["main.js"], set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        text = client.get(f"/static/{name}")
        assert text.status_code == 200, name
        found = set(re.findall(r'from "\./([\w.]+)"', text.text))
        waiting += found - seen
    assert "playground.js" in seen


def test_slow_writers_are_shown_the_door(monkeypatch):
    import uvicorn

    from mercer.lab.serving import patience

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"here"})

    monkeypatch.setattr(patience, "PATIENCE", 0.05)
    config = uvicorn.Config(app, http=patience.Impatient, lifespan="off", log_level="error")
    server, listening = uvicorn.Server(config), socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        for words in (b"", b"GET / HTTP/1.1\r\nHost: ", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"):
            with socket.create_connection(listening.getsockname(), timeout=60) as one:
                one.sendall(words)
                answer = b"".join(iter(lambda one=one: one.recv(4096), b""))  # until it is closed
            assert (b"here" in answer) == words.endswith(b"\r\n\r\n")
    finally:
        server.should_exit = True
        thread.join(60)


def refused(client, address, headers):
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(address, headers=headers) as s,
    ):
        s.receive_bytes()


def test_sockets_need_token_host_and_origin(client):
    refused(client, "/talk", ORIGIN)
    refused(client, "/talk?token=wrong", ORIGIN)
    refused(client, f"/talk?token={TOKEN}", ORIGIN | {"origin": "http://evil.example"})
    refused(client, f"/talk?token={TOKEN}", {"host": HOST})
    refused(client, f"/talk?token={TOKEN}", ORIGIN | {"host": "evil.example"})


@pytest.fixture
def talk(client):
    with client.websocket_connect(f"/talk?token={TOKEN}", headers=ORIGIN) as socket:
        assert unpacked(socket.receive_bytes()).facts["hello"] == {"greeting": 1}

        def say(message):
            socket.send_text(message if isinstance(message, str) else json.dumps(message))
            return unpacked(socket.receive_bytes())

        yield say


def test_a_question_is_answered(talk):
    reply = talk({"id": 3, "ask": "kernel", "text": "linear()"})
    assert (reply.facts["id"], reply.facts["repr"]) == (3, "Linear()")


@pytest.mark.parametrize(
    "message",
    ["", "[", "[]", "3", "null", '{"id": "a"}', '{"ask": "kernel"}', "[" * 50_000,
     '{"id": 1, "ask": "exec"}', '{"id": 1, "ask": ["kernel"]}', "x" * (MOST_CHARACTERS + 1)],
)  # fmt: skip
def test_nonsense_is_refused_and_the_socket_lives(talk, message):
    assert talk(message).facts["error"]
    assert talk({"id": 4, "ask": "kernel", "text": "linear()"}).facts["repr"] == "Linear()"


def test_bytes_are_refused_and_the_socket_lives(client):
    with client.websocket_connect(f"/talk?token={TOKEN}", headers=ORIGIN) as socket:
        socket.receive_bytes()
        socket.send_bytes(b"\x00")
        assert unpacked(socket.receive_bytes()).facts["error"]
        socket.send_text('{"id": 4, "ask": "kernel", "text": "linear()"}')
        assert unpacked(socket.receive_bytes()).facts["repr"] == "Linear()"


class Slow:
    """A socket whose page reads when it is told to."""

    def __init__(self):
        self.sent, self.reads = [], asyncio.Semaphore(0)

    async def send_bytes(self, reply):
        await self.reads.acquire()
        self.sent.append(reply)


def test_a_page_that_does_not_read_keeps_one_reply_of_each_kind():
    async def story():
        page = Slow()
        outbox = Outbox(page)
        sending = asyncio.create_task(outbox.send_all())
        for number in range(1000):
            await outbox.put(number % 7, b"%d" % number)
            await asyncio.sleep(0)
        assert len(outbox) <= 7
        for _ in range(8):
            page.reads.release()
        while len(page.sent) < 8:
            await asyncio.sleep(0)
        assert page.sent == [b"0", *(b"%d" % number for number in range(993, 1000))]
        sending.cancel()

    asyncio.run(story())


def test_a_page_that_has_gone_ends_the_sending():
    class Gone:
        async def send_bytes(self, reply):
            raise RuntimeError("the connection is closed")

    async def story():
        outbox = Outbox(Gone())
        await outbox.put("field", b"reply")
        await asyncio.wait_for(outbox.send_all(), 60)

    asyncio.run(story())


def test_numbers_beyond_all_bounds_are_refused(talk, state):
    given = state() | {"X": [float("nan")] * 80}
    assert (
        "error" in talk({"id": 1, "ask": "field", "state": given, "size": 8, "visits": False}).facts
    )
    given = state() | {"X": [10**400] * 80}
    assert (
        "error" in talk({"id": 1, "ask": "field", "state": given, "size": 8, "visits": False}).facts
    )
