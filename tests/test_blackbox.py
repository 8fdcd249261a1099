"""Functions and pipelines as models, and scores from elsewhere that are fitted to the words of a text."""

import itertools
import time
from pathlib import Path
from types import SimpleNamespace
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
from sentviz.analysis.explain import explained
from sentviz.analysis.explain.foreign_scores import fit, read_scores
from sentviz.cli import main
from sentviz.errors import InputError
from sentviz.models import blackbox
from sentviz.models.model import Model
from sentviz.runs.trace import Trace
from tests.kit import WEIGHTS, counting, refused, small_model  # noqa: F401 - tests/test_opened.py takes both from here

LABELS = ["negative", "positive"]
TEXT = "  The warm, clever garden was   not dull at all !"


def test_functions_and_pipelines_predict_with_their_classes(monkeypatch: pytest.MonkeyPatch) -> None:
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
    texts = ["a warm song", "a clever tale", "a dull song", "a cold tale"] * 5
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(texts, ["good", "good", "bad", "bad"] * 5)
    model = sentviz.load(pipeline)
    assert model.name == "Pipeline" and model.labels == ("bad", "good")
    np.testing.assert_allclose(model.trace("a warm tale").probabilities, pipeline.predict_proba(["a warm tale"])[0], atol=1e-6)
    numbered = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, [1, 1, 0, 0] * 5)
    refused(InputError, r"The classes of Pipeline have no names.*--classes negative,positive", sentviz.load, numbered)
    assert sentviz.load(numbered, classes=LABELS).labels == tuple(LABELS)
    refused(InputError, "A list is not a model", sentviz.load, [1, 2], classes=LABELS)
    monkeypatch.setattr(blackbox, "SECONDS", 0.2)
    start = time.monotonic()
    with pytest.raises(InputError, match=r"did not return within 0\.2 seconds for 1 text\."):
        sentviz.load(lambda texts: time.sleep(20), classes=LABELS).trace("a warm song")
    assert time.monotonic() - start < 15


def raising(texts: list[str]) -> Any:
    raise KeyError("a long\nstory")


def leaving(texts: list[str]) -> Any:
    raise SystemExit(3)


class Odd:
    """An object that cannot become an array, since reading it panics."""

    def __array__(self, *args: object, **named: object) -> Any:
        raise SystemExit(2)


def of_warmth(texts: list[str]) -> list[list[float]]:
    return [[0.25, 0.75] if "warm" in text else [0.875, 0.125] for text in texts]


def test_every_form_of_an_answer_gives_its_numbers_or_one_sentence() -> None:
    for form in (
        lambda rows: torch.tensor(rows, requires_grad=True) * 1,
        lambda rows: torch.tensor(rows, dtype=torch.bfloat16),
        lambda rows: [[torch.tensor(x, requires_grad=True) for x in row] for row in rows],
        pd.DataFrame,
        lambda rows: pd.DataFrame(rows, columns=list(LABELS))[LABELS[::-1]],  # in another order of the classes
        scipy.sparse.csr_matrix,
        lambda rows: map(torch.tensor, rows),
    ):
        model = sentviz.load(lambda texts, form=form: form(of_warmth(texts)), classes=LABELS)
        np.testing.assert_allclose(model.trace("a warm song").probabilities, [0.25, 0.75], rtol=1e-6)
        np.testing.assert_allclose(model.predict(["a cold soup", "a warm song"])[LABELS[0]], [0.875, 0.25], rtol=1e-6)
    for answer, sentence in (
        (raising, "raised KeyError: 'a long"),
        (leaving, "raised SystemExit: 3"),
        (lambda texts: [0.5] * len(texts), r"must return one row per text and one probability per class, \(1, 2\), not \(1,\)"),
        (lambda texts: [], r"not \(0,\)"),
        (lambda texts: None, r"one probability per class, \(1, 2\), not \(\)|no table of numbers"),
        (lambda texts: [["yes", "no"]], "not a list that is no table of numbers"),
        (lambda texts: [[float("nan"), 0.5]], "returns NaN or infinity for 'a warm song'"),
        (lambda texts: [[0.5, 0.9]], "sum to 1; for 'a warm song' they sum to 1.4"),
        (lambda texts: [[-0.5, 1.5]], "which are 0 or more"),
        (lambda texts: {"negative": [0.5], "positive": [0.5]}, "."),
        (lambda texts: itertools.repeat([0.5, 0.5]), "."),
        (lambda texts: (row for row in [raising(texts)]), "."),
        (lambda texts: Odd(), "."),
        (lambda texts: torch.zeros(len(texts), 2).to_sparse(), "."),
    ):
        with pytest.raises(InputError, match=sentence) as error:
            sentviz.load(answer, classes=LABELS).trace("a warm song")
        assert str(error.value).endswith(".") and "\n" not in str(error.value) and len(str(error.value)) < 400


def test_the_command_explains_with_code_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


SENTENCE = "Dull, but a warm garden."
WORDS = ["dull", ",", "but", "a", "warm", "garden", "."]
SCORES = [-2.0, 0.0, -0.5, 0.25, 3.0, 1.0, 0.0]


@pytest.fixture(scope="module")
def plain_model() -> Model:
    return small_model()


@pytest.fixture(scope="module")
def trace(plain_model: Model) -> Trace:
    return plain_model.trace(SENTENCE)


def of(trace: Trace, scores: object, k: int = 0) -> dict[str, float]:
    fitted = fit(trace, read_scores(scores, k, 2))
    return {word.text.lower(): float(value) for word, value in zip(fitted.words, fitted.values, strict=True)}


