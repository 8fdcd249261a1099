"""Runs over HTTP: what is answered and refused, that visitors do not get each other's answers, slow clients and clients that leave."""

import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.doors import asking
from sentviz.doors import http as serve
from sentviz.errors import RunError, Stopped
from sentviz.models.model import Model
from tests.kit import refused

pytest.importorskip("fastapi", reason="the extra serve is not installed")
import uvicorn
from fastapi.testclient import TestClient

from sentviz.doors.connections import SETTINGS

RUN = "toy/ndt-unit-2"
JSON = {"content-type": "application/json"}
GOOD = {"run": RUN, "texts": ["a warm song"]}
LONG = {"run": RUN, "text": "a warm, clever song " * 12}
PATIENCE = 20.0  # seconds, after which a test fails
HEAD = b"POST /explain HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


@pytest.fixture(scope="module")
def client(tiny_runs: Path) -> Iterator[TestClient]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_RUNS", str(tiny_runs))
        app = serve.application([RUN, "toy/vanilla-matched"])
        with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as opened:
            yield opened


def test_answers_are_those_of_the_model(client: TestClient, tiny_model: Model) -> None:
    listed = client.get("/runs").json()["runs"]
    digest = {run["run"]: run["digest"] for run in listed}[RUN]
    assert {run["run"] for run in listed} == {RUN, "toy/vanilla-matched"}
    predicted = client.post("/predict", json={"run": RUN, "texts": ["a warm song", " ", "a dull, cold\0 soup"]}).json()
    frame = tiny_model.predict(["a warm song", "a dull, cold\0 soup"])
    assert (predicted["run"], predicted["digest"]) == (RUN, digest)
    assert predicted["answers"][1]["label"] is None and "empty" in predicted["answers"][1]["remark"]
    for got, wanted in zip(predicted["answers"][::2], frame.to_dict("records"), strict=True):
        assert got["label"] == wanted["label"] and got["probabilities"]["positive"] == pytest.approx(wanted["positive"], abs=1e-5)
    trace = tiny_model.trace("a warm song")
    seen = client.post("/trace", json={"run": RUN, "text": "a warm song", "maps": True, "layers": [1]}).json()
    assert trace.attention is not None and seen["tokens"] == list(trace.tokens) and seen["digest"] == digest
    np.testing.assert_allclose(np.array(seen["attention"])[0], trace.attention[1], atol=1e-5)
    explained = client.post("/explain", json={"run": RUN, "text": "a warm song"}).json()
    assert len(explained["score"]["values"]) == len(trace.tokens) and explained["headline"].startswith(explained["label"].capitalize())


def ask(body: Any, **more: Any) -> dict[str, Any]:
    """Return a prediction request for `TestClient.request`."""
    return {"method": "POST", "url": "/predict", "content": body if isinstance(body, bytes) else json.dumps(body), "headers": JSON} | more


