"""The behaviour card: how often a model passes the tests of `sentviz.data.behaviour`, by capability, with baselines.

A model's classes count by their side (`sentviz.data.demo.sides`): the side of a text is that of the predicted class, and a class in the
middle is on neither side. The positive probability is the sum over positive classes plus half of the classes in the middle. Passed is

    minimum functionality   the predicted class is on the side of the label
    invariance              both texts are on the same side
    direction               the positive probability moves at most `TOLERANCE` in the wrong direction (Ribeiro et al. 2020)

For the last two, the same test is made with a random edit of the same size in place of the edit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import wilson
from sentviz.analysis.explain.stored import read_measured, rows_of
from sentviz.analysis.testset.baselines import Judge, lexicon_judge, tfidf_judge
from sentviz.data import behaviour, datasets
from sentviz.data.behaviour import FUNCTIONALITY, LANGUAGES
from sentviz.data.labels import sides
from sentviz.errors import InputError, SentvizError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent
from sentviz.io.spreadsheet import store_csv
from sentviz.runs.calibration import softmax
from sentviz.runs.catalog import language, reads_pairs
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.models.model import Model

Bools = npt.NDArray[np.bool_]
TABLE = "behaviour"  # shipped measurements, in the folder of `sentviz.analysis.explain.stored`
COLUMNS = ["run", "digest", "cases", "capability", "passed", "random"]
TOLERANCE = 0.1  # allowed move of the positive probability in the wrong direction, as in CheckList
LEXICONS = {"en": "VADER", "ko": "KNU lexicon"}
MIXTURES = {"en": "english_balanced", "ko": "korean"}  # training rows of TF-IDF next to models of unknown training data
SEEN = "templates/"  # part of a data set that holds both halves of the templates


@dataclass(frozen=True, eq=False)
class Card:
    """Results of a model or baseline on the cases."""

    name: str
    digest: str  # digest of the run; "" for other models
    cases: pd.DataFrame  # see `sentviz.data.behaviour.cases`
    passed: Bools  # (n,)
    passed_random: Bools  # (n,) with a random edit; False for minimum functionality
    language: str = "en"
    remarks: tuple[str, ...] = field(default=())

    @property
    def capabilities(self) -> list[str]:
        """Names in the order of the card."""
        return list(dict.fromkeys(self.cases["capability"]))

    def frame(self) -> pd.DataFrame:
        """Return the rates by capability.

        Frame:
            capability, kind, n, passed, rate (0 to 1), low, high (Wilson's 95 % interval), random, random_low, random_high (the rate with
            random edits; NaN for minimum functionality).
        """
        rows = []
        for name in self.capabilities:
            mask = (self.cases["capability"] == name).to_numpy()
            kind, n = self.cases["kind"][mask].iloc[0], int(mask.sum())
            rate, by_chance = _rate(int(self.passed[mask].sum()), n), (np.nan,) * 3
            if kind != FUNCTIONALITY:
                by_chance = _rate(int(self.passed_random[mask].sum()), n)
            rows.append((name, kind, n, int(self.passed[mask].sum()), *rate, *by_chance))
        return pd.DataFrame(
            rows, columns=["capability", "kind", "n", "passed", "rate", "low", "high", "random", "random_low", "random_high"]
        )

    def failures(self, capability: str = "") -> pd.DataFrame:
        """Return the cases that the model fails, of one capability or of all, with the columns of the cases."""
        mask = ~self.passed & ((self.cases["capability"] == capability).to_numpy() | (capability == ""))
        return self.cases[mask]

    def stored(self) -> pd.DataFrame:
        """Return the rows of the shipped table, with `COLUMNS`; passed and random are the bits of the cases in hexadecimal digits."""
        rows = []
        for name in self.capabilities:
            mask = (self.cases["capability"] == name).to_numpy()
            bits = [np.packbits(each[mask]).tobytes().hex() for each in (self.passed, self.passed_random)]
            rows.append((self.name, self.digest, behaviour.digest(self.cases), name, bits[0], bits[1].rstrip("0")))
        return pd.DataFrame(rows, columns=COLUMNS)


def _rate(passed: int, n: int) -> tuple[float, float, float]:
    low, high = map(float, wilson(passed, n))
    return passed / n, low, high


# ---- measuring


def why_not_tested(run: Run) -> str:
    """Return the reason why a run cannot be tested, as a sentence; empty if it can."""
    if not run.has_weights:
        return f"{run.name} is stored without weights, so it cannot make predictions."
    if reads_pairs(run):
        return f"{run.name} reads pairs of texts, but the cases of a behaviour card are single texts."
    if why := _why_no_sides(run.name, run.labels):
        return why
    spoken = language(run)
    if spoken not in LANGUAGES:
        return f"{run.name} reads texts in the language {spoken!r}, but there are cases only in {' and '.join(LANGUAGES.values())}."
    return ""


def language_of(run: Run, wanted: str = "") -> str:
    """Return the language of a run's cases."""
    if why := why_not_tested(run):
        raise InputError(why)
    spoken = language(run)
    if wanted and wanted != spoken and run.config["data"]["name"]:
        raise InputError(
            f"{run.name} reads {LANGUAGES[spoken]}, so its predictions for {LANGUAGES.get(wanted, wanted)} cases mean nothing."
            " Leave out the language."
        )
    return wanted or spoken


