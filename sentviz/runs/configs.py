"""Configurations of all models, their capabilities, and the reading of stored configurations. Plain data: needs no torch.

A stored configuration may be older or newer than the code. A missing field takes its default, which therefore always means *as before*.
A field that the code no longer has is accepted if its value is the only one that models have now (`RETIRED`). Any other field is refused.
"""

from __future__ import annotations

import marshal
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property, lru_cache
from typing import Annotated, Any, ClassVar, Literal, get_args

from sentviz.data.parts_of_speech import TAGS
from sentviz.io.typed import Finite, check, fitted, short, sized, within
from sentviz.runs.schema import LABELS

# Settings are bounded, so that no configuration is too large for a machine.
LISTED, FARTHEST = 1_000, 1 << 17  # maximum entries of a list, and the largest whole number in a list
Count = Annotated[int, within(1, LISTED)]
Parts = Annotated[int, within(1, 100)]
Classes = Annotated[int, within(0, LABELS)]  # `ModelKind` refuses 0 for all models but encoders without a head
Vocabulary = Annotated[int, within(1, 1 << 22)]
Length = Annotated[int, within(1, FARTHEST)]
Width = Annotated[int, within(1, 1 << 16)]
Factor = Annotated[float, within(0, 1e6)]
Share = Annotated[float, within(0, below=1)]
Drawn = Annotated[int, within(0, LISTED)]
Reach = Annotated[int, within(2, FARTHEST)]
Buckets = Annotated[int, within(0, 1 << 12)]
Wholes = Annotated[tuple[Annotated[int, within(-FARTHEST, FARTHEST)], ...], sized(None, LISTED)]
Rows = Annotated[tuple[Annotated[tuple[Finite, ...], sized(None, LISTED)], ...], sized(None, LISTED)]


@dataclass(frozen=True)
class AdjustableTerm:
    """A named term of the scores whose strength can be changed: 1 as trained, 0 = removed."""

    term: str  # name of the term in the scores
    asks: str  # the question that changing it answers, in a visitor's words
    tip: str  # name of its glossary entry


GATE = AdjustableTerm("gate", "what if gates were open wider, or removed?", "gate")
LEXICON = AdjustableTerm("lexicon", "what if the lexicon were stronger, or removed?", "polarity")
DISTANCE = AdjustableTerm("distance", "what if distance counted more, or not at all?", "distance-bias")
MASK = AdjustableTerm("mask", "what if the model also read the padding after the text?", "padding")


@dataclass(frozen=True)
class Capabilities:
    """The parts and abilities of a model. Pages, scores, figures and commands use it to decide what they offer."""

    layers: int
    heads: int = 1
    components: int = 1
    predicts: bool = True  # predicts a class; an encoder without a head does not
    maps: bool = True  # attention maps
    softmax: bool = True  # rows of the maps are a softmax of scores, which can be taken apart
    lambdas: bool = False  # components are mixed by learned weights
    gate: bool = False  # a learned bias on each key, which can be opened and shut token by token
    tags: bool = False  # reads the part of speech of each token
    aware: bool = False  # positions are a sum of signals, each weighted by a learned scalar
    lexicon: bool = False  # polarities enter the scores
    cls: bool = False  # the classifier reads [CLS] instead of the mean
    last: bool = False  # the classifier reads the last token, as in a decoder
    pairs: bool = False  # reads pairs of texts and tells the two texts apart
    pattern: bool = False  # some keys are outside a query's window
    silence: bool = True  # heads can be silenced
    padded: bool = False  # texts are padded to the maximum length, and padding is read like any token
    extends: bool = False  # can read longer texts than in training: positions are not learned one by one
    moving: bool = False  # tokens are points that move from layer to layer: leaders, clusters
    dials: tuple[AdjustableTerm, ...] = ()  # terms of the scores whose strength can be changed
    switches: tuple[AdjustableTerm, ...] = ()  # terms that are either as trained or removed
    scalars: tuple[str, ...] = ()  # names of the learned scalars in the history
    replaces: tuple[str, ...] = ()  # vectors of tokens that an intervention can replace: see sentviz.runs.intervention.VECTORS

    @property
    def attention(self) -> str:
        """The number of maps per head, in words."""
        if not self.maps:
            return "no attention"
        return f"{self.components} attention maps per head" if self.components > 1 else "one attention map per head"


