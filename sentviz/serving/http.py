"""Serve predictions, traces and explanations as JSON over HTTP, each with its run's digest. `sentviz serve` starts it (extra: serve).

No request is stored. Requests are limited in bytes, rows, characters, time and number. An error is one sentence under `error`. A request
names an available run, never a path.
"""

from __future__ import annotations

import asyncio
import html
import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np

from sentviz.analysis.explain import SCORES, Target, ends, explained, headline, score, supported
from sentviz.analysis.explain.headline import chance_of
from sentviz.browser.page import page
from sentviz.errors import RunError, SentvizError, Stopped
from sentviz.io.files import version
from sentviz.models.loading import load
from sentviz.runs import store
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

try:
    from fastapi import FastAPI, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import HTMLResponse, JSONResponse
    from pydantic import BaseModel, ConfigDict, Field
    from starlette.exceptions import HTTPException
except ImportError:
    raise RunError("Serving needs the packages fastapi and uvicorn: `python -m pip install 'sentviz[serve]'`.") from None

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from sentviz.models.model import Model

Result = TypeVar("Result")
HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store", "referrer-policy": "no-referrer", "x-frame-options": "DENY"}
LOCAL = ("localhost", "127.0.0.1")


@dataclass(frozen=True)
class Limits:
    """Limits of the size, time and number of requests."""

    size: int = 1 << 20  # bytes of the body
    rows: int = 256  # texts per request
    characters: int = 20_000  # characters of a text
    weights: int = 1 << 18  # numbers in all maps of a trace
    seconds: float = 30.0  # time limit of each step: sending the body, computing, and reading the response
    head: float = 10.0  # seconds to send the headers
    connections: int = 64  # open connections; with one more, the client that the server has waited for longest is disconnected
    at_once: int = 2  # requests that are computed in parallel
    waiting: int = 16  # requests that may wait; further ones get status 503


LIMITS = Limits()
Text = Annotated[str, Field(max_length=LIMITS.characters)]
Name = Annotated[str, Field(max_length=100, description="name of a run, see GET /runs", examples=["sst2/ndt-unit-2"])]


class RunRequest(BaseModel):
    """Base of all requests that name a run."""

    model_config = ConfigDict(extra="forbid", strict=True)
    run: Name


class PredictRequest(RunRequest):
    """Predict texts, or pairs of texts."""

    texts: Annotated[list[Text], Field(min_length=1, max_length=LIMITS.rows, examples=[["Not bad at all."]])]
    pairs: Annotated[list[Text], Field(max_length=LIMITS.rows)] | None = None


class TraceRequest(RunRequest):
    """Trace a text, or a pair, through the model. Layers and heads of the maps are counted from 0; by default all are returned."""

    text: Annotated[Text, Field(examples=["Not bad at all."])]
    pair: Text | None = None
    maps: bool = False
    layers: Annotated[list[int], Field(max_length=64)] = []
    heads: Annotated[list[int], Field(max_length=64)] = []


class ExplainRequest(RunRequest):
    """Score the tokens of a text, or of a pair."""

    text: Annotated[Text, Field(examples=["Not bad at all."])]
    pair: Text | None = None
    score: Annotated[str, Field(max_length=40, description=", ".join(SCORES))] = "removal"
    target: Annotated[str, Field(max_length=200, description="Class to explain; by default the predicted class")] = ""
    against: Annotated[str, Field(max_length=200, description="Class to compare it with; by default all other classes")] = ""


