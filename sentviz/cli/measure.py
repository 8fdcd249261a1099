"""Commands that measure a run over a split of its data set, most of which keep the answer with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sentviz.cli.terminal import command, main, say_metrics, ticking

if TYPE_CHECKING:
    import pandas as pd

    from sentviz.runs.store import Run

split_option = click.option("--split", default="test", show_default=True, help="Split of the run's data set.")


def kept(kind: str, name: str, split: str, **options: Any) -> Run:
    """Measure the run called `name` over a split and store what comes out with it: the run that has it."""
    from sentviz.analysis.measurements import measure
    from sentviz.runs.store import find

    with ticking("Epochs" if kind == "epochs" else "Texts") as tick:
        run = measure(kind, find(name), split, progress=tick, **options)
    click.echo(f"Stored in {run.folder}")
    return run


def beside(folder: Path, file: str, frame: pd.DataFrame) -> tuple[str, str]:
    """Store a table of all its rows in a folder that `sentviz score` wrote: the run's name, and where the texts are from."""
    from sentviz.io.files import replacing
    from sentviz.serving.corpus.output import Scored

    path = folder / f"_{file}"
    with replacing(path) as part:
        frame.to_parquet(part, index=False)
    click.echo(f"Stored in {path}")
    return Scored(folder).run, str(folder)


@main.command()
@click.argument("run")
@split_option
@command
def evaluate(run: str, split: str) -> None:
    """Recompute the metrics of RUN (a name or a folder) from its stored weights."""
    from sentviz import load
    from sentviz.analysis.evaluation import evaluate as run_evaluation
    from sentviz.analysis.evaluation import metrics
    from sentviz.data import datasets
    from sentviz.runs.store import find

    found = find(run)
    model = load(found.folder)
    rows = datasets.load_split(found.config["data"]["name"], split)
    say_metrics(found.name, {split: metrics(run_evaluation(model, rows))})


@main.command()
@click.argument("run")
@click.option("--sample", type=click.IntRange(min=1), default=200, show_default=True, help="How many texts of the split.")
@split_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the sample and of the random explanations.")
@command
def faithfulness(run: str, sample: int, split: str, seed: int) -> None:
    """Ask how faithful each explanation of RUN is, over a sample of texts, and store it with the run."""
    from sentviz.analysis.explain.faithfulness import FILE, METRICS

    measured = kept("faithfulness", run, split, sample=sample, seed=seed)
    frame = measured.frame(FILE)
    click.echo(f"{measured.name}, {int(frame['n'].max())} texts of {split}; comprehensiveness: more is better, sufficiency: less")
    click.echo(frame.pivot(index="method", columns="metric", values="value")[list(METRICS)].to_string(float_format="{:+.3f}".format))


@main.command()
@click.argument("run")
@click.option("--sample", type=click.IntRange(min=1), default=300, show_default=True, help="How many texts of the split.")
@split_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the sample and of the untrained models.")
@click.option("--inits", type=click.IntRange(min=0), default=20, show_default=True, help="How many untrained models to compare with.")
@command
def specialise(run: str, sample: int, split: str, seed: int, inits: int) -> None:
    """Ask whether the components of RUN specialise, over a sample of texts, and store the answer with the run."""
    from sentviz.analysis.maps.specialise import FILE, verdict

    measured = kept("specialise", run, split, sample=sample, seed=seed, inits=inits)
    frame = measured.frame(FILE)
    click.echo(f"{measured.name}, {int(frame['n'].max())} texts of {split}")
    click.echo("\n".join(verdict(frame)))