def measure_behaviour(model: Model, cases: pd.DataFrame, *, spoken: str = "en", digest: str = "", progress: Progress | None = None) -> Card:
    """Run a model on the cases.

    Args:
        model: a run's model or any other that `sentviz.load` returns. spoken: language of the cases. digest: digest of the model's run.
    """
    if model.capabilities.pairs:
        raise InputError(f"{model.name} reads pairs of texts, but the cases of a behaviour card are single texts.")
    if why := _why_no_sides(model.name, model.labels):
        raise InputError(why)
    side, remarks = np.array(sides(model.labels)), list[str]()

    def judge(texts: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        rows, why = model.sift(pd.DataFrame({"text": list(texts)}))
        if why:
            remarks.append(f"{len(why):,} of {len(texts):,} texts cannot be read and count as failed: {next(iter(why.values()))}")
        readable = np.array([row is not None for row in rows])
        shares = np.full((len(rows), len(model.labels)), np.nan)
        if readable.any():
            shares[readable] = softmax(model.forward([row for row in rows if row is not None], progress=progress)[0], model.calibration)
        positive = shares[:, side > 0].sum(axis=1) + shares[:, side == 0].sum(axis=1) / 2
        return np.where(readable, side[np.nan_to_num(shares).argmax(axis=1)], 0), positive

    card = judged(model.name, judge, cases, spoken=spoken, digest=digest)
    if 0 in side:
        middle = ", ".join(label for label, each in zip(model.labels, side, strict=True) if each == 0)
        remarks.append(
            f"Negative classes: {_named(model.labels, side, -1)}. Positive classes: {_named(model.labels, side, 1)}. Predictions of"
            f" {middle} are on neither side, so they fail tests of minimum functionality."
        )
    elif len(model.labels) > 2:
        remarks.append(f"Negative classes: {_named(model.labels, side, -1)}. Positive classes: {_named(model.labels, side, 1)}.")
    return _with_remarks(card, *remarks)


def _why_no_sides(name: str, labels: Sequence[str]) -> str:
    if {-1, 1} <= set(sides(labels)):
        return ""
    return f"{name} has the classes {', '.join(labels)}. Behaviour tests need classes of both sides, such as negative and positive."


def _named(labels: Sequence[str], side: npt.NDArray[np.int64], wanted: int) -> str:
    return ", ".join(label for label, each in zip(labels, side, strict=True) if each == wanted)


def judged(name: str, judge: Judge, cases: pd.DataFrame, *, spoken: str = "en", digest: str = "") -> Card:
    """Return the card of anything that judges texts; each text is judged once."""
    columns = [cases[column].tolist() for column in ("text", "before", "random")]
    texts = list(dict.fromkeys(text for column in columns for text in column if text))
    side, positive = judge(texts)
    place = {text: i for i, text in enumerate(texts)} | {"": 0}
    at, before, by_chance = ([place[text] for text in column] for column in columns)
    expects = cases["expects"].to_numpy(str)
    is_functional = (cases["kind"] == FUNCTIONALITY).to_numpy()
    functional = side[at] == np.where(expects == "positive", 1, -1)
    edited = _holds(expects, side[before], side[at], positive[before], positive[at])
    random = _holds(expects, side[before], side[by_chance], positive[before], positive[by_chance])
    card = Card(name, digest, cases, np.where(is_functional, functional, edited), ~is_functional & random, spoken)
    predicted = set(side[[place[text] for text in columns[0]]].tolist())
    if len(predicted) == 1:
        only = {-1: "negative", 0: "neither negative nor positive", 1: "positive"}[predicted.pop()]
        card = _with_remarks(
            card,
            f"{name} predicts {only} for every case. Its rates of invariance and direction say nothing, because no edit can change it.",
        )
    return card


def answers_one_side(card: Card) -> bool:
    """Return whether the model predicts the same side for every case."""
    return any("for every case" in remark for remark in card.remarks)


def _holds(expects: npt.NDArray[np.str_], old_side: Any, new_side: Any, old: Any, new: Any) -> Bools:
    """Return whether an edit keeps to its test, (n,); False if a text cannot be read."""
    moved = new - old
    rising, falling = moved >= -TOLERANCE - 1e-9, moved <= TOLERANCE + 1e-9
    holds = np.where(expects == "rises", rising, np.where(expects == "falls", falling, old_side == new_side))
    return np.asarray(holds & ~np.isnan(moved))


def _with_remarks(card: Card, *remarks: str) -> Card:
    return Card(card.name, card.digest, card.cases, card.passed, card.passed_random, card.language, (*card.remarks, *remarks))


def card_of(
    run: Run,
    model: Model | None = None,
    *,
    wanted: str = "",
    seed: int = 0,
    each: int = behaviour.EACH,
    templates: behaviour.Templates | None = None,
    progress: Progress | None = None,
) -> Card:
    """Return the card of a run, computed with its model.

    Args:
        wanted: language of the cases; default: that of the run. seed, each, templates: as for `sentviz.data.behaviour.cases`.
    """
    from sentviz.models.loading import load

    spoken = language_of(run, wanted)
    cases = behaviour.cases(spoken, seed=seed, each=each, templates=templates)
    card = measure_behaviour(model or load(run), cases, spoken=spoken, digest=run.digest, progress=progress)
    return _with_remarks(card, *_leaks(run)) if templates is None else card


def _leaks(run: Run) -> list[str]:
    """Return a remark if the run was trained on both halves of the templates."""
    try:
        parts = datasets.info(run.config["data"]["name"]).needed()
    except InputError:
        return []
    if not any(part.startswith(SEEN) for part in parts):
        return []
    return [f"{run.name} was trained on both halves of sentviz's own templates, so some phrases of the cases are not new to it."]


# ---- baselines


def tfidf_name(data: str) -> str:
    """Return the name of the baseline that is trained on a data set."""
    return f"TF-IDF on {data}"


def baselines_of(card: Card, data: str = "") -> list[Card]:
    """Return the cards of the baselines for a card's cases: the lexicon, then TF-IDF, if they are stored; for other cases only the lexicon.

    Args:
        data: data set of the model; TF-IDF was trained on the same rows. For an unknown one it was trained on the language's mixture.
    """
    table = _shipped(card.cases)
    known = set(table["run"])
    learned = next((name for name in (tfidf_name(data), tfidf_name(MIXTURES[card.language])) if name in known), "")
    names = [name for name in (LEXICONS[card.language], learned) if name in known]
    if names:
        return [_restored(name, "", card.cases, table[table["run"] == name], card.language) for name in names]
    with suppress(SentvizError):
        return [judged(LEXICONS[card.language], lexicon_judge(card.language), card.cases, spoken=card.language)]
    return []


# ---- shipped results


def stored_card(run: Run) -> Card | None:
    """Return the shipped card of a run for the built-in cases with seed 0; None if it was not measured, or on other cases."""
    if run.name not in _measured_names() or language(run) not in LANGUAGES:
        return None
    cases = behaviour.cases(language(run))
    rows = rows_of(TABLE, run)
    rows = rows[rows["cases"] == behaviour.digest(cases)]
    if rows.empty:
        return None
    card = _restored(run.name, run.digest, cases, rows, language(run))
    return _with_remarks(card, *_leaks(run))


@cache
def shipped_rates(spoken: str) -> pd.DataFrame:
    """Return the shipped rates of all runs on the built-in cases of a language, the baselines last; a shared frame.

    Frame:
        model, and the columns of `Card.frame`.
    """
    cases = behaviour.cases(spoken)
    table = _shipped(cases)
    frames = [
        _restored(str(name), "", cases, rows, spoken).frame().assign(model=name, is_baseline=bool(rows["digest"].isna().all()))
        for name, rows in table.groupby("run")
    ]
    every = pd.concat(frames).sort_values("is_baseline", kind="stable", ignore_index=True)
    return every[["model", *every.columns.drop(["model", "is_baseline"])]]


def _measured_names() -> frozenset[str]:
    return frozenset(read_measured(TABLE)["run"])


def _shipped(cases: pd.DataFrame) -> pd.DataFrame:
    table = read_measured(TABLE)
    return table[table["cases"] == behaviour.digest(cases)]


def _restored(name: str, digest: str, cases: pd.DataFrame, rows: pd.DataFrame, spoken: str) -> Card:
    masks: dict[str, list[Bools]] = {"passed": [], "random": []}
    by_capability: dict[Any, Any] = rows.set_index("capability").fillna("").to_dict("index")
    for capability, part in cases.groupby("capability", sort=False):
        for column, parts in masks.items():
            digits = str(by_capability[capability][column]).ljust(2 * -(-len(part) // 8), "0")
            parts.append(np.unpackbits(np.frombuffer(bytes.fromhex(digits), np.uint8))[: len(part)].astype(bool))
    return Card(name, digest, cases, np.concatenate(masks["passed"]), np.concatenate(masks["random"]), spoken)


def _main() -> None:
    """Measure the named runs, or "baselines", and store the results in the shipped table."""
    import sys

    import click

    from sentviz.analysis.explain.stored import FOLDER
    from sentviz.runs.store import find

    path = FOLDER / f"{TABLE}.csv"
    for name in sys.argv[1:]:
        for card in _baselines() if name == "baselines" else [card_of(find(name))]:
            table = pd.read_csv(path, dtype=str) if path.is_file() else pd.DataFrame(columns=COLUMNS)
            table = pd.concat([table[table["run"] != card.name], card.stored()])
            store_csv(path, table.sort_values("run", kind="stable"))
            rates = card.frame()[["capability", "rate"]].to_numpy()
            click.echo(f"{card.name}: " + ", ".join(f"{name} {percent(rate, 0)}" for name, rate in rates))


def _baselines() -> Iterator[Card]:
    from sentviz.runs.store import runs

    tested = [run for run in runs().values() if isinstance(run, Run) and not why_not_tested(run)]
    recipes = {run.config["data"]["name"]: run for run in tested}
    for spoken in LANGUAGES:
        yield judged(LEXICONS[spoken], lexicon_judge(spoken), behaviour.cases(spoken), spoken=spoken)
    for data, run in recipes.items():
        train = datasets.rows_of_recipe(run.config["recipe"], "train")
        yield judged(tfidf_name(data), tfidf_judge(train), behaviour.cases(language(run)), spoken=language(run))


if __name__ == "__main__":
    _main()
