"""Small random Hugging Face models, made on the spot, and what transformers itself says of them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from sentviz.errors import SentvizError
from sentviz.models import hub
from tests.kit import toy_splits

DECODERS = ("gpt2", "llama", "qwen2", "qwen3")
KINDS = ("bert", "electra", "roberta", "xlm-roberta", "distilbert", "modernbert", "mpnet", "deberta", "deberta-v2", *DECODERS)
OWN = ("우리 마을 정원은 정말 따뜻하고 밝았다", "노래가 차갑고 지루해서 실망했다", "Was für ein schöner Leuchtturm!")
TEXT = "What a warm, clever garden; 우리 정원은 정말 따뜻하고 밝았다, never a dull song!"
SHORT = "a cold soup"


def counted(texts: list[str], normalizer: Any, pre_tokenizer: Any) -> tuple[Counter[str], Counter[str]]:
    """Letters and words, the commonest first, those as common by name.

    Vocabularies are made of these: the trainers of WordPiece and Unigram number their pieces otherwise in every process,
    and models with random vectors would then answer otherwise in every process.
    """
    words = [word for text in texts for word, _ in pre_tokenizer.pre_tokenize_str(normalizer.normalize_str(text))]
    letters, whole = Counter("".join(words)), Counter(words)
    return tuple(Counter(dict(sorted(of.items(), key=lambda item: (-item[1], item[0])))) for of in (letters, whole))


def word_pieces(texts: list[str]) -> Any:
    """Train BERT's tokenizer on the letters and the thirty commonest words of a few sentences."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    normalizer, pre_tokenizer = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    letters, words = counted(texts, normalizer, pre_tokenizer)
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = dict.fromkeys([*names, *letters, *(f"##{letter}" for letter in letters), *list(words)[:30]])
    backend = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    backend.normalizer, backend.pre_tokenizer = normalizer, pre_tokenizer
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, model_input_names=["input_ids", "token_type_ids", "attention_mask"], **special
    )


