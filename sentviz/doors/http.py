"""Serve the verbs as JSON over HTTP, each answer with its run's digest. `sentviz serve` starts it (extra: serve).

No request is stored. Requests are limited in bytes, rows, characters, time and number. An error is one sentence under `error`. A request
names an available run, never a path.
"""

from __future__ import annotations

import asyncio
import html
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException

from sentviz.browser.page import page
from sentviz.doors import asking
from sentviz.doors.asking import RequestError, RunPool, first_fault, remote_verbs, request_of
from sentviz.errors import SentvizError
from sentviz.io.files import version
from sentviz.runs.store import Run
from sentviz.verbs import Verb

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store", "referrer-policy": "no-referrer", "x-frame-options": "DENY"}
LOCAL = ("localhost", "127.0.0.1")


class RequestGuard:
    """Middleware that checks host, size, time and type of a request, adds security headers, and cancels work if the client disconnects."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self.app, self.hosts = app, frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        try:
            body = await asyncio.wait_for(self._body(scope, receive), asking.LIMITS.seconds)
        except TimeoutError:
            await _error_response(408, "The request took too long to arrive.")(scope, receive, send_with_headers)
        except RequestError as error:
            await _error_response(error.status, str(error))(scope, receive, send_with_headers)
        else:
            await self._respond(scope, body, receive, send_with_headers)

    async def _respond(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await left

        left = asyncio.ensure_future(receive())  # After the body, the next message tells that the client has disconnected.
        answer = asyncio.ensure_future(self.app(scope, replay, send))
        left.add_done_callback(lambda _: answer.cancel())
        try:
            await answer
        except asyncio.CancelledError:
            if not left.done():
                raise
        finally:
            left.cancel()

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        headers: Mapping[bytes, bytes] = dict(scope["headers"])
        if headers.get(b"host", b"").decode("latin-1").partition(":")[0].lower() not in self.hosts:
            raise RequestError(400, "This server does not allow that host name. `sentviz serve --allow NAME` allows it.")
        stated, parts, size = headers.get(b"content-length", b"0"), list[bytes](), 0
        if not stated.isdigit() or len(stated) > 12 or int(stated) > asking.LIMITS.size:
            raise RequestError(413, f"A request has at most {asking.LIMITS.size:,} bytes.")
        if scope["method"] == "POST" and headers.get(b"content-type", b"").split(b";")[0].strip().lower() != b"application/json":
            raise RequestError(415, "Requests must be JSON with the content type application/json.")
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RequestError(400, "The request ended before it was complete.")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > asking.LIMITS.size:
                raise RequestError(413, f"A request has at most {asking.LIMITS.size:,} bytes.")
            if not message.get("more_body"):
                return b"".join(parts)


def _error_response(status: int, why: str) -> JSONResponse:
    return JSONResponse({"error": why}, status, {"retry-after": "5"} if status == 503 else None)


def application(names: Iterable[str] = (), hosts: Iterable[str] = LOCAL) -> FastAPI:
    """Return the server as an ASGI application.

    Args:
        names: runs to serve; by default all runs with weights.
        hosts: host names that requests may use.
    Raises:
        RunError: there is no run with weights of one of the names.
    """
    pool = RunPool(names)
    app = FastAPI(title="sentviz", version=version(), docs_url=None, redoc_url=None, description=(__doc__ or "").splitlines()[0])
    app.add_middleware(RequestGuard, hosts=list(hosts))
    handlers = {
        RequestValidationError: _validation_error,
        HTTPException: _http_error,
        SentvizError: _library_error,
        RequestError: _request_error,
        Exception: _server_error,
    }
    for kind, answer in handlers.items():
        app.add_exception_handler(kind, answer)

    @app.get("/", include_in_schema=False)
    async def start() -> HTMLResponse:
        return HTMLResponse(_manual(app.openapi()))

    @app.get("/runs", summary="List the runs: names, digests, class names, maximum number of tokens, and whether they read pairs")
    def list_runs() -> dict[str, Any]:  # Not in the pool: this request never waits for models.
        return {"runs": [_run_fields(run) for run in pool.runs().values()]}

    for verb in remote_verbs():
        summary = verb.help.partition("\n")[0].rstrip(".")
        app.post(f"/{verb.name}", summary=summary, operation_id=verb.name)(_route(pool, verb))
    return app


def _route(pool: RunPool, verb: Verb) -> Callable[..., Awaitable[dict[str, Any]]]:
    async def route(request: Any) -> dict[str, Any]:
        return await pool.ask(verb, request)

    route.__annotations__["request"] = request_of(verb)
    return route


def _run_fields(run: Run) -> dict[str, Any]:
    reads = {"max_length": run.shape.max_length, "pairs": run.capabilities.pairs}
    return {"run": run.name, "digest": run.digest, "labels": run.labels} | reads


async def _validation_error(request: Request, error: Any) -> JSONResponse:
    """Return the first invalid field with the reason, without the data that was sent."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return _error_response(400, "The body is not JSON.")
    return _error_response(422, first_fault(error, below=1))


async def _http_error(request: Request, error: Any) -> JSONResponse:
    messages = {
        404: "There is no such address. GET / lists the addresses.",
        405: "This method is not allowed here. GET / shows the allowed methods.",
    }
    return _error_response(error.status_code, messages.get(error.status_code, "The request cannot be read: its body must be JSON."))


async def _library_error(request: Request, error: Any) -> JSONResponse:
    return _error_response(422, str(error))


async def _request_error(request: Request, error: Any) -> JSONResponse:
    return _error_response(error.status, str(error))


async def _server_error(request: Request, error: Any) -> JSONResponse:
    logging.getLogger(__name__).error("a request failed", exc_info=error)
    return _error_response(500, "The server made an error; the request is not at fault. See the server's log.")


def _manual(schema: Mapping[str, Any]) -> str:
    """Return a page that documents the interface: each address, its fields, and an example request to copy."""
    parts = ["<h1>sentviz</h1><p>The same in machine-readable form: <a href='/openapi.json'>openapi.json</a>.</p>"]
    for path, ways in schema["paths"].items():
        for way, what in ways.items():
            parts.append(f"<h2><code>{way.upper()} {html.escape(path)}</code></h2><p>{html.escape(what['summary'])}.</p>")
            if "requestBody" not in what:
                continue
            name = what["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            shape = schema["components"]["schemas"][name]
            fields, needed, example = shape["properties"], shape.get("required", ()), dict[str, Any]()
            for field, of in fields.items():
                if field in needed:
                    example[field] = of.get("examples", ["..."])[0]
            rows = "".join(
                f"<tr><td><code>{html.escape(field)}</code></td><td>{'required' if field in needed else 'optional'}</td>"
                f"<td>{html.escape(of.get('description', ''))}</td></tr>"
                for field, of in fields.items()
            )
            sent = html.escape(f"curl -H 'content-type: application/json' -d '{json.dumps(example)}' ADDRESS{path}")
            parts.append(f"<p>{html.escape(shape['description'])}</p><table>{rows}</table><pre>{sent}</pre>")
    style = "main { max-width: 760px; margin: 24px auto; padding: 0 12px } pre { white-space: pre-wrap } td { padding-right: 16px }"
    return page("sentviz", f"<main>{''.join(parts)}</main>", theme=None, style=style)
