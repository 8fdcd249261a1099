"""Claims of a paper: a statement in our words, its reference, the test that decides it, and the finding of that test.

Error levels: p from an interval, the false discovery rate over a board, and equivalence within a margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from itertools import chain
from statistics import NormalDist
from typing import Any, Literal, TypeVar, get_args

from sentviz.analysis.evaluation import not_learned, not_learned_in_words
from sentviz.errors import InputError, SentvizError
from sentviz.io.numbers import p_value
from sentviz.runs.presets import without_training
from sentviz.runs.store import Run

LEVEL = 0.05
_NORMAL = NormalDist()
# Codes, strictest first; a part that cannot be judged hides no other part (`strictest_finding`).
# "open": the test was made and decides nothing. "unjudged": runs, seeds or a measurement are missing.
Verdict = Literal["fails", "open", "holds", "unjudged"]
VERDICT_WORDS: dict[Verdict, str] = {
    "holds": "holds",
    "fails": "does not hold",
    "open": "cannot be told",
    "unjudged": "cannot be judged here",
}
Kind = Literal["printed", "counted", "tested", "theorem"]
KINDS: dict[Kind, str] = {  # words for what a verdict of each kind rests on
    "printed": "arithmetic on printed numbers, without a test",
    "counted": "counted or measured, without an error level",
    "tested": "a test or an interval that decides with 5 % risk",
    "theorem": "a proof or random cases",
}
Reference = Literal["its own tables", "simulated runs", "data sets", "runs here"]
HOW: dict[Reference, str] = {  # description of a test that has no description of its own
    "its own tables": "computed from the numbers that the paper reports",
    "simulated runs": "computed from random cases; no run is needed",
    "data sets": "counted in the data sets; no run is needed",
    "runs here": "computed from the installed runs",
}


def _error(low: float, high: float, coverage: float) -> float:
    """Return the standard error behind a normal interval."""
    return (high - low) / (2 * _NORMAL.inv_cdf((1 + coverage) / 2))


def p_of_interval(value: float, low: float, high: float, null: float, *, coverage: float = 0.95) -> float:
    """Return the two-sided p of a value against `null`, from its interval by the normal approximation.

    Half of the interval is taken as a normal quantile times the standard error. If the interval is from a t distribution with few degrees
    of freedom, or is not symmetric, this p is an approximation; a test that knows its p should state it.
    """
    error = _error(low, high, coverage)
    if error <= 0:
        return 1.0 if value == null else 0.0
    return math.erfc(abs(value - null) / error / math.sqrt(2))


def equivalent(low: float, high: float, margin: float) -> bool | None:
    """Return whether a difference is smaller than a margin, by two one-sided tests; None if its interval does not decide.

    True if the 95 % interval lies inside (-margin, +margin), which is stricter than the usual 90 % interval: each one-sided test has a
    level of 2.5 %. False if the interval lies beyond one end of the margin.
    """
    if margin <= 0:
        raise InputError("A margin must be larger than 0.")
    if -margin < low and high < margin:
        return True
    return False if low >= margin or high <= -margin else None


def p_of_margin(value: float, low: float, high: float, margin: float, *, coverage: float = 0.95) -> float:
    """Return the p behind `equivalent`, from the interval by the normal approximation.

    For a value inside the margin it is the larger p of the two one-sided tests, for one outside the p of the test that it is inside.
    """
    error = _error(low, high, coverage)
    room = abs(margin - abs(value))
    if error <= 0:
        return 0.0 if room else 1.0
    return _NORMAL.cdf(-room / error)


def false_discovery(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values adjusted by Benjamini and Hochberg (1995), in the same order.

    If all claims with an adjusted value of at most 5 % are believed, 5 % of them are expected to be wrong.
    """
    if wrong := [name for name, p in p_values.items() if not 0 <= p <= 1]:
        raise InputError(f"A p-value must be from 0 to 1. Outside this range: {', '.join(wrong)}.")
    adjusted, least, number = dict(p_values), 1.0, len(p_values)
    for rank, name in sorted(enumerate(sorted(p_values, key=p_values.__getitem__), start=1), reverse=True):
        least = adjusted[name] = min(least, p_values[name] * number / rank)
    return adjusted


