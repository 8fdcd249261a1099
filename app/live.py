"""The linked picture while a visitor types: a route of the app's own server that answers without a run of the page.

The browser sends view and text in the body of a request, so that the text is in no address and no log. It asks one question at a time: what
was typed in between is never asked. Nothing of a request is stored.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from app import cache
from app.answers import aim_of, aimed
from app.errors import sentence
from app.fields import LONGEST, as_sent
from app.focus import EARLIER, Focus
from app.server.queue import turns
from sentviz.analysis.explain import SCORES, answer, available, explained
from sentviz.analysis.maps.layers import silenced
from sentviz.browser.canvas import canvas_data, is_quick, scene_of
from sentviz.errors import InputError, RunError
from sentviz.models.budget import Budget, Spent
from sentviz.runs.catalog import reads_pairs
from sentviz.runs.intervention import Intervention
from sentviz.runs.trace import Trace
from sentviz.serving.jobs import AT_ONCE

BODY = 2 * 6 * LONGEST + 20_000  # bytes of a question: two texts with up to six bytes for each character, and the view
ARRIVES = 5.0  # seconds in which a question must have arrived
WAITING = 64  # questions that are answered or wait; further ones are refused
OTHER = "Only an open page of this server may ask."
BATCH, LETTERS = 8, 2_000  # questions of one kind, and their letters, that are read together at most
MEASURED = 0.2  # seconds of computing that words and heads may take in an answer
TOGETHER = 10.0  # seconds after a question in which its visitor counts as typing

_KEY = secrets.token_bytes(32)


def ticket() -> str:
    """Return what a visit needs to ask: a new name, and the proof that this server gave it."""
    name = secrets.token_hex(8)
    return f"{name}.{_proof(name)}"


def _proof(name: str) -> str:
    return hmac.digest(_KEY, name.encode(), "sha256").hex()


@dataclass(frozen=True)
class Question:
    """A text that a visitor types, and the view that it is shown in.

    Attributes:
        view: parameters of the page's link, which name the run and the changes of the model.
        visitor: a `ticket`.
    """

    view: Mapping[str, str]
    text: str
    pair: str
    visitor: str

    @classmethod
    async def read(cls, request: Request) -> Question:
        """Read the body of a request.

        Raises:
            ClientDisconnect: the browser closed the connection.
        """
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > BODY:
                raise InputError(f"A text may have at most {LONGEST:,} characters.")
        try:
            content = json.loads(body)
            view, *strings = (content[name] for name in ("view", "text", "pair", "visitor"))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError("This is not a question that sentviz asks.") from None
        strings += [*view.keys(), *view.values()] if isinstance(view, dict) else [None]
        if not all(isinstance(each, str) for each in strings) or max(map(len, strings)) > LONGEST:
            raise InputError(f"A question is made of texts of at most {LONGEST:,} characters.")
        text, pair, visitor, *parts = map(as_sent, strings)
        return cls(dict(zip(parts, parts[len(view) :], strict=False)), text, pair, visitor)

    @property
    def is_known(self) -> bool:
        """Return whether the visitor's ticket is from this server."""
        name, _, proof = self.visitor.partition(".")
        return hmac.compare_digest(proof.encode(), _proof(name).encode())

    def focus(self) -> Focus:
        """Return the focus of the view with the text; a layer, head or score that the model does not have is at its default.

        Raises:
            RunError: the run is not available, or its model does not have what the view changes.
        """
        models = cache.models()
        named = self.view.get("run") or next(iter(models), "")
        if named not in models:
            raise RunError(f"There is no run {named!r} here that can predict. Choose another model.")
        changes = {name: text for name, text in self.view.items() if name in {"change", *EARLIER}}
        parsed, unknown = Focus.parse({"run": named} | changes, models, ())
        if unknown or parsed.fit(models[named].capabilities)[1]:
            raise RunError(f"{named} does not have what the view changes in it. Reset the changes.")
        focus, _ = Focus.parse({**self.view, "run": named}, models, tuple(SCORES))
        return focus.fit(models[named].capabilities)[0].with_(text=self.text, pair=self.pair)


