"""Why this answer? Scores for the tokens of one sentence, and how far each of them can be trusted."""

from sentviz.explain.headline import answer, headline, reason, supported
from sentviz.explain.scores import (
    SCORES,
    Score,
    agreement,
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
)

__all__ = [
    "SCORES",
    "Score",
    "agreement",
    "answer",
    "available",
    "deviation",
    "explained",
    "headline",
    "incomplete",
    "log_odds",
    "percent",
    "reason",
    "received",
    "removal",
    "score",
    "spearman",
    "supported",
]
