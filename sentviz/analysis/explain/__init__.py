"""Explain a prediction: scores for the tokens of a sentence, and measures of how faithful each score is."""

from sentviz.analysis.explain.headline import answer, headline, quickly_supported, reason, supported
from sentviz.analysis.explain.leave_out import removal
from sentviz.analysis.explain.scores import (
    SCORES,
    Score,
    agreement,
    available,
    completeness,
    deviation,
    ends,
    explained,
    margins,
    received,
    score,
    spearman,
    uncertainty,
    usual,
    with_scores,
)
from sentviz.runs.target import Target, log_odds

__all__ = [
    "SCORES",
    "Score",
    "Target",
    "agreement",
    "answer",
    "available",
    "completeness",
    "deviation",
    "ends",
    "explained",
    "headline",
    "log_odds",
    "margins",
    "quickly_supported",
    "reason",
    "received",
    "removal",
    "score",
    "spearman",
    "supported",
    "uncertainty",
    "usual",
    "with_scores",
]
