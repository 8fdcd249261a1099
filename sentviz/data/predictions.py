"""Columns of a table that hold predictions of other programs: recognised by their names and values, and read."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.data.columns import SPLIT_NAMES, check_columns
from sentviz.data.labels import (
    AS_FOUND,
    Assigned,
    LabelsError,
    Reading,
    ScaleError,
    assigned,
    by_name,
    check_numbers,
    in_order,
    is_scale,
    merged,
    number,
    rearranged,
)
from sentviz.errors import InputError
from sentviz.io.lazy import pd, special

Floats = npt.NDArray[np.float64]
Words = tuple[str, ...]
CLASS = {"predicted", "prediction", "predictions", "pred", "preds", "yhat", "예측"}  # words of a name that say: the predicted class
SHARE = {
    "p",
    "calibrated",
    "prob",
    "probs",
    "proba",
    "probability",
    "probabilities",
    "score",
    "scores",
    "confidence",
    "conf",
    "softmax",
    "확률",
}
LOGIT = {"logit", "logits"}
PERCENT = {"percent", "percents", "percentage", "pct"}
CONFIDENCE = {"confidence", "conf"}
NUMBERS = {*SHARE, *LOGIT, *PERCENT}  # words of a name that say: a number for a class
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
    score_of: int = -1  # class that the name of the column `score` has; -1 = none
    names: tuple[str, ...] = ()  # other names of the classes, for readers; () = those of the file
    reading: Reading = AS_FOUND  # the user's choices

    @property
    def display(self) -> tuple[str, ...]:
        """Names of the classes that readers see."""
        return self.names or self.classes

    @property
    def ordered(self) -> bool:
        """True if the order of the classes is known, from their names or from the user."""
        return is_scale(self.classes) or bool(self.reading.classes)

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
    written: Assigned | None = None  # the column of the predicted class; None if there is none


def recognise(frame: pd.DataFrame, label: str = "", text: str = "", reading: Reading | None = None) -> list[Predictions]:
    """Return the predictions in the first `MOST_COLUMNS` columns of a table, by model in the order of their columns; [] if there are none.

    Args:
        label: column of the labels. text: column of the texts.
    """
    names = [str(column) for column in frame.columns if column not in (label, text)]
    names = [name for name in names if name.casefold() not in (*SPLIT_NAMES, "id")][:MOST_COLUMNS]
    return _Reader(frame, names, label, reading or AS_FOUND).by_model()


@dataclass
class _Reader:
    frame: pd.DataFrame
    names: list[str]
    label: str
    reading: Reading
    in_sets: set[str] = field(default_factory=set)  # columns of sets with a number for each class

    @cached_property
    def numeric(self) -> set[str]:
        """Columns whose entries are numbers, most of them."""

        def share(column: pd.Series[Any]) -> float:
            return float((~np.isnan(_as_numbers(column))).sum() / max(1, int(column.notna().sum())))

        return {name for name in self.names if share(self.frame[name]) > 0.5}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels in the column of labels."""
        return _values(self.frame[self.label], self.reading) if self.label else ()

    def _shares_a_class(self, name: str) -> bool:
        """Return whether a column called "label" beside the true labels predicts them; otherwise it is a column of the user."""
        values = _values(self.frame[name], self.reading)
        return not self.labels or len(merged([*self.labels, *values])) < len(self.labels) + len(values)

    def by_model(self) -> list[Predictions]:
        classed = [name for name in self.names if _is_class(name) or (name.casefold() == "label" and self._shares_a_class(name))]
        written = {name: values for name in classed if (values := _values(self.frame[name], self.reading))}
        predicted = {_rest(name, CLASS): name for name in reversed(written)}
        for values in (self.labels, *written.values()):
            check_numbers(values)
        classes = merged([*self.labels, *(value for name in self.names if name in predicted.values() for value in written[name])])
        if len(classes) > MOST_CLASSES or (_numbers(classes) and max((number(name) or 0 for name in classes), default=0) >= MOST_CLASSES):
            classes = ()
        shares, classes = self._shares(rearranged(classes, self.reading.classes))
        if not classes:
            return []
        models: dict[Words, Predictions] = defaultdict(lambda: Predictions("", classes, reading=self.reading))
        for model, name in predicted.items():
            models[model] = replace(models[model], predicted=name)
        for model, (columns, logits) in shares.items():
            models[model] = replace(models[model], shares=columns, logits=logits)
        if len(classes) == 2:
            for name in (name for name in self.names if name in self.numeric - self.in_sets and set(_words(name)) & NUMBERS):
                of, key = _class_in(_rest(name, NUMBERS), classes)
                if not models[key].shares:
                    models[key] = replace(models[key], score=name, score_of=of)
        used = {name for each in models.values() for name in each.columns} | self.in_sets
        for name in self.names:
            if name not in used and self._repeats_labels(name, classes):
                models[tuple(_words(name))] = Predictions("", classes, predicted=name, reading=self.reading)
        place = {name: i for i, name in enumerate(self.names)}
        named = [replace(each, model=" ".join(key) or NO_MODEL) for key, each in models.items() if each.columns]
        return sorted(named, key=lambda each: min(place[column] for column in each.columns))

    def _repeats_labels(self, name: str, classes: Sequence[str]) -> bool:
        """Return whether a column has the label's class names, and several of them: a column named after its model."""
        values = _values(self.frame[name], self.reading)
        return bool(self.labels) and not _numbers(values) and len(values) > 1 and min(by_name(values, classes).values()) >= 0

    def _shares(self, classes: tuple[str, ...]) -> tuple[dict[Words, tuple[tuple[str, ...], bool]], tuple[str, ...]]:
        """Return the columns with a number for each class, by model, and the classes, which the columns name if nothing else does."""
        sets: dict[str, dict[Words, str]] = defaultdict(dict)  # word of the role -> other words -> name
        for name in self.names:
            words = _words(name)
            for role in words if name in self.numeric else ():
                if role in NUMBERS:
                    rest = tuple(word for word in words if word not in NUMBERS - {"p"} and word != role and word not in FILLERS)
                    sets[role][rest] = name
        sets_of_words = [_class_words(tuple(rests)) for rests in sets.values()]
        named = in_order(" ".join(words) for words in max(sets_of_words, key=len, default=()))
        has_all = min(by_name(classes, named).values(), default=0) >= 0
        if len(named) > 1 and (
            len(named) > len(classes) if has_all else len(named) >= len(classes) and _numbers(classes) > _numbers(named)
        ):
            classes = rearranged(named, self.reading.classes)
        if not classes:
            return {}, ()
        by_model: dict[Words, dict[str, tuple[str, ...]]] = defaultdict(dict)
        for role, rests in sets.items():
            for model, columns in _by_model(rests, classes).items():
                by_model[model][role] = columns
                self.in_sets.update(columns)
        bare = by_name(sorted(self.numeric), classes)
        if not by_model and sorted(place for place in bare.values() if place >= 0) == list(range(len(classes))):
            by_model[()][""] = tuple(sorted((name for name in bare if bare[name] >= 0), key=lambda name: bare[name]))  # the classes' names
        best: dict[Words, tuple[tuple[str, ...], bool]] = {}
        for model, roles in by_model.items():
            role = next((role for role in BEST if role in roles), next(iter(roles)))
            best[model] = roles[role], role in LOGIT
        return best, classes