class RequestError(Exception):
    """A request that is rejected, with its HTTP status."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def predict_texts(run: Run, model: Model, request: PredictRequest) -> dict[str, Any]:
    """Return a prediction for each text; a text that cannot be read gets null and a remark that says why."""
    frame = model.predict(request.texts, request.pairs)
    rows = frame[list(model.labels)].to_numpy()
    rows_with_labels = zip(frame["label"], rows, frame["remark"], strict=True)
    return {
        "answers": [
            {"label": label, "probabilities": _by_label(model.labels, p), "remark": remark} for label, p, remark in rows_with_labels
        ]
    }


def trace_text(run: Run, model: Model, request: TraceRequest) -> dict[str, Any]:
    """Return tokens, prediction, lambdas and, if requested, the effective attention maps (L, H, n, n)."""
    has = model.capabilities
    if maps := request.maps and has.maps:
        n = len(model.encode(request.text, request.pair))
        size = (len(request.layers) or has.layers) * (len(request.heads) or has.heads) * n * n
        if size > LIMITS.weights:
            why = f"The maps of {n} tokens have {size:,} weights, and at most {LIMITS.weights:,} are sent. Select layers and heads."
            raise RequestError(413, why)
    trace = model.trace(request.text, request.pair, layers=request.layers, heads=request.heads, maps=maps)
    response = _trace_fields(trace) | {"lambdas": _numbers(trace.lambdas), "layers": list(trace.layer_ids), "heads": list(trace.head_ids)}
    if maps:
        response["attention"] = None if trace.attention is None else _numbers(trace.attention)
    return response


def explain_text(run: Run, model: Model, request: ExplainRequest) -> dict[str, Any]:
    """Return a score for each token, the meaning of its sign, and the headline of the explanation."""
    target = Target(request.target, request.against)
    trace = explained(model, model.trace(request.text, request.pair).for_target(target), {request.score})
    values, (low, high) = score(trace, request.score), ends(trace, request.score)
    trace = supported(model, trace, chance_of(model, run))
    return _trace_fields(trace) | {
        "score": {"name": request.score, "title": SCORES[request.score].title, "high": high, "low": low, "values": _numbers(values)},
        "headline": headline(trace),
    }


def _run_fields(run: Run) -> dict[str, Any]:
    reads = {"max_length": run.shape.max_length, "pairs": run.capabilities.pairs}
    return {"run": run.name, "digest": run.digest, "labels": run.labels} | reads


def _trace_fields(trace: Trace) -> dict[str, Any]:
    return {
        "label": trace.label,
        "probabilities": _by_label(trace.labels, trace.probabilities),
        "tokens": list(trace.tokens),
        "offsets": trace.offsets.tolist(),
        "dropped": trace.dropped,
    }


def _by_label(labels: Sequence[str], shares: np.ndarray[Any, Any]) -> dict[str, float] | None:
    return None if np.isnan(shares).any() else dict(zip(labels, _numbers(shares), strict=True))


def _numbers(values: np.ndarray[Any, Any]) -> Any:
    """Return nested lists of numbers with six significant digits; None for NaN and infinite values."""
    if values.ndim:
        return [_numbers(row) for row in values]
    return float(f"{float(values):.6g}") if np.isfinite(values) else None


class RunPool:
    """Runs by name with a cache of loaded models, and a thread pool with a limited queue. Thread-safe."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        self._pool, self._open = ThreadPoolExecutor(LIMITS.at_once, "serve"), 0
        self._loading, self._counting = threading.Lock(), threading.Lock()
        self._load = lru_cache(maxsize=4)(lambda folder, digest: load(folder))

    def runs(self) -> dict[str, Run]:
        """Return the runs with weights by name: all available ones, or those that the server was started with."""
        with_weights = {name: run for name, run in store.runs().items() if isinstance(run, Run) and run.has_weights}
        return {name: run for name, run in with_weights.items() if not self.names or name in self.names}

    def open(self, name: str) -> tuple[Run, Model]:
        """Return a run and its model. Raises RequestError if there is no run of this name."""
        run = self.runs().get(name)
        if run is None:
            raise RequestError(404, "There is no run of this name. GET /runs lists the runs.")
        with self._loading:
            return run, self._load(Run(run.name, run.folder), run.digest)

    async def do(self, work: Callable[[Callable[[], None]], Result]) -> Result:
        """Run `work` on a thread, within the limits. Its argument raises Stopped if the client no longer waits for the result."""
        with self._counting:
            if self._open >= LIMITS.at_once + LIMITS.waiting:
                raise RequestError(503, "The server is busy. Please try again in a moment.")
            self._open += 1
        left = threading.Event()

        def check() -> None:
            if left.is_set():
                raise Stopped

        future = self._pool.submit(work, check)
        future.add_done_callback(lambda _: self._done())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), LIMITS.seconds)
        except TimeoutError:
            raise RequestError(504, f"This took more than {LIMITS.seconds:g} seconds. Please send less in one request.") from None
        finally:
            left.set()

    def _done(self) -> None:
        with self._counting:
            self._open -= 1


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
            body = await asyncio.wait_for(self._body(scope, receive), LIMITS.seconds)
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
        if not stated.isdigit() or len(stated) > 12 or int(stated) > LIMITS.size:
            raise RequestError(413, f"A request has at most {LIMITS.size:,} bytes.")
        if scope["method"] == "POST" and headers.get(b"content-type", b"").split(b";")[0].strip().lower() != b"application/json":
            raise RequestError(415, "Requests must be JSON with the content type application/json.")
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RequestError(400, "The request ended before it was complete.")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > LIMITS.size:
                raise RequestError(413, f"A request has at most {LIMITS.size:,} bytes.")
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
    if missing := sorted(pool.names - pool.runs().keys()):
        raise RunError(f"There is no run {missing[0]!r} with weights. `sentviz catalog` lists the runs.")
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

    async def respond(work: Callable[[Run, Model, Any], dict[str, Any]], request: RunRequest) -> dict[str, Any]:
        def compute(check: Callable[[], None]) -> dict[str, Any]:
            run, model = pool.open(request.run)
            return {"run": run.name, "digest": run.digest} | work(run, model.stoppable(check), request)

        return await pool.do(compute)

    @app.post("/predict", summary="Predict the class and probabilities of each text")
    async def predict(request: PredictRequest) -> dict[str, Any]:
        return await respond(predict_texts, request)

    @app.post("/trace", summary="Trace one text through the model: tokens, prediction, lambdas, attention maps")
    async def trace(request: TraceRequest) -> dict[str, Any]:
        return await respond(trace_text, request)

    @app.post("/explain", summary="Score how much each token of a text contributes to the prediction, and summarize the explanation")
    async def explain(request: ExplainRequest) -> dict[str, Any]:
        return await respond(explain_text, request)

    return app


