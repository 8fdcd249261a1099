"""The shapes of all models, what each can be asked for, and how a stored shape is read. Plain data: needs no torch.

A stored shape may be older or newer than the code. A field that it lacks takes the default, which therefore always means *as before*; a
field that the code has given up may still stand there with the one value that every model has now (`RETIRED`); any other is refused.
"""

from __future__ import annotations

import marshal
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache, cached_property, lru_cache
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from sentviz.data.parts_of_speech import TAGS
from sentviz.runs.schema import LABELS, short


@dataclass(frozen=True)
class AdjustableTerm:
    """A named term of the scores whose strength can be changed: 1 as trained, 0 without."""

    term: str  # its name in the scores
    asks: str  # in the words of a visitor
    tip: str  # its entry in the glossary


GATE = AdjustableTerm("gate", "what if it were wider open, or not there?", "gate")
LEXICON = AdjustableTerm("lexicon", "what if it were stronger, or not there?", "polarity")
DISTANCE = AdjustableTerm("distance", "what if nearness counted for more, or for nothing?", "distance-bias")
MASK = AdjustableTerm("mask", "what if padding was read, as in the published code of 7ess-Xin?", "padding")


@dataclass(frozen=True)
class Capabilities:
    """What a model has, from which pages, scores, figures and commands decide what they offer of it."""

    layers: int
    heads: int = 1
    components: int = 1
    maps: bool = True  # attention maps
    softmax: bool = True  # whose rows are a softmax of scores, which can be taken apart
    lambdas: bool = False  # components mixed by learned weights
    gate: bool = False  # a learned bias on each key, which can be opened and shut token by token
    tags: bool = False  # reads the part of speech of each token
    aware: bool = False  # positions are a sum of signals, each weighed by a learned scalar
    lexicon: bool = False  # polarities in the scores
    cls: bool = False  # the classifier reads [CLS] instead of the mean
    pairs: bool = False  # two texts, told apart
    pattern: bool = False  # some keys are out of a query's sight
    silence: bool = True  # heads can be silenced
    extends: bool = False  # can read longer texts than it was trained on: no row of a table is learned for each place
    moving: bool = False  # tokens are points that move from layer to layer: leaders, clusters
    dials: tuple[AdjustableTerm, ...] = ()  # terms of its scores whose strength can be changed
    switches: tuple[AdjustableTerm, ...] = ()  # what is as trained or not there, with nothing between
    scalars: tuple[str, ...] = ()  # names of the learned scalars that its history records

    @property
    def attention(self) -> str:
        """How many maps a head has, in words."""
        if not self.maps:
            return "no attention"
        return f"{self.components} attention maps per head" if self.components > 1 else "one attention map per head"


def differential_start(layer: int) -> float:
    """DT's lambda_init = 0.8 - 0.6 exp(-0.3 layer), layers counted from 0."""
    return 0.8 - 0.6 * math.exp(-0.3 * layer)


def lambda_starts(constraint: str, layers: int, components: int) -> tuple[tuple[float, ...], ...]:
    """Start values (L, C-1) that reproduce the pattern of the paper's printed finals.

    Reconstructed: the paper says only that they depend on layer and component and are clamped to the constraint's range. The first
    two layers follow its tables II, IV, VI; deeper ones repeat the second.
    """
    first, later = {
        "unit": ([0.15 * 0.95**i for i in range(3)], [0.184, 0.160, 0.152]),
        "symmetric": ([-0.2 * 0.8**i for i in range(3)], [-0.06, -0.09, -0.07]),
        "nonneg": ([0.2 * 0.8**i for i in range(3)], [0.356, 0.20, 0.16]),
        "free": ([0.2 * 0.8**i for i in range(3)], [0.356, 0.20, 0.16]),
    }[constraint]
    return tuple(tuple((first if layer == 0 else later)[: components - 1]) for layer in range(layers))