def _words(name: str) -> list[str]:
    """Return the words of a column's name: "BERT_pPositive" -> bert, p, positive; "p_-1.0" -> p, -1."""
    name = re.sub(r"(\d)\.0+(?!\d)", r"\1", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))
    return re.findall(r"(?<![^\W_])-\d+|[^\W_]+", name.casefold())


def _is_class(name: str) -> bool:
    words = set(_words(name))
    return bool(words & CLASS) and not words & NUMBERS


def _rest(name: str, roles: set[str]) -> Words:
    return tuple(word for word in _words(name) if word not in roles and word not in FILLERS)


def _values(column: pd.Series[Any], reading: Reading) -> tuple[str, ...]:
    """Return the distinct labels of a column; () if there are too many for classes."""
    distinct = column.dropna().drop_duplicates()
    if len(distinct) > 4 * MOST_CLASSES:
        return ()
    values = tuple(dict.fromkeys(filter(None, map(reading.value, distinct))))
    return values if len(merged(values)) <= MOST_CLASSES else ()


def _numbers(values: Iterable[str]) -> bool:
    """Return whether all values are numbers of classes: 0, 1, or LABEL_0, LABEL_1."""
    return all(number(value) is not None for value in values)


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
    for size in range(len(rest), 0, -1):  # "very positive" before "positive"
        for at in range(len(rest) - size + 1):
            name = " ".join(rest[at : at + size])
            if (of := by_name([name], classes)[name]) >= 0:
                return of, rest[:at] + rest[at + size :]
    return -1, rest


