"""Make what tests begin with: a made-up two-class data set, small runs and models with random weights, traces, and pages of the app."""

import io
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from html import unescape
from importlib import import_module
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch import Tensor, nn

from app.places import SENTENCE, places
from sentviz.analysis.testset.rows import Rows, RowsSource
from sentviz.data import datasets
from sentviz.data.reviews import WordsTokenizer
from sentviz.data.tags import Tagger
from sentviz.data.texts import TokenizedText
from sentviz.data.tokenizers import Tokenizer
from sentviz.models.batches import collate
from sentviz.models.encoder import Encoder
from sentviz.models.hardmax import HardmaxEncoder, HardmaxModel
from sentviz.models.model import Model
from sentviz.models.protocol import Inputs, Network
from sentviz.runs.configs import EncoderConfig, HardmaxConfig, RecurrentConfig
from sentviz.runs.registry import built_in
from sentviz.runs.trace import Trace
from sentviz.training import Trainer, task_of, train
from sentviz.training.recipe import Recipe
from tests.fresh import FAULTS

LABELS = ("negative", "positive")
GOOD = ("bright", "warm", "clever", "tender", "splendid")
BAD = ("dull", "cold", "clumsy", "hollow", "dreadful")
NOUNS = ("garden", "song", "puppet show", "soup", "lighthouse")
FRAMES = ("the {noun} was {one} and {two}", "a {one} {noun}", "what a {one}, {two} {noun} we saw!", "{one} {noun}, I say")
SIZES = {"train": 160, "validation": 60, "test": 60}


def toy_splits(seed: int = 0) -> dict[str, datasets.Split]:
    """Return splits of templated sentences, half of them positive; no sentence is in two splits."""
    rows = []
    for label, adjectives in enumerate((BAD, GOOD)):
        for frame, noun, first, two in product(FRAMES, NOUNS, adjectives, adjectives):
            if first != two:
                rows.append((frame.format(noun=noun, one=first, two=two), label))
    rows = list(dict.fromkeys(rows))
    rows = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]
    splits, start = {}, 0
    for split, size in SIZES.items():
        texts, labels = zip(*rows[start : start + size], strict=True)
        ids = [f"{split}-{i}" for i in range(size)]
        frame = pd.DataFrame({"id": ids, "text": texts, "label": np.array(labels, dtype=np.int64)})
        splits[split] = datasets.Split("toy", split, frame, LABELS, 0, "0" * 12)
        start += size
    return splits


@cache
def toy_tokenizer() -> Tokenizer:
    """Return the tokenizer of every word of the made-up training rows."""
    return Tokenizer.train_words(toy_splits()["train"].frame["text"], 1)


def toy_pairs() -> dict[str, datasets.Split]:
    """Return the made-up set as pairs: the second text is the next row's, and the label says whether the two agree."""
    splits = {}
    for split, rows in toy_splits().items():
        frame, after = rows.frame, rows.frame.iloc[[*range(1, len(rows)), 0]].reset_index(drop=True)
        frame = frame.assign(text_pair=after["text"], label=(frame["label"] == after["label"]).astype(np.int64))
        splits[split] = replace(rows, frame=frame)
    return splits


def use_toy_data(patch: pytest.MonkeyPatch, *, pairs: bool = False) -> dict[str, datasets.Split]:
    """Make `sentviz.data.datasets` answer every name with the made-up set."""
    import_module("sentviz.data.fetch.hub")  # now, because a first import while `info` is replaced would keep the replacement
    splits = toy_pairs() if pairs else toy_splits()
    patch.setattr(datasets, "load_split", lambda name, split: splits[split])
    patch.setattr(
        datasets,
        "info",
        lambda name: SimpleNamespace(name=name, labels=LABELS, splits=SIZES, language="en", short="", pair=pairs, needed=list),
    )
    return splits


