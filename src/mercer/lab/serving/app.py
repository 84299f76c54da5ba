"""The web application: the page, its files, and one WebSocket per page.

Only this machine's browser with the token from the address may ask: the Host must be the one that
was served, the Origin of a WebSocket must be that host, and the page may load nothing from
elsewhere. The page cannot name a file.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from mercer.lab.compute.requests import REQUESTS, read
from mercer.lab.compute.wire import Reply, packed
from mercer.lab.serving.outbox import Outbox
from mercer.lab.serving.pool import Job, Pool
from mercer.lab.serving.turns import BACKGROUND
from mercer.live.bundle import FOLDERS

#: Characters of one message, at most: a table of a thousand rows and fifty columns has so many.
MOST_CHARACTERS = 800_000
#: Pages that may be open at a time, and requests that each may have in progress.
MOST_PAGES = 256
#: Of one kind and channel the latest request counts: the main picture, and the one beside it.
CHANNELS = ("", "beside")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass
class OnlyTheseHosts:
    """Refuses connections for any other name: a foreign site may point its name at this machine."""

    app: ASGIApp
    hosts: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            host = HTTPConnection(scope).headers.get("host", "")
            if self.hosts and host not in self.hosts:
                if scope["type"] == "websocket":
                    await WebSocket(scope, receive, send).close(1008)
                else:
                    await PlainTextResponse("wrong host", 421)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def files() -> dict[str, bytes]:
    """Every file of the page, by its path below `static`; read once."""
    found: dict[str, bytes] = {}

    def walk(folder: Any, path: str) -> None:
        for item in folder.iterdir():
            if item.is_dir():
                walk(item, f"{path}{item.name}/")
            elif any(item.name.endswith(ending) for ending in TYPES):
                found[path + item.name] = item.read_bytes()

    for package in FOLDERS:
        walk(resources.files(package) / "static", "")
    return found


def make_app(
    token: str, hosts: frozenset[str], pool: Pool | None = None, first: dict | None = None
) -> Starlette:
    """The application; `first` is what the page begins with, points of a file, say."""
    known, workers, pages = files(), pool or Pool(), set[int]()

    def allowed(given: str | None) -> bool:
        return given is not None and secrets.compare_digest(given.encode(), token.encode())

    def index(request: Request) -> Response:
        if not allowed(request.query_params.get("token")):
            words = "Open the address that `mercer lab` printed: it ends with a token."
            return PlainTextResponse(words, 403, headers=HEADERS)
        return Response(known["index.html"], media_type=TYPES[".html"], headers=HEADERS)

    def static(request: Request) -> Response:
        path = request.path_params["path"]
        if path not in known or path == "index.html":
            return PlainTextResponse("not found", 404, headers=HEADERS)
        return Response(known[path], media_type=TYPES[path[path.rindex(".") :]], headers=HEADERS)

    async def talk(socket: WebSocket) -> None:
        origin = socket.headers.get("origin", "").partition("://")[2]
        right = allowed(socket.query_params.get("token")) and origin == socket.headers.get("host")
        if not right or len(pages) >= MOST_PAGES:
            await socket.close(1008)
            return
        await socket.accept()
        page = id(socket)
        pages.add(page)
        try:
            await _conversation(socket, workers, page, first or {})
        finally:
            pages.discard(page)
            workers.forget(page)

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        await workers.start()
        preparing = asyncio.create_task(_prepared(workers))
        yield
        preparing.cancel()
        await workers.close()

    return Starlette(
        routes=[
            Route("/", index),
            Route("/static/{path:path}", static),
            WebSocketRoute("/talk", talk),
        ],
        middleware=[Middleware(OnlyTheseHosts, hosts=hosts)],
        lifespan=life,
    )


async def _prepared(workers: Pool) -> None:
    """Let one worker after the other compile what first fits would wait for."""
    from mercer.lab.compute.learners import LEARNERS

    for learner in LEARNERS:
        done = asyncio.Event()

        async def deliver(reply: bytes, done: asyncio.Event = done) -> None:
            done.set()

        message = json.dumps({"id": 0, "ask": "prepare", "learner": learner}).encode()
        workers.ask(BACKGROUND, Job(message, 0, deliver))
        await done.wait()


async def _conversation(socket: WebSocket, workers: Pool, page: int, first: dict) -> None:
    """Requests of one page, until it goes; `channel` in a request names the picture it is for."""
    outbox = Outbox(socket)
    sending = asyncio.create_task(outbox.send_all())
    await outbox.put("hello", packed(Reply({"hello": first}), 0))
    try:
        while (received := await socket.receive())["type"] == "websocket.receive":
            message, number = received.get("text") or "", None  # bytes are no request
            try:
                if len(message) > MOST_CHARACTERS:
                    raise ValueError("the message is too long")
                request = read(message)
                ask, number, channel = request["ask"], request["id"], request.get("channel", "")
                if ask not in REQUESTS or channel not in CHANNELS:
                    raise ValueError("there is no such request")
            except (ValueError, RecursionError) as error:
                refusal = Reply({"error": f"refused: {error}"[:200]})
                await outbox.put("error", packed(refusal, number))
                continue
            reply_to = partial(outbox.put, (ask, channel))
            tell = partial(outbox.put, "state")
            workers.ask((page, ask, channel), Job(message.encode(), number, reply_to, tell))
    finally:
        sending.cancel()
