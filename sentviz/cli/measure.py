"""Commands that measure a run over a split of its data set. Most of them store the result with the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sentviz.cli.rows_options import Given, given_options, reading_options
from sentviz.cli.terminal import command, main, print_metrics, progress_bar
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sentviz.analysis.testset.word_counts import Counts
    from sentviz.data.labels import Reading

split_option = click.option("--split", default="test", show_default=True, help="Split of the run's data set.")


def measured(kind: str, inputs: Given, split: str, file: str, **options: Any) -> tuple[str, str, pd.DataFrame]:
    """Measure a run over its own rows and store the result with it, or any model over the rows of --data, which stores nothing.

    Args:
        file: name of the stored table.
    Returns:
        The name of the run or model, the rows in words, and the table.
    """
    from sentviz.analysis.measurements import measure_rows, measure_run
    from sentviz.models.loading import load

    of = inputs.answers()
    if inputs.data or inputs.model:
        rows = inputs.rows(of, split, needed=False)
        with progress_bar("Texts") as report_progress:
            frame = measure_rows(kind, load(of), rows, progress=report_progress, **options)
        return of.name, f"{rows.name}, {rows.split}", frame
    with progress_bar("Texts") as report_progress:
        run = measure_run(kind, of, split, progress=report_progress, **options)
    click.echo(f"Stored in {run.path(file).parent}")
    return run.name, split, run.frame(file)


def store_in_scores(folder: Path, file: str, frame: pd.DataFrame) -> tuple[str, str]:
    """Store a table about all rows in a folder that `sentviz score` wrote. Return the run's name and the folder, which names the texts."""
    from sentviz.io.files import replacing
    from sentviz.serving.corpus.output import Scored

    path = folder / f"_{file}"
    with replacing(path) as part:
        frame.to_parquet(part, index=False)
    click.echo(f"Stored in {path}")
    return Scored(folder).run, str(folder)


@main.command()
@given_options
@split_option
@click.option("--versus", multiple=True, help="Model of the same file, or run, to compare a file's predictions with. May be repeated.")
@click.option("--slices", is_flag=True, help="Search for slices of the rows on which RUN is weakest.")
@click.option("--among", default="", help="Rows that are evaluated, as col=product:phone~has=negation; by default all.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the halves of the search with --slices.")
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="CSV file for the mistakes, the most confident first.")
@command
def evaluate(inputs: Given, split: str, versus: tuple[str, ...], slices: bool, among: str, seed: int, out: Path | None) -> None:
    """Compute the metrics of RUN (a name or a folder) again from its stored weights, and print them.

    With --data, RUN or --model is evaluated on another data set or a file with the same classes; a run without test rows gets those of the
    data set.

    RUN may also be a table with predictions of another program: FILE, or FILE:MODEL if it has those of several models. Columns such as
    predicted, prob, p_positive and bert_predicted are recognised. Its mistakes are listed, the most confident ones first.

    With --slices, slices by column, source, length, script, phenomenon, word, cluster of texts, and pairs of them are searched on one half
    of the rows. Those that are weaker than the other rows also on the other half are printed, with intervals.
    """
    from sentviz.analysis.testset.predictions_file import is_table

    if is_table(inputs.run) and not inputs.data and not inputs.model:
        from sentviz.analysis.testset.predictions_file import sources
        from sentviz.analysis.testset.subset import Subset
        from sentviz.cli.print_rows import print_judged, print_weak, write_mistakes

        read = sources(inputs.run, versus, reading=inputs.reading, text=inputs.text, label=inputs.label)
        judged = Subset.parse(among).chosen(*read)
        print_judged(judged, inputs.reading)
        if out is not None:
            write_mistakes(judged[0], out)
        if slices:
            print_weak(judged[0], seed)
        return
    if versus or ((inputs.text or inputs.label) and not inputs.data):
        raise click.UsageError(f"--versus, --text and --label belong to a file, and {inputs.run or inputs.model} is not one.")
    from sentviz import load
    from sentviz.analysis.evaluation import evaluate as run_evaluation
    from sentviz.analysis.evaluation import metrics
    from sentviz.data import datasets
    from sentviz.data.rows_argument import is_file, labelled_rows
    from sentviz.runs.calibration import tempered

    of = inputs.answers()
    if inputs.data and not (inputs.model or of.has_rows or is_file(inputs.data) or out):
        from sentviz.training import evaluate_on

        stored = evaluate_on(of, inputs.data)
        print_metrics(stored.name, stored.metrics())
        click.echo(f"Stored in {stored.folder}")
        return
    own = not inputs.data and not inputs.model
    rows = datasets.rows_of_recipe(of.config["recipe"], split) if own else labelled_rows(inputs.rows(of, split), inputs.reading)
    evaluation = run_evaluation(load(of), rows)
    if not (slices or among):
        print_metrics(of.name, {rows.split: metrics(evaluation)}, len(rows) + rows.dropped if is_file(inputs.data) else 0)
        if out is None:
            return
    from sentviz.analysis.testset.rows import RowsSource, predicted_rows
    from sentviz.analysis.testset.subset import Subset
    from sentviz.cli.print_rows import print_judged, print_weak, write_mistakes

    shares = tempered(evaluation.probabilities.astype(float), of.calibration)
    columns = {str(name): rows.frame[name].array for name in rows.frame}
    over = "mine" if is_file(inputs.data) else split
    chosen = Subset.parse(among).chosen(predicted_rows(RowsSource.of(of), over, of.labels, columns, shares))
    if slices or among:
        print_judged(chosen)
    if out is not None:
        write_mistakes(chosen[0], out)
    if slices:
        print_weak(chosen[0], seed)