REFUSED = {
    "20 MB": (ask(b'{"run": "' + b"x" * (20 << 20)), 413, "at most"),
    "20 MB that say they are few": (ask(b" " * (20 << 20), headers=JSON | {"content-length": "10"}), 413, "at most"),
    "a length that is none": (ask(GOOD, headers=JSON | {"content-length": "-5"}), 413, "at most"),
    "deep": (ask(b'{"texts": ' + b"[" * 200_000), 400, "JSON"),
    "not UTF-8": (ask(b'{"run": "\xff"}'), 400, "JSON"),
    "a form": (ask(GOOD, headers={"content-type": "text/plain"}), 415, "application/json"),
    "a number": (ask(GOOD | {"texts": [1]}), 422, "texts.0"),
    "nothing": (ask(GOOD | {"texts": []}), 422, "texts"),
    "many": (ask(GOOD | {"texts": ["a"] * 257}), 422, "texts"),
    "long": (ask(GOOD | {"texts": ["a" * 20_001]}), 422, "texts.0"),
    "more pairs": (ask(GOOD | {"pairs": ["a", "b"]}), 422, "second texts"),
    "another field": (ask(GOOD | {"path": "/etc/passwd"}), 422, "path"),
    "null": (ask(b"null"), 422, "body"),
    "an unknown run": (ask(GOOD | {"run": "toy/none"}), 404, "no run"),
    "a run by its path": (ask(GOOD | {"run": "PLACE"}), 404, "no run"),
    "markup": (ask(GOOD | {"run": "<script>alert(1)</script>"}), 404, "no run"),
    "an unknown class": (ask({"run": RUN, "text": "a song", "target": "joyful"}, url="/explain"), 422, "joyful"),
    "an unknown score": (ask({"run": RUN, "text": "a song", "score": "magic"}, url="/explain"), 422, "magic"),
    "half a character": (ask({"run": RUN, "text": "\ud800"}, url="/trace"), 422, "unicode"),
    "no such layer": (ask({"run": RUN, "text": "a song", "layers": [9]}, url="/trace"), 422, "no layer 9"),
    "no such address": ({"method": "GET", "url": "/../config.json"}, 404, "no such address"),
    "another way": ({"method": "GET", "url": "/predict"}, 405, "method is not allowed"),
    "another host": ({"method": "GET", "url": "/", "headers": {"host": "evil.example"}}, 400, "does not allow that host name"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_one_sentence(name: str, client: TestClient, tiny_run: Path) -> None:
    body, status, why = REFUSED[name]
    if "PLACE" in str(body.get("content", "")):
        body = body | {"content": body["content"].replace("PLACE", str(tiny_run))}
    answer = client.request(**body)
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"] and why in answer.json()["error"] and len(answer.text) < 400
    assert "<script" not in answer.text and "Traceback" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff" and "access-control-allow-origin" not in answer.headers
    assert client.get("/runs").status_code == 200


def test_the_page_asks_for_nothing_and_visitors_get_their_own_answers(client: TestClient) -> None:
    text = client.get("/").text
    assert "default-src 'none'" in text and "<script" not in text and not re.search(r"(src|href)=.https?:", text)
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths) == {"/runs", *(f"/{verb.name}" for verb in asking.remote_verbs())} and all(path in text for path in paths)
    (curl,) = re.findall(r"-d &#x27;(.*?)&#x27; ADDRESS/predict", text)
    assert json.loads(curl.replace("&quot;", '"'))["texts"]

    def visit(run: str, text: str) -> set[tuple[str, str, float]]:
        wrong = set()
        for _ in range(3):
            predicted = client.post("/predict", json={"run": run, "texts": [text]}).json()
            wrong.add((predicted["run"], predicted["answers"][0]["label"], predicted["answers"][0]["probabilities"]["positive"]))
        return wrong

    questions = ((RUN, "a warm, clever song"), ("toy/vanilla-matched", "a dull, hollow soup"))
    alone = [visit(*each) for each in questions]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda each: visit(*each), questions))
    assert together == alone and [len(wrong) for wrong in alone] == [1, 1] and {run for run, *_ in alone[1]} == {"toy/vanilla-matched"}


