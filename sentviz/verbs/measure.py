"""Verbs that measure a run over a split of its data set, and store the table with the run; or any model over rows of the user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from sentviz.io.arguments import Arg, Progress
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent
from sentviz.verbs.door import Outcome, Result, drawing, verb
from sentviz.verbs.shelf import records
from sentviz.verbs.sources import Seed, SourceOfRows, SplitName, StoredRun

if TYPE_CHECKING:
    from sentviz.analysis.testset.word_counts import Counts
    from sentviz.charts.figure import Figure

Tell = Callable[[str, str, "pd.DataFrame"], list[str]]
"""Takes the name of the run or model, its rows in words, and the table; returns lines."""

PICTURES = {
    "faithfulness": "faithfulness",
    "referee": "referee",
    "specialise": "component-entropy",
    "heads": "head-lines",
    "gates": "gate-lines",
    "leaders": "leaders",
    "directions": "direction-removal",
}
"""Measurement -> figure of its stored table."""

Counted = Annotated[Progress | None, "Texts"]


@dataclass(frozen=True, eq=False)
class Measured(Result):
    """A measured table."""

    name: str  # name of the run or model
    rows: str  # measured rows in words
    frame: pd.DataFrame
    lines: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    picture: Callable[[], Figure] | None = None
    SAVES: ClassVar[tuple[str, ...]] = (".csv",)

    def text(self) -> str:
        """Return where the table is stored, and what it says."""
        return "\n".join(self.lines)

    def json(self) -> dict[str, Any]:
        """Return the table."""
        return {"name": self.name, "rows": self.rows, "table": records(self.frame)}

    def save(self, path: Path) -> str:
        """Write the table as CSV."""
        from sentviz.io.spreadsheet import write_csv

        return f"Written to {write_csv(path, self.frame)}"


def _measured(kind: str, source: SourceOfRows, split: str, file: str, tell: Tell, progress: Progress | None, **options: Any) -> Measured:
    """Measure a run over its own rows and store the result with it, or any model over the rows of --data, which stores nothing.

    Args:
        file: name of the stored table. tell: returns what the table says.
    """
    from sentviz.analysis.measurements import measure_rows, measure_run
    from sentviz.models.loading import load

    source = SourceOfRows.of(source)
    run = source.answers()
    if source.is_own:
        rows, remarks = source.rows(run, split, needed=False)
        frame = measure_rows(kind, load(run), rows, progress=progress, **options)
        about = f"{rows.name}, {rows.split}"
        return Measured(run.name, about, frame, tuple(tell(run.name, about, frame)), remarks)
    run = measure_run(kind, run, split, progress=progress, **options)
    frame = run.frame(file)
    lines = (f"Stored in {run.path(file).parent}", *tell(run.name, split, frame))
    return Measured(run.name, split, frame, lines, picture=drawing(run.name, PICTURES[kind]))


def _stored_in_scores(folder: str, file: str, frame: pd.DataFrame) -> tuple[str, str]:
    """Store a table about all rows in a folder that `sentviz score` wrote. Return the run's name, and the line that says so."""
    from sentviz.io.files import replacing
    from sentviz.serving.corpus.output import Scored

    path = Path(folder) / f"_{file}"
    with replacing(path) as part:
        frame.to_parquet(part, index=False)
    return Scored(Path(folder)).run, f"Stored in {path}"


def _methods(note: str, metrics: Sequence[str]) -> Tell:
    """Return what tells a table of explanation methods by metric, the highest value of the first metric first."""

    def tell(name: str, rows: str, frame: pd.DataFrame) -> list[str]:
        wide = frame.pivot(index="method", columns="metric", values="value").reindex(columns=list(metrics))
        table = wide.sort_values(metrics[0], ascending=False).to_string(float_format="{:+.3f}".format)
        return [f"{name}, {int(frame['n'].max())} {note.format(rows)}", table]

    return tell


@verb("Model", stores=True)
def faithfulness(
    of: SourceOfRows,
    *,
    sample: Annotated[int, Arg("Number of texts in the random sample.", least=1)] = 200,
    split: SplitName = "test",
    seed: Seed = 0,
    progress: Counted = None,
) -> Measured:
    """Measure how faithful each explanation method is to RUN, over a sample of texts. Stores the table with the run.

    With --data or --model, the table is printed and not stored.
    """
    from sentviz.analysis.explain.faithfulness import FILE, METRICS

    tell = _methods("texts of {}; higher is better for comprehensiveness, lower for sufficiency", METRICS)
    return _measured("faithfulness", of, split, FILE, tell, progress, sample=sample, seed=seed)


@verb("Model", stores=True)
def referee(
    of: SourceOfRows,
    *,
    sample: Annotated[int, Arg("Number of texts; 0 takes 300, 150 or 40, by the size of the model.", least=0)] = 0,
    split: SplitName = "test",
    seed: Seed = 0,
    progress: Counted = None,
) -> Measured:
    """Measure how close each explanation method of RUN is to exact values, over texts of 4 to 10 words. Stores the table with the run.

    With --data or --model, the table is printed and not stored.
    """
    from sentviz.analysis.explain.exact_comparison_table import FILE

    note = "higher is better, except for error; first: share of texts whose most decisive word is named first"
    tell = _methods(f"short texts of {{}}; {note}", ("first", "signs", "ranks", "error", "reached"))
    return _measured("referee", of, split, FILE, tell, progress, sample=sample, seed=seed)