def differential_start(layer: int) -> float:
    """Return the Differential Transformer's lambda_init = 0.8 - 0.6 exp(-0.3 layer), layers counted from 0."""
    return 0.8 - 0.6 * math.exp(-0.3 * layer)


def lambda_starts(constraint: str, layers: int, components: int) -> tuple[tuple[float, ...], ...]:
    """Return start values (L, C-1) that reproduce the pattern of the paper's reported final values.

    Reconstructed: the paper says only that the start values depend on layer and component and are limited to the constraint's range. The
    first two layers follow its tables II, IV, VI; deeper layers repeat the second.
    """
    first, later = {
        "unit": ([0.15 * 0.95**i for i in range(3)], [0.184, 0.160, 0.152]),
        "symmetric": ([-0.2 * 0.8**i for i in range(3)], [-0.06, -0.09, -0.07]),
        "nonneg": ([0.2 * 0.8**i for i in range(3)], [0.356, 0.20, 0.16]),
        "free": ([0.2 * 0.8**i for i in range(3)], [0.356, 0.20, 0.16]),
    }[constraint]
    return tuple(tuple((first if layer == 0 else later)[: components - 1]) for layer in range(layers))


class ModelKind:
    """A kind of model. Its runs are stored under the name `KIND`, for which `sentviz.models.loading` and `sentviz.training.run` name its
    network, its model and its training task.
    """

    KIND: ClassVar[str]
    RETIRED: ClassVar[Mapping[str, Any]] = {}  # former settings, each with the only value that models have now; ... = any value
    FEWEST: ClassVar[int] = 1  # minimum number of classes
    classes: Classes

    @property
    def pooled_width(self) -> int:
        """Number of entries of the vector that the last linear layer reads."""
        return int(self.width)  # type: ignore[attr-defined]  # every kind has a width

    def __post_init__(self) -> None:
        check(self)
        if self.classes < self.FEWEST:
            raise ValueError(f"classes must be at least {self.FEWEST}, not {self.classes}.")


