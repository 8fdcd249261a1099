"""Predictions of other programs: their columns are recognised, read, judged and drawn; what does not fit is one sentence."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import sentviz
from sentviz import predictions
from sentviz.analysis.testset.predictions_file import described
from sentviz.charts.gallery import draw
from sentviz.cli import main
from sentviz.data import user_datasets
from sentviz.data.labels import assigned, in_order
from sentviz.data.predictions import NO_MODEL, _list, _range, _rises, read, recognise
from sentviz.errors import InputError

TEXTS = ["A warm film.", "Two hours lost.", "The soup was quick and hot.", "Nobody laughed."]
NAMES, NUMBERS = ["positive", "negative", "positive", "negative"], [1, 0, 1, 0]
TWO = {"p_negative": [0.1, 0.8, 0.7, 0.6], "p_positive": [0.9, 0.2, 0.3, 0.4]}  # the third row is wrong
SIDES = ("negative", "positive")
A = [0.1, 0.9, 0.4, 0.8]
B = [0.9, 0.1, 0.6, 0.2]
FIVE = {"p_very_positive": A, "p_positive": A, "p_neutral": A, "p_negative": A, "predicted": ["very positive", *NAMES[1:]]}
RECOGNISED: list[tuple[dict[str, Any], dict[str, str], tuple[str, ...]]] = [  # columns, columns read of each model, classes
    ({"label": NAMES, "predicted": NAMES}, {NO_MODEL: "predicted"}, SIDES),
    ({"label": NUMBERS, **TWO}, {NO_MODEL: "p_negative p_positive"}, SIDES),
    ({"label": NUMBERS, "prob": A}, {NO_MODEL: "prob"}, ("0", "1")),
    ({"label": ["LABEL_1", "LABEL_0"] * 2, "pred": NUMBERS}, {NO_MODEL: "pred"}, ("0", "1")),
    ({"label": NAMES, "positive": A, "negative": B}, {NO_MODEL: "negative positive"}, SIDES),
    ({"label": NAMES, "probability_negative": B, "probability_positive": A, "calibrated_negative": A, "calibrated_positive": B},
     {NO_MODEL: "calibrated_negative calibrated_positive"}, SIDES),
    ({"label": NUMBERS, "a_p_neg": A, "a_p_pos": B, "b_p_neg": B, "b_p_pos": A}, {"a": "a_p_neg a_p_pos", "b": "b_p_neg b_p_pos"},
     ("neg", "pos")),
    ({"label": NAMES, "bert_predicted": NAMES, "bertScore": A, "vader_score": [0.3, -0.5, -0.2, 0.1]},
     {"bert": "bert_predicted bertScore", "vader": "vader_score"}, SIDES),
    ({"label": NAMES, "a_p_positive": A, "p_negative": B}, {"a": "a_p_positive", NO_MODEL: "p_negative"}, SIDES),
    ({"label": NAMES, "bert": NAMES, "rules": NAMES[::-1]}, {"bert": "bert", "rules": "rules"}, SIDES),
    ({"label": NAMES, "Label": NAMES[::-1]}, {NO_MODEL: "Label"}, SIDES),
    ({"label": [1, 5, 3, 2], "prediction": [1, 4, 3, 2]}, {NO_MODEL: "prediction"}, ("1", "2", "3", "4", "5")),
    ({"label": ["neutral", *NAMES[1:]], **FIVE}, {NO_MODEL: "predicted p_negative p_neutral p_positive p_very_positive"},
     ("negative", "neutral", "positive", "very positive")),
    ({"label": NUMBERS, "helpful": NUMBERS[::-1], "price": [3.0, 2.0, 4.0, 1.0], "id": [1, 2, 3, 4]}, {}, ()),
]  # fmt: skip
BAD: list[tuple[dict[str, Any], str]] = [
    (
        {"p_negative": [0.1, 0.9, 0.4, 0.5], "p_positive": [0.9, 0.4, 0.6, 0.5]},
        r"in 1 row they are negative or do not sum to 1, first in row 2 \(0.9 \+ 0.4\)",
    ),
    ({"p_negative": [-0.1, 0.9, 0.4, 0.5], "p_positive": [1.1, 0.1, 0.6, 0.5]}, "in 1 row they are negative"),
    (
        {"p_negative": [np.nan, np.nan, 0.5, np.nan], "p_positive": [0.5, 0.5, np.nan, 0.5], "predicted": NAMES},
        "No row has a prediction in “predicted”, “p_negative” and “p_positive”",
    ),
    ({"prob": [np.inf, -np.inf, np.nan, np.inf]}, "No row has a prediction in “prob”"),
    ({"prob": [None] * 4}, "it has text, label, prob, and no value in “prob”"),
    ({"price": [1, 2, 3, 4]}, "has no column of predictions, such as predicted, prob or p_positive; it has text, label, price"),
]


def table(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"text": TEXTS} | columns)


def test_columns_are_recognised_and_numbers_say_what_they_are() -> None:
    for columns, models, classes in RECOGNISED:
        models_read = recognise(table(**columns), "label", "text")
        assert {each.model: " ".join(each.columns) for each in models_read} == models
        assert all(each.classes == classes for each in models_read)
        named = [f"{'predictions' if name == NO_MODEL else name}: {read.replace(' ', ', ')}" for name, read in models.items()]
        assert sorted(described(each) for each in models_read) == sorted(named)
    frame = table(label=NUMBERS, prob=[0.9, 0.1, 0.4, 0.2])
    assert predictions(frame, classes=["negative", "positive"])[NO_MODEL].classes == ("negative", "positive")
    with pytest.raises(InputError, match=r"The file has 2 classes \(0, 1\): give one name for each"):
        predictions(frame, classes=["negative"])
    assert assigned(["1", 5, "4.0", "0", "LABEL_2"], ("1", "2", "3", "4", "5")).codes.tolist() == [0, 4, 3, -1, 1]
    assert assigned(["LABEL_1", 0], ("negative", "positive")).codes.tolist() == [1, 0]
    assert in_order(["positive", "very negative", "neutral", "negative"]) == ("very negative", "negative", "neutral", "positive")
    assert in_order(["10", "9", "2"]) == ("2", "9", "10")
    frame = pd.DataFrame({"text": TEXTS * 60, "label": NAMES * 60, "predicted": [f"a text {place}" for place in range(240)]})
    assert recognise(frame, "label", "text") == []
    cases: list[tuple[dict[str, Any], list[float], str, str]] = [
        ({"prob": [0.9, 0.1, 0.4, 0.2]}, [0.9, 0.1, 0.4, 0.2], "the probability of “positive”", "probabilities"),
        ({"pred": NAMES, "score": [0.9, 0.8, 0.6, 0.7]}, [0.9, 0.2, 0.6, 0.3], "the confidence of the predicted class", "probabilities"),
        ({"p_negative": [0.9, 0.1, 0.4, 0.2]}, [0.1, 0.9, 0.6, 0.8], "the probability of “negative”", "probabilities"),
        ({"score": [2.0, -1.0, 0.5, -3.0]}, [1 / (1 + np.exp(-x)) for x in (2.0, -1.0, 0.5, -3.0)], "a score whose sign decides", "scores"),
    ]
    for columns, second, says, gives in cases:
        answers = read(table(label=NAMES, **columns), recognise(table(label=NAMES, **columns), "label", "text")[0])
        assert answers.shares[:, 1] == pytest.approx(second) and answers.shares.sum(axis=1) == pytest.approx(1)
        assert says in " ".join(answers.remarks) and answers.gives == gives
    logits = table(label=NAMES, logit_negative=[0.0, 2.0, 0.0, 1.0], logit_positive=[1.0, 0.0, 3.0, 0.0])
    shares = read(logits, recognise(logits, "label", "text")[0]).shares
    assert shares[:, 1] == pytest.approx([1 / (1 + np.exp(-x)) for x in (1.0, -2.0, 3.0, -1.0)])
    rows = predictions(table(label=NAMES, p_negative=[10, 90, 33, 50.4], p_positive=[90, 10, 67.5, 50.4]))[NO_MODEL]
    assert rows.probabilities[:, 1] == pytest.approx([0.9, 0.1, 67.5 / 100.5, 0.5])


def test_the_predicted_class_of_the_file_counts_and_rows_without_one_are_left_out() -> None:
    own = ["positive", "negative", "negative", "negative"]
    frame = table(label=NAMES, predicted=own, p_negative=[0.1, 0.9, 0.3, 0.6], p_positive=[0.9, 0.1, 0.7, 0.4])
    rows = predictions(frame)[NO_MODEL]
    assert rows.predicted.tolist() == [1, 0, 0, 0] and rows.frame["right"].tolist() == [True, True, False, True]
    assert rows.frame["confidence"].tolist() == pytest.approx([0.9, 0.9, 0.3, 0.6])
    assert any(remark.startswith("In 1 row the column “predicted” is not the most probable class") for remark in rows.remarks)
    frame = table(label=NAMES, **TWO).assign(text=["A warm film.", " ", "The soup.", "Nobody laughed."])
    frame.loc[3, "p_positive"] = np.nan
    rows = predictions(frame)[NO_MODEL]
    assert rows.frame["id"].tolist() == ["1", "3"]
    mapping = "Labels in “label”: negative, positive; 4 of 4 rows."
    assert rows.remarks == (mapping, "Rows without a text that are left out: 1.", "Rows without a prediction that are left out: 1.")


def test_two_numbers_of_a_class_rise_together_as_often_as_a_loop_counts() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 30):
        numbers, second = rng.integers(0, 4, n).astype(np.float32), rng.random(n) < 0.5
        pairs = [(a < b) + (a == b) / 2 for a in numbers[~second] for b in numbers[second]]
        assert _rises(numbers, second) == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)
    assert _range(np.array([0.5, -1.25, 1234567.0])) == "-1.25 to 1.235e+06"
    assert [_list(names) for names in (("a",), ("a", "b"), ("a", "b", "c"))] == ["“a”", "“a” and “b”", "“a”, “b” and “c”"]


def test_bad_columns_are_one_sentence() -> None:
    for columns, message in BAD:
        with pytest.raises(InputError, match=message):
            predictions(table(label=NAMES, **columns))
    for use in (sentviz.predictions, lambda rows, label: sentviz.compare(data=rows, label=label)):
        with pytest.raises(InputError, match=r"has no column 'lable'; similar names: label; its columns are text, label, prob"):
            use(table(label=NAMES, prob=[0.1, 0.9, 0.4, 0.5]), label="lable")


@pytest.mark.exhaustive
def test_a_file_is_judged_on_the_command_line_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, two = tmp_path / "answers.csv", {f"bert_{name}": values for name, values in TWO.items()}
    table(label=NAMES, **two, rules=["positive", "negative", "negative", "positive"]).to_csv(file, index=False)
    done = CliRunner().invoke(main, ["evaluate", str(file), "--versus", "rules"])
    assert done.exit_code == 0, done.output
    refused = CliRunner().invoke(main, ["evaluate", f"{file}:nobody"])
    assert "has no predictions of 'nobody'; it has those of bert, rules" in refused.output
    assert "is not one" in CliRunner().invoke(main, ["evaluate", "toy/none", "--label", "stars"]).output
    assert draw(str(file), "confusion").frame["count"].tolist() == [2, 0, 1, 1]
    assert draw(f"{file}:rules", "confusion").frame["count"].tolist() == [1, 1, 1, 1]
    assert draw(str(file), "agreement", versus="rules").frame["count"].tolist() == [2, 1, 0, 1]
    with pytest.raises(InputError, match="has only predicted classes, so there are no curves"):
        draw(f"{file}:rules", "roc")
    out = tmp_path / "confusion.csv"
    assert CliRunner().invoke(main, ["export", str(file), "confusion", "-o", str(out)]).exit_code == 0
    assert pd.read_csv(out, comment="#")["count"].tolist() == [2, 0, 1, 1]
    monkeypatch.setattr(user_datasets, "LIMITS", replace(user_datasets.LIMITS, rows=3))
    assert all("Only the first 3 rows are read." in rows.remarks for rows in predictions(file).values())
    assert "Only the first 3 rows are read." in sentviz.compare(file).remarks