@dataclass(frozen=True, eq=False)
class _Waiting:
    """A question that waits for a thread.

    Attributes:
        wanted: the run that the visitor chose. focus: the view, with the run that answers. answer: receives the answer.
    """

    visitor: str
    wanted: str
    focus: Focus
    answer: Future[dict[str, Any]]

    @property
    def kind(self) -> tuple[str, Intervention, int]:
        """Run, change of the model, and the power of two of the text's length: questions of one kind are read in one batch."""
        return self.focus.run, self.focus.change, (len(self.focus.text) // 100).bit_length()


class Live:
    """Answers the questions of all visitors, one of each visitor at a time, with `AT_ONCE` threads.

    While questions wait for a thread, answers come without what is measured on words and heads, and the model reads the texts of several
    visitors together, so that nobody waits long.
    """

    def __init__(self) -> None:
        self._busy: set[str] = set()  # visitors whose question is being answered
        self._line: list[_Waiting] = []  # questions that no thread has begun
        self._taking = threading.Lock()
        self._last: dict[str, tuple[str, float]] = {}  # run and time of each visitor's latest question
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="live")

    async def answer(self, request: Request) -> Response:
        """Answer a question with the data of the picture, or with an error in one sentence.

        It is refused if the visitor is unknown (403), the model is not there (404), or too many wait (503).
        """
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return _refused(403, OTHER)
        try:
            question = await asyncio.wait_for(Question.read(request), ARRIVES)
        except (TimeoutError, ClientDisconnect):
            return _refused(408, "The question did not arrive in time.")
        except InputError as error:
            return _refused(400, str(error))
        if not question.is_known:
            return _refused(403, OTHER)
        if question.visitor in self._busy:
            return _refused(503, "Your question before this one is still being answered.")
        if len(self._busy) >= WAITING:
            return _refused(503, "Too many people are typing at the moment.")
        self._busy.add(question.visitor)
        try:
            place = await asyncio.get_running_loop().run_in_executor(None, self._put_in_line, question)
            data = await asyncio.wrap_future(place)
        except RunError as error:
            return _refused(404, str(error))
        finally:
            self._busy.discard(question.visitor)
        return JSONResponse(data, headers={"cache-control": "no-store"})

    def _put_in_line(self, question: Question) -> Future[dict[str, Any]]:
        """Put a question in line, and return the place for its answer."""
        answer: Future[dict[str, Any]] = Future()
        try:
            focus = question.focus()
            reader = self._reader(question.visitor, focus.run)
        except RunError as error:
            answer.set_exception(error)
            return answer
        except Exception as error:
            answer.set_result({"error": sentence(error)})
            return answer
        with self._taking:
            self._line.append(_Waiting(question.visitor, focus.run, replace(focus, run=reader), answer))
        self._pool.submit(self._work)
        return answer

    def _work(self) -> None:
        """Answer the first question in line, together with others of its kind; nothing, if another thread did."""
        with self._taking:
            is_alone = len(self._line) <= 1
            batch = [waiting for waiting in self._line if waiting.kind == self._line[0].kind]
            if batch:  # Long texts are read alone: the trace of 512 tokens takes 80 MB with MPNet.
                batch = batch[: max(1, min(BATCH, LETTERS // max(1, len(batch[0].focus.text))))]
            self._line = [waiting for waiting in self._line if waiting not in batch]
        batch = [waiting for waiting in batch if waiting.answer.set_running_or_notify_cancel()]  # Some pages may be closed by now.
        if not batch:
            return
        try:
            with turns("model").turn(batch[0].visitor):
                pictures = _pictures([waiting.focus for waiting in batch], measured=is_alone)
        except BaseException as error:  # Visitors wait for an answer, whatever was raised.
            pictures = [{"error": sentence(error)}] * len(batch)
        for waiting, data in zip(batch, pictures, strict=True):
            by = {} if "error" in data else {"by": waiting.focus.run if waiting.focus.run != waiting.wanted else ""}
            waiting.answer.set_result(data | by)

    def _reader(self, visitor: str, run: str) -> str:
        """Return the run that answers: the wanted one, or its student while others type to it, too."""
        now = time.monotonic()
        self._last[visitor] = run, now
        for name, (_, when) in list(self._last.items()):
            if now - when > TOGETHER:
                self._last.pop(name, None)
        is_shared = any(of == run for name, (of, _) in list(self._last.items()) if name != visitor)
        return (student(run) if is_shared else "") or run


def _refused(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status_code=status, headers={"retry-after": "1"} if status == 503 else None)


def student(name: str) -> str:
    """Return the run with weights that was trained on the probabilities of a run, and predicts the same classes; "" if there is none."""
    labels = cache.runs()[name].labels
    taught = (run for run in cache.models().values() if str(run.config["recipe"].get("teacher", "")).partition("@")[0] == name)
    return next((run.name for run in taught if run.labels == labels), "")


def _pictures(views: Sequence[Focus], *, measured: bool) -> list[dict[str, Any]]:
    """Return the `picture` of each view, or {"error": a sentence}. Views of several texts have one run and one change."""
    traces: Sequence[Trace | None] = [None] * len(views)
    run = cache.runs()[views[0].run]
    if len(views) > 1 and not reads_pairs(run):
        with suppress(InputError):  # Then each text is read alone, so that the others get their answers.
            traces = cache.model(run).traces([focus.text for focus in views], change=views[0].change)
    pictures = list[dict[str, Any]]()
    for focus, trace in zip(views, traces, strict=True):
        try:
            pictures.append(picture(focus, trace, measured=measured))
        except Exception as error:
            pictures.append({"error": sentence(error)})
    return pictures


def picture(focus: Focus, seen: Trace | None = None, *, measured: bool = True) -> dict[str, Any]:
    """Return the answer in words and the data of the picture of the text in focus.

    Args:
        seen: the trace of the text in focus, if it was made with others.
        measured: measure words and heads, too, if that takes milliseconds. Otherwise the picture shows the answer and the maps, and the
            page follows with the rest.
    Raises:
        SentvizError: with a message for the visitor.
    """
    run = cache.runs()[focus.run]
    model, pair = cache.model(run), focus.pair if reads_pairs(run) and focus.pair else None

    def traced(change: Any) -> Trace:
        return model.trace(focus.text, pair, maps=False, projections=True, change=change)  # type: ignore[no-any-return]

    seen = seen or traced(focus.change)
    before = traced(None) if focus.change else None
    scene = scene_of(seen, run.capabilities, "", before=before)
    if measured and is_quick(run):
        with suppress(Spent), Budget(MEASURED).working() as step:  # of a long text, words and heads take longer: the page follows
            loaded = model.stoppable(step)
            seen = explained(loaded, aimed(seen, aim_of(run, focus)), ["removal"])
            heads = silenced(loaded, seen) if seen.has_maps and run.capabilities.silence else None
            score = focus.score if focus.score in available(seen) else "removal"
            scene = scene_of(seen, run.capabilities, score, heads=heads, before=before)
    return {"answer": answer(seen), "data": canvas_data(scene, acts=True)}
