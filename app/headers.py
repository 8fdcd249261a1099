"""Headers of every answer, which keep other sites out of the app and the app out of other sites."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["HEADERS", "Signed"]

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


class Signed:
    """Adds the headers where an answer does not bring its own; see the ASGI specification."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""

        async def signed(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message.get("headers", ())}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in own]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        await self.app(scope, receive, signed if scope["type"] == "http" else send)
