"""The parts of speech that taggers predict and models read, as in Universal Dependencies. Loads no package."""

from __future__ import annotations

SPECIAL = ""  # tag of [CLS] and [SEP]
UNIVERSAL = ("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "VERB", "X")
TAGS = (SPECIAL, *UNIVERSAL)
