"""Measure a run over a split of its data set and store the result with the run, for commands and for pages of the app."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sentviz.analysis.causal import agreement
from sentviz.analysis.causal.direction_tables import FILE as DIRECTIONS
from sentviz.analysis.epochs import files, names
from sentviz.analysis.explain.exact_comparison_table import FILE as REFEREE
from sentviz.analysis.explain.faithfulness import FILE as FAITHFULNESS
from sentviz.analysis.maps import gates, heads, specialise
from sentviz.analysis.testset import leaders
from sentviz.analysis.testset.groups import RULES
from sentviz.analysis.testset.leaders import survey
from sentviz.analysis.testset.word_counts import plain
from sentviz.data import datasets
from sentviz.data.datasets import Split
from sentviz.data.rows_argument import is_file
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import np, pa, pc, pd
from sentviz.runs.configs import Capabilities
from sentviz.runs.store import Run
from sentviz.runs.writing import attach, attach_files, check_attachable

if TYPE_CHECKING:
    import numpy.typing as npt

    from sentviz.models.model import Model


@dataclass(frozen=True)
class Measurement:
    """A kind of measurement, named like its command."""

    title: str  # measured things, in the plural
    split: str  # default split
    make: Callable[..., Run]  # (run, split, progress, options) -> the run with the result
    over: Callable[..., pd.DataFrame] | None = None  # (model, rows, progress, options) -> table, for rows that are not the run's
    lacks: Callable[[Capabilities], str] = lambda has: ""  # why a model cannot be measured, as a predicate; "" if it can

    def check(self, of: Run | Model) -> None:
        """Check, before rows or lexicons are read, that a model has what is measured."""
        if why := self.lacks(of.capabilities):
            raise InputError(f"{of.name} {why}.")


def measure_run(name: str, run: Run, split: str = "", *, progress: Progress | None = None, **options: Any) -> Run:
    """Measure a run, store the result with the run, and return the run that holds it.

    Args:
        name: name in `MEASUREMENTS`.
        split: split of the run's data set; by default that of the measurement.
        options: options of the command of this name.
    Raises:
        DataMissingError: the rows are not installed.
        RunError: the run has no weights, or its folder cannot be written.
    """
    kind = MEASUREMENTS[name]
    kind.check(run)
    measured: Run = kind.make(run, split or kind.split, progress or (lambda done, total: None), **options)
    return measured


def measure_rows(name: str, model: Model, rows: Split, *, progress: Progress | None = None, **options: Any) -> pd.DataFrame:
    """Measure a model on any rows, and return the table; nothing is stored.

    Args:
        name, options: as for `measure_run`.
    """
    MEASUREMENTS[name].check(model)
    over = MEASUREMENTS[name].over
    if over is None:
        raise InputError(f"{name} reads the weights of a run's epochs, so it needs the rows of the run.")
    return over(model, rows, progress or (lambda done, total: None), **options)


def _table(file: str, over: Callable[..., pd.DataFrame]) -> Callable[..., Run]:
    """Return the function that makes and stores a measurement that consists of one table."""

    def make(run: Run, split: str, progress: Progress, **options: Any) -> Run:
        from sentviz.models.loading import load

        check_attachable(run, file)
        rows = datasets.rows_of_recipe(run.config["recipe"], split)
        return attach(run, file, over(load(run), rows, progress, **options))

    return make


def _faithfulness(model: Model, rows: Split, progress: Progress, *, sample: int = 200, seed: int = 0) -> pd.DataFrame:
    from sentviz.analysis.explain.faithfulness import over_split

    pairs = rows.frame["text_pair"].tolist() if "text_pair" in rows.frame else None
    return over_split(model, rows.frame["text"].tolist(), pairs=pairs, sample=sample, seed=seed, progress=progress)


def sample_of(model: Model) -> int:
    """Return the number of texts: 300 for models of up to four layers, 150 for up to 50 million parameters, 40 for larger ones."""
    if model.capabilities.layers <= 4:
        return 300
    return 150 if model.network.parameters_count() < 50_000_000 else 40


def compare(model: Model, texts: Sequence[str], *, sample: int = 0, seed: int = 0, progress: Progress | None = None) -> pd.DataFrame:
    """Compare every method of a model with exact values on short texts, as `sentviz.analysis.explain.exact_comparison.compare_with_exact`
    returns it.

    If its states can be replaced and its predictions differ, `sentviz.analysis.causal.agreement.measure_agreement` is added.

    Args:
        sample: number of texts; 0 = `sample_of`.
    """
    from sentviz.analysis.explain import exact_comparison

    sample = sample or sample_of(model)
    parts = [exact_comparison.compare_with_exact(model, texts, negations(texts), sample=sample, seed=seed, progress=progress)]
    with suppress(InputError):
        parts.append(agreement.measure_agreement(model, texts, sample=sample, seed=seed))
    return pd.concat(parts, ignore_index=True)


def negations(texts: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return which texts have a negation (`sentviz.analysis.testset.groups`), (n,)."""
    matches = pc.match_substring_regex(plain(pa.array(texts, type=pa.large_string())), RULES["negation"], ignore_case=True)
    return np.asarray(matches.to_numpy(zero_copy_only=False), dtype=bool)


