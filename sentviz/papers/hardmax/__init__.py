"""Clustering in pure-attention hardmax transformers and its role in sentiment analysis (arXiv 2407.01602)."""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.hardmax.presets import PRESETS, family
from sentviz.runs.registry import Page, Paper, Section

__all__ = ["PAPER"]

PAPER = Paper(
    name="hardmax",
    short="Hardmax transformer",
    title="Clustering in pure-attention hardmax transformers and its role in sentiment analysis",
    citation="arXiv 2407.01602",
    folder=Path(__file__).parent,
    page=Page(
        "arXiv 2407.01602: clusters, leaders, and what they carry.",
        url="hardmax-paper",
        sections=(Section("pictures", "Leaders and accuracies"),),
        cannot="The poster prints no accuracies: those of the authors' public code stand in, best test accuracies of theirs against one run"
        " of ours.",
    ),
    presets=PRESETS,
    family=family,
    claims="sentviz.papers.hardmax.claims:CLAIMS",
    makers="sentviz.papers.hardmax.export:MAKERS",
    figures="sentviz.papers.hardmax.figures",
)