def read(frame: pd.DataFrame, of: Predictions) -> Answers:
    """Return the predictions of one model.

    Raises:
        LabelsError, ScaleError: the predicted classes or the numbers can be read in more than one way.
    """
    check_columns(of.columns, list(map(str, frame.columns)), "The file")
    count, gives, remarks, written = len(of.classes), "classes", list[str](), None
    written_class = np.full(len(frame), -1)
    if of.predicted:
        written = assigned(frame[of.predicted], of.classes, of.reading, name=of.predicted, what="Predictions", ordered=of.ordered)
        written_class = written.codes
        remarks += written.sentences
    if of.shares:
        shares, gives = _finite(frame, of.shares), "probabilities"
        is_logits = of.reading.scale == "logit" if of.reading.scale else of.logits
        shares = special.softmax(shares, axis=1) if is_logits else _checked(shares, of.shares)
    elif of.score:
        shares, gives, remark = _scored(_finite(frame, (of.score,))[:, 0], written_class, of)
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
    return Answers(answered, written_class if of.predicted else likeliest, shares, gives, tuple(remarks), written)


def _as_numbers(column: pd.Series[Any]) -> Floats:
    """Return a column as numbers (n,), NaN for anything else. In a column with percent signs, 93.1% is 0.931."""
    texts = column.astype("string").str.strip()
    signed = texts.str.endswith("%").fillna(False).to_numpy(bool)
    values = texts.str.removesuffix("%").where(signed) if signed.any() else column
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    return np.asarray(numbers / 100 if signed.any() else numbers, dtype=np.float64)


def _finite(frame: pd.DataFrame, columns: Sequence[str]) -> Floats:
    """Return columns as numbers (n, k); NaN for anything else, also for infinity."""
    numbers = np.stack([_as_numbers(frame[column]) for column in columns], axis=1)
    return np.where(np.isfinite(numbers), numbers, np.nan)


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
        raise ScaleError(
            f"{_list(columns)} are not probabilities: in {n:,} row{'s' * (n != 1)} they are negative or do not sum to 1, first in row"
            f" {row + 1} ({values}).",
            "If they are logits, say --scale logit.",
        )
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float64)


