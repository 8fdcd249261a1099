"""Where a page finds the server: at the root of its own address, whichever page a link opens."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEAD = b"<head>"
SAID = b"<script>window.__streamlit = { BACKEND_BASE_URL: new URL('.', location.href).href }</script>"


class Rooted:
    """Tells the page of an app where its server is. Otherwise Streamlit first tries the address of a linked page, which is a 404, twice."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; a page that a browser opens is asked for uncompressed and held until it is complete, everything else passes."""
        start: Message | None = None  # of a page
        body = b""

        async def told(message: Message) -> None:
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
            whole = body.replace(HEAD, HEAD + SAID, 1)
            headers = [
                (name, str(len(whole)).encode() if name == b"content-length" and body else value) for name, value in start["headers"]
            ]
            await send({**start, "headers": headers})
            await send({**message, "body": whole})

        if scope["type"] == "http" and b"text/html" in dict(scope["headers"]).get(b"accept", b""):
            plain = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
            await self.app({**scope, "headers": plain}, receive, told)
        else:
            await self.app(scope, receive, send)


def _is_page(start: Message) -> bool:
    """Whether an answer is HTML."""
    headers: dict[bytes, bytes] = dict(start.get("headers", ()))
    return headers.get(b"content-type", b"").startswith(b"text/html")
