"""Commands that train runs, import classifiers and run studies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sentviz.cli.terminal import command, listener, listing, main
from sentviz.io.lazy import torch
from sentviz.io.numbers import percent, signed
from sentviz.verbs.rows import metric_lines

if TYPE_CHECKING:
    from sentviz.runs.store import Run
    from sentviz.training.recipe import Recipe


def _models() -> list[tuple[str, str]]:
    from sentviz.runs.presets import additions, injections
    from sentviz.runs.registry import papers
    from sentviz.training.recipe import recipe_names

    rows = [(paper.short, ", ".join(paper.presets)) for paper in papers().values() if paper.presets]
    behind = {"with a lexicon": injections(), "with more": additions()}
    rows += [(title, f"a name with -{', -'.join(endings)} at its end") for title, endings in behind.items()]
    return [*rows, ("recipes", ", ".join(recipe_names()))]


def _studies() -> list[tuple[str, str]]:
    from sentviz.runs.registry import studies

    return [(name, f"{study.about}: {', '.join(study.datasets)}") for name, (_, study) in studies().items()]


out_option = click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="Folder for the run; default: runs, or your library for your own data sets."
)


@main.command(cls=listing("Models", _models))
@click.argument("recipe")
@click.option("--model", "--preset", help="Model preset (listed below); default: the recipe's.")
@click.option("--seed", type=click.IntRange(0, (1 << 63) - 1), help="Random seed; default: the recipe's.")
@click.option(
    "--variant",
    help="Variant: equal, swapped or frozen (initial lambda), 512 (maximum tokens), epochs (keep all epochs), wide or wide-512 (initial"
    " word vectors of hardmax).",
)
@click.option(
    "--base",
    help="Train an adapter on this base, for example minilm, or on an encoder of the hub as USER/MODEL. RECIPE is a recipe for bases, or a"
    " data set.",
)
@click.option("--revision", default="", help="Commit of the encoder USER/MODEL of --base, 40 hex digits.")
@click.option("--sha256", default="", help="SHA-256 of model.safetensors of the encoder USER/MODEL of --base, 64 hex digits.")
@click.option("--hub", help="Fine-tune this Hugging Face encoder, a name or a folder, on the data set RECIPE.")
@click.option("--injection", help="Inject a lexicon into the encoder of --hub: xia, all, all-scaled, last or last-scaled.")
@click.option("--lexicon", help="Lexicon with the word polarities for a model with an injection, for example lexicon_ko_knu.")
@click.option("--length", type=click.IntRange(1), help="Pieces of each text that are read; default: the recipe's.")
@click.option("--keep-epochs", type=click.IntRange(0), help="Number of last epochs whose weights are stored, too.")
@out_option
@click.option("--device", default="", help="Device: cpu or cuda; default: the GPU if there is one.")
@click.option("--threads", type=click.IntRange(1), help="Number of CPU threads.")
@click.option("--quiet", is_flag=True, help="Show no progress bar.")
@command
def train(
    recipe: str,
    model: str | None,
    seed: int | None,
    variant: str | None,
    base: str | None,
    revision: str,
    sha256: str,
    hub: str | None,
    injection: str | None,
    lexicon: str | None,
    length: int | None,
    keep_epochs: int | None,
    out: Path | None,
    device: str,
    threads: int | None,
    quiet: bool,
) -> None:
    """Train RECIPE: a TOML file, a shipped recipe, or a data set of yours, on which an adapter of MiniLM or a preset is trained: mine/NAME,
    or a file, which is added to your library. With --hub or a hardmax model, RECIPE is a data set.

    To continue a stopped training, run the command again.
    """
    if threads:
        torch.set_num_threads(threads)
    run: Run
    from sentviz.runs.store import folder_for

    recipe = _in_library(recipe)
    if hub:
        _refuse("A Hugging Face model", model=model, variant=variant, base=base, revision=revision, sha256=sha256)
        from sentviz.training import finetune

        chosen = {"seed": seed, "keep_epochs": keep_epochs, "max_length": length}
        settings: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        run = finetune(
            hub,
            recipe,
            folder_for(recipe, out),
            lexicon=lexicon or "",
            injection=injection or "",
            device=device,
            progress=listener() or not quiet,
            **settings,
        )
    else:
        from sentviz.runs.presets import presets
        from sentviz.training.recipe import finished

        options = {"variant": variant, "injection": injection, "lexicon": lexicon, "device": "" if device == "cpu" else device}
        if model in presets():
            _refuse(model, **{name: value for name, value in options.items() if name in presets()[model].without})
        if base and "/" in base:
            from sentviz.models.pretrained.base import hub_base

            base = hub_base(base, revision=revision, sha256=sha256).name
        elif revision or sha256:
            raise click.UsageError("--revision and --sha256 need an encoder of the hub: --base USER/MODEL.")
        if injection:
            raise click.UsageError("--injection needs --hub. Presets name their injection, for example --model cls-last-scaled.")
        changes = {"model": model, "seed": seed, "variant": variant, "base": base, "lexicon": lexicon}
        changed = _recipe(recipe, **changes, max_length=length, keep_epochs=keep_epochs)
        out = folder_for(changed.dataset, out)
        if existing := finished(changed, out):
            _print_result(existing)
            click.echo(f"{existing.folder} was already trained with this recipe. Move the folder to train the recipe again.")
            return
        from sentviz.training import train as run_training
        from sentviz.training.recipe import recipe_of_paper

        if (own := recipe_of_paper(recipe, changed.model)) and not quiet:
            click.echo(f"{changed.model}'s paper has its own recipe for this data set, {own}; {recipe} is another paper's.", err=True)
        try:
            run = run_training(changed, out, device=device, progress=listener() or not quiet)
        except KeyboardInterrupt:
            click.echo("\nTo continue the training, run the command again.", err=True)
            raise
    _print_result(run)
    click.echo(f"Written to {run.folder}")


def _print_result(run: Run) -> None:
    """Print the metrics of a run; for a data set of the user also the validation accuracy next to that of simple classifiers."""
    from sentviz.data.datasets import is_own

    click.echo("\n".join(metric_lines(run.name, run.metrics())))
    if not is_own(str(run.config["data"]["name"])):
        return
    from sentviz.training.own_data import compared

    frame = compared(run)
    if (reporter := listener()) is not None:
        reporter.send({"compared": frame.to_dict("records")})
    click.echo(f"Accuracy on {int(frame['n'].iloc[0]):,} validation rows, with its 95 % interval:")
    for row in frame.to_dict("records"):
        click.echo(f"  {row['name']:<40}{percent(row['accuracy']):>7}  [{percent(row['low'])}, {percent(row['high'])}]")
    click.echo(f"`sentviz app` shows the run {run.name}.")


def _in_library(source: str) -> str:
    """Return the name of a data set; a file becomes one in the user's library, and the output says how it was understood."""
    from sentviz.data.rows_argument import in_library

    name, summary = in_library(source)
    if summary:
        click.echo(summary)
    return name


