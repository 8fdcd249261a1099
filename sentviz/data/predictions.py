"""Columns of a table that hold predictions of other programs: recognised by their names and values, and read."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.data.columns import SPLIT_NAMES, check_columns, codes
from sentviz.data.demo import in_order
from sentviz.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Words = tuple[str, ...]
CLASS = {"predicted", "prediction", "predictions", "pred", "preds", "yhat"}  # words of a name that say: the predicted class
SHARE = {"p", "calibrated", "prob", "probs", "proba", "probability", "probabilities", "score", "scores", "confidence", "conf", "softmax"}
LOGIT = {"logit", "logits"}
BEST = ("calibrated", "probability", "p")  # words of a set of probabilities, the best first, if a model has several sets
FILLERS = {"y", "label", "class", "sentiment", "of"}  # words of a name without a meaning of their own
MOST_CLASSES = 50
MOST_COLUMNS = 500  # columns that are looked at
SUM = 0.02  # probabilities of a row may differ from 1 by this much, because files have rounded values
NO_MODEL = "the file's model"


@dataclass(frozen=True)
class Predictions:
    """The columns of one model: the predicted class, a number for each class, or one number of two classes; "" or () = none."""

    model: str  # name of the model in the names of the columns; `NO_MODEL` if they name none
    classes: tuple[str, ...]
    predicted: str = ""
    shares: tuple[str, ...] = ()  # columns of the classes, in the order of `classes`
    logits: bool = False  # `shares` are logits
    score: str = ""  # column of one number: the probability or score of the second class, or the confidence of the predicted class
    score_of: int = 1  # class whose probability or score the column `score` has
    names: tuple[str, ...] = ()  # other names of the classes, for readers; () = those of the file

    @property
    def display(self) -> tuple[str, ...]:
        """Names of the classes that readers see."""
        return self.names or self.classes

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(filter(None, (self.predicted, *self.shares, self.score)))


@dataclass(frozen=True)
class Answers:
    """Predictions as read. ``answered``: (n,) bool, rows with predictions; the arrays have one entry for each row of the table."""

    answered: npt.NDArray[np.bool_]
    predicted: npt.NDArray[np.int64]  # (n,) class
    shares: Floats  # (n, K) probability of each class; 1 for the predicted class if the file has no probabilities
    gives: str  # a value of `sentviz.analysis.testset.rows.Gives`
    remarks: tuple[str, ...] = ()


def recognise(frame: pd.DataFrame, label: str = "", text: str = "") -> list[Predictions]:
    """Return the predictions in the first `MOST_COLUMNS` columns of a table, by model in the order of their columns; [] if there are none.

    Args:
        label: column of the labels. text: column of the texts.
    """
    names = [str(column) for column in frame.columns if column not in (label, text)]
    return _Reader(frame, [name for name in names if name.casefold() not in (*SPLIT_NAMES, "id")][:MOST_COLUMNS], label).by_model()


@dataclass
class _Reader:
    frame: pd.DataFrame
    names: list[str]
    label: str
    in_sets: set[str] = field(default_factory=set)  # columns of sets with a number for each class

    @cached_property
    def numeric(self) -> set[str]:
        """Columns whose entries are numbers, most of them."""
        import pandas as pd

        def share(column: pd.Series[Any]) -> float:
            return float(pd.to_numeric(column, errors="coerce").notna().sum() / max(1, int(column.notna().sum())))

        return {name for name in self.names if share(self.frame[name]) > 0.5}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Classes in the column of labels."""
        return _values(self.frame[self.label]) if self.label else ()

    def by_model(self) -> list[Predictions]:
        predicted = {_rest(name, CLASS): name for name in reversed(self.names) if _is_class(name) and _values(self.frame[name])}
        written = {value for name in predicted.values() for value in _values(self.frame[name])}
        classes = _one_scale(self.labels, written)
        shares, classes = self._shares(classes)
        if not classes:
            return []
        models: dict[Words, Predictions] = defaultdict(lambda: Predictions("", classes))
        for model, name in predicted.items():
            models[model] = replace(models[model], predicted=name)
        for model, (columns, logits) in shares.items():
            models[model] = replace(models[model], shares=columns, logits=logits)
        if len(classes) == 2:
            for name in (name for name in self.names if name in self.numeric - self.in_sets and set(_words(name)) & (SHARE | LOGIT)):
                of, key = _class_in(_rest(name, SHARE | LOGIT), classes)
                if not models[key].shares:
                    models[key] = replace(models[key], score=name, score_of=1 if of < 0 else of)
        used = {name for each in models.values() for name in each.columns} | self.in_sets
        for name in self.names:
            if name not in used and self._repeats_labels(name, classes):
                models[tuple(_words(name))] = Predictions("", classes, predicted=name)
        place = {name: i for i, name in enumerate(self.names)}
        named = [replace(each, model=" ".join(key) or NO_MODEL) for key, each in models.items() if each.columns]
        return sorted(named, key=lambda each: min(place[column] for column in each.columns))

    def _repeats_labels(self, name: str, classes: Sequence[str]) -> bool:
        """Return whether a column has the label's class names, and several of them: a column named after its model."""
        values = _values(self.frame[name])
        return bool(self.labels) and not _numbers(values) and len(values) > 1 and bool((codes(values, classes) >= 0).all())

    def _shares(self, classes: tuple[str, ...]) -> tuple[dict[Words, tuple[tuple[str, ...], bool]], tuple[str, ...]]:
        """Return the columns with a number for each class, by model, and the classes, which the columns name if nothing else does."""
        sets: dict[str, dict[Words, str]] = defaultdict(dict)  # word of the role -> other words -> name
        for name in self.names:
            words = _words(name)
            for role in words if name in self.numeric else ():
                if role in SHARE | LOGIT:
                    rest = tuple(word for word in words if word not in (SHARE | LOGIT) - {"p"} and word != role and word not in FILLERS)
                    sets[role][rest] = name
        if not classes or _numbers(classes):
            named = max((_class_words(tuple(rests)) for rests in sets.values()), key=len, default=())
            if len(named) > 1 and (not classes or len(named) == len(classes)):
                classes = in_order([" ".join(words) for words in named])
        if not classes:
            return {}, ()
        by_model: dict[Words, dict[str, tuple[str, ...]]] = defaultdict(dict)
        for role, rests in sets.items():
            for model, columns in _by_model(rests, classes).items():
                by_model[model][role] = columns
                self.in_sets.update(columns)
        if not by_model and self.numeric.issuperset(classes):
            by_model[()][""] = classes  # columns with the bare names of the classes
        best: dict[Words, tuple[tuple[str, ...], bool]] = {}
        for model, roles in by_model.items():
            role = next((role for role in BEST if role in roles), next(iter(roles)))
            best[model] = roles[role], role in LOGIT
        return best, classes


