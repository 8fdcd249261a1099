"""The SentiFormer paper: its questions answered, then every printed table and claim beside the runs here."""

from __future__ import annotations

from app import shell
from app.views.papers.sentiformer import TITLES, answer, claims, failures, gates, items, parts, results, speed, theory
from app.views.papers.shared import picked, studied

PARTS = {
    "results": results.show,
    "parts": parts.show,
    "gates": gates.show,
    "speed": speed.show,
    "theory": theory.show,
    "failures": failures.show,
    "claims": claims.show,
    "items": items.show,
}

shell.intro(
    "What “A Theoretical Framework for Transformer-Based Sentiment Analysis” (Gupta et al.: SentiFormer) prints, beside what the runs here"
    " measure, with 95% intervals.",
    "The paper gives neither seeds nor intervals; ours have one budget for all models of a data set, said in each run.",
)
runs = studied()
answer.show(runs)
PARTS[picked("Part", "part", TITLES)](runs)
