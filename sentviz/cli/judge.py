"""The command `sentviz judge`: it compares scores of another program with random orders and exact values."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sentviz.cli.rows_options import own_model, own_model_options
from sentviz.cli.terminal import command, main, target_options
from sentviz.errors import InputError
from sentviz.io.documents import read_json

if TYPE_CHECKING:
    from sentviz.analysis.explain.judge import Judgement
    from sentviz.runs.target import Target


@main.command()
@click.argument("run")
@click.argument("scores", required=False, type=click.Path(path_type=Path))
@click.option("--text", help="Text of the scores, if the file does not name it.")
@click.option("--pair", help="Second text, for runs that read pairs.")
@target_options
@click.option("--seed", default=0, show_default=True, help="Seed of the random orders.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object for each text.")
@own_model_options
@command
def judge(
    run: str,
    scores: Path | None,
    text: str | None,
    pair: str | None,
    target: Target,
    seed: int,
    as_json: bool,
    model_name: str,
    classes: str,
) -> None:
    """Judge the explanations of RUN in the file SCORES: do the words that they name first decide the prediction?

    SCORES is JSON: {"text": "...", "tokens": [...], "scores": [...]}, [["word", 0.2], ...] with --text, or a list of such objects.
    Offsets may be added. With --model, leave RUN out.
    """
    from sentviz.analysis.explain.judge import judge as judged
    from sentviz.models.loading import load

    if model_name:
        if scores is not None:
            raise click.UsageError("With --model, give SCORES and no RUN.")
        model, path = own_model(model_name, classes), Path(run)
    else:
        if scores is None:
            raise click.UsageError("Name the file of scores: sentviz judge RUN scores.json.")
        model, path = load(run), scores
    judgements = [
        judged(model, _text_of(explanation, text), _scores_of(explanation), pair=pair, target=target, seed=seed)
        for explanation in _explanations(path)
    ]
    for judgement in judgements:
        click.echo(json.dumps(_as_numbers(judgement), ensure_ascii=False) if as_json else f"{judgement.trace.text}\n  {judgement}")
    if len(judgements) > 1 and not as_json:
        believed = sum(judgement.verdict == "believe" for judgement in judgements)
        doubted = sum(judgement.verdict == "doubt" for judgement in judgements)
        click.echo(f"Of {len(judgements)} explanations, {believed} explain the prediction well and {doubted} do not.")


def _explanations(path: Path) -> list[Any]:
    """Return the explanations of a file: the only one, or the objects of a list."""
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    content = read_json(path)
    several = isinstance(content, list) and content and all(isinstance(explanation, dict) for explanation in content)
    return content if several else [content]


def _text_of(explanation: Any, text: str | None) -> str:
    named = text if text is not None else explanation.get("text") if isinstance(explanation, dict) else None
    if not isinstance(named, str):
        raise InputError('The file does not name the text of the scores: add "text": "..." to it, or give --text.')
    return named


def _scores_of(explanation: Any) -> Any:
    return {name: value for name, value in explanation.items() if name != "text"} if isinstance(explanation, dict) else explanation


def _as_numbers(explanation: Judgement) -> dict[str, Any]:
    """Return a judgement as plain numbers."""
    chance, exact = explanation.chance, explanation.to_exact
    return {
        "text": explanation.trace.text,
        "verdict": explanation.verdict,
        "sentence": str(explanation),
        "words": [
            [word.text, round(float(value), 6)] for word, value in zip(explanation.fitted.words, explanation.fitted.values, strict=True)
        ],
        "fall": chance.fall,
        "random fall": chance.random,
        "random orders as good": chance.higher + chance.equal,
        "random orders": chance.orders,
        "rank correlation": _known(exact.ranks),
        "right signs": _known(exact.signs),
        "finds the strongest": exact.first,
        "relative error": _known(exact.error),
        "order from worst to best": _known(explanation.reached),
        "rank correlation with removal": _known(explanation.to_removal.ranks),
    }


def _known(number: float) -> float | None:
    return None if isnan(number) else number
