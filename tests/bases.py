"""A small base over the words of the made-up data set, and recipes on it. Needs no transformers."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from sentviz.models.pretrained.base import add_base
from sentviz.runs.bases import Base
from sentviz.training.recipe import Recipe
from tests.kit import toy_splits

NAMES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
WIDTH, WIDE, LAYERS = 32, 64, 3


def word_pieces(path: Path) -> int:
    """Write BERT's kind of tokenizer over the words of the made-up set; how many entries it has."""
    normalizer, splitter = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    texts = (normalizer.normalize_str(text) for text in toy_splits()["train"].frame["text"])
    words = sorted({word for text in texts for word, _ in splitter.pre_tokenize_str(text)})
    letters = sorted({letter for word in words for letter in word})
    pieces = dict.fromkeys([*NAMES, *letters, *(f"##{letter}" for letter in letters), *words])
    backend = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    backend.normalizer, backend.pre_tokenizer = normalizer, splitter
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    backend.add_special_tokens(list(NAMES))
    backend.save(str(path))
    return len(pieces)


def bert_folder(folder: Path, seed: int = 0) -> Path:
    """Write a random BERT in the Hugging Face layout: 3 layers, 2 heads, width 32, 24 positions."""
    folder.mkdir(parents=True)
    size, rng = word_pieces(folder / "tokenizer.json"), torch.Generator().manual_seed(seed)
    shapes = {"embeddings.word_embeddings.weight": (size, WIDTH), "embeddings.position_embeddings.weight": (24, WIDTH)}
    shapes |= {"embeddings.token_type_embeddings.weight": (2, WIDTH), **_norm("embeddings.LayerNorm")}
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            shapes |= _linear(prefix + name, WIDTH, WIDTH)
        shapes |= _linear(f"{prefix}intermediate.dense", WIDE, WIDTH) | _linear(f"{prefix}output.dense", WIDTH, WIDE)
        shapes |= _norm(f"{prefix}attention.output.LayerNorm") | _norm(f"{prefix}output.LayerNorm")
    drawn = {name: torch.randn(shape, generator=rng) * 0.2 + ("LayerNorm.weight" in name) for name, shape in shapes.items()}
    save_file(drawn, folder / "model.safetensors")
    config = {"model_type": "bert", "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "vocab_size": size}
    config |= {"intermediate_size": WIDE, "max_position_embeddings": 24, "type_vocab_size": 2, "layer_norm_eps": 1e-12}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def toy_base(root: Path, bits: int = 8, name: str = "tiny") -> Base:
    """Make the base `tiny` in `root/bases` from a random BERT."""
    return add_base(bert_folder(root / "folders" / name), name, root / "bases", bits=bits, source="nobody/tiny", license="MIT")


def based_recipe(**changes: Any) -> Recipe:
    """Return a recipe of a few dozen steps of an adapter on the base `tiny`."""
    values: dict[str, Any] = {"dataset": "toy", "base": "tiny", "example": "what a warm, clever song we saw!", "max_length": 16}
    values |= {"epochs": 3, "batch_size": 16, "learning_rate": 1e-2, "adapter_rank": 4, "log_every": 5, "evaluations": 2}
    return Recipe.of(values | changes)


def _linear(name: str, rows: int, columns: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}


def _norm(name: str) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (WIDTH,), f"{name}.bias": (WIDTH,)}