@dataclass(frozen=True)
class EncoderConfig(ModelKind):
    """Configuration of an encoder. Every field is stored with a run and checked when it is read."""

    vocab_size: Vocabulary
    classes: Classes
    max_length: Length = 256
    width: Width = 128  # d
    layers: Count = 2
    heads: Count = 4
    components: Parts = 1  # C
    mixing: Literal["none", "differential", "unit", "symmetric", "nonneg", "free"] = "none"
    key_width: Annotated[int, within(0, 1 << 18)] = 0  # width of one component's Q (and K) over all heads; 0 = d, or d/2 if C > 1
    lambda_start: Rows = ()  # (L, C-1); one row = that of every layer; () = the paper's pattern
    lambda_std: Factor = 0.02
    learn_lambda: bool = True
    head_norm: bool = False  # Differential Transformer: RMSNorm per head of A V, times (1 - lambda_init)
    embedding_scale: Factor = 0.0  # factor on the token embeddings; 0 = sqrt(d), as in Vaswani et al. 2017, section 3.4
    positions: Literal["sinusoid", "learned", "rotary", "aware", "none"] = "learned"  # "aware": SentiFormer's positions
    tags: Drawn = 0  # parts of speech that aware positions distinguish, with that of special tokens; 0 = all of TAGS, or none
    qk_norm: bool = False  # L2-normalised Q and K, learned temperature
    norm: Literal["rms", "layer", "none"] = "rms"
    norm_first: bool = True
    ffn: Literal["swiglu", "relu", "gelu"] = "swiglu"
    ffn_width: Annotated[int, within(1, 1 << 18)] = 342
    pooling: Literal["mean", "cls"] = "mean"
    segments: Parts = 1  # 2 = pairs of texts, told apart by an embedding
    gate: bool = False  # SentiFormer's log sigmoid(x_j W_g)
    window: Annotated[int, within(0, FARTHEST)] = 0  # 0 = full attention
    global_tokens: Wholes = (0, -1)  # tokens that every token sees if a window is set; negative = counted from the end
    global_drawn: Drawn = 0  # further global tokens per layer: random at each training step, otherwise fixed by text length and layer
    lexicon: Literal["none", "add", "multiply"] = "none"  # "add": Sentiment-Fused adds sigma; "multiply": Xia et al.
    lexicon_heads: Literal["all", "last"] = "all"
    lexicon_scaled: bool = False  # divide sigma by sqrt(d_k)
    masked: bool = True  # False: texts are padded to max_length and padding is read like any token (7ess-Xin's published code)
    dropout: Share = 0.2  # on the embedding and on each residual branch, never on attention
    norm_eps: Annotated[float, within(0, 1)] = 0.0  # added to the variance; 0 = 1e-6 for "rms", 1e-5 for "layer"
    embedding_width: Annotated[int, within(0, 1 << 16)] = 0  # e, mapped linearly to d as in ELECTRA; 0 = d, without a map
    embedding_norm: bool = False  # LayerNorm of the embedding, as in BERT
    relative: Buckets = 0  # buckets of MPNet's relative position bias: one value per head and bucket, shared by the layers; 0 = none
    relative_reach: Reach = 128  # distance, in tokens, from which on all distances share one bucket
    head: Literal["none", "tanh", "relu", "gelu"] = "none"  # activation of a dense layer between pooling and classifier

    KIND: ClassVar[str] = "encoder"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.key_width:
            object.__setattr__(self, "key_width", self.width // (1 if self.components == 1 else 2))
        if (self.positions == "aware") < (self.tags > 0):
            raise ValueError("Only aware positions read tags.")
        if self.positions == "aware" and not self.tags:
            object.__setattr__(self, "tags", len(TAGS))
        if not self.embedding_scale:
            object.__setattr__(self, "embedding_scale", math.sqrt(self.width))
        if not self.embedding_width:
            object.__setattr__(self, "embedding_width", self.width)
        if self.relative % 4 or (self.relative and self.relative_reach <= self.relative // 4):
            raise ValueError(f"{self.relative} buckets do not fit distances up to {self.relative_reach}; MPNet has 32 and 128.")
        if (self.mixing == "none") != (self.components == 1):
            raise ValueError(f"A mixing of {self.mixing!r} does not fit {self.components} components.")
        starts = tuple(tuple(row) for row in self.lambda_start)
        if self.mixing == "differential":
            starts = starts or tuple((differential_start(layer),) for layer in range(self.layers))
        elif self.mixes:
            starts = starts or lambda_starts(self.mixing, self.layers, self.components)
        starts = starts * self.layers if len(starts) == 1 else starts
        object.__setattr__(self, "lambda_start", starts)
        object.__setattr__(self, "global_tokens", tuple(self.global_tokens))
        if self.width % self.heads or self.key_width % self.heads or self.key_width < 1:
            raise ValueError(f"{self.heads} heads do not divide a width of {self.width} or a key width of {self.key_width}.")
        if self.head_norm and self.mixing == "none":
            raise ValueError("head_norm is for mixed components, but this model has one component.")
        if starts and [len(row) for row in starts] != [self.components - 1] * self.layers:
            raise ValueError(f"lambda_start needs {self.layers} rows of {self.components - 1} values.")

    @property
    def mixes(self) -> bool:
        """True if lambdas mix several components."""
        return self.components > 1

    @property
    def key_size(self) -> int:
        """d_k of one head and component."""
        return self.key_width // self.heads

    @cached_property
    def capabilities(self) -> Capabilities:
        """The capabilities of a model with this configuration."""
        return Capabilities(
            self.layers,
            self.heads,
            self.components,
            lambdas=self.mixes,
            gate=self.gate,
            tags=self.tags > 0,
            aware=self.positions == "aware",
            lexicon=self.lexicon != "none",
            cls=self.pooling == "cls",
            pairs=self.segments > 1,
            pattern=self.window > 0,
            padded=not self.masked,
            extends=self.positions != "learned",
            dials=(GATE,) * self.gate + (LEXICON,) * (self.lexicon != "none") + (DISTANCE,) * (self.relative > 0),
            switches=(MASK,) * (self.masked and self.segments == 1 and not self.embedding_norm),  # padding is id 0 in our own vocabularies
            scalars=("lambda",) * self.mixes + ("temperature",) * self.qk_norm + ("alpha", "beta", "gamma") * (self.positions == "aware"),
            replaces=("state", "residual", "feedforward", "head", "value") + ("component",) * self.mixes,
        )


@dataclass(frozen=True)
class HubConfig(ModelKind):
    """Configuration of a Hugging Face encoder, as the library and the app read it; stored with a run."""

    architecture: str  # transformers' model_type
    vocab_size: Vocabulary
    classes: Classes  # 0 = an encoder without a classification head
    max_length: Length
    width: Width
    layers: Count
    heads: Count
    windows: Wholes = ()  # (L,) window of each layer in tokens around a query; 0 = all tokens
    pooling: Literal["cls", "mean", "last"] = "cls"
    head: Literal["own", "linear"] = "own"  # "own": the checkpoint's classification head; "linear": a linear layer on the pooled states
    normalized: bool = False  # the linear head reads vectors of length 1
    dense: Wholes = ()  # widths of the dense layers between the pooling and the linear head
    dense_activation: Literal["none", "tanh", "relu", "gelu"] = "none"
    segments: Parts = 1
    positions: Literal["learned", "rotary"] = "learned"
    lexicon: Literal["none", "add", "multiply"] = "none"
    lexicon_heads: Literal["all", "last"] = "all"
    lexicon_scaled: bool = False

    KIND: ClassVar[str] = "hub"
    FEWEST: ClassVar[int] = 0
    RETIRED: ClassVar[Mapping[str, Any]] = {
        "components": 1,
        "mixing": "none",
        "window": 0,
        "global_tokens": [],
        "gate": False,
        "qk_norm": False,
        "head_norm": False,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "windows", tuple(self.windows) or (0,) * self.layers)
        object.__setattr__(self, "dense", tuple(self.dense))
        if self.dense and (min(self.dense) < 1 or self.head != "linear"):
            raise ValueError("dense needs positive widths and a linear head.")
        if not self.classes and self.head == "own":
            raise ValueError("A classification head has at least one class.")
        if len(self.windows) != self.layers:
            raise ValueError(f"windows needs {self.layers} numbers, not {len(self.windows)}.")

    @property
    def key_size(self) -> int:
        """d_k of one head."""
        return self.width // self.heads

    @property
    def pooled_width(self) -> int:
        """Number of entries of the vector that the last linear layer reads."""
        return (self.width, *self.dense)[-1]

    @cached_property
    def capabilities(self) -> Capabilities:
        """The capabilities of a model with this configuration."""
        return Capabilities(
            self.layers,
            self.heads,
            predicts=self.classes > 0,
            lexicon=self.lexicon != "none",
            cls=self.pooling == "cls",
            last=self.pooling == "last",
            pairs=self.segments > 1,
            pattern=any(self.windows),
            dials=(LEXICON,) * (self.lexicon != "none") + (DISTANCE,) * self.architecture.startswith(("deberta", "mpnet")),
            replaces=("state", "feedforward", "head", "value"),
        )


@dataclass(frozen=True)
class HardmaxConfig(ModelKind):
    """Configuration of a hardmax classifier; stored with a run."""

    vocab_size: Vocabulary
    classes: Classes = 2
    max_length: Length = 128  # words
    width: Width = 2  # d
    layers: Count = 8
    cleaning: bool = True  # drop stop words and the possessive 's
    training: Literal["softmax", "hardmax"] = "softmax"
    training_temperature: Finite = 1e-3
    tolerance: Finite = 1e-12  # tolerance of ties, relative to the largest norm (sentviz.models.clustering.TOLERANCE)

    KIND: ClassVar[str] = "hardmax"
    RETIRED: ClassVar[Mapping[str, Any]] = {
        "heads": 1,
        "components": 1,
        "mixing": "none",
        "pooling": "mean",
        "segments": 1,
        "lexicon": "none",
        "alpha": ...,  # the learned step, which is stored with the weights
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classes != 2:
            raise ValueError(f"The hardmax classifier needs two classes, not {self.classes}.")

    @cached_property
    def capabilities(self) -> Capabilities:
        """The capabilities of a model with this configuration."""
        return Capabilities(self.layers, softmax=False, moving=True, scalars=("alpha",))


@dataclass(frozen=True)
class RecurrentConfig(ModelKind):
    """Configuration of a bidirectional LSTM; stored with a run."""

    vocab_size: Vocabulary
    classes: Classes
    max_length: Length = 256
    hidden: Width = 256  # width of each direction
    layers: Count = 2
    dropout: Share = 0.2  # on the embedding and after each layer

    KIND: ClassVar[str] = "recurrent"

    @property
    def width(self) -> int:
        """d: width of the embedding, and of the states of both directions together."""
        return 2 * self.hidden

    @cached_property
    def capabilities(self) -> Capabilities:
        """The capabilities of a model with this configuration."""
        return Capabilities(self.layers, maps=False, softmax=False, silence=False, extends=True)


@dataclass(frozen=True)
class ConvolutionalConfig(ModelKind):
    """Configuration of a convolution over words (Kim 2014); stored with a run."""

    vocab_size: Vocabulary
    classes: Classes
    max_length: Length = 256
    filters: Width = 100  # number of filters of each width
    widths: Wholes = (3, 4, 5)  # tokens that a filter reads
    dropout: Share = 0.2  # on the embedding and on the input of the classifier

    KIND: ClassVar[str] = "convolutional"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "widths", tuple(self.widths))
        if not self.widths or min(self.widths) < 1:
            raise ValueError(f"widths must be at least one whole number above 0, not {list(self.widths)}.")

    @property
    def width(self) -> int:
        """d: width of the embedding, and of the outputs of all filters together."""
        return self.filters * len(self.widths)

    @property
    def layers(self) -> int:
        """The number of layers, always 1."""
        return 1

    @cached_property
    def capabilities(self) -> Capabilities:
        """The capabilities of a model with this configuration."""
        return Capabilities(1, maps=False, softmax=False, silence=False, extends=True)


ModelConfig = EncoderConfig | HubConfig | HardmaxConfig | RecurrentConfig | ConvolutionalConfig  # every kind of model
CONFIGS: dict[str, type[ModelConfig]] = {each.KIND: each for each in get_args(ModelConfig)}


def stored_config(config: ModelConfig) -> dict[str, Any]:
    """Return a configuration as it is stored with a run: its kind and every setting."""
    return {"kind": config.KIND} | asdict(config)


def read_config(stored: dict[str, Any]) -> ModelConfig:
    """Return a stored configuration of any version; see the module's docstring.

    Raises:
        ValueError: the kind, a setting or a value is unknown.
    """
    kind = stored.get("kind", EncoderConfig.KIND)
    if not isinstance(kind, str) or kind not in CONFIGS:
        raise ValueError(f"it is of the kind {short(kind)}; this version knows {', '.join(CONFIGS)}")
    return _read(CONFIGS[kind], marshal.dumps(stored, 0))  # type: ignore[arg-type]  # a class is hashable


@lru_cache(maxsize=1024)
def _read(config_class: type[ModelConfig], stored: bytes) -> ModelConfig:
    """Read a stored configuration. Cached, because most runs share theirs with others."""
    values = marshal.loads(stored)
    values.pop("kind", None)
    known = {item.name for item in fields(config_class)}
    for name in sorted(values.keys() - known):
        value = values.pop(name)
        if name not in config_class.RETIRED or config_class.RETIRED[name] not in (value, ...):
            raise ValueError(f"its setting {short(name)} = {short(value)} is unknown to this version")
    return fitted(config_class, values)