@verb("Model", stores=True)
def specialise(
    of: SourceOfRows,
    *,
    sample: Annotated[int, Arg("Number of texts in the random sample.", least=1)] = 300,
    split: SplitName = "test",
    seed: Seed = 0,
    inits: Annotated[int, Arg("Number of untrained models to compare with.", least=0)] = 20,
    progress: Counted = None,
) -> Measured:
    """Measure whether the attention components of RUN specialise, over a sample of texts. Stores the table with the run."""
    from sentviz.analysis.maps.specialise import FILE, verdict

    def tell(name: str, rows: str, frame: pd.DataFrame) -> list[str]:
        return [f"{name}, {int(frame['n'].max())} texts of {rows}", *verdict(frame)]

    return _measured("specialise", of, split, FILE, tell, progress, sample=sample, seed=seed, inits=inits)


@verb("Model", stores=True)
def heads(of: SourceOfRows, *, split: SplitName = "test", progress: Counted = None) -> Measured:
    """Measure what each head of RUN attends to, [CLS] in particular, over a split. Stores the table with the run.

    RUN may also be a folder that `sentviz score --attention` wrote: its parts are merged, and the table is stored in the folder.
    """
    from sentviz.analysis.maps.heads import FILE
    from sentviz.serving.corpus.output import Scored, is_scored

    def tell(name: str, rows: str, frame: pd.DataFrame) -> list[str]:
        mean = frame[frame["head"] < 0].pivot(index="layer", columns="measure", values="value")
        title = f"{name}, {int(frame['n'].max()):,} texts of {rows}, mean over heads by layer (layers counted from 0)"
        return [title, mean.to_string(float_format="{:.4f}".format)]

    source = SourceOfRows.of(of)
    if not is_scored(source.run):
        return _measured("heads", source, split, FILE, tell, progress)
    from sentviz.serving.corpus.summary import heads as over_parts

    frame = over_parts(Scored(Path(source.run)), progress)
    name, stored = _stored_in_scores(source.run, FILE, frame)
    return Measured(name, source.run, frame, (stored, *tell(name, source.run, frame)))


@verb("Model", stores=True)
def gates(of: SourceOfRows, *, split: SplitName = "test", progress: Counted = None) -> Measured:
    """Measure which words the gates of RUN close, by part of speech and word class, over a split. Stores the table with the run."""
    from sentviz.analysis.maps.gates import FILE, verdict

    def tell(name: str, rows: str, frame: pd.DataFrame) -> list[str]:
        by = frame[frame["kind"].isin(["all", "class", "tag"])].pivot(index=["kind", "name"], columns="layer", values="value")
        title = f"{name}, {int(frame['n'].max()):,} texts of {rows}, mean gate by layer (from 0; -1 = mean of all)"
        return [title, by.to_string(float_format="{:.3f}".format), *verdict(frame)]

    return _measured("gates", of, split, FILE, tell, progress)


@verb("Model", stores=True)
def leaders(of: StoredRun, *, split: SplitName = "test", progress: Counted = None) -> Measured:
    """Measure which words become cluster leaders in hardmax RUN over a split, and after how many layers. Stores the table with the run."""
    from sentviz.analysis.testset.leaders import FILE

    run = StoredRun.of(of)
    return _measured("leaders", SourceOfRows(run.run, opened=run.opened), split, FILE, lambda *_: [], progress)


@verb("Rows")
def words(of: SourceOfRows, *, split: Annotated[str, Arg("Split of the data set --data.")] = "test", progress: Counted = None) -> Outcome:
    """Count the words of RUN's right and wrong predictions over its test split. Stores the counts with the run: the page Words reads them.

    With --data or --model, the typical words are printed and nothing is stored. RUN may also be a folder that `sentviz score --words`
    wrote: its parts are merged, and the counts are stored in the folder.
    """
    from sentviz.analysis.testset.word_counts import FILE, count_words, store
    from sentviz.serving.corpus.output import Scored, is_scored

    source = SourceOfRows.of(of)
    if is_scored(source.run):
        from sentviz.serving.corpus.summary import words as over_parts

        scored = Scored(Path(source.run))
        counts = over_parts(scored)
        _, stored = _stored_in_scores(source.run, FILE, counts.frame)
        return _typical(counts, scored.labels, f"{scored.run}, {int(counts.sizes.sum()):,} texts of {source.run}", stored)
    run = source.answers()
    if not source.is_own:
        folder = store(run).path(FILE).parent
        return Outcome((f"Stored in {folder}",), {"stored": str(folder)})
    from sentviz.analysis.testset.rows import RowsSource, predicted
    from sentviz.models.loading import load

    rows, remarks = source.rows(run, split)
    answered = predicted(load(run), RowsSource.of(run), rows.frame, "mine", progress)
    if answered.unread:
        remarks = (*remarks, f"{len(answered.unread):,} rows cannot be read by {run.name}.")
    title = f"{run.name}, {len(answered):,} texts of {rows.name}, {rows.split}"
    return _typical(count_words(answered), run.labels, title, remarks=remarks)