def _refuse(what: str, **options: str | None) -> None:
    """Raise UsageError for an option that `what` does not support, so that no option is silently ignored."""
    if unsupported := [name for name, value in options.items() if value]:
        raise click.UsageError(f"{what} does not take --{unsupported[0]}.")


def _recipe(source: str, **changes: Any) -> Recipe:
    """Return the recipe with its changes. Raises UsageError for a lexicon that the model would ignore."""
    from sentviz.runs.presets import find_preset, on_base
    from sentviz.training.recipe import Recipe

    changed = Recipe.read(source, **changes).pinned()
    shape = on_base(changed.model, changed.base) if changed.base else find_preset(changed.model).shape
    if changes["lexicon"] and shape.get("lexicon", "none") == "none":
        raise click.UsageError(f"{changed.model} has no injection, so --lexicon has no effect. Choose for example cls-last-scaled.")
    return changed


@main.command()
@click.argument("run")
@click.option(
    "--intercept", is_flag=True, help="Fit a value per class in addition to the temperature, and add it to the classifier's biases."
)
@command
def calibrate(run: str, intercept: bool) -> None:
    """Fit the calibration of RUN on its validation rows again, evaluate RUN again, and store both. Measured tables of RUN are removed."""
    from sentviz.analysis.calibration import calibration_line
    from sentviz.runs.store import find
    from sentviz.training.finishing import calibrate as fit_again

    calibrated = fit_again(find(run), intercept=intercept)
    report = calibrated.config["calibration"]
    click.echo("\n".join(metric_lines(calibrated.name, calibrated.metrics())))
    click.echo(f"Temperature {calibrated.calibration:g}, intercept {', '.join(signed(value, 4) for value in report['intercept'])}")
    click.echo(
        f"Calibration error on {report['n']:,} validation rows: {report['error_before']:.4f} before, {report['error_after']:.4f} after"
    )
    click.echo(calibration_line(calibrated))


