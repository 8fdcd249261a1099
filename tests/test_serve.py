"""Runs over HTTP: what is answered, what is refused and how, and that visitors do not get each other's answers."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.doors import asking
from sentviz.doors import http as serve
from sentviz.errors import RunError
from sentviz.models.model import Model

pytest.importorskip("fastapi", reason="the extra serve is not installed")
from fastapi.testclient import TestClient

RUN = "toy/ndt-unit-2"
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def client(tiny_runs: Path) -> Iterator[TestClient]:
    """Open a client of a server of `tiny_runs`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_RUNS", str(tiny_runs))
        with TestClient(
            serve.application([RUN, "toy/vanilla-matched"]), base_url="http://localhost", raise_server_exceptions=False
        ) as opened:
            yield opened


@pytest.mark.slow
def test_answers_are_those_of_the_model(client: TestClient, tiny_model: Model) -> None:
    listed = client.get("/runs").json()["runs"]
    digest = {run["run"]: run["digest"] for run in listed}[RUN]
    assert {run["run"] for run in listed} == {RUN, "toy/vanilla-matched"}
    predicted = client.post("/predict", json={"run": RUN, "texts": ["a warm song", " ", "a dull, cold\0 soup"]}).json()
    frame = tiny_model.predict(["a warm song", "a dull, cold\0 soup"])
    assert (predicted["run"], predicted["digest"]) == (RUN, digest)
    assert predicted["answers"][1]["label"] is None and "empty" in predicted["answers"][1]["remark"]
    for got, wanted in zip(predicted["answers"][::2], frame.to_dict("records"), strict=True):
        assert got["label"] == wanted["label"]
        assert got["probabilities"]["positive"] == pytest.approx(wanted["positive"], abs=1e-5)
    trace = tiny_model.trace("a warm song")
    seen = client.post("/trace", json={"run": RUN, "text": "a warm song", "maps": True, "layers": [1]}).json()
    assert trace.attention is not None and seen["tokens"] == list(trace.tokens) and seen["digest"] == digest
    np.testing.assert_allclose(np.array(seen["attention"])[0], trace.attention[1], atol=1e-5)
    explained = client.post("/explain", json={"run": RUN, "text": "a warm song"}).json()
    assert len(explained["score"]["values"]) == len(trace.tokens) and explained["headline"].startswith(explained["label"].capitalize())


def ask(body: Any, **more: Any) -> dict[str, Any]:
    """Return a prediction request for `TestClient.request`."""
    return {"method": "POST", "url": "/predict", "content": body if isinstance(body, bytes) else json.dumps(body), "headers": JSON} | more


GOOD = {"run": RUN, "texts": ["a warm song"]}
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
@pytest.mark.slow
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


def test_the_page_asks_for_nothing(client: TestClient) -> None:
    text = client.get("/").text
    assert "default-src 'none'" in text and "<script" not in text and not re.search(r"(src|href)=.https?:", text)
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths) == {"/runs", *(f"/{verb.name}" for verb in asking.remote_verbs())} and all(path in text for path in paths)
    (curl,) = re.findall(r"-d &#x27;(.*?)&#x27; ADDRESS/predict", text)
    assert json.loads(curl.replace("&quot;", '"'))["texts"]


@pytest.mark.slow
def test_visitors_get_their_own_answers(client: TestClient) -> None:
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


@pytest.mark.slow
def test_who_comes_when_all_wait_is_sent_away_and_what_lasts_is_given_up(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """With small limits a waiting request is rejected and a long answer is stopped; then requests succeed again."""
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


def test_the_command_says_what_is_wrong() -> None:
    with pytest.raises(RunError, match="no run 'toy/none'"):
        serve.application(["toy/none"])
    done = CliRunner().invoke(main, ["serve", "--host", "0.0.0.0"])
    assert done.exit_code == 2 and "--allow" in done.output


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_port_that_cannot_be_used_is_one_sentence(host: str, tiny_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_RUNS", str(tiny_runs))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, 0), family=family)
    except OSError as error:
        pytest.skip(f"{host} is not an address of this machine ({error})")
    with listener:
        arguments = ["serve", RUN, "--host", host, "--allow", "example.org", "--port", str(listener.getsockname()[1])]
        done = CliRunner().invoke(main, arguments)
    assert isinstance(done.exception, SystemExit) and done.exit_code == 1
    assert done.output.startswith(f"Error: {host}:") and "cannot be served (Address already in use" in done.output
    assert "Serving at" not in done.output and done.output.count("\n") == 1
