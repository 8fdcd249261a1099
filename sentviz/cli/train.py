"""Commands that make runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sentviz.cli.terminal import command, listing, main, say_metrics

if TYPE_CHECKING:
    from sentviz.runs.store import Run
    from sentviz.training.recipe import Recipe


def _models() -> list[tuple[str, str]]:
    from sentviz.runs.presets import additions, injections
    from sentviz.runs.registry import papers
    from sentviz.training.recipe import recipe_names

    rows = [(paper.short, ", ".join(paper.presets)) for paper in papers().values() if paper.presets]
    behind = {"with a lexicon": injections(), "with more": additions()}
    rows += [(title, f"-{', -'.join(endings)} behind a name") for title, endings in behind.items()]
    return [*rows, ("recipes", ", ".join(recipe_names()))]


def _studies() -> list[tuple[str, str]]:
    from sentviz.runs.registry import studies

    return [(name, f"{study.about}: {', '.join(study.datasets)}") for name, (_, study) in studies().items()]


@main.command(cls=listing("Models", _models))
@click.argument("recipe")
@click.option("--model", help="Preset instead of the recipe's, as listed below.")
@click.option("--seed", type=click.IntRange(0, (1 << 63) - 1), help="Seed instead of the recipe's.")
@click.option("--variant", help="A change by name: equal, swapped or frozen (how lambda starts), 512 (tokens), epochs (keeps all).")
@click.option("--base", help="Train an adapter on this base, as in minilm; RECIPE is one for a base, or the name of a data set.")
@click.option("--hub", help="Fine-tune this Hugging Face encoder, a name or a folder, on the data set RECIPE.")
@click.option("--injection", help="Of a lexicon into that encoder: xia, all, all-scaled, last, last-scaled.")
@click.option("--lexicon", help="Whose polarities a model with an injection gets, as in lexicon_ko_knu.")
@click.option("--keep-epochs", type=click.IntRange(0), help="Keep the weights after each of the last so many epochs, too.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True, help="Folder for the run.")
@click.option("--device", default="", help="cpu or cuda; by default the GPU if there is one.")
@click.option("--threads", type=click.IntRange(1), help="CPU threads.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
@command
def train(
    recipe: str,
    model: str | None,
    seed: int | None,
    variant: str | None,
    base: str | None,
    hub: str | None,
    injection: str | None,
    lexicon: str | None,
    keep_epochs: int | None,
    out: Path,
    device: str,
    threads: int | None,
    quiet: bool,
) -> None:
    """Train RECIPE, a TOML file or the name of one that ships; with --hub or a hardmax model the name of a data set.

    A stopped run goes on with the same command.
    """
    if threads:
        import torch

        torch.set_num_threads(threads)
    run: Run
    if hub:
        _refuse("A Hugging Face model", model=model, variant=variant, base=base)
        from sentviz.training import finetune

        settings: dict[str, Any] = {name: value for name, value in (("seed", seed), ("keep_epochs", keep_epochs)) if value is not None}
        run = finetune(hub, recipe, out, lexicon=lexicon or "", injection=injection or "", device=device, progress=not quiet, **settings)
    else:
        from sentviz.runs.presets import find_preset
        from sentviz.training.recipe import finished

        given = {"variant": variant, "injection": injection, "lexicon": lexicon, "device": "" if device == "cpu" else device}
        if model and not base:
            _refuse(model, **{name: value for name, value in given.items() if name in find_preset(model).without})
        if injection:
            raise click.UsageError("--injection goes with --hub; a preset has it in its name, as in --model cls-last-scaled.")
        wanted = _recipe(recipe, model=model, seed=seed, variant=variant, base=base, lexicon=lexicon, keep_epochs=keep_epochs)
        if there := finished(wanted, out):
            say_metrics(there.name, there.metrics())
            click.echo(f"{there.folder} was trained by this recipe already; move it away to train it again.")
            return
        from sentviz.training import train as run_training

        try:
            run = run_training(wanted, out, device=device, progress=not quiet)
        except KeyboardInterrupt:
            click.echo("\nThe same command goes on from here.", err=True)
            raise
    say_metrics(run.name, run.metrics())
    click.echo(f"Written to {run.folder}")


def _refuse(what: str, **options: str | None) -> None:
    """Say that an option was given which has no meaning here, rather than pass over it."""
    if given := [name for name, value in options.items() if value]:
        raise click.UsageError(f"{what} does not take --{given[0]}.")


def _recipe(source: str, **changes: Any) -> Recipe:
    """The recipe with its changes, refused here where training would fail or pass over one of them."""
    from sentviz.runs.bases import find_base
    from sentviz.runs.presets import find_preset, on_base
    from sentviz.training.recipe import Recipe

    wanted = Recipe.read(source, **changes)
    if wanted.base:
        wanted = replace(wanted, weights=find_base(wanted.base, wanted.weights).digest)
    shape = on_base(wanted.model, wanted.base) if wanted.base else find_preset(wanted.model).shape
    if changes["lexicon"] and shape.get("lexicon", "none") == "none":
        raise click.UsageError(f"{wanted.model} does not take --lexicon: it has no injection, as cls-last-scaled has.")
    return wanted


@main.command()
@click.argument("model")
@click.option("--dataset", required=True, help="Whose test split it is asked about, as in sst2 or nsmc.")
@click.option("--labels", default="", help="Its own classes in its order, in the data set's names, as in positive,negative.")
@click.option("--injection", default="", help="Of a lexicon, without any training: xia, all, all-scaled, last, last-scaled.")
@click.option("--lexicon", default="", help="Whose polarities it gets, as in lexicon_ko_knu.")
@click.option("--example", default="", help="The sentence that opens its pages.")
@click.option("--pair", default="", help="The second sentence of that example, of a data set of pairs.")
@click.option("--allow-pickle", is_flag=True, help="Also weights that are pickled, as plain tensors.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True, help="Folder for the run.")
@command
def adopt(
    model: str, dataset: str, labels: str, injection: str, lexicon: str, example: str, pair: str, allow_pickle: bool, out: Path
) -> None:
    """Make a run of a Hugging Face classifier, MODEL by name or folder, as it is: every page then shows it."""
    from sentviz.training import adopt as adopted

    find_preset = [label.strip() for label in labels.split(",") if label.strip()]
    opens = (example, pair or None) if example else None
    run = adopted(model, dataset, out, lexicon=lexicon, injection=injection, labels=find_preset, example=opens, allow_pickle=allow_pickle)
    say_metrics(run.name, run.metrics())
    click.echo(f"Written to {run.folder}")


@main.command(cls=listing("Studies", _studies))
@click.argument("study")
@click.option("--dataset", required=True, help="One of the study's data sets; any other name lists them.")
@click.option("--seeds", type=int, default=1, show_default=True, help="Seeds per configuration, from 0.")
@click.option("--jobs", type=int, default=1, show_default=True, help="Runs at a time, one thread each.")
@click.option("--model", "models", multiple=True, help="Only these configurations; by default all of the study's.")
@click.option("--check", type=int, default=0, help="Train so many of its runs here that have no weights again, and compare their answers.")
@click.option("--draw", type=int, default=0, show_default=True, help="The seed by which --check draws them.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True, help="Folder for the runs.")
@command
def study(study: str, dataset: str, seeds: int, jobs: int, models: tuple[str, ...], check: int, draw: int, out: Path) -> None:
    """Train and evaluate every configuration of STUDY on a data set.

    What is there is kept; a stopped study goes on with the same command.
    """
    from sentviz.data.datasets import require
    from sentviz.io.files import replacing
    from sentviz.papers.studies.runner import collect, plan, run_study, source, training

    recipes = plan(study, dataset, seeds, models)
    if check:
        return _check(study, dataset, check, draw, models)
    for name in dict.fromkeys(recipe.dataset for recipe in recipes if not (out / recipe.name / "config.json").is_file()):
        require(name)
    outcome = run_study(recipes, out, command=training(source(study, dataset)), jobs=jobs)
    frame = collect(recipes, out)
    if not frame.empty:
        path = out / f"{study}-{dataset}.csv"
        with replacing(path) as part:
            frame.to_csv(part, index=False)
        for row in frame[frame["split"] == "test"].sort_values("accuracy", ascending=False).to_dict("records"):
            click.echo(
                f"{row['run']:<40}{row['accuracy']:>8.2%}  [{row['accuracy_low']:.2%}, {row['accuracy_high']:.2%}]  n = {row['n']:,}"
            )
        click.echo(f"All metrics: {path}")
    for name, reason in outcome.failed.items():
        click.echo(f"! {name}: {reason}", err=True)
    if outcome.failed:
        raise click.ClickException(f"{len(outcome.failed)} of {len(recipes)} runs failed; the same command tries them again.")


def _check(study: str, dataset: str, count: int, draw: int, models: tuple[str, ...]) -> None:
    """Runs trained again in a folder that goes away."""
    import tempfile

    from sentviz.papers.studies.checking import checked, drawn
    from sentviz.runs.catalog import study_runs

    differ = 0
    for run in drawn(study_runs().runs, study, dataset, count, seed=draw, models=models):
        with tempfile.TemporaryDirectory() as folder:
            one = checked(run, Path(folder))
        differ += one.differ > 0
        click.echo(f"{one.name:<40}{one.n - one.differ:>8,} of {one.n:,} answers equal, probabilities within {one.largest:.1g}")
    if differ:
        raise click.ClickException(f"{differ} of these runs give other answers when they are trained again.")
