"""Security headers of every response, addresses that only this machine may open, and the address of the server in each page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL = ("localhost", "127.0.0.1", "::1")
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP")  # headers in which a proxy names its client
PRIVATE = ("/_stcore/metrics",)  # ends of addresses

POLICY = {
    "default-src": "'self'",
    "script-src": "'self' 'unsafe-inline' 'unsafe-eval' blob:",  # Streamlit's tables and Plotly's drawings compile functions
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self' data: blob:",
    "worker-src": "'self' blob:",
    "frame-src": "'self' data: blob:",
    "frame-ancestors": "'self'",
    "form-action": "'self'",
    "base-uri": "'self'",
    "object-src": "'none'",
}
HEADERS = {
    "content-security-policy": "; ".join(f"{what} {whom}" for what, whom in POLICY.items()),
    "x-frame-options": "SAMEORIGIN",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}

HEAD = b"<head>"
SCRIPT = b"<script>window.__streamlit = { BACKEND_BASE_URL: new URL('.', location.href).href }</script>"


class SecurityHeaders:
    """ASGI middleware that adds the security headers that a response does not have."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message.get("headers", ())}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in own]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


class Private:
    """ASGI middleware that answers 404 at the addresses of `PRIVATE`, except to clients on the serving machine."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        secret = scope["type"] == "http" and scope["path"].rstrip("/").endswith(PRIVATE)
        client = scope.get("client") or (None,)
        app = self.app if not secret or own_machine(client[0], Headers(scope=scope)) else PlainTextResponse("Not Found", 404)
        await app(scope, receive, send)


class Rooted:
    """ASGI middleware that writes the server's address into each page. Otherwise Streamlit first tries the address of a linked page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. A page that a browser opens is requested uncompressed and sent once it is complete; all else is passed on."""
        start: Message | None = None  # first message of a page
        body = b""

        async def hold(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and _is_page(message):
                start = message
                return
            if start is None:
                await send(message)
                return
            body += message.get("body", b"")
            if message.get("more_body"):
                return
            page = body.replace(HEAD, HEAD + SCRIPT, 1)
            headers = [(name, str(len(page)).encode() if name == b"content-length" and body else value) for name, value in start["headers"]]
            await send({**start, "headers": headers})
            await send({**message, "body": page})

        if scope["type"] == "http" and b"text/html" in dict(scope["headers"]).get(b"accept", b""):
            plain = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
            await self.app({**scope, "headers": plain}, receive, hold)
        else:
            await self.app(scope, receive, send)


def _is_page(start: Message) -> bool:
    """Return whether a response is HTML."""
    headers: dict[bytes, bytes] = dict(start.get("headers", ()))
    return headers.get(b"content-type", b"").startswith(b"text/html")


def own_machine(address: str | None, headers: Mapping[str, str]) -> bool:
    """Return whether the client runs on the serving machine: a local or unknown (None) address, a local host name, and no proxy."""
    host = urlsplit(f"//{headers.get('Host', 'localhost')}").hostname
    return address in (None, *LOCAL) and host in LOCAL and not any(name in headers for name in FORWARDED)
