"""Who computes what next, with workers that are threads' ends of a queue and not processes."""

import asyncio
import gc
import importlib
import json
import queue
import threading

import pytest

import mercer
from mercer.lab.compute.wire import Reply, packed, unpacked
from mercer.lab.serving.pool import Job, Pool, Worker
from mercer.lab.serving.turns import BACKGROUND
from mercer.lab.serving.worker import PING, _answered

ENDED = object()


class Computer:
    """Stands for a process and its pipe: answers when it is told to, and can be killed."""

    def __init__(self):
        self.given, self.alive, self.replies = [], True, queue.Queue()

    def send_bytes(self, message):
        if message == PING:
            self.replies.put(PING)
        else:
            self.given.append(json.loads(message))

    def recv_bytes(self):
        reply = self.replies.get()
        if reply is ENDED:
            raise EOFError
        return reply

    def finish(self):
        self.replies.put(packed(Reply({"done": True}), self.given[-1]["id"]))

    def kill(self):
        self.alive = False
        self.replies.put(ENDED)

    def join(self): ...

    def close(self): ...

    def is_alive(self):
        return self.alive


class Story:
    """A pool of such workers, and what its pages have received."""

    def __init__(self, size=1, **options):
        self.pool, self.made, self.replies = Pool(size, **options), [], asyncio.Queue()
        self.pool.others = max(1, size - 1)  # as on a machine with as many cores

        async def worker():
            self.made.append(Computer())
            return Worker(self.made[-1], self.made[-1])

        self.pool._worker = worker

    async def __aenter__(self):
        await self.pool.start()
        return self

    async def __aexit__(self, *error):
        await self.pool.close()
        assert not any(computer.alive for computer in self.made)

    def ask(self, asker, number):
        message = json.dumps({"id": number, "ask": "kernel"}).encode()
        self.pool.ask(asker, Job(message, number, self.replies.put))

    async def next(self):
        return unpacked(await self.replies.get()).facts

    async def until(self, holds):
        while not holds():
            await asyncio.sleep(0.001)


def run(story):
    async def ends():
        await asyncio.wait_for(story(), 60)

    asyncio.run(ends())


def test_of_several_waiting_requests_the_latest_is_computed():
    async def story():
        async with Story(grace=60.0) as s:
            s.ask("page", 1)
            await s.until(lambda: s.made[0].given)
            for number in (2, 3, 4):
                s.ask("page", number)
            s.made[0].finish()
            assert (await s.next())["id"] == 1
            await s.until(lambda: len(s.made[0].given) == 2)
            s.made[0].finish()
            assert (await s.next())["id"] == 4

    run(story)


def test_a_superseded_request_is_killed_and_its_worker_replaced():
    async def story():
        async with Story(grace=0.0) as s:
            s.ask("page", 1)
            await s.until(lambda: s.made[0].given)
            s.ask("page", 2)
            await s.until(lambda: len(s.made) == 2 and s.made[1].given)
            assert not s.made[0].alive
            s.made[1].finish()
            assert (await s.next())["id"] == 2  # nothing was said about the first

    run(story)


def test_what_takes_too_long_is_refused_in_words():
    async def story():
        async with Story(limit=0.01) as s:
            s.ask("page", 1)
            assert "longer than" in (await s.next())["error"]
            await s.until(lambda: len(s.made) == 2)

    run(story)


def test_a_worker_that_dies_is_replaced_and_the_page_told():
    async def story():
        async with Story() as s:
            s.ask("page", 1)
            await s.until(lambda: s.made[0].given)
            s.made[0].kill()
            assert "ended early" in (await s.next())["error"]
            s.ask("page", 2)
            await s.until(lambda: len(s.made) == 2 and s.made[1].given)
            s.made[1].finish()
            assert (await s.next())["id"] == 2

    run(story)


def test_a_worker_that_died_while_idle_is_replaced_in_silence():
    async def story():
        async with Story() as s:
            s.made[0].alive = False
            s.made[0].replies.put(ENDED)
            s.ask("page", 1)
            await s.until(lambda: len(s.made) == 2 and s.made[1].given)
            s.made[1].finish()
            assert (await s.next()) == {"id": 1, "done": True}

    run(story)


