"""Compare two to six sources of predictions on the same rows: which is right more often, by how much, and how certain that is.

A source is a run, a black box or a column of predictions. Runs that differ only in their seed are trainings of one candidate.

Of two candidates with one training each, McNemar's exact test decides, and the interval is a paired bootstrap over the rows. If any has
several trainings, both come from `sentviz.analysis.seeds`: they cover other rows and other trainings. With m pairs of candidates, each p is
multiplied by m and each interval has the level 1 - 0.05 / m (Bonferroni), so that all intervals hold together in 95 of 100 cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np

from sentviz.analysis.evaluation import confusion, from_confusion, not_learned_sentence, wilson
from sentviz.analysis.seeds import SPREAD_IN_WORDS, Bools, SeedNoise, compare_correctness, half_width, pooled_noise, standard_error
from sentviz.analysis.testset.operating import agreement, expected_error
from sentviz.analysis.testset.rows import OVER, Rows, unread
from sentviz.data.labels import LabelsError, Reading, check_complete
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import in_points, number
from sentviz.runs.catalog import same_configuration

MOST = 6  # candidates
LEVEL = 0.05
RESAMPLES = 20_000  # 0.17 % of the draws lie below the lowest limit, that of fifteen pairs


@dataclass(frozen=True, eq=False)
class Candidate:
    """A source of predictions with the rows of each of its trainings, in one order; several only for seeds of one configuration."""

    trainings: tuple[Rows, ...]

    @property
    def rows(self) -> Rows:
        """The rows of the first training."""
        return self.trainings[0]

    @property
    def name(self) -> str:
        """Name of the source, of several trainings that of the first."""
        return self.rows.source.name

    @property
    def title(self) -> str:
        """Name, and the number of trainings if there are several."""
        return self.name if len(self.trainings) == 1 else f"{self.name} ({len(self.trainings)} seeds)"

    @property
    def trained(self) -> bool:
        """True for runs, which chance in training could have made differently; a black box or a column is one finished model."""
        return self.rows.source.run is not None

    @cached_property
    def right(self) -> Bools:
        """(n, S) whether each training predicts each row correctly."""
        return np.stack([rows.frame["right"].to_numpy(bool) for rows in self.trainings], axis=1)

    @property
    def accuracy(self) -> float:
        """Mean over the trainings, 0 to 1."""
        return float(self.right.mean())

    def interval(self, noise: SeedNoise | None) -> tuple[float, float]:
        """Return the 95 % interval of the accuracy: with `noise` a t interval for other rows and trainings, else Wilson's for rows."""
        n, seeds = self.right.shape
        if noise is None or not self.trained:
            low, high = wilson(int(self.right[:, 0].sum()), n)
            return float(low), float(high)
        half = half_width(*standard_error(float(self.right.mean(axis=1).var(ddof=1)) / n, (noise, 1 / seeds)))
        return max(0.0, self.accuracy - half), min(1.0, self.accuracy + half)

    def mean(self, statistic: Any) -> float:
        """Return the mean over the trainings of a function of `Rows`."""
        return float(np.mean([statistic(rows) for rows in self.trainings]))