@main.command()
@click.argument("run")
@split_option
@command
def heads(run: str, split: str) -> None:
    """What each head of RUN attends to over a whole split, [CLS] in particular; stored with the run.

    RUN may be what `sentviz score --attention` wrote: its parts are merged, and the table is stored there.
    """
    from sentviz.analysis.maps.heads import FILE
    from sentviz.serving.corpus.output import is_scored

    if is_scored(run):
        from sentviz.serving.corpus.output import Scored
        from sentviz.serving.corpus.summary import heads as over_parts

        with ticking("Parts") as tick:
            frame = over_parts(Scored(run), tick)
        name, split = beside(Path(run), FILE, frame)
    else:
        measured = kept("heads", run, split)
        name, frame = measured.name, measured.frame(FILE)
    mean = frame[frame["head"] < 0].pivot(index="layer", columns="measure", values="value")
    click.echo(f"{name}, {int(frame['n'].max()):,} texts of {split}, mean over heads by layer (from 0)")
    click.echo(mean.to_string(float_format="{:.4f}".format))


@main.command()
@click.argument("run")
@split_option
@command
def gates(run: str, split: str) -> None:
    """Which words the gates of RUN shut over a whole split, by part of speech and class of words; stored with the run."""
    from sentviz.analysis.maps.gates import FILE, verdict

    measured = kept("gates", run, split)
    frame = measured.frame(FILE)
    click.echo(f"{measured.name}, {int(frame['n'].max()):,} texts of {split}, mean gate by layer (from 0; -1 = mean over layers)")
    by = frame[frame["kind"].isin(["all", "class", "tag"])]
    click.echo(by.pivot(index=["kind", "name"], columns="layer", values="value").to_string(float_format="{:.3f}".format))
    click.echo("\n".join(verdict(frame)))


@main.command()
@click.argument("run")
@split_option
@command
def leaders(run: str, split: str) -> None:
    """Which words lead the clusters of hardmax RUN over a whole split, and how many layers it takes; stored with the run."""
    kept("leaders", run, split)


@main.command()
@click.argument("run")
@command
def words(run: str) -> None:
    """Count the words of RUN's right and wrong answers over its test split; stored with the run, so that the page Words needs no texts.

    RUN may be what `sentviz score --words` wrote: its parts are merged, and the table is stored there.
    """
    from sentviz.analysis.testset.word_counts import FILE, STOP_WORDS, keyness, largest, stop_words, store
    from sentviz.runs.store import find
    from sentviz.serving.corpus.output import Scored, is_scored

    if is_scored(run):
        from sentviz.serving.corpus.summary import words as over_parts

        scored = Scored(run)
        counts = over_parts(scored)
        beside(Path(run), FILE, counts.frame)
        click.echo(f"{scored.run}, {int(counts.sizes.sum()):,} texts of {run}: words of each cell beyond chance")
        for (label, said), size in zip(counts.cells, counts.sizes.tolist(), strict=True):
            name = scored.labels[said] if label < 0 else f"{scored.labels[label]}, said {scored.labels[said]}"
            typical = (
                largest(keyness(counts, (label, said)), "keyness", 12, stop_words(STOP_WORDS))["word"]
                if 0 < size < counts.sizes.sum()
                else ()
            )
            click.echo(f"  {name} ({size:,}): {' '.join(typical)}")
        return
    click.echo(f"Stored in {store(find(run)).folder}")


@main.command()
@click.argument("run")
@click.option("--sample", type=click.IntRange(min=1), default=400, show_default=True, help="How many texts of the split.")
@click.option("--split", default="validation", show_default=True, help="Split of the run's data set.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the sample.")
@command
def epochs(run: str, sample: int, split: str, seed: int) -> None:
    """Ask RUN, as it was after every epoch that it keeps, about the same texts and its example; stored with the run."""
    from sentviz.analysis.epochs.course import KINDS, course, events
    from sentviz.analysis.evaluation import wilson

    measured = kept("epochs", run, split, sample=sample, seed=seed)
    seen = course(measured)
    n = len(seen.first.ids)
    click.echo(f"{measured.name}, {n:,} texts of {split}\nepoch  accuracy  95% interval")
    for epoch, right in zip(seen.epochs, seen.right.sum(axis=1), strict=True):
        low, high = wilson(right, n)
        click.echo(f"{epoch:>5}{right / n:>10.2%}  {low:.2%} - {high:.2%}")
    kinds = events(seen.right).kinds
    click.echo(", ".join(f"{kind}: {kinds.count(kind):,}" for kind in KINDS))