@main.command()
@click.argument("run")
@click.option("--data", default="", help="Table of texts and labels, or data set, that RUN predicts; default: its stored test rows.")
@split_option
@click.option("--top", type=click.IntRange(min=0), default=20, show_default=True, help="Number of rows to list.")
@click.option("--text", default="", help="Column of the table's texts; by default it is guessed.")
@click.option("--label", default="", help="Column of the table's labels; by default it is guessed.")
@click.option("--classes", default="", help="Names of the classes of a file in their order, for example negative,positive.")
@reading_options
@click.option("-o", "--out", default="", help="CSV file for all rows that look wrong, repeat, or are among the training rows.")
@command
def labels(run: str, data: str, split: str, top: int, text: str, label: str, classes: str, reading: Reading, out: str) -> None:
    """List the labels of RUN's rows that look wrong, the rows that repeat another one, and those that are among its training rows.

    RUN is a run, or a table with predictions of another program: FILE, or FILE:MODEL. Label errors need the extra `labels` (cleanlab).
    """
    from sentviz.cli.print_rows import print_suspects, rows_to_judge

    print_suspects(rows_to_judge(run, data, split, text=text, label=label, reading=reading), top, out)


@main.command()
@given_options
@click.option("--sample", type=click.IntRange(min=1), default=200, show_default=True, help="Number of texts in the random sample.")
@split_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the sample and of the random explanations.")
@command
def faithfulness(inputs: Given, sample: int, split: str, seed: int) -> None:
    """Measure how faithful each explanation method is to RUN, over a sample of texts. Stores the table with the run.

    With --data or --model, the table is printed and not stored.
    """
    from sentviz.analysis.explain.faithfulness import FILE, METRICS

    name, rows, frame = measured("faithfulness", inputs, split, FILE, sample=sample, seed=seed)
    note = "higher is better for comprehensiveness, lower for sufficiency"
    _print_methods(f"{name}, {int(frame['n'].max())} texts of {rows}; {note}", frame, METRICS)


@main.command()
@given_options
@click.option(
    "--sample",
    type=click.IntRange(min=0),
    default=0,
    help="Number of texts in the random sample; default: 300, 150 or 40, by the size of the model.",
)
@split_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the sample and of the random explanations.")
@command
def referee(inputs: Given, sample: int, split: str, seed: int) -> None:
    """Measure how close each explanation method of RUN is to exact values, over texts of 4 to 10 words. Stores the table with the run.

    With --data or --model, the table is printed and not stored.
    """
    from sentviz.analysis.explain.exact_comparison_table import FILE

    name, rows, frame = measured("referee", inputs, split, FILE, sample=sample, seed=seed)
    note = "higher is better, except for error; first: share of texts whose most decisive word is named first"
    _print_methods(f"{name}, {int(frame['n'].max())} short texts of {rows}; {note}", frame, ("first", "signs", "ranks", "error", "reached"))


def _print_methods(line: str, frame: pd.DataFrame, metrics: Sequence[str]) -> None:
    """Print a line and a table of explanation methods by metric, the highest value of the first metric first."""
    wide = frame.pivot(index="method", columns="metric", values="value").reindex(columns=list(metrics))
    click.echo(f"{line}\n{wide.sort_values(metrics[0], ascending=False).to_string(float_format='{:+.3f}'.format)}")