@dataclass(frozen=True)
class Pair:
    """Two candidates on the same rows. Accuracies are shares (0 to 1); p and the interval are corrected for all pairs of the comparison."""

    first: str
    second: str
    difference: float  # accuracy of the first minus that of the second
    low: float
    high: float
    p: float
    test: Literal["McNemar", "over seeds"]
    only_first: int  # rows that only the first training of the first candidate predicts correctly
    only_second: int
    unequal: bool = False  # the trainings' spreads differ, so a pooled spread decides nothing

    @property
    def better(self) -> str:
        """Name of the better candidate; "" if it cannot be told."""
        if self.unequal or self.p > LEVEL or self.low <= 0 <= self.high:
            return ""
        return self.first if self.difference > 0 else self.second

    def seen_from(self, name: str) -> tuple[float, float, float]:
        """Return difference, low and high as the accuracy of this candidate minus that of the other one."""
        return (self.difference, self.low, self.high) if name == self.first else (-self.difference, -self.high, -self.low)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two to six candidates on their common labelled rows, with a verdict.

    Attributes:
        candidates: in the order in which they were given.
        pairs: each two candidates.
        noise: chance in training, pooled over the candidates with several trainings; None if there is none.
        left_out: labelled rows that at least one source did not predict.
        unlabelled: rows without a label.
        speeds: rows per second by name of a candidate, from `sentviz.analysis.testset.compare`; empty if not measured.
    """

    candidates: tuple[Candidate, ...]
    pairs: tuple[Pair, ...]
    noise: SeedNoise | None
    left_out: int = 0
    unlabelled: int = 0
    speeds: Mapping[str, float] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Number of rows of the file, also those that are left out; 0 if the rows are not those of a file."""
        return max(rows.total for each in self.candidates for rows in each.trainings)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.first)

    @property
    def first(self) -> Rows:
        """Rows of the first candidate."""
        return self.candidates[0].rows

    @property
    def ranked(self) -> list[Candidate]:
        """The candidates, the highest accuracy first."""
        return sorted(self.candidates, key=lambda each: -each.accuracy)

    @property
    def best(self) -> Candidate:
        """The candidate with the highest accuracy, of equal ones the first."""
        return self.ranked[0]

    def pair(self, a: Candidate, b: Candidate) -> Pair:
        """Return the pair of two candidates."""
        return next(pair for pair in self.pairs if {pair.first, pair.second} == {a.name, b.name})

    @property
    def decided(self) -> bool:
        """True if the best candidate is better than every other one."""
        return all(self.pair(self.best, second).better for second in self.ranked[1:])

    @property
    def headline(self) -> str:
        """The verdict in one or two sentences without numbers of tests."""
        best, *rest = self.ranked
        beaten = [second for second in rest if self.pair(best, second).better]
        level = [second for second in rest if second not in beaten]
        nearest = self.pair(best, rest[0]).seen_from(best.name)
        if not level:
            over = rest[0].name if len(rest) == 1 else f"each of the other {len(rest)}"
            lead = "by" if len(rest) == 1 else f"its smallest lead, over {rest[0].name}, is"
            points = in_points(nearest[0], nearest[1:], write=number)
            return f"{best.name} is better than {over}{':' if len(rest) > 1 else ''} {lead} {points}."
        gaps = [self.pair(best, second).seen_from(best.name) for second in level]
        if not any(any(gap) for gap in gaps) and not beaten:
            return f"{_listed([best, *level])} are right on the same rows."
        most = max(max(abs(low), abs(high)) for _, low, high in gaps)
        if len(rest) == 1:
            return (
                f"It cannot be told which is better: {best.name} minus {rest[0].name} is {in_points(gaps[0][0], gaps[0][1:])}."
                f" A difference of more than {100 * most:.2f} points is unlikely."
            )
        better = f" It is better than {_listed(beaten)}." if beaten else ""
        return f"{best.name} is right most often, but it cannot be told whether it is better than {_listed(level)}.{better}"

    @property
    def method(self) -> str:
        """Description of the test, in sentences."""
        pairs = len(self.pairs)
        names = sum(len(each.trainings) > 1 for each in self.candidates)
        if self.noise is not None:
            how = (
                "Intervals and p cover other rows and other trainings: a t test on the mean of the seeds, with"
                f" {SPREAD_IN_WORDS}. The pool has {names} candidate{'s' * (names > 1)} ({self.noise.freedom} degrees of freedom)."
            )
            if singles := [each for each in self.candidates if each.trained and len(each.trainings) == 1]:
                how += f" {_listed(singles)} {'has' if len(singles) == 1 else 'have'} one seed and {'is' if len(singles) == 1 else 'are'}"
                how += " assumed to vary as much."
            if fixed := [each for each in self.candidates if not each.trained]:
                how += f" {_listed(fixed)} {'is' if len(fixed) == 1 else 'are'} taken as finished, without other trainings."
        else:
            how = (
                "McNemar's exact test on the rows that only one of two predicts correctly; intervals are paired bootstraps over the rows."
                " Each is one trained model: other seeds may order them differently."
            )
        of = f" of {self.total:,}" if self.total > self.n else ""
        rows = f"All predict the same {self.n:,}{of} rows ({rows_in_words(self.first)})."
        corrected = f" All {pairs} pairs hold together at 95 % (Bonferroni)." if pairs > 1 else ""
        return f"{rows} {how}{corrected}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences on how files were read, and on what limits the comparison, such as candidates that did not learn, and missing rows."""
        notes = list(dict.fromkeys(remark for each in self.candidates for rows in each.trainings for remark in rows.remarks))
        for each in self.candidates:
            predicted = np.unique(np.concatenate([rows.predicted for rows in each.trainings]))
            if len(predicted) == 1:
                name = self.first.classes[predicted[0]]
                notes.append(f"{each.name} predicts “{name}” for every row, so its accuracy is the share of that class.")
        runs = [rows.source.run for each in self.candidates for rows in each.trainings if rows.source.run is not None]
        notes += filter(None, [not_learned_sentence(runs)])
        notes += [
            f"The interval of {pair.first} and {pair.second} just excludes 0, but it is approximate; the exact test decides (p ="
            f" {pair.p:.3f})."
            for pair in self.pairs
            if pair.test == "McNemar" and pair.low * pair.high > 0 and not pair.better
        ]
        if self.left_out:
            reasons = " ".join(unread(each.rows) for each in self.candidates if each.rows.unread)
            notes.append(f"{self.left_out:,} rows are left out, because not every source predicts them. {reasons}".strip())
        if self.unlabelled:
            notes.append(f"{self.unlabelled:,} rows without a label are left out.")
        return tuple(notes)

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return a row per candidate, the highest accuracy first.

        Columns: source, seeds, accuracy, low, high; behind (accuracy minus that of the best), behind_low, behind_high, p (both corrected;
        NaN for the best); f1 (macro mean); error (expected calibration error), confidence (mean); parameters, minutes (of one training),
        hardware, speed (rows per second); "" or NaN if unknown. Shares are from 0 to 1; of several trainings, means.
        """
        return pd.DataFrame([self._numbers(each) for each in self.ranked])

    def _numbers(self, each: Candidate) -> dict[str, Any]:
        low, high = each.interval(self.noise)
        row = {"source": each.name, "seeds": len(each.trainings), "accuracy": each.accuracy, "low": low, "high": high}
        behind = (np.nan,) * 4
        if each is not self.best:
            pair = self.pair(self.best, each)
            behind = (*pair.seen_from(each.name), pair.p)
        row |= dict(zip(("behind", "behind_low", "behind_high", "p"), behind, strict=True))
        sure = each.rows.source.gives == "probabilities"
        row["f1"] = each.mean(_macro_f1)
        row["error"] = each.mean(lambda rows: expected_error(rows.labels, rows.probabilities)) if sure else np.nan
        row["confidence"] = each.mean(lambda rows: rows.frame["confidence"].mean()) if sure else np.nan
        return row | _cost(each.rows) | {"speed": self.speeds.get(each.name, np.nan)}

    def trainings(self) -> pd.DataFrame:
        """Return the accuracy of each training of candidates with several: source, seed, accuracy (0 to 1)."""
        rows = [
            (each.name, rows.source.seed, float(each.right[:, k].mean()))
            for each in self.candidates
            for k, rows in enumerate(each.trainings)
            if len(each.trainings) > 1
        ]
        return pd.DataFrame(rows, columns=["source", "seed", "accuracy"])

    def by_class(self) -> pd.DataFrame:
        """Return the recall of each class and candidate: class, n (rows with the label), source, recall (0 to 1), low, high (Wilson's)."""
        rows = []
        for k, name in enumerate(self.first.classes):
            has = self.first.labels == k
            for each in self.candidates:
                if n := int(has.sum()):
                    recall = each.right[has].mean()
                    low, high = map(float, wilson(n * recall, n))
                    rows.append({"class": name, "n": n, "source": each.name, "recall": recall, "low": low, "high": high})
        return pd.DataFrame(rows)

    def parts(self) -> dict[str, Bools]:
        """Return groups of rows by who is right, (n,) each, by their names in links; of candidates with seeds, the first training counts.

        differ (predictions differ), right (all are right), wrong (none is); right.i (only candidate i is, counted from 1) and, of three
        or more candidates, wrong.i (only i is wrong).
        """
        right = np.stack([each.right[:, 0] for each in self.candidates], axis=1)
        predicted = np.stack([each.rows.predicted for each in self.candidates], axis=1)
        count, several = right.sum(axis=1), len(self.candidates)
        groups = {"differ": (predicted != predicted[:, :1]).any(axis=1), "right": count == several, "wrong": count == 0}
        groups |= {f"right.{i + 1}": right[:, i] & (count == 1) for i in range(several)}
        if several > 2:
            groups |= {f"wrong.{i + 1}": ~right[:, i] & (count == several - 1) for i in range(several)}
        return groups

    def part_in_words(self, name: str) -> str:
        """Return a key of `parts` in words."""
        what, _, place = name.partition(".")
        if place:
            return f"only {self.candidates[int(place) - 1].name} is {what}"
        quantity = "both are" if len(self.candidates) == 2 else "all are"
        return "the predictions differ" if what == "differ" else f"{quantity} {what}"

    def spread(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return how far the probabilities of each row differ, (n,): the largest difference of any class between two candidates, 0 to 1."""
        shares = np.stack([each.rows.probabilities for each in self.candidates])
        return np.asarray((shares.max(axis=0) - shares.min(axis=0)).max(axis=1))


def compare_rows(sources: Sequence[Rows], *, together: bool = True, partial: bool = False) -> Comparison:
    """Compare sources on the labelled rows that all of them predict.

    Args:
        sources: predictions of each source; the rows may be in any order. Other names of the same classes are those of the first source.
        together: whether runs that differ only in their seed are one candidate.
        partial: whether more than 2 % of the rows of a file may be left out.
    Raises:
        LeftOutError: more than 2 % of the rows of a file have no label, or are not predicted by each source.
    """
    sources = _same_classes(sources)
    _check(sources)
    common, left_out, unlabelled = _common(sources)
    groups: list[list[Rows]] = []
    for rows in common:
        own = next((group for group in groups if together and all(_are_seeds(rows, member) for member in group)), None)
        if own is None:
            groups.append(own := [])
        own.append(rows)
    if not 2 <= len(groups) <= MOST:
        single = f"{_listed(common)} are seeds of one configuration; compare them as single runs." if len(groups) < 2 else ""
        raise InputError(single or f"A comparison takes two to {MOST} sources, not {len(groups)}.")
    candidates = tuple(Candidate(tuple(group)) for group in groups)
    several = [each.right for each in candidates if len(each.trainings) > 1]
    noise = pooled_noise(several) if len(common[0]) > 1 else None  # one row has no variance
    count = len(candidates) * (len(candidates) - 1) // 2
    pairs = tuple(_pair(a, b, noise, count) for a, b in combinations(candidates, 2))
    result = Comparison(candidates, pairs, noise, left_out, unlabelled)
    if not common[0].among:
        check_complete(result.n, result.total, Reading(partial=partial), "the file")
    return result


def _same_classes(sources: Sequence[Rows]) -> Sequence[Rows]:
    """Return sources whose classes have one name and one order, if they are the same classes."""
    try:
        return [rows.with_classes(sources[0].classes) for rows in sources]
    except LabelsError:
        return sources


def _pair(a: Candidate, b: Candidate, noise: SeedNoise | None, count: int) -> Pair:
    """Compare two candidates, corrected for `count` pairs."""
    level = 1 - LEVEL / count
    rows = agreement(a.right[:, 0], b.right[:, 0], resamples=RESAMPLES, level=level)
    counts = rows.only_a, rows.only_b
    if noise is None or not (a.trained or b.trained):
        return Pair(a.name, b.name, rows.difference, rows.low, rows.high, min(1.0, count * rows.p), "McNemar", *counts)
    both = compare_correctness(a.right, b.right, noise, level, fixed=(not a.trained, not b.trained))
    return Pair(a.name, b.name, both.difference, both.low, both.high, min(1.0, count * both.p), "over seeds", *counts, both.unequal)


def _check(sources: Sequence[Rows]) -> None:
    """Raise InputError if there are fewer than two sources, one twice, or their classes differ."""
    if len(sources) < 2:
        raise InputError(f"A comparison takes two to {MOST} sources, not {len(sources)}.")
    for place, rows in enumerate(sources):
        for second in sources[:place]:
            if rows.source.name == second.source.name or (rows.source.digest == second.source.digest and rows.source.run is not None):
                raise InputError(f"{rows.source.name} is given twice; a source cannot be compared with itself.")
            if rows.classes != second.classes:
                raise InputError(
                    f"{second.source.name} predicts {', '.join(second.classes)} and {rows.source.name} {', '.join(rows.classes)}; only"
                    " sources with the same classes can be compared."
                )


def _common(sources: Sequence[Rows]) -> tuple[list[Rows], int, int]:
    """Return the labelled rows that all sources have, in the order of the first; how many rows are left out, and how many have no label."""
    first, *rest = sources
    shared = first.frame["id"].astype(str)
    if not shared.is_unique:
        raise InputError(f"{first.source.name} has predictions for a row twice.")
    every = set(shared)
    for rows in rest:
        every |= set(rows.frame["id"].astype(str))
        same = _place(first) == _place(rows)
        shared = shared[shared.isin(rows.frame["id"].astype(str)) if same else np.zeros(len(shared), bool)]
        if shared.empty:
            raise InputError(
                f"{first.source.name} ({rows_in_words(first)}) and {rows.source.name} ({rows_in_words(rows)}) have no common row. Compare"
                " them on the demo set or on a file."
            )
    ordered = [_in_order(rows, list(shared)) for rows in sources]
    for rows in ordered[1:]:
        for column, what in (("label", "labels"), ("text", "texts")):
            if column in rows.frame and column in ordered[0].frame and (rows.frame[column] != ordered[0].frame[column]).any():
                raise InputError(f"{first.source.name} and {rows.source.name} have different {what} for the same row.")
    labelled = ordered[0].labels >= 0
    if not labelled.any():
        raise InputError("None of the common rows has a label, so no prediction is right or wrong.")
    parts = [replace(rows, frame=rows.frame[labelled].reset_index(drop=True)) for rows in ordered]
    return parts, len(every) - len(shared), int((~labelled).sum())


def _place(rows: Rows) -> tuple[str, str]:
    """Return the origin of rows: only rows of one origin can be the same. A split belongs to a data set, other rows to none."""
    return rows.over, "" if rows.over in ("demo", "mine") else rows.source.data


def rows_in_words(rows: Rows) -> str:
    """Return the origin of rows in words, for example "test split of sst2"."""
    name = OVER.get(rows.over, rows.over)
    name = f"{name} of {rows.source.data}" if _place(rows)[1] and rows.over in OVER else name
    return f"{name}, {rows.described}" if rows.among else name


def _in_order(rows: Rows, ids: Sequence[str]) -> Rows:
    frame = rows.frame.set_index(rows.frame["id"].astype(str))
    if not frame.index.is_unique:
        raise InputError(f"{rows.source.name} has predictions for a row twice.")
    return replace(rows, frame=frame.loc[list(ids)].reset_index(drop=True))


def _are_seeds(a: Rows, b: Rows) -> bool:
    return a.source.run is not None and b.source.run is not None and same_configuration(a.source.run, b.source.run)


def _macro_f1(rows: Rows) -> float:
    counts = confusion(rows.labels, rows.predicted, len(rows.classes))
    return float(from_confusion(counts[None])["f1_macro"][0])


def _cost(rows: Rows) -> dict[str, Any]:
    run = rows.source.run
    if run is None:
        return {"parameters": np.nan, "minutes": np.nan, "hardware": ""}
    return {
        "parameters": run.config["parameters"],
        "minutes": run.config["seconds"] / 60 if run.config["seconds"] else np.nan,
        "hardware": run.config["hardware"],
    }


def _listed(parts: Iterable[Candidate | Rows]) -> str:
    names = [part.source.name if isinstance(part, Rows) else part.name for part in parts]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