class LimeLike:
    """A bag of words in the order of weight, as LIME returns it."""

    def __init__(self, label: int = 0) -> None:
        self.local_exp = {label: [(0, 3.0)]}

    def as_list(self, label: int) -> list[tuple[str, float]]:
        return [("warm", 3.0), ("Dull", -2.0), ("garden", 1.0), ("but", -0.5), ("a", 0.25)]


FORMS: dict[str, Any] = {
    "pairs": list(zip(WORDS, SCORES, strict=True)),
    "numbers": SCORES,
    "tensor": torch.tensor(SCORES),
    "offsets": {"scores": SCORES, "words": WORDS, "offsets": [[0, 4], [4, 5], [6, 9], [10, 11], [12, 16], [17, 23], [23, 24]]},
    "word to score": {"warm": 3.0, "dull": -2.0, "garden": 1.0, "but": -0.5, "a": 0.25},
    "special tokens": {"tokens": ["[CLS]", *WORDS, "[SEP]"], "scores": [9.0, *SCORES, 9.0]},
    "one class of Interpreto": SimpleNamespace(attributions=torch.tensor(SCORES), elements=WORDS),
    "classes of Interpreto": SimpleNamespace(attributions=torch.tensor([SCORES, [-s for s in SCORES]]), elements=WORDS),
    "classes of SHAP": SimpleNamespace(values=np.array([SCORES, [-s for s in SCORES]]).T, data=np.array([f"{word} " for word in WORDS])),
    "LIME": LimeLike(),
    "pairs in the order of weight": LimeLike().as_list(0),
    "embeddings of Captum": torch.tensor(SCORES)[None, :, None].repeat(1, 1, 32) / 32,
}


def test_every_form_of_scores_gives_each_word_its_score(trace: Trace) -> None:
    for name, form in FORMS.items():
        assert of(trace, form) == pytest.approx(dict(zip(WORDS, SCORES, strict=True)), abs=1e-6), name
    assert of(trace, FORMS["classes of SHAP"], 1)["warm"] == of(trace, FORMS["classes of Interpreto"], 1)["warm"] == -3.0
    placed = {"scores": [1.0, 2.0], "offsets": [[12, 16], [17, 23]]}
    assert {word: value for word, value in of(trace, placed).items() if value} == {"warm": 1.0, "garden": 2.0}
    table = np.arange(60.0).reshape(3, 20)
    assert read_scores(table, 7, 20).values == pytest.approx(table[:, 7])
    assert read_scores(table, 1, 2).values == pytest.approx(table.sum(axis=1))
    assert read_scores(table[:, :16], 1, 2).values == pytest.approx(table[:, :16].sum(axis=1))


def test_pieces_are_found_or_said(plain_model: Model, trace: Trace) -> None:
    """ "gar" and "##den" give 1 + 2; "a warm" has 5 letters, one of them in "a"; a bag gives its weight to each repeated word."""
    scores = of(trace, [["dull", 1.0], ["a warm", 5.0], ["gar", 1.0], ["##den", 2.0]])
    assert (scores["garden"], scores["a"], scores["warm"]) == pytest.approx((3.0, 1.0, 4.0))
    for text, pieces, values in (
        ("a warm, warm garden", [["warm", 1.0], ["warm", 2.0]], [0, 1, 0, 2, 0]),
        ("a warm, warm garden", {"warm": 1.0}, [0, 1, 0, 1, 0]),
        ("Café DELIGHT", [["Ġcafe", 1.0], ["▁deli", 2.0], ["ght</w>", 3.0]], [1, 5]),
    ):
        assert fit(plain_model.trace(text), read_scores(pieces, 0, 2)).values.tolist() == values
    fitted = fit(trace, read_scores([["[CLS]", 4.0], ["warm", 1.0], ["garden", 1.0], ["mountain", 1.0]], 0, 2))
    assert fitted.notes == (
        "1 piece ('mountain') is not found in the text.",
        "5 of 7 words have no score and count as 0.",
        "Special tokens have scores of 4 in all, which no word gets.",
    )
    short = small_model(max_length=4).trace("a warm garden and a dull delight")
    fitted = fit(short, read_scores([["warm", 1.0], ["dull", 2.0], ["delight", 3.0]], 0, 2))
    assert any("stand beyond what" in note or "stands beyond what" in note for note in fitted.notes)
    assert fitted.values.sum() == 1.0
    for scores, message in BAD:
        refused(InputError, message, lambda scores=scores: fit(trace, read_scores(scores, 5, 6)))


BAD: list[tuple[Any, str]] = [
    ("warm", "Scores cannot be a text"),
    ([], "There is no score"),
    ([1.0, 2.0], "There are 2 scores. .* 7 words in 7 tokens"),
    ([["warm", float("nan")], ["a", 1.0]], r"Score 1 of 2 \('warm'\) is not a finite number"),
    ([["warm", []], ["a", [1]]], "not numbers"),
    ({"tokens": WORDS, "scores": [1.0]}, "7 words or tokens and 1 scores"),
    ({"tokens": ["warm"], "scores": [1.0], "offsets": [[90, 99]]}, "Offset 90 is outside of the text"),
    (FORMS["classes of SHAP"], "of 2 classes, and the model has 6"),
    (LimeLike(1), "LIME explained the classes 1, and not class 5"),
    (SimpleNamespace(values=[[1.0]], data=[["warm"]]), "several texts"),
    ({}, "no tokens and scores"),
    ([1.0] * 20_001, "at most 20,000"),
]
