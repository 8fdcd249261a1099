"""SentiFormer: A Theoretical Framework for Transformer-Based Sentiment Analysis (Gupta, Gupta, Agrawal, Shrivastava)."""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.sentiformer.presets import ABLATIONS, BASELINES, PRESETS
from sentviz.registry import Page, Paper, Study

__all__ = ["PAPER"]

PAPER = Paper(
    name="sentiformer",
    short="SentiFormer",
    title="A Theoretical Framework for Transformer-Based Sentiment Analysis: Attention, Expressivity, and Efficiency",
    citation="Gupta, Gupta, Agrawal, Shrivastava",
    folder=Path(__file__).parent,
    page=Page("SentiFormer: gates, aware positions, a window; every printed number beside ours.", url="sentiformer"),
    presets=PRESETS,
    studies={
        "sentiformer": Study(
            "SentiFormer and two baselines without attention",
            ("sst5_trees", "sst5_trees_binary", "imdb", "yelp_polarity", "tweeteval_sentiment"),
            ("sentiformer", *BASELINES),
        ),
        "sentiformer-ablations": Study(
            "SentiFormer without each of its parts", ("sst5_trees", "sst5_trees_binary"), ("sentiformer", *ABLATIONS)
        ),
    },
    figures="sentviz.papers.sentiformer.figures",
    printed="sentviz.papers.sentiformer.prints:values",
)
