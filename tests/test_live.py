"""The route that answers while a visitor types: equal to the library, for this visitor only, and limited."""

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from app import cache, live
from app.live import Live, Question, student, ticket
from sentviz.models.model import Model
from sentviz.runs.intervention import Intervention
from tests.conftest import ROOT

RUN = "toy/ndt-unit-2"


def question(text: str = "a warm song", **more: Any) -> dict[str, Any]:
    """Return the body of a request."""
    return {"view": {"run": RUN}, "text": text, "pair": "", "visitor": ticket(), **more}


@pytest.fixture
def client(tiny_runs: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setenv("SENTVIZ_RUNS", str(tiny_runs))
    cache.changed()
    with TestClient(Starlette(routes=[Route("/live", Live().answer, methods=["POST"])])) as opened:
        yield opened
    cache.changed()


def test_an_answer_is_that_of_the_library(client: TestClient, tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = client.post("/live", json=question())
    trace = tiny_model.trace("a warm song")
    content = answer.json()
    assert answer.headers["cache-control"] == "no-store" and content["by"] == ""
    assert content["data"]["tokens"] == list(trace.tokens) and content["answer"].startswith(trace.label.capitalize())
    assert content["data"]["probabilities"] == pytest.approx(trace.probabilities, abs=1e-4)
    assert len(content["data"]["falls"]) == len(content["data"]["units"]) and content["data"]["heads"] is not None
    changed = client.post("/live", json=question(view={"run": RUN, "mix": "1.2:-0.5", "off": "2.1"})).json()
    wanted = tiny_model.trace("a warm song", change=Intervention.parse("lambda:1.2=-0.5~head:2.1=0"))
    assert changed["data"]["probabilities"] == pytest.approx(wanted.probabilities, abs=1e-4)
    assert changed["data"]["before"] == pytest.approx(trace.probabilities, abs=1e-4)
    monkeypatch.setattr("sentviz.browser.canvas.QUICK", 0)
    data = client.post("/live", json=question()).json()["data"]
    assert data["maps"] and data["units"] and data["scores"] is data["falls"] is data["heads"] is data["scale"] is None


def test_a_crowd_is_read_together_and_gets_answers_without_words_and_heads(
    client: TestClient, tiny_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    route, sizes = Live(), list[int]()
    monkeypatch.setattr(route, "_pool", SimpleNamespace(submit=lambda work: None))  # The test does the work of the pool.
    traces = Model.traces
    monkeypatch.setattr(Model, "traces", lambda self, texts, **more: sizes.append(len(texts)) or traces(self, texts, **more))
    texts = ["a warm song", "a cold and dull soup", "good"]
    wait = lambda text, **view: route._put_in_line(Question({"run": RUN, **view}, text, "", ticket()))  # noqa: E731
    answers, closed, changed = [wait(text) for text in texts], wait("a bad song"), wait("a bad song", off="2.1")
    assert closed.cancel()
    route._work()
    assert sizes == [3] and not changed.done()
    for text, answer in zip(texts, answers, strict=True):
        data = answer.result(0)["data"]
        assert data["probabilities"] == pytest.approx(tiny_model.trace(text).probabilities, abs=1e-4)
        assert data["maps"] and data["falls"] is data["heads"] is None
    route._work()
    assert changed.result(0)["data"]["heads"]
    route._work()
    long = [wait(f"{text} {'song ' * 400}") for text in texts]
    for _ in long:
        route._work()
    assert sizes == [3] and all("data" in answer.result(0) for answer in long), "long texts are read one by one"
    blank, song = wait(" "), wait("a warm song")
    route._work()
    assert "empty" in blank.result(0)["error"] and song.result(0)["data"]["tokens"] and song.result(0)["by"] == ""


def test_what_is_no_question_gets_one_sentence(client: TestClient) -> None:
    bodies = {
        "not a question": (b"{", b"[" * 100_000, json.dumps({"view": {}, "text": "a"}).encode()),
        "made of texts": tuple(json.dumps(question() | odd).encode() for odd in ({"text": 3}, {"view": {"run": ["a"]}})),
        "at most 20,000 characters": (json.dumps(question("a" * 20_001)).encode(), b" " * 1_000_000),
    }
    for message, several in bodies.items():
        for body in several:
            answer = client.post("/live", content=body)
            assert answer.status_code == 400 and message in answer.json()["error"]
    for odd in ("a \udc00 song", "a\0song", "\U0001f44d\ud83c"):
        for more in ({"text": odd}, {"pair": odd}, {"view": {"run": RUN, "layer": odd, odd: odd}}):
            answer = client.post("/live", content=json.dumps(question() | more))
            assert answer.status_code == 200 and ("data" in answer.json() or "sentviz" not in answer.json()["error"])
    lacks = f"{RUN} does not have what the view changes"
    for view, message in (
        ({"run": "nothing/known"}, "There is no run 'nothing/known' here that can predict."),
        ({"run": "\ud800"}, "There is no run '?' here"),
        ({"run": f"{RUN}\0"}, "There is no run"),
        *(({"run": RUN} | change, lacks) for change in ({"mix": "1.9:0.5"}, {"off": "1.99"}, {"change": "nothing:1"})),
    ):
        answer = client.post("/live", content=json.dumps(question(view=view)))
        assert answer.status_code == 404 and answer.json()["error"].startswith(message) and answer.json()["error"].endswith(".")


def test_only_pages_of_this_server_may_ask(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    odd = ("\ud83d", f"{ticket()}\udc00", f"\ud800.{'a' * 64}", f"{ticket()}\0", "a" * 9_000)
    for visitor in ("", "a.b", ".", ticket()[:-1] + "x", "é.ü", *odd):
        answer = client.post("/live", content=json.dumps(question(visitor=visitor)))
        assert (answer.status_code, answer.json()["error"]) == (403, "Only an open page of this server may ask.")
    assert client.post("/live", json=question(), headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert client.get("/live").status_code == 405
    caplog.set_level(logging.DEBUG)
    assert "empty" in client.post("/live", json=question(" ")).json()["error"]
    assert "error" not in client.post("/live", json=question("a private song", view={"run": RUN, "score": "none", "layer": "99"})).json()
    assert "private" not in caplog.text


def test_visitors_get_their_own_answers(client: TestClient, tiny_model: Model) -> None:
    words = ["warm", "cold", "dull", "song"]
    texts = {ticket(): [f"a {word} " + "song " * k for k in range(2)] for word in words}
    wanted = {text: tiny_model.trace(text).probabilities for own in texts.values() for text in own}

    def type_all(visitor: str) -> bool:
        for text in texts[visitor]:
            data = client.post("/live", json=question(text, visitor=visitor)).json()["data"]
            assert data["probabilities"] == pytest.approx(wanted[text], abs=1e-4)
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(type_all, texts))


def test_a_visitor_waits_for_one_answer_and_late_questions_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    go, route = threading.Event(), Live()
    threads = ThreadPoolExecutor(4)
    monkeypatch.setattr(Live, "_put_in_line", lambda self, question: threads.submit(lambda: {"waited": go.wait(10)}))
    monkeypatch.setattr(live, "WAITING", 2)

    class Request:
        headers = MappingProxyType[str, str]({})

        def __init__(self, visitor: str) -> None:
            self.body = json.dumps(question(visitor=visitor)).encode()

        async def stream(self) -> Any:
            yield self.body

    async def ask() -> tuple[list[int], list[int]]:
        first, second, third = ticket(), ticket(), ticket()
        tasks = [asyncio.create_task(route.answer(Request(visitor))) for visitor in (first, second)]  # type: ignore[arg-type]
        await asyncio.sleep(0.05)
        refused = [(await route.answer(Request(visitor))).status_code for visitor in (first, third)]  # type: ignore[arg-type]
        go.set()
        answered = [(await task).status_code for task in tasks]
        return refused, [*answered, (await route.answer(Request(third))).status_code]  # type: ignore[arg-type]

    assert asyncio.run(ask()) == ([503, 503], [200, 200, 200])
    monkeypatch.setattr(live, "ARRIVES", 0.01)

    class Late:
        headers = MappingProxyType[str, str]({})

        async def stream(self) -> Any:
            await asyncio.sleep(10)
            yield b""

    assert asyncio.run(Live().answer(Late())).status_code == 408  # type: ignore[arg-type]


@pytest.mark.skipif(not (ROOT / "checkpoints" / "english").is_dir(), reason="checkpoints/ is empty")
def test_the_student_answers_while_others_type_to_its_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    assert student("english/mpnet") == "english/minilm" and student("english/minilm") == "" == student("sst2/ndt-unit-2")
    clock = [0.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: clock[0])
    route = Live()
    assert route._reader("a", "english/mpnet") == "english/mpnet"
    assert route._reader("b", "sst2/ndt-unit-2") == "sst2/ndt-unit-2"
    assert route._reader("a", "english/mpnet") == "english/mpnet"
    assert route._reader("c", "english/mpnet") == "english/minilm" == route._reader("a", "english/mpnet")
    clock[0] += live.TOGETHER + 1
    assert route._reader("a", "english/mpnet") == "english/mpnet" and set(route._last) == {"a"}
