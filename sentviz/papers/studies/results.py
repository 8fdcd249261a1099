"""Every stored number of runs and every printed number of papers in one tidy frame. Tables of single runs are queries on it.

Means with intervals for other rows and seeds need the runs' predictions (`sentviz.papers.studies.means`), and so do comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from sentviz.analysis.evaluation import why_not_learned
from sentviz.errors import SentvizError
from sentviz.io.lazy import pd
from sentviz.runs.convergence import converged
from sentviz.runs.presets import papers_of
from sentviz.runs.printed import printed_results
from sentviz.runs.registry import Paper
from sentviz.runs.run_files import stamp
from sentviz.runs.store import Run

COLUMNS = [
    *("source", "paper", "run", "dataset", "configuration", "model", "variant", "seed", "split", "metric"),
    *("value", "low", "high", "n", "learned", "converged"),
]
_Rows = tuple[tuple[object, ...], ...]


def results(runs: Iterable[Run], printed_by: Iterable[Paper] = ()) -> pd.DataFrame:
    """Return a row per run, split and metric, with the columns `COLUMNS`, in the order of the runs; runs without metrics have no row.

    source is "run" or "printed"; paper has the names of all papers that have the model. model and variant are those of the recipe, and
    configuration is both; low and high are the ends of an interval over test rows; learned is whether the run learned
    (`sentviz.analysis.evaluation`), and converged whether it was trained to its end (`sentviz.runs.convergence`).

    Args:
        printed_by: papers whose printed numbers follow, without those of a layer (`sentviz.runs.printed`).
    """
    rows = [row for run in runs for row in _of_run(run, run.digest, stamp(run.folder / "metrics.json"))]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    printed = [_printed(paper) for paper in printed_by if paper.printed]
    return pd.concat([frame, *printed], ignore_index=True) if printed else frame


def _printed(paper: Paper) -> pd.DataFrame:
    frame = printed_results(paper)
    frame = frame[frame["layer"] < 0].assign(source="printed", model=frame["configuration"], variant="", split="test")
    return frame.reindex(columns=COLUMNS)


def of_metric(runs: Iterable[Run], metric: str = "accuracy", split: str = "test") -> pd.DataFrame:
    """Return the rows of one metric on one split."""
    frame = results(runs)
    return frame[(frame["metric"] == metric) & (frame["split"] == split)].reset_index(drop=True)


def values(runs: Iterable[Run], metric: str = "accuracy", split: str = "test") -> list[float]:
    """Return the value of one metric of each run that has it, in the order of the runs."""
    return [float(value) for value in of_metric(runs, metric, split)["value"]]


@lru_cache(maxsize=4096)
def _of_run(run: Run, digest: str, read: tuple[int, int]) -> _Rows:
    """Return the rows of a run, made once per state of its file."""
    try:
        metrics = run.metrics()
    except SentvizError:
        return ()
    recipe = run.config["recipe"]
    model = recipe.get("model", run.configuration), recipe.get("variant", "")
    paper = ", ".join(papers_of(model[0]))
    place = "run", paper, run.name, run.config["data"]["name"], run.configuration, *model, recipe.get("seed", 0)
    training = not why_not_learned(run), converged(run)
    return tuple(
        (*place, split, metric, value["value"], value.get("low"), value.get("high"), value.get("n", of_split.get("n")), *training)
        for split, of_split in metrics.items()
        if isinstance(of_split, dict)
        for metric, value in of_split.items()
        if isinstance(value, dict) and "value" in value
    )
