"""Every figure of a run by name: what the command line exports and the pages show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

from sentviz.errors import InputError
from sentviz.explain import SCORES, agreement, answer, available, deviation, explained, score
from sentviz.figures import (
    Figure,
    Theme,
    curves,
    heatmap,
    lambda_evolution,
    probability_bars,
    small_multiples,
    token_strip,
)
from sentviz.runs import Run, find
from sentviz.testset.rows import OVER, Rows

if TYPE_CHECKING:
    from sentviz.trace import Trace

__all__ = ["FIGURES", "code", "draw", "lambda_figure", "signed", "strip"]

FIGURES = ("attention", "overview", "strip", "verdict", "lambda", "curves")


def signed(figure: Figure, *sources: Run, split: str = "test", rows: Rows | None = None, trace: Trace | None = None) -> Figure:
    """The figure with where it comes from: run, seed, which rows, digest; and what was changed by hand in the trace it is of.

    Args:
        split: one of the runs' own, where it is of no other rows.
    """

    def about(run: Run) -> str:
        return rows.about if rows is not None else f"{OVER.get(split, split)} n = {run.metrics()[split]['n']:,}"

    parts = [f"{run.name} (seed {run.config['recipe']['seed']}, {about(run)}, digest {run.digest})" for run in sources]
    words = [f"{'; '.join(parts)}."]
    if trace is not None and sources:
        from sentviz.remarks import remarks

        words += [sentence for kind, sentence in remarks(trace, sources[-1]) if kind == "changed"]
    return replace(figure, source=" ".join(words))


def strip(trace: Trace, name: str, theme: Theme = "light") -> Figure:
    """The sentence as tokens coloured by a score, with the score's rank correlation with word removal's effect.

    Attention scores are coloured by their distance from an even share, the mean over the tokens.
    """
    how, values = SCORES[name], score(trace, name)
    figure = token_strip(
        trace.tokens,
        deviation(trace, name),
        score_name=how.title.lower(),
        specials=trace.specials,
        unknown=trace.unknown,
        low_label=how.low,
        high_label=how.high,
        least=how.least,
        theme=theme,
    )
    words = [figure.caption, how.about]
    if int((~trace.specials).sum()) == 1:
        words.append("One word alone has nothing to stand out from.")
    if name != "removal" and (rho := agreement(trace, values, signed=how.signed)) is not None:
        n, what = int((~trace.specials).sum()), "word removal's effect" if how.signed else "the size of word removal's effect"
        words.append(f"Rank correlation with {what}: {rho:+.2f} over {n} tokens.".replace("-", "−"))
    return replace(figure, caption=" ".join(filter(None, words)))


def lambda_figure(sources: Sequence[Run], *, change: bool = False, theme: Theme = "light") -> Figure:
    """Lambda over the steps of training, with the paper's final values where it prints them.

    Raises:
        InputError: no run has a lambda.
    """
    import pandas as pd

    from sentviz.papers import printed

    marks = [
        frame[frame["name"] == "lambda"].assign(run=run.name)[["run", "layer", "component", "value"]]
        for run in sources
        if run.capabilities.lambdas
        for frame in [printed(run.config["data"]["name"], run.config["preset"])]
    ]
    marks = [mark for mark in marks if not mark.empty]
    return signed(
        lambda_evolution(
            {run.name: run.history() for run in sources},
            change=change,
            printed=pd.concat(marks) if marks else None,
            theme=theme,
        ),
        *sources,
    )


def draw(
    name: str,
    figure: str,
    *,
    text: str | None = None,
    pair: str | None = None,
    lambdas: Any = None,
    heads_off: Sequence[tuple[int, int]] = (),
    strength: float | Mapping[str, float] = 1.0,
    layer: int = 0,
    head: int | str = "mean",
    component: int | str = "effective",
    score: str = "removal",
    versus: Sequence[str] = (),
    change: bool = False,
    x: Literal["epoch", "step"] = "epoch",
    theme: Theme = "light",
) -> Figure:
    """A figure of a run by name.

    Args:
        name: the run. figure: one of `FIGURES`.
        text: the sentence, the run's example unless given; pair: the second one of a pair.
        lambdas, heads_off, strength: interventions, as in `Model.trace`.
        layer, head, component: of the map, counted from 0. score: of the strip.
        versus: further runs, for lambda and curves. change: lambda from its start. x: axis of the curves.
    Raises:
        RunError, InputError: in one sentence for the user.
    """
    if figure not in FIGURES:
        raise InputError(f"There is no figure {figure!r}; there are {', '.join(FIGURES)}.")
    run, others = find(name), [find(other) for other in versus]
    if figure == "lambda":
        return lambda_figure([run, *others], change=change, theme=theme)
    if figure == "curves":
        return signed(curves({r.name: r.history() for r in (run, *others)}, x=x, theme=theme), run, *others)
    trace = run.example()
    asks = figure == "strip" and score in SCORES and score not in available(trace)
    changed: dict[str, Any] = {"lambdas": lambdas, "heads_off": heads_off, "strength": strength}
    if lambdas is not None or heads_off or strength != 1 or (text is not None and (text, pair) != (trace.text, trace.text_pair)) or asks:
        from sentviz.models.loading import load

        model = load(run)
        trace = model.trace(*((trace.text, trace.text_pair) if text is None else (text, pair)), **changed)
        trace = explained(model, trace, {"removal", score} if asks else ["removal"], **changed)
    try:
        match figure:
            case "attention":
                made = heatmap(trace, layer, head, component, theme=theme)
            case "overview":
                made = small_multiples(trace, component, theme=theme)
            case "strip":
                made = strip(trace, score, theme=theme)
            case _:
                made = probability_bars(trace.labels, trace.probabilities, theme=theme)
                made = replace(made, caption=f"{answer(trace)} {made.caption}")
    except KeyError as error:
        raise InputError(f"{run.name}: {error.args[0]}.") from error
    return signed(made, run)


def code(name: str, figure: str, **options: Any) -> str:
    """The lines that make the same figure in a notebook; options as `draw` takes them, None and defaults left out."""
    defaults = {key: parameter.default for key, parameter in signature(draw).parameters.items()}
    given = "".join(f", {key}={value!r}" for key, value in options.items() if value is not None and value != defaults[key])
    return f"from sentviz.gallery import draw\n\nfigure = draw({name!r}, {figure!r}{given})\nfigure.plot.show()  # numbers: figure.frame"