LISTED, FARTHEST = 1_000, 1 << 17  # entries of a list, and the largest whole number in one
KINDS: dict[Any, str] = {
    int: "a whole number",
    float: "a finite number",
    bool: "true or false",
    str: "a text",
    tuple[int, ...]: f"a list of whole numbers, at most {LISTED:,} and each at most {FARTHEST:,}",
    tuple[tuple[float, ...], ...]: f"a list of rows of numbers, at most {LISTED:,}",
}
BOUNDS: dict[str, tuple[int, float]] = {  # the least and the most of a setting: nothing is made of a shape that no machine could hold
    "vocab_size": (1, 1 << 22),
    "classes": (1, LABELS),
    "max_length": (1, FARTHEST),
    **dict.fromkeys(("layers", "heads"), (1, LISTED)),
    **dict.fromkeys(("components", "segments"), (1, 100)),
    **dict.fromkeys(("width", "hidden", "filters"), (1, 1 << 16)),
    "key_width": (0, 1 << 18),
    "ffn_width": (1, 1 << 18),
    "embedding_width": (0, 1 << 16),
    "norm_eps": (0, 1),
    "relative": (0, 1 << 12),
    "relative_reach": (2, FARTHEST),
    "window": (0, FARTHEST),
    **dict.fromkeys(("global_drawn", "tags"), (0, LISTED)),
    **dict.fromkeys(("lambda_std", "embedding_scale", "dropout"), (0, 1e6)),
}


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind of `KINDS`; truth values are no numbers, lists from JSON pass for tuples."""
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf
    if kind in (bool, int, str):
        return isinstance(value, kind) and (kind is not int or not isinstance(value, bool))
    if not isinstance(value, list | tuple) or len(value) > LISTED:
        return False
    part = get_args(kind)[0]
    return all(_fits(each, part) and (part is not int or abs(each) <= FARTHEST) for each in value)


class ModelKind:
    """A kind of model: the name that its runs are stored under. Its network, model and subject are named in `sentviz.models.kinds` and
    `sentviz.training.kinds`.
    """

    KIND: ClassVar[str]
    RETIRED: ClassVar[Mapping[str, Any]] = {}  # settings given up, each with the value that every model has now

    def __post_init__(self) -> None:
        _check(self)


@cache
def _settings(config: type) -> list[tuple[str, Any, tuple[Any, ...]]]:
    """Of each setting of a shape its name, what it must be, and where that is a choice, among what; made once, since catalogs read many."""
    kinds = {name: kind for name, kind in get_type_hints(config).items() if get_origin(kind) is not ClassVar}
    return [(name, kind, get_args(kind) if get_origin(kind) is Literal else ()) for name, kind in kinds.items()]


def _check(config: Any) -> None:
    """Refuse values of a setting that are not of its type, too small or too large.

    Raises:
        ValueError: the setting and its value, in one sentence.
    """
    shape: Any = type(config)
    for name, kind, choices in _settings(shape):
        value = getattr(config, name)
        if choices:
            if value not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, not {short(value)}.")
        elif not _fits(value, kind):
            raise ValueError(f"{name} must be {KINDS[kind]}, not {short(value)}.")
    for name, (least, most) in BOUNDS.items():
        value = getattr(config, name, least)
        if value < least:
            raise ValueError(f"{name} must be at least {least}, not {short(value)}.")
        if value > most:
            raise ValueError(f"{name} must be at most {most:,}, not {short(value)}.")
    if getattr(config, "dropout", 0) >= 1:
        raise ValueError(f"dropout must be below 1, not {config.dropout}.")


@dataclass(frozen=True)
class EncoderConfig(ModelKind):
    """The shape of an encoder; every field is stored with a run and read back strictly."""

    vocab_size: int
    classes: int
    max_length: int = 256
    width: int = 128  # d
    layers: int = 2
    heads: int = 4
    components: int = 1  # C
    mixing: Literal["none", "differential", "unit", "symmetric", "nonneg", "free"] = "none"
    key_width: int = 0  # width of one component's Q (and K) over all heads; 0 = d, or d/2 if C > 1
    lambda_start: tuple[tuple[float, ...], ...] = ()  # (L, C-1); () = the paper's pattern
    lambda_std: float = 0.02
    learn_lambda: bool = True
    head_norm: bool = False  # DT: RMSNorm per head on A V, times (1 - lambda_init)
    embedding_scale: float = 0.0  # factor on the token embeddings; 0 = sqrt(d), as in Vaswani et al. 2017, section 3.4
    positions: Literal["sinusoid", "learned", "rotary", "aware", "none"] = "learned"  # aware: SentiFormer's of polarity
    tags: int = 0  # parts of speech that aware positions tell apart, that of specials among them; 0 = all of TAGS, or none
    qk_norm: bool = False  # L2-normalised Q and K, learned temperature
    norm: Literal["rms", "layer", "none"] = "rms"
    norm_first: bool = True
    ffn: Literal["swiglu", "relu", "gelu"] = "swiglu"
    ffn_width: int = 342
    pooling: Literal["mean", "cls"] = "mean"
    segments: int = 1  # 2 = a pair of texts, told apart by an embedding
    gate: bool = False  # SentiFormer's log sigmoid(x_j W_g)
    window: int = 0  # 0 = full attention
    global_tokens: tuple[int, ...] = (0, -1)  # seen by all when a window is set; negative = from the end
    global_drawn: int = 0  # that many more, drawn for each layer: anew at each training step, else by the text's length
    lexicon: Literal["none", "add", "multiply"] = "none"  # Sentiment-Fused adds sigma, Xia et al. multiply by it
    lexicon_heads: Literal["all", "last"] = "all"
    lexicon_scaled: bool = False  # sigma / sqrt(d_k)
    masked: bool = True  # False: texts are filled up to max_length with padding, which is read like any token (7ess-Xin's published code)
    dropout: float = 0.2  # on the embedding and on each residual branch, never on attention
    norm_eps: float = 0.0  # added to the variance; 0 = 1e-6 of "rms", 1e-5 of "layer"
    embedding_width: int = 0  # e, brought to d by a linear map as in ELECTRA; 0 = d, without a map
    embedding_norm: bool = False  # LayerNorm of the embedding, as in BERT
    relative: int = 0  # buckets of MPNet's relative position bias, one value per head and bucket, shared by the layers; 0 = none
    relative_reach: int = 128  # tokens from which on all distances are in one bucket
    head: Literal["none", "tanh", "relu", "gelu"] = "none"  # a dense layer between pooling and classifier, and its activation

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
            raise ValueError(
                f"{self.relative} buckets for distances up to {self.relative_reach} cannot be shared out; MPNet has 32 and 128."
            )
        if (self.mixing == "none") != (self.components == 1):
            raise ValueError(f"A mixing of {self.mixing!r} does not fit {self.components} components.")
        starts = tuple(tuple(row) for row in self.lambda_start)
        if self.mixing == "differential":
            starts = starts or tuple((differential_start(layer),) for layer in range(self.layers))
        elif self.mixes:
            starts = starts or lambda_starts(self.mixing, self.layers, self.components)
        object.__setattr__(self, "lambda_start", starts)
        object.__setattr__(self, "global_tokens", tuple(self.global_tokens))
        if self.width % self.heads or self.key_width % self.heads or self.key_width < 1:
            raise ValueError(f"{self.heads} heads do not divide a width of {self.width} or a key width of {self.key_width}.")
        if self.head_norm and self.mixing == "none":
            raise ValueError("head_norm is for mixed components; this model has one.")
        if starts and [len(row) for row in starts] != [self.components - 1] * self.layers:
            raise ValueError(f"lambda_start needs {self.layers} rows of {self.components - 1} values.")

    @property
    def mixes(self) -> bool:
        """Whether lambdas weigh several components."""
        return self.components > 1

    @property
    def key_size(self) -> int:
        """d_k of one head and component."""
        return self.key_width // self.heads

    @cached_property
    def capabilities(self) -> Capabilities:
        """What a model of this shape has."""
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
            extends=self.positions != "learned",
            dials=(GATE,) * self.gate + (LEXICON,) * (self.lexicon != "none") + (DISTANCE,) * (self.relative > 0),
            switches=(MASK,) * (self.masked and self.segments == 1 and not self.embedding_norm),  # padding is id 0 in our own vocabularies
            scalars=("lambda",) * self.mixes + ("temperature",) * self.qk_norm + ("alpha", "beta", "gamma") * (self.positions == "aware"),
        )


@dataclass(frozen=True)
class HubConfig(ModelKind):
    """The shape of a Hugging Face encoder as the library and the app read it; stored with a run."""

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

    KIND: ClassVar[str] = "hub"
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
        if len(self.windows) != self.layers:
            raise ValueError(f"windows needs {self.layers} numbers, not {len(self.windows)}.")

    @property
    def key_size(self) -> int:
        """d_k of one head."""
        return self.width // self.heads

    @cached_property
    def capabilities(self) -> Capabilities:
        """What a model of this shape has."""
        return Capabilities(
            self.layers,
            self.heads,
            lexicon=self.lexicon != "none",
            cls=self.pooling == "cls",
            pairs=self.segments > 1,
            pattern=any(self.windows),
            dials=(LEXICON,) * (self.lexicon != "none"),
        )


@dataclass(frozen=True)
class HardmaxConfig(ModelKind):
    """The shape of a hardmax classifier; stored with a run."""

    vocab_size: int
    classes: int = 2
    max_length: int = 128  # words
    width: int = 2  # d
    layers: int = 8
    cleaning: bool = True  # stop-words and possessives dropped
    training: Literal["softmax", "hardmax"] = "softmax"
    training_temperature: float = 1e-3
    tolerance: float = 1e-12  # relative to the largest norm, as in sentviz.models.clustering.TOLERANCE

    KIND: ClassVar[str] = "hardmax"
    RETIRED: ClassVar[Mapping[str, Any]] = {
        "heads": 1,
        "components": 1,
        "mixing": "none",
        "pooling": "mean",
        "segments": 1,
        "lexicon": "none",
        "alpha": ...,  # the learned step, which the weights hold
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classes != 2:
            raise ValueError(f"The hardmax classifier tells two classes apart, not {self.classes}.")

    @cached_property
    def capabilities(self) -> Capabilities:
        """What a model of this shape has."""
        return Capabilities(self.layers, softmax=False, moving=True, scalars=("alpha",))


@dataclass(frozen=True)
class RecurrentConfig(ModelKind):
    """The shape of a bidirectional LSTM; stored with a run."""

    vocab_size: int
    classes: int
    max_length: int = 256
    hidden: int = 256  # of each direction
    layers: int = 2
    dropout: float = 0.2  # on the embedding and behind each layer

    KIND: ClassVar[str] = "recurrent"

    @property
    def width(self) -> int:
        """d: of the embedding too, and the states of both directions side by side."""
        return 2 * self.hidden

    @cached_property
    def capabilities(self) -> Capabilities:
        """What a model of this shape has."""
        return Capabilities(self.layers, maps=False, softmax=False, silence=False, extends=True)


@dataclass(frozen=True)
class ConvolutionalConfig(ModelKind):
    """The shape of a convolution over words (Kim 2014); stored with a run."""

    vocab_size: int
    classes: int
    max_length: int = 256
    filters: int = 100  # of each width
    widths: tuple[int, ...] = (3, 4, 5)  # tokens that a filter reads
    dropout: float = 0.2  # on the embedding and on what the classifier reads

    KIND: ClassVar[str] = "convolutional"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "widths", tuple(self.widths))
        if not self.widths or min(self.widths) < 1:
            raise ValueError(f"widths must be at least one whole number above 0, not {list(self.widths)}.")

    @property
    def width(self) -> int:
        """d: of the embedding too, and all filters side by side."""
        return self.filters * len(self.widths)

    @property
    def layers(self) -> int:
        """One."""
        return 1

    @cached_property
    def capabilities(self) -> Capabilities:
        """What a model of this shape has."""
        return Capabilities(1, maps=False, softmax=False, silence=False, extends=True)


ModelConfig = EncoderConfig | HubConfig | HardmaxConfig | RecurrentConfig | ConvolutionalConfig  # every kind of model there is
CONFIGS: dict[str, type[ModelConfig]] = {each.KIND: each for each in get_args(ModelConfig)}


def stored_config(config: ModelConfig) -> dict[str, Any]:
    """A shape as it is stored with a run: its kind and every setting."""
    return {"kind": config.KIND} | asdict(config)


def read_config(stored: dict[str, Any]) -> ModelConfig:
    """A stored shape, of whichever version; see the module's docstring.

    Raises:
        ValueError: an unknown kind or setting, or values that no model has, in one sentence.
    """
    kind = stored.get("kind", EncoderConfig.KIND)
    if not isinstance(kind, str) or kind not in CONFIGS:
        raise ValueError(f"it is of the kind {short(kind)}; this version knows {', '.join(CONFIGS)}")
    return _read(CONFIGS[kind], marshal.dumps(stored, 0))  # type: ignore[arg-type]  # a class is hashable


@lru_cache(maxsize=1024)
def _read(wanted: type[ModelConfig], stored: bytes) -> ModelConfig:
    """A shape never changes, and most runs share theirs with others."""
    values = marshal.loads(stored)
    values.pop("kind", None)
    known = {item.name for item in fields(wanted)}
    for name in sorted(values.keys() - known):
        value = values.pop(name)
        if name not in wanted.RETIRED or wanted.RETIRED[name] not in (value, ...):
            raise ValueError(f"its setting {short(name)} = {short(value)} means nothing to this version")
    try:
        return wanted(**values)
    except TypeError as error:
        raise ValueError(str(error)) from error