def toy_recipe(model: str = "ndt-unit-2", **changes: Any) -> Recipe:
    """Return a recipe of a few dozen steps of a width-16 model."""
    values: dict[str, Any] = {
        "dataset": "toy",
        "model": model,
        "example": "what a warm, clever song we saw!",
        "min_count": 1,
        "max_length": 16,
        "shape": {"width": 16, "heads": 2, "ffn_width": 24},
        "epochs": 4,
        "batch_size": 16,
        "learning_rate": 1e-2,
        "lambda_rate": 1e-2,
        "dropout": 0.1,
        "log_every": 5,
    }
    return Recipe.of(values | changes)


def batch(rows: Iterable[Any]) -> Inputs:
    """Return the padded token ids of some texts."""
    return collate([TokenizedText(np.asarray(row)) for row in rows])


def refused(
    error: type[Exception] | tuple[type[Exception], ...], sentence: str, ask: Callable[..., object], *arguments: Any, **options: Any
) -> None:
    """Check that a call raises an error whose sentence matches a pattern."""
    with pytest.raises(error, match=sentence):
        ask(*arguments, **options)


def toy_trainer(folder: Path, model: str = "ndt-unit-2", **changes: Any) -> Trainer:
    """Return the trainer of a toy recipe."""
    return Trainer(task_of(toy_recipe(model, **changes)), folder)


def hardmax_recipe(model: str = "hardmax-d2", **changes: Any) -> Recipe:
    """Return a recipe of a few dozen steps of a hardmax classifier."""
    values: dict[str, Any] = {"dataset": "toy", "model": model, "min_count": 1, "batch_size": 16, "learning_rate": 0.1}
    return Recipe.of(values | {"example": "a warm garden and a clever song"} | changes)


def gated_model(seed: int = 0, **changes: Any) -> Model:
    """Return a random model with SentiFormer's parts over the words of the made-up set: gates, aware positions with tags, a window."""
    shape: dict[str, Any] = {"positions": "aware", "gate": True, "window": 6, "global_drawn": 1, "pooling": "cls", "max_length": 48}
    tokenizer = toy_tokenizer()
    config = {"vocab_size": tokenizer.vocab_size, "classes": 2, "width": 8, "layers": 3, "heads": 2, "ffn_width": 12} | shape | changes
    network = randomise(Encoder(EncoderConfig(**config)), seed)
    return Model("toy/gated", network, tokenizer, LABELS, cls=True, tagger=Tagger.load() if network.capabilities.tags else None)


def train_gated(root: Path) -> None:
    """Train toy/sentiformer and toy/sentiformer-sinusoid, which reads no tags, on the made-up set."""
    shape = {"width": 16, "heads": 2, "ffn_width": 24, "layers": 2}
    with pytest.MonkeyPatch.context() as patch:
        use_toy_data(patch)
        for name in ("sentiformer", "sentiformer-sinusoid"):
            train(toy_recipe(name, shape=shape, max_length=64, epochs=1), root, progress=False)


def randomise(encoder: Encoder, seed: int = 0) -> Encoder:
    """Set every parameter, also biases and norms, to random values, so that a forgotten one changes the result."""
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            noise = torch.randn(parameter.shape, generator=rng)
            parameter.copy_(1 + 0.3 * noise if "norm" in name and name.endswith("weight") else 0.4 * noise)
    return encoder.eval()


def small_encoder(seed: int = 0, **changes: Any) -> Encoder:
    """Return a random encoder in double precision, by default with 2 layers, 2 heads and width 8."""
    shape = {"vocab_size": 20, "classes": 3, "max_length": 24, "width": 8, "layers": 2, "heads": 2, "ffn_width": 12}
    return randomise(Encoder(EncoderConfig(**(shape | changes))), seed).double()


def small_model(
    seed: int = 0, tokenizer: Tokenizer | None = None, cls: bool = False, labels: Sequence[str] = LABELS, **changes: Any
) -> Model:
    """Return a random single-precision model over the words of the made-up set."""
    tokenizer = tokenizer or toy_tokenizer()
    encoder = small_encoder(seed, vocab_size=tokenizer.vocab_size, classes=len(labels), **changes).float()
    return Model("toy/random", encoder, tokenizer, labels, cls=cls)