@main.command()
@click.argument("model")
@click.option(
    "--data",
    "--dataset",
    default="",
    help="Data set whose test split evaluates the model, for example sst2 or mine/reviews, or a file, which is added to your library;"
    " default: none.",
)
@click.option(
    "--classes",
    "--labels",
    default="",
    help="Class names in the model's order, for example negative,positive; with --data, the data set's.",
)
@click.option("--head", type=click.Path(path_type=Path), help="Classifier on an encoder's vectors: weight and bias in a safetensors file.")
@click.option("--injection", default="", help="Inject a lexicon without training: xia, all, all-scaled, last or last-scaled.")
@click.option("--lexicon", default="", help="Lexicon with the word polarities for the injection, for example lexicon_ko_knu.")
@click.option("--example", default="", help="Sentence that the run's pages show first.")
@click.option("--pair", default="", help="Second sentence of the example, for a data set of sentence pairs.")
@click.option("--allow-pickle", is_flag=True, help="Allow pickled weights, read as plain tensors only.")
@click.option("--own-name", is_flag=True, help="Add a digest of model and classes to the run's name, so that no other run is replaced.")
@out_option
@command
def adopt(
    model: str,
    data: str,
    classes: str,
    head: Path | None,
    injection: str,
    lexicon: str,
    example: str,
    pair: str,
    allow_pickle: bool,
    own_name: bool,
    out: Path | None,
) -> None:
    """Make a run from a Hugging Face classifier without training. MODEL is a name or a folder. All pages can show the run."""
    from sentviz.runs.store import folder_for
    from sentviz.training import adopt as make_run

    data = _in_library(data)
    out = folder_for(data, out)
    names = [label.strip() for label in classes.split(",") if label.strip()]
    sentences = (example, pair or None) if example else None
    run = make_run(
        model,
        data,
        out,
        lexicon=lexicon,
        injection=injection,
        classes=names,
        head=head,
        example=sentences,
        allow_pickle=allow_pickle,
        own_name=own_name,
    )
    click.echo("\n".join(metric_lines(run.name, run.metrics())))
    click.echo(f"Written to {run.folder}")
    if (reporter := listener()) is not None:
        reporter.send({"run": run.name})
    if not data:
        click.echo(f"It has no test rows. `sentviz evaluate {run.folder} --data DATASET` adds them.")


@main.command(cls=listing("Studies", _studies))
@click.argument("study")
@click.option("--dataset", required=True, help="Data set of the study; an unknown name lists the study's data sets.")
@click.option("--seeds", type=int, default=1, show_default=True, help="Number of seeds per configuration: 0, 1, ...")
@click.option("--jobs", type=int, default=1, show_default=True, help="Runs trained in parallel, one thread each.")
@click.option("--model", "models", multiple=True, help="Configuration to train; default: all of the study. May be repeated.")
@click.option("--check", type=int, default=0, help="Number of stored runs without weights to train again, to compare their predictions.")
@click.option("--draw", type=int, default=0, show_default=True, help="Random seed with which --check selects these runs.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True, help="Folder for the runs.")
@command
def study(study: str, dataset: str, seeds: int, jobs: int, models: tuple[str, ...], check: int, draw: int, out: Path) -> None:
    """Train and evaluate every configuration of STUDY on a data set.

    Existing runs are not trained again. To continue a stopped study, run the command again.
    """
    from sentviz.data.datasets import require
    from sentviz.io.spreadsheet import write_csv
    from sentviz.papers.studies.runner import collect, plan, run_study, source, training

    recipes = plan(study, dataset, seeds, models)
    if check:
        return _check(study, dataset, check, draw, models)
    for name in dict.fromkeys(recipe.dataset for recipe in recipes if not (out / recipe.name / "config.json").is_file()):
        require(name)
    outcome = run_study(recipes, out, command=training(source(study, dataset)), jobs=jobs)
    frame = collect(recipes, out)
    if not frame.empty:
        path = write_csv(out / f"{study}-{dataset}.csv", frame)
        for row in frame[frame["split"] == "test"].sort_values("accuracy", ascending=False).to_dict("records"):
            click.echo(
                f"{row['run']:<40}{percent(row['accuracy'], 2):>8}  [{percent(row['accuracy_low'], 2)},"
                f" {percent(row['accuracy_high'], 2)}]  n = {row['n']:,}"
            )
        click.echo(f"All metrics: {path}")
    for name, reason in outcome.failed.items():
        click.echo(f"! {name}: {reason}", err=True)
    if outcome.failed:
        raise click.ClickException(f"{len(outcome.failed)} of {len(recipes)} runs failed. Run the command again to retry them.")


def _check(study: str, dataset: str, count: int, draw: int, models: tuple[str, ...]) -> None:
    """Train stored runs again in a temporary folder and compare their predictions. Raises ClickException if any differ."""
    import tempfile

    from sentviz.papers.studies.runner import checked, drawn
    from sentviz.runs.catalog import study_runs

    differ = 0
    for run in drawn(study_runs().runs, study, dataset, count, seed=draw, models=models):
        with tempfile.TemporaryDirectory() as folder:
            check = checked(run, Path(folder))
        differ += check.differ > 0
        click.echo(f"{check.name:<40}{check.n - check.differ:>8,} of {check.n:,} predictions equal, probabilities to {check.largest:.1g}")
    if differ:
        raise click.ClickException(f"{differ} of these runs give different predictions when they are trained again.")
