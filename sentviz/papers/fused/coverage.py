"""Share of the tokens of a data set that no lexicon entry contains, so that they stay neutral (Sentiment-Fused Attention, figure 4).

`python -m experiments fused coverage nsmc sst2` measures anew; the numbers that ship are in `measured/coverage.csv`. Tokens are those of
the recipe's own tokenizer, trained on the recipe's training split, in the test split cut at the recipe's length. The shares of the
paper's five tasks with one tokenizer for all tasks, and with five tokenizers for each task, are in `measured/tokenizers.csv`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sentviz.data.lexicon import LEXICONS, SPECIALS, Lexicon, coverage
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.papers.studies.stored import Stored
from sentviz.training.recipe import Recipe

RECIPES = {  # data set -> the recipe whose tokenizer reads it
    "nsmc": "fused_nsmc",
    "kornli_xnli": "fused_klue_nli",
    "pawsx_ko": "fused_nsmc",
    "korean_hate_speech": "fused_korean_hate_speech",
    "question_pair": "fused_question_pair",
    "sst2": "fused_sst2",
    "imdb": "imdb",
    "twitter_financial": "twitter_financial",
}
TITLES = {
    "nsmc": "NSMC",
    "kornli_xnli": "KorNLI",
    "pawsx_ko": "PAWS",
    "korean_hate_speech": "Hate speech",
    "question_pair": "Question pairs",
    "sst2": "SST-2",
    "imdb": "IMDb",
    "twitter_financial": "Twitter Financial News",
}
LEXICON_TITLES = {
    "lexicon_ko_knu": "KNU",
    "lexicon_ko_kosac": "KOSAC",
    "lexicon_en_vader": "VADER",
    "lexicon_en_opinion": "Opinion Lexicon",
    "lexicon_en_sentiwordnet": "SentiWordNet",
    "joined": "joined",
}
JOINED = "joined"  # all lexicons of a language in one: a token is neutral if it is in no entry of any of them
COLUMNS = ("dataset", "lexicon", "neutral", "tokens", "texts", "tokenizer", "vocabulary", "known", "frequent", "recipe")
MEASURED = Stored(
    Path(__file__).parent / "measured" / "coverage.csv",
    COLUMNS,
    "The coverage is",
    "python -m experiments fused coverage",
    ("dataset", "lexicon", "tokenizer", "frequent", "recipe"),
)
TOKENIZERS = {  # tokenizers of our encoders, by recipe or base
    "fused_nsmc": "NSMC, 16,000 pieces",
    "fused_klue_nli": "KLUE-NLI, 8,000 pieces",
    "fused_korean_hate_speech": "Hate speech, 8,000 pieces",
    "fused_question_pair": "Question pairs, 8,000 pieces",
    "e5": "Multilingual E5",
}
WITH_TOKENIZERS = Stored(
    Path(__file__).parent / "measured" / "tokenizers.csv",
    ("dataset", "tokenizer", "vocabulary", "neutral", "tokens"),
    "The coverage with other tokenizers is",
    "python -m experiments fused coverage",
    ("dataset", "tokenizer"),
)
PAPER = ("nsmc", "kornli_xnli", "pawsx_ko", "korean_hate_speech", "question_pair")  # the five tasks of its figure
NAMED = 8  # most frequent tokens that are not neutral


def measure_coverage(dataset: str) -> pd.DataFrame:
    """A row per lexicon of the data set's language, `COLUMNS`: neutral is the share of tokens (special and unknown ones aside) that stay at
    (1/3, 1/3, 1/3), known the share of vocabulary entries that do not, frequent the most frequent of those in the texts.

    Raises:
        InputError: no such data set here. DataMissingError: it, its recipe's training set or a lexicon is not on this machine.
    """

    from sentviz.data import datasets

    if dataset not in RECIPES:
        raise InputError(f"Coverage is measured on {', '.join(RECIPES)}, not on {dataset!r}.")
    recipe = Recipe.read(RECIPES[dataset])
    tokenizer = trained_tokenizer(recipe)
    rows = test_rows(dataset, tokenizer, recipe)
    counts = np.bincount(np.concatenate(rows), minlength=tokenizer.vocab_size)
    polarities = {name: Lexicon.load(name).polarity(tokenizer) for name in LEXICONS[datasets.info(dataset).language]}
    rows_of_lexicons = []
    for name, polarity in (polarities | {JOINED: joined(polarities)}).items():
        share, total = coverage(rows, polarity)
        known = ~_neutral(polarity)
        first = np.argsort(-counts * known, kind="stable")[: min(NAMED, int(known.sum()))]
        frequent = " ".join(_written(tokenizer, int(token)) for token in first)
        shares = share, total, len(rows), recipe.tokenizer, tokenizer.vocab_size, float(known[SPECIALS:].mean())
        rows_of_lexicons.append((dataset, name, *shares, frequent, RECIPES[dataset]))
    return pd.DataFrame(rows_of_lexicons, columns=list(COLUMNS))


def joined(polarities: Mapping[str, npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
    """Return the mean of several lexicons' polarities (V, 3), over the lexicons that know an entry; neutral if none does."""
    tables = np.stack(list(polarities.values()))
    known = np.stack([~_neutral(table) for table in tables])[..., None]
    mean = (tables * known).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.asarray(np.where(known.any(axis=0), mean, 1 / 3), dtype=np.float32)


def _neutral(polarity: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
    """Return which entries of a vocabulary are (1/3, 1/3, 1/3)."""
    return np.asarray(np.isclose(polarity, 1 / 3).all(axis=1))


def trained_tokenizer(recipe: Recipe) -> Tokenizer:
    """Return the tokenizer of a recipe, trained on its training texts."""
    from sentviz.data import datasets

    train = datasets.load_split(recipe.dataset, "train").frame
    texts = train[[name for name in ("text", "text_pair") if name in train]].to_numpy().ravel().tolist()
    return Tokenizer.train(recipe.tokenizer, texts, min_count=recipe.min_count, vocab_size=recipe.vocab_size)


def test_rows(dataset: str, tokenizer: Tokenizer, recipe: Recipe) -> list[npt.NDArray[np.int32]]:
    """Return the ids of a data set's test texts, cut at the recipe's length."""
    from sentviz.data import datasets

    test = datasets.load_split(dataset, "test").frame
    pairs = test["text_pair"].tolist() if "text_pair" in test else None
    return tokenizer.ids_batch(test["text"].tolist(), pairs, max_length=recipe.max_length, cls=recipe.cls)


def _written(tokenizer: Tokenizer, token: int) -> str:
    """A vocabulary entry as people write it."""
    from tokenizers.decoders import ByteLevel

    spelt = tokenizer.token_of(token)
    return str(ByteLevel().decode([spelt]) if tokenizer.kind == "bpe" else spelt).strip()
