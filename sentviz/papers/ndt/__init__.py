"""NDT: Non-Differential Transformer and Its Application to Sentiment Analysis (arXiv 2603.20704)."""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.ndt.presets import PRESETS
from sentviz.runs.registry import Page, Paper, Section, Study

__all__ = ["PAPER"]

PAPER = Paper(
    name="ndt",
    short="NDT",
    title="NDT: Non-Differential Transformer and Its Application to Sentiment Analysis",
    citation="arXiv 2603.20704",
    folder=Path(__file__).parent,
    page=Page(
        "arXiv 2603.20704: every printed number beside ours.",
        url="ndt",
        sections=(
            Section("results", "Results"),
            Section("compare", "Compare"),
            Section("confusion", "Confusion", figures=("confusion-panels",)),
            Section("roc", "ROC", figures=("roc-panels",)),
            Section("tsne", "t-SNE", figures=("tsne-panels",)),
            Section("lambda", "Lambda"),
            Section("cost", "Cost"),
        ),
        cannot="The paper gives neither seeds nor intervals nor settings; ours are one set for all models of a data set, said in each run.",
    ),
    presets=PRESETS,
    studies={
        "ndt": Study(
            "the fourteen configurations of the paper and a control",
            ("sst2", "twitter_financial", "imdb", "yelp_full"),
            tuple(PRESETS),
        ),
        "ndt-controls": Study(
            "two NDTs with every control of the start of their lambdas",
            ("sst2",),
            ("ndt-symmetric-3", "ndt-free-3"),
            ("", "equal", "swapped", "frozen"),
        ),
    },
    claims="sentviz.papers.ndt.claims:CLAIMS",
    makers="sentviz.papers.ndt.export:MAKERS",
    figures="sentviz.papers.ndt.figures",
    answers="sentviz.papers.ndt.export:answers",
    printed="sentviz.papers.ndt.prints:values",
)
