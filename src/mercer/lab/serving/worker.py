"""A worker process: reads requests from its pipe, one at a time, and writes replies."""

from __future__ import annotations

import os
import signal
import threading
from multiprocessing import connection, parent_process
from typing import Any

#: Bytes of address space that a worker may add to what it has when it begins.
MEMORY = 2 << 30
#: What a message begins with that says what is being compiled; no reply does.
COMPILING = b"compiling "
#: What is sent back as it came: it shows that a worker listens.
PING = b"ping"


def serve(pipe: connection.Connection) -> None:
    """Answer until the pipe closes; ends with the server, whatever it is computing."""
    threading.Thread(target=_end_with_server, daemon=True).start()
    _limit_memory(MEMORY)
    from mercer._machine.compiling import watch
    from mercer.lab.serving import warm

    pipe.send_bytes(b"warm" if os.getpid() != warm.LOADED_IN else b"cold")
    watch(lambda name: pipe.send_bytes(COMPILING + name.encode()) if name else None)
    while True:
        try:
            message = pipe.recv_bytes()
        except (EOFError, OSError):
            return
        pipe.send_bytes(PING if message == PING else _answered(message))


def _answered(message: bytes) -> bytes:
    from mercer.lab.compute.requests import answer, read
    from mercer.lab.compute.wire import Reply, packed

    request: dict[str, Any] = read(message)
    number = request.get("id")
    try:
        return answer(request)
    except Exception as error:  # a fault of ours must not end the worker
        return packed(Reply({"error": f"a fault of mercer: {type(error).__name__}"}), number)


def _end_with_server() -> None:
    server = parent_process()
    if server is not None:
        connection.wait([server.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)  # also in the middle of a computation


def _limit_memory(more: int) -> None:
    """Where the system can limit memory, a request that wants too much gets a MemoryError."""
    try:
        import resource
    except ImportError:  # Windows
        return
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (now + more, hard))
