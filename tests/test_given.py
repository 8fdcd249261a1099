"""Scores from elsewhere: every form is read, and fitted to the words of a text."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from sentviz.analysis.explain.foreign_scores import fit, read_scores
from sentviz.errors import InputError
from sentviz.models.model import Model
from sentviz.runs.trace import Trace
from tests.kit import small_model

TEXT = "Dull, but a warm garden."
WORDS = ["dull", ",", "but", "a", "warm", "garden", "."]
SCORES = [-2.0, 0.0, -0.5, 0.25, 3.0, 1.0, 0.0]


@pytest.fixture(scope="module")
def model() -> Model:
    return small_model()


@pytest.fixture(scope="module")
def trace(model: Model) -> Trace:
    return model.trace(TEXT)


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
    "json pairs": [[word, value] for word, value in zip(WORDS, SCORES, strict=True)],
    "numbers": SCORES,
    "tensor": torch.tensor(SCORES),
    "dictionary": {"tokens": WORDS, "scores": SCORES, "target": 1, "method": "gradient"},
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


def test_every_form_gives_each_word_its_score(trace: Trace) -> None:
    for name, form in FORMS.items():
        assert of(trace, form) == pytest.approx(dict(zip(WORDS, SCORES, strict=True)), abs=1e-6), name
    assert of(trace, FORMS["classes of SHAP"], 1)["warm"] == of(trace, FORMS["classes of Interpreto"], 1)["warm"] == -3.0
    placed = {"scores": [1.0, 2.0], "offsets": [[12, 16], [17, 23]]}
    assert {word: value for word, value in of(trace, placed).items() if value} == {"warm": 1.0, "garden": 2.0}


def test_a_table_is_of_classes_only_if_the_model_has_as_many() -> None:
    """20 columns are the classes of a model with 20, and otherwise the width of an embedding, also of 16; then they are summed."""
    table = np.arange(60.0).reshape(3, 20)
    assert read_scores(table, 7, 20).values == pytest.approx(table[:, 7])
    assert read_scores(table, 1, 2).values == pytest.approx(table.sum(axis=1))
    assert read_scores(table[:, :16], 1, 2).values == pytest.approx(table[:, :16].sum(axis=1))


def test_pieces_are_found_in_order_and_divided_by_letters(model: Model, trace: Trace) -> None:
    """ "gar" and "##den" give 1 + 2; "a warm" has 5 letters, one of them in "a"; a bag gives its weight to each repeated word."""
    scores = of(trace, [["dull", 1.0], ["a warm", 5.0], ["gar", 1.0], ["##den", 2.0]])
    assert (scores["garden"], scores["a"], scores["warm"]) == pytest.approx((3.0, 1.0, 4.0))
    for text, pieces, values in (
        ("a warm, warm garden", [["warm", 1.0], ["warm", 2.0]], [0, 1, 0, 2, 0]),
        ("a warm, warm garden", {"warm": 1.0}, [0, 1, 0, 1, 0]),
        ("Café DELIGHT", [["Ġcafe", 1.0], ["▁deli", 2.0], ["ght</w>", 3.0]], [1, 5]),
    ):
        assert fit(model.trace(text), read_scores(pieces, 0, 2)).values.tolist() == values


def test_what_does_not_fit_is_said(trace: Trace) -> None:
    fitted = fit(trace, read_scores([["[CLS]", 4.0], ["warm", 1.0], ["garden", 1.0], ["mountain", 1.0]], 0, 2))
    assert fitted.notes == (
        "1 piece ('mountain') is not found in the text.",
        "5 of 7 words have no score and count as 0.",
        "Special tokens have scores of 4 in all, which no word gets.",
    )


def test_pieces_beyond_what_the_model_reads_are_said() -> None:
    trace = small_model(max_length=4).trace("a warm garden and a dull delight")
    fitted = fit(trace, read_scores([["warm", 1.0], ["dull", 2.0], ["delight", 3.0]], 0, 2))
    assert any("stand beyond what" in note or "stands beyond what" in note for note in fitted.notes)
    assert fitted.values.sum() == 1.0


BAD: list[tuple[Any, str]] = [
    ("warm", "Scores cannot be a text"),
    ([], "There is no score"),
    ([1.0, 2.0], "There are 2 scores. .* 7 words in 7 tokens"),
    ([["warm", float("nan")], ["a", 1.0]], r"Score 1 of 2 \('warm'\) is not a finite number"),
    ([float("inf")] * 7, "Score 1 of 7 is not a finite number"),
    ([["warm", []], ["a", [1]]], "not numbers"),
    ([["mountain", 1.0], ["river", 1.0]], "another text: 'mountain' is not in it"),
    ({"tokens": WORDS, "scores": [1.0]}, "7 words or tokens and 1 scores"),
    ({"tokens": ["warm"], "scores": [1.0], "offsets": [[90, 99]]}, "Offset 90 is outside of the text"),
    (FORMS["classes of SHAP"], "of 2 classes, and the model has 6"),
    (LimeLike(1), "LIME explained the classes 1, and not class 5"),
    (SimpleNamespace(values=[[1.0]], data=[["warm"]]), "several texts"),
    ({}, "no tokens and scores"),
    ([1.0] * 20_001, "at most 20,000"),
]


def test_bad_scores_get_one_sentence(trace: Trace) -> None:
    for scores, message in BAD:
        with pytest.raises(InputError, match=message) as caught:
            fit(trace, read_scores(scores, 5, 6))
        assert "\n" not in str(caught.value)
