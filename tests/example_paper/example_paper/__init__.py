"""An example of a paper: presets, a study, a claim, two tables, a figure and a page. Heavy modules are named, not imported."""

from __future__ import annotations

from pathlib import Path

from sentviz.runs.registry import Page, Paper, Preset, Study
from sentviz.runs.sections import Drawer, FigureBlock, OwnBlock, Section, SideBySide, TableBlock, TextBlock

__all__ = ["PAPER"]

PAPER = Paper(
    name="example",
    short="Example",
    title="Wider models are *better*",
    citation="Nobody 2026",
    folder=Path(__file__).parent,
    page=Page(
        "Two tables, a figure and a claim.",
        cannot="Its models are small, so only the comparison counts.",
        sections=(
            Section(
                "width",
                "Width",
                (
                    TextBlock("##### Does a wider model classify better?"),
                    SideBySide(((FigureBlock("example-accuracy"),), (TableBlock("accuracy"),))),
                    Drawer("Sizes", (TableBlock("sizes"),)),
                    OwnBlock("example_paper.page:count_runs"),
                ),
            ),
            Section("figure", "Figure", (FigureBlock("example-accuracy"),)),
        ),
    ),
    presets={
        "example-small": Preset({"width": 16, "heads": 2, "ffn_width": 24}),
        "example-wide": Preset({"width": 32, "heads": 2, "ffn_width": 24}, recipe={"epochs": 1}),
    },
    injections={"near": {"lexicon": "add"}},
    studies={"example": Study("a small and a wide model", ("sst2",), ("example-small", "example-wide"))},
    claims="example_paper.claims:CLAIMS",
    answers="example_paper.claims:answers",
    tables="example_paper.tables:TABLES",
    figures="example_paper.figures",
    printed="example_paper.tables:printed",
)
