"""Verbs about rows with labels: evaluate, weak and labels."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from sentviz.errors import InputError, SentvizError
from sentviz.io.arguments import Arg, Progress
from sentviz.io.lazy import np, pd
from sentviz.io.numbers import number, p_value, percent
from sentviz.verbs.door import OptionError, Result, verb
from sentviz.verbs.sources import Seed, SourceOfRows, SplitName

if TYPE_CHECKING:
    import numpy.typing as npt

    from sentviz.analysis.testset.rows import Rows
    from sentviz.analysis.testset.weak import WeakSlices
    from sentviz.charts.figure import Figure
    from sentviz.data.labels import Reading
    from sentviz.runs.store import Run

LISTED = 10  # mistakes that are listed
CUT = 90  # characters of a text

Among = Annotated[str, Arg("Rows that are evaluated, as col=product:phone~has=negation; by default all.", size=2000)]


@dataclass(frozen=True, eq=False)
class Evaluation(Result):
    """Predictions judged by the labels beside them."""

    lines: tuple[str, ...]
    numbers: dict[str, Any]
    rows: Rows | None = None  # judged rows of the first source; None if they were only counted
    remarks: tuple[str, ...] = ()
    SAVES: ClassVar[tuple[str, ...]] = (".csv",)

    def chart(self) -> Figure:
        """Return the weak slices if they were searched, otherwise the confusion matrix."""
        from sentviz.charts.gallery import make
        from sentviz.charts.subjects import Answers

        if self.rows is None:
            return super().chart()
        return make("weak-slices" if "slices" in self.numbers else "confusion", Answers.of(self.rows))

    @property
    def frame(self) -> pd.DataFrame:
        """The mistakes, the most confident first: id, text and text_pair if they are known, label, predicted, probability."""
        if self.rows is None:
            raise InputError("These rows were only counted, so there is no list of mistakes.")
        rows, wrong = self.rows, mistakes(self.rows)
        named = wrong.assign(**{name: [rows.classes[k] for k in wrong[name]] for name in ("label", "predicted")})
        texts = [name for name in ("text", "text_pair") if name in wrong]
        return named.rename(columns={"confidence": "probability"})[["id", *texts, "label", "predicted", "probability"]]

    def text(self) -> str:
        """Return the numbers in words."""
        return "\n".join(self.lines)

    def json(self) -> dict[str, Any]:
        """Return the metrics, and the slices if they were searched."""
        return self.numbers

    def save(self, path: Path) -> str:
        """Write the mistakes as CSV."""
        from sentviz.io.spreadsheet import write_csv

        frame = self.frame
        write_csv(path, frame.round(6))
        return f"{len(frame):,} mistakes written to {path}"


@verb("Rows", remote=True)
def evaluate(
    of: SourceOfRows,
    *,
    split: SplitName = "test",
    versus: Annotated[
        tuple[str, ...],
        Arg("Model of the same file, or run, to compare a file's predictions with. May be repeated.", several=6, local=True),
    ] = (),
    slices: Annotated[bool, Arg("Search for slices of the rows on which RUN is weakest.")] = False,
    among: Among = "",
    seed: Annotated[int, Arg("Seed of the halves of the search with --slices.", least=0)] = 0,
) -> Evaluation:
    """Compute the metrics of RUN (a name or a folder) again from its stored weights, and print them.

    With --data, RUN or --model is evaluated on another data set or a file with the same classes; a run without test rows gets those of the
    data set.

    RUN may also be a table with predictions of another program: FILE, or FILE:MODEL if it has those of several models. Columns such as
    predicted, prob, p_positive and bert_predicted are recognised. Its mistakes are listed, the most confident ones first, and -o writes
    all of them.

    With --slices, slices by column, source, length, script, phenomenon, word, cluster of texts, and pairs of them are searched on one half
    of the rows. Those that are weaker than the other rows also on the other half are printed, with intervals.
    """
    from sentviz.analysis.testset.predictions_file import is_table
    from sentviz.analysis.testset.subset import Subset

    source = SourceOfRows.of(of)
    if is_table(source.run) and not source.is_own and not source.opened:
        from sentviz.analysis.testset.predictions_file import sources

        read = sources(source.run, versus, reading=source.reading, text=source.text, label=source.label)
        return _judged(Subset.parse(among).chosen(*read), source.reading, slices=slices, seed=seed)
    if versus or ((source.text or source.label) and not source.data):
        raise OptionError(f"--versus, --text and --label belong to a file, and {source.run or source.model} is not one.")
    from sentviz.analysis.evaluation import evaluate as run_evaluation
    from sentviz.analysis.evaluation import metrics
    from sentviz.analysis.testset.rows import RowsSource, predicted_rows
    from sentviz.data import datasets
    from sentviz.data.rows_argument import is_file, labelled_rows
    from sentviz.models.loading import load
    from sentviz.runs.calibration import tempered

    run, remarks = source.answers(), tuple[str, ...]()
    if source.data and not (source.model or run.has_rows or is_file(source.data)):
        from sentviz.training import evaluate_on

        stored = evaluate_on(run, source.data)
        lines = (*metric_lines(stored.name, stored.metrics()), f"Stored in {stored.folder}")
        rows_of_test = rows_to_judge(SourceOfRows(str(stored.folder)), "test")
        return Evaluation(lines, {"metrics": stored.metrics(), "folder": str(stored.folder)}, rows_of_test)
    if source.is_own:
        rows, remarks = source.rows(run, split)
        rows = labelled_rows(rows, source.reading)
    else:
        rows = datasets.rows_of_recipe(run.config["recipe"], split)
    evaluation = run_evaluation(source.opened[1] if source.opened else load(run), rows)
    shares = tempered(evaluation.probabilities.astype(float), run.calibration)
    columns = {str(name): rows.frame[name].array for name in rows.frame}
    over = "mine" if is_file(source.data) else split
    chosen = Subset.parse(among).chosen(predicted_rows(RowsSource.of(run), over, run.labels, columns, shares))
    if slices or among:
        return replace(_judged(chosen, slices=slices, seed=seed), remarks=remarks)
    values = {rows.split: metrics(evaluation)}
    total = len(rows) + rows.dropped if is_file(source.data) else 0
    return Evaluation(tuple(metric_lines(run.name, values, total)), {"metrics": values}, chosen[0], remarks)


@verb("Rows", remote=True)
def weak(
    of: SourceOfRows,
    *,
    split: SplitName = "test",
    among: Among = "",
    seed: Seed = 0,
    progress: Annotated[Progress | None, "Slices"] = None,
) -> Evaluation:
    """Search for slices of RUN's stored rows on which it is wrong more often than on the others.

    Slices by column, source, length, script, phenomenon, word, cluster of texts, and pairs of them are searched on one half of the rows,
    and tested on the other one. RUN may also be a table with predictions of another program.
    """
    from sentviz.analysis.testset.subset import Subset

    rows = rows_to_judge(SourceOfRows.of(of), split)
    (chosen,) = Subset.parse(among).chosen(rows)
    lines, numbers = _of_slices(chosen, seed, progress)
    return Evaluation(tuple(lines), {"slices": numbers}, chosen)


def metric_lines(name: str, report: dict[str, Any], total: int = 0) -> list[str]:
    """Return a line for each metric that has a confidence interval. `total`: rows of the file, also those left out."""
    lines = []
    for split, values in report.items():
        for metric, value in values.items():
            if isinstance(value, dict) and "low" in value:
                span = number(value["value"], 4, (value["low"], value["high"]))
                of = f" of {total:,}" if total > values["n"] else ""
                lines.append(f"{name}  {split:<14}{metric:<20}{span}  n = {values['n']:,}{of}")
    return lines


def _judged(sources: Sequence[Rows], reading: Reading | None = None, *, slices: bool = False, seed: int = 0) -> Evaluation:
    """Return accuracy, confusion and areas of each source, its comparison with the first one, and the mistakes of the first.

    Raises:
        LeftOutError: more than 2 % of a file's rows are left out, and the user did not allow it.
    """
    from sentviz.analysis.testset import operating
    from sentviz.data.labels import AS_FOUND

    lines: list[str] = []
    numbers: list[dict[str, Any]] = []
    for place, rows in enumerate(sources):
        known = rows.labels >= 0
        of = f" of {rows.total:,}" if rows.total > len(rows) else ""
        lines.append(f"{rows.source.name}: {len(rows):,}{of} rows, {int(known.sum()):,} with a label; classes {', '.join(rows.classes)}")
        lines += [f"! {remark}" for remark in rows.remarks]
        rows.check_complete(reading or AS_FOUND)
        numbers.append({"name": rows.source.name, "rows": len(rows), "labelled": int(known.sum()), "classes": list(rows.classes)})
        if not known.any():
            counts = np.bincount(rows.predicted, minlength=len(rows.classes)).tolist()
            lines.append("  " + ", ".join(f"{name} {n:,}" for name, n in zip(rows.classes, counts, strict=True)))
            numbers[-1]["predicted"] = dict(zip(rows.classes, counts, strict=True))
            continue
        lines += _score_lines(rows, known)
        numbers[-1]["accuracy"] = operating.accuracy(rows.labels[known], rows.predicted[known])
        if place:
            lines.append(_against(sources[0], rows, known))
    lines += _mistake_lines(sources[0])
    result: dict[str, Any] = {"sources": numbers, "mistakes": len(mistakes(sources[0]))}
    if slices:
        more, result["slices"] = _of_slices(sources[0], seed)
        lines += more
    return Evaluation(tuple(lines), result, sources[0])


def _score_lines(rows: Rows, known: npt.NDArray[np.bool_]) -> list[str]:
    from sentviz.analysis.evaluation import confusion
    from sentviz.analysis.testset import operating

    labels, predicted = rows.labels[known], rows.predicted[known]
    value = operating.accuracy(labels, predicted)
    of = f" of {rows.total:,}" if rows.total > len(labels) and not rows.among else ""
    lines = [f"  accuracy {percent(value['value'], ends=(value['low'], value['high']))}  n = {len(labels):,}{of}"]
    if rows.source.gives != "classes":
        areas = operating.areas(labels, rows.probabilities[known], rows.classes)
        areas_shown = areas[areas["class"] == rows.classes[1]] if len(rows.classes) == 2 else areas
        for area in areas_shown[areas_shown["metric"] == "AUC"].to_dict("records"):
            ends = (area["low"], area["high"])
            lines.append(f"  area under the ROC curve of {area['class']} {number(area['value'], 3, ends=ends)}")
    counts = confusion(labels, predicted, len(rows.classes))
    width = max(12, *(len(name) + 2 for name in rows.classes))
    lines.append("  " + "label".ljust(width) + "".join(f"{'→ ' + name:>{width + 2}}" for name in rows.classes))
    for name, row in zip(rows.classes, counts.tolist(), strict=True):
        lines.append("  " + name.ljust(width) + "".join(f"{n:>{width + 2},}" for n in row))
    return lines


def _against(first: Rows, second: Rows, known: npt.NDArray[np.bool_]) -> str:
    from sentviz.analysis.testset import operating

    pair = operating.agreement(*(rows.frame["right"].to_numpy(bool)[known] for rows in (first, second)))
    return (
        f"  answered otherwise than by {first.source.name}: {int((first.predicted != second.predicted).sum()):,} rows; only"
        f" {first.source.name} is right on {pair.only_a:,}, only {second.source.name} on {pair.only_b:,} (McNemar's exact test: p ="
        f" {pair.p:.3f})"
    )


def mistakes(rows: Rows) -> pd.DataFrame:
    """Return the rows with a label that are predicted wrongly, with the columns of `Rows.frame`, the most confident ones first."""
    wrong: pd.DataFrame = rows.frame[(rows.labels >= 0) & ~rows.frame["right"].to_numpy(bool)]
    return wrong.sort_values("confidence", ascending=False, kind="stable")


def _mistake_lines(rows: Rows) -> list[str]:
    wrong = mistakes(rows)
    if wrong.empty:
        return []
    lines = [f"Mistakes of {rows.source.name}: {len(wrong):,}" + (f", the first {LISTED}" if len(wrong) > LISTED else "")]
    for row in wrong.head(LISTED).to_dict("records"):
        sure = "" if np.isnan(row["confidence"]) else f" {percent(row['confidence'], 0)}"
        label, predicted = rows.classes[row["label"]], rows.classes[row["predicted"]]
        lines.append(f"  row {row['id']}: {label}, predicted {predicted}{sure}  {_short(row)}".rstrip())
    return lines


def _short(row: dict[Any, Any]) -> str:
    """Return the text of a row on one line, cut."""
    from sentviz.charts.text import visible

    text = visible(" ".join(str(row.get("text", "")).split()))
    return text if len(text) <= CUT else text[: CUT - 1] + "…"


def _of_slices(rows: Rows, seed: int, progress: Progress | None = None) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the slices on which predictions are weakest, as lines, each with the text that --among takes, and as numbers."""
    from sentviz.analysis.testset.weak import line, weak_slices
    from sentviz.charts.text import visible

    weakest: WeakSlices = weak_slices(rows, seed=seed, step=lambda: None if progress is None else progress(0, 1))
    first, second = weakest.halves
    searched = f"{weakest.candidates:,} slices searched on {first:,} rows, {len(weakest.frame)} tested on {second:,} held-out rows"
    lines = [f"Where {rows.source.name} is weakest: {searched}, seed {seed}"]
    weaker = weakest.weaker.to_dict("records")
    lines += [f"  {visible(line(row))}; {p_value(row['adjusted'])}\n    --among {shlex.quote(row['slice'])}" for row in weaker]
    if not weaker:
        lines.append("  No slice is significantly weaker than the other rows.")
    return lines, [{str(name): value for name, value in row.items()} for row in weaker]


