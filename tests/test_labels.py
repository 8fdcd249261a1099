"""One mapping of labels to classes: right values come from pandas and scikit-learn, and what is ambiguous is one sentence."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, roc_auc_score

import sentviz
from sentviz.data.columns import guess
from sentviz.data.labels import LabelsError, LeftOutError, Reading, ScaleError, assigned, canonical, in_order, is_scale, number, order_of
from sentviz.data.predictions import NO_MODEL
from sentviz.data.understanding import understand
from sentviz.data.upload import labelled
from sentviz.errors import InputError
from tests.kit import refused

N = 200
TWO, THREE, FIVE = ("negative", "positive"), ("negative", "neutral", "positive"), tuple(f"{k} star{'s' * (k > 1)}" for k in range(1, 6))
rng = np.random.default_rng(7)
TRUTH = {k: rng.integers(0, k, N) for k in (2, 3, 5)}
ANSWER = {k: np.where(rng.random(N) < 0.8, truth, rng.integers(0, k, N)) for k, truth in TRUTH.items()}
# These are probabilities of the second class.
SHARE = np.clip(0.5 + 0.35 * (2 * ANSWER[2] - 1) * rng.random(N) + 0.1 * rng.normal(size=N), 0.001, 0.999)

SCALES: list[tuple[Sequence[str], Sequence[Any]]] = [  # classes of a model, and the labels of a file for them, in order
    (TWO, ["negative", "positive"]),
    (TWO, ["NEG", "Pos "]),
    (TWO, ["0.0", "1.0"]),
    (TWO, [-1.0, 1.0]),
    (TWO, ["LABEL_0", "LABEL_1"]),
    (TWO, ["부정", "긍정"]),
    (("neg", "pos"), ["Negative", "POSITIVE"]),
    (("0", "1"), [False, True]),
    (THREE, [-1, 0, 1]),
    (("very negative", *THREE, "very positive"), [-2, -1, 0, 1, 2]),
    (("1", "2", "3", "4", "5"), ["1 star", "2 stars", "3 stars", "4 stars", "5 stars"]),
    (("ham", "spam"), [0, 1]),
]


@pytest.mark.parametrize(("classes", "written"), SCALES, ids=str)
def test_labels_are_read_by_names_meanings_and_numbers(classes: Sequence[str], written: Sequence[Any]) -> None:
    truth = np.array([*range(len(classes))] * 3)
    labels = assigned(pd.Series([written[k] for k in truth]), classes)
    assert labels.codes.tolist() == truth.tolist() and not labels.unknown
    assert labels.sentences[0].endswith(f"; {len(truth)} of {len(truth)} rows.") and len(labels.sentences) == 1


AMBIGUOUS: list[tuple[Sequence[str], Sequence[Any]]] = [
    (TWO, [1]),  # 1 of 0 and 1, or of 1 and 2
    (TWO, [-1]),  # the first class, or no label
    (TWO, [0, 1, 2]),
    (TWO, [0, 0.5]),
    (THREE, [0, 1]),  # negative and neutral, or negative and positive
    (("positive", "negative"), [0, 1]),  # the order of the classes is against their meaning
    (TWO, ["good", "bad"]),
]


@pytest.mark.parametrize(("classes", "written"), AMBIGUOUS, ids=str)
def test_what_is_ambiguous_is_refused_with_the_option_that_decides(classes: Sequence[str], written: Sequence[Any]) -> None:
    with pytest.raises(LabelsError, match="--labels") as error:
        assigned(written * 5, classes)
    assert "\n" not in str(error.value) and canonical(written[0]) in str(error.value)
    chosen = {canonical(label): classes[k] for k, label in enumerate(written[: len(classes)])}
    codes = assigned(written, classes, Reading.of(labels=chosen)).codes.tolist()
    assert codes[: len(classes)] == [*range(len(written))][: len(classes)] and set(codes[len(classes) :]) <= {-1}


def test_numbers_and_rows_that_are_left_out_need_a_word() -> None:
    names, numbers = np.array(["ham", "spam"])[TRUTH[2]], ANSWER[2]
    refused(LabelsError, r"--labels", sentviz.predictions, pd.DataFrame({"label": names, "pred": numbers}))
    right = accuracy_score(TRUTH[2], numbers)
    for options in ({"classes": ["ham", "spam"]}, {"labels": "0=ham,1=spam"}):
        rows = sentviz.predictions(pd.DataFrame({"label": names, "pred": numbers}), **options)[NO_MODEL]
        assert rows.frame["right"].mean() == pytest.approx(right) and rows.classes == ("ham", "spam")

    written = ((1.0, "1"), ("1.", "1"), ("+1", "1"), (" -1.0 ", "-1"), (None, ""), ("NaN", ""), ("n/a", ""), ("1.5", "1.5"), (True, "True"))
    assert [canonical(value) for value, _ in written] == [text for _, text in written]
    assert [*map(number, ("LABEL_3", "4 stars", "true", "-2", "1.5", "positive"))] == [3, 4, 1, -2, None, None]
    assert is_scale(TWO) and is_scale(("-1", "0", "1")) and is_scale(FIVE) and not is_scale(("ham", "spam")) and not is_scale(TWO[::-1])
    assert in_order(["긍정", "부정", "중립"]) == ("부정", "중립", "긍정")
    frame = pd.DataFrame({"text": [f"text {i}" for i in range(N)], "label": TRUTH[2], "prediction": ANSWER[2]}).astype(str)
    some = frame.assign(label=["", "", "", *frame["label"][3:]])
    assert len(sentviz.predictions(some)[NO_MODEL]) == 200 and sentviz.compare(data=some.assign(svm_pred=ANSWER[2])).n == 197
    more = frame.assign(prediction=[""] * 5 + [*frame["prediction"][5:]], svm_pred=ANSWER[2])
    refused(LeftOutError, "Only 195 of the 200 rows", sentviz.compare, data=more)
    assert sentviz.compare(data=more, partial=True).n == 195
    numbers = pd.DataFrame({"label": np.where(np.arange(N) < 10, 7, 1 + TRUTH[2]), "prediction": 1 + ANSWER[2]})
    refused(LeftOutError, r"'7' \(10 rows\)", sentviz.predictions, numbers, labels={"1": "negative", "2": "positive"})
    rows = sentviz.predictions(numbers, labels={"1": "negative", "2": "positive"}, partial=True)[NO_MODEL]
    known = rows.frame[rows.labels >= 0]
    assert known["right"].mean() == pytest.approx(accuracy_score(TRUTH[2][10:], ANSWER[2][10:])) and len(known) == 190


def test_unknown_choices_and_scales_are_one_sentence() -> None:
    for text in ("1", "1=", "=negative", "1=negative,2"):
        refused(InputError, "Write labels as in 1=negative,2=positive", Reading.of, labels=text)
    refused(InputError, r"is not a scale\. The scales are probability, percent, logit, confidence", Reading.of, scale="percents")
    refused(LabelsError, "'bad' is not one of the classes negative, positive", assigned, [1, 2], TWO, Reading.of(labels="1=bad"))
    assert order_of(TWO, ("0", "1"), "model") == [0, 1] and order_of(TWO, ("부정", "긍정"), "model") == [0, 1]
    assert order_of(("pos", "NEG"), TWO, "model") == [1, 0] and order_of(("world news", "sport"), ("Sport", "World"), "model") == [1, 0]
    for own, classes in ((("positive", "negative"), ("0", "1")), (TWO, ("a", "b")), (TWO, THREE)):
        refused(LabelsError, r"has the classes .* and the data set", order_of, own, classes, "model")
    for count, label, answer in ((2, [0, 1], [1, 2]), (3, [0, 1, 2], [-1, 0, 1]), (2, ["ham", "spam"], ["yes", "no"])):
        frame = pd.DataFrame({"label": [label[k] for k in TRUTH[count]], "prediction": [answer[k] for k in ANSWER[count]]})
        refused(LabelsError, r"whether these are the same classes is not known.* --labels", sentviz.predictions, frame)
    for columns, option in UNKNOWN.values():
        refused(ScaleError, option, sentviz.predictions, pd.DataFrame({"label": LABELS, **columns}))
    for scale, values in (("percent", 100 * SHARE), ("logit", LOGITS), ("probability", SHARE)):
        rows = sentviz.predictions(pd.DataFrame({"label": LABELS, "score": values}), scale=scale)[NO_MODEL]
        assert rows.probabilities[:, 1] == pytest.approx(SHARE)
    frame = pd.DataFrame({"label": LABELS, "score": LOGITS})
    refused(ScaleError, "which are no probability", sentviz.predictions, frame, scale="probability")
    frame = pd.DataFrame({"label": np.array(["spam", "ham"])[TRUTH[2]], "prob": SHARE})
    refused(LabelsError, "--classes ham,spam or --classes spam,ham", sentviz.predictions, frame)
    rows = sentviz.predictions(frame, classes=["spam", "ham"])[NO_MODEL]
    assert rows.classes == ("spam", "ham") and rows.frame["right"].mean() == pytest.approx(accuracy_score(TRUTH[2], SHARE > 0.5))


FILES: list[tuple[int, Sequence[Any], Sequence[Any]]] = [  # classes, labels of the file, and its predictions
    (2, [-1.0, 1.0], ["-1", "1"]),
    (2, ["Negative", "POSITIVE"], ["neg", "pos"]),
    (2, ["neg", "pos"], ["LABEL_0", "LABEL_1"]),
    (2, ["부정", "긍정"], [0, 1]),
    (2, ["ham", "spam"], ["Ham", "SPAM "]),
    (3, ["negative", "neutral", "positive"], [0, 1, 2]),
    (5, [1, 2, 3, 4, 5], ["1 star", "2 stars", "3 stars", "4 stars", "5 stars"]),
]


@pytest.mark.parametrize(("count", "label", "answer"), FILES, ids=str)
def test_a_file_of_predictions_is_judged_on_all_rows(count: int, label: Sequence[Any], answer: Sequence[Any]) -> None:
    frame = pd.DataFrame({"label": [label[k] for k in TRUTH[count]], "prediction": [answer[k] for k in ANSWER[count]]})
    rows = sentviz.predictions(frame)[NO_MODEL]
    assert len(rows) == N == (rows.labels >= 0).sum()
    assert rows.frame["right"].mean() == pytest.approx(accuracy_score(TRUTH[count], ANSWER[count]))
    assert sum(f"{N} of {N} rows." in remark for remark in rows.remarks) == 2


@settings(max_examples=12)
@example((2, ["True", "LABEL_1"]), 0)
@given(
    st.integers(2, 4).flatmap(
        lambda k: st.tuples(
            st.just(k),
            st.lists(
                st.one_of(
                    st.integers(-6, 60).map(str),
                    st.sampled_from(["neg", "POS", "neutral", "True", "False", "LABEL_0", "LABEL_1", "5 stars"]),
                    st.text("abAB 가나_-.1", min_size=1, max_size=4),
                ),
                min_size=k, max_size=k, unique=True,
            ),
        )
    ),
    st.integers(0, 10_000),
)  # fmt: skip
def test_renamed_labels_give_the_same_numbers_or_one_sentence(names: tuple[int, list[str]], seed: int) -> None:
    count, renamed = names
    draws = np.random.default_rng(seed)
    truth = draws.integers(0, count, 60)
    answer = np.where(draws.random(60) < 0.7, truth, draws.integers(0, count, 60))
    frame = pd.DataFrame({"label": [renamed[k] for k in truth], "prediction": [renamed[k] for k in answer]})
    try:
        rows = sentviz.predictions(frame)[NO_MODEL]
    except InputError as error:
        assert "\n" not in str(error)
        return
    same = len({canonical(name).casefold() for name in renamed}) < count or "" in map(canonical, renamed)
    if not same and len(rows.classes) == count:
        assert rows.frame["right"].mean() == pytest.approx((truth == answer).mean()) and rows.total == 60 == len(rows)
    else:
        assert any("of 60 rows." in remark for remark in rows.remarks)


LABELS = np.array(TWO)[TRUTH[2]]
LOGITS = np.log(SHARE / (1 - SHARE))
NUMBERS: list[tuple[str, dict[str, Any], float]] = [  # name, columns, and the share of rows with another prediction than SHARE's
    ("shares", {"prob": SHARE}, 0),
    ("percent by name", {"prob": 100 * SHARE}, 0),
    ("percent by sign", {f"p_{name}": [f"{100 * p:.3f}%" for p in each] for name, each in (("neg", 1 - SHARE), ("pos", SHARE))}, 0),
    ("logits", {"logit": LOGITS}, 0),
    ("logits from 0 to 1", {"logit": np.clip(LOGITS, 0.01, 0.99)}, 1),
    ("scores with a sign", {"score": LOGITS}, 0),
    ("confidence in percent", {"pred": np.array(TWO)[(SHARE > 0.5).astype(int)], "confidence": 100 * np.maximum(SHARE, 1 - SHARE)}, 0),
    ("of the first class", {"pred": np.array(TWO)[(SHARE > 0.5).astype(int)], "prob": 1 - SHARE}, 0),
]


@pytest.mark.parametrize(("kind", "columns", "all_second"), NUMBERS, ids=lambda value: value if isinstance(value, str) else "")
def test_numbers_are_read_by_name_range_and_predicted_class(kind: str, columns: dict[str, Any], all_second: float) -> None:
    rows = sentviz.predictions(pd.DataFrame({"label": LABELS, **columns}))[NO_MODEL]
    predicted = np.ones(N) if all_second else SHARE > 0.5
    assert rows.frame["right"].mean() == pytest.approx(accuracy_score(TRUTH[2], predicted))
    values = np.clip(LOGITS, 0.01, 0.99) if all_second else SHARE
    assert roc_auc_score(TRUTH[2], rows.probabilities[:, 1]) == pytest.approx(roc_auc_score(TRUTH[2], values), abs=1e-6)
    assert len(rows) == N


UNKNOWN: dict[str, tuple[dict[str, Any], str]] = {
    "a score from 0 to 100": ({"score": 100 * SHARE}, "--scale percent"),
    "a score above 0": ({"score": np.exp(LOGITS)}, "--scale logit"),
    "shares and one of 1.4": ({"prob": [1.4, *SHARE[1:]]}, "--scale"),
    "percent below 1": ({"percent": SHARE}, "--scale percent"),
    "confidence of nothing": ({"confidence": SHARE}, "--scale probability"),
    "logits of two classes": ({"score_neg": -LOGITS, "score_pos": LOGITS}, "--scale logit"),
    "numbers of something else": ({"pred": np.array(TWO)[ANSWER[2]], "prob": np.random.default_rng(1).random(N)}, "--scale"),
}


def test_synonyms_and_columns_of_labels_are_known() -> None:
    texts = [f"{word} and warm {i}" for i in range(20) for word in ("a", "b", "c", "d")]
    frame = pd.DataFrame({"text": texts, "감정": ["긍정", "부정", "긍정", "부정"] * 20})
    assert understand(frame, "x").labels == ("부정", "긍정")
    mixed = frame.assign(감정=["pos", "negative", "Positive", "neg"] * 20)
    understood = understand(mixed, "x")
    assert len(understood.labels) == 2 and sum(len(part) for part in understood.parts.values()) == 80
    assert any("count" in sentence for sentence in understood.sentences)
    for name in ("y_true", "actual", "정답", "라벨", "Label"):
        frame = pd.DataFrame({"문장": ["a fine film", "a bad one"], name: [1, 0]})
        assert guess(frame, labels=True) == name and guess(frame) == "문장"
        assert labelled(frame, "문장", name, TWO)[0]["label"].tolist() == [1, 0]
    frame = pd.DataFrame({"y_true": LABELS, "label": np.array(TWO)[ANSWER[2]], "score": 0.5 + abs(SHARE - 0.5)})
    rows = sentviz.predictions(frame)[NO_MODEL]  # a prediction named label beside the truth
    assert "confidence of the predicted class" in " ".join(rows.remarks)
    assert rows.frame["right"].mean() == pytest.approx(accuracy_score(TRUTH[2], ANSWER[2]))
    rows = sentviz.predictions(pd.DataFrame({"mystery": LABELS, "pred": np.array(TWO)[ANSWER[2]]}))[NO_MODEL]
    assert any("--label names it" in remark for remark in rows.remarks)

    class Pipeline:
        classes_ = np.array(["neg", "pos"])

        def predict_proba(self, texts: list[str]) -> Any:
            return np.full((len(texts), 2), 0.5)

    refused(InputError, "in the order neg, pos, so positive, negative would", sentviz.load, Pipeline(), classes=["positive", "negative"])
    assert sentviz.load(Pipeline(), classes=["negative", "positive"]).labels == ("negative", "positive")


def test_every_usual_name_of_a_column_is_known() -> None:
    texts = "text, sentence, review, document, comment, content, tweet, body, message, 텍스트, 문장, 리뷰, 내용, 댓글, 본문"
    golds = "y_true, true_label, label_true, gold, gold_label, ground_truth, actual, label, sentiment, polarity, class, target, rating"
    labels = f"{golds}, stars, y, 라벨, 레이블, 정답, 감정, 감성, 극성, 분류, 평점, 별점"
    for names, of in ((texts.split(", "), False), (labels.split(", "), True)):
        alone = [guess(pd.DataFrame({"other": ["long entries"], name.upper(): ["a"]}), labels=of) for name in names]
        assert alone == [name.upper() for name in names]
        assert all(guess(pd.DataFrame({after: ["a"], before: ["b"]}), labels=of) == before for before, after in pairwise(names))