@dataclass(frozen=True)
class Effect:
    """The number behind a verdict, with its 95 % interval if it has one, and the value that it is compared with."""

    value: float
    low: float | None = None
    high: float | None = None
    unit: str = "points"  # printed after the value, for example "points" or "%"
    null: float = 0.0  # value that the effect is compared with, in the same unit
    of: str = ""  # description of the number

    @classmethod
    def from_share_difference(cls, value: float, low: float, high: float, of: str = "") -> Effect:
        """Build an effect from a difference of two shares (0 to 1); value and interval are converted to percentage points."""
        return cls(100 * value, 100 * low, 100 * high, of=of)

    @classmethod
    def from_comparison(cls, row: Mapping[Any, Any], of: str = "") -> Effect:
        """Build an effect from a row with `difference`, `low` and `high` as shares (0 to 1)."""
        return cls.from_share_difference(float(row["difference"]), float(row["low"]), float(row["high"]), of)

    @classmethod
    def from_share(cls, value: float, low: float, high: float, null: float, of: str = "") -> Effect:
        """Build an effect from a share (0 to 1) that is compared with the share `null`; all are converted to percent."""
        return cls(100 * value, 100 * low, 100 * high, "%", 100 * null, of)


@dataclass(frozen=True)
class Finding:
    """The verdict of a test and its evidence; for a claim that was tested on several kinds of rows, also the finding on each kind."""

    verdict: Verdict
    evidence: str
    parts: tuple[tuple[str, Finding], ...] = ()  # description of the rows, and the finding on them
    effect: Effect | None = None
    p: float | None = None  # p of the test that decides, after its own corrections; None if it has none, or only an interval

    def __post_init__(self) -> None:
        if self.verdict not in VERDICT_WORDS:
            raise InputError(f"Unknown verdict {self.verdict!r}. Use one of {', '.join(VERDICT_WORDS)}.")

    @property
    def level(self) -> float | None:
        """The p of a decided finding: `p`, or one from the interval of its effect (`p_of_interval`); None if it has neither."""
        if self.verdict not in ("holds", "fails"):
            return None
        if self.p is not None or self.effect is None or self.effect.low is None or self.effect.high is None:
            return self.p
        return p_of_interval(self.effect.value, self.effect.low, self.effect.high, self.effect.null)

    def noting(self, remark: str) -> Finding:
        """Return the finding with a remark at the end of its evidence, and of that on the last kind of rows, unless it is there."""
        if not remark or remark in self.evidence:
            return self
        *parts, last = self.parts or (("", self),)
        return replace(
            self,
            evidence=f"{self.evidence}; {remark}",
            parts=(*parts, (last[0], last[1].noting(remark))) if self.parts else (),
        )

    def doubted(self, *verdicts: Verdict) -> Finding:
        """Return the finding; open instead of one of these verdicts, also on each kind of rows."""
        parts = tuple((rows, part.doubted(*verdicts)) for rows, part in self.parts)
        return replace(self, verdict="open" if self.verdict in verdicts else self.verdict, parts=parts)


Test = Callable[[Sequence[Run]], Finding]
Judge = TypeVar("Judge", bound=Callable[..., Finding])


def decide(holds: bool, fails: bool) -> Verdict:
    """Return "fails" if `fails`, else "holds" if `holds`; "open" if neither is true."""
    return "fails" if fails else "holds" if holds else "open"


def tried(test: Callable[[], Finding]) -> Finding:
    """Return the finding of a test; "unjudged" with the reason if something that it needs is missing or damaged."""
    try:
        return test()
    except SentvizError as error:
        return not_testable(str(error))


def settled(holds: object, evidence: str, effect: Effect | None = None) -> Finding:
    """Return the finding of a test that always decides: "holds" or "fails"; `holds` is a truth value, also one of numpy."""
    return Finding("holds" if holds else "fails", evidence, effect=effect)


def not_testable(missing: str, effect: Effect | None = None) -> Finding:
    """Return the finding of a test that lacks runs, seeds, a measurement or a reported number; `missing` says which."""
    return Finding("unjudged", missing, effect=effect)


def strictest_finding(parts: Mapping[str, Finding]) -> Finding:
    """Combine the findings of one claim on several parts: kinds of rows, encoders, tokenizers, phases.

    It holds if it holds on every part that can be judged, it does not hold if it fails on one, and it is open otherwise; it cannot be
    judged only if no part can. The effect is that of the first part with the verdict. The p of a claim that holds is the largest of its
    parts; of a claim that fails, the smallest times the number of judged parts (Bonferroni).
    """
    first = min(parts.values(), key=lambda finding: get_args(Verdict).index(finding.verdict))
    judged = sum(part.verdict != "unjudged" for part in parts.values())
    levels = [part.level for part in parts.values() if part.verdict == first.verdict]
    known = [level for level in levels if level is not None]
    p = None
    if known and len(known) == len(levels):
        p = max(known) if first.verdict == "holds" else min(1.0, judged * min(known))
    evidence = "; ".join(f"on {rows} it {VERDICT_WORDS[part.verdict]}: {part.evidence}" for rows, part in parts.items())
    return Finding(first.verdict, evidence, tuple(parts.items()), first.effect, p)