def test_a_worker_that_does_not_read_keeps_nobody_waiting(monkeypatch):
    """One that was stopped while it was idle: another one answers."""
    monkeypatch.setattr("mercer.lab.serving.pool.HEARS", 0.2)

    async def story():
        async with Story(size=2) as s:
            stopped, killed = s.made[0], threading.Event()
            stopped.send_bytes = lambda message: killed.wait(60)
            stopped.kill = lambda: (Computer.kill(stopped), killed.set())
            s.ask("first", 1)
            s.ask("second", 2)
            await s.until(lambda: s.made[1].given)
            s.made[1].finish()
            assert (await s.next())["id"] == 2
            await s.until(lambda: len(s.made) == 3 and s.made[2].given)
            s.made[2].finish()
            assert (await s.next()) == {"id": 1, "done": True}

    run(story)


def test_an_end_that_comes_late_is_not_printed(monkeypatch):
    """On a busy machine the thread that waits for a killed worker may end after the request."""
    printed = []

    async def story():
        asyncio.get_running_loop().set_exception_handler(lambda _, found: printed.append(found))
        wait, released, ended = asyncio.wait, threading.Event(), threading.Event()
        monkeypatch.setattr(asyncio, "wait", lambda on, **how: wait(on, **{**how, "timeout": 0.05}))
        async with Story(limit=0.05) as s:

            def late():
                if not s.made[0].given:
                    return PING
                released.wait(60)
                ended.set()
                raise EOFError

            s.made[0].recv_bytes = late
            s.ask("page", 1)
            assert "longer than" in (await s.next())["error"]
            released.set()
            await s.until(ended.is_set)
            await asyncio.sleep(0.05)
            gc.collect()

    run(story)
    assert not printed


def test_pages_take_turns_and_keep_their_worker():
    async def story():
        async with Story(size=2, grace=60.0) as s:
            for asker in ("a", "b", "c"):
                s.ask(asker, ord(asker))
            await s.until(lambda: s.made[0].given and s.made[1].given)
            assert list(s.pool.waiting) == ["c"]
            s.made[0].finish()
            s.made[1].finish()
            assert {(await s.next())["id"], (await s.next())["id"]} == {ord("a"), ord("b")}
            doing = lambda: [c for c in s.made if c.given and c.given[-1]["id"] == ord("c")]  # noqa: E731
            await s.until(doing)
            (busy,) = doing()
            busy.finish()
            assert (await s.next())["id"] == ord("c")
            s.ask("c", 1)
            await s.until(lambda: busy.given[-1]["id"] == 1)  # the one that knows its model
            busy.finish()
            await s.next()

    run(story)


def test_the_page_in_front_finds_a_worker_among_many_others():
    async def story():
        async with Story(size=3, grace=60.0) as s:
            s.ask(("front", "kernel"), 1)
            await s.until(lambda: s.made[0].given)
            s.made[0].finish()
            assert (await s.next())["id"] == 1
            for other in range(2, 50):
                s.ask((other, "field"), other)
            s.pool.ask(BACKGROUND, Job(b'{"id": 0}', 0, s.replies.put))
            s.ask(("front", "field"), 50)
            await s.until(lambda: any(c.given and c.given[-1]["id"] == 50 for c in s.made))
            await s.until(lambda: all(c.given and c.given[-1]["id"] > 1 for c in s.made))
            assert next(reversed(s.pool.waiting)) == BACKGROUND
            s.pool.forget("front")  # then the next one may have the last worker, too
            for computer in s.made:
                computer.finish()
            for _ in range(2):
                await s.next()

    run(story)


