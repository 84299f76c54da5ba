"""Worker processes: answers come back, superseded work is killed, nobody outlives the server."""

import asyncio
import json
import multiprocessing
import os
import signal
import subprocess
import sys

import pytest

from mercer.lab.compute.wire import unpacked
from mercer.lab.serving.pool import ASKED, Job, Pool, Worker
from mercer.lab.serving.worker import COMPILING

pytestmark = pytest.mark.slow


def request(number, **body):
    return json.dumps({"id": number, **body}).encode()


def test_workers_answer_are_killed_and_end(monkeypatch):
    """One pool for everything: starting one takes seconds."""

    async def story():
        pool = Pool(size=2, limit=20.0, grace=0.0)
        await pool.start()
        replies = asyncio.Queue()

        def ask(asker, number, **body):
            pool.ask(asker, Job(request(number, **body), number, replies.put))

        ask("a", 1, ask="kernel", text="linear()")
        assert unpacked(await replies.get()).facts["repr"] == "Linear()"

        # A search that takes seconds gives way to the next question of the same asker.
        first = {id(w.process) for w in pool.idle}
        ask("a", 2, ask="proof", text="gaussian(1) * sigmoid(1, 1) + 1")
        while "a" not in pool.running:
            await asyncio.sleep(0.01)
        ask("a", 3, ask="kernel", text="gaussian(1)")
        facts = unpacked(await replies.get()).facts
        while facts["id"] != 3:  # the search may have ended before it was stopped
            facts = unpacked(await replies.get()).facts
        assert facts["repr"] == "Gaussian()"
        assert len(first) == 2

        # A worker that dies by itself is replaced, and the page is told.
        ask("b", 4, ask="proof", text="gaussian(1) * sigmoid(1, 1) + 2")
        pool.running["b"].process.kill()
        assert unpacked(await replies.get()).facts["id"] == 4
        ask("b", 5, ask="kernel", text="linear()")
        assert unpacked(await replies.get()).facts["repr"] == "Linear()"

        # So is one that is stopped while it is idle, and one that ends as it begins.
        for worker in pool.idle:
            os.kill(worker.process.pid, signal.SIGSTOP)
        begins = pool._context.Process.start

        def start(process):
            begins(process)
            process.kill()
            monkeypatch.setattr(pool._context.Process, "start", begins)

        monkeypatch.setattr(pool._context.Process, "start", start)
        ask("b", 6, ask="kernel", text="linear()")
        assert unpacked(await replies.get()).facts["repr"] == "Linear()"

        processes = [w.process for w in [*pool.idle, *pool.running.values()]]
        await pool.close()
        assert processes
        assert not any(p.is_alive() for p in processes)

    asyncio.run(asyncio.wait_for(story(), 100))


def test_a_worker_has_one_thread_in_every_library():
    """Several of them share the cores: a second thread would wait busily for a core."""
    script = (
        "import mercer.lab.serving.warm, threadpoolctl\n"
        "from mercer.lab.compute.preparing import prepare\n"
        "prepare({'learner': 'process'})\n"
        "print({one['num_threads'] for one in threadpoolctl.threadpool_info()})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {ASKED: "1"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "{1}", done.stderr


def test_the_page_is_told_what_is_compiled():
    ours, theirs = multiprocessing.Pipe()
    theirs.send_bytes(COMPILING + b"solve_problems")
    theirs.send_bytes(b"the reply")
    told = []

    async def tell(state):
        told.append(unpacked(state).facts["compiling"])

    async def story():
        pool = Pool(size=1)
        reply = await pool._computed(Worker(None, ours), Job(b"a question", 1, tell, tell))
        await asyncio.sleep(0.01)
        return reply

    assert asyncio.run(story()) == b"the reply"
    assert told == ["solve_problems"]
    assert theirs.recv_bytes() == b"a question"