def _typical(counts: Counts, labels: Sequence[str], title: str, stored: str = "", remarks: tuple[str, ...] = ()) -> Outcome:
    from sentviz.analysis.testset.word_counts import STOP_WORDS, keyness, largest, stop_words

    lines, numbers = [f"{title}: words more frequent in each group than by chance"], []
    for (label, predicted), size in zip(counts.cells, counts.sizes.tolist(), strict=True):
        name = labels[predicted] if label < 0 else f"{labels[label]}, predicted {labels[predicted]}"
        some = 0 < size < counts.sizes.sum()
        typical = largest(keyness(counts, (label, predicted)), "keyness", 12, stop_words(STOP_WORDS))["word"] if some else ()
        lines.append(f"  {name} ({size:,}): {' '.join(typical)}")
        numbers.append({"group": name, "texts": size, "words": list(typical)})
    return Outcome((*filter(None, (stored,)), *lines), {"groups": numbers}, remarks)


@verb("Model", stores=True)
def epochs(
    of: StoredRun,
    *,
    sample: Annotated[int, Arg("Number of texts in the random sample.", least=1)] = 400,
    split: SplitName = "validation",
    seed: Seed = 0,
    progress: Annotated[Progress | None, "Epochs"] = None,
) -> Outcome:
    """Predict the same texts, and the run's example, with the weights that RUN has of each epoch. Stores the results with the run."""
    from sentviz.analysis.epochs import KINDS, epoch_series, events
    from sentviz.analysis.evaluation import wilson
    from sentviz.analysis.measurements import measure_run

    run = StoredRun.of(of).answers()
    stored = measure_run("epochs", run, split, sample=sample, seed=seed, progress=progress)
    seen = epoch_series(stored)
    n = len(seen.first.ids)
    lines = [f"Stored in {stored.beside if stored.is_shipped else stored.folder}", f"{stored.name}, {n:,} texts of {split}"]
    lines.append("epoch  accuracy  95 % interval")
    rows = []
    for epoch, right in zip(seen.epochs, seen.right.sum(axis=1).tolist(), strict=True):
        low, high = wilson(right, n)
        lines.append(f"{epoch:>5}{percent(right / n, 2):>10}  {percent(low, 2)} - {percent(high, 2)}")
        rows.append({"epoch": epoch, "accuracy": right / n, "low": low, "high": high, "n": n})
    kinds = events(seen.right).kinds
    numbers = {kind: kinds.count(kind) for kind in KINDS}
    return Outcome((*lines, ", ".join(f"{kind}: {number:,}" for kind, number in numbers.items())), {"epochs": rows, "texts": numbers})


@verb("Model", stores=True)
def directions(
    of: SourceOfRows,
    *,
    sample: Annotated[int, Arg("Rows on which the directions are measured.", least=20)] = 300,
    split: SplitName = "test",
    seed: Seed = 0,
    steer: Annotated[tuple[str, float] | None, Arg("Add the direction of RUN to TEXT, with a norm.", metavar="TEXT NORM")] = None,
    depth: Annotated[int, Arg("Depth at which --steer adds: 0 is the embedding; -1 is the last layer.")] = -1,
    progress: Counted = None,
) -> Measured:
    """Find the direction in which RUN writes its classes, in five ways, and take it away. Stores the table with the run.

    With --data or --model, the table is printed and not stored. Directions are found on some rows and measured on others. With --steer,
    nothing is stored: the direction is added to a text, and the probabilities are printed.
    """
    from sentviz.analysis.causal.direction_tables import FILE, removal_text

    source = SourceOfRows.of(of)
    if steer is not None:
        return _steered(source, steer, depth, sample, split, seed)

    def tell(name: str, rows: str, frame: pd.DataFrame) -> list[str]:
        return [f"{name}, {rows}; accuracy of {int(frame['n'].iloc[0])} rows without the direction", removal_text(frame)]

    return _measured("directions", source, split, FILE, tell, progress, sample=sample, seed=seed)


def _steered(source: SourceOfRows, steer: tuple[str, float], depth: int, sample: int, split: str, seed: int) -> Measured:
    from sentviz.analysis.causal.directions import directions as find
    from sentviz.charts.directions import depth_of

    run, model = source.open()
    rows, remarks = source.rows(run, split) if source.is_own else (None, ())
    class_directions = find(model, None if rows is None else rows.frame, sample=sample, seed=seed)
    at = depth_of(depth, len(class_directions.depths) - 1)
    apart, norm = class_directions.apart("difference", at), class_directions.norms[at]
    frame = class_directions.steer(steer[0], at, [0.0, steer[1]])
    title = f"Depth {at}; distance of the two means {apart:.3g}, mean norm of the states {norm:.3g}"
    return Measured(run.name, steer[0], frame, (title, frame.to_string(index=False, float_format="{:.3f}".format)), remarks)
