"""Runs over HTTP: predict, trace and explain as JSON, each answer with its run's digest. `sentviz serve` starts it (extra: serve).

Nothing of a request is kept. What is asked is limited in bytes, rows, characters, time and number at once; what is wrong with it is one
sentence under `error`. A run is asked for by its name among those at hand, never by a path.
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

from sentviz.analysis.explain import SCORES, explained, headline, score, supported
from sentviz.analysis.explain.headline import chance_of
from sentviz.browser.page import page
from sentviz.errors import RunError, SentvizError, Stopped
from sentviz.figures.colours import palette
from sentviz.models.loading import load
from sentviz.runs import store
from sentviz.runs.store import Run

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
    from sentviz.runs.trace import Trace

Result = TypeVar("Result")
HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store", "referrer-policy": "no-referrer", "x-frame-options": "DENY"}
LOCAL = ("localhost", "127.0.0.1")


@dataclass(frozen=True)
class Limits:
    """What a request may be and cost."""

    size: int = 1 << 20  # bytes of the body
    rows: int = 256
    characters: int = 20_000  # of a text
    weights: int = 1 << 18  # numbers of all maps of a trace
    seconds: float = 30.0  # to send the body, to answer, and to take the answer, each
    head: float = 10.0  # seconds to send the headers
    connections: int = 64  # at once; one more, and the client that has kept the server waiting longest is cut off
    at_once: int = 2  # that are worked on
    waiting: int = 16  # beside those; whoever comes then is sent away


LIMITS = Limits()
Text = Annotated[str, Field(max_length=LIMITS.characters)]
Name = Annotated[str, Field(max_length=100, description="of a run, as GET /runs lists them", examples=["sst2/ndt-unit-2"])]


class Asked(BaseModel):
    """What all requests have."""

    model_config = ConfigDict(extra="forbid", strict=True)
    run: Name


class Predicted(Asked):
    """Texts, or pairs of texts, to answer."""

    texts: Annotated[list[Text], Field(min_length=1, max_length=LIMITS.rows, examples=[["Not bad at all."]])]
    pairs: Annotated[list[Text], Field(max_length=LIMITS.rows)] | None = None


class Traced(Asked):
    """A text, or a pair, to follow through the model; maps of all layers and heads, or of some, counted from 0."""

    text: Annotated[Text, Field(examples=["Not bad at all."])]
    pair: Text | None = None
    maps: bool = False
    layers: Annotated[list[int], Field(max_length=64)] = []
    heads: Annotated[list[int], Field(max_length=64)] = []


class Explained(Asked):
    """A text, or a pair, whose tokens get scores."""

    text: Annotated[Text, Field(examples=["Not bad at all."])]
    pair: Text | None = None
    score: Annotated[str, Field(max_length=40, description=", ".join(SCORES))] = "removal"


class Refused(Exception):
    """A request that is not answered, with its status."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


# ---- answers


def predicted(run: Run, model: Model, asked: Predicted) -> dict[str, Any]:
    """An answer to each text; one that cannot be read has none, and a remark that says why."""
    frame = model.predict(asked.texts, asked.pairs)
    rows = frame[list(model.labels)].to_numpy()
    said = zip(frame["label"], rows, frame["remark"], strict=True)
    return {"answers": [{"label": label, "probabilities": _by_label(model.labels, p), "remark": remark} for label, p, remark in said]}


def traced(run: Run, model: Model, asked: Traced) -> dict[str, Any]:
    """Tokens, answer, lambdas and, if asked for, the effective maps (L, H, n, n)."""
    trace = model.trace(asked.text, asked.pair, layers=asked.layers, heads=asked.heads, maps=False)
    found = _of(trace) | {"lambdas": _numbers(trace.lambdas), "layers": list(trace.layer_ids), "heads": list(trace.head_ids)}
    if asked.maps and model.capabilities.maps:
        n = len(trace.tokens)
        if (size := len(trace.layer_ids) * len(trace.head_ids) * n * n) > LIMITS.weights:
            raise Refused(413, f"The maps of {n} tokens have {size:,} weights, {LIMITS.weights:,} are sent; name layers and heads.")
        whole = model.trace(asked.text, asked.pair, layers=asked.layers, heads=asked.heads)
        found["attention"] = None if whole.attention is None else _numbers(whole.attention)
    return found


