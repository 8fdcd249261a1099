"""Read what experiments measured of 7ess-Xin: padding, neutral tweets, the leak, words of clouds, repeated letters."""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.sevenessxin.printed_tables import DATASET
from sentviz.papers.studies.stored import Stored

FOLDER = Path(__file__).parent / "measured"
COMMAND = "python -m experiments sevenessxin"
PADDING = Stored(
    FOLDER / "padding.csv",
    ("of", "n", "changed", "changed_low", "changed_high", "difference", "low", "high", "moved", "run", "digest"),
    "The effect of padding is",
    f"{COMMAND} padding {DATASET}/7ess-v6-rope",
    ("of", "run", "digest"),
)
NEUTRAL = Stored(
    FOLDER / "neutral.csv",
    ("of", "n", "positive", "positive_low", "positive_high", "sure", "sure_low", "sure_high", "run", "digest"),
    "The predictions for neutral tweets are",
    f"{COMMAND} neutral {DATASET}/7ess-v6-rope",
    ("of", "run", "digest"),
)
SURE = 0.9  # probability from which a prediction counts as sure
LEAK_COSTS = Stored(
    FOLDER / "leak_costs.csv",
    ("trained", "tested", "n", "value", "low", "high"),
    "The cost of the leak is",
    f"{COMMAND} leak",
    ("trained", "tested"),
)
LEAK_WORDS = Stored(
    FOLDER / "leak_words.csv", ("word", "side", "weeks", "whole", "z", "rows"), "The leak is", f"{COMMAND} leak", ("word", "side")
)
WEEKS = f"{DATASET}_weeks"  # tweets whose classes are of other weeks
CLOUD_WORDS = Stored(
    FOLDER / "cloud_words.csv",
    ("cell", "word", "rank", "count", "rows", "run"),
    "The ranks of the words of figure 8 are",
    f"{COMMAND} cloud_words",
    ("cell", "word", "run"),
)
NAMED = {  # words that the paper names in its clouds, by cell of the confusion matrix
    "TP": ("love", "thank", "lol"),
    "TN": ("sad", "miss", "work", "now", "going"),
    "FN": ("work", "now", "going"),
}
EMPHASIS = Stored(
    FOLDER / "emphasis.csv",
    ("of", "n", "share", "positive", "accuracy", "changed", "difference", "low", "high", "run"),
    "The effect of repeated letters and capitals is",
    f"{COMMAND} emphasis {DATASET}/7ess-v6-rope",
    ("of", "run"),
)
