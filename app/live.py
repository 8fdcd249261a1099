"""The linked picture while a visitor types: a route of the app's own server that answers without a run of the page.

The browser sends view and text in the body of a request, so that the text is in no address and no log. It asks one question at a time: what
was typed in between is never asked. Nothing of a request is stored.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from app import cache
from app.answers import aim_of, aimed
from app.errors import sentence
from app.fields import LONGEST
from app.focus import Focus
from app.server.queue import turns
from sentviz.analysis.explain import SCORES, answer, available, explained
from sentviz.browser.canvas import canvas_data, is_quick, scene_of
from sentviz.errors import InputError
from sentviz.runs.catalog import reads_pairs
from sentviz.serving.jobs import AT_ONCE

if TYPE_CHECKING:
    from sentviz.runs.trace import Trace

BODY = 2 * 6 * LONGEST + 20_000  # bytes of a question: two texts with up to six bytes for each character, and the view
ARRIVES = 5.0  # seconds in which a question must have arrived
WAITING = 64  # questions that are answered or wait; further ones are refused
OTHER = "Only an open page of this server may ask."
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
            InputError: the body is not a question. ClientDisconnect: the browser closed the connection.
        """
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > BODY:
                raise InputError(f"A text may have at most {LONGEST:,} characters.")
        try:
            content = json.loads(body)
            view, *texts = (content[name] for name in ("view", "text", "pair", "visitor"))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError("This is not a question that sentviz asks.") from None
        strings = [*texts, *view.keys(), *view.values()] if isinstance(view, dict) else [None]
        if not all(isinstance(each, str) for each in strings) or max(map(len, texts[:2])) > LONGEST:
            raise InputError(f"A question is made of texts of at most {LONGEST:,} characters.")
        return cls(view, *texts)

    @property
    def is_known(self) -> bool:
        """Return whether the visitor's ticket is from this server."""
        name, _, proof = self.visitor.partition(".")
        return hmac.compare_digest(proof.encode(), _proof(name).encode())

    def focus(self) -> Focus:
        """Return the focus of the view with the text; what the model cannot show is at its default."""
        models = cache.models()
        parsed, _ = Focus.parse(self.view, models, tuple(SCORES))
        fitted, _ = parsed.fit(models[parsed.run].capabilities)
        return fitted.with_(text=self.text, pair=self.pair)


class Live:
    """Answers the questions of all visitors, one of each visitor at a time, with `AT_ONCE` threads.

    While questions wait for a thread, answers come without what is measured on words and heads, so that nobody waits long.
    """

    def __init__(self) -> None:
        self._busy: set[str] = set()  # visitors whose question is being answered
        self._last: dict[str, tuple[str, float]] = {}  # run and time of each visitor's latest question
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="live")

    async def answer(self, request: Request) -> Response:
        """Answer a question with the data of the picture, or with an error in one sentence; refuse it (503) if too many wait."""
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
            data = await asyncio.get_running_loop().run_in_executor(self._pool, self._found, question)
        finally:
            self._busy.discard(question.visitor)
        return JSONResponse(data, headers={"cache-control": "no-store"})

    def _found(self, question: Question) -> dict[str, Any]:
        try:
            focus = question.focus()
            reader = self._reader(question.visitor, focus.run)
            with turns("model").turn(question.visitor):
                is_alone = len(self._busy) <= AT_ONCE
                return picture(replace(focus, run=reader), measured=is_alone) | {"by": reader if reader != focus.run else ""}
        except Exception as error:
            return {"error": sentence(error)}

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


def picture(focus: Focus, *, measured: bool = True) -> dict[str, Any]:
    """Return the answer in words and the data of the picture of the text in focus.

    Args:
        measured: measure words and heads, too, if that takes milliseconds. Otherwise the picture shows the answer and the maps, and the
            page follows with the rest.
    Raises:
        SentvizError: with a message for the visitor.
    """
    run = cache.runs()[focus.run]
    model, pair = cache.model(run), focus.pair if reads_pairs(run) and focus.pair else None

    def traced(change: Any) -> Trace:
        return model.trace(focus.text, pair, maps=False, projections=True, change=change)  # type: ignore[no-any-return]

    seen = traced(focus.change)
    before = traced(None) if focus.change else None
    if not (measured and is_quick(run)):
        scene = scene_of(seen, run.capabilities, "", before=before)
    else:
        from sentviz.analysis.maps.silenced import silenced

        seen = explained(model, aimed(seen, aim_of(run, focus)), ["removal"])
        heads = silenced(model, seen) if seen.has_maps and run.capabilities.silence else None
        score = focus.score if focus.score in available(seen) else "removal"
        scene = scene_of(seen, run.capabilities, score, heads=heads, before=before)
    return {"answer": answer(seen), "data": canvas_data(scene, acts=True)}
