"""The command `sentviz behave`: the behaviour card of a model, and the minimum rates that a continuous integration requires."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sentviz.cli.rows_options import own_model, own_model_options
from sentviz.cli.terminal import command, main, progress_bar

if TYPE_CHECKING:
    from sentviz.analysis.testset.behaviour import Card
    from sentviz.analysis.testset.behaviour_report import Requirement


@main.command()
@click.argument("run", required=False)
@own_model_options
@click.option("--language", default="", help="Language of the cases, en or ko; default: that of RUN, for your own model en.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the cases and of the random edits.")
@click.option("--cases", type=click.IntRange(min=1), default=125, show_default=True, help="Cases per capability.")
@click.option("--templates", "templates_file", type=click.Path(path_type=Path), help="TOML file with templates of your own.")
@click.option("--require", "required", type=click.Path(path_type=Path), help="TOML file with minimum rates. Exit code 1 if one is not met.")
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the card to FILE.json or FILE.md.")
@command
def behave(
    run: str | None,
    model_name: str,
    classes: str,
    language: str,
    seed: int,
    cases: int,
    templates_file: Path | None,
    required: Path | None,
    out: Path | None,
) -> None:
    """Test the behaviour of RUN by capability: negation, contrast, names, typing errors and others, each on 125 cases.

    RUN is a run, or a folder of a Hugging Face model. With --model, your own code is tested. With --require, the JSON is printed unless -o
    names a file for it.
    """
    from sentviz.analysis.testset import behaviour
    from sentviz.analysis.testset.behaviour_report import as_json, as_markdown, read_requirement
    from sentviz.data.behaviour import cases as drawn_cases
    from sentviz.data.behaviour import read_templates
    from sentviz.io.files import replacing
    from sentviz.models.folder import is_model_folder
    from sentviz.models.loading import load
    from sentviz.runs.store import find

    if (run is None) == (not model_name):
        raise click.UsageError("Give RUN, or your own model with --model.")
    if out is not None and out.suffix not in (".json", ".md"):
        raise click.UsageError(f"The card is written as .json or .md, not as {out.suffix or out.name!r}.")
    requirement = None if required is None else read_requirement(required)
    stored = None if run is None or is_model_folder(run) else find(run)
    if stored is not None:
        language = behaviour.language_of(stored, language)
    templates = None if templates_file is None else read_templates(templates_file, language or "en")
    frame = drawn_cases(language or "en", seed=seed, each=cases, templates=templates)
    if requirement is not None:
        requirement.check(list(dict.fromkeys(frame["capability"])))
    with progress_bar("Texts") as report_progress:
        if stored is not None:
            card = behaviour.card_of(stored, wanted=language, seed=seed, each=cases, templates=templates, progress=report_progress)
        else:
            model = own_model(model_name, classes) if run is None else load(run, classes=[each for each in classes.split(",") if each])
            card = behaviour.measure_behaviour(model, frame, spoken=language or "en", progress=report_progress)
    baselines = behaviour.baselines_of(card, stored.config["data"]["name"] if stored is not None else "")
    _print(card, baselines, requirement)
    text = as_markdown(card, baselines) if out is not None and out.suffix == ".md" else as_json(card, baselines, requirement)
    if out is not None:
        with replacing(out) as part:
            part.write_text(text, encoding="utf-8")
    elif requirement is not None:
        click.echo(text, nl=False)
    if requirement is not None and not all(met for *_, met in requirement.verdicts(card).values()):
        sys.exit(1)


def _print(card: Card, baselines: list[Card], requirement: Requirement | None) -> None:
    """Print the rates as a table; to stderr if JSON follows on stdout."""
    from sentviz.analysis.testset.behaviour_report import COUNTS
    from sentviz.data.behaviour import FUNCTIONALITY
    from sentviz.io.numbers import percent

    err = requirement is not None
    verdicts = requirement.verdicts(card) if requirement else {}
    frames = {each.name: each.frame().set_index("capability") for each in baselines}
    click.echo(f"{card.name}: rates in %, with 95 % intervals", err=err)
    click.echo(f"{'capability':<14}{'rate':<18}{'random edit':<18}" + "".join(f"{name:<26.24}" for name in frames), err=err)
    for row in card.frame().to_dict("records"):
        name = row["capability"]
        by_chance = "–" if row["kind"] == FUNCTIONALITY else percent(row["random"], 0, (row["random_low"], row["random_high"]))
        theirs = (frame.loc[name, ["rate", "low", "high"]] for frame in frames.values())
        baseline_rates = "".join(f"{percent(rate, 0, ends):<26}" for rate, *ends in theirs)
        mark = "" if name not in verdicts else "met" if verdicts[name][2] else f"below {percent(verdicts[name][1], 0)}"
        click.echo(
            f"{name:<14}{percent(row['rate'], 0, (row['low'], row['high'])):<18}{by_chance:<18}{baseline_rates}{mark}".rstrip(), err=err
        )
    for remark in card.remarks:
        click.echo(f"! {remark}", err=err)
    if requirement:
        met = sum(met for *_, met in verdicts.values())
        click.echo(f"{met} of {len(verdicts)} minimum rates are met; {COUNTS[requirement.counts]} counts.", err=err)
