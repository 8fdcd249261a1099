"""The server's answers are as stored: to questions that a page asks while one types, to requests, and to errors.

`pytest tests/golden --bless` writes `tests/golden/server.json`.
"""

import errno
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app import cache, live
from app.errors import WriteErrors, sentence
from app.live import Live, Question, student, ticket
from app.server.headers import Private, Rooted, SecurityHeaders, own_machine
from app.server.queue import time_left
from sentviz.errors import RunError
from tests.golden.outlines import STORED, differences
from tests.golden.views import FUSED, HARDMAX, NDT

ANSWERS = STORED.with_name("server.json")
TOLERANCE = 1e-4  # Sums of probabilities and effects may differ so much.
TEXT = "a dull, warm song"
QUESTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "fused": {"view": {"run": FUSED}},
    "hardmax": {"view": {"run": HARDMAX}},
    "changed": {"view": {"run": NDT, "change": "head:1.1=0"}},
    "earlier link": {"view": {"run": NDT, "off": "1.1~2.2"}},
    "other score": {"view": {"run": NDT, "score": "lime", "layer": "9"}},
    "first run": {"view": {}},
    "unknown run": {"view": {"run": "nobody/nothing"}},
    "change that the model lacks": {"view": {"run": HARDMAX, "change": "gate:2=0"}},
    "change that nobody can read": {"view": {"run": NDT, "change": "nonsense"}},
    "blank": {"text": "  "},
    "long": {"text": f"{TEXT} " * 40},
    "too long": {"text": "a" * 100_000},
    "no text": {"text": None},
    "view of numbers": {"view": {"run": 3}},
    "stranger": {"visitor": "a.b"},
    "half character": {"text": "a \udcff song"},
}
PAGE = "<html><head></head><body></body></html>"
REQUESTS: dict[str, tuple[str, dict[str, str], tuple[str, int]]] = {  # path, headers, client
    "page": ("/", {"accept": "text/html", "accept-encoding": "gzip"}, ("203.0.113.7", 80)),
    "page for a program": ("/", {"accept": "*/*"}, ("203.0.113.7", 80)),
    "plain text": ("/plain", {"accept": "text/html"}, ("203.0.113.7", 80)),
    "metrics from elsewhere": ("/_stcore/metrics", {}, ("203.0.113.7", 80)),
    "metrics": ("/_stcore/metrics", {}, ("127.0.0.1", 80)),
    "metrics through a proxy": ("/_stcore/metrics", {"x-forwarded-for": "203.0.113.7"}, ("127.0.0.1", 80)),
    "full disk": ("/full", {}, ("127.0.0.1", 80)),
    "read-only disk": ("/readonly", {}, ("127.0.0.1", 80)),
}


def short(value: Any) -> Any:
    """Return an answer with the shape, the sum and the weighted sum of each list of numbers instead of its numbers."""
    if isinstance(value, dict):
        return {key: short(each) for key, each in value.items() if key != "mark"}  # a digest of the rest, in which machines differ
    if isinstance(value, list):
        try:
            numbers = np.asarray(value, float)
        except (ValueError, TypeError):
            return [short(each) for each in value]
        flat = np.nan_to_num(numbers.ravel())
        return {"shape": list(numbers.shape), "sums": [float(flat.sum()), float(flat @ np.arange(1, flat.size + 1)) / max(1, flat.size)]}
    return value