def judge_on_learned(test: Test, data: Sequence[str], runs: Sequence[Run]) -> Finding:
    """Make a test, and leave its claim open if its finding rests on runs on these data sets that did not learn.

    A finding rests on runs if it is another one without them. If a model learned at another learning rate or with more epochs, its runs
    that did not learn are part of the search for a training, and no finding rests on them.
    """
    finding, on_data = test(runs), [run for run in runs if run.config["data"]["name"] in data]
    failed = not_learned(on_data)
    models = {run.name: (run.config["data"]["name"], without_training(run.configuration)) for run in on_data}
    learned = {(models[run.name], run.configuration) for run in on_data if run.name not in failed}
    configurations: dict[str, list[Run]] = {}
    for run in (run for run in on_data if run.name in failed):
        if not any(model == models[run.name] and name != run.configuration for model, name in learned):
            configurations.setdefault(f"{models[run.name]}{run.configuration}", []).append(run)

    def without(left_out: Sequence[Run]) -> Finding:
        return test([run for run in runs if run not in left_out])

    every = [run for seeds in configurations.values() for run in seeds]
    behind = [run for seeds in configurations.values() if _differs(finding, without(seeds)) for run in seeds] or every
    return _left_open(finding, without(behind), not_learned_in_words(behind)) if behind else finding


def _differs(finding: Finding, without: Finding) -> bool:
    """Return whether another verdict was found, or another number if the verdict does not settle the claim."""
    if finding.verdict != without.verdict or finding.verdict in ("holds", "fails"):
        return finding.verdict != without.verdict
    return (finding.effect and finding.effect.value) != (without.effect and without.effect.value)


def _left_open(finding: Finding, without: Finding, why: str) -> Finding:
    """Return the finding; open for the reason `why` if it differs from the finding without some runs; so for each kind of rows."""
    by_rows = dict(without.parts)
    parts = tuple((rows, _left_open(part, by_rows.get(rows, without), why)) for rows, part in finding.parts)
    if not _differs(finding, without):
        return replace(finding, parts=parts)
    return Finding("open", f"{why}; {finding.evidence}", parts, finding.effect)


def over_board(findings: Mapping[str, tuple[Kind, Finding]]) -> dict[str, float]:
    """Return the adjusted p of each decided tested claim of a paper, by its key: the false discovery rate over the paper's board.

    Benjamini and Hochberg's correction covers all claims that were tested. An open claim counts with a p of 1, and so does a decided claim
    without any p.
    """
    levels = {key: finding.level for key, (kind, finding) in findings.items() if kind == "tested" and finding.verdict != "unjudged"}
    adjusted = false_discovery({key: 1.0 if level is None else level for key, level in levels.items()})
    return {key: p for key, p in adjusted.items() if findings[key][1].verdict in ("holds", "fails")}


def level_in_words(p: float, adjusted: float) -> str:
    """Return the level of a decided tested claim with the false discovery rate beside it; "" for another claim, whose numbers are NaN."""
    if math.isnan(adjusted):
        return ""
    mark = "" if adjusted <= LEVEL else ": not significant over the paper's board"
    own = "no p" if math.isnan(p) else p_value(p)
    return f"{own}, {p_value(adjusted, 'after Benjamini and Hochberg')}{mark}"


def decided_in_words(verdicts: Iterable[str], kinds: Iterable[str]) -> str:
    """Return how many claims of each kind are decided, for example "3 decided: 2 printed, 1 tested (5 % risk each)"."""
    decided = [kind for verdict, kind in zip(verdicts, kinds, strict=True) if verdict in ("holds", "fails")]
    counts = ", ".join(f"{decided.count(kind)} {kind}{' (5 % risk each)' * (kind == 'tested')}" for kind in KINDS if kind in decided)
    return f"{len(decided)} decided{f': {counts}' if counts else ''}"