@main.command()
@given_options
@click.option("--sample", type=click.IntRange(min=1), default=300, show_default=True, help="Number of texts in the random sample.")
@split_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the sample and of the untrained models.")
@click.option("--inits", type=click.IntRange(min=0), default=20, show_default=True, help="Number of untrained models to compare with.")
@command
def specialise(inputs: Given, sample: int, split: str, seed: int, inits: int) -> None:
    """Measure whether the attention components of RUN specialise, over a sample of texts. Stores the table with the run."""
    from sentviz.analysis.maps.specialise import FILE, verdict

    name, rows, frame = measured("specialise", inputs, split, FILE, sample=sample, seed=seed, inits=inits)
    click.echo(f"{name}, {int(frame['n'].max())} texts of {rows}")
    click.echo("\n".join(verdict(frame)))


@main.command()
@given_options
@split_option
@command
def heads(inputs: Given, split: str) -> None:
    """Measure what each head of RUN attends to, [CLS] in particular, over a split. Stores the table with the run.

    RUN may also be a folder that `sentviz score --attention` wrote: its parts are merged, and the table is stored in the folder.
    """
    from sentviz.analysis.maps.heads import FILE
    from sentviz.serving.corpus.output import is_scored

    if is_scored(inputs.run):
        from sentviz.serving.corpus.output import Scored
        from sentviz.serving.corpus.summary import heads as over_parts

        with progress_bar("Parts") as report_progress:
            frame = over_parts(Scored(inputs.run), report_progress)
        name, rows = store_in_scores(Path(inputs.run), FILE, frame)
    else:
        name, rows, frame = measured("heads", inputs, split, FILE)
    mean = frame[frame["head"] < 0].pivot(index="layer", columns="measure", values="value")
    click.echo(f"{name}, {int(frame['n'].max()):,} texts of {rows}, mean over heads by layer (layers counted from 0)")
    click.echo(mean.to_string(float_format="{:.4f}".format))


@main.command()
@given_options
@split_option
@command
def gates(inputs: Given, split: str) -> None:
    """Measure which words the gates of RUN close, by part of speech and word class, over a split. Stores the table with the run."""
    from sentviz.analysis.maps.gates import FILE, verdict

    name, rows, frame = measured("gates", inputs, split, FILE)
    click.echo(f"{name}, {int(frame['n'].max()):,} texts of {rows}, mean gate by layer (from 0; -1 = mean of all)")
    by = frame[frame["kind"].isin(["all", "class", "tag"])]
    click.echo(by.pivot(index=["kind", "name"], columns="layer", values="value").to_string(float_format="{:.3f}".format))
    click.echo("\n".join(verdict(frame)))


@main.command()
@click.argument("run")
@split_option
@command
def leaders(run: str, split: str) -> None:
    """Measure which words become cluster leaders in hardmax RUN over a split, and after how many layers. Stores the table with the run."""
    from sentviz.analysis.testset.leaders import FILE

    measured("leaders", Given(run), split, FILE)


@main.command()
@given_options
@click.option("--split", default="test", show_default=True, help="Split of the data set --data.")
@command
def words(inputs: Given, split: str) -> None:
    """Count the words of RUN's right and wrong predictions over its test split. Stores the counts with the run: the page Words reads them.

    With --data or --model, the typical words are printed and nothing is stored. RUN may also be a folder that `sentviz score --words`
    wrote: its parts are merged, and the counts are stored in the folder.
    """
    from sentviz.analysis.testset.word_counts import FILE, count_words, store
    from sentviz.serving.corpus.output import Scored, is_scored

    if is_scored(inputs.run):
        from sentviz.serving.corpus.summary import words as over_parts

        scored = Scored(inputs.run)
        counts = over_parts(scored)
        store_in_scores(Path(inputs.run), FILE, counts.frame)
        _print_typical(counts, scored.labels, f"{scored.run}, {int(counts.sizes.sum()):,} texts of {inputs.run}")
        return
    of = inputs.answers()
    if not inputs.data and not inputs.model:
        click.echo(f"Stored in {store(of).path(FILE).parent}")
        return
    from sentviz.analysis.testset.rows import RowsSource, predicted
    from sentviz.models.loading import load

    rows = inputs.rows(of, split)
    with progress_bar("Texts") as report_progress:
        answered = predicted(load(of), RowsSource.of(of), rows.frame, "mine", report_progress)
    if answered.unread:
        click.echo(f"! {len(answered.unread):,} rows cannot be read by {of.name}.", err=True)
    _print_typical(count_words(answered), of.labels, f"{of.name}, {len(answered):,} texts of {rows.name}, {rows.split}")


