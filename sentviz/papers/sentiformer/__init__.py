"""SentiFormer: A Theoretical Framework for Transformer-Based Sentiment Analysis (Gupta, Gupta, Agrawal, Shrivastava)."""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.sentiformer.presets import ABLATIONS, ADDITIONS, BASELINES, PRESETS
from sentviz.runs.registry import Page, Paper, Section, Study

__all__ = ["PAPER"]

PAPER = Paper(
    name="sentiformer",
    short="SentiFormer",
    title="A Theoretical Framework for Transformer-Based Sentiment Analysis: Attention, Expressivity, and Efficiency",
    citation="Gupta, Gupta, Agrawal, Shrivastava",
    folder=Path(__file__).parent,
    page=Page(
        "Gupta et al.: gates, aware positions, a window; every printed number beside ours.",
        url="sentiformer",
        sections=(
            Section("results", "Table I"),
            Section("parts", "Table II"),
            Section("gates", "Gates"),
            Section("speed", "Speed"),
            Section("theory", "Theory"),
            Section("failures", "Failures"),
        ),
        cannot="The paper gives neither seeds nor intervals; ours have one budget for all models of a data set, said in each run.",
    ),
    presets=PRESETS,
    additions=ADDITIONS,
    studies={
        "sentiformer": Study(
            "SentiFormer and two baselines without attention",
            ("sst5_trees", "sst5_trees_binary", "imdb", "yelp_polarity", "tweeteval_sentiment"),
            ("sentiformer", *BASELINES),
        ),
        "sentiformer-rates": Study(
            "the same three at three rates: 1e-4, the paper's own, 3e-4 and 1e-3",
            ("sst5_trees", "sst5_trees_binary", "imdb", "yelp_polarity", "tweeteval_sentiment"),
            ("sentiformer", *BASELINES),
            ("", "3e-4", "fast"),
        ),
        "sentiformer-ablations": Study(
            "SentiFormer without each of its parts", ("sst5_trees", "sst5_trees_binary"), ("sentiformer", *ABLATIONS)
        ),
    },
    claims="sentviz.papers.sentiformer.claims:CLAIMS",
    makers="sentviz.papers.sentiformer.export:MAKERS",
    figures="sentviz.papers.sentiformer.figures",
    answers="sentviz.papers.sentiformer.answer:answers",
    printed="sentviz.papers.sentiformer.prints:values",
)
