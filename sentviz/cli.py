"""The `sentviz` command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from sentviz.errors import SentvizError

__all__ = ["main"]

METHODS = "removal, received, first-layer, difference, rollout, flow, value-weighted, value-zeroing, gradient or integrated-gradients."


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """What users can do wrong becomes one sentence and exit code 2; Ctrl-C exit code 130."""

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except SentvizError as error:
            raise click.ClickException(str(error)) from error
        except KeyboardInterrupt:
            click.echo("\nStopped.", err=True)
            sys.exit(130)
        except BrokenPipeError:  # `sentviz ... | head`
            sys.stdout = None
            sys.exit(0)
        except OSError as error:
            raise click.ClickException(f"{error.strerror or error}: {error.filename or 'the disk'}.") from error

    return wrapped


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sentviz")
def main() -> None:
    """See how sentiment transformers decide. The app itself: streamlit run app/main.py"""


@main.command()
@click.argument("recipe")
@click.option("--model", help="Preset instead of the recipe's: vanilla, diff, ndt-unit-2, cls-last-scaled, hardmax-d2, ...")
@click.option("--seed", type=int, help="Seed instead of the recipe's.")
@click.option("--variant", help="A change by name: equal, swapped or frozen (how lambda starts), 512 (reads 512 tokens).")
@click.option("--hub", help="Fine-tune this Hugging Face encoder, a name or a folder, on the data set RECIPE.")
@click.option("--injection", help="Of a lexicon into that encoder: xia, all, all-scaled, last, last-scaled.")
@click.option("--lexicon", help="Whose polarities it gets, as in lexicon_ko_knu.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True, help="Folder for the run.")
@click.option("--device", default="", help="cpu or cuda; by default the GPU if there is one.")
@click.option("--threads", type=int, help="CPU threads.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
@command
def train(
    recipe: str,
    model: str | None,
    seed: int | None,
    variant: str | None,
    hub: str | None,
    injection: str | None,
    lexicon: str | None,
    out: Path,
    device: str,
    threads: int | None,
    quiet: bool,
) -> None:
    """Train RECIPE, a TOML file or the name of one that ships. A stopped run goes on with the same command."""
    if model and model.startswith("hardmax-"):
        from sentviz.hardmax.training import HardmaxRecipe, train_hardmax

        trained = train_hardmax(HardmaxRecipe.named(recipe, model, seed=seed or 0), out, say=click.echo)
        _say_metrics(trained.name, trained.metrics())
        click.echo(f"Written to {trained.folder}")
        return
    if hub:
        from sentviz.hub import finetune

        settings: dict[str, Any] = {} if seed is None else {"seed": seed}
        tuned = finetune(hub, recipe, out, lexicon=lexicon or "", injection=injection or "", device=device, progress=not quiet, **settings)
        _say_metrics(tuned.name, tuned.metrics())
        click.echo(f"Written to {tuned.folder}")
        return
    from sentviz.recipe import Recipe

    wanted = Recipe.read(recipe, model=model, seed=seed, variant=variant)
    import torch

    from sentviz.training import train as run_training

    if threads:
        torch.set_num_threads(threads)
    try:
        run = run_training(wanted, out, device=device, progress=not quiet)
    except KeyboardInterrupt:
        click.echo("\nThe same command goes on from here.", err=True)
        raise
    _say_metrics(run.name, run.metrics())
    click.echo(f"Written to {run.folder}")


@main.command()
@click.argument("model")
@click.option("--dataset", required=True, help="Whose test split it is asked about, as in sst2 or nsmc.")
@click.option("--labels", default="", help="Its own classes in its order, in the data set's names, as in positive,negative.")
@click.option("--injection", default="", help="Of a lexicon, without any training: xia, all, all-scaled, last, last-scaled.")
@click.option("--lexicon", default="", help="Whose polarities it gets, as in lexicon_ko_knu.")
@click.option("--example", default="", help="The sentence that opens its pages.")
@click.option("--allow-pickle", is_flag=True, help="Also weights that are pickled, as plain tensors.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True, help="Folder for the run.")
@command
def adopt(model: str, dataset: str, labels: str, injection: str, lexicon: str, example: str, allow_pickle: bool, out: Path) -> None:
    """Make a run of a Hugging Face classifier, MODEL by name or folder, as it is: every page then shows it."""
    from sentviz.hub import adopt as adopted

    named = [label.strip() for label in labels.split(",") if label.strip()]
    run = adopted(model, dataset, out, lexicon=lexicon, injection=injection, labels=named, example=example, allow_pickle=allow_pickle)
    _say_metrics(run.name, run.metrics())
    click.echo(f"Written to {run.folder}")


@main.command()
@click.argument("study")
@click.option("--dataset", required=True, help="sst2, twitter_financial, imdb or yelp_full.")
@click.option("--seeds", type=int, default=1, show_default=True, help="Seeds per configuration, from 0.")
@click.option("--jobs", type=int, default=1, show_default=True, help="Runs at a time, one thread each.")
@click.option("--model", "models", multiple=True, help="Only these configurations; by default all of the paper's and the control.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True, help="Folder for the runs.")
@command
def study(study: str, dataset: str, seeds: int, jobs: int, models: tuple[str, ...], out: Path) -> None:
    """Train and evaluate every configuration of STUDY (ndt, ndt-controls).

    What is there is kept; a stopped study goes on with the same command.
    """
    from sentviz.studies.runner import collect, plan, run_study

    recipes = plan(study, dataset, seeds, models)
    outcome = run_study(recipes, out, jobs=jobs)
    frame = collect(recipes, out)
    if not frame.empty:
        path = out / f"{study}-{dataset}.csv"
        frame.to_csv(path, index=False)
        for row in frame[frame["split"] == "test"].sort_values("accuracy", ascending=False).to_dict("records"):
            click.echo(
                f"{row['run']:<40}{row['accuracy']:>8.2%}  [{row['accuracy_low']:.2%}, {row['accuracy_high']:.2%}]  n = {row['n']:,}"
            )
        click.echo(f"All metrics: {path}")
    for name, reason in outcome.failed.items():
        click.echo(f"! {name}: {reason}", err=True)
    if outcome.failed:
        raise click.ClickException(f"{len(outcome.failed)} of {len(recipes)} runs failed; the same command tries them again.")


@main.command()
@click.argument("run")
@click.option("--split", default="test", show_default=True, help="Split of the run's data set.")
@command
def evaluate(run: str, split: str) -> None:
    """Recompute the metrics of RUN (a name or a folder) from its stored weights."""
    from sentviz import datasets, load
    from sentviz.evaluation import evaluate as run_evaluation
    from sentviz.evaluation import metrics
    from sentviz.runs import find

    found = find(run)
    model = load(found.folder)
    rows = datasets.load_split(found.config["data"]["name"], split)
    _say_metrics(found.name, {split: metrics(run_evaluation(model, rows))})


@main.command()
@click.argument("run")
@click.option("--sample", type=click.IntRange(min=1), default=200, show_default=True, help="How many texts of the split.")
@click.option("--split", default="test", show_default=True, help="Split of the run's data set.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the sample and of the random explanations.")
@command
def faithfulness(run: str, sample: int, split: str, seed: int) -> None:
    """Ask how faithful each explanation of RUN is, over a sample of texts, and store it with the run."""
    from sentviz import datasets
    from sentviz.faithfulness import FILE, METRICS, over_split
    from sentviz.model import Model
    from sentviz.runs import attach, find

    found = find(run)
    texts = datasets.load_split(found.config["data"]["name"], split).frame["text"].tolist()
    with click.progressbar(length=sample, label="Texts", file=sys.stderr) as bar:
        frame = over_split(Model.of(found), texts, sample=sample, seed=seed, progress=lambda done, _: bar.update(done - bar.pos))
    click.echo(f"{found.name}, {int(frame['n'].max())} texts of {split}; comprehensiveness: more is better, sufficiency: less")
    click.echo(frame.pivot(index="method", columns="metric", values="value")[list(METRICS)].to_string(float_format="{:+.3f}".format))
    attach(found, FILE, frame)
    click.echo(f"Stored in {found.folder}")


@main.command()
@click.argument("run")
@click.argument("sentence")
@click.option("--score", default="removal", show_default=True, help=METHODS)
@command
def explain(run: str, sentence: str, score: str) -> None:
    """Why RUN answers as it does to SENTENCE, on the terminal."""
    from sentviz import load
    from sentviz.explain import SCORES, agreement, answer, explained
    from sentviz.explain import score as score_of

    model = load(run)
    trace = explained(model, model.trace(sentence), {"removal", score})
    values, how = score_of(trace, score), SCORES[score]
    click.echo(f"{model.name}: {answer(trace)}")
    for label, probability in zip(trace.labels, trace.probabilities, strict=True):
        click.echo(f"  {label:>10} {'█' * round(30 * float(probability)):<30} {probability:6.1%}")
    click.echo(f"\n{how.title} (+ {how.high}, - {how.low}):")
    top = max(float(abs(values).max()), 1e-9)
    width = max(len(token) for token in trace.tokens)
    for token, value, unknown in zip(trace.tokens, values, trace.unknown, strict=True):
        bar = "█" * round(20 * abs(float(value)) / top)
        left, right = (bar.rjust(20), "") if value < 0 else ("", bar)
        shown = "".join(c if c.isprintable() else "·" for c in token)
        click.echo(f"  {shown:<{width}} {left:>20}|{right:<20} {value:+.3f}{'  (not in the vocabulary)' if unknown else ''}")
    if score != "removal" and (rho := agreement(trace, values)) is not None:
        click.echo(f"Rank correlation with word removal: {rho:+.2f}")
    if trace.dropped:
        click.echo(f"The last {trace.dropped:,} tokens are beyond the model's maximum of {model.config.max_length} and were not read.")


@main.command()
@click.argument("run", required=False)
@click.argument("figure", required=False, type=click.Choice(["attention", "overview", "strip", "verdict", "lambda", "curves"]))
@click.option("--paper", help="Every live table and figure of a paper (ndt, hardmax, fused) instead, into the folder OUT.")
@click.option("--text", help="The sentence; by default the run's example.")
@click.option("--layer", type=int, default=1, show_default=True, help="Counted from 1.")
@click.option("--head", default="mean", show_default=True, help="Counted from 1, or mean, max.")
@click.option("--component", default="effective", show_default=True, help="Counted from 1, or effective.")
@click.option("--score", default="removal", show_default=True, help=f"Of the strip: {METHODS}")
@click.option("--dark", is_flag=True, help="For a dark background.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="FILE.png, .svg, .pdf, .html or .csv; with --paper a folder",
)
@command
def export(
    run: str | None,
    figure: str | None,
    paper: str | None,
    text: str | None,
    layer: int,
    head: str,
    component: str,
    score: str,
    dark: bool,
    out: Path,
) -> None:
    """Write FIGURE of RUN to a file, or with --paper every live table and figure of a paper to a folder."""
    if paper is not None:
        _export_paper(paper, run, out)
        return
    from sentviz.export import save
    from sentviz.gallery import draw

    if run is None or figure is None:
        raise click.UsageError("Name a RUN and a FIGURE, or a paper with --paper ndt.")
    if out.is_dir():
        raise click.UsageError(f"{out} is a folder; name a file.")
    made = draw(
        run,
        figure,
        text=text,
        layer=layer - 1,
        head=_number(head),
        component=_number(component),
        score=score,
        theme="dark" if dark else "light",
    )
    save(made, out)
    click.echo(f"Written to {out}")


def _export_paper(paper: str, run: str | None, out: Path) -> None:
    from sentviz.runs import Run, runs
    from sentviz.studies.export_paper import export_paper

    if run is not None:
        raise click.UsageError("--paper takes every run at hand; leave RUN and FIGURE out.")
    with click.progressbar(length=1, label="Tables and figures", file=sys.stderr) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        manifest = export_paper(paper, out, [one for one in runs().values() if isinstance(one, Run)], progress=progress)
    for item in manifest["items"]:
        if item["state"] != "written":
            click.echo(f"! {item.get('title', item['id'])}: {item.get('reason', item['state'])}", err=True)
    if not manifest["pictures"]:
        click.echo("! Without Chrome or Chromium the figures are CSV only.", err=True)
    files = sum(len(part["files"]) for item in manifest["items"] for part in item["parts"])
    click.echo(f"{files} files and manifest.json written to {out}")


@main.command()
@click.argument("run")
@click.option("--sample", type=click.IntRange(min=1), default=300, show_default=True, help="How many texts of the split.")
@click.option("--split", default="test", show_default=True, help="Split of the run's data set.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the sample and of the untrained models.")
@click.option("--inits", type=click.IntRange(min=0), default=20, show_default=True, help="How many untrained models to compare with.")
@command
def specialise(run: str, sample: int, split: str, seed: int, inits: int) -> None:
    """Ask whether the components of RUN specialise, over a sample of texts, and store the answer with the run."""
    from sentviz import datasets
    from sentviz.model import Model
    from sentviz.runs import attach, find
    from sentviz.specialise import FILE, over_split, verdict, word_classes

    found = find(run)
    model, classes = Model.of(found), word_classes()
    texts = datasets.load_split(found.config["data"]["name"], split).frame["text"].tolist()
    with click.progressbar(length=sample * (1 + inits), label="Texts", file=sys.stderr) as bar:

        def tick(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        frame = over_split(model, texts, classes, sample=sample, seed=seed, inits=inits, progress=tick)
    click.echo(f"{found.name}, {int(frame['n'].max())} texts of {split}")
    click.echo("\n".join(verdict(frame)))
    attach(found, FILE, frame)
    click.echo(f"Stored in {found.folder}")


@main.command()
@click.argument("run")
@command
def words(run: str) -> None:
    """Count the words of RUN's right and wrong answers over its test split; stored with the run, so that the page Words needs no texts."""
    from sentviz.runs import find
    from sentviz.words import store

    stored = store(find(run))
    click.echo(f"Stored in {stored.folder}")