def test_who_comes_when_all_wait_is_sent_away_and_what_lasts_is_given_up(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, began = threading.Event(), threading.Event()

    def slow(*_: Any) -> dict[str, Any]:
        began.set()
        gate.wait(20)
        return {}

    with monkeypatch.context() as patch:
        patch.setattr(asking, "LIMITS", replace(asking.LIMITS, at_once=1, waiting=0, seconds=0.3))
        patch.setattr(asking.RunPool, "answer", slow)
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(client.post, "/predict", json=GOOD)
            assert began.wait(20)
            busy = client.post("/predict", json=GOOD)
            assert busy.status_code == 503 and busy.headers["retry-after"] and "busy" in busy.json()["error"]
            assert first.result().status_code == 504 and "0.3 seconds" in first.result().json()["error"]
            gate.set()
        time.sleep(0.05)
        patch.setattr(asking.RunPool, "answer", lambda *_: 1 / 0)
        broken = client.post("/predict", json=GOOD)
        assert broken.status_code == 500 and "division" not in broken.text
    assert client.post("/predict", json=GOOD).status_code == 200


def test_what_the_command_cannot_serve_is_one_sentence(tiny_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(RunError, "no run 'toy/none'", serve.application, ["toy/none"])
    monkeypatch.setenv("SENTVIZ_RUNS", str(tiny_runs))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = CliRunner().invoke(main, ["serve", RUN, "--host", "127.0.0.1", "--port", str(listener.getsockname()[1])])
    assert isinstance(done.exception, SystemExit) and done.exit_code == 1
    assert done.output.startswith("Error: 127.0.0.1:") and "cannot be served (Address already in use" in done.output
    assert "Serving at" not in done.output and done.output.count("\n") == 1


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return lambda **some: monkeypatch.setattr(asking, "LIMITS", replace(asking.LIMITS, **some))


@pytest.fixture
def start(tiny_runs: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """Start a server of `tiny_runs`, or of another application, on a free port of this machine; return the port."""
    monkeypatch.setenv("SENTVIZ_RUNS", str(tiny_runs))
    started: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(app: Any = None) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app or serve.application([RUN]), log_config=None, **SETTINGS))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        started.append((server, thread))
        return int(listener.getsockname()[1])

    yield start
    for server, thread in started:
        server.should_exit = server.force_exit = True
        thread.join(PATIENCE)


def answer_of(port: int, path: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with closing(connection):
        connection.request("GET" if body is None else "POST", path, json.dumps(body), {"content-type": "application/json"})
        with connection.getresponse() as answer:
            return answer.status, json.loads(answer.read())


def sent(port: int, some: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), PATIENCE)
    connection.sendall(some)
    return connection


def explain(port: int) -> socket.socket:
    """Open a connection and send a long text to be explained."""
    body = json.dumps(LONG).encode()
    return sent(port, HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)


def rest(connection: socket.socket) -> bytes:
    parts = []
    with connection:
        try:
            while part := connection.recv(1 << 16):
                parts.append(part)
        except ConnectionResetError:
            pass
    return b"".join(parts)


class Batches:
    """Watches the batches of every model: the first one after `hold` lasts until its work is to stop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[str] = []
        self.held, self.stopped, self.given_up = threading.Event(), threading.Event(), threading.Event()
        self._holds = False
        outputs = Model.outputs

        def watched(model: Model, rows: Any, change: Any) -> Any:
            self.log.append("batch")
            if self._holds:
                self._holds = False
                self.held.set()
                self._until_stopped(model)
            return outputs(model, rows, change)

        monkeypatch.setattr(Model, "outputs", watched)

    def hold(self) -> None:
        self._holds = True

    def _until_stopped(self, model: Model) -> None:
        for _ in range(int(PATIENCE / 0.01)):
            try:
                model.check()
            except Stopped:
                self.log.append("stopped")
                self.stopped.set()
                return
            self.given_up.wait(0.01)


def test_work_for_clients_that_left_stops_and_cheap_answers_never_wait(start: Any, limits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = Batches(monkeypatch)
    limits(at_once=1, waiting=3)
    port = start()
    assert answer_of(port, "/predict", GOOD)[0] == 200
    batches.log.clear()
    batches.hold()
    visitors = [explain(port)]
    assert batches.held.wait(PATIENCE)
    visitors += [explain(port) for _ in range(3)]
    assert answer_of(port, "/runs")[0] == 200
    for visitor in reversed(visitors):
        visitor.close()
    assert batches.stopped.wait(PATIENCE) and answer_of(port, "/runs")[0] == 200 and answer_of(port, "/predict", GOOD)[0] == 200
    assert batches.log == ["batch", "stopped", "batch"]


def test_slow_clients_make_room_for_others(start: Callable[..., int], limits: Callable[..., None]) -> None:
    limits(connections=8)
    port = start()
    slow = [sent(port, HEAD + (b"content-length: 9\r\n\r\n{" if i % 2 else b"")) for i in range(30)]
    assert (answer_of(port, "/runs")[0], answer_of(port, "/predict", GOOD)[0]) == (200, 200)
    assert [rest(client) for client in slow[:22]] == [b""] * 22
    for client in slow:
        client.close()


@pytest.mark.exhaustive
def test_headers_and_bodies_have_a_time(start: Callable[..., int], limits: Callable[..., None]) -> None:
    limits(head=0.3, seconds=0.3)
    port = start()
    assert rest(sent(port, b"")) == b""
    response = rest(sent(port, HEAD))
    assert response.startswith(b"HTTP/1.1 408 ") and json.loads(response.partition(b"\r\n\r\n")[2])["error"].startswith("The headers")
    response = rest(sent(port, HEAD + b"content-length: 9\r\n\r\n{"))
    assert response.startswith(b"HTTP/1.1 408 ") and b"too long to arrive" in response
    assert rest(sent(port, b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" + HEAD)).startswith(b"HTTP/1.1 200 ")


def test_an_answer_that_nobody_takes_is_dropped(start: Callable[..., int], limits: Callable[..., None]) -> None:
    limits(seconds=0.3)
    ended = threading.Semaphore(0)

    async def large(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % (64 << 20))]})
            await send({"type": "http.response.body", "body": bytes(64 << 20)})
            ended.release()

    with sent(start(large), b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n" * 2) as unread:
        assert ended.acquire(timeout=PATIENCE) and ended.acquire(timeout=PATIENCE) and len(rest(unread)) < 64 << 20
