"""NDT: Non-Differential Transformer and Its Application to Sentiment Analysis (arXiv 2603.20704)."""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.ndt.presets import ADDITIONS, CONTROLLED, PRESETS
from sentviz.runs.presets import LAMBDA_CONTROLS, LAMBDA_SETTINGS
from sentviz.runs.registry import Page, Paper, Study
from sentviz.runs.sections import Drawer, FigureBlock, OwnBlock, Section, SideBySide, TableBlock, TextBlock

__all__ = ["PAPER"]

DATASETS = "sentviz.papers.ndt.study:DATASETS"  # with titles
BEST = {"paper": ("The paper's best NDT", {"best": False}), "here": ("The best NDT here, by validation", {"best": True})}

PAPER = Paper(
    name="ndt",
    short="NDT",
    title="NDT: Non-Differential Transformer and Its Application to Sentiment Analysis",
    citation="arXiv 2603.20704",
    folder=Path(__file__).parent,
    page=Page(
        "arXiv 2603.20704: every reported number next to ours.",
        url="ndt",
        sections=(
            Section("components", "Do components specialise?", (FigureBlock("component-habits"), TableBlock("components")), group="Method"),
            Section(
                "results",
                "Accuracy (tables I to IX)",
                (
                    OwnBlock("ndt-results"),
                    Drawer("What the re-split leaks: test phrases inside training phrases", (TableBlock("leak"),), "ndt-leak", ("sst2",)),
                    Drawer("Table IX: silhouettes of all data sets", (TableBlock("silhouettes"),), "ndt-silhouettes"),
                ),
                datasets=DATASETS,
            ),
            Section("compare", "Two configurations", (OwnBlock("ndt-compare"),), datasets=DATASETS),
            Section(
                "lambda",
                "Lambda (tables II to VIII)",
                (
                    OwnBlock("ndt-lambda-grid"),
                    OwnBlock("ndt-controls"),
                    TextBlock("##### Final λ, measured and reported"),
                    TableBlock("lambdas"),
                ),
                datasets=DATASETS,
                group="Method",
            ),
            Section("confusion", "Mistakes (figure 1)", (FigureBlock("confusion-panels", switch=BEST),)),
            Section("roc", "ROC (figure 2)", (FigureBlock("roc-panels", switch=BEST),)),
            Section("tsne", "Maps of the texts (figure 3)", (FigureBlock("tsne-panels", switch=BEST),)),
            Section(
                "cost",
                "Cost (tables X, XI)",
                (
                    SideBySide(
                        (
                            (FigureBlock("cost"),),
                            (TextBlock("##### Table X: parameters, millions"), TableBlock("parameters")),
                        )
                    ),
                    TextBlock("##### Table XI: milliseconds per test batch"),
                    TableBlock("milliseconds"),
                ),
                datasets=DATASETS,
            ),
            Section(
                "base",
                "On a pretrained encoder",
                (TextBlock("##### Ours, not the paper's: a second component on MiniLM, SST-2"), OwnBlock("ndt-on-base")),
                group="Method",
            ),
        ),
        cannot="The paper gives splits, vocabularies, optimizer, both weight decays, initialization, normalization and activation, but not"
        " width, heads, learning rate, batch size, epochs or text length, and neither seeds nor intervals. Our models of a data set share"
        " one choice of these, stored with each run.",
    ),
    presets=PRESETS,
    additions=ADDITIONS,
    studies={
        "ndt": Study(
            "the fourteen configurations of the paper and a control",
            ("sst2", "twitter_financial", "imdb", "yelp_full"),
            tuple(PRESETS),
        ),
        "ndt-controls": Study(
            "two NDTs with every control of the start of their lambdas",
            CONTROLLED,
            ("ndt-symmetric-3", "ndt-free-3"),
            ("", *LAMBDA_CONTROLS),
        ),
        "ndt-settings": Study(
            "one NDT with other starts, rates and decays, for the lambdas that the paper prints",
            ("sst2",),
            ("ndt-free-3",),
            ("", *LAMBDA_SETTINGS),
        ),
    },
    claims="sentviz.papers.ndt.claims:CLAIMS",
    tables="sentviz.papers.ndt.tables:TABLES",
    makers="sentviz.papers.ndt.tables:MAKERS",
    figures="sentviz.papers.ndt.figures",
    answers="sentviz.papers.ndt.answer:answers",
    printed="sentviz.papers.ndt.printed_tables:values",
)