async def _validation_error(request: Request, error: Any) -> JSONResponse:
    """Return the first invalid field with the reason, without the data that was sent."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return _error_response(400, "The body is not JSON.")
    field = ".".join(str(part) for part in first["loc"][1:])[:80]
    return _error_response(422, f"{field or 'The body'}: {first['msg'][:1].lower()}{first['msg'][1:200]}.")


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
            fields, example = shape["properties"], dict[str, Any]()
            for field, of in fields.items():
                if field in shape["required"]:
                    example[field] = of.get("examples", ["..."])[0]
            rows = "".join(
                f"<tr><td><code>{html.escape(field)}</code></td><td>{'required' if field in shape['required'] else 'optional'}</td>"
                f"<td>{html.escape(of.get('description', ''))}</td></tr>"
                for field, of in fields.items()
            )
            sent = html.escape(f"curl -H 'content-type: application/json' -d '{json.dumps(example)}' ADDRESS{path}")
            parts.append(f"<p>{html.escape(shape['description'])}</p><table>{rows}</table><pre>{sent}</pre>")
    style = "main { max-width: 760px; margin: 24px auto; padding: 0 12px } pre { white-space: pre-wrap } td { padding-right: 16px }"
    return page("sentviz", f"<main>{''.join(parts)}</main>", theme=None, style=style)
