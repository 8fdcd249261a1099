"""Compute how a lexicon enters attention, step by step (Sentiment-Fused Attention, figures 1 to 3).

    entries that contain x -> their sums -> lambda(x), smoothed -> sigma_ij = lambda(x_i) . lambda(x_j)
    S = Q K^T / sqrt(d_k) + s t sigma                       Sentiment-Fused Attention
    S = Q K^T / sqrt(d_k) * (s sigma + 1 - s)               Xia et al. 2021
    A = softmax(S)

s is the strength, 1 as trained, and 0 in heads that the injection does not reach; t is 1 or, scaled, 1 / sqrt(d_k). *Before* is the same
model asked without its lexicon, s = 0 in every layer: in layer 1, Q and K are the same before and after; above, they read other states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.maps.arithmetic import plain
from sentviz.data.lexicon import SIDES, SMOOTHING, Lexicon, entries, sigma
from sentviz.data.texts import word_spans
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.io.lazy import pd, torch
from sentviz.runs.configs import EncoderConfig, HubConfig, ModelConfig
from sentviz.runs.intervention import Edit
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Entries:
    """The terms of a lexicon that contain a token, and what they come to."""

    frame: pd.DataFrame  # term, positive, neutral, negative: what each adds
    sums: Floats  # (3,)
    smoothing: float
    polarity: Floats  # (3,) lambda(x)


@dataclass(frozen=True, eq=False)
class Row:
    """One query's row of one head and component, from Q K^T to attention, with a lexicon and before."""

    run: str
    layer: int
    head: int
    component: int
    token: int  # the query
    tokens: tuple[str, ...]
    strength: float
    multiplies: bool  # Xia et al.: what is injected is a factor
    sigma: Floats  # (m,)
    plain: Floats  # (m,) Q K^T / sqrt(d_k)
    injected: Floats  # (m,) added to it, or multiplied with it
    scores: Floats  # (m,)
    before: Floats  # (m,) attention of the same model at strength 0
    after: Floats  # (m,) softmax of the scores, over the keys that are seen

    @property
    def frame(self) -> pd.DataFrame:
        """Frame with one row per key: key, key_token and the numbers."""
        named = {name: getattr(self, name) for name in ("sigma", "plain", "injected", "scores", "before", "after")}
        return pd.DataFrame({"key": np.arange(len(self.tokens)), "key_token": list(self.tokens), **named})


def entries_of(lexicon: Lexicon, tokenizer: Tokenizer, token: int, smoothing: float = SMOOTHING) -> Entries:
    """Return the lexicon terms that contain a vocabulary entry, and lambda(x) computed from them; neutral if there are none."""
    frame = entries(lexicon, tokenizer, token, most=len(lexicon.terms))
    sums = frame[list(SIDES)].to_numpy(float).sum(axis=0)
    polarity = (sums + smoothing) / (sums.sum() + 3 * smoothing) if sums.sum() > 0 else np.full(3, 1 / 3)
    return Entries(frame, sums, smoothing, polarity)


def neutral(polarity: npt.ArrayLike) -> Bools:
    """Return whether lambda(x) is (1/3, 1/3, 1/3) to the precision of stored models, (n,) bool."""
    return np.asarray(np.isclose(np.asarray(polarity, dtype=float), 1 / 3, atol=1e-3).all(axis=1))


def by_accident(trace: Trace) -> list[tuple[int, str]]:
    """Return the tokens that are a part of a word but have a polarity, each with its word.

    Such a polarity comes from lexicon terms that contain the letters of the token, whatever the word is: "he" in "The".
    """
    if trace.polarity is None:
        return []
    flat = neutral(trace.polarity)
    parts = ((i, word.text) for word in word_spans(trace.text, trace, trace.text_pair) if len(word.indices) > 1 for i in word.indices)
    return [(i, word) for i, word in parts if not flat[i] and not trace.specials[i]]


def reached(shape: ModelConfig) -> tuple[int, ...]:
    """Return the heads of each layer that a model's injection reaches; an empty tuple without a lexicon."""
    if not isinstance(shape, EncoderConfig | HubConfig) or shape.lexicon == "none":
        return ()
    return (shape.heads - 1,) if shape.lexicon_heads == "last" else tuple(range(shape.heads))


