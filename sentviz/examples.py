"""Own sentences to start from, each with the reading a person gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["EXAMPLES", "Example", "examples_for"]


@dataclass(frozen=True)
class Example:
    """A sentence, what it is an example of, and how a person reads it."""

    kind: str
    text: str
    reading: str  # the name of the class


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
    Example("Balance", "The story is boring and the acting is terrible, but the music is wonderful and I loved the ending.", "negative"),
    Example("Headline", "Shares slide after the retailer cuts its forecast, but analysts still see room to grow.", "bearish"),
    Example("Upgrade", "Chip maker raised to buy on strong orders, price target lifted.", "bullish"),
    Example("Report", "The company will publish its quarterly results on Thursday.", "neutral"),
    Example("Loss", "Airline stock plunges as fuel costs wipe out its profit.", "bearish"),
    Example("Relief", "Losses narrow less than feared and the stock rebounds.", "bullish"),
    Example("Figures", "Dividend of 20 cents declared, unchanged from last year.", "neutral"),
    Example("Stars", "The food was cold and the waiter forgot us twice, but the dessert made up for some of it.", "2 stars"),
    Example("Praise", "Best coffee in town, friendly people and a sunny yard; we will be back.", "5 stars"),
)


def examples_for(labels: Sequence[str]) -> dict[str, Example]:
    """The examples that a model with these classes can be asked, by kind; all where no reading fits."""
    fitting = {example.kind: example for example in EXAMPLES if example.reading in labels}
    return fitting or {example.kind: example for example in EXAMPLES}
