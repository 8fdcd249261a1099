"""The architectures of Hugging Face that can be read, and the names of their tensors. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Architecture:
    """Names of the tensors of an architecture; those of a layer follow `layer`."""

    title: str
    prefix: str  # precedes all names but those of the head, in a checkpoint with a head
    dense: str  # layer between pooling and classifier, in a checkpoint with a head
    classifier: str
    head: str  # activation after `dense`
    layer: str = "encoder.layer.{}."
    attention: tuple[str, str, str, str] = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
    attention_norm: str = "attention.output.LayerNorm"
    ffn: tuple[str, str] = ("intermediate.dense", "output.dense")
    ffn_norm: str = "output.LayerNorm"
    types: bool = True  # has token types
    behind_padding: bool = False  # positions begin after that of the padding
    final_norm: str = ""  # norm after the last layer
    causal: bool = False  # a decoder: a token sees no later token, and the classifier reads the last one


_OUT = "classifier.out_proj"
_ROBERTA = Architecture("RoBERTa", "roberta", "classifier.dense", _OUT, "tanh", behind_padding=True)
PRETRAINED = {  # encoders that our own encoder computes, so that they can be bases
    "bert": Architecture("BERT", "bert", "bert.pooler.dense", "classifier", "tanh"),
    "electra": Architecture("ELECTRA", "electra", "classifier.dense", _OUT, "gelu"),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "distilbert": Architecture(
        "DistilBERT",
        "distilbert",
        "pre_classifier",
        "classifier",
        "relu",
        layer="transformer.layer.{}.",
        attention=("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"),
        attention_norm="sa_layer_norm",
        ffn=("ffn.lin1", "ffn.lin2"),
        ffn_norm="output_layer_norm",
        types=False,
    ),
    "mpnet": Architecture(
        "MPNet",
        "mpnet",
        "classifier.dense",
        _OUT,
        "tanh",
        attention=("attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o"),
        attention_norm="attention.LayerNorm",
        types=False,
        behind_padding=True,
    ),
}

_SELF = "self_attn."
_DECODER = {
    "prefix": "model",
    "dense": "",
    "classifier": "score",
    "head": "",
    "layer": "layers.{}.",
    "attention": (f"{_SELF}q_proj", f"{_SELF}k_proj", f"{_SELF}v_proj", f"{_SELF}o_proj"),
    "types": False,
    "final_norm": "norm",
    "causal": True,
    "ffn": ("mlp.up_proj", "mlp.down_proj"),
}
_GPT2 = {
    "ffn": ("mlp.c_fc", "mlp.c_proj"),
    "prefix": "transformer",
    "layer": "h.{}.",
    "attention": ("attn.c_attn",) * 3 + ("attn.c_proj",),
    "final_norm": "ln_f",
}
_DEBERTA = ("DeBERTa", "deberta", "pooler.dense", "classifier", "")
ARCHITECTURES = PRETRAINED | {
    "modernbert": Architecture(
        "ModernBERT",
        "model",
        "head.dense",
        "classifier",
        "gelu",
        layer="layers.{}.",
        attention=("attn.Wqkv",) * 3 + ("attn.Wo",),
        ffn=("mlp.Wi", "mlp.Wo"),
        types=False,
        final_norm="final_norm",
    ),
    "deberta": Architecture(*_DEBERTA),
    "deberta-v2": Architecture(*_DEBERTA),
    "gpt2": Architecture("GPT-2", **(_DECODER | _GPT2)),  # type: ignore[arg-type]
    "llama": Architecture("Llama", **_DECODER),  # type: ignore[arg-type]
    "qwen2": Architecture("Qwen2", **_DECODER),  # type: ignore[arg-type]
    "qwen3": Architecture("Qwen3", **_DECODER),  # type: ignore[arg-type]
}
