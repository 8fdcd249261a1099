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
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentviz.errors import RunError
from sentviz.models import attention as at
from sentviz.models.architectures import ARCHITECTURES
from sentviz.models.encoder import BENDS, injection
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


# ---- attention ------------------------------------------------------------------------------------------------------


@dataclass
class Call:
    """The arguments of one layer in one forward pass, and its captured activations."""

    layer: int
    # Arguments: the queries (B, 1, H, n, d_k), their scale, and a term of distances (B|1, H, n, m) or None.
    terms: Callable[[Tensor, float, Tensor | None], AttentionTerms]
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
    distances: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Return the heads' outputs (B, n, H, d_v) for q, k, v (B, H, n, d). Transformers calls this function in every layer.

    Several heads may share keys and values, which then have fewer heads. `distances` is the term of DeBERTa or MPNet, (B|1, H, n, m).

    Without a capture, the fused kernels run, with the lexicon as three more features of Q and K; training with dropout needs the maps.
    """
    call = CALL.get()
    call.called = True
    if (shared := query.shape[1] // key.shape[1]) > 1:
        key, value = key.repeat_interleave(shared, dim=1), value.repeat_interleave(shared, dim=1)
    q, k, capture = query[:, None], key[:, None], call.capture
    value = call.change.put("value", call.layer, value)
    terms = call.terms(q, query.shape[-1] ** -0.5 if scaling is None else scaling, distances)
    if capture is not None and capture.includes(call.layer):
        call.seen, effective = capture_layer(q, k, value, terms, capture)
        out = terms.attend(q, k, value) if effective is None else effective @ value
    elif dropout:
        out = F.dropout(terms.maps(q, k)[:, 0], dropout) @ value
    else:
        out = terms.attend(q, k, value)
    return call.change.put("head", call.layer, out).transpose(1, 2), None


def feed_forward(module: nn.Module, _: Any, out: Tensor) -> Tensor:
    """Return the output of a layer's feed-forward network with replaced vectors: a forward hook of its last linear layer."""
    call = CALL.get(None)
    return out if call is None else call.change.put("feedforward", call.layer, out)


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


# ---- DeBERTa and MPNet ----------------------------------------------------------------------------------------------

DISENTANGLED = ("deberta", "deberta-v2")


def redirect(model: Any) -> None:
    """Let the layers of a DeBERTa or an MPNet call `attention`: transformers computes their attention without its attention interface.

    Q, K, V and the term of distances stay those of transformers' own code.
    """
    for layer in model.base_model.encoder.layer:
        part, forward = (layer.attention.attn, _Biased) if hasattr(layer.attention, "attn") else (layer.attention.self, _Disentangled)
        if not isinstance(part, forward):
            part.__class__ = type(type(part).__name__, (forward, type(part)), {})


class _Biased(nn.Module):
    """The forward pass of MPNet's attention by `attention`."""

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        position_bias: Tensor | None = None,
        output_attentions: bool = False,
        **_: Any,
    ) -> tuple[Tensor, None]:
        """Return the projected outputs of the heads, (B, n, d)."""
        part: Any = self
        q, k, v = (
            project(hidden_states).unflatten(-1, (part.num_attention_heads, -1)).transpose(1, 2) for project in (part.q, part.k, part.v)
        )
        out = attention(part, q, k, v, None, dropout=part.dropout.p if part.training else 0.0, distances=position_bias)[0]
        return part.o(out.flatten(2)), None


class _Disentangled(nn.Module):
    """The forward pass of a DeBERTa's attention, versions 1 and 2, by `attention`."""

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None,
        output_attentions: bool = False,
        query_states: Tensor | None = None,
        relative_pos: Tensor | None = None,
        rel_embeddings: Tensor | None = None,
    ) -> tuple[Tensor, None]:
        """Return the joined outputs of the heads, (B, n, d)."""
        part: Any = self
        batch, n, _ = hidden_states.shape
        heads, kinds = part.num_attention_heads, part.pos_att_type
        factor = 1 + (len(kinds) if hasattr(part, "in_proj") else ("c2p" in kinds) + ("p2c" in kinds))

        def split(x: Tensor) -> Tensor:
            return x.view(*x.shape[:2], heads, -1).transpose(1, 2)

        if hasattr(part, "in_proj"):
            q, k, v = split(part.in_proj(hidden_states)).chunk(3, dim=-1)
            q, v = q + split(part.q_bias[None, None]), v + split(part.v_bias[None, None])
        else:
            q, k, v = (split(project(hidden_states)) for project in (part.query_proj, part.key_proj, part.value_proj))
        scale, distances = float(q.shape[-1] * factor) ** -0.5, None
        if part.relative_attention:
            embeddings = part.pos_dropout(rel_embeddings)
            if hasattr(part, "in_proj"):
                distances = part.disentangled_att_bias(q * scale, k, relative_pos, embeddings, factor)
            else:
                flat = part.disentangled_attention_bias(q.flatten(0, 1), k.flatten(0, 1), relative_pos, embeddings, factor)
                distances = flat.view(batch, heads, n, n) if isinstance(flat, Tensor) else None
        distances = distances if isinstance(distances, Tensor) else None
        dropout = part.dropout.p if part.training else 0.0
        out, _ = attention(part, q, k, v, None, scaling=scale, dropout=dropout, distances=distances)
        return out.reshape(batch, n, -1), None