@main.command()
@click.argument("run")
@click.option("--split", default="test", show_default=True, help="Split of the run's data set.")
@command
def leaders(run: str, split: str) -> None:
    """Which words lead the clusters of hardmax RUN over a whole split, and how many layers it takes; stored with the run."""
    from sentviz import datasets
    from sentviz.hardmax.leaders import FILE, survey
    from sentviz.hardmax.model import HardmaxModel
    from sentviz.runs import attach, find

    found = find(run)
    attach(found, FILE, survey(HardmaxModel.of(found), datasets.load_split(found.config["data"]["name"], split)))
    click.echo(f"Stored in {found.folder}")


@main.command()
@click.argument("run")
@click.option("--split", default="test", show_default=True, help="Split of the run's data set.")
@command
def heads(run: str, split: str) -> None:
    """What each head of RUN attends to over a whole split, [CLS] in particular; stored with the run."""
    from sentviz import datasets
    from sentviz.heads import FILE, over_split
    from sentviz.model import Model
    from sentviz.runs import attach, find

    found = find(run)
    rows = datasets.load_split(found.config["data"]["name"], split).frame
    with click.progressbar(length=len(rows), label="Texts", file=sys.stderr) as bar:
        frame = over_split(Model.of(found), rows, progress=lambda done, _: bar.update(done - bar.pos))
    mean = frame[frame["head"] < 0].pivot(index="layer", columns="measure", values="value")
    click.echo(f"{found.name}, {len(rows):,} texts of {split}, mean over heads by layer (from 0)")
    click.echo(mean.to_string(float_format="{:.4f}".format))
    attach(found, FILE, frame)
    click.echo(f"Stored in {found.folder}")


