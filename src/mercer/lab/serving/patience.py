"""Connections whose request does not arrive are closed: slow writers must not keep others out."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds in which a request must have arrived.
PATIENCE = 10.0


class Impatient(H11Protocol):
    """HTTP as uvicorn speaks it, with an end to waiting."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.loop.call_later(PATIENCE, self._look, None)

    def _look(self, before: Any) -> None:
        """Close if no request has come since the last look and none is being answered."""
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return  # it is over, or has become a WebSocket, which has pings of its own
        answering = self.cycle is not None and not self.cycle.response_complete
        if self.scope is before and not answering:
            self.transport.close()
        else:
            self.loop.call_later(PATIENCE, self._look, self.scope)
