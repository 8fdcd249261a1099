"""Find sources of predictions by name and compare them: runs, black boxes, models open in memory, columns of predictions of a file.

`timed` measures the speed of compared sources on this machine, when it is asked for.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sentviz.analysis.testset.comparison import Comparison, compare_rows
from sentviz.analysis.testset.predictions_file import in_columns, text_column
from sentviz.analysis.testset.rows import Rows, RowsSource, answered, predicted, with_texts
from sentviz.data import datasets
from sentviz.data.columns import check_columns, guess
from sentviz.data.formats import KINDS
from sentviz.data.labels import AS_FOUND, Reading, ReadingError
from sentviz.data.rows_argument import of_classes, with_classes
from sentviz.data.upload import labelled
from sentviz.data.user_datasets import read
from sentviz.errors import InputError, RunError
from sentviz.io.lazy import pd
from sentviz.models import loading
from sentviz.runs.catalog import same_configuration
from sentviz.runs.store import Run, find, runs

if TYPE_CHECKING:
    from sentviz.models.model import Model

ROWS, WARM, SEED = 64, 8, 0  # timed rows, and rows that are predicted before


def timed(of: Comparison, models: Mapping[str, Model] | None = None, *, load: Callable[[Run], Model] | None = None) -> Comparison:
    """Return the comparison with the rows per second of each source that has a model, in `Comparison.speeds`.

    Reading the text, prediction and probabilities are timed, on the same sample of 64 rows (fewer if there are fewer).

    Args:
        models: opened models by the name of their source; runs with weights are opened with `load`.
    Raises:
        InputError: the rows have no texts on this machine. DataMissingError: as `with_texts`.
    """
    rows = with_texts(of.first)
    if not rows.has_text:
        raise InputError(f"The speed cannot be measured, because {rows.source.name} has no texts.")
    places = np.random.default_rng(SEED).permutation(len(rows))[:ROWS]
    frame = rows.frame.iloc[places][[name for name in ("id", "text", "text_pair") if name in rows.frame]]
    speeds = {}
    for each in of.candidates:
        source = each.rows.source
        model = (models or {}).get(each.name)
        if model is None and source.ask is not None:
            model = (load or loading.load)(source.ask)
        if model is not None:
            speeds[each.name] = _rows_per_second(model, source, frame)
    return replace(of, speeds=speeds)


def _rows_per_second(model: Model, source: RowsSource, frame: pd.DataFrame) -> float:
    predicted(model, source, frame.head(WARM), "mine")
    begin = time.perf_counter()
    predicted(model, source, frame, "mine")
    return len(frame) / (time.perf_counter() - begin)


def compare(
    *sources: str | Run | Any,
    data: str | Path | pd.DataFrame | None = None,
    split: str = "test",
    seeds: bool = True,
    classes: Sequence[str] = (),
    text: str = "",
    label: str = "",
    labels: Mapping[str, str] | str = "",
    scale: str = "",
    partial: bool = False,
    speed: bool = False,
) -> Comparison:
    """Compare two to six sources of predictions on the same rows.

    The result has the verdict in words (`headline`), every pair, a table, and the rows on which the sources differ;
    `sentviz.export.comparison.save` writes it as a report on one page.

    Args:
        sources: runs by name, folder or as `Run`; a model that `sentviz.load` returned, or a black box; models whose predictions the file
            has in its columns, by name. By default all models of the file.
        data: table or file with the rows, which may also be the first source, or the name of a data set whose split the sources predict;
            by default the rows that are stored with the runs.
        split: of the data set or of the stored rows: test, official_test, or demo for the demo set.
        seeds: whether runs that differ only in their seed are one candidate. To stored rows, all installed seeds of each run are added.
        classes: names of the classes that the file, or a black box without names, has, in order.
        text, label: columns of the file; guessed by default.
        labels, scale: class of each label, and scale of one column of numbers, as for `sentviz.predictions`.
        partial: whether more than 2 % of the file's rows may be left out, because they have no label or a source does not predict them.
        speed: whether the rows per second of each model are measured on this machine, on 64 rows.
    Raises:
        RunError: a run is unknown, has no weights or no stored predictions of the split.
    """
    if data is None and sources and isinstance(sources[0], str | Path) and Path(sources[0]).suffix.lower() in KINDS:
        data, sources = sources[0], sources[1:]
    if data is None:
        result = _stored(sources, split, seeds)
    else:
        reading = Reading.of(classes, labels, scale, partial)
        result = compare_rows(answers_for(sources, data, split, reading, text, label), together=seeds, partial=partial)
    if not speed:
        return result
    opened = (_model(source, classes)[0] for source in sources if not isinstance(source, str | Path | Run))
    return timed(result, {model.name: model for model in opened})


def answers_for(
    sources: Sequence[Any], data: Any, split: str = "test", reading: Reading | None = None, text: str = "", label: str = ""
) -> list[Rows]:
    """Return the predictions of sources for the rows of a file, a table, or the split of a data set; for the arguments, see `compare`."""
    reading = reading or AS_FOUND
    if isinstance(data, str) and data in set(datasets.datasets()["name"]):
        return [_on_data_set(source, data, split, reading.classes) for source in sources]
    return _on_table(sources, data, reading, text, label)


def with_seeds(of: Sequence[Run], installed: Sequence[Run], split: str = "test") -> list[Run]:
    """Return the runs, each followed by the installed runs that differ from it only in their seed and were tested on the split.

    A run that is given itself is not added to another one.
    """
    result: list[Run] = []
    for run in of:
        own = [each for each in installed if each.name not in {r.name for r in (*of, *result)} and same_configuration(run, each)]
        by_seed = {each.config["recipe"]["seed"]: each for each in reversed(own) if split in each.metrics()}
        own_seeds = {each.config["recipe"]["seed"] for each in of if each is run or same_configuration(run, each)}
        result += [run, *(by_seed[seed] for seed in sorted(by_seed) if seed not in own_seeds)]
    return result


def _stored(sources: Sequence[Any], split: str, seeds: bool) -> Comparison:
    """Compare the rows that are stored with runs, of all their seeds if `seeds`; for the demo set, the runs predict."""
    named = [find(source) if isinstance(source, str | Path) else source for source in sources]
    for source in named:
        if not isinstance(source, Run):
            raise InputError(f"{_name(source)} has no stored predictions. Name a file or a data set whose rows it shall predict.")
    alone = len(named) > 1 and all(same_configuration(named[0], run) for run in named[1:])  # seeds of one configuration, compared as runs
    if seeds and not alone and split != "demo":
        named = with_seeds(named, [run for run in runs().values() if isinstance(run, Run)], split)
    return compare_rows([answered(run, split) for run in named], together=seeds and not alone)


def _on_data_set(source: Any, data: str, split: str, classes: Sequence[str]) -> Rows:
    """Return the predictions of a source for the split of a data set; stored ones if it was tested on them."""
    run = find(source) if isinstance(source, str | Path) else source
    if isinstance(run, Run) and run.config["data"]["name"] == data and split in run.metrics():
        return answered(run, split)
    model, of = _model(run, classes)
    rows = with_classes(datasets.load_split(data, split), model.labels, of.name)
    return _digested(predicted(model, of, rows.frame, f"{split} of {data}"))


def _on_table(sources: Sequence[Any], data: Any, reading: Reading, text: str, label: str) -> list[Rows]:
    """Return the predictions of sources for the rows of a table: its own columns, or those of models that read its texts."""
    frame, name, remarks = _read(data)
    check_columns((text, label), list(map(str, frame.columns)), name)
    label = label or guess(frame, labels=True)
    text = text or text_column(frame, label)
    try:
        columns = in_columns(frame, reading, text=text, label=label, name=name)
    except ReadingError:
        raise
    except InputError:
        if not sources:
            raise
        columns = {}
    answers = (
        columns[each] if isinstance(each, str) and each in columns else _read_by(each, frame, name, reading, text, label)
        for each in sources or columns
    )
    return [replace(rows, remarks=(*remarks, *rows.remarks)) for rows in answers]


def _read_by(source: Any, frame: pd.DataFrame, name: str, reading: Reading, text: str, label: str) -> Rows:
    try:
        model, of = _model(find(source) if isinstance(source, str | Path) else source, reading.classes)
    except RunError as error:
        raise InputError(f"{name} has no column with predictions of {source!r}, and no run can read its texts: {error}") from None
    label = label or of_classes(frame, model.labels)
    text = text_column(frame, label) if text == label else text
    if not text:
        raise InputError(f"{name} has no column of texts that {of.name} could read.")
    rows, remarks = labelled(frame, text, label, model.labels, reading)
    return replace(_digested(predicted(model, of, rows, "mine")), remarks=tuple(remarks), total=len(frame))


def _model(source: Any, classes: Sequence[str]) -> tuple[Model, RowsSource]:
    """Return a model and itself as a source of predictions."""
    from sentviz.models.loading import load
    from sentviz.models.model import Model

    if isinstance(source, Run):
        return load(source), RowsSource.of(source)
    model = source if isinstance(source, Model) else load(source, classes=classes)
    return model, RowsSource(model.name, "", calibration=model.calibration)


def _digested(rows: Rows) -> Rows:
    """Return the rows; a source without a digest gets that of its probabilities."""
    if rows.source.digest:
        return rows
    digest = hashlib.sha256(rows.probabilities.round(5).tobytes()).hexdigest()[:12]
    return replace(rows, source=replace(rows.source, digest=digest))


def _read(data: str | Path | pd.DataFrame) -> tuple[pd.DataFrame, str, list[str]]:
    """Return a table, its name, and remarks on how it was read."""
    if not isinstance(data, str | Path):
        return data.reset_index(drop=True), "Your table", []
    path = Path(data)
    if path.suffix.lower() not in KINDS:
        raise InputError(f"{data} is neither the name of a data set nor a file that ends with {', '.join(KINDS)}.")
    return read(path)


def _name(source: Any) -> str:
    return str(getattr(source, "name", getattr(source, "__name__", type(source).__name__)))
