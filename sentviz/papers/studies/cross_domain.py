"""Accuracy of every run with weights on other data than its own: the demo set, official tests, other domains.

`python -m sentviz.papers.studies.cross_domain` evaluates the runs that are not in the table yet; the shipped table is
`measured/standing.csv`. A prediction counts as negative or positive by the more probable side of the classes, so that runs with three or
five classes can be compared with runs with two. Two baselines ignore the order of words: VADER (Hutto & Gilbert 2014), and TF-IDF with
logistic regression, trained on the same rows as the project's own models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import wilson
from sentviz.analysis.testset.baselines import tfidf as trained_tfidf
from sentviz.analysis.testset.baselines import vader as compound_scores
from sentviz.analysis.testset.operating import expected_error
from sentviz.analysis.testset.rows import RowsSource, predicted
from sentviz.data import datasets, demo
from sentviz.data.labels import sides
from sentviz.errors import InputError, RunError
from sentviz.io.lazy import pd
from sentviz.io.spreadsheet import store_csv
from sentviz.runs.store import Run, runs

Floats = npt.NDArray[np.float64]
Answer = Callable[["pd.DataFrame"], Floats]  # id and text -> (n,) probability of the positive side, NaN where a text cannot be read

FILE = Path(__file__).parent / "measured" / "standing.csv"
COLUMNS = ["who", "digest", "set", "tag", "n", "right", "accuracy", "low", "high", "calibration"]
EVERY = "all"
SEED, MOST = 0, 1_000
NEUTRAL_MARGIN = 0.25  # a neutral text is right if its positive probability is at most this far from 0.5
NEUTRAL = -1
OWN = {name: i for i, name in enumerate(demo.LABELS)} | {"neutral": NEUTRAL}


@dataclass(frozen=True, eq=False)
class Texts:
    """Rows that every model is evaluated on. `labels`: 0, 1 or `NEUTRAL` for each label of the data set; other rows are left out."""

    name: str
    title: str
    dataset: str = ""  # "" = the project's own sentences called `name`
    split: str = "test"
    labels: Mapping[int, int] | None = None
    most: int = MOST  # rows of a random sample


SETS = (
    Texts("demo", "Demo set"),
    Texts("plain", "100 plain sentences"),
    Texts("development", "Development set"),
    Texts("sst2", "SST-2, official test sentences", "sst2", "official_test", {0: 0, 1: 1}, 2_000),
    Texts("imdb", "IMDb", "imdb", "test", {0: 0, 1: 1}),
    Texts("yelp", "Yelp, without three stars", "yelp_full", "test", {0: 0, 1: 0, 3: 1, 4: 1}),
    Texts("tweets", "TweetEval, without neutral", "tweeteval_sentiment", "test", {0: 0, 2: 1}, 2_000),
    Texts("sentiment140", "Sentiment140, labelled by hand", "sentiment140", "official_test", {0: 0, 1: 1}),
    Texts("financial", "Financial news, without neutral", "twitter_financial", "test", {0: 0, 1: 1}),
    Texts("neutral", "TweetEval, neutral: near the middle", "tweeteval_sentiment", "test", {1: NEUTRAL}),
)
MIXTURE = {"sst2", "imdb", "yelp", "tweets", "sentiment140", "neutral"}
LEARNED = {  # data set of a run -> sets of the same domain as its training data
    "english": MIXTURE,
    "english_balanced": MIXTURE,
    "english_large": MIXTURE,
    "sst2": {"sst2"},
    "sst5_trees": {"sst2"},
    "sst5_trees_binary": {"sst2"},
    "imdb": {"imdb"},
    "yelp_full": {"yelp"},
    "yelp_polarity": {"yelp"},
    "tweeteval_sentiment": {"tweets", "neutral"},
    "sentiment140": {"sentiment140"},
    "twitter_financial": {"financial"},
}


@cache
def rows(texts: Texts) -> pd.DataFrame:
    """id, text, label (0, 1 or `NEUTRAL`), tag (of the demo set: the phenomenon); a shared frame that must not be changed.

    Raises:
        DataMissingError: the data set is not installed.
    """
    if not texts.dataset:
        frame = {"demo": demo.load, "plain": demo.plain, "development": demo.development}[texts.name]()
        return frame.assign(label=frame["label"].map(OWN), tag=frame["phenomenon"])
    frame = datasets.load_split(texts.dataset, texts.split).frame
    frame = frame.assign(label=frame["label"].map(dict(texts.labels or {})), tag=EVERY).dropna(subset="label").astype({"label": int})
    return frame.sample(min(texts.most, len(frame)), random_state=SEED).sort_index().reset_index(drop=True)


def why_not_evaluated(run: Run) -> str:
    """Return the reason why a run is not evaluated; empty if it has weights, reads single English texts, and has both sides."""
    if not run.has_weights:
        return "its weights are not installed"
    try:
        item = datasets.info(run.config["data"]["name"])
    except InputError:
        return "its data set is unknown"
    if item.language != "en" or item.pair:
        return "it does not read single English texts"
    return "" if {-1, 1} <= set(sides(run.labels)) else "its classes are not negative and positive"


def evaluate_on_sets(who: str, digest: str, answer: Answer, sets: Iterable[Texts] = SETS) -> pd.DataFrame:
    """Evaluate a model or baseline: a row with `COLUMNS` for each set, and for each phenomenon of the demo set.

    A neutral text is right if the probability of the positive side is within `NEUTRAL_MARGIN` of 0.5. A text that cannot be read counts as
    wrong. Intervals are Wilson's; calibration is the expected error of the predicted side's probability.
    """
    results = []
    for texts in sets:
        frame = rows(texts)
        share, label = answer(frame), frame["label"].to_numpy(np.int64)
        near = np.abs(share - 0.5) <= NEUTRAL_MARGIN
        right = np.where(label == NEUTRAL, near, (share > 0.5) == (label == 1)) & ~np.isnan(share)
        sure = ~np.isnan(share) & (label != NEUTRAL)
        error = expected_error(label[sure], np.stack([1 - share[sure], share[sure]], axis=1)) if sure.any() else np.nan
        tags = [tag for tag in dict.fromkeys(frame["tag"]) if tag != EVERY]
        for tag in (*tags, EVERY):
            part = right if tag == EVERY else right[(frame["tag"] == tag).to_numpy()]
            n, hits = len(part), int(part.sum())
            low, high = map(float, wilson(hits, n))
            calibration = error if tag == EVERY else np.nan
            results.append((who, digest, texts.name, tag, n, hits, hits / n, low, high, calibration))
    return pd.DataFrame(results, columns=COLUMNS)


# ---- models and baselines


def of_run(run: Run) -> Answer:
    """Return a run's calibrated predictions as an answer."""
    from sentviz.models.loading import load

    model, side = load(run), np.array(sides(run.labels))

    def answer(frame: pd.DataFrame) -> Floats:
        rows = predicted(model, RowsSource.of(run), frame[["id", "text"]], "standing")
        shares = rows.probabilities
        positive, negative = (shares[:, side == sign].sum(axis=1) for sign in (1, -1))
        share = dict(zip(rows.frame["id"], positive / (positive + negative), strict=True))
        return np.array([share.get(str(name), np.nan) for name in frame["id"]])

    return answer


