"""SentiFormer: A Theoretical Framework for Transformer-Based Sentiment Analysis (Gupta, Gupta, Agrawal, Shrivastava)."""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.sentiformer.presets import ABLATIONS, ADDITIONS, BASELINES, PRESETS
from sentviz.runs.registry import Page, Paper, Study
from sentviz.runs.sections import Drawer, FigureBlock, OwnBlock, Section, SideBySide, TableBlock, TextBlock

__all__ = ["PAPER"]

PAPER = Paper(
    name="sentiformer",
    short="SentiFormer",
    title="A Theoretical Framework for Transformer-Based Sentiment Analysis: Attention, Expressivity, and Efficiency",
    citation="Gupta, Gupta, Agrawal, Shrivastava",
    folder=Path(__file__).parent,
    patience=3,  # section V-B
    page=Page(
        "Gupta et al.: gates, aware positions, a window; every reported number next to ours.",
        url="sentiformer",
        sections=(
            Section("results", "Accuracy (table I)", (TableBlock("accuracy"), FigureBlock("sentiformer-accuracy", per_row=2))),
            Section(
                "parts",
                "Without each part (table II)",
                (SideBySide(((FigureBlock("sentiformer-parts"),), (TableBlock("ablation"),))),),
            ),
            Section(
                "gates",
                "Gates",
                (
                    TextBlock(
                        "The paper: “words like *the* and *is* learn gate values close to zero”. A token has a gate in each layer, from 0"
                        " (shut) to 1 (open). The figures show means over every token of a test split, by class of words, part of speech"
                        " and word,"
                        " next to the means that shuffling the gates within each text gives."
                    ),
                    TableBlock("gates"),
                    OwnBlock("sentiformer-gates"),
                ),
                datasets="sentviz.papers.sentiformer.study:DATASETS",
                group="Method",
            ),
            Section(
                "carriers",
                "Words and length",
                (
                    TextBlock("##### Which words carry the sentiment, and where"),
                    SideBySide(((TableBlock("places"),), (TableBlock("speech"),))),
                    TextBlock("##### Short and long texts"),
                    TableBlock("leads"),
                ),
                group="Method",
            ),
            Section(
                "speed",
                "Speed",
                (
                    SideBySide(
                        (
                            (FigureBlock("time-by-length"),),
                            (
                                TableBlock("speeds"),
                                TextBlock("##### Time of a training step with full and with sparse attention"),
                                TableBlock("steps"),
                                TextBlock("##### Memory of a long text"),
                                TableBlock("memory"),
                                Drawer("Every number of the curves", (TableBlock("growth"),), "sentiformer-growth-numbers"),
                            ),
                        )
                    ),
                ),
            ),
            Section(
                "theory",
                "Theory",
                (OwnBlock("sentiformer-smoothing"), TextBlock("---"), OwnBlock("sentiformer-proposition")),
                group="Method",
            ),
            Section(
                "failures",
                "Failures",
                (
                    TextBlock("##### The three failure modes"),
                    TextBlock(
                        "The paper names implicit sentiment, sarcasm and code-mixed text (section VI) without numbers. Each group here has"
                        " 30 sentences of our own, half of them negative, with plain sentences for comparison. They are too few to rank"
                        " runs that are close.",
                        small=True,
                    ),
                    OwnBlock("sentiformer-failures"),
                ),
            ),
            Section(
                "future",
                "Future work",
                (
                    SideBySide(((FigureBlock("sentiformer-smaller"),), (FigureBlock("sentiformer-rows"),))),
                    TextBlock("##### Gates that a lexicon opens"),
                    TableBlock("lexicon-gates"),
                    TextBlock(
                        "The paper names four extensions in section VII. Quantisation, pruning and the number of training rows are"
                        " measured above. Gates of a trained model are opened by a lexicon; a training that starts at one is not made."
                        " A multilingual SentiFormer needs parallel corpora, which are not available here.",
                        small=True,
                    ),
                ),
                group="Method",
            ),
        ),
        cannot=(
            "The paper reports no seeds or intervals. Our runs have the same budget for all models of a data set; each run stores it. Our"
            " models read at most 64 tokens of SST-5, 128 of Twitter and 512 elsewhere, for one or two epochs. Embeddings are multiplied by"
            " 16, which equation 3 does not have, and normalization follows each sub-layer, which is our choice. The paper's 22 M"
            " parameters need a larger vocabulary than ours: on SST-5 we have 6.8 M. The paper does not name its Twitter set; TweetEval is"
            " our choice."
        ),
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
        "sentiformer-longer": Study("SentiFormer on IMDb for two epochs", ("imdb",), ("sentiformer",), ("2-epochs",)),
        "sentiformer-ablations": Study(
            "SentiFormer without each of its parts, at the same three rates",
            ("sst5_trees", "sst5_trees_binary"),
            ("sentiformer", *ABLATIONS),
            ("", "3e-4", "fast"),
        ),
    },
    claims="sentviz.papers.sentiformer.claims:CLAIMS",
    tables="sentviz.papers.sentiformer.tables:TABLES",
    figures="sentviz.papers.sentiformer.figures",
    makers="sentviz.papers.sentiformer.figures:MAKERS",
    answers="sentviz.papers.sentiformer.answer:answers",
    printed="sentviz.papers.sentiformer.printed_tables:values",
)
