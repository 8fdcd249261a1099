"""What has to be said beside an answer."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.explain import percent
from sentviz.data.examples import EXAMPLES
from sentviz.data.tags import TAGGER, Tagger, known
from sentviz.data.texts import LONGEST
from sentviz.runs.catalog import language
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.runs.store import Run

SCRIPTS = {"en": "LATIN", "ko": "HANGUL"}  # as the names of their letters begin, by the language of a data set
SPOKEN = {"en": "English", "ko": "Korean"}

NAMED = 5  # tokens that a sentence names
LEAST, KNOWN = 5, 1 / 3  # words from which a language can be told, and the share that an English tagger knows of English


def written_in(text: str) -> str:
    """The language of `SCRIPTS` whose letters most of a text's letters are; "" where none are, or those of another script."""
    names = [unicodedata.name(letter, "") for letter in text if letter.isalpha()]
    return next((code for code, script in SCRIPTS.items() if sum(name.startswith(script) for name in names) * 2 > len(names)), "")


def remarks(trace: Trace, run: Run) -> list[tuple[str, str]]:
    """Kind (wrong, cut, unknown, calibrated, changed) and sentence: a known mistake, what was not read, the calibrated probability."""
    said: list[tuple[str, str]] = []
    example = next((example for example in EXAMPLES if (example.text, example.pair) == (trace.text, trace.text_pair)), None)
    if example and example.reading in trace.labels and example.reading != trace.label:
        said.append(("wrong", f"The model gets this wrong: a person reads it as {example.reading}."))
    if trace.dropped:
        cut = f"The model reads {len(trace.tokens):,} tokens at most; the last {trace.dropped:,} were not read.{uncounted(trace)}"
        said.append(("cut", cut))
    text = " ".join(filter(None, (trace.text, trace.text_pair)))
    if any(map(str.isalpha, text)) and (own := language(run)) != (found := written_in(text)):
        script = f"is {SPOKEN[found]}" if found else f"is in letters that {SPOKEN.get(own, own)} is not written in"
        said.append(("unknown", f"The model learned from {SPOKEN.get(own, own)}, and this text {script}: its answer means nothing."))
    words, unknown = int((~trace.specials).sum()), int(trace.unknown.sum())
    if words and unknown == words:
        said.append(("unknown", "The model knows none of these words: its answer rests on how many there are, not on what they say."))
    elif unknown * 2 > words:
        said.append(("unknown", f"The model knows only {words - unknown} of these {words} tokens."))
    elif lacking := _lacking(trace):
        size = sum(len(token.encode()) for token in lacking)
        shown = ", ".join(f"“{token}”" for token in lacking[:NAMED])
        said.append(("unknown", f"The model's vocabulary lacks {shown} ({size} bytes): it reads an unknown token instead."))
    if split := _in_bytes(trace):
        shown = ", ".join(f"“{letter}”" for letter in split[:3])
        said.append(("unknown", f"The model has no token of its own for {shown}: it reads the bytes, and each stands here once a piece."))
    if (strange := trace.tags.count("X")) * 2 > words:
        said.append(
            (
                "unknown",
                f"The model reads parts of speech, and its tagger is English only: it knows none for {strange} of these {words} tokens.",
            )
        )
    elif foreign := _foreign(trace, run):
        said.append(("unknown", foreign))
    spread = np.exp((trace.logits - trace.logits.max()) / run.calibration)
    calibrated = percent(float(spread.max() / spread.sum()))
    said.append(("calibrated", f"Calibrated on validation (logits / {run.calibration:.2f}): {calibrated}."))
    learned = run.example().lambdas
    if learned.shape != trace.lambdas.shape or not np.allclose(learned, trace.lambdas, atol=5e-3):
        said.append(("changed", "This is an intervention: the lambdas are not the learned ones."))
    if trace.heads_off:
        heads = ", ".join(f"{head + 1} of layer {layer + 1}" for layer, head in trace.heads_off)
        said.append(("changed", f"This is an intervention: silenced {'is head' if len(trace.heads_off) == 1 else 'are heads'} {heads}."))
    for state, places in (("open", trace.gates_open), ("shut", trace.gates_shut)):
        if places:
            named = ", ".join(f"“{trace.tokens[place]}” ({place + 1})" for place in places[:NAMED])
            more = f" and {len(places) - NAMED} more" if len(places) > NAMED else ""
            said.append(("changed", f"This is an intervention: {state} in every layer is the gate of {named}{more}."))
    for term, strength in trace.strength.items():
        how = f"without its {term}" if not strength else f"with {strength:g} times the trained strength of its {term}"
        said.append(("changed", f"This is an intervention: the model is asked {how}."))
    return said


def uncounted(trace: Trace) -> str:
    """A sentence, after a space, where a text is so long that its end was not even counted; "" elsewhere."""
    longest = max(len(text or "") for text in (trace.text, trace.text_pair))
    return f" What follows the first {LONGEST:,} characters was not counted." if longest >= LONGEST else ""


def _foreign(trace: Trace, run: Run) -> str:
    """A sentence where a run's tagger knows few words of a text; "" elsewhere, in a short text, and where the run reads no tags.

    Of English texts it says so of 11 in 11,855 (SST-5) and 37 in 59,900 (TweetEval); of 58 of our own in French, German, Spanish, Italian
    and Dutch of 35: silence does not mean English.
    """
    if not trace.tags or TAGGER not in run.config["files"]:
        return ""
    some, words = known(Tagger.load(run.path(TAGGER)), " ".join(filter(None, (trace.text, trace.text_pair))))
    if words < LEAST or some >= KNOWN * words:
        return ""
    return (
        f"The model reads parts of speech, and its tagger is English only: it knows {some or 'none'} of these {words} words, so the tags of"
        " a text in another language mean little."
    )


def _lacking(trace: Trace) -> list[str]:
    """Unknown tokens with letters beyond ASCII, each once: what a vocabulary that was cut to some languages lacks."""
    named = zip(trace.tokens, trace.unknown.tolist(), strict=True)
    return list(dict.fromkeys(token for token, unknown in named if unknown and not token.isascii()))


def _in_bytes(trace: Trace) -> list[str]:
    """Letters that several tokens in a row spell together, each once."""
    places = [(segment, *offset) for segment, offset in zip(trace.segments.tolist(), trace.offsets.tolist(), strict=True)]
    pairs = zip(trace.tokens, trace.tokens[1:], places, places[1:], trace.specials[1:], strict=False)
    return list(dict.fromkeys(token for token, following, a, b, special in pairs if a == b and token == following and not special))
