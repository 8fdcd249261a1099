"""The command `sentviz patch`: which states carry the prediction from one sentence to another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from sentviz.charts.text import visible
from sentviz.cli.terminal import command, main, progress_bar
from sentviz.data.behaviour import PAIRS
from sentviz.io.numbers import percent, signed

if TYPE_CHECKING:
    from sentviz.analysis.causal.patching import Pair
    from sentviz.models.model import Model

SHOWN = 5  # cells of a quantity that are printed


@main.command()
@click.argument("run")
@click.argument("first", required=False)
@click.argument("second", required=False)
@click.option("--minimal", type=click.Choice(PAIRS), help="Average over minimal pairs of templates that exchange this word; no sentences.")
@click.option("--circuit", "with_circuit", is_flag=True, help="With --minimal: find few heads and feed-forward networks that keep 90 %.")
@click.option("--count", default=40, show_default=True, help="Number of minimal pairs.")
@click.option("--pairs", nargs=2, help="Second sentences of FIRST and SECOND, for runs that read pairs.")
@click.option("--align", multiple=True, metavar="I=J", help="Take the states of token J of SECOND for token I of FIRST. May be repeated.")
@click.option("--cell", "cells", multiple=True, metavar="CELL", help="Cell of a path, as in head:4.7.3 or state:2.5. May be repeated.")
@click.option("--exact", is_flag=True, help="Compute every cell, also if a map is large. By default large maps are estimated first.")
@command
def patch(
    run: str,
    first: str | None,
    second: str | None,
    minimal: str | None,
    with_circuit: bool,
    count: int,
    pairs: tuple[str, str] | None,
    align: tuple[str, ...],
    cells: tuple[str, ...],
    exact: bool,
) -> None:
    """Replace states of RUN on sentence FIRST by those on SECOND, and print which of them carry the prediction over.

    Without SECOND, the smallest edit of FIRST that changes the predicted class is searched and used. Layers, heads and tokens count from 1;
    `state:0.3` is the embedding of the third token. With --cell, the cells are also replaced together. With --minimal, shares are averaged
    over pairs of sentences that differ in one word, with 95 % intervals over pairs.
    """
    from sentviz.analysis.causal.patching import patch as pair_of
    from sentviz.models.loading import load

    if (first is None) == (minimal is None):
        raise click.UsageError("Give either a sentence or --minimal with the word that is exchanged.")
    model = load(run)
    if first is None:
        _print_average(run, model, str(minimal), count, with_circuit)
        return
    pair = pair_of(model, first, second or _flip(model, first), partners=dict(map(_aligned, align)), pairs=pairs or (None, None))
    for trace in (pair.first, pair.second):
        click.echo(f"{trace.label:>10} {percent(float(trace.probabilities.max())):>6}  {visible(trace.text)}")
    click.echo("Aligned: " + " ".join(_alignment(pair)))
    for note in pair.notes():
        click.echo(note)
    click.echo(f"\nDifference: {signed(pair.goal - pair.start, 3)} log-odds of {pair.label}. Shares of the difference that come over:")
    with progress_bar("Heads by token") as report:
        message, _ = pair.strongest(progress=report)
    click.echo(message)
    for what in model.capabilities.replaces:
        _print_map(pair, what, exact)
    back = pair.reverse()
    click.echo(f"\nThe other way, with states of the first sentence in the second: {back.strongest()[0]}")
    if cells:
        edits = [_cell(pair, cell) for cell in cells]
        joint = pair.joint(edits)
        click.echo(f"\nTogether {percent(joint.share, write=signed)}, sum of the single shares {percent(joint.total, write=signed)}:")
        for edit, share in zip(edits, joint.singles, strict=True):
            click.echo(f"  {percent(share, write=signed):>7}  {pair.says(edit.what, edit.at)}")


def _print_average(run: str, model: Model, minimal: str, count: int, with_circuit: bool) -> None:
    from sentviz.analysis.causal.average import averages
    from sentviz.analysis.causal.circuit import circuit
    from sentviz.analysis.causal.patching import TITLES
    from sentviz.data.behaviour import minimal_pairs
    from sentviz.runs.catalog import language
    from sentviz.runs.store import find

    sentences = minimal_pairs(minimal, language(find(run)), count=count)
    whats = [what for what in ("state", "head", "component") if what in model.capabilities.replaces]
    with progress_bar("Minimal pairs") as report:
        results = averages(model, sentences, whats, progress=report)
    for what, result in results.items():
        click.echo(f"\n{TITLES[what]}: {result.says}")
        for place in np.argsort(-np.nan_to_num(result.share, nan=-np.inf).ravel(), kind="stable")[:SHOWN]:
            at = np.unravel_index(place, result.share.shape)
            layer = f"layer {at[0] + (what != 'state')}" if at[0] or what != "state" else "embedding"
            interval = f"[{percent(result.low[at], write=signed)}, {percent(result.high[at], write=signed)}]"
            click.echo(f"  {percent(result.share[at], write=signed):>7}  {interval:<18} {layer}, {result.columns[at[1]]}")
    if with_circuit:
        with progress_bar("Circuit") as report:
            small = circuit(model, sentences, progress=report)
        click.echo(f"\nCircuit: {small.says}")
        for part, (lost, low, high) in zip(small.parts, small.lost.tolist(), strict=True):
            click.echo(
                f"  {percent(lost, write=signed):>7}  [{percent(low, write=signed)}, {percent(high, write=signed)}] is lost without"
                f" {part.name}"
            )


def _flip(model: Model, text: str) -> str:
    from sentviz.analysis.explain.counterfactual import smallest_flip

    flip = smallest_flip(model, model.trace(text, maps=False))
    if not flip.edits:
        raise click.UsageError("No small edit changes the predicted class of this sentence. Give the second sentence.")
    return flip.text


def _aligned(text: str) -> tuple[int, int | None]:
    if (match := re.fullmatch(r"(\d{1,6})=(\d{1,6}|-)", text)) is None:
        raise click.UsageError(f"Write --align as I=J, for example 4=5, or 4=- for no token, not {text!r}.")
    return int(match[1]) - 1, None if match[2] == "-" else int(match[2]) - 1


def _cell(pair: Pair, text: str) -> Any:
    from sentviz.runs.intervention import Edit

    target = Edit.parse(f"{text}=0")
    return pair.edit(target.what, target.at)


def _alignment(pair: Pair) -> list[str]:
    """Return the tokens of the first sentence, with their partners if they differ."""
    first, second = (tuple(map(visible, trace.tokens)) for trace in (pair.first, pair.second))
    names = ((first[i], None if j is None else second[j]) for i, j in enumerate(pair.partners))
    return [mine if mine == theirs else f"[{mine} ← {theirs or '-'}]" for mine, theirs in names]


def _print_map(pair: Pair, what: str, exact: bool) -> None:
    from sentviz.analysis.causal.patching import TITLES

    result = pair.map(what, exact=exact or None)
    shares = np.where(result.exact, result.share, -np.inf).ravel()
    click.echo(f"\n{TITLES[what]}: {result.note}".rstrip())
    for place in np.argsort(-shares, kind="stable")[:SHOWN]:
        at = tuple(int(i) for i in np.unravel_index(place, result.share.shape))
        if result.exact[at]:
            click.echo(
                f"  {percent(result.share[at], write=signed):>7}  {pair.label} {percent(result.probability[at])} "
                f" {visible(pair.says(what, at))}"
            )
