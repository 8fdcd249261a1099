"""Enhancing Self-Attention via Knowledge Fusion, or Sentiment-Fused Attention (Jang, Kim and Shin)."""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.fused.presets import INJECTIONS, MODELS, PRESETS
from sentviz.runs.registry import Page, Paper, Section, Study

__all__ = ["PAPER"]

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
            Section("results", "Gains, table 1"),
            Section("statistics", "Table 2"),
            Section("cls", "[CLS], figure 5"),
            Section("tasks", "Out of domain, table 3"),
            Section("coverage", "Coverage, figure 4"),
        ),
        cannot="The paper fine-tunes five pretrained encoders; ours is one small encoder trained from scratch: gains can be set"
        " side by side, accuracies cannot.",
    ),
    presets=PRESETS,
    injections=INJECTIONS,
    studies={
        "fused": Study("a [CLS] encoder as it is and with each injection of a lexicon", ("nsmc", "sst2"), MODELS),
        "fused-ood": Study(
            "the same as it is and with the paper's best injection, out of its domain",
            ("korean_hate_speech", "question_pair", "klue_nli"),  # without PAWS, whose Korean training pairs cannot be had
            ("cls", "cls-last-scaled"),
        ),
    },
    claims="sentviz.papers.fused.claims:CLAIMS",
    makers="sentviz.papers.fused.export:MAKERS",
    figures="sentviz.papers.fused.figures",
    answers="sentviz.papers.fused.export:answers",
)
