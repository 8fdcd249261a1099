"""A Hugging Face encoder as a `Network`.

The model's own embeddings, layers and classification head run; a model without a head gets a linear one, perhaps of 0 classes. Only the
step from Q, K, V to the heads' outputs is computed here, by the equation of `sentviz.models.attention`, through transformers' attention
interface. One function serves every architecture. While a layer runs, the arguments of the call (capture, intervention, polarities) are in
a context variable: nothing is stored on the model, and threads do not see each other's calls.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentviz.errors import RunError
from sentviz.models import attention as at
from sentviz.models.encoder import BENDS, injection
from sentviz.models.pretrained.checkpoint import ARCHITECTURES as PRETRAINED
from sentviz.models.pretrained.checkpoint import Architecture
from sentviz.models.protocol import Capture, Inputs, InterventionTensors, LayerActivations, Network, capture_layer
from sentviz.models.terms import AttentionTerms
from sentviz.runs.configs import HubConfig

IMPLEMENTATION = "sentviz"  # name of our attention in transformers' registry


def transformers() -> Any:
    """Return the package transformers.

    Raises:
        RunError: it is not installed.
    """
    try:
        return import_module("transformers")
    except ImportError:
        raise RunError("Hugging Face models need the package transformers: `python -m pip install 'sentviz[hub]'`.") from None


ARCHITECTURES = {kind: known for kind, known in PRETRAINED.items() if kind != "mpnet"} | {  # MPNet computes its attention itself
    "modernbert": Architecture(
        "ModernBERT",
        "model",
        "head.dense",
        "classifier",
        "gelu",
        layer="layers.{}.",
        attention=("attn.Wqkv",) * 3 + ("attn.Wo",),
        types=False,
    )
}


# ---- attention ------------------------------------------------------------------------------------------------------


@dataclass
class Call:
    """The arguments of one layer in one forward pass, and its captured activations."""

    layer: int
    terms: Callable[[Tensor, float], AttentionTerms]  # arguments: the queries (B, 1, H, n, d_k) and their scale
    capture: Capture | None
    change: InterventionTensors
    seen: LayerActivations | None = None
    called: bool = False


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
    """Return the heads' outputs (B, n, H, d_v) for q, k, v (B, H, n, d). Transformers calls this function in every layer.

    Without a capture, the fused kernels run, with the lexicon as three more features of Q and K; training with dropout needs the maps.
    """
    call = CALL.get()
    call.called = True
    q, k, capture = query[:, None], key[:, None], call.capture
    if call.change.values_off is not None:
        value = value.masked_fill(call.change.values_off[:, None, :, None], 0)
    terms = call.terms(q, query.shape[-1] ** -0.5 if scaling is None else scaling)
    if capture is not None and capture.includes(call.layer):
        call.seen, effective = capture_layer(q, k, value, terms, capture)
        out = terms.attend(q, k, value) if effective is None else effective @ value
    elif dropout:
        out = F.dropout(terms.maps(q, k)[:, 0], dropout) @ value
    else:
        out = terms.attend(q, k, value)
    return call.change.silence(call.layer, out).transpose(1, 2), None


@cache
def register() -> None:
    """Register `attention` in transformers, once per process.

    Raises:
        RunError: transformers is missing or too old.
    """
    package = transformers()
    if not hasattr(package, "AttentionInterface") or int(package.__version__.split(".")[0]) < 5:
        raise RunError(f"Hugging Face models need transformers 5 or newer; this is {package.__version__}.")
    package.AttentionInterface.register(IMPLEMENTATION, attention)


# ---- the encoder ----------------------------------------------------------------------------------------------------


class HubEncoder(Network):
    """A model of `AutoModelForSequenceClassification` or, with a linear head, of `AutoModel` that uses our attention."""

    config: HubConfig

    def __init__(self, config: HubConfig, model: Any) -> None:
        super().__init__()
        if config.head == "linear" and getattr(model, "pooler", None) is not None:
            model.pooler = None  # BERT's dense layer for pairs of sentences, which a linear head does not read
        self.config, self.model = config, model
        self.known = ARCHITECTURES[config.architecture]
        if config.lexicon != "none":
            self.register_buffer("polarity", torch.full((config.vocab_size, 3), 1 / 3))
        self.polarity: Tensor
        if config.head == "linear":
            self.classifier = linear = nn.Linear(config.width, 1)  # torch warns of a layer without outputs
            linear.out_features = config.classes
            linear.weight, linear.bias = nn.Parameter(torch.zeros(config.classes, config.width)), nn.Parameter(torch.zeros(config.classes))
        else:  # the model's own last layer under the name that every network uses, without registering its parameters a second time
            self.__dict__["classifier"] = model.get_submodule(self.known.classifier)

    @property
    def table(self) -> Tensor:
        """The embedding table, (V, e), after the norm if one follows: rescaling a row has no effect, so no gradient points there."""
        if self.config.positions == "rotary":
            embeddings = self.model.base_model.embeddings
            return embeddings.norm(embeddings.tok_embeddings.weight)  # type: ignore[no-any-return]
        return self.model.get_input_embeddings().weight  # type: ignore[no-any-return]

    def ready(self, inputs: Inputs) -> Inputs:
        """Return the inputs with the polarities of their tokens if a lexicon is injected."""
        if self.config.lexicon == "none" or inputs.polarity is not None:
            return inputs
        return replace(inputs, polarity=self.polarity[inputs.ids])

    def embed(self, inputs: Inputs) -> Tensor:
        """Return the model's embeddings, (B, n, d); rows of `table` are (.., e), with e = d except in ELECTRA."""
        body, vectors = self.model.base_model, inputs.vectors
        if vectors is not None and self.config.positions == "rotary":
            return vectors
        ids, pad = inputs.ids if vectors is None else None, self.model.config.pad_token_id
        if ids is not None and inputs.mask is not None and pad is not None:
            ids = ids.masked_fill(~inputs.mask, pad)
        if self.config.architecture == "distilbert":  # the second argument has different names in different versions
            return body.embeddings(ids, vectors)  # type: ignore[no-any-return]
        types = {"token_type_ids": inputs.segments} if self.config.segments > 1 else {}
        x: Tensor = body.embeddings(input_ids=ids, inputs_embeds=vectors, **types)
        return body.embeddings_project(x) if hasattr(body, "embeddings_project") else x

    def terms(self, layer: int, like: Tensor, scale: float, inputs: Inputs, change: InterventionTensors) -> AttentionTerms:
        """Return the terms of a layer's attention; `like` is (B, 1, H, n, d_k)."""
        config, factor = self.config, None
        biases: tuple[at.LowRank, ...] = ()
        if config.lexicon != "none":
            assert inputs.polarity is not None
            injected = injection(config, inputs.polarity.to(like), change.of("lexicon"), scale)
            factor = injected if config.lexicon == "multiply" else None
            biases = () if factor else (injected,)
        window = config.windows[layer]
        pattern = at.Pattern(window, torch.empty((1, 0), dtype=torch.long, device=like.device)) if window else None
        return AttentionTerms(
            scale=scale,
            structure=at.ScoreModifiers(inputs.mask, biases, factor, pattern),
            lambdas=like.new_ones(1),
            output=self._layer(layer).get_submodule(self.known.attention[3]).weight,  # type: ignore[arg-type]
            rotary=config.positions == "rotary",
        )

    def step(
        self, layer: int, x: Tensor, inputs: Inputs, capture: Capture | None, change: InterventionTensors
    ) -> tuple[Tensor, LayerActivations | None]:
        """Run one of the model's own layers with our attention."""
        places: dict[str, Any] = {}
        if self.config.positions == "rotary":
            body, ids = self.model.base_model, torch.arange(x.shape[1], device=x.device)[None]
            places["position_embeddings"] = body.rotary_emb(x, ids, body.config.layer_types[layer])
        call = Call(layer, lambda like, scale: self.terms(layer, like, scale, inputs, change), capture, change)
        out: Any = None
        token = CALL.set(call)
        try:
            out = self._layer(layer)(x, attention_mask=None, **places)
        except KeyError as error:  # in this version, the layers look up their attention elsewhere
            if error.args != (IMPLEMENTATION,):
                raise
        finally:
            CALL.reset(token)
        if not call.called:
            version = transformers().__version__
            raise RunError(
                f"transformers {version} computes the attention of {self.known.title} in a way that cannot be captured. Use a newer one."
            )
        states: Tensor = out[0] if isinstance(out, tuple) else out
        return states, call.seen

    def _layer(self, layer: int) -> nn.Module:
        module: nn.Module = self.model.base_model.get_submodule(self.known.layer.format(layer).removesuffix("."))
        return module

    def pool(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Return the input of the last linear layer from a layer's states, (B, n, d) -> (B, d): after the head's pooler or dense layer."""
        model, known = self.model, self.known
        if self.config.architecture == "modernbert":
            x = model.base_model.final_norm(x)
        x = x[:, 0] if self.config.pooling == "cls" else super().pool(x, mask)
        if self.config.head == "linear":
            return F.normalize(x, dim=-1) if self.config.normalized else x
        if self.config.architecture == "modernbert":
            return model.drop(model.head(x))  # type: ignore[no-any-return]
        has_head = "." in known.classifier  # a module with a dropout of its own, also before the dense layer
        dropout = (model.classifier if has_head else model).dropout
        dense = model.get_submodule(known.dense)
        return dropout(BENDS[known.head](dense(dropout(x) if has_head else x)))  # type: ignore[no-any-return]
