"""Figures of one sentence: its prediction, words and maps, and, for a hardmax transformer, its path through the layers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain import SCORES, available, deviation, explained, headline, usual
from sentviz.analysis.explain.exact import Exact
from sentviz.analysis.explain.judge import Judgement, judged
from sentviz.analysis.explain.notices import calibration_note
from sentviz.analysis.explain.scores import find_score
from sentviz.analysis.maps.arithmetic import cell
from sentviz.analysis.maps.compare import map_difference
from sentviz.analysis.maps.gates import signals
from sentviz.analysis.maps.layers import head_patterns, verdict_by_layer
from sentviz.data.cleaning import uncovered
from sentviz.data.tags import describe_tagger
from sentviz.errors import InputError
from sentviz.gallery.registry import capability, figure
from sentviz.gallery.subjects import Sentence, sourced
from sentviz.io.documents import parse_json
from sentviz.models.clustering import weights
from sentviz.runs.store import Run, find
from sentviz.runs.target import PREDICTED
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.figures.figure import Figure

MAPS = capability("maps", "attention maps")
SOFTMAX = capability("softmax", "softmax", "The attention of {run} is not a softmax of scores, so its weights cannot be decomposed.")
GATE = capability("gate", "gates", "{run} has no gates. Runs of the preset sentiformer have gates.")
AWARE = capability(
    "aware", "positions of several signals", "The positions of {run} have only one part. Runs of the preset sentiformer have three parts."
)
CLASSES = capability("predicts", "classes")
MOVING = capability(
    "moving",
    "tokens that move as points",
    "The tokens of {run} do not move as points. `sentviz train imdb --model hardmax-d2` trains a model whose tokens do.",
)


@figure("verdict", "Probability of each class", Sentence, "verdict:probability_bars")
def _verdict(of: Sentence, *, answered: bool = True) -> Figure:
    from sentviz.figures.verdict import probability_bars

    drawn = probability_bars(of.trace.labels, of.trace.probabilities)
    caption = f"{drawn.caption} {calibration_note(of.trace)}".strip()
    return replace(drawn, caption=f"{headline(of.trace)} {caption}" if answered else caption)


@figure("strip", "The sentence coloured by an explanation", Sentence, "strip:token_strip")
def _strip(of: Sentence, *, score: str = "removal") -> Figure:
    find_score(score)
    trace = of.trace
    if not of.has_fixed_trace and not {"removal", score} <= set(available(trace)):
        trace = explained(of.model, of.fresh.for_target(of.aim), ["removal", score])
    return strip(trace, score)


def strip(trace: Trace, name: str) -> Figure:
    """Draw the sentence as tokens coloured by a score; the caption has the score's rank correlation with word removal.

    Colours of attention scores show the difference from an even share, the mean over the tokens.
    """
    from sentviz.analysis.explain import SCORES, agreement, completeness, deviation, ends, score, uncertainty
    from sentviz.figures.strip import token_strip

    low, high = ends(trace, name)
    how, values, without_padding = SCORES[name], score(trace, name), slice(len(trace.tokens) - trace.padding)
    units = trace.units.get(name, np.arange(len(trace.tokens)))[without_padding]
    first = np.unique(units, return_index=True)[1]  # first token of each unit
    drawn = token_strip(
        [_written(trace, np.flatnonzero(units == units[start])) for start in first]
        if name in trace.units
        else trace.tokens[without_padding],
        deviation(trace, name)[first],
        score_name=how.title.lower(),
        specials=trace.specials[first],
        unknown=np.maximum.reduceat(trace.unknown[without_padding], first),
        removed=[(int(first.searchsorted(place)), text) for place, text in _removed(trace)],
        low_label=low,
        high_label=high,
        full=how.full,
        knee=how.knee,
        unit=how.unit,
    )
    words = [drawn.caption, f"{trace.padding:,} tokens of padding follow; the model reads them, too." if trace.padding else "", how.about]
    if int((~trace.specials).sum()) == 1:
        words.append("The text has only one word, so its words cannot be compared.")
    elif int((~trace.specials[first]).sum()) == 1:
        words.append("The text has only one part of this kind, so there is nothing to compare.")
    if name != "removal" and (rho := agreement(trace, values, signed=how.signed)) is not None:
        n, what = int((~trace.specials).sum()), "word removal's effect" if how.signed else "the size of word removal's effect"
        words.append(f"Rank correlation with {what}: {rho:+.2f} over {n} tokens.".replace("-", "−"))
    words += [completeness(trace, name), uncertainty(trace, name)]
    return replace(drawn, caption=" ".join(filter(None, words)))


def _written(trace: Trace, places: npt.NDArray[np.int64]) -> str:
    """Return neighbouring tokens as they are written in the text."""
    if trace.specials[places[0]]:
        return trace.tokens[int(places[0])]
    text = trace.text if trace.segments[places[0]] == 0 else trace.text_pair or ""
    return text[int(trace.offsets[places[0], 0]) : int(trace.offsets[places[-1], 1])]


def _removed(trace: Trace) -> list[tuple[int, str]]:
    """Return the parts of a single text that no token covers because cleaning removed them; parts after a truncation are unknown and
    left out.
    """
    if trace.text_pair is not None:
        return []
    parts = uncovered(trace.text, trace.offsets)
    return [each for each in parts if not trace.dropped or each[0] < len(trace.tokens)]


@figure("methods", "Every explanation of the sentence", Sentence, "methods:method_matrix")
def _methods(of: Sentence) -> Figure:
    trace = of.trace if of.has_fixed_trace else explained(of.model, of.trace, usual(of.model, of.trace))
    return methods(trace)


def methods(trace: Trace) -> Figure:
    """Draw the scores of a trace, one row per method, for words only; without those of other packages, which not everybody has."""
    from sentviz.figures.methods import method_matrix

    words = np.flatnonzero(~trace.specials[: len(trace.tokens) - trace.padding])
    scores = {SCORES[name].title: deviation(trace, name)[words] for name in available(trace) if not SCORES[name].package}
    about = "" if trace.target == PREDICTED else f"All explain {trace.target.says()} instead of the prediction."
    return method_matrix([trace.tokens[i] for i in words], scores, about=about)


@figure("exact", "Exact values of the words, and the pairs that interact", Sentence, "interactions:interaction_arcs", CLASSES)
def _exact(of: Sentence, *, absent: str = "deleted", measure: str = "log-odds", by: str = "", arcs: int = 3) -> Figure:
    from sentviz.analysis.explain.exact import exact

    def compute() -> Exact:
        return exact(of.model, of.trace, by=by or None, absent=absent, measure=measure)  # type: ignore[arg-type]

    return interactions(of.once(("exact", absent, measure, by), compute), arcs=arcs)


def interactions(result: Exact, *, arcs: int = 3) -> Figure:
    """Draw exact values and interactions; the caption says what they mean, what happens to absent words, and what the values sum to."""
    from sentviz.figures.interactions import interaction_arcs

    is_odds = result.measure == "log-odds"
    gone = "deleted" if result.absent == "deleted" else f"replaced by {result.replaced_by}, which the model reads"
    about = (
        f"{result.summary} Absent {result.by} are {gone}. The values sum to f(text) − f(empty text) = {result.full:.2f} −"
        f" ({result.empty:.2f}) = {result.rise:.2f}; f is the {result.measure} of {result.target.says()}."
    )
    return interaction_arcs(
        [player.text for player in result.players],
        result.values,
        result.interactions,
        about=about.replace("-", "−").replace("log−odds", "log-odds"),
        low_label=f"opposes {result.target.says()}",
        high_label=f"supports {result.target.says()}",
        unit=result.measure,
        arcs=arcs,
        full=16.0 if is_odds else 1.0,
        knee=0.5 if is_odds else 0.05,
    )


@figure("judged", "Scores from elsewhere beside the exact values", Sentence, "methods:method_matrix")
def _judged(of: Sentence, *, scores: str = "") -> Figure:

    def compute() -> Judgement:
        trace = of.trace if "removal" in of.trace.token_scores else explained(of.model, of.trace)
        numbers = parse_json(scores, "The option scores") if scores else trace.token_scores["removal"]
        return judged(of.model, trace, numbers)

    return judged_scores(of.once(("judged", scores), compute), "Scores given" if scores else "Word removal")


def judged_scores(judgement: Judgement, title: str) -> Figure:
    """Draw judged scores of a text, one row, with exact values and removal of the same words; the caption has the verdict."""
    from sentviz.figures.methods import method_matrix

    exact = judgement.exact
    rows = {title: judgement.by_player, "Exact Shapley values": exact.values, "Word left out": exact.left_out, "Word alone": exact.alone}
    return method_matrix([player.text for player in exact.players], rows, title=f"{title} beside the exact values", about=str(judgement))


@figure("attention", "One attention map", Sentence, "attention:heatmap", MAPS)
def _attention(
    of: Sentence,
    *,
    layer: int = 0,
    head: int | str = "mean",
    component: int | str = "effective",
    hide_specials: bool = False,
    top: int | None = None,
    side: int = 640,
    least: float = 0.0,
) -> Figure:
    from sentviz.figures.attention import heatmap

    return heatmap(of.trace, layer, head, component, hide_specials=hide_specials, top=top, side=side, least=least)


@figure("overview", "The maps of all heads", Sentence, "multiples:small_multiples", MAPS)
def _overview(of: Sentence, *, component: int | str = "effective") -> Figure:
    from sentviz.figures.multiples import small_multiples

    return small_multiples(of.trace, component)


@figure("smoother", "One row as a sum of weight times value", Sentence, "smoother:smoother", MAPS, SOFTMAX)
def _smoother(
    of: Sentence,
    *,
    layer: int = 0,
    head: int = 0,
    query: int = 0,
    key: int = 0,
    top: int = 8,
    kernel: bool = False,
) -> Figure:
    from sentviz.figures.smoother import smoother

    arithmetic = of.once(("cell", layer, head, query, key), lambda: cell(of.model, of.trace, layer, head, query, key))
    return smoother(arithmetic, top=top, kernel=kernel)


@figure("gates", "The gate of each token, layer by layer", Sentence, "gates:gate_cells", GATE)
def _gates(of: Sentence) -> Figure:
    from sentviz.figures.gates import gate_cells

    trace = of.trace if of.trace.terms else of.new_trace(maps=False, projections=True)
    return gate_cells(trace, tagger=tagger(of.run))


@figure("positions", "What the position of each token is made of", Sentence, "positions:position_signals", AWARE)
def _positions(of: Sentence) -> Figure:
    from sentviz.figures.positions import position_signals

    return position_signals(of.trace, signals(of.model, of.trace), tagger=tagger(of.run))


def tagger(run: Run) -> str:
    """Return a sentence that names the tagger of a run; empty if the run reads no tags."""
    return describe_tagger(run.config["tagger"]["version"]) if run.capabilities.tags else ""


@figure("verdict-by-layer", "The classifier on every layer's states", Sentence, "layers:verdict_lines")
def _verdict_by_layer(of: Sentence) -> Figure:
    from sentviz.figures.layers import verdict_lines

    return verdict_lines(of.trace.labels, verdict_by_layer(of.model, of.trace))


@figure("head-habits", "What each head does in this sentence", Sentence, "layers:head_table", MAPS)
def _head_habits(of: Sentence, *, component: int | str = "effective") -> Figure:
    from sentviz.figures.layers import head_table

    return head_table(head_patterns(of.trace, component))


@figure("difference", "The difference of the maps of two models", Sentence, "attention:difference_map", MAPS)
def _difference(
    of: Sentence,
    *,
    versus: str = "",
    layer: int = 0,
    head: int | str = "mean",
    component: int | str = "effective",
    side: int = 460,
) -> Figure:
    from sentviz.figures.attention import difference_map

    if not versus:
        raise InputError("The figure difference compares two models: name the second run with versus.")
    second = of.once(("versus", versus), lambda: Sentence(find(versus), *of.texts))
    if why := MAPS.lacks(second.run):
        raise InputError(why)
    changed = map_difference(of.trace, second.trace, layer, head, component)
    drawn = difference_map(changed.trace, of.run.name, layer, head, component, pieces=changed.kind, side=side)
    return sourced(drawn, of.run, second.run)


# ---- hardmax


def _followed(of: Sentence) -> Any:
    """Return the hardmax model and the sentence's path through its layers."""
    return of.model, of.model.follow(of.texts[0])


