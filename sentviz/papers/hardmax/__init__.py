"""Clustering in pure-attention hardmax transformers and its role in sentiment analysis (arXiv 2407.01602)."""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.hardmax.presets import PRESETS, family
from sentviz.runs.registry import Page, Paper
from sentviz.runs.sections import FigureBlock, OwnBlock, Section, SideBySide, TextBlock

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
        sections=(
            Section(
                "pictures",
                "Leaders and accuracies",
                (
                    TextBlock(
                        "**Embedding** (each word a point in d dimensions) → **8 hardmax layers** (each point moves towards those furthest"
                        " in its own direction) → **mean** → **decoder** (on which side of a line the mean is)."
                    ),
                    OwnBlock("hardmax-page"),
                    SideBySide(
                        ((FigureBlock("hardmax-accuracy"), FigureBlock("hardmax-nearness")), (OwnBlock("hardmax-depth"),)),
                    ),
                    OwnBlock("hardmax-leaders"),
                ),
            ),
        ),
        cannot="The poster reports no accuracies. Our runs are compared with the authors' public code: its best test accuracies, and one"
        " run of ours.",
    ),
    presets=PRESETS,
    family=family,
    claims="sentviz.papers.hardmax.claims:CLAIMS",
    makers="sentviz.papers.hardmax.figures:MAKERS",
    figures="sentviz.papers.hardmax.figures",
)
