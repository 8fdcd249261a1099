"""Functions and pipelines as models: predictions, explanations that only predict, and what is refused."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from click.testing import CliRunner
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import sentviz
from sentviz.analysis.explain import SCORES, available, explained, headline, score, supported
from sentviz.analysis.explain.faithfulness import over_split
from sentviz.cli import main
from sentviz.errors import InputError
from sentviz.models import blackbox
from tests.kit import WEIGHTS, counting  # noqa: F401 - tests/test_opened.py takes both from here

LABELS = ["negative", "positive"]
TEXT = "  The warm, clever garden was   not dull at all !"


def test_a_function_predicts_and_sees_the_text_as_it_was_written() -> None:
    seen: list[str] = []

    def remembered(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return counting(texts)

    model = sentviz.load(remembered, classes=LABELS)
    frame = model.predict([TEXT, "a dull soup", " "])
    assert seen == [TEXT, "a dull soup"] and frame["label"].tolist()[1] == "negative" and "empty" in frame["remark"][2]
    np.testing.assert_allclose(frame[LABELS].to_numpy()[:2], counting([TEXT, "a dull soup"]), atol=1e-6)
    seen.clear()
    trace = explained(model, model.trace(TEXT))
    assert seen[1] == "  warm, clever garden was   not dull at all !".lstrip() and "  The warm, clever garden was   not at all !" in seen
    words = dict(zip(trace.tokens, trace.token_scores["removal"].tolist(), strict=True))
    assert [words[name] for name in ("warm", "dull", "garden")] == pytest.approx([3, -2.5, 0], abs=1e-4)


BY_PREDICTION = {"alone", "removal", "exact", "permutation", "units", "clauses", "sentences"}


@pytest.mark.exhaustive
def test_explanations_that_only_predict_work_and_the_others_say_what_is_missing() -> None:
    model = sentviz.load(counting, classes=LABELS)
    assert not model.capabilities.layers and not model.capabilities.maps
    trace = model.trace("the warm and clever garden")
    assert {name for name in available(trace, asking=True) if not SCORES[name].package} == BY_PREDICTION
    for name in SCORES.keys() - BY_PREDICTION - {"kernel-shap", "lime"}:
        with pytest.raises(InputError, match=r"needs (gradients|attention maps|a model with two components)") as error:
            score(explained(model, trace, [name]), name)
        assert str(error.value).endswith(".")
    assert headline(supported(model, trace, {})).startswith("Positive, 99\u00a0%.")
    table = over_split(model, ["the warm and clever garden", "a dull and cold evening"], sample=2)
    assert set(table["method"]) == BY_PREDICTION - {"alone", "clauses", "sentences"} | {"random"}  # each text is one clause
    for arguments, options, why in ((("one", "two"), {}, "reads single texts"), (("one",), {"change": "head:1.1=0"}, "head")):
        with pytest.raises(InputError, match=why):
            model.trace(*arguments, **options)


def test_a_pipeline_of_scikit_learn_opens_with_its_classes() -> None:
    texts = ["a warm song", "a clever tale", "a dull song", "a cold tale"] * 5
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(texts, ["good", "good", "bad", "bad"] * 5)
    model = sentviz.load(pipeline)
    assert model.name == "Pipeline" and model.labels == ("bad", "good")
    np.testing.assert_allclose(model.trace("a warm tale").probabilities, pipeline.predict_proba(["a warm tale"])[0], atol=1e-6)
    numbered = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, [1, 1, 0, 0] * 5)
    with pytest.raises(InputError, match=r"The classes of Pipeline have no names.*--classes negative,positive"):
        sentviz.load(numbered)
    assert sentviz.load(numbered, classes=LABELS).labels == tuple(LABELS)
    with pytest.raises(InputError, match="A list is not a model"):
        sentviz.load([1, 2], classes=LABELS)


def raising(texts: list[str]) -> Any:
    raise KeyError("a long\nstory")


def leaving(texts: list[str]) -> Any:
    raise SystemExit(3)


class Odd:
    """An object that cannot become an array, since reading it panics."""

    def __array__(self, *args: object, **named: object) -> Any:
        raise SystemExit(2)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (raising, "raised KeyError: 'a long"),
        (leaving, "raised SystemExit: 3"),
        (lambda texts: [0.5] * len(texts), r"must return one row per text and one probability per class, \(1, 2\), not \(1,\)"),
        (lambda texts: [[0.2, 0.3, 0.5]] * len(texts), r"not \(1, 3\)"),
        (lambda texts: [], r"not \(0,\)"),
        (lambda texts: None, r"one probability per class, \(1, 2\), not \(\)|no table of numbers"),
        (lambda texts: [["yes", "no"]], "not a list that is no table of numbers"),
        (lambda texts: [[float("nan"), 0.5]], "returns NaN or infinity for 'a warm song'"),
        (lambda texts: [[0.5, 0.9]], "sum to 1; for 'a warm song' they sum to 1.4"),
        (lambda texts: [[-0.5, 1.5]], "which are 0 or more"),
        (lambda texts: {"negative": [0.5], "positive": [0.5]}, "."),
        (lambda texts: "positive", "."),
        (lambda texts: itertools.repeat([0.5, 0.5]), "."),
        (lambda texts: (row for row in [raising(texts)]), "."),
        (lambda texts: [[0.5, 0.5], [0.5]], "."),
        (lambda texts: [[0.5 + 1j, 0.5]] * len(texts), "."),
        (lambda texts: Odd(), "."),
        (lambda texts: torch.zeros(len(texts), 2).to_sparse(), "."),
        (lambda texts: torch.zeros(len(texts), 2, device="meta"), "."),
        (lambda texts: object(), "."),
    ],
    ids=range(20),
)
def test_each_wrong_function_is_one_sentence(answer: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as error:
        sentviz.load(answer, classes=LABELS).trace("a warm song")
    assert str(error.value).endswith(".") and "\n" not in str(error.value) and len(str(error.value)) < 400


def of_warmth(texts: list[str]) -> list[list[float]]:
    return [[0.25, 0.75] if "warm" in text else [0.875, 0.125] for text in texts]


@pytest.mark.parametrize(
    "form",
    [
        lambda rows: torch.tensor(rows, requires_grad=True) * 1,
        lambda rows: torch.tensor(rows, dtype=torch.bfloat16),
        lambda rows: [[torch.tensor(x, requires_grad=True) for x in row] for row in rows],
        lambda rows: np.array(rows, dtype=np.float16),
        lambda rows: tuple(map(tuple, rows)),
        pd.DataFrame,
        lambda rows: pd.DataFrame(rows, columns=list(LABELS))[LABELS[::-1]],  # in another order of the classes
        scipy.sparse.csr_matrix,
        lambda rows: map(torch.tensor, rows),
        lambda rows: [[str(x) for x in row] for row in rows],
    ],
    ids=range(10),
)
def test_every_form_of_an_answer_gives_the_numbers_in_it(form: Callable[[list[list[float]]], Any]) -> None:
    model = sentviz.load(lambda texts: form(of_warmth(texts)), classes=LABELS)
    np.testing.assert_allclose(model.trace("a warm song").probabilities, [0.25, 0.75], rtol=1e-6)
    np.testing.assert_allclose(model.predict(["a cold soup", "a warm song"])[LABELS[0]], [0.875, 0.25], rtol=1e-6)


def test_a_function_that_sleeps_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blackbox, "SECONDS", 0.2)
    start = time.monotonic()
    with pytest.raises(InputError, match=r"did not return within 0\.2 seconds for 1 text\."):
        sentviz.load(lambda texts: time.sleep(20), classes=LABELS).trace("a warm song")
    assert time.monotonic() - start < 15


def test_the_command_explains_with_code_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--model` imports a module of the current folder; faults of the module are one sentence."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine_for_test.py").write_text(
        "def predict(texts):\n    return [[0.9, 0.1] if 'dull' in text else [0.2, 0.8] for text in texts]\n"
    )
    (tmp_path / "broken_for_test.py").write_text("1 / 0\n")
    for model, more, code, sentence in (
        ("mine_for_test:predict", ["--classes", "negative,positive"], 0, "predict: Negative, 90\u00a0%. Without “dull” it would be"),
        ("mine_for_test:predict", [], 1, "Name each of them once"),
        ("mine_for_test:predict", ["--classes", "a,b", "sst2/ndt-unit-2"], 2, "."),
        ("mine_for_test:nothing", ["--classes", "a,b"], 1, "cannot be imported"),
        ("broken_for_test:x", ["--classes", "a,b"], 1, "ZeroDivisionError"),
        ("mine", ["--classes", "a,b"], 1, "takes pack"),
        ("./missing", ["--classes", "a,b"], 1, "there is no folder ./missing"),
        (".", ["--classes", "a,b"], 1, "is not the folder of a Hugging Face model"),
    ):
        done = CliRunner().invoke(main, ["explain", "--model", model, *more, "a dull song"])
        assert done.exit_code == code and sentence in done.output, done.output