# ---- the encoder ----------------------------------------------------------------------------------------------------


class HubEncoder(Network):
    """A model of `AutoModelForSequenceClassification` or, with a linear head, of `AutoModel` that uses our attention."""

    config: HubConfig

    def __init__(self, config: HubConfig, model: Any) -> None:
        super().__init__()
        if config.head == "linear" and getattr(model, "pooler", None) is not None:
            model.pooler = None  # BERT's dense layer for pairs of sentences, which a linear head does not read
        if config.architecture in (*DISENTANGLED, "mpnet"):
            redirect(model)
        self.config, self.model = config, model
        self.known = ARCHITECTURES[config.architecture]
        for layer in range(config.layers):
            self._layer(layer).get_submodule(self.known.ffn[1]).register_forward_hook(feed_forward)
        if config.lexicon != "none":
            self.register_buffer("polarity", torch.full((config.vocab_size, 3), 1 / 3))
        self.polarity: Tensor
        if config.head == "linear":
            widths = (config.width, *config.dense)
            self.dense = nn.ModuleList(nn.Linear(*each) for each in pairwise(widths))
            self.classifier = linear = nn.Linear(widths[-1], 1)  # torch warns of a layer without outputs
            linear.out_features = config.classes
            linear.weight, linear.bias = nn.Parameter(torch.zeros(config.classes, widths[-1])), nn.Parameter(torch.zeros(config.classes))
        else:  # the model's own last layer under the name that every network uses, without registering its parameters a second time
            self.__dict__["classifier"] = model.get_submodule(self.known.classifier)

    @property
    def table(self) -> Tensor:
        """The embedding table, (V, e), after the norm if one follows: rescaling a row has no effect, so no gradient points there."""
        if self.config.architecture == "modernbert":
            embeddings = self.model.base_model.embeddings
            return embeddings.norm(embeddings.tok_embeddings.weight)  # type: ignore[no-any-return]
        return self.model.get_input_embeddings().weight  # type: ignore[no-any-return]

    def ready(self, inputs: Inputs) -> Inputs:
        """Return the inputs with the polarities of their tokens if a lexicon is injected.

        A classifier that reads the last token skips padding at the end, also padding that the text spells, as in transformers.
        """
        pad = self.model.config.pad_token_id
        if self.known.causal and self.config.head == "own" and pad is not None:
            real = torch.cat([torch.ones_like(inputs.ids[:, :1], dtype=torch.bool), self._real(inputs)[:, 1:]], dim=1)
            real = real.flip(1).cumsum(dim=1).flip(1) > 0
            if inputs.mask is not None or not real.all():
                inputs = replace(inputs, mask=real)
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
        if self.known.causal:
            words: Tensor = self.model.get_input_embeddings()(ids) if vectors is None else vectors
            places = body.wpe.weight[: words.shape[1]] if self.config.architecture == "gpt2" else None
            return words if places is None else body.drop(words + places)
        if self.config.architecture == "distilbert":  # the second argument has different names in different versions
            return body.embeddings(ids, vectors)  # type: ignore[no-any-return]
        more = {"token_type_ids": inputs.segments} if self.config.segments > 1 else {}
        more |= {"mask": inputs.mask} if self.config.architecture in DISENTANGLED else {}
        if self.known.behind_padding:  # padding that a text spells has no place, as in transformers
            real = self._real(inputs)
            more["position_ids"] = real.cumsum(dim=1) * real + pad
        x: Tensor = body.embeddings(input_ids=ids, inputs_embeds=vectors, **more)
        return body.embeddings_project(x) if hasattr(body, "embeddings_project") else x

    def _real(self, inputs: Inputs) -> Tensor:
        """Return which tokens are not padding, (B, n), whether a batch is filled up with it or a text spells it."""
        real: Tensor = inputs.ids != self.model.config.pad_token_id
        return real if inputs.mask is None else real & inputs.mask

    def terms(
        self, layer: int, like: Tensor, scale: float, distances: Tensor | None, inputs: Inputs, change: InterventionTensors
    ) -> AttentionTerms:
        """Return the terms of a layer's attention; `like` is (B, 1, H, n, d_k), the term of distances (B|1, H, n, m)."""
        config, factor = self.config, None
        biases: tuple[at.Term, ...] = () if distances is None else (at.Dense("distance", distances[:, None] * change.of("distance")),)
        if config.lexicon != "none":
            assert inputs.polarity is not None
            injected = injection(config, inputs.polarity.to(like), change.of("lexicon"), scale)
            factor = injected if config.lexicon == "multiply" else None
            biases += () if factor else (injected,)
        window, causal = config.windows[layer], self.known.causal
        none = torch.empty((1, 0), dtype=torch.long, device=like.device)
        pattern = at.Pattern(window or 2 * config.max_length, none, causal) if window or causal else None
        output = self._layer(layer).get_submodule(self.known.attention[3]).weight
        return AttentionTerms(
            scale=scale,
            structure=at.ScoreModifiers(inputs.mask, biases, factor, pattern),
            lambdas=like.new_ones(1),
            output=output.T if config.architecture == "gpt2" else output,  # type: ignore[arg-type]
            rotary=config.positions == "rotary",
        )

    def step(
        self, layer: int, x: Tensor, inputs: Inputs, capture: Capture | None, change: InterventionTensors
    ) -> tuple[Tensor, LayerActivations | None]:
        """Run one of the model's own layers with our attention."""
        places: dict[str, Any] = {}
        if self.config.positions == "rotary":
            body, ids = self.model.base_model, torch.arange(x.shape[1], device=x.device)[None]
            kind = (body.config.layer_types[layer],) if self.config.architecture == "modernbert" else ()
            places["position_embeddings"] = body.rotary_emb(x, ids, *kind)
        if self.config.architecture in DISENTANGLED:
            encoder = self.model.base_model.encoder
            places |= {"relative_pos": encoder.get_rel_pos(x), "rel_embeddings": encoder.get_rel_embedding()}
        if self.config.architecture == "mpnet":
            places["position_bias"] = self.model.base_model.encoder.compute_position_bias(x[:1])
        call = Call(layer, lambda like, scale, apart: self.terms(layer, like, scale, apart, inputs, change), capture, change)
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
        if not layer and (convolution := getattr(getattr(self.model.base_model, "encoder", None), "conv", None)) is not None:
            states = convolution(x, states, torch.ones_like(x[..., 0]) if inputs.mask is None else inputs.mask.to(x))
        return states, call.seen

    def _layer(self, layer: int) -> nn.Module:
        module: nn.Module = self.model.base_model.get_submodule(self.known.layer.format(layer).removesuffix("."))
        return module

    def pool(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Return the input of the last linear layer from a layer's states, (B, n, d) -> (B, d): after the head's pooler or dense layer."""
        model, known = self.model, self.known
        if known.final_norm:
            x = model.base_model.get_submodule(known.final_norm)(x)
        if self.config.pooling == "last":
            x = x[:, -1] if mask is None else x[torch.arange(x.shape[0], device=x.device), mask.sum(dim=1) - 1]
        else:
            x = x[:, 0] if self.config.pooling == "cls" else super().pool(x, mask)
        if self.config.head == "linear":
            for layer in self.dense:
                x = layer(x) if self.config.dense_activation == "none" else BENDS[self.config.dense_activation](layer(x))
            return F.normalize(x, dim=-1) if self.config.normalized else x
        if known.causal:
            return x
        if self.config.architecture == "modernbert":
            return model.drop(model.head(x))  # type: ignore[no-any-return]
        if self.config.architecture in DISENTANGLED:
            return model.dropout(model.pooler(x[:, None]))  # type: ignore[no-any-return]
        has_head = "." in known.classifier  # a module with a dropout of its own, also before the dense layer
        dropout = (model.classifier if has_head else model).dropout
        dense = model.get_submodule(known.dense)
        return dropout(BENDS[known.head](dense(dropout(x) if has_head else x)))  # type: ignore[no-any-return]
