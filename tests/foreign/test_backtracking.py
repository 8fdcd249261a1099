"""A tokenizer whose pattern backtracks panics in Rust or works for minutes: one sentence, and nobody else waits."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

import sentviz
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
