"""Why this answer? Scores for the tokens of one sentence, and how far each of them can be trusted."""

from sentviz.explain.scores import (
    SCORES,
    Score,
    agreement,
    answer,
    available,
    deviation,
    explained,
    incomplete,
    log_odds,
    percent,
    received,
    removal,
    score,
    spearman,
    without,
)

__all__ = [
    "SCORES",
    "Score",
    "agreement",
    "answer",
    "available",
    "deviation",
    "explained",
    "incomplete",
    "log_odds",
    "percent",
    "received",
    "removal",
    "score",
    "spearman",
    "without",
]
