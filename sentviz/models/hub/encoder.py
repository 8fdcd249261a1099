"""A Hugging Face encoder behind the interface of `sentviz.models.encoder.Encoder`.

The model's own embeddings, layers and classification head run; only what happens between Q, K, V and the heads' outputs is computed here,
by the equation of `sentviz.attention`, through transformers' attention interface. One function serves every architecture. What it needs of
a call (watch, intervention, polarities) lies in a context variable for as long as the layer runs: nothing of a call is kept on the model,
and threads do not see each other's.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentviz import attention as at
from sentviz.errors import RunError
from sentviz.models.encoder import Encoder
from sentviz.models.protocol import Batch, Change, LayerSeen, Watch, look

__all__ = ["ARCHITECTURES", "IMPLEMENTATION", "HubConfig", "HubEncoder", "attention", "register", "transformers"]

IMPLEMENTATION = "sentviz"  # the name of our attention in transformers' registry


def transformers() -> Any:
    """The package.

    Raises:
        RunError: it is not installed.
    """
    try:
        return import_module("transformers")
    except ImportError:
        raise RunError("Hugging Face models need the package transformers: `python -m pip install 'sentviz[hub]'`.") from None


@dataclass(frozen=True)
class HubConfig:
    """The shape of a foreign encoder as the library and the app read it; stored with a run."""

    architecture: str  # transformers' model_type
    vocab_size: int
    classes: int
    max_length: int
    width: int
    layers: int
    heads: int
    windows: tuple[int, ...] = ()  # (L,) tokens that a local layer sees around a query; 0 = all
    pooling: Literal["cls", "mean"] = "cls"
    segments: int = 1
    positions: Literal["learned", "rotary"] = "learned"
    lexicon: Literal["none", "add", "multiply"] = "none"
    lexicon_heads: Literal["all", "last"] = "all"
    lexicon_scaled: bool = False
    components: int = 1
    mixing: Literal["none"] = "none"
    kind: Literal["hub"] = "hub"
    # what these encoders do not have
    window: int = 0
    global_tokens: tuple[int, ...] = ()
    gate: bool = False
    qk_norm: bool = False
    head_norm: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "windows", tuple(self.windows) or (0,) * self.layers)
        object.__setattr__(self, "global_tokens", tuple(self.global_tokens))

    @property
    def key_size(self) -> int:
        """d_k of one head."""
        return self.width // self.heads


# ---- the architectures: how their parts are called -----------------------------------------------------------------


def _bert(model: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    return model.dropout(model.base_model.pooler(x))  # type: ignore[no-any-return]


def _electra(model: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    head = model.classifier
    return head.dropout(head.activation(head.dense(head.dropout(x[:, 0]))))  # type: ignore[no-any-return]


def _roberta(model: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    head = model.classifier
    return head.dropout(torch.tanh(head.dense(head.dropout(x[:, 0]))))  # type: ignore[no-any-return]


def _distilbert(model: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    return model.dropout(F.relu(model.pre_classifier(x[:, 0])))  # type: ignore[no-any-return]


def _modernbert(model: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    x = model.base_model.final_norm(x)
    if model.config.classifier_pooling == "cls":
        read = x[:, 0]
    elif mask is None:
        read = x.mean(dim=1)
    else:
        read = (x * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
    return model.drop(model.head(read))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Architecture:
    """Where the parts of a model are, below the encoder's body unless said otherwise."""

    title: str
    layers: str
    output: str  # below a layer: the projection of the heads' outputs
    classifier: str  # below the model: the last linear layer
    pool: Callable[[Any, Tensor, Tensor | None], Tensor]  # the last layer's states to what that one reads
    types: bool = False  # token types: a pair of texts is told apart