def compare(name: str, now: object, bless: bool) -> None:
    """Compare answers with the stored ones, or store them."""
    stored = json.loads(ANSWERS.read_text(encoding="utf-8")) if ANSWERS.is_file() else {}
    now = json.loads(json.dumps(now))
    if bless:
        stored[name] = now
        ANSWERS.write_text(json.dumps(dict(sorted(stored.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    wrong = list(differences(stored.get(name), now, tolerance=TOLERANCE))
    assert not wrong, "\n".join([f"{name} differs; if it should, `pytest tests/golden --bless` stores it", *wrong[:20]])


def question(**more: Any) -> dict[str, Any]:
    """Return the body of a question."""
    return {"view": {"run": NDT}, "text": TEXT, "pair": "", "visitor": ticket(), **more}


@pytest.fixture
def route(small_world: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    """The route over the three small runs, with time enough to measure words and heads."""
    monkeypatch.setattr(live, "MEASURED", 1e9)
    cache.changed()
    yield Live()
    cache.changed()


def test_answers_to_questions_are_those_that_are_stored(route: Live, request: pytest.FixtureRequest) -> None:
    with TestClient(Starlette(routes=[Route("/live", route.answer, methods=["POST"])])) as client:
        answers = {}
        for name, more in QUESTIONS.items():
            answer = client.post("/live", content=json.dumps(question(**more)))
            answers[name] = {"status": answer.status_code, "caching": answer.headers.get("cache-control")} | short(answer.json())
        answers["not JSON"] = short(client.post("/live", content=b"{").json())
        answers["a list"] = short(client.post("/live", content=b"[1]").json())
        answers["another site"] = short(client.post("/live", json=question(), headers={"sec-fetch-site": "cross-site"}).json())
    compare("questions", answers, request.config.getoption("--bless"))


class Line:
    """A pool without threads: what is put in line waits until `Live._work` is called."""

    def submit(self, work: object) -> None:
        """Do nothing."""


def test_a_line_of_questions_is_answered_as_stored(route: Live, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Texts of one kind are read together, without words and heads; what was closed is left out, and an unknown run is refused at once."""
    monkeypatch.setattr(route, "_pool", Line())
    texts = {"one": TEXT, "two": "a clever garden", "closed": "a tender soup", "blank": " ", "long": f"{TEXT} " * 12}
    line = {name: route._put_in_line(Question({"run": NDT}, text, "", ticket())) for name, text in texts.items()}
    line["unknown"] = route._put_in_line(Question({"run": "nobody/nothing"}, TEXT, "", ticket()))
    line["changed"] = route._put_in_line(Question({"run": NDT, "off": "1.1"}, TEXT, "", ticket()))
    line["closed"].cancel()
    order = list[list[str]]()
    while not all(place.done() for place in line.values()):
        waiting = [name for name, place in line.items() if not place.done()]
        route._work()
        order.append([name for name in waiting if line[name].done()])
    route._work()
    results = {name: place for name, place in line.items() if not place.cancelled()}
    answers = {name: str(place.exception()) if place.exception() else short(place.result()) for name, place in results.items()}
    compare("line", {"order": order, "answers": answers}, request.config.getoption("--bless"))


def test_requests_are_answered_as_stored(request: pytest.FixtureRequest) -> None:
    def fail(request: Request) -> PlainTextResponse:
        raise OSError(errno.ENOSPC if request.url.path == "/full" else errno.EROFS, "no room")

    places = [Route("/", lambda request: HTMLResponse(PAGE)), Route("/plain", lambda request: PlainTextResponse("text"))]
    places += [Route("/_stcore/metrics", lambda request: PlainTextResponse("numbers")), Route("/full", fail), Route("/readonly", fail)]
    layers = [Middleware(layer) for layer in (SecurityHeaders, Private, Rooted, WriteErrors)]
    answers: dict[str, Any] = {}
    for name, (path, sent, who) in REQUESTS.items():
        answer = TestClient(Starlette(routes=places, middleware=layers), client=who).get(path, headers=sent)
        headers = {key: value for key, value in sorted(answer.headers.items()) if key != "date"}
        answers[name] = {"status": answer.status_code, "text": answer.text, "headers": headers}
    compare("requests", answers, request.config.getoption("--bless"))


def test_short_answers_are_those_that_are_stored(small_world: None, request: pytest.FixtureRequest) -> None:
    """Errors in words, times in words, whose machine a request comes from, and which run answers for another."""
    errors = (RunError("There is no run."), OSError(errno.ENOSPC, "no room"), OSError(errno.ENOENT, "no file"), ValueError("bad"))
    hosts = (None, "127.0.0.1", "::1", "203.0.113.7", "192.168.0.2")
    headers = ({}, {"Host": "localhost:8501"}, {"Host": "example.org"}, {"Host": "localhost", "X-Forwarded-For": "203.0.113.7"})
    cache.changed()
    short_answers = {
        "errors": [sentence(error) for error in errors],
        "times": {str(seconds): time_left(seconds) for seconds in (0, 4, 12, 54, 55, 89, 91, 600, 5_370, 5_430, 20_000)},
        "own machine": [[own_machine(host, header) for header in headers] for host in hosts],
        "students": {name: student(name) for name in (NDT, FUSED, HARDMAX)},
    }
    compare("short", short_answers, request.config.getoption("--bless"))