@figure("particles", "The tokens as points after a layer", Sentence, "particles:particles", MOVING)
def _particles(of: Sentence, *, layer: int | None = None) -> Figure:
    from sentviz.browser.particles import scene_of_review
    from sentviz.figures.particles import particles

    model, review = _followed(of)
    scene = scene_of_review(of.run, model, review)
    return particles(scene, layer, name=f"hardmax-{of.run.name}")


@figure("token-step", "The step of one token in a layer", Sentence, "token_step:token_step", MOVING)
def _token_step(of: Sentence, *, layer: int = 0, token: int | None = None) -> Figure:
    from sentviz.figures.token_step import token_step

    _, review = _followed(of)
    z = review.positions
    if not 0 <= layer < len(z) - 1:
        raise InputError(f"{of.run.name} has {len(z) - 1} layers.")
    if token is None:  # the default is the token with the longest first step
        token = int(np.linalg.norm(z[1] - z[0], axis=1).argmax())
    if not 0 <= token < len(review.words):
        raise InputError(f"{of.run.name} reads {len(review.words)} words of this text.")
    share = weights(z[layer], None, 0.0, review.clustering.tolerance)[token]
    return token_step(z[layer], token, share, review.clustering.alpha, review.words)


@figure("leaders-by-layer", "Leaders so far, layer by layer", Sentence, "clustering:layer_lines", MOVING)
def _leaders_by_layer(of: Sentence) -> Figure:
    from sentviz.figures.clustering import layer_lines

    _, review = _followed(of)
    clustering = review.clustering
    leading = [int((clustering.since <= k).sum()) for k in range(len(clustering.positions))]
    words = "Number of leaders up to each layer. A leader is a token that was alone in its C_i."
    return layer_lines({"leaders": leading}, "Leaders", caption=words)