def rows_to_judge(source: SourceOfRows, split: str, progress: Progress | None = None) -> Rows:
    """Return a run's stored rows, its predictions for a table or a data set, or the predictions that a table has.

    Raises:
        SentvizError: there are no such rows.
    """
    from sentviz.analysis.testset.predictions_file import is_table, sources
    from sentviz.analysis.testset.rows import stored
    from sentviz.data import datasets

    if is_table(source.run) and not source.opened:
        if source.data:
            raise InputError(f"{source.run} has its own rows; --data belongs to a run.")
        return sources(source.run, reading=source.reading, text=source.text, label=source.label)[0]
    run = source.answers()
    if source.is_own:
        return _predicted(run, source, split, progress)
    rows = stored(run, split)
    try:
        return rows.with_text(datasets.load_split(rows.source.data, split).frame)
    except SentvizError:
        return rows


def _predicted(run: Run, source: SourceOfRows, split: str, progress: Progress | None) -> Rows:
    """Return a run's predictions for a table, or for a split of a data set."""
    from sentviz.analysis.testset.rows import RowsSource, predicted
    from sentviz.data.rows_argument import is_file
    from sentviz.models.loading import load

    rows, remarks = source.rows(run, split)
    over = "mine" if is_file(source.data) else split
    answered = predicted(load(run), RowsSource.of(run), rows.frame, over, progress)
    return replace(answered, remarks=(*answered.remarks, *remarks))