def _referee(model: Model, rows: Split, progress: Progress, *, sample: int = 0, seed: int = 0) -> pd.DataFrame:
    if "text_pair" in rows.frame:
        raise InputError(f"{model.name} reads pairs of texts, but explanations are compared with exact values on single texts.")
    return compare(model, rows.frame["text"].tolist(), sample=sample, seed=seed, progress=progress)


def _directions(model: Model, rows: Split, progress: Progress, *, sample: int = 0, seed: int = 0) -> pd.DataFrame:
    from sentviz.analysis.causal.direction_tables import over_split

    return over_split(model, rows.frame, sample=sample, seed=seed, progress=progress)


def _components(model: Model, rows: Split, progress: Progress, *, sample: int = 300, seed: int = 0, inits: int = 20) -> pd.DataFrame:
    from sentviz.analysis.maps.specialise import over_split
    from sentviz.analysis.maps.wordclasses import word_classes

    if "text_pair" in rows.frame:
        raise InputError(f"{model.name} reads pairs of texts, but components are measured on single texts.")
    return over_split(model, rows.frame["text"].tolist(), word_classes(), sample=sample, seed=seed, inits=inits, progress=progress)


def _heads(model: Model, rows: Split, progress: Progress) -> pd.DataFrame:
    from sentviz.analysis.maps.heads import over_split

    return over_split(model, rows.frame, progress)


def _gates(model: Model, rows: Split, progress: Progress) -> pd.DataFrame:
    from sentviz.analysis.maps.gates import over_split
    from sentviz.analysis.maps.wordclasses import word_classes

    if not is_file(rows.name) and datasets.info(rows.name).language != "en":
        raise InputError(
            f"{model.name} reads {rows.name}, which is not English. Words are grouped by an English tagger, so they cannot be measured."
        )
    return over_split(model, rows.frame, word_classes(), progress)


def _leaders(model: Model, rows: Split, progress: Progress) -> pd.DataFrame:
    return survey(model, rows, progress)


def _epochs(run: Run, split: str, progress: Progress, *, sample: int = 400, seed: int = 0) -> Run:
    check_attachable(run, *names(run))
    example, rows = run.example(), datasets.rows_of_recipe(run.config["recipe"], split)
    return attach_files(run, files(run, rows, (example.text, example.text_pair), rows=sample, seed=seed, progress=progress))


def _of_table(
    title: str, file: str, over: Callable[..., pd.DataFrame], lacks: Callable[[Capabilities], str] = lambda has: ""
) -> Measurement:
    return Measurement(title, "test", _table(file, over), over, lacks)


MEASUREMENTS: Mapping[str, Measurement] = {
    "faithfulness": _of_table("explanations", FAITHFULNESS, _faithfulness),
    "referee": _of_table("explanations beside exact values", REFEREE, _referee),
    "directions": _of_table("directions", DIRECTIONS, _directions),
    "specialise": _of_table("components", specialise.FILE, _components, specialise.lacks),
    "heads": _of_table("heads", heads.FILE, _heads, heads.lacks),
    "gates": _of_table("gates", gates.FILE, _gates, gates.lacks),
    "leaders": _of_table("leaders", leaders.FILE, _leaders, leaders.lacks),
    "epochs": Measurement("epochs", "validation", _epochs),
}
