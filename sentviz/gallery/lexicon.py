"""The legend of colours, and figures of a lexicon in one sentence: polarities, their part of the scores, and the change that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.maps.compare import difference
from sentviz.analysis.maps.injection import Entries, Row, entries_of, reached, row
from sentviz.data.lexicon import Lexicon
from sentviz.errors import SentvizError
from sentviz.gallery.registry import capability, figure
from sentviz.gallery.sentence import MAPS
from sentviz.gallery.subjects import Sentence, Study
from sentviz.runs.intervention import Edit
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.figures.figure import Figure

LEXICON = capability("lexicon", "a lexicon", "{run} has no lexicon. Runs of the preset cls-last-scaled have a lexicon.")


@figure("colours", "What each colour means", Study, "legend:colour_legend")
def _colours(of: Study) -> Figure:
    from sentviz.figures.legend import colour_legend

    return colour_legend()


def _polar(of: Sentence) -> Trace:
    """Return the trace with its polarities; stored examples of old runs lack them, so the model is run."""
    return of.trace if of.trace.polarity is not None else of.fresh


def _token(trace: Trace, token: int | None) -> int:
    """Return the given token, by default the token with the strongest polarity."""
    if token is not None:
        return range(len(trace.tokens))[token]
    assert trace.polarity is not None
    return int(np.abs(trace.polarity[:, 0] - trace.polarity[:, 2]).argmax())


@figure("polarity", "The sentence coloured by polarity", Sentence, "lexicon:polarity_strip", LEXICON)
def _polarity(of: Sentence, *, token: int | None = None) -> Figure:
    from sentviz.figures.lexicon import polarity_strip

    return polarity_strip(_polar(of), token=token)


@figure("polarity-of-token", "The three shares of one token", Sentence, "lexicon:polarity_bars", LEXICON)
def _polarity_of_token(of: Sentence, *, token: int | None = None) -> Figure:
    from sentviz.figures.lexicon import polarity_bars

    trace = _polar(of)
    place = _token(trace, token)
    assert trace.polarity is not None
    entries = of.once(("entries", place), lambda: _entries(of, place, bool(trace.specials[place])))
    return polarity_bars(trace.polarity[place], trace.tokens[place], entries)


def _entries(of: Sentence, token: int, special: bool) -> Entries | None:
    """Return the lexicon's entries of a token; None for special tokens, and if the lexicon is not available."""
    if special:
        return None
    try:
        lexicon = Lexicon.load(of.run.config["recipe"]["lexicon"])
        return entries_of(lexicon, of.model.tokenizer, int(of.model.encode(*of.texts).ids[token]))
    except SentvizError:
        return None


@figure("sigma", "What the lexicon adds for every pair of tokens", Sentence, "lexicon:sigma_map", LEXICON)
def _sigma(of: Sentence, *, side: int = 400) -> Figure:
    from sentviz.figures.lexicon import sigma_map

    return sigma_map(_polar(of), side=side)


@figure("lexicon-scores", "One token's scores without and with the lexicon's term", Sentence, "lexicon:score_row", LEXICON)
def _scores(of: Sentence, *, layer: int = 0, head: int = -1, component: int = 0, token: int | None = None) -> Figure:
    from sentviz.figures.lexicon import score_row

    return score_row(row_of(of, layer, head, component, token))


@figure("lexicon-attention", "One token's attention without and with the lexicon", Sentence, "lexicon:attention_row", LEXICON)
def _attention(of: Sentence, *, layer: int = 0, head: int = -1, component: int = 0, token: int | None = None) -> Figure:
    from sentviz.figures.lexicon import attention_row

    return attention_row(row_of(of, layer, head, component, token))


def row_of(of: Sentence, layer: int, head: int, component: int, token: int | None) -> Row:
    """Return one query's row, by default that of the last head that the lexicon reaches."""
    trace = _polar(of)
    head = reached(of.run.shape)[-1] if head < 0 else head
    place = _token(trace, token)
    row_data: Row = of.once(("row", layer, head, component, place), lambda: row(of.model, trace, layer, head, place, component))
    return row_data


@figure("lexicon-difference", "What the lexicon changes in a map", Sentence, "attention:difference_map", LEXICON, MAPS)
def _difference(
    of: Sentence,
    *,
    layer: int = 0,
    head: int | str = "mean",
    component: int | str = "effective",
    side: int = 400,
) -> Figure:
    from sentviz.figures.attention import difference_map

    changed = difference(of.once("without the lexicon", lambda: of.new_trace(Edit("term", name="lexicon", to=0.0))), of.trace)
    return difference_map(changed, "itself without its lexicon", layer, head, component, side=side)