def byte_pairs(texts: list[str]) -> Any:
    """Train RoBERTa's tokenizer, or one like it."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    names, letters = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=names, initial_alphabet=letters, show_progress=False)
    backend.train_from_iterator(texts, trainer)
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    special = {"unk_token": "<unk>", "pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **special)


def unframed_pairs(texts: list[str]) -> Any:
    """Train GPT-2's tokenizer, or one like it: nothing is put before or after a text."""
    from tokenizers import processors

    tokenizer = byte_pairs(texts)
    tokenizer.backend_tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def sentence_pieces(texts: list[str]) -> Any:
    """Make a tokenizer like XLM-R's: a unigram model of letters and thirty words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    normalizer, pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    letters, words = counted(texts, normalizer, pre_tokenizer)
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    pieces = letters | Counter(dict(words.most_common(30)))
    scores = [(piece, math.log(count / pieces.total())) for piece, count in pieces.items()]
    backend = Tokenizer(models.Unigram([*((name, 0.0) for name in names), *scores], 3, False))
    backend.normalizer, backend.pre_tokenizer = normalizer, pre_tokenizer
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    special = {"unk_token": "<unk>", "pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **special)


def small(kind: str, size: int, labels: tuple[str, ...]) -> Any:
    """Return a random model: three layers, four heads, all weights different from their start values."""
    shape: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 24}
    shape |= {"vocab_size": size, "max_position_embeddings": 130, "id2label": dict(enumerate(labels))}
    grouped = {"num_key_value_heads": 2}  # two heads share their keys and values
    disentangled: dict[str, Any] = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "pooler_hidden_size": 16}
    ends = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    config = {
        "bert": lambda: transformers.BertConfig(**shape),
        "electra": lambda: transformers.ElectraConfig(embedding_size=8, **shape),
        "roberta": lambda: transformers.RobertaConfig(type_vocab_size=1, **ends, **shape),
        "xlm-roberta": lambda: transformers.XLMRobertaConfig(type_vocab_size=1, **ends, **shape),
        "distilbert": lambda: transformers.DistilBertConfig(
            dim=16, n_layers=3, n_heads=4, hidden_dim=24, **{k: shape[k] for k in ("vocab_size", "max_position_embeddings", "id2label")}
        ),
        "mpnet": lambda: transformers.MPNetConfig(**ends, **shape),
        "deberta": lambda: transformers.DebertaConfig(**disentangled, type_vocab_size=0, **shape),
        "deberta-v2": lambda: transformers.DebertaV2Config(
            **disentangled,
            type_vocab_size=2,
            position_buckets=4,
            norm_rel_ebd="layer_norm",
            share_att_key=True,
            conv_kernel_size=3,
            **shape,
        ),
        "gpt2": lambda: transformers.GPT2Config(
            vocab_size=size, n_embd=16, n_layer=3, n_head=4, n_positions=130, id2label=shape["id2label"], **ends
        ),
        "llama": lambda: transformers.LlamaConfig(**grouped, **ends, **shape),
        "qwen2": lambda: transformers.Qwen2Config(  # its tokenizer adds an entry
            **grouped, **ends, **(shape | {"vocab_size": size + 7}), use_sliding_window=True, sliding_window=4, max_window_layers=1
        ),
        "qwen3": lambda: transformers.Qwen3Config(**grouped, **ends, **shape, head_dim=6),
        "modernbert": lambda: transformers.ModernBertConfig(  # a window of 7 tokens in the second layer, a table with rows to spare
            **(shape | {"vocab_size": size + 7}), **ends, cls_token_id=0, sep_token_id=2, local_attention=6, global_attn_every_n_layers=2
        ),
    }[kind]()
    torch.manual_seed(3)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
    return model.eval()


def saved(
    folder: Path,
    kind: str,
    labels: tuple[str, ...] = ("NEGATIVE", "NEUTRAL", "POSITIVE"),
    *,
    change: Callable[[Any], object] = lambda tokenizer: None,
    **settings: Any,
) -> Path:
    """Write a model folder as Hugging Face does, with a changed tokenizer and other settings of its configuration if they are given."""
    texts = [*toy_splits()["train"].frame["text"], *OWN * 5]
    make = {"roberta": byte_pairs, "mpnet": byte_pairs, "modernbert": byte_pairs, "xlm-roberta": sentence_pieces}.get(kind, word_pieces)
    make = unframed_pairs if kind in DECODERS else make
    tokenizer = make(texts)
    change(tokenizer)
    model = small(kind, len(tokenizer), labels)
    model.config.update(settings)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def theirs(folder: Path, how: str = "eager") -> Any:
    return transformers.AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation=how).eval().double()


def expected_output(folder: Path, *texts: str, how: str = "eager", **options: Any) -> Any:
    """Return the output of transformers, with its own tokenizer and padding."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        return theirs(folder, how)(**tokenizer(list(texts), return_tensors="pt", padding=True), **options)


def loaded(folder: Path, **options: Any) -> hub.HubModel:
    """Load a model in double precision, because random weights make rounding errors large."""
    model = hub.load(folder, **options)
    model.network.double()
    return model


def answers(model: hub.HubModel, *texts: str, **change: Any) -> np.ndarray[Any, Any]:
    return model.forward([model.encode(text).reading for text in texts], model.intervention(**change))[0]


def changed(folder: Path, to: Path, **settings: Any) -> Path:
    """Copy a folder with another config.json."""
    import shutil

    shutil.copytree(folder, to)
    config = json.loads((to / "config.json").read_text())
    (to / "config.json").write_text(json.dumps(config | settings))
    return to


def refused(match: str, ask: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """Check that a call ends with an error of one sentence."""
    with pytest.raises(SentvizError, match=match) as error:
        ask(*arguments, **options)
    assert str(error.value).endswith(".") and "\n" not in str(error.value)
