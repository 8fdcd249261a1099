"""Clustering in pure-attention hardmax transformers and its role in sentiment analysis (arXiv 2407.01602)."""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.hardmax.presets import PRESETS, family
from sentviz.runs.registry import Page, Paper
from sentviz.runs.sections import FigureBlock, OwnBlock, Says, Section, SideBySide, TableBlock, TextBlock

__all__ = ["PAPER"]
SURVEYED = "sentviz.papers.hardmax.study:first_surveyed"

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
                "step",
                "The step and the theorem",
                (
                    TextBlock("##### Equations 1a and 1b: the step of one token, A = I", term="hardmax-step"),
                    FigureBlock("token-step", of="sentviz.papers.hardmax.study:example", key="paper-step"),
                    TextBlock("##### Definition and theorem", term="clustering-theorem"),
                    TextBlock(
                        "A token is a **leader** if in some layer it attends only to itself. If the tokens are different and not 0, and A"
                        " is symmetric positive definite, then there are leaders, every token converges to the boundary of a polytope, and"
                        " each leader reaches its own vertex after finitely many layers. The claim “Tokens cluster at leaders on a"
                        " polytope” tests this on simulated points, and the playground on yours."
                    ),
                    OwnBlock("hardmax-playground"),
                ),
                group="Method",
            ),
            Section(
                "model",
                "Its three components",
                (
                    TextBlock(
                        "**Embedding:** selects words as leaders. **Transformer:** clusters the tokens around the leaders. **Decoder:**"
                        " projects the mean of the clustered tokens to a prediction. The review is ours, with the two words that the poster"
                        " names."
                    ),
                    FigureBlock("hardmax-components"),
                    OwnBlock("hardmax-page"),
                    TextBlock("##### The vocabulary, with amazing and torture"),
                    FigureBlock("vocabulary", {"marked": ("amazing", "torture")}, of=SURVEYED, key="paper-vocabulary"),
                ),
                group="Method",
            ),
            Section(
                "pictures",
                "Leaders and accuracies",
                (
                    SideBySide(
                        (
                            (FigureBlock("hardmax-accuracy"), FigureBlock("hardmax-nearness")),
                            (FigureBlock("leaders-depth", {"measure": "at leaders"}, of=SURVEYED, key="hardmax-depth"),),
                        ),
                    ),
                    SideBySide(
                        tuple(
                            (FigureBlock("leaders", {"label": label}, of=SURVEYED, key=f"paper-led-{label}"),)
                            for label in ("negative", "positive")
                        )
                    ),
                    Says("sentviz.papers.hardmax.study:distance_in_words", "caption"),
                ),
            ),
            Section(
                "future",
                "Other matrices A",
                (
                    TextBlock("##### Further work: general A, and A of low rank"),
                    TableBlock("matrices"),
                    OwnBlock("hardmax-playground"),
                ),
                group="Method",
            ),
        ),
        cannot="The poster reports no accuracies and no numbers of points. Our runs are compared with the best test accuracies of the"
        " authors' public code. We trained all runs: the authors' weights are not used, because loading their file format runs code.",
    ),
    presets=PRESETS,
    family=family,
    claims="sentviz.papers.hardmax.claims:CLAIMS",
    tables="sentviz.papers.hardmax.tables:TABLES",
    makers="sentviz.papers.hardmax.figures:MAKERS",
    figures="sentviz.papers.hardmax.figures",
)
