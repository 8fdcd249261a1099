"""Enhancing Self-Attention via Knowledge Fusion, or Sentiment-Fused Attention (Jang, Kim and Shin)."""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.fused.presets import ADDITIONS, INJECTIONS, MODELS, PRESETS
from sentviz.runs.registry import Page, Paper, Study
from sentviz.runs.sections import Drawer, FigureBlock, OwnBlock, Says, Section, SideBySide, TableBlock, TextBlock, Where

__all__ = ["PAPER"]
READABLE = "sentviz.papers.fused.study:has_readable"
SENTENCE, LAST_HEAD = "sentviz.papers.fused.study:example", "sentviz.papers.fused.study:last_head"
WITHOUT = "With an installed run with weights, this page"
EXAMPLE = (
    TextBlock("##### Figure 2: the polarity of each token"),
    FigureBlock("polarity", of=SENTENCE, key="fused-polarity"),
    SideBySide(
        (
            (TextBlock("##### Figure 3: the similarity of the polarities"), FigureBlock("sigma", of=SENTENCE, key="fused-sigma")),
            (
                TextBlock("##### Figures 1 and 3: what it changes in the attention"),
                FigureBlock("lexicon-difference", LAST_HEAD, of=SENTENCE, key="fused-difference"),
            ),
        )
    ),
    OwnBlock("fused-follow"),
)
CHANGE = (
    SideBySide(
        (
            (FigureBlock("lexicon-difference", LAST_HEAD, of=SENTENCE, key="fused-sentence-map"),),
            (Says("sentviz.papers.fused.study:change_in_words"), OwnBlock("fused-follow")),
        ),
        (1.3, 1.0),
    ),
)

