"""Replies on their way to one page: of each question the latest, however slowly the page reads."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable

from starlette.websockets import WebSocket, WebSocketDisconnect


class Outbox:
    """What a page has not read yet; a later reply to a question takes an earlier one's place.

    The page itself drops answers that it has asked for again. So there are never more replies
    than kinds of questions, and a page that does not read costs no more.
    """

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._replies: dict[Hashable, bytes] = {}
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return len(self._replies)

    async def put(self, question: Hashable, reply: bytes) -> None:
        """Send this when all earlier ones are sent; does not wait."""
        self._replies.pop(question, None)
        self._replies[question] = reply
        self._filled.set()

    async def send_all(self) -> None:
        """Send what there is and what comes, one after the other, until the page has gone."""
        while True:
            await self._filled.wait()
            self._filled.clear()
            while self._replies:
                try:
                    await self._socket.send_bytes(self._replies.pop(next(iter(self._replies))))
                except (RuntimeError, WebSocketDisconnect):
                    return
