"""Notices shown with a prediction: known mistake, truncation, unknown words, interventions."""

from __future__ import annotations

import unicodedata

from sentviz.data.examples import EXAMPLES
from sentviz.data.tags import TAGGER, Tagger, count_known
from sentviz.data.texts import unread_note
from sentviz.io.numbers import percent
from sentviz.runs.catalog import language
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

SCRIPTS = {"en": "LATIN", "ko": "HANGUL"}  # beginning of the Unicode names of a script's letters, by the language of a data set
SPOKEN = {"en": "English", "ko": "Korean"}

MAX_NAMED = 5  # tokens that a notice names
MIN_WORDS, MIN_KNOWN = 5, 1 / 3  # words needed to detect a language, and the share of words that the English tagger must know


def written_in(text: str) -> str:
    """Return the language of `SCRIPTS` whose script most letters of a text have; "" if most have another script, or there are none."""
    names = [unicodedata.name(letter, "") for letter in text if letter.isalpha()]
    return next((code for code, script in SCRIPTS.items() if sum(name.startswith(script) for name in names) * 2 > len(names)), "")


def notices(trace: Trace, run: Run) -> list[tuple[str, str]]:
    """Return the notices of a prediction, each with its kind (wrong, cut, unknown, changed) and a sentence."""
    messages: list[tuple[str, str]] = []
    example = next((example for example in EXAMPLES if (example.text, example.pair) == (trace.text, trace.text_pair)), None)
    if example and example.reading in trace.labels and example.reading != trace.label:
        messages.append(("wrong", f"The model gets this wrong: a person reads it as {example.reading}."))
    start = run.config.get("tokenizer", {}).get("truncation_side") == "left"
    if cut := unread_note(len(trace.tokens), trace.dropped, trace.text, trace.text_pair, start=start):
        messages.append(("cut", cut))
    text = " ".join(filter(None, (trace.text, trace.text_pair)))
    if any(map(str.isalpha, text)) and (own := language(run)) != (script_language := written_in(text)):
        script = f"is {SPOKEN[script_language]}" if script_language else f"uses letters that are not {SPOKEN.get(own, own)}"
        messages.append(
            ("unknown", f"The model learned from {SPOKEN.get(own, own)} texts, but this text {script}: the prediction means nothing.")
        )
    words, unknown = int((~trace.specials).sum()), int(trace.unknown.sum())
    if words and unknown == words:
        messages.append(
            ("unknown", "The model knows none of these words: the prediction depends only on the number of words, not on their meaning.")
        )
    elif unknown * 2 > words:
        messages.append(("unknown", f"The model knows only {words - unknown} of these {words} tokens."))
    elif missing := _missing_tokens(trace):
        size = sum(len(token.encode()) for token in missing)
        listed = ", ".join(f"“{token}”" for token in missing[:MAX_NAMED])
        messages.append(("unknown", f"The model's vocabulary lacks {listed} ({size} bytes): it reads an unknown token instead."))
    if split := _byte_letters(trace):
        listed = ", ".join(f"“{letter}”" for letter in split[:3])
        messages.append(
            (
                "unknown",
                f"The model has no token for {listed}: it reads each such letter as several bytes, and every byte is shown as the letter.",
            )
        )
    if (strange := trace.tags.count("X")) * 2 > words:
        messages.append(
            (
                "unknown",
                f"The model reads parts of speech, but its tagger knows only English: {strange} of these {words} tokens have no tag.",
            )
        )
    elif foreign := _foreign_notice(trace, run):
        messages.append(("unknown", foreign))
    messages += [("changed", sentence) for sentence in trace.change.sentences(trace.tokens)]
    return messages


def calibration_note(trace: Trace) -> str:
    """Return a sentence with the probabilities before calibration; "" if the trace has no others."""
    if trace.calibration == 1:
        return ""
    raw = trace.calibrated(1.0).probabilities
    shares = ", ".join(f"{label} {percent(share)}" for label, share in zip(trace.labels, raw.tolist(), strict=True))
    return f"Calibrated on validation rows (logits / {trace.calibration:.2f}); before calibration: {shares}."


def _foreign_notice(trace: Trace, run: Run) -> str:
    """Return a sentence if the run's tagger knows few words of a text; "" otherwise, for a short text, and if the run reads no tags.

    The notice appears for 11 of 11,855 English texts (SST-5) and 37 of 59,900 (TweetEval), and for 35 of 58 texts in French, German,
    Spanish, Italian and Dutch. So a text without the notice is not necessarily English.
    """
    if not trace.tags or TAGGER not in run.config["files"]:
        return ""
    some, words = count_known(Tagger.load(run.path(TAGGER)), " ".join(filter(None, (trace.text, trace.text_pair))))
    if words < MIN_WORDS or some >= MIN_KNOWN * words:
        return ""
    return (
        f"The model reads parts of speech, but its tagger knows only English: it knows {some or 'none'} of these {words} words,"
        " so the tags of a text in another language mean little."
    )


def _missing_tokens(trace: Trace) -> list[str]:
    """Return the unknown tokens with letters beyond ASCII, each once. Such tokens are missing if a vocabulary was cut to some languages."""
    named = zip(trace.tokens, trace.unknown.tolist(), strict=True)
    return list(dict.fromkeys(token for token, unknown in named if unknown and not token.isascii()))


def _byte_letters(trace: Trace) -> list[str]:
    """Return the letters that several consecutive tokens encode byte by byte, each once."""
    places = [(segment, *offset) for segment, offset in zip(trace.segments.tolist(), trace.offsets.tolist(), strict=True)]
    pairs = zip(trace.tokens, trace.tokens[1:], places, places[1:], trace.specials[1:], strict=False)
    return list(dict.fromkeys(token for token, following, a, b, special in pairs if a == b and token == following and not special))