def _print_typical(counts: Counts, labels: Sequence[str], title: str) -> None:
    from sentviz.analysis.testset.word_counts import STOP_WORDS, keyness, largest, stop_words

    click.echo(f"{title}: words more frequent in each group than by chance")
    for (label, predicted), size in zip(counts.cells, counts.sizes.tolist(), strict=True):
        name = labels[predicted] if label < 0 else f"{labels[label]}, predicted {labels[predicted]}"
        some = 0 < size < counts.sizes.sum()
        typical = largest(keyness(counts, (label, predicted)), "keyness", 12, stop_words(STOP_WORDS))["word"] if some else ()
        click.echo(f"  {name} ({size:,}): {' '.join(typical)}")


@main.command()
@click.argument("run")
@click.option("--sample", type=click.IntRange(min=1), default=400, show_default=True, help="Number of texts in the random sample.")
@click.option("--split", default="validation", show_default=True, help="Split of the run's data set.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the sample.")
@command
def epochs(run: str, sample: int, split: str, seed: int) -> None:
    """Predict the same texts, and the run's example, with the weights that RUN has of each epoch. Stores the results with the run."""
    from sentviz.analysis.epochs import KINDS, epoch_series, events
    from sentviz.analysis.evaluation import wilson
    from sentviz.analysis.measurements import measure_run
    from sentviz.runs.store import find

    with progress_bar("Epochs") as report_progress:
        stored = measure_run("epochs", find(run), split, sample=sample, seed=seed, progress=report_progress)
    click.echo(f"Stored in {stored.beside if stored.is_shipped else stored.folder}")
    seen = epoch_series(stored)
    n = len(seen.first.ids)
    click.echo(f"{stored.name}, {n:,} texts of {split}\nepoch  accuracy  95 % interval")
    for epoch, right in zip(seen.epochs, seen.right.sum(axis=1), strict=True):
        low, high = wilson(right, n)
        click.echo(f"{epoch:>5}{percent(right / n, 2):>10}  {percent(low, 2)} - {percent(high, 2)}")
    kinds = events(seen.right).kinds
    click.echo(", ".join(f"{kind}: {kinds.count(kind):,}" for kind in KINDS))


@main.command()
@given_options
@click.option("--sample", type=click.IntRange(min=20), default=300, show_default=True, help="Rows on which the directions are measured.")
@split_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the samples and of the random directions.")
@click.option("--steer", nargs=2, type=(str, float), metavar="TEXT NORM", help="Add the direction of RUN to TEXT, with a norm.")
@click.option("--depth", type=int, default=-1, help="Depth at which --steer adds: 0 is the embedding; default: the last layer.")
@command
def directions(inputs: Given, sample: int, split: str, seed: int, steer: tuple[str, float] | None, depth: int) -> None:
    """Find the direction in which RUN writes its classes, in five ways, and take it away. Stores the table with the run.

    With --data or --model, the table is printed and not stored. Directions are found on some rows and measured on others. With --steer,
    nothing is stored: the direction is added to a text, and the probabilities are printed.
    """
    from sentviz.analysis.causal.direction_tables import FILE, removal_text

    if steer is not None:
        from sentviz.analysis.causal.directions import directions as find
        from sentviz.charts.directions import depth_of
        from sentviz.models.loading import load

        of = inputs.answers()
        rows = inputs.rows(of, split).frame if inputs.data or inputs.model else None
        class_directions = find(load(of), rows, sample=sample, seed=seed)
        at = depth_of(depth, len(class_directions.depths) - 1)
        apart, norm = class_directions.apart("difference", at), class_directions.norms[at]
        click.echo(f"Depth {at}; distance of the two means {apart:.3g}, mean norm of the states {norm:.3g}")
        click.echo(class_directions.steer(steer[0], at, [0.0, steer[1]]).to_string(index=False, float_format="{:.3f}".format))
        return
    name, of_rows, frame = measured("directions", inputs, split, FILE, sample=sample, seed=seed)
    click.echo(f"{name}, {of_rows}; accuracy of {int(frame['n'].iloc[0])} rows without the direction")
    click.echo(removal_text(frame))