def _words(name: str) -> list[str]:
    """Return the words of a column's name: "BERT_pPositive" -> bert, p, positive."""
    return re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold())


def _is_class(name: str) -> bool:
    words = set(_words(name))
    return bool(words & CLASS) and not words & (SHARE | LOGIT)


def _rest(name: str, roles: set[str]) -> Words:
    return tuple(word for word in _words(name) if word not in roles and word not in FILLERS)


def _values(column: pd.Series[Any]) -> tuple[str, ...]:
    """Return the distinct values of a column as text, without a decimal ".0"; () if there are too many for classes."""
    distinct = column.dropna().drop_duplicates()
    if len(distinct) > 4 * MOST_CLASSES:
        return ()
    texts = dict.fromkeys(re.sub(r"^(-?\d+)\.0+$", r"\1", str(value).strip()) for value in distinct)
    texts.pop("", None)
    by_fold = {text.casefold(): text for text in reversed(texts)}
    values = tuple(text for text in texts if by_fold.get(text.casefold()) == text)
    return in_order(values) if len(values) <= MOST_CLASSES else ()


def _numbers(values: Iterable[str]) -> bool:
    """Return whether all values are numbers of classes: 0, 1, or LABEL_0, LABEL_1."""
    return all(re.fullmatch(r"(label_)?\d+", value.casefold()) for value in values)


def _one_scale(labels: tuple[str, ...], written: set[str]) -> tuple[str, ...]:
    """Return the classes of labels and predictions: names, if either has names; numbers from 0 or stars otherwise."""
    named = [value for value in (*labels, *sorted(written)) if not _numbers([value])]
    if named:
        return in_order(list({name.casefold(): name for name in reversed(named)}.values()))
    numbers = sorted({int(value.casefold().removeprefix("label_")) for value in (*labels, *written)})
    if not numbers or numbers[-1] >= MOST_CLASSES:
        return ()
    first = min(numbers[0], 1)  # a scale of stars starts with 1
    return tuple(map(str, range(first, max(numbers[-1], first + 1) + 1)))


def _class_words(rests: Sequence[Words]) -> tuple[Words, ...]:
    """Return the last, or the first, words of columns' names if these repeat for each model, as neg and pos in a_neg a_pos b_neg b_pos."""
    for part, rest_part in (((-1, None), (None, -1)), ((None, 1), (1, None))):
        pairs = {(rest[slice(*part)], rest[slice(*rest_part)]) for rest in rests if rest}
        classes, models = {c for c, _ in pairs}, {m for _, m in pairs}
        if len(classes) > 1 and len(pairs) == len(classes) * len(models):
            return tuple(dict.fromkeys(rest[slice(*part)] for rest in rests if rest))
    return tuple(dict.fromkeys(rests)) if len(rests) > 1 and all(rests) else ()


def _by_model(rests: dict[Words, str], classes: Sequence[str]) -> dict[Words, tuple[str, ...]]:
    """Return the columns of each model that has one for every class."""
    columns_by_model: dict[Words, dict[int, str]] = defaultdict(dict)
    for rest, column in rests.items():
        of, model = _class_in(rest, classes)
        if of >= 0:
            columns_by_model[model].setdefault(of, column)
    return {
        model: tuple(by_class[k] for k in range(len(classes)))
        for model, by_class in columns_by_model.items()
        if len(by_class) == len(classes)
    }