def described(shape: ModelConfig) -> str:
    """Return a description of the injection, such as "adds σ / √32 to the scores of the last head of every layer"; "" without one."""
    if not isinstance(shape, EncoderConfig | HubConfig) or shape.lexicon == "none":
        return ""
    heads = "the last head of every layer" if shape.lexicon_heads == "last" else "all heads of every layer"
    if shape.lexicon == "multiply":
        return f"multiplies the scores of {heads} by σ"
    return f"adds σ{f' / √{shape.key_size}' if shape.lexicon_scaled else ''} to the scores of {heads}"


def row(model: Model, trace: Trace, layer: int, head: int, token: int, component: int = 0) -> Row:
    """Return one query's row, computed under the interventions of the trace, and again without the lexicon.

    Args:
        model: model of the trace.
        trace: trace with the polarities of its tokens.
        layer, head, token, component: counted from 0.
    """
    if not model.capabilities.lexicon or trace.polarity is None:
        raise InputError(f"{trace.run} has no lexicon.")

    from sentviz.models.terms import terms_of

    selection: dict[str, Any] = {"layers": (layer,), "heads": (head,), "components": (component,), "queries": (token,), "projections": True}
    change = trace.change.without("head", (layer, head))
    captured = model.trace(trace.text, trace.text_pair, scores=True, **selection, change=change)
    before = model.trace(trace.text, trace.text_pair, **selection, change=change.with_(Edit("term", name="lexicon", to=0.0)))
    assert captured.scores is not None and captured.queries is not None and captured.keys is not None
    assert captured.components is not None and before.components is not None
    terms = terms_of(captured)[0]
    structure = terms.structure.part(queries=torch.tensor([token]))
    injected = structure.factor or next(bias for bias in structure.biases if bias.name == "lexicon")
    return Row(
        run=trace.run,
        layer=layer,
        head=head,
        component=component,
        token=token,
        tokens=trace.tokens,
        strength=trace.change.strength.get("lexicon", 1.0),
        multiplies=structure.factor is not None,
        sigma=sigma(trace.polarity)[token].astype(float),
        plain=float(terms.scale) * (captured.keys[0, 0, 0].astype(float) @ captured.queries[0, 0, 0, 0].astype(float)),
        injected=injected.dense()[0, 0, 0, 0].numpy().astype(float),
        scores=captured.scores[0, 0, 0, 0].astype(float),
        before=before.components[0, 0, 0, 0].astype(float),
        after=captured.components[0, 0, 0, 0].astype(float),
    )


# ---- in words

ACCIDENTS = 6  # parts of words that a warning names


def accidents_in_words(trace: Trace) -> str:
    """Return which tokens have a polarity only because entries of the lexicon contain their letters; "" if none has."""
    accidents = by_accident(trace)
    named = ", ".join(f"“{trace.tokens[i]}” of “{word}”" for i, word in accidents[:ACCIDENTS])
    more = f" and {len(accidents) - ACCIDENTS} more" if len(accidents) > ACCIDENTS else ""
    return named and (
        f"These tokens are only parts of words: {named}{more}. Such a token has the polarity of all entries that contain it, not of its"
        " word."
    )


def strongest(trace: Trace) -> int:
    """Return the token with the strongest polarity, a complete word if there is one."""
    assert trace.polarity is not None
    strong = np.abs(trace.polarity[:, 0] - trace.polarity[:, 2])
    words_only = strong.copy()
    words_only[[i for i, _ in by_accident(trace)]] = 0
    return int((words_only if words_only.any() else strong).argmax())


def row_in_words(trace: Trace, shape: ModelConfig, row: Row) -> list[str]:
    """Return what the lexicon can change in a row, and what the row without it is."""
    assert trace.polarity is not None
    heads, word, notes = reached(shape), trace.tokens[row.token], []
    if row.head not in heads:
        notes.append(f"Only head {heads[-1] + 1} uses the lexicon. Changes in head {row.head + 1} come from the layers below.")
    elif neutral(trace.polarity)[row.token] and row.multiplies:
        notes.append(
            f"“{word}” is neutral: σ is 1/3 towards every token, so all its scores are multiplied by {plain(float(row.injected[0]))}."
            " Softmax does not cancel a factor, so the row changes."
        )
    elif neutral(trace.polarity)[row.token]:
        notes.append(
            f"“{word}” is neutral: σ is 1/3 towards every token, and softmax cancels a term that is the same for all keys. **In layer 1"
            " its row cannot change**, so the slider has no effect there. In higher layers it changes only because the input states have"
            " changed."
        )
    same = (
        "Above layer 1 its Q and K differ, too, because their input states differ." if row.layer else "In layer 1 its Q and K are the same."
    )
    return [*notes, f"“Without” is the same model at strength 0. {same}"]
