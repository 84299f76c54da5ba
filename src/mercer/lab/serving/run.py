"""`serve`: the server on a port, its address printed, until Ctrl-C."""

from __future__ import annotations

import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import uvicorn

from mercer.lab.serving.app import make_app
from mercer.lab.serving.patience import Impatient

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    host: str = "127.0.0.1",
    port: int = 0,
    browser: bool = True,
    first: dict[str, Any] | None = None,
    say: Callable[[str], None] = print,
    state: str = "",
) -> None:
    """Serve the page until interrupted; port 0 takes a free one, `state` is what it shows first."""
    listening = _socket(host, port)
    port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    named = f"[{host}]" if ":" in host else host
    # Signs that have no place after # are written as %xx.
    shown = f"#{quote(state.removeprefix('#'), safe='=&(),*%+-._~')}" if state else ""
    address = f"http://{named}:{port}/?token={token}{shown}"
    if host not in LOOPBACK:
        print(
            f"warning: {host} can be reached by other machines. Whoever has the address, token "
            "included, can compute here; the connection is not encrypted.",
            file=sys.stderr,
        )
    application = make_app(token, _hosts(host, port), first=first)
    config = uvicorn.Config(
        application,
        http=Impatient,
        log_level="error",
        ws_max_size=1 << 20,
        ws_ping_interval=20,
        ws_per_message_deflate=False,  # compressing takes longer than a picture does
        timeout_keep_alive=5,
        timeout_graceful_shutdown=2,  # a page that does not read would keep the server for ever
        limit_concurrency=1024,
        server_header=False,
        h11_max_incomplete_event_size=16_384,
    )
    server = uvicorn.Server(config)
    threading.Thread(target=_when_ready, args=(server, address, browser, say), daemon=True).start()
    server.run(sockets=[listening])


def _socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise OSError(error.errno, f"{error.strerror} (port {port} of {host})") from None
    return listening


def _hosts(host: str, port: int) -> frozenset[str]:
    """The names under which this server answers; all of them where it listens everywhere."""
    if host in ("0.0.0.0", "::"):
        return frozenset()
    names = {host, "localhost", "127.0.0.1"} if host in LOOPBACK else {host}
    return frozenset(f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in names)


def _when_ready(server: Any, address: str, browser: bool, say: Callable[[str], None]) -> None:
    while not server.started and not server.should_exit:
        time.sleep(0.02)
    if server.started:
        say(address)
        if browser:
            webbrowser.open(address)
