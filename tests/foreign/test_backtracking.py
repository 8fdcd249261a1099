"""A tokenizer whose pattern backtracks panics in Rust or works for minutes: one sentence, and nobody else waits."""

from __future__ import annotations

import json
import socket
import threading
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
import uvicorn
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.routing import Route

import sentviz
from app import cache
from app.live import WAITING, Live, ticket
from sentviz import training
from sentviz.cli import main
from sentviz.data import tokenizers
from sentviz.errors import InputError, SentvizError
from tests.foreign.models import saved

LABELS = ("negative", "positive")
PANICS = "a" * 40 + "b"  # more steps of one match than the library allows
WORKS = ("a" * 19 + "b ") * 150  # 150 matches that are just allowed, about two seconds
SPLIT = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}


@pytest.fixture(scope="module")
def backtracking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier whose tokenizer cuts texts with a pattern that backtracks."""
    folder = saved(tmp_path_factory.mktemp("hub") / "backtracking", "bert", LABELS)
    stored = json.loads((folder / "tokenizer.json").read_text())
    stored["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [SPLIT, stored["pre_tokenizer"]]}
    (folder / "tokenizer.json").write_text(json.dumps(stored))
    return folder


@pytest.mark.slow
def test_a_panic_is_one_sentence_in_command_and_python(backtracking: Path, tmp_path: Path) -> None:
    run = training.adopt(backtracking, "", tmp_path)
    for model in (sentviz.load(backtracking), sentviz.load(run)):
        with pytest.raises(SentvizError, match=r"^The tokenizer of this model raised PanicException: .*retry-limit") as error:
            model.trace(PANICS)
        assert "\n" not in str(error.value)
        assert model.trace("a warm song").label in LABELS
    for named in ([str(run.folder)], ["--model", str(backtracking)]):
        refused = CliRunner().invoke(main, ["explain", *named, PANICS])
        assert (refused.exit_code, refused.output.count("\n")) == (1, 1) and refused.output.startswith("Error: The tokenizer of this model")


@pytest.mark.exhaustive
def test_a_text_that_takes_too_long_is_left_and_its_repetition_costs_nothing(backtracking: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = sentviz.load(backtracking)
    monkeypatch.setattr(tokenizers, "SECONDS", 0.0)
    monkeypatch.setattr(tokenizers, "SLOWEST", 20 * len(WORKS))  # letters per second, so that the text has 50 milliseconds
    with pytest.raises(InputError, match=r"did not return within 0\.05 seconds for 1 text\."):
        model.encode(WORKS)
    before = threading.active_count()
    for text in (WORKS, "a warm song"):
        with pytest.raises(InputError, match=r"still works on an earlier text that takes too long"):
            model.encode(text)
    assert threading.active_count() == before
    model.tokenizer._foreign._late.join(60)
    monkeypatch.undo()
    assert model.encode("a warm song").tokens


@pytest.fixture
def address(backtracking: Path, tiny_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The route while a visitor types, over a run that panics and one that does not. The server must end when it is told to."""
    run = training.adopt(backtracking, "", tmp_path)
    monkeypatch.setenv("SENTVIZ_RUNS", f"{run.folder.parents[1]}:{tiny_runs}")
    cache.changed()
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=[Route("/live", Live().answer, methods=["POST"])]), log_level="critical"))
    sockets = [socket.create_server(("127.0.0.1", 0), backlog=200)]
    thread = threading.Thread(target=server.run, kwargs={"sockets": sockets})
    thread.start()
    yield "http://{}:{}/live".format(*sockets[0].getsockname())
    server.should_exit = True
    thread.join(60)
    cache.changed()
    assert not thread.is_alive(), "an open question keeps the server"


def answer_of(address: str, run: str, text: str) -> tuple[int, dict[str, Any]]:
    body = json.dumps({"view": {"run": run}, "text": text, "pair": "", "visitor": ticket()}).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(address, body), timeout=120) as answer:
            return answer.status, json.load(answer)
    except HTTPError as refused:
        return refused.code, json.load(refused)


@pytest.mark.exhaustive
def test_nobody_hangs_if_everybody_asks_the_tokenizer_that_panics(address: str) -> None:
    """Each of 66 visitors gets a sentence or a refusal, and a visitor of another model gets an answer beside them and after them."""
    with ThreadPoolExecutor(70) as pool:
        crowd = [pool.submit(answer_of, address, "adopted/backtracking", f"{PANICS} {k}") for k in range(WAITING + 2)]
        answers = [each.result() for each in crowd]
        status, beside = answer_of(address, "toy/ndt-unit-2", "a warm song")
    assert {code for code, _ in answers} <= {200, 503}
    assert all("PanicException" in each["error"] for code, each in answers if code == 200) and status == 200 and beside["data"]["tokens"]
    assert sum(code == 200 for code, _ in answers) >= WAITING - 2
