"""Own sentences to start from, each with the reading a person gives it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXAMPLES", "Example"]


@dataclass(frozen=True)
class Example:
    """A sentence, what it is an example of, and how a person reads it."""

    kind: str
    text: str
    reading: str  # negative | positive


EXAMPLES = (
    Example("Contrast", "The plot drags in places, but the two leads are a quiet delight.", "positive"),
    Example("Plain", "A clumsy script, wooden acting and a dull ending.", "negative"),
    Example("Negation", "This is not a bad film at all.", "positive"),
    Example("Intensity", "It is mildly funny once and painfully slow for the rest.", "negative"),
    Example("Sarcasm", "Great, another brilliant sequel that nobody asked for.", "negative"),
    Example(
        "Mixed",
        "I wanted to like this film, but the story is a mess and the jokes fall flat. Only the music is worth your time.",
        "negative",
    ),
)