@dataclass(frozen=True)
class Answer:
    """A question, its answer with the numbers behind it, and the part of the paper's page that shows them."""

    question: str
    verdict: Verdict
    short: str
    numbers: str
    part: str

    @property
    def sentence(self) -> str:
        """Question, answer and numbers on one line."""
        return " ".join(filter(None, (f"{self.question} {self.short}.", self.numbers)))


@dataclass(frozen=True)
class Claim:
    """A statement in our words, its place in the paper, its reference, its kind, and its test."""

    id: str  # unique within the paper, unchanged if the statement is reworded: links and stored verdicts rest on it
    statement: str
    where: str
    against: Reference  # source that the test reads
    kind: Kind  # one of `KINDS`
    test: Test
    short: str = ""  # words of its row on the board, shared by claims on several data sets; default: the statement
    on: str = ""  # column of the board: the data set as the paper calls it; empty for a claim on no data set, or on several
    data: tuple[str, ...] = ()  # data sets whose runs of the paper's studies the test may read
    how: str = ""  # description of the test, printed after "Test:"; default: `HOW[against]`
    shows: str = ""  # name of the section of the paper's page that shows it
    figure: str = ""  # registered figure of a study that shows it

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            stated = f"the kind {self.kind!r}" if self.kind else "no kind"
            raise InputError(f"The claim {self.statement!r} has {stated}. Use one of {', '.join(KINDS)}.")

    @property
    def row(self) -> str:
        """Words of its row on the board."""
        return self.short or self.statement

    def key(self, paper: str) -> str:
        """Return the name of the claim in links and stored verdicts, unique within all papers."""
        return f"{paper}-{self.id}"


class Board:
    """The claims of a paper, in the order of their tests. A decorator above each test says what it decides.

    A test names what it needs: `dataset`, `runs`, both or neither. A test below several decorators serves several claims, from top to
    bottom. Claims with the same `short`, `against` and `kind` are drawn as one row.
    """

    def __init__(self, titles: Mapping[str, str], names: Mapping[str, str] | None = None) -> None:
        """Take the names of the data sets above the columns, and names of data sets in statements if those differ."""
        self._titles, self._names = titles, {**titles, **(names or {})}
        self._by_test: dict[Callable[..., Finding], list[Claim]] = {}

    def __iter__(self) -> Iterator[Claim]:
        """Yield the claims in order."""
        return chain.from_iterable(self._by_test.values())

    def claim(
        self,
        ids: str | Mapping[str, str],
        statement: str,
        short: str = "",
        *,
        where: str | Mapping[str, str],
        against: Reference,
        kind: Kind,
        section: str = "",
        figure: str = "",
        how: str = "",
        reads: Iterable[str] = (),
        **settings: Any,
    ) -> Callable[[Judge], Judge]:
        """Register a claim on one or several data sets, with the test below the decorator.

        Args:
            ids: the id of the claim on each data set, or one id of a claim on no data set, or on several.
            statement: in our words; "{}" stands for the data set, "{name}" for an argument of the test.
            short: words of its row on the board; default: the statement without "on {}".
            where: place in the paper, or the place of the claim on each data set.
            reads: data sets whose runs the test may read, besides the claim's own.
            settings: further arguments of the test. The other arguments are the fields of `Claim`.
        """

        def register(test: Judge) -> Judge:
            needs, bare = signature(test).parameters, statement.replace(" on {}", "").removeprefix("On {} ")
            if unknown := settings.keys() - needs:
                raise InputError(f"The test of {statement!r} has no argument {', '.join(sorted(unknown))}.")
            claims = []
            for dataset, name in ({"": ids} if isinstance(ids, str) else ids).items():
                title, data = self._titles.get(dataset, ""), tuple(dict.fromkeys(filter(None, (dataset, *reads))))
                own = partial(test, **settings, **{"dataset": dataset} if "dataset" in needs else {})
                on_runs: Test = partial(_on, own, "runs" in needs)
                on_runs = partial(judge_on_learned, on_runs, data) if against == "runs here" else on_runs
                words = statement.format(self._names.get(dataset, ""), **settings)
                row = (short or bare[:1].upper() + bare[1:]).format(title, **settings)
                place = where if isinstance(where, str) else where[dataset]
                claims.append(Claim(name, words, place, against, kind, on_runs, row, title, data, how, section, figure))
            self._by_test[test] = [*claims, *self._by_test.get(test, ())]  # the lowest decorator comes first
            return test

        return register


def _on(test: Callable[..., Finding], reads_runs: bool, runs: Sequence[Run]) -> Finding:
    return tried(partial(test, runs=runs) if reads_runs else test)