@contextmanager
def hook(module: nn.Module, change: Callable[[Tensor], Tensor], *, before: bool = False) -> Iterator[None]:
    """Change a copy of a module's first input, or of its output, for a while."""
    if before:
        handle = module.register_forward_pre_hook(lambda _, args: (change(args[0].clone()), *args[1:]))
    else:
        handle = module.register_forward_hook(lambda _, args, out: change(out.clone()))
    try:
        yield
    finally:
        handle.remove()


class Planted(Network):
    """A network whose reason is known: one-hot vectors, what is there of them, and a value of it."""

    def __init__(self, vocab_size: int, value: Callable[[Tensor], Tensor]) -> None:
        """`value` (B,) of what is there (B, V); logits are it and its negative."""
        super().__init__()
        self.config = RecurrentConfig(vocab_size=vocab_size, classes=2, max_length=64, hidden=-(-vocab_size // 2), layers=1)
        self.vectors, self.classifier = torch.eye(vocab_size, self.config.width), Value(value)

    @property
    def table(self) -> Tensor:
        """(V, d)."""
        return self.vectors

    def embed(self, inputs: Inputs) -> Tensor:
        """(B, n, d), padding nothing."""
        x = self.vectors[inputs.ids] if inputs.vectors is None else inputs.vectors
        return x if inputs.mask is None else x * inputs.mask[..., None]

    def step(self, layer: int, x: Tensor, *_: object) -> tuple[Tensor, None]:
        """Return the states unchanged."""
        return x, None

    def pool(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """(B, d) whether each word is there."""
        return x.amax(dim=1)


class Value(nn.Module):
    """A value and its negative, as logits."""

    def __init__(self, value: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.value = value

    def forward(self, there: Tensor) -> Tensor:
        """(B, d) -> (B, 2)."""
        value = self.value(there)
        return torch.stack([-value, value], dim=1)


WEIGHTS = {"warm": 3.0, "clever": 1.5, "dull": -2.5, "cold": -1.6, "not": -1.0}


def counting(texts: list[str]) -> list[list[float]]:
    """Return probabilities whose log-odds are the sum of the words' weights."""
    odds = [sum(WEIGHTS.get(word.strip(",.!"), 0.0) for word in text.lower().split()) for text in texts]
    return [[1 / (1 + np.exp(each)), 1 / (1 + np.exp(-each))] for each in odds]


def planted_model(rule: Callable[[Callable[[str], Tensor]], Tensor]) -> Model:
    """Return a model over the words of the made-up set and "it is not" with logits v and -v, v = rule(word -> whether it is present)."""
    tokenizer = Tokenizer.train_words([*toy_splits()["train"].frame["text"], "it is not"], 1)
    network = Planted(tokenizer.vocab_size, lambda there: rule(lambda word: there[:, tokenizer.id_of(word)]) + 0 * there[:, 0])
    return Model("toy/planted", network, tokenizer, LABELS)


@contextmanager
def no_room(size: int) -> Iterator[None]:
    """Limit the size to which any file may grow."""
    resource = pytest.importorskip("resource", reason="this system cannot limit the size of files")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)  # Python would leave modules that are cut off, and could not import them again
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


def workbook(*sheets: Sequence[Sequence[object]], shared: bool = True, edit: Mapping[str, tuple[str, str]] | None = None) -> bytes:
    """Return an Excel workbook with the rows of its sheets, called S0, S1, ...

    Args:
        shared: texts are shared strings and do not stand in their cells.
        edit: text that is replaced, and its replacement, by the file in the workbook.
    """
    strings: dict[str, int] = {}

    def cell(value: object) -> str:
        if not isinstance(value, str):
            return "<c/>" if value is None else f"<c><v>{value}</v></c>"
        if not shared:
            return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return f'<c t="s"><v>{strings.setdefault(value, len(strings))}</v></c>'

    name = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    parts = {}
    for place, rows in enumerate(sheets):
        lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        parts[f"xl/worksheets/sheet{place + 1}.xml"] = f"<worksheet {name}><sheetData>{lines}</sheetData></worksheet>"
    parts["xl/sharedStrings.xml"] = f"<sst {name}>{''.join(f'<si><t>{escape(text)}</t></si>' for text in strings)}</sst>"
    named = "".join(f'<sheet name="S{k}" sheetId="{k + 1}" r:id="r{k}"/>' for k in range(len(sheets)))
    parts["xl/workbook.xml"] = f'<workbook {name} xmlns:r="{relations}"><sheets>{named}</sheets></workbook>'
    links = "".join(f'<Relationship Id="r{k}" Target="worksheets/sheet{k + 1}.xml"/>' for k in range(len(sheets)))
    parts["xl/_rels/workbook.xml.rels"] = f"<Relationships>{links}</Relationships>"
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as book:
        for path, content in parts.items():
            book.writestr(path, content.replace(*(edit or {}).get(path, ("", ""))))
    return data.getvalue()


def random_model(width: int = 2, seed: int = 0, *, cleaning: bool = True) -> HardmaxModel:
    """Return a model with random vectors, decoder and alpha over the words of the made-up set."""
    tokenizer = WordsTokenizer.fit(toy_splits()["train"].frame["text"], min_count=1, cleaning=cleaning)
    torch.manual_seed(seed)
    encoder = HardmaxEncoder(HardmaxConfig(tokenizer.vocab_size, width=width, layers=4, cleaning=cleaning))
    with torch.no_grad():
        encoder.raw_alpha.fill_(0.3)
        encoder.classifier.bias.fill_(0.2)
    return HardmaxModel("toy/random", encoder, tokenizer, LABELS)


def fake_trace(
    n: int = 12,
    layers: int = 2,
    heads: int = 4,
    components: int = 2,
    signed: bool = False,
    tokens: Sequence[str] | None = None,
    seed: int = 0,
) -> Trace:
    """A random trace whose component rows are softmax rows and whose effective map is mixed by lambda.

    ``signed`` subtracts the later components, as the Differential Transformer does, so that entries become negative.
    ``tokens`` without special tokens replaces the default words and sets n = len(tokens) + 1 ([CLS] comes first).
    """
    rng = np.random.default_rng(seed)
    words = [f"word{i}" for i in range(n - 1)] if tokens is None else list(tokens)
    names = ("[CLS]", *words)
    n = len(names)
    scores = rng.normal(size=(layers, components, heads, n, n)) * 1.6
    maps = np.exp(scores - scores.max(-1, keepdims=True))
    maps = (maps / maps.sum(-1, keepdims=True)).astype(np.float32)
    rest = rng.uniform(0.5, 0.9, (layers, components - 1)) if signed else rng.uniform(0.1, 0.3, (layers, components - 1))
    lambdas = np.concatenate([np.ones((layers, 1)), -rest if signed else rest], axis=1).astype(np.float32)
    starts = np.cumsum([0, *(len(word) + 1 for word in words)])
    offsets = np.array([(0, 0), *((s, s + len(w)) for s, w in zip(starts, words, strict=False))], dtype=np.int64)
    logits = rng.normal(size=2).astype(np.float32)
    return Trace(
        run="fake-run",
        text=" ".join(words),
        text_pair=None,
        tokens=names,
        offsets=offsets,
        segments=np.zeros(n, dtype=np.int64),
        specials=np.arange(n) == 0,
        unknown=np.zeros(n, dtype=np.bool_),
        labels=("negative", "positive"),
        logits=logits,
        probabilities=(np.exp(logits) / np.exp(logits).sum()).astype(np.float32),
        lambdas=lambdas,
        layer_ids=tuple(range(layers)),
        head_ids=tuple(range(heads)),
        component_ids=tuple(range(components)),
        query_ids=tuple(range(n)),
        attention=np.einsum("lc,lchnm->lhnm", lambdas, maps),
        components=maps,
        hidden=rng.normal(size=(layers + 1, n, 8)).astype(np.float32),
        pooled=rng.normal(size=8).astype(np.float32),
        scores=scores.astype(np.float32),
    )


# ---- pages of the app

ROOT = Path(__file__).parents[1]
RUN = "sst2/ndt-unit-2"
SHIPPED = pytest.mark.skipif(not (ROOT / "checkpoints" / RUN).is_dir(), reason=f"{RUN} is not in checkpoints/")
DEFAULT = "english/ndt-unit-2"
PAGES = (
    "explore",
    "attention",
    "causes",
    "compare",
    "hardmax",
    "confusion",
    "comparison",
    "labels",
    "behaviour",
    "words",
    "embeddings",
    "cls",
    "explanations",
    "directions",
    "components",
    "scalars",
    "curves",
    "yours",
    *(paper.page.url for paper in built_in().values()),
    "claims",
    "runs",
    "data",
    "glossary",
)


def started() -> AppTest:
    """Return the app before its first run."""
    return AppTest.from_file(str(ROOT / "app" / "navigation.py"), default_timeout=240)


@cache
def navigation() -> dict[str, Any]:
    """Return the pages that the app registers; Streamlit's harness learns them by a run."""
    app = started()
    app.query_params["run"] = RUN
    return app.run()._registered_pages


def switched(app: AppTest, page: str) -> AppTest:
    """Switch an app to another page by the script's name, or by its address; return the app after its run."""
    addresses = {info["url_pathname"]: key for key, info in app._registered_pages.items()}
    every = [view for place in places() for view in place.views]
    address = next((view.url for view in every if page == view.script.rpartition("/")[2]), page)
    app._page_hash = addresses["" if address == SENTENCE.views[0].url else address]
    app.run()
    assert not app.exception, app.exception
    return app


def opened(page: str = "explore", **query: str) -> AppTest:
    """Open a page by a link, with no other page before it. The run is `RUN` unless the link names another; "" is for none."""
    app = started()
    app._registered_pages = navigation()
    for name, value in ({"run": RUN} | query).items():
        app.query_params[name] = value
    return switched(app, page)


def words(app: AppTest) -> str:
    """Return all text of a page."""
    elements = [*app.markdown, *app.caption, *app.warning, *app.info, *app.error]
    return "\n".join(str(element.value) for element in elements)


def page_text(app: AppTest) -> str:
    """Return all text of a page without the backslashes of markdown."""
    return words(app).replace("\\", "")


def sane(app: AppTest) -> str:
    """Return the text of a page, which must have neither an exception nor a sentence that reports a fault."""
    text = page_text(app)
    assert not app.exception, app.exception
    assert not app.error, [error.value for error in app.error]
    assert not [fault for fault in FAULTS if fault in text], text
    return text


HOSTILE = (
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=hacked()>",
    "<!--",
    '"',
    "'",
    "\\",
    "&lt;b&gt;",
    "a\u2028b",
    "\ud800",
)


def bertviz_data(page: str) -> Any:
    """Return the data that the page passes to BertViz."""
    return json.loads(re.findall(r'<script type="application/json" id="maps">(.*?)</script>', page, re.DOTALL)[0])


def words_above(page: str) -> str:
    return unescape(re.findall(r'<p dir="auto">(.*?)</p>', page, re.DOTALL)[0])


def model_folder(folder: Path, **settings: Any) -> Path:
    """Write the configuration of a model, with empty files for its weights and its tokenizer."""
    folder.mkdir(parents=True)
    for file in ("model.safetensors", "tokenizer.json"):
        (folder / file).touch()
    config = {"model_type": "bert", "num_hidden_layers": 3, "architectures": ["BertForSequenceClassification"]} | settings
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def tagged_rows(seed: int = 0, tags: tuple[str, ...] = ("negation", "plain", "sarcasm"), run: str = "toy/a", n: int = 40) -> Rows:
    """Return random predictions of n tagged rows of two classes."""
    rng = np.random.default_rng(seed)
    p1, label = rng.uniform(size=n), rng.integers(0, 2, n)
    predicted = (p1 > 0.5).astype(int)
    columns = {"id": [f"r{i}" for i in range(n)], "label": label, "predicted": predicted, "confidence": np.maximum(p1, 1 - p1)}
    columns |= {"right": predicted == label, "loss": np.zeros(n), "p0": 1 - p1, "p1": p1, "tag": rng.choice(tags, n)}
    return Rows(RowsSource(run, "0" * 12), "demo", LABELS, pd.DataFrame(columns))
