"""Limit the connections of `sentviz serve`: their number, and the time that one waits for a slow client.

uvicorn limits neither the time for the headers of a request nor the time for reading a response, and slow clients use up its connections.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from sentviz.doors import asking

TIMEOUT_BODY = json.dumps({"error": "The headers of the request took too long to arrive."}).encode()
GRACE = 0.5  # seconds in which a request that has just arrived is still read
TIMEOUT_HEAD = b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(
    TIMEOUT_BODY
)


class Connection(H11Protocol):
    """A connection within the limits of `sentviz.doors.asking.LIMITS`.

    The client has `head` seconds to send the headers of a request. Then it has the application's time for the body, and `seconds` to read
    the response. If there are more than `connections`, the one that has waited longest for its client is closed: after `GRACE`
    seconds, or at once if there are more than twice as many.
    """

    waiting_since = 0.0  # time of the event loop, in seconds, at which the connection began to wait for its client
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for a request, and close an older connection if there are too many."""
        super().connection_made(transport)
        self._wait(asking.LIMITS.head)
        excess = len(self.connections) - asking.LIMITS.connections
        if excess > 0:
            self.loop.call_later(GRACE if excess <= asking.LIMITS.connections else 0, self._make_room)

    def _make_room(self) -> None:
        """Close the connection that has waited longest for its client, if there are still too many."""
        waiting = [connection for connection in self.connections if isinstance(connection, Connection) and connection.waits]
        if waiting and len(self.connections) > asking.LIMITS.connections:
            oldest = min(waiting, key=lambda connection: connection.waiting_since)
            self.connections.discard(oldest)
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline of a closed connection."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait until the client has read the response and sends the next request."""
        unread = self.transport.get_write_buffer_size() > 0
        self._wait(asking.LIMITS.seconds if unread else asking.LIMITS.head)
        super().on_response_complete()

    @property
    def waits(self) -> bool:
        """True if the server waits for data from the client."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _wait(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self.waiting_since = self.loop.time()
        self._deadline = self.loop.call_later(seconds, self._on_deadline)

    def _on_deadline(self) -> None:
        if self.conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY) and not self.flow.write_paused:
            return  # The application is computing the response and has its own time limit.
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0] and not self.transport.get_write_buffer_size():
            self.transport.write(TIMEOUT_HEAD + TIMEOUT_BODY)
            self.transport.close()
        else:
            self.transport.abort()


SETTINGS: dict[str, Any] = {  # settings of uvicorn
    "http": Connection,
    "ws": "none",
    "log_level": "warning",
    "server_header": False,
    "timeout_keep_alive": 5,
}