def vader() -> Answer:
    """Return VADER's compound score as an answer; 0 counts as positive.

    Raises:
        RunError: the package vaderSentiment is not installed.
    """
    compound_scores([])

    def answer(frame: pd.DataFrame) -> Floats:
        scores = compound_scores(frame["text"])
        return np.where(scores == 0, np.nextafter(0.5, 1), 0.5 + scores / 2)

    return answer


def tfidf() -> Answer:
    """Train a logistic regression on TF-IDF of words and pairs of words: on the polar rows of `english`, C chosen on its validation split.

    Raises:
        DataMissingError: the data sets are not installed.
    """
    train, validation = (datasets.load_split("english", split).frame for split in ("train", "validation"))
    probabilities = trained_tfidf(train[train["label"] >= 0], validation, min_rows=3)
    return lambda frame: probabilities(frame)[:, 1]


BASELINES: dict[str, tuple[str, Callable[[], Answer]]] = {"VADER": ("vader", vader), "TF-IDF, logistic regression": ("tfidf", tfidf)}


# ---- the table


def measure_cross_domain(
    folders: tuple[str | Path, ...] = (),
    *,
    again: bool = False,
    file: Path = FILE,
    sets: Sequence[Texts] = SETS,
    say: Callable[[str], object] = print,
) -> pd.DataFrame:
    """Evaluate runs and baselines on the sets that the table lacks, and store the table after each.

    Args:
        again: evaluate all of them again.
        say: called with the name of each run or baseline that was evaluated.
    Raises:
        DataMissingError: a data set is not installed.
        RunError: VADER is not installed.
    """
    known = pd.DataFrame(columns=COLUMNS) if again or not file.is_file() else stored_accuracies(file)
    makers: dict[tuple[str, str], Callable[[], Answer]] = {(who, digest): make for who, (digest, make) in BASELINES.items()}
    usable = [run for run in runs(folders).values() if isinstance(run, Run) and not why_not_evaluated(run)]
    makers |= {(run.name, run.digest): (lambda run=run: of_run(run)) for run in usable}  # type: ignore[misc]
    for (who, digest), make in makers.items():
        of_now = (known["who"] == who) & (known["digest"] == digest)
        if missing := [texts for texts in sets if texts.name not in set(known.loc[of_now, "set"])]:
            selected = evaluate_on_sets(who, digest, make(), missing)
            known = pd.concat([known[(known["who"] != who) | of_now], selected], ignore_index=True)
            store_csv(file, known.round(6))
            say(who)
    return stored_accuracies(file)


def stored_accuracies(file: Path = FILE) -> pd.DataFrame:
    """Return the stored table.

    Raises:
        RunError: the file is missing or damaged.
    """
    try:
        return pd.read_csv(file, dtype={"digest": str, "n": int, "right": int})[COLUMNS]
    except (OSError, KeyError, ValueError) as error:
        raise RunError(f"{file.name} is missing or damaged: `python -m sentviz.papers.studies.cross_domain` measures it anew.") from error


def current(table: pd.DataFrame, available: Mapping[str, Run]) -> pd.DataFrame:
    """Return the rows of baselines and of runs that are installed with the same digest.

    The column `home` is true if the set is of the same domain as the training data.
    """
    digests = {who: digest for who, (digest, _) in BASELINES.items()} | {name: run.digest for name, run in available.items()}
    selected = table[[digests.get(who) == digest for who, digest in zip(table["who"], table["digest"], strict=True)]]
    learned = {name: LEARNED.get(run.config["data"]["name"], set()) for name, run in available.items()} | {
        "TF-IDF, logistic regression": LEARNED["english"]
    }
    home = [name in learned.get(who, ()) for who, name in zip(selected["who"], selected["set"], strict=True)]
    return selected.assign(home=home).reset_index(drop=True)


if __name__ == "__main__":
    measure_cross_domain()