def _scored(values: Floats, written_class: npt.NDArray[np.int64], of: Predictions) -> tuple[Floats, str, str]:
    """Return the probabilities that one number of two classes gives, what it is, and a remark that says so.

    The predicted classes, if the file has them, decide whose number it is: they rise with it, fall with it, or are certain with it.

    Raises:
        ScaleError: the values, the name and the predicted classes do not decide. LabelsError: the class of the number is unknown.
    """
    known, words = np.isfinite(values), set(_words(of.score))
    scale = of.reading.scale or (_scale_of(values[known], of.score, words) if known.any() else "probability")
    numbers = values / 100 if scale == "percent" and known.any() else values
    if scale in ("logit", "sign"):
        numbers = special.expit(values)
    elif known.any() and (numbers[known].min() < 0 or numbers[known].max() > 1):
        raise ScaleError(f"The column “{of.score}” has numbers from {_range(values[known])}, which are no {scale}.", "Say another --scale.")
    both = known & (written_class >= 0)
    sure = both.any() and scale in ("probability", "percent") and numbers[both].min() >= 0.5 and (written_class[both] == 0).any()
    sentence = f"The column “{of.score}” is read {'in percent ' * (scale == 'percent')}as"
    if scale == "confidence" or (sure and not of.reading.scale):
        if not of.predicted:
            raise ScaleError(f"{sentence} the confidence of the predicted class, but no column has this class. Say --scale probability.")
        second = np.where(written_class == 1, numbers, 1 - numbers)
        return np.stack([1 - second, second], axis=1), "probabilities", f"{sentence} the confidence of the predicted class."
    rising = _rises(numbers[both], written_class[both] == 1)
    score_of = of.score_of if of.score_of >= 0 else 1
    if rising is not None and 0.02 < rising < 0.98 and not of.reading.scale:
        raise ScaleError(
            f"The numbers in “{of.score}” neither rise nor fall with the classes in “{of.predicted}”, so they are not the probability of a"
            " class.",
            "Say what they are with --scale probability, logit or confidence, or remove one of the columns.",
        )
    if rising is not None and of.score_of < 0:
        score_of = int(rising >= 0.5)
    elif of.score_of < 0 and not of.ordered:
        raise LabelsError(
            f"The numbers in “{of.score}” are those of {of.classes[0]} or of {of.classes[1]}: their order is not known.",
            f"Name the class of the numbers last: --classes {','.join(of.classes)} or --classes {','.join(of.classes[::-1])}.",
        )
    named_sure = words & CONFIDENCE or (
        words & {"score", "scores"} and scale == "probability" and known.any() and numbers[known].min() >= 0.5
    )
    if not of.predicted and named_sure and not of.reading.scale:
        raise ScaleError(
            f"“{of.score}” seems to be the confidence of a class that no column of predictions has.",
            f"If it is the probability of {of.display[score_of]}, say --scale probability.",
        )
    second, named = numbers if score_of else 1 - numbers, of.display[score_of]
    meaning = {"sign": f"a score whose sign decides: “{named}” above 0", "logit": f"the logit of “{named}”"}
    gives = "scores" if scale == "sign" else "probabilities"
    return np.stack([1 - second, second], axis=1), gives, f"{sentence} {meaning.get(scale, f'the probability of “{named}”')}."


def _scale_of(values: Floats, name: str, words: set[str]) -> str:
    """Return the scale of one column of numbers, which its name and its range must agree on; "sign" for scores on both sides of 0.

    Raises:
        ScaleError: they do not.
    """
    low, high = float(values.min()), float(values.max())
    if words & LOGIT:
        return "logit"
    if low >= 0 and high <= 1 and not words & PERCENT:
        return "probability"
    if low >= 0 and high <= 100 and words & (PERCENT | SHARE - {"score", "scores"}) and np.median(values) > 1:
        return "percent"
    if low < 0 < high and words & {"score", "scores"}:
        return "sign"
    raise ScaleError(
        f"The column “{name}” has numbers from {_range(values)}: whether they are percentages, logits or probabilities is not known.",
        "Say it with --scale percent, --scale logit or --scale probability (scale=... in Python).",
    )


def _range(values: Floats) -> str:
    return f"{values.min():.4g} to {values.max():.4g}"


def _rises(numbers: Floats, is_second: npt.NDArray[np.bool_]) -> float | None:
    """Return the share of pairs of rows in which the row of the second class has the larger number; None without rows of both."""
    first, second = np.sort(numbers[~is_second]), numbers[is_second]
    if not len(first) or not len(second):
        return None
    below = (np.searchsorted(first, second, "left") + np.searchsorted(first, second, "right")) / 2
    return float(below.mean() / len(first))


def _list(columns: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(f"“{name}”" for name in columns[:-1]), f"“{columns[-1]}”")))
