"""NDT: Non-Differential Transformer and Its Application to Sentiment Analysis (arXiv 2603.20704)."""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.ndt.presets import ADDITIONS, CONTROLLED, PRESETS
from sentviz.runs.presets import LAMBDA_CONTROLS, LAMBDA_SETTINGS
from sentviz.runs.registry import Page, Paper, Study
from sentviz.runs.sections import Control, Drawer, FigureBlock, OwnBlock, Says, Section, SideBySide, TableBlock, TextBlock, Where

__all__ = ["PAPER"]

DATASETS = "sentviz.papers.ndt.study:DATASETS"  # with titles
LEAK = "What the re-split leaks: test phrases inside training phrases"
BEST = Control(
    "Drawn", "drawn", {"paper": ("The paper's best NDT", {"best": False}), "here": ("The best NDT here, by validation", {"best": True})}
)
SCALE = Control("Scale", "scale", {"value": ("Value", {"change": False}), "change": ("Change from the start", {"change": True})})
CONTROLLED_LAMBDAS = (
    TextBlock("##### Learned, or set by the start values?"),
    Says("sentviz.papers.ndt.study:describe_controls", "list"),
    FigureBlock("lambda-settings"),
    Drawer("Every lambda of these runs", (TableBlock("controls"),), "ndt-controls"),
    Says("sentviz.papers.ndt.study:control_commands", "caption"),
)

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
                    Where(lambda of: of.dataset == "sst2", (Drawer(LEAK, (TableBlock("leak"),), "ndt-leak"),)),
                    Drawer("Table IX: silhouettes of all data sets", (TableBlock("silhouettes"),), "ndt-silhouettes"),
                ),
                datasets=DATASETS,
            ),
            Section("compare", "Two configurations", (OwnBlock("ndt-compare"),), datasets=DATASETS),
            Section(
                "lambda",
                "Lambda (tables II to VIII)",
                (
                    FigureBlock("lambda-grid", controls=(SCALE,)),
                    Where("sentviz.papers.ndt.study:is_controlled", CONTROLLED_LAMBDAS),
                    TextBlock("##### Final λ, measured and reported"),
                    TableBlock("lambdas"),
                ),
                datasets=DATASETS,
                group="Method",
            ),
            Section("confusion", "Mistakes (figure 1)", (FigureBlock("confusion-panels", controls=(BEST,)),)),
            Section("roc", "ROC (figure 2)", (FigureBlock("roc-panels", controls=(BEST,)),)),
            Section("tsne", "Maps of the texts (figure 3)", (FigureBlock("tsne-panels", controls=(BEST,)),)),
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
                (
                    TextBlock("##### Ours, not the paper's: a second component on MiniLM, SST-2"),
                    TableBlock("base-accuracy"),
                    Where(
                        "sentviz.papers.ndt.based:has_lambdas",
                        (TextBlock("##### λ by layer, at the start and at the end"), TableBlock("base-lambdas")),
                    ),
                ),
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