def told(run: Run, model: Model, asked: Explained) -> dict[str, Any]:
    """A score for each token, what its sign means, and what the answer rests on."""
    trace = explained(model, model.trace(asked.text, asked.pair), {asked.score})
    values, how = score(trace, asked.score), SCORES[asked.score]
    trace = supported(model, trace, chance_of(model, run))
    return _of(trace) | {
        "score": {"name": asked.score, "title": how.title, "high": how.high, "low": how.low, "values": _numbers(values)},
        "headline": headline(trace),
    }


def _about(run: Run) -> dict[str, Any]:
    reads = {"max_length": run.shape.max_length, "pairs": run.capabilities.pairs}
    return {"run": run.name, "digest": run.digest, "labels": run.labels} | reads


def _of(trace: Trace) -> dict[str, Any]:
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
    """Nested lists of numbers of six digits; what is no number is null."""
    if values.ndim:
        return [_numbers(row) for row in values]
    return float(f"{float(values):.6g}") if np.isfinite(values) else None


# ---- the server


class Desk:
    """Runs by name, a few of them open, and so much work at once."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        self._pool, self._open = ThreadPoolExecutor(LIMITS.at_once, "serve"), 0
        self._loading, self._counting = threading.Lock(), threading.Lock()
        self._load = lru_cache(maxsize=4)(lambda folder, digest: load(folder))

    def runs(self) -> dict[str, Run]:
        """Those that can be asked, by name; of all, or of those that the server was started with."""
        found = {name: run for name, run in store.runs().items() if isinstance(run, Run) and run.has_weights}
        return {name: run for name, run in found.items() if not self.names or name in self.names}

    def opened(self, name: str) -> tuple[Run, Model]:
        """A run and its model."""
        run = self.runs().get(name)
        if run is None:
            raise Refused(404, "There is no run of this name here; GET /runs lists them.")
        with self._loading:
            return run, self._load(Run(run.name, run.folder), run.digest)

    async def do(self, work: Callable[[Callable[[], None]], Result]) -> Result:
        """Run `work` on a thread, within the limits. Its argument raises Stopped once nobody waits for the result."""
        with self._counting:
            if self._open >= LIMITS.at_once + LIMITS.waiting:
                raise Refused(503, "The server is busy; please ask again in a moment.")
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
            raise Refused(504, f"This took more than {LIMITS.seconds:g} seconds; please ask about less.") from None
        finally:
            left.set()

    def _done(self) -> None:
        with self._counting:
            self._open -= 1


class Guard:
    """Checks the host, size, time and type of a request, signs every answer, and cancels the work for a client that left."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self.app, self.hosts = app, frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def signed(message: Message) -> None:
            if message["type"] == "http.response.start":
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        try:
            body = await asyncio.wait_for(self._body(scope, receive), LIMITS.seconds)
        except TimeoutError:
            await _refusal(408, "The request took too long to arrive.")(scope, receive, signed)
        except Refused as error:
            await _refusal(error.status, str(error))(scope, receive, signed)
        else:
            await self._answer(scope, body, receive, signed)

    async def _answer(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return whole.pop() if whole else await left

        left = asyncio.ensure_future(receive())  # after the body a server sends one more message, when the client is gone
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
            raise Refused(400, "This server is not called by that name; `sentviz serve --allow NAME` lets it be.")
        stated, parts, size = headers.get(b"content-length", b"0"), list[bytes](), 0
        if not stated.isdigit() or len(stated) > 12 or int(stated) > LIMITS.size:
            raise Refused(413, f"A request has at most {LIMITS.size:,} bytes.")
        if scope["method"] == "POST" and headers.get(b"content-type", b"").split(b";")[0].strip().lower() != b"application/json":
            raise Refused(415, "Requests are JSON: name the content type application/json.")
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refused(400, "The request ended before it was whole.")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > LIMITS.size:
                raise Refused(413, f"A request has at most {LIMITS.size:,} bytes.")
            if not message.get("more_body"):
                return b"".join(parts)


def _refusal(status: int, why: str) -> JSONResponse:
    return JSONResponse({"error": why}, status, {"retry-after": "5"} if status == 503 else None)


def application(names: Iterable[str] = (), hosts: Iterable[str] = LOCAL) -> FastAPI:
    """The server, for any ASGI host.

    Args:
        names: of the runs that are served; all that can be asked unless told. hosts: names by which it may be called.
    Raises:
        RunError: a name of no run that can be asked.
    """
    desk = Desk(names)
    if missing := sorted(desk.names - desk.runs().keys()):
        raise RunError(f"There is no run {missing[0]!r} that can be asked.")
    app = FastAPI(title="sentviz", version=store.version(), docs_url=None, redoc_url=None, description=(__doc__ or "").splitlines()[0])
    app.add_middleware(Guard, hosts=list(hosts))
    kinds = {RequestValidationError: _invalid, HTTPException: _unknown, SentvizError: _said, Refused: _refused, Exception: _failed}
    for kind, answer in kinds.items():
        app.add_exception_handler(kind, answer)

    @app.get("/", include_in_schema=False)
    async def start() -> HTMLResponse:
        return HTMLResponse(_manual(app.openapi()))

    @app.get("/runs", summary="The runs that can be asked: names, digests, class names, tokens read at most, whether they read pairs")
    def listed() -> dict[str, Any]:  # on a thread of its own: it never waits for models
        return {"runs": [_about(run) for run in desk.runs().values()]}

    async def answered(work: Callable[[Run, Model, Any], dict[str, Any]], asked: Asked) -> dict[str, Any]:
        def whole(check: Callable[[], None]) -> dict[str, Any]:
            run, model = desk.opened(asked.run)
            return {"run": run.name, "digest": run.digest} | work(run, model.stoppable(check), asked)

        return await desk.do(whole)

    @app.post("/predict", summary="Class and probabilities of each text")
    async def predict(asked: Predicted) -> dict[str, Any]:
        return await answered(predicted, asked)

    @app.post("/trace", summary="One text on its way through the model: tokens, answer, lambdas, attention maps")
    async def trace(asked: Traced) -> dict[str, Any]:
        return await answered(traced, asked)

    @app.post("/explain", summary="What each token of a text is worth to the answer, and what the answer rests on")
    async def explain(asked: Explained) -> dict[str, Any]:
        return await answered(told, asked)

    return app


# ---- what goes wrong


async def _invalid(request: Request, error: Any) -> JSONResponse:
    """The first thing that does not fit, without what was sent."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return _refusal(400, "The body is no JSON.")
    where = ".".join(str(part) for part in first["loc"][1:])[:80]
    return _refusal(422, f"{where or 'The body'}: {first['msg'][:1].lower()}{first['msg'][1:200]}.")


async def _unknown(request: Request, error: Any) -> JSONResponse:
    said = {404: "There is nothing here; GET / says what there is.", 405: "This address is not asked in this way; GET / says how."}
    return _refusal(error.status_code, said.get(error.status_code, "The request cannot be read: its body must be JSON."))


async def _said(request: Request, error: Any) -> JSONResponse:
    return _refusal(422, str(error))


async def _refused(request: Request, error: Any) -> JSONResponse:
    return _refusal(error.status, str(error))


async def _failed(request: Request, error: Any) -> JSONResponse:
    logging.getLogger(__name__).error("a request failed", exc_info=error)
    return _refusal(500, "Something went wrong here, not with the request; the server's log says what.")


# ---- the page


def _manual(schema: Mapping[str, Any]) -> str:
    """The interface as one page that asks for nothing: each address, its fields, and a request to copy."""
    parts = ["<h1>sentviz</h1><p>The same for machines: <a href='/openapi.json'>openapi.json</a>.</p>"]
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
                f"<tr><td><code>{html.escape(field)}</code></td><td>{'needed' if field in shape['required'] else 'may be left out'}</td>"
                f"<td>{html.escape(of.get('description', ''))}</td></tr>"
                for field, of in fields.items()
            )
            sent = html.escape(f"curl -H 'content-type: application/json' -d '{json.dumps(example)}' ADDRESS{path}")
            parts.append(f"<p>{html.escape(shape['description'])}</p><table>{rows}</table><pre>{sent}</pre>")
    style = "main { max-width: 760px; margin: 24px auto; padding: 0 12px } pre { white-space: pre-wrap } td { padding-right: 16px }"
    return page("sentviz", f"<main>{''.join(parts)}</main>", colours=palette("light"), style=style)
