"""The hardmax paper's runs by setting and dimension, their accuracies beside the public code's, and what experiments measured."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sentviz.analysis.testset.leaders import FILE, farthest_leader
from sentviz.charts.subjects import Runs, Sentence
from sentviz.io.lazy import pd
from sentviz.papers.studies.compare_configurations import configurations, over_seeds
from sentviz.papers.studies.stored import Stored
from sentviz.runs.sections import Studied
from sentviz.runs.store import Run

DATASET = "imdb"
OF_POSTER = ""  # variant with the poster's and the public code's number of words
SETTINGS = {OF_POSTER: "128 words", "wide-512": "512 words, wide start"}  # words of a review that are read, and start, by variant
NAMED = ("amazing", "torture")  # leaders that the poster names as the furthest from the decision line
EXAMPLE = (  # a review of ours with both words
    "An amazing cast and a wonderful score make up for a first hour that is pure torture, with a dull plot and terrible jokes."
)
FOLDER = Path(__file__).parent / "measured"
NEARNESS = Stored(
    FOLDER / "nearness.csv",
    ("nearness", "mean", "q05", "q50", "n", "d", "run", "digest"),
    "How near words are to leaders is",
    "python -m experiments hardmax nearness",
    ("run", "digest"),
)
STATEMENTS = {  # without those that need the norm of A
    "leaders": "A leader exists",
    "convergence": "All tokens converge",
    "finite layers": "Leaders stop",
    "vertices": "Leaders are the vertices",
    "boundary": "Limits on the boundary",
}
MATRICES = Stored(
    FOLDER / "matrices.csv",
    ("kind", "runs", "points", "single", *STATEMENTS),
    "What other matrices do is",
    "python -m experiments hardmax matrices",
    ("kind",),
)
WANTED = 0.95  # share of a review's words (0 to 1) that must be at a leader
PUBLIC = {2: 0.791, 4: 0.823, 8: 0.8505, 16: 0.882}  # best test accuracy of the authors' public code by d


def trained(runs: Iterable[Run], variant: str = "") -> dict[int, list[Run]]:
    """The softmax-trained hardmax runs of a variant by d, all seeds in order."""
    every, ending = list(runs), f"-{variant}" * bool(variant)
    widths = sorted({run.shape.width for run in every if run.configuration == f"hardmax-d{getattr(run.shape, 'width', '')}{ending}"})
    by_model = configurations(every, DATASET, [f"hardmax-d{d}{ending}" for d in widths])
    return {d: by_model[f"hardmax-d{d}{ending}"] for d in widths if f"hardmax-d{d}{ending}" in by_model}


def by_setting(runs: Iterable[Run]) -> dict[str, dict[int, list[Run]]]:
    """The seeds by variant (a key of `SETTINGS`) and dimension; only what is here."""
    every = list(runs)
    return {variant: by_d for variant in SETTINGS if (by_d := trained(every, variant))}


def row_name(d: int, variant: str = OF_POSTER) -> str:
    """Return the name of the models of one dimension and setting, for example "d = 8, 512 words, wide start"."""
    return f"d = {d}, {SETTINGS[variant]}"


def row_of(run: Run) -> str:
    """Return `row_name` of a run's model."""
    d = run.shape.width
    return row_name(d, run.configuration.removeprefix(f"hardmax-d{d}").removeprefix("-"))


def with_weights(runs: Iterable[Run], d: int = 2) -> list[Run]:
    """Return the seeds of one dimension that have weights."""
    return [run for run in trained(runs).get(d, []) if run.has_weights]


def counted(runs: Iterable[Run], *, weights: bool = False) -> list[Run]:
    """Return every training whose leaders were counted over the test split: all settings, then all dimensions and seeds.

    Args:
        weights: True for those with weights only.
    """
    return [run for seeds in by_row(runs).values() for run in seeds if FILE in run.files and (run.has_weights or not weights)]


def surveyed(runs: Iterable[Run], d: int = 2) -> list[Run]:
    """Return the seeds of one dimension that have weights and whose leaders were counted over the test split."""
    return [run for run in with_weights(runs, d) if FILE in run.files]


def example(of: Studied) -> Sentence | None:
    """Return the example of the first run with weights; None if there is none."""
    return next((Sentence(run, EXAMPLE) for run in with_weights(of.runs)), None)


def first_surveyed(of: Studied) -> Runs | None:
    """Return the first run whose leaders were counted; None if there is none."""
    return next(map(Runs, surveyed(of.runs)), None)


def distance_in_words(of: Studied) -> str:
    """Return how far the leaders of the first surveyed run are at least from the decision line; "" if there is none."""
    from sentviz.models.hardmax import HardmaxModel

    if not (runs := surveyed(of.runs)):
        return ""
    least = farthest_leader(runs[0].frame(FILE), HardmaxModel.of(runs[0])) / 3
    return (
        f"The leaders are at least {least:.2f} from the line, a third of the largest distance of a leader. Other thresholds can be set in"
        " Sentence › Hardmax clusters."
    )


def by_row(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Return the seeds by `row_name`: all settings, then all dimensions."""
    return {row_name(d, variant): seeds for variant, by_d in by_setting(runs).items() for d, seeds in by_d.items()}


def beside(runs: Iterable[Run]) -> pd.DataFrame:
    """Mean accuracy by setting and d: d, model (`row_name`), value, low, high, n, seeds, printed; only what is here.

    The public code's accuracy stands beside the models that read as many words; it is NaN for others.
    """
    every = by_row(runs)
    public = {row_name(d): accuracy for d, accuracy in PUBLIC.items()}
    frame = over_seeds(every).assign(d=[seeds[0].shape.width for seeds in every.values()])
    frame["printed"] = frame["model"].map(public).astype(float)
    return frame[["d", "model", "value", "low", "high", "n", "seeds", "printed"]]