_ROBERTA = Architecture("RoBERTa", "encoder.layer", "attention.output.dense", "classifier.out_proj", _roberta, types=True)
ARCHITECTURES = {
    "bert": Architecture("BERT", "encoder.layer", "attention.output.dense", "classifier", _bert, types=True),
    "electra": Architecture("ELECTRA", "encoder.layer", "attention.output.dense", "classifier.out_proj", _electra, types=True),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "distilbert": Architecture("DistilBERT", "transformer.layer", "attention.out_lin", "classifier", _distilbert),
    "modernbert": Architecture("ModernBERT", "layers", "attn.Wo", "classifier", _modernbert),
}


# ---- attention ------------------------------------------------------------------------------------------------------


@dataclass
class Call:
    """What one layer of one forward pass needs, and what was seen of it."""

    config: HubConfig
    layer: int
    batch: Batch
    watch: Watch | None
    change: Change
    seen: LayerSeen | None = None
    asked: bool = False

    def structure(self, like: Tensor, scale: float) -> at.Structure:
        """Padding, injection and window of this layer; like (B, 1, H, n, d_k)."""
        config, factor = self.config, None
        biases: tuple[at.LowRank, ...] = ()
        if config.lexicon != "none":
            assert self.batch.polarity is not None
            polarity = self.batch.polarity.to(like)[:, None, None]  # (B, 1, 1, n, 3)
            strength = like.new_full((config.heads,), self.change.strength)
            if config.lexicon_heads == "last":
                strength[:-1] = 0
            if config.lexicon == "add":
                strength = strength * (scale if config.lexicon_scaled else 1.0)
                biases = (at.LowRank("lexicon", polarity * strength[:, None, None], polarity),)
            else:
                factor = at.lexicon_factor(polarity, strength)
        window = config.windows[self.layer]
        pattern = at.Pattern(window, torch.empty((1, 0), dtype=torch.long, device=like.device)) if window else None
        return at.Structure(self.batch.mask, biases, factor, pattern)


CALL: ContextVar[Call] = ContextVar("sentviz_call")


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **_: Any,
) -> tuple[Tensor, None]:
    """The heads' outputs (B, n, H, d_v) of q, k, v (B, H, n, d): what transformers calls in every layer.

    Without a watch the fused kernels run, the lexicon as three more features of Q and K; in training, with dropout on the weights.
    """
    call = CALL.get()
    call.asked = True
    q, k, scale = query[:, None], key[:, None], query.shape[-1] ** -0.5 if scaling is None else scaling
    if call.change.values_off is not None:
        value = value.masked_fill(call.change.values_off[:, None, :, None], 0)
    structure, one, watch = call.structure(q, scale), q.new_ones(1), call.watch
    if watch is not None and (not watch.layers or call.layer in watch.layers):
        call.seen, whole = look(q, k, value, one, scale, structure, watch)
        out = at.attend(q, k, value, one, scale, structure) if whole is None else whole @ value
    elif dropout:
        weights = at.maps(at.scores(q, k, scale, structure), at.visible(structure, None, q.shape[-2]))
        out = F.dropout(weights[:, 0], dropout) @ value
    else:
        out = at.attend(q, k, value, one, scale, structure)
    if off := [head for layer, head in call.change.heads_off if layer == call.layer]:
        keep = out.new_ones(out.shape[1], 1, 1)
        keep[off] = 0
        out = out * keep
    return out.transpose(1, 2), None


@cache
def register() -> None:
    """Make `attention` known to transformers, once a process.

    Raises:
        RunError: transformers is missing or too old.
    """
    package = transformers()
    if not hasattr(package, "AttentionInterface") or int(package.__version__.split(".")[0]) < 5:
        raise RunError(f"Hugging Face models need transformers 5 or newer; this is {package.__version__}.")
    package.AttentionInterface.register(IMPLEMENTATION, attention)


# ---- the encoder ----------------------------------------------------------------------------------------------------