@main.command()
@click.argument("run")
@click.argument("sentence")
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="FILE.html")
@command
def report(run: str, sentence: str, out: Path) -> None:
    """Everything about RUN's answer to SENTENCE on one page that needs no network: verdict, words, maps, provenance."""
    import numpy as np

    from sentviz.arithmetic import cell
    from sentviz.explain import SCORES, explained
    from sentviz.model import Model
    from sentviz.report import report_html
    from sentviz.runs import find

    found = find(run)
    model = Model.of(found)
    trace = explained(model, model.trace(sentence), SCORES)
    assert trace.attention is not None
    layer, head, query, key = map(int, np.unravel_index(np.abs(trace.attention).argmax(), trace.attention.shape))
    takes_apart = getattr(model.config, "kind", "") != "hardmax"
    arithmetic = cell(model, trace, layer, head, query, key) if takes_apart else None
    out.write_text(report_html(trace, found, arithmetic=arithmetic), encoding="utf-8")
    click.echo(f"Written to {out}")


@main.command()
@click.option("--folder", "folders", multiple=True, type=click.Path(path_type=Path), help="Further folders of runs.")
@command
def catalog(folders: tuple[Path, ...]) -> None:
    """Every run at hand with its headline metrics."""
    from sentviz.runs import catalog as read

    frame = read(folders)
    if frame.empty:
        click.echo("There are no runs here. `sentviz train sst2` makes one.")
        return
    good = frame[frame["problem"].fillna("") == ""]
    click.echo(f"{'run':<36}{'accuracy':>9}  {'95% interval':<15}{'n':>8}{'parameters':>12}  seed")
    for row in good.to_dict("records"):
        spread = f"{row['low']:.2%} - {row['high']:.2%}"
        click.echo(
            f"{row['run']:<36}{row['accuracy']:>9.2%}  {spread:<17}{int(row['n']):>6,}{int(row['parameters']):>12,}  {int(row['seed'])}"
        )
    for problem in frame[frame["problem"].fillna("") != ""]["problem"]:
        click.echo(f"! {problem}")


