"""7ess-Xin: sentiment analysis with transformers (Guenfoudi and Liu)."""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.sevenessxin.presets import ADDITIONS, AT_EPOCHS, EPOCHS, LONGER, PRESETS, SIZES, UNMASKED, VERSIONS, both
from sentviz.runs.registry import Page, Paper, Study
from sentviz.runs.sections import Control, Drawer, FigureBlock, OwnBlock, Section, SideBySide, TableBlock, TextBlock

__all__ = ["PAPER"]

DATA = ("sentiment140",)
EQUAL = Control("Drawn", "drawn", {"epochs": ("Six epochs each", {"equal": "epochs"}), "updates": ("Equal updates", {"equal": "updates"})})

PAPER = Paper(
    name="sevenessxin",
    short="7ess-Xin",
    title="7ess-Xin: Sentiment analysis with Transformers",
    citation="Guenfoudi and Liu",
    folder=Path(__file__).parent,
    page=Page(
        "Guenfoudi and Liu: ten small encoders for tweets, with sinusoids and with RoPE.",
        url="sevenessxin",
        sections=(
            Section(
                "results",
                "Accuracy (table II)",
                (
                    TableBlock("results"),
                    FigureBlock("versions-beside-print"),
                    TextBlock("##### At equal epochs"),
                    TableBlock("epochs"),
                    Drawer("Table I: the settings of each version", (TableBlock("versions"),)),
                ),
            ),
            Section("phases", "Two phases", (SideBySide(((FigureBlock("rope-gains"),), (TableBlock("phases"),))),), group="Method"),
            Section(
                "curve",
                "Fewer tweets",
                (
                    TextBlock(
                        "The paper's own test of scarcity is V5 against V1: a sixteenth of the tweets. We do not have its full data, so"
                        " the curve below replaces it: the same model and updates on 5,000 tweets to all that are available, each set part"
                        " of the next.",
                        small=True,
                    ),
                    FigureBlock("learning-curve"),
                    TextBlock("##### With more updates"),
                    TableBlock("updates"),
                ),
            ),
            Section(
                "training",
                "Training curves (figures 1 to 4)",
                (
                    FigureBlock("version-curves", controls=(EQUAL,)),
                    TextBlock(
                        "Figures 2 to 4 of the paper: training loss, validation loss and validation F1 of V1, V2, V3, V5 and V6 with RoPE"
                        " and QK-norm. The paper shows 15 epochs, although V1, V2, V3 and V5 were trained for 10. V6 stands for V2, too:"
                        " no tweet is longer than V2's limit. Our V5 learns from 100,000 of 110,944 tweets, so it cannot show the"
                        " paper's scarcity of data.",
                        small=True,
                    ),
                    OwnBlock("sevenessxin-schema"),
                ),
            ),
            Section("matrix", "Mistakes (figure 5)", (OwnBlock("sevenessxin-matrix"),)),
            Section("importance", "Words that decide (figures 6, 7)", (OwnBlock("sevenessxin-importance"),), group="Method"),
            Section("clouds", "Word clouds (figure 8)", (OwnBlock("sevenessxin-clouds"),)),
            Section(
                "padding",
                "Padding",
                (
                    TextBlock("##### Padding that is read", term="padding"),
                    TextBlock(
                        "The published code pads every tweet to 128 tokens or more and has no mask, neither in attention nor in the"
                        " mean. Our models mask, and can also be run without the mask. A model that was trained with its mask then reads"
                        " padding for the first time: this shows that the mask matters to it, not that training without one is worse."
                        " The runs `7ess-v1-unmasked` were trained with padding read, as published; the board compares them with V1.",
                        small=True,
                    ),
                    TableBlock("padding"),
                    OwnBlock("sevenessxin-padding"),
                ),
                group="Method",
            ),
            Section(
                "future",
                "Future work",
                (
                    TextBlock("##### Repeated letters and capitals"),
                    TableBlock("emphasis"),
                    TextBlock(
                        "The paper also names cleaner data and more emotions. The part A leak and the neutral tweets of TweetEval look at"
                        " the data. Sarcasm, fear and joy need labels that none of the available data sets has.",
                        small=True,
                    ),
                ),
                group="Method",
            ),
            Section("log", "Its training log", (TableBlock("log"),)),
            Section(
                "leak",
                "Texts in training and test",
                (
                    TextBlock("##### A leak and its cost"),
                    TextBlock(
                        "Sentiment140 is sorted by class and time. Its first 50,000 negative and last 50,000 positive tweets, a known"
                        " sample, come from different weeks of 2009, so the topics of those weeks reveal the label. No version above is"
                        " trained on this sample.",
                        small=True,
                    ),
                    SideBySide(((TableBlock("leak-costs"),), (TableBlock("leak-words"),))),
                ),
                group="Method",
            ),
        ),
        cannot=(
            "The 1.6 million tweets of the paper are not available. Our runs learn from 110,944, a twelfth of the paper's 1,280,000:"
            " compare differences, not levels. Our blocks lack two dropouts of the paper: on the attention weights and inside the"
            " feed-forward part. The authors say that each version was trained only once, so that small differences may be chance; here V1,"
            " V2 and V6 have several seeds; at equal epochs, V1 with both positions and V6 with RoPE have them."
        ),
    ),
    presets=PRESETS,
    additions=ADDITIONS,
    studies={
        "sevenessxin": Study("ten versions, each with sinusoids and with RoPE and QK-norm", DATA, both(VERSIONS)),
        "sevenessxin-curve": Study("V1 in both phases on 5,000 to 80,000 tweets", DATA, both(VERSIONS[:1]), SIZES),
        "sevenessxin-updates": Study("V1 in both phases with four times the updates", DATA, both(VERSIONS[:1]), LONGER),
        "sevenessxin-epochs": Study("V1 on 5,000 and on all tweets, for six epochs each", DATA, VERSIONS[:1], EPOCHS),
        "sevenessxin-versions-epochs": Study(
            "the versions with RoPE, and V1 with sinusoids, for six epochs each", DATA, AT_EPOCHS, EPOCHS[-1:]
        ),
        "sevenessxin-seeds": Study("V1, V2 and V6 in both phases, for several seeds", DATA, both(("7ess-v1", "7ess-v2", "7ess-v6"))),
        "sevenessxin-padding": Study("V1 with padding that is masked and that is read", DATA, ("7ess-v1", f"7ess-v1-{UNMASKED}")),
    },
    claims="sentviz.papers.sevenessxin.claims:CLAIMS",
    tables="sentviz.papers.sevenessxin.tables:TABLES",
    figures="sentviz.papers.sevenessxin.figures",
    makers="sentviz.papers.sevenessxin.figures:MAKERS",
    answers="sentviz.papers.sevenessxin.claims:answers",
    printed="sentviz.papers.sevenessxin.printed_tables:values",
)