@dataclass(frozen=True, eq=False)
class Suspects(Result):
    """Rows whose labels look wrong, that repeat another row, or that are among the training rows."""

    rows: Rows
    lines: tuple[str, ...]
    parts: dict[str, Rows]  # kind of suspicion -> its rows
    remarks: tuple[str, ...] = ()
    SAVES: ClassVar[tuple[str, ...]] = (".csv",)

    def chart(self) -> Figure:
        """Return the share of each label's rows that look wrong."""
        from sentviz.charts.gallery import make
        from sentviz.charts.subjects import Answers

        return make("label-errors", Answers.of(self.rows))

    @property
    def frame(self) -> pd.DataFrame:
        """One row per suspicion, with names of classes."""
        classes = [*self.rows.classes, ""]
        table = pd.concat([part.frame.assign(suspected=what) for what, part in self.parts.items()], ignore_index=True)
        coded = [name for name in ("label", "predicted", "likely") if name in table]
        table = table.assign(**{name: [classes[int(k)] if k == k else "" for k in table[name]] for name in coded})
        return table.rename(columns={f"p{k}": name for k, name in enumerate(self.rows.classes)})

    def text(self) -> str:
        """Return what is suspected, the most suspicious rows in a list."""
        return "\n".join(self.lines)

    def json(self) -> dict[str, Any]:
        """Return the suspected rows by their ids, with the reason, without their texts."""
        names_in_json = [name for name in ("suspected", "id", "label", "predicted", "likely", "reason") if name in (frame := self.frame)]
        return {"name": self.rows.source.name, "suspects": frame[names_in_json].to_dict("records")}

    def save(self, path: Path) -> str:
        """Write all suspected rows as CSV."""
        from sentviz.io.spreadsheet import write_csv

        write_csv(path, self.frame)
        return f"Stored in {path}"