@main.group()
def data() -> None:
    """Data sets."""


@data.command("list")
@command
def data_list() -> None:
    """The data sets that sentviz knows, and which are here."""
    from sentviz import datasets

    frame = datasets.datasets()
    click.echo(frame.to_string(index=False))


@data.command("get")
@click.argument("name")
@click.option("--again", is_flag=True, help="Also what is in the cache already.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
@command
def data_get(name: str, again: bool, quiet: bool) -> None:
    """Download data set NAME from the public hub into the user's cache. A stopped download goes on with the same command."""
    from tqdm import tqdm

    from sentviz import datasets, hubdata

    item = datasets.info(name)
    with tqdm(unit="B", unit_scale=True, unit_divisor=1000, desc=name, leave=False, disable=True if quiet else None) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total or None
            bar.update(done - bar.n)

        try:
            fetched = hubdata.get(name, progress=progress, again=again)
        except KeyboardInterrupt:
            bar.close()
            click.echo(f"\nWhat came is kept: `sentviz data get {name}` goes on from here.", err=True)
            raise
    for got in fetched:
        click.echo(f"{got.path}  {got.rows:,} rows{'' if got.exact else '  (not the known rows)'}")
        if got.remark:
            click.echo(f"! {got.remark}", err=True)
    if not fetched:
        click.echo(f"{name} is here already; --again downloads it once more.")
    if lost := [part for part in item.parts if datasets.where(name, part) is None]:
        click.echo(f"Not here: {', '.join(lost)}; {item.hub.why}.", err=True)


@data.command("verify")
@click.argument("name")
@command
def data_verify(name: str) -> None:
    """Compare the files of data set NAME with what is known of them."""
    from sentviz import datasets

    datasets.verify(name)
    click.echo(f"{name} is what it should be.")


@data.command("where")
@command
def data_where() -> None:
    """The folders searched for data sets, in order, and what each holds."""
    from sentviz import datasets

    known = datasets.datasets()["name"]
    for folder in datasets.folders():
        held = [name for name in known if any((folder / name / f"{part}.parquet").is_file() for part in datasets.info(name).parts)]
        click.echo(f"{folder}: {', '.join(held) or 'nothing'}")
    click.echo("The first is SENTVIZ_DATA, where it is set; downloads go to the last, in SENTVIZ_HOME or ~/.cache/sentviz.")


def _number(value: str) -> int | str:
    return int(value) - 1 if value.lstrip("-").isdigit() else value


def _say_metrics(name: str, report: dict[str, Any]) -> None:
    for split, values in report.items():
        for metric, value in values.items():
            if isinstance(value, dict) and "low" in value:
                click.echo(
                    f"{name}  {split:<14}{metric:<20}{value['value']:.4f}  [{value['low']:.4f}, {value['high']:.4f}]  n = {values['n']:,}"
                )