class HubBlock:
    """One layer, called as `sentviz.models.encoder.Block` is."""

    def __init__(self, config: HubConfig, body: Any, layer: int) -> None:
        known = ARCHITECTURES[config.architecture]
        self.config, self.body, self.layer = config, body, layer
        self.module: nn.Module = body.get_submodule(f"{known.layers}.{layer}")
        output = self.module.get_submodule(known.output)
        self.attention = SimpleNamespace(output=output, head_norm=None, temperature=None, window=config.windows[layer])

    def __call__(self, x: Tensor, batch: Batch, watch: Watch | None, change: Change) -> tuple[Tensor, LayerSeen | None]:
        """(B, n, d) -> (B, n, d) and what was seen."""
        places: dict[str, Any] = {}
        if self.config.positions == "rotary":
            ids = torch.arange(x.shape[1], device=x.device)[None]
            places["position_embeddings"] = self.body.rotary_emb(x, ids, self.body.config.layer_types[self.layer])
        call = Call(self.config, self.layer, batch, watch, change)
        out: Any = None
        token = CALL.set(call)
        try:
            out = self.module(x, attention_mask=None, **places)
        except KeyError as error:  # a version whose layers look their attention up elsewhere
            if error.args != (IMPLEMENTATION,):
                raise
        finally:
            CALL.reset(token)
        if not call.asked:
            kind, version = ARCHITECTURES[self.config.architecture].title, transformers().__version__
            raise RunError(f"transformers {version} computes the attention of {kind} in a way that cannot be seen; a newer one does not.")
        states: Tensor = out[0] if isinstance(out, tuple) else out
        return states, call.seen


class Normed:
    """A table of words behind the norm that follows at once: a row itself may be scaled without effect, so no gradient lies along it."""

    def __init__(self, embeddings: Any) -> None:
        self.embeddings = embeddings

    @property
    def weight(self) -> Tensor:
        """(V, d)."""
        return self.embeddings.norm(self.embeddings.tok_embeddings.weight)  # type: ignore[no-any-return]


class HubEncoder(Encoder):
    """Tokens in, logits out; `forward` is that of `Encoder`."""

    config: HubConfig  # type: ignore[assignment]

    def __init__(self, config: HubConfig, model: Any) -> None:
        """Wrap a model of `AutoModelForSequenceClassification` that was made with our attention."""
        nn.Module.__init__(self)
        self.config, self.model, self.dropout = config, model, nn.Dropout(0.0)  # the model has its own
        if config.lexicon != "none":
            self.register_buffer("polarity", torch.full((config.vocab_size, 3), 1 / 3))
        known, body = ARCHITECTURES[config.architecture], model.base_model
        self.__dict__.update(  # parts of the model under the names they have in `Encoder`, not registered a second time
            embedding=Normed(body.embeddings) if config.positions == "rotary" else model.get_input_embeddings(),
            classifier=model.get_submodule(known.classifier),
            blocks=[HubBlock(config, body, layer) for layer in range(config.layers)],
        )

    def embed(self, batch: Batch, tokens: Tensor | None = None) -> Tensor:
        """The model's embeddings, (B, n, d): tokens (B, n, e) are rows of `embedding.weight`, e = d but in ELECTRA."""
        body = self.model.base_model
        if tokens is not None and self.config.positions == "rotary":
            return tokens
        ids, pad = batch.ids if tokens is None else None, self.model.config.pad_token_id
        if ids is not None and batch.mask is not None and pad is not None:
            ids = ids.masked_fill(~batch.mask, pad)
        if self.config.architecture == "distilbert":  # the second has another name in each version
            return body.embeddings(ids, tokens)  # type: ignore[no-any-return]
        types = {"token_type_ids": batch.segments} if self.config.segments > 1 else {}
        x: Tensor = body.embeddings(input_ids=ids, inputs_embeds=tokens, **types)
        return body.embeddings_project(x) if hasattr(body, "embeddings_project") else x

    def pool(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """What the last linear layer reads of a layer's states, (B, n, d) -> (B, d): behind pooler or dense layer of the model's head."""
        return ARCHITECTURES[self.config.architecture].pool(self.model, x, mask)

    def lambdas(self) -> Tensor:
        """(L, 1) ones: one map a head."""
        return torch.ones(self.config.layers, 1)