def test_requests_of_a_page_that_has_gone_are_not_computed():
    async def story():
        async with Story(grace=0.0) as s:
            s.ask(("gone", "field"), 1)
            s.ask(("gone", "pixel"), 2)
            s.ask(("here", "field"), 3)
            await s.until(lambda: s.made[0].given)
            s.pool.forget("gone")
            await s.until(lambda: len(s.made) == 2 and s.made[1].given)
            assert s.made[1].given[0]["id"] == 3
            s.made[1].finish()
            assert (await s.next())["id"] == 3

    run(story)


def test_a_worker_answers_faults_of_ours_and_lives(monkeypatch):
    from mercer.lab.compute import kernels

    assert unpacked(_answered(b'{"id": 5, "ask": "kernel", "text": "linear()"}')).facts["id"] == 5

    def broken(request):
        raise RuntimeError("secret")

    monkeypatch.setattr(kernels, "kernel", broken)
    facts = unpacked(_answered(b'{"id": 6, "ask": "kernel", "text": "linear()"}')).facts
    assert facts == {"id": 6, "error": "a fault of mercer: RuntimeError"}


def test_only_the_server_prepares_a_process(monkeypatch):
    """Whoever else imports the module, to look for examples in it say, keeps the settings."""
    from mercer.lab.serving import pool, warm

    monkeypatch.delenv(pool.ASKED, raising=False)
    with mercer.config(threads=2, progress=True):
        importlib.reload(warm)
        assert (mercer.get_config().threads, mercer.get_config().progress) == (2, True)
        monkeypatch.setenv(pool.ASKED, "1")
        monkeypatch.setattr("mercer.lab.compute.preparing.prepare", lambda given: None)
        monkeypatch.setattr("threadpoolctl.threadpool_limits", lambda limit: None)
        importlib.reload(warm)
        assert (mercer.get_config().threads, mercer.get_config().progress) == (1, False)


def test_what_is_loaded_ahead_answers():
    from mercer.lab.compute.preparing import requests
    from mercer.lab.compute.requests import answer
    from mercer.lab.serving import warm

    assert warm.LOADED_IN
    for request in requests("ridge"):
        assert "error" not in unpacked(answer(request)).facts
    facts = unpacked(answer({"id": 1, "ask": "prepare", "learner": "ridge"})).facts
    assert facts["prepared"] == "ridge"


@pytest.mark.parametrize(
    ("host", "names"),
    [("127.0.0.1", {"127.0.0.1:80", "localhost:80"}), ("::1", {"[::1]:80", "localhost:80"}),
     ("10.0.0.7", {"10.0.0.7:80"}), ("0.0.0.0", set())],
)  # fmt: skip
def test_the_names_that_are_answered(host, names):
    from mercer.lab.serving.run import _hosts

    assert names <= _hosts(host, 80)
    assert bool(_hosts(host, 80)) == bool(names)


def test_the_command_prints_the_address_and_warns(monkeypatch, capsys):
    import uvicorn

    from mercer.lab.serving.run import serve

    class Server:
        started, should_exit = True, False

        def __init__(self, config):
            self.config = config

        def run(self, sockets):
            sockets[0].close()

    said = queue.Queue()
    monkeypatch.setattr(uvicorn, "Server", Server)
    serve("0.0.0.0", 0, False, None, said.put, "panel=gram&kernel=linear() + 1")
    address, _, state = said.get(timeout=60).partition("#")
    assert address.startswith("http://0.0.0.0:")
    assert len(address.partition("token=")[2]) >= 32
    assert state == "panel=gram&kernel=linear()%20+%201"
    assert "other machines" in capsys.readouterr().err


def test_a_file_gives_the_first_points(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from mercer.cli.lab import command
    from mercer.lab.serving import run as running

    rows = ["a,b,c,kind", *(f"{i},{i % 3},{i % 5},{'ab'[i % 2]}" for i in range(30))]
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    seen = {}
    monkeypatch.setattr(running, "serve", lambda *given: seen.update(first=given[3]))
    done = CliRunner().invoke(command, [str(tmp_path / "rows.csv"), "--target", "kind"])
    assert done.exit_code == 0, done.output
    assert len(seen["first"]["X"]) == 60
    assert max(map(abs, seen["first"]["X"])) <= 1.5