def _class_in(rest: Words, classes: Sequence[str]) -> tuple[int, Words]:
    """Return the class that the words of a column's name have, -1 for none, and the other words: ("a", "positive") -> 1, ("a",)."""
    words_of = [tuple(_words(name)) for name in classes]
    for k in sorted(range(len(classes)), key=lambda each: -len(words_of[each])):  # "very positive" before "positive"
        words = words_of[k]
        at = next((i for i in range(len(rest) - len(words) + 1) if rest[i : i + len(words)] == words), -1)
        if at >= 0 and words:
            return k, rest[:at] + rest[at + len(words) :]
    return -1, rest


def read(frame: pd.DataFrame, of: Predictions) -> Answers:
    """Return the predictions of one model.

    Raises:
        InputError: a column is missing, numbers are not probabilities, or no row has a prediction.
    """
    check_columns(of.columns, list(map(str, frame.columns)), "The file")
    count, gives, remarks = len(of.classes), "classes", []
    written_class = codes(frame[of.predicted], of.classes) if of.predicted else np.full(len(frame), -1)
    if of.shares:
        shares, gives = _numbers_of(frame, of.shares), "probabilities"
        shares = _softmax(shares) if of.logits else _checked(shares, of.shares)
    elif of.score:
        shares, gives, remark = _scored(_numbers_of(frame, (of.score,))[:, 0], written_class, of)
        remarks.append(remark)
    else:
        shares = np.where(written_class[:, None] >= 0, np.eye(count)[np.maximum(written_class, 0)], np.nan)
    answered = np.array(np.isfinite(shares).all(axis=1), dtype=bool)
    if of.predicted:
        answered &= written_class >= 0
    if not answered.any():
        raise InputError(f"No row has a prediction in {_list(of.columns)} that is one of {', '.join(of.classes)}.")
    if not answered.all():
        remarks.append(f"Rows without a prediction that are left out: {int((~answered).sum()):,}.")
    likeliest = np.where(answered, np.nan_to_num(shares, nan=-1.0).argmax(axis=1), -1)
    if of.predicted and (differ := int((answered & (written_class != likeliest)).sum())):
        remarks.append(
            f"In {differ:,} row{'s' * (differ != 1)} the column “{of.predicted}” is not the most probable class; the column counts, as with"
            " another threshold than 0.5."
        )
    return Answers(answered, written_class if of.predicted else likeliest, shares, gives, tuple(remarks))


def _numbers_of(frame: pd.DataFrame, columns: Sequence[str]) -> Floats:
    """Return columns as numbers (n, k); NaN for anything else, also for infinity."""
    import pandas as pd

    numbers = np.stack([pd.to_numeric(frame[column], errors="coerce").to_numpy(np.float64) for column in columns], axis=1)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)


def _checked(shares: Floats, columns: Sequence[str]) -> Floats:
    """Return probabilities that sum to 1 in each row; a file has rounded ones, and percentages are divided by 100."""
    known = np.isfinite(shares).all(axis=1)
    sums = shares[known].sum(axis=1)
    if len(sums) and np.abs(sums - 100).max() <= 100 * SUM:
        shares, sums = shares / 100, sums / 100
    wrong = (np.abs(sums - 1) > SUM) | (shares[known] < 0).any(axis=1)
    if wrong.any():
        row = int(np.flatnonzero(known)[wrong.argmax()])
        values, n = " + ".join(f"{value:.4g}" for value in shares[row]), int(wrong.sum())
        raise InputError(
            f"{_list(columns)} are not probabilities: in {n:,} row{'s' * (n != 1)} they are negative or do not sum to 1, first in row"
            f" {row + 1} ({values})."
        )
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float64)


def _scored(values: Floats, written_class: npt.NDArray[np.int64], of: Predictions) -> tuple[Floats, str, str]:
    """Return the probabilities that one number of two classes gives, what it is, and a remark that says so."""
    known, name, named = np.isfinite(values), f"The column “{of.score}”", of.display[of.score_of]
    within = bool(known.any()) and values[known].min() >= 0 and values[known].max() <= 1
    both = known & (written_class >= 0)
    gives = "probabilities" if within else "scores"
    second = values if within else 1 / (1 + np.exp(-np.clip(values, -700, 700)))
    second = second if of.score_of else 1 - second
    if not within:
        meaning = f"a score whose sign decides: “{named}” above 0"
    elif both.any() and values[both].min() >= 0.5 and (written_class[both] == 0).any():
        second, meaning = np.where(written_class == 1, values, 1 - values), "the confidence of the predicted class"
    else:
        meaning = f"the probability of “{named}”"
    return np.stack([1 - second, second], axis=1), gives, f"{name} is read as {meaning}."


def _list(columns: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(f"“{name}”" for name in columns[:-1]), f"“{columns[-1]}”")))
