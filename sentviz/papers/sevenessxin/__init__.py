"""7ess-Xin: sentiment analysis with transformers (Guenfoudi and Liu)."""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.sevenessxin.presets import ADDITIONS, LONGER, PRESETS, SIZES, UNMASKED, VERSIONS, both
from sentviz.runs.registry import Page, Paper, Section, Study

__all__ = ["PAPER"]

DATA = ("sentiment140",)

PAPER = Paper(
    name="sevenessxin",
    short="7ess-Xin",
    title="7ess-Xin: Sentiment analysis with Transformers",
    citation="Guenfoudi and Liu",
    folder=Path(__file__).parent,
    page=Page(
        "Guenfoudi and Liu: ten small encoders for tweets, with sinusoids and with RoPE.",
        url="sevenessxin",
        sections=(
            Section("results", "Table II"),
            Section("phases", "Two phases"),
            Section("curve", "Fewer tweets"),
            Section("matrix", "Figure 5"),
            Section("importance", "Figures 6, 7"),
            Section("clouds", "Figure 8"),
            Section("padding", "Padding"),
            Section("log", "Its log"),
            Section("leak", "A leak"),
        ),
        cannot="Its 1.6 million tweets cannot be had here: ours learn from 110,944 of them, so levels differ and comparisons count.",
    ),
    presets=PRESETS,
    additions=ADDITIONS,
    studies={
        "sevenessxin": Study("ten versions, each with sinusoids and with RoPE and QK-norm", DATA, both(VERSIONS)),
        "sevenessxin-curve": Study("V1 in both phases on 5,000 to 80,000 tweets", DATA, both(VERSIONS[:1]), SIZES),
        "sevenessxin-updates": Study("V1 in both phases with four times the updates", DATA, both(VERSIONS[:1]), LONGER),
        "sevenessxin-seeds": Study("V1, V2 and V6 in both phases, for several seeds", DATA, both(("7ess-v1", "7ess-v2", "7ess-v6"))),
        "sevenessxin-padding": Study("V1 with padding that is masked and that is read", DATA, ("7ess-v1", f"7ess-v1-{UNMASKED}")),
    },
    claims="sentviz.papers.sevenessxin.claims:CLAIMS",
    makers="sentviz.papers.sevenessxin.export:MAKERS",
    figures="sentviz.papers.sevenessxin.figures",
    answers="sentviz.papers.sevenessxin.answer:answers",
    printed="sentviz.papers.sevenessxin.prints:values",
)