@verb("Rows", remote=True)
def labels(
    of: SourceOfRows,
    *,
    split: SplitName = "test",
    top: Annotated[int, Arg("Number of rows to list.", least=0, most=1000)] = 20,
    progress: Annotated[Progress | None, "Texts"] = None,
) -> Suspects:
    """List the labels of RUN's rows that look wrong, the rows that repeat another one, and those that are among its training rows.

    RUN is a run, or a table with predictions of another program: FILE, or FILE:MODEL. With --data, RUN predicts a table or a data set. -o
    writes all suspected rows. Label errors need the extra `labels` (cleanlab).

    Raises:
        SentvizError: neither labels nor texts can be judged.
    """
    rows = rows_to_judge(SourceOfRows.of(of), split, progress)
    lines, parts, problems = [f"{rows.source.name}: {rows.about}"], dict[str, "Rows"](), []
    for done, (what, judge) in enumerate(_SUSPICIONS.items()):
        if progress is not None:
            progress(done, len(_SUSPICIONS))
        try:
            answer, part = judge(rows)
        except SentvizError as error:
            problems.append(error)
            lines.append(f"! {error}")
            continue
        lines.append(answer)
        parts[what] = part
        lines += [f"  {row['id']}  {row['reason']}  {_short(row)}".rstrip() for row in part.frame.head(top).to_dict("records")]
    if not parts:
        raise problems[0]
    return Suspects(rows, tuple(lines), parts, rows.remarks)


def _labels(rows: Rows) -> tuple[str, Rows]:
    from sentviz.analysis.testset.label_errors import check, describe, describe_check, label_errors

    judged = label_errors(rows)
    return f"{describe(judged)}\n{describe_check(check(rows))}", replace(judged, frame=judged.frame[judged.frame["suspect"]])


def _repeats(rows: Rows) -> tuple[str, Rows]:
    from sentviz.analysis.testset.repeats import describe_repeats, repeated

    repeated_rows = repeated(rows)
    return describe_repeats(repeated_rows, len(rows)), repeated_rows


def _leaks(rows: Rows) -> tuple[str, Rows]:
    from sentviz.analysis.testset.repeats import describe_leaks, leaked
    from sentviz.data import datasets

    name = rows.source.require_run("training rows to compare with").config["data"]["name"]
    if not name:
        raise InputError(f"{rows.source.name} was adopted without data, so its training rows are not known.")
    train = datasets.load_split(name, "train").frame
    leaked_rows = leaked(rows, train)
    return describe_leaks(leaked_rows, rows, len(train)), leaked_rows


_SUSPICIONS: dict[str, Callable[[Any], tuple[str, Any]]] = {"label": _labels, "repeat": _repeats, "training": _leaks}
