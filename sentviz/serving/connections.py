"""Connections of `sentviz serve`: at most so many at once, and none that waits for a slow client for long.

uvicorn limits neither the time for a request's headers nor the time for taking an answer, and counts slow clients like any other.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from sentviz.serving import http as serve

SLOW = json.dumps({"error": "The headers of the request took too long to arrive."}).encode()
GRACE = 0.5  # seconds
HEAD = b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(SLOW)


class Connection(H11Protocol):
    """One connection, within `serve.LIMITS`.

    The client has `head` seconds for the headers of a request, then the application's time for the body, and `seconds` to take the answer.
    When there are more than `connections`, the one that has waited longest for its client is closed: after `GRACE` seconds, in which a
    request that has just arrived is read, or at once when there are more than twice as many.
    """

    since = 0.0  # seconds of the event loop's clock at which it began to wait for a request
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for a request; make room for it."""
        super().connection_made(transport)
        self._wait(serve.LIMITS.head)
        excess = len(self.connections) - serve.LIMITS.connections
        if excess > 0:
            self.loop.call_later(GRACE if excess <= serve.LIMITS.connections else 0, self._make_room)

    def _make_room(self) -> None:
        """Close the connection that has waited longest for its client, if there still are too many."""
        waiting = [other for other in self.connections if isinstance(other, Connection) and other.waits]
        if waiting and len(self.connections) > serve.LIMITS.connections:
            oldest = min(waiting, key=lambda other: other.since)
            self.connections.discard(oldest)
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the client to take the answer and to send the next request."""
        unread = self.transport.get_write_buffer_size() > 0
        self._wait(serve.LIMITS.seconds if unread else serve.LIMITS.head)
        super().on_response_complete()

    @property
    def waits(self) -> bool:
        """Whether the client has to send something before there is anything to do for it."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _wait(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self.since = self.loop.time()
        self._deadline = self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        if self.conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY) and not self.flow.write_paused:
            return  # the application is at work, and has limits of its own
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0] and not self.transport.get_write_buffer_size():
            self.transport.write(HEAD + SLOW)
            self.transport.close()
        else:
            self.transport.abort()


SETTINGS: dict[str, Any] = {  # of uvicorn
    "http": Connection,
    "ws": "none",
    "log_level": "warning",
    "server_header": False,
    "timeout_keep_alive": 5,
}