PAPER = Paper(
    name="fused",
    short="Sentiment-Fused Attention",
    title="Enhancing Self-Attention via Knowledge Fusion: Deriving Sentiment Lexical Attention from Semantic-Polarity Scores",
    citation="Jang, Kim and Shin",
    folder=Path(__file__).parent,
    page=Page(
        "Jang, Kim and Shin: a sentiment lexicon in the attention scores.",
        url="fused",
        sections=(
            Section(
                "method",
                "How the lexicon is fused (figures 1 to 3)",
                (
                    Where(READABLE, EXAMPLE, (TextBlock(f"{WITHOUT} shows figures 1 to 3 on a sentence.", small=True),)),
                    TextBlock("##### Section 3.1: why not the product of Xia et al.?"),
                    FigureBlock("product-and-sum"),
                    TextBlock("Scores of trained models that are negative, where the product lowers the attention between alike words:"),
                    TableBlock("negative"),
                ),
                group="Method",
            ),
            Section(
                "results",
                "Gains (table 1)",
                (
                    TextBlock("##### Does a sentiment lexicon in the scores help?"),
                    OwnBlock("fused-answers"),
                    FigureBlock("gains", per_row=2),
                    TextBlock(
                        "A token is polar if any lexicon entry contains it, so punctuation marks (parts of VADER's emoticons), particles"
                        " and pieces of words are polar, too. In “The plot drags in places, but the two leads are a quiet delight.” the"
                        " full stop is the second most polar token. The runs `cls-last-scaled-whole-words` on SST-2 have a lexicon of whole"
                        " words; the board compares them with the baseline."
                    ),
                    Drawer("Every comparison, with p-values", (TableBlock("comparisons"),), "fused-numbers"),
                    TextBlock("##### Table 1: accuracy, %"),
                    TableBlock("accuracy"),
                    TextBlock("##### Where the baselines come from"),
                    TextBlock(
                        "The baselines of table 1 equal accuracies that were published before for the same encoders, and so do those of"
                        " table 3, where such accuracies exist. The paper does not say whether it trained its baselines.",
                    ),
                    Drawer("Baselines beside published accuracies", (TableBlock("published"),), "fused-published"),
                ),
            ),
            Section(
                "statistics",
                "Spread of the gains (table 2)",
                (TextBlock("##### Table 2: mean and spread of the gains, points"), TableBlock("statistics")),
            ),
            Section(
                "coverage",
                "Words that the lexicon knows (figure 4)",
                (
                    TextBlock("##### Figure 4: how much of the text the lexicon reaches"),
                    SideBySide(
                        (
                            (FigureBlock("coverage-tokenizers"),),
                            (
                                TextBlock(
                                    "The paper says that about half of the tokens stay neutral, with little variation between tasks and"
                                    " models. With one tokenizer for all tasks, the shares of the tasks differ. With other tokenizers, each"
                                    " task has other shares.",
                                ),
                                TableBlock("tokenizers"),
                            ),
                        )
                    ),
                    TextBlock("##### Other lexicons, and all of them in one"),
                    SideBySide(
                        (
                            (FigureBlock("coverage"),),
                            (
                                TextBlock(
                                    "**A token that is not neutral need not carry sentiment.** The most frequent tokens that a lexicon"
                                    " entry contains are punctuation marks and particles:"
                                ),
                                TableBlock("coverage"),
                                OwnBlock("fused-measure-coverage"),
                            ),
                        )
                    ),
                ),
                group="Method",
            ),
            Section(
                "tasks",
                "Out of domain (table 3)",
                (
                    TextBlock("##### Table 3: out of domain"),
                    SideBySide(((FigureBlock("gains-out-of-domain"),), (TableBlock("tasks"),))),
                ),
            ),
            Section(
                "cls",
                "Attention of [CLS] (figure 5)",
                (
                    TextBlock("##### Figure 5: what σ can and cannot do to [CLS]"),
                    TextBlock(
                        "[CLS] is in no lexicon, so it is neutral: σ = 1/3 towards every token, and softmax cancels what is the same for"
                        " all keys. **With the same Q and K, the row of [CLS] cannot change. What changes is where other tokens look,"
                        " [CLS] included.** The paper interprets its figure 5 in the opposite way: [CLS] has no polarity, so attention"
                        " *towards* [CLS] hardly changes, while attention *from* [CLS] does. If the rows of [CLS] of two trained models"
                        " differ, the cause is training or changed states in lower layers, not σ in that row."
                    ),
                    TextBlock(
                        "Section 6 is about a [CLS] that the classifier reads, as in the small encoder from scratch. The classifiers of"
                        " the runs `e5` and `minilm` read the mean of all tokens, so claims on [CLS] are not judged on them. The runs"
                        " `e5-from-cls` and `e5-from-cls-last-scaled` on NSMC are E5 with a classifier that reads [CLS], three seeds each."
                        " They stand in the place of the other runs on E5, here and in the claims on [CLS]."
                    ),
                    FigureBlock("cls-lines"),
                    Where(
                        READABLE,
                        (Drawer("See the effect on a sentence", CHANGE, "fused-sentence"),),
                        (TextBlock(f"{WITHOUT} shows the effect on a sentence.", small=True),),
                    ),
                ),
                group="Method",
            ),
        ),
        cannot="The paper fine-tunes five pretrained encoders on 150,000 reviews for 3 to 10 epochs. Ours are one small encoder trained"
        " from scratch and, if its runs are installed, one pretrained encoder, multilingual E5, with an adapter. E5 learns from 15,000 of"
        " the 150,000 reviews for one epoch, and its classifier reads the mean of all tokens, not [CLS]; for"
        " claims on [CLS] there are runs that read it, in two settings. Compare gains, not accuracies.",
    ),
    presets=PRESETS,
    injections=INJECTIONS,
    additions=ADDITIONS,
    studies={
        "fused": Study("a [CLS] encoder without and with each injection of a lexicon", ("nsmc", "sst2"), MODELS),
        "fused-whole-words": Study(
            "the paper's best injection with a lexicon of whole words, without emoticons", ("sst2",), ("cls-last-scaled",), ("whole-words",)
        ),
        "fused-ood": Study(
            "the same as it is and with the paper's best injection, out of its domain",
            ("korean_hate_speech", "question_pair", "klue_nli"),  # without PAWS, whose Korean training pairs are not installed
            ("cls", "cls-last-scaled"),
        ),
    },
    claims="sentviz.papers.fused.claims:CLAIMS",
    tables="sentviz.papers.fused.tables:TABLES",
    makers="sentviz.papers.fused.figures:MAKERS",
    figures="sentviz.papers.fused.figures",
    answers="sentviz.papers.fused.study:answers",
)
