"""Networks as ONNX graphs: what onnxruntime answers beside what torch does."""

import hashlib
import json
import re
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from click.testing import CliRunner

import sentviz
from sentviz.cli import main
from sentviz.errors import InputError, RunError
from sentviz.models.hardmax import HardmaxEncoder
from sentviz.models.loading import network_of
from sentviz.models.model import Model
from sentviz.models.protocol import Capture, Inputs, Network
from sentviz.runs.configs import ConvolutionalConfig, EncoderConfig, HardmaxConfig, RecurrentConfig
from sentviz.serving.live import page
from sentviz.serving.onnx import export, load
from sentviz.serving.onnx import folder as folders
from sentviz.serving.onnx import graph as graphs
from sentviz.serving.onnx import session as sessions
from sentviz.serving.onnx.graph import Graph, write
from sentviz.serving.onnx.session import CARD, SMALL, WHOLE, Session
from tests import docs
from tests.kit import randomise, refused, toy_splits, use_toy_data
from tests.stored import compare, summary

RUNS = Path(__file__).parent / "golden" / "runs" / "toy"
IS_HERE = find_spec("onnxruntime") and find_spec("onnxscript")
pytestmark = pytest.mark.skipif(not IS_HERE, reason="the extra onnx is not installed")

SMALL_SHAPE: dict[str, Any] = {"vocab_size": 30, "classes": 3, "max_length": 24, "width": 8, "layers": 1, "heads": 2, "ffn_width": 12}
GATED = {"positions": "aware", "gate": True, "window": 6, "global_drawn": 2, "pooling": "cls", "norm": "layer", "ffn": "relu"}
MIXED = {"components": 3, "mixing": "unit", "positions": "rotary", "qk_norm": True, "lexicon": "multiply"}
FUSED = {"components": 2, "mixing": "differential", "head_norm": True, "lexicon": "add", "lexicon_heads": "last", "lexicon_scaled": True}
PAIRS = {"segments": 2, "pooling": "cls", "norm_first": False, "norm": "layer", "ffn": "gelu"}
PRETRAINED = {"relative": 8, "relative_reach": 6, "embedding_norm": True, "embedding_width": 4, "head": "tanh"}
PRETRAINED |= {"norm_first": False, "norm": "layer"}
ARCHITECTURES = {
    "mixed, rotary, QK-norm, factor": EncoderConfig(**SMALL_SHAPE | MIXED),
    "differential, lexicon, pairs": EncoderConfig(**SMALL_SHAPE | FUSED | PAIRS),
    "gates, aware positions, window, drawn": EncoderConfig(**SMALL_SHAPE | GATED),
    "distances, a norm of the embedding, a head": EncoderConfig(**SMALL_SHAPE | PRETRAINED),
    "padding that is read": EncoderConfig(**SMALL_SHAPE | {"masked": False, "positions": "sinusoid", "max_length": 12}),
    "recurrent": RecurrentConfig(30, 3, 24, hidden=4, layers=1),
    "convolutional": ConvolutionalConfig(30, 3, 24, filters=3),
    "hardmax": HardmaxConfig(30, max_length=24, layers=1),
}
SIZES = ((1, 1), (1, 9), (3, 2), (4, 24))


def network(name: str) -> Network:
    """Return a random network with polarities for lexicons; hardmax is in double precision as in its runs."""
    config = ARCHITECTURES[name]
    torch.manual_seed(0)
    if isinstance(config, HardmaxConfig):
        return HardmaxEncoder(config).double().eval()
    built = network_of(config).eval()
    if isinstance(config, EncoderConfig):
        built = randomise(built)  # type: ignore[arg-type]
        if config.lexicon != "none":
            built.get_buffer("polarity").copy_(torch.rand(30, 3).softmax(dim=-1))
    return built


def texts(of: Network, batch: int, n: int) -> Inputs:
    rng, has = torch.Generator().manual_seed(batch * 100 + n), of.capabilities
    lengths = torch.randint(1, n + 1, (batch, 1), generator=rng)
    lengths[0] = n
    mask = torch.arange(n) < lengths
    return Inputs(
        torch.randint(4, 30, (batch, n), generator=rng) * mask,
        mask if getattr(of.config, "masked", True) else None,
        torch.randint(0, 2, (batch, n), generator=rng) if has.pairs else None,
        torch.randint(0, 9, (batch, n), generator=rng) * mask if has.tags else None,
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_graph_answers_as_its_network_does(name: str, tmp_path: Path) -> None:
    built = network(name).requires_grad_(False)
    has, fixed = built.capabilities, not getattr(built.config, "masked", True)
    write(Graph(built, maps=has.maps), tmp_path / "model.onnx")
    session = Session(built.config, tmp_path / "model.onnx", threads=1)
    assert session.outputs == ("logits", "pooled", *["attention"] * has.maps, *["components"] * (has.components > 1))
    for batch, n in SIZES:
        inputs = texts(built, batch, built.config.max_length if fixed else n)
        with torch.inference_mode():
            fast, watched = built(inputs), built(inputs, Capture(maps=has.maps))
            answer = session(inputs)
        torch.testing.assert_close(answer.logits, fast.logits, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(answer.pooled, fast.pooled, rtol=1e-5, atol=1e-5)
        for kind in session.outputs[2:]:
            wanted = getattr(watched, kind).movedim(0, 1).numpy()
            real = (inputs.mask if inputs.mask is not None else inputs.ids >= 0).numpy()[:, None, None, :, None]
            real = real if kind == "attention" else real[:, None]
            np.testing.assert_allclose(session.run_graph(inputs, kind)[0] * real, wanted * real, atol=1e-5)
    with pytest.raises(InputError, match="only predicts"):
        session(texts(built, 1, built.config.max_length), Capture())


@pytest.mark.skipif(not (docs.ROOT / "checkpoints/imdb/hardmax-d2").is_dir(), reason="the run is not in checkpoints/")
def test_double_precision_is_not_cut_to_8_bits(tmp_path: Path) -> None:
    refused(RunError, "double precision", export, "imdb/hardmax-d2", tmp_path / "out", int8=True)
    assert not any(tmp_path.iterdir())


@pytest.mark.exhaustive
def test_an_exported_run_is_a_model_that_answers(tiny_run: Path, tiny_model: Model, tmp_path: Path, toy_data: object) -> None:
    exported = tmp_path / "model"
    done = CliRunner().invoke(main, ["onnx", str(tiny_run), "--maps", "--int8", "-o", str(exported)])
    assert done.exit_code == 0, done.output
    assert "differ from the run's by at most" in done.output and "Accuracy on 60 rows of the test split: 8-bit graph" in done.output
    texts = ["a warm, clever song", " ", "what a dull, hollow lighthouse we saw!"]
    frame, wanted = load(exported).predict(texts), tiny_model.predict(texts)
    pd.testing.assert_frame_equal(frame, wanted, atol=1e-5)
    small = load(exported, int8=True).predict(texts)
    np.testing.assert_allclose(small["positive"], wanted["positive"], atol=0.02)
    assert (exported / SMALL).read_bytes() != (exported / WHOLE).read_bytes()
    card = json.loads((exported / CARD).read_text(encoding="utf-8"))
    assert card["digest"] == sentviz.Run.open(tiny_run).digest and card["labels"] == list(tiny_model.labels)
    assert card["files"] == {name: hashlib.sha256((exported / name).read_bytes()).hexdigest() for name in card["files"]}
    rows = toy_splits()["test"].frame
    predicted = tiny_model.predict(rows["text"].tolist())["label"].map(tiny_model.labels.index)
    assert card["int8"]["of_the_run"] == round((predicted == rows["label"]).mean(), 5) and card["int8"]["n"] == len(rows)
    assert card["int8"]["difference"]["low"] <= 0 <= card["int8"]["difference"]["high"]
    for call in (lambda: load(exported).trace(texts[0]), lambda: load(exported).predict(texts, heads_off={(0, 0)})):
        refused(InputError, "only predicts", call)


def test_what_is_wrong_is_one_sentence_and_nothing_is_written(tiny_run: Path, tmp_path: Path) -> None:
    def run(*arguments: object) -> str:
        done = CliRunner().invoke(main, ["onnx", str(tiny_run), *map(str, arguments)])
        assert done.exit_code != 0 and "Traceback" not in done.output
        return done.output

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    assert "holds letter.txt" in run("-o", tmp_path / "mine") and "a folder" in run("-o", tmp_path / "mine" / "letter.txt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphs, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
        assert "sentviz[onnx]" in run("-o", tmp_path / "new")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["letter.txt", "mine"]
    cases = [(None, "no exported model"), ("{}", "format is missing"), ("{", "is not JSON"), ("", "is not JSON")]
    cases += [('{"format": 99}', "has format 99, this version reads 1")]
    cases += [('{"format": 1, "run": "a/b", "labels": ["no", 3]}', r"labels\[1\] must be a text, not 3")]
    for card, why in cases:
        if card is not None:
            (tmp_path / CARD).write_text(card)
        refused(RunError, why, load, tmp_path)


def test_graphs_exports_and_live_pages_are_as_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """A stub of onnxruntime computes with the network itself."""
    written, log, now = list[Graph](), list[Any](), dict[str, Any]()

    class Runtime:
        SessionOptions = SimpleNamespace

        def __init__(self, path: Path, options: Any, providers: list[str]) -> None:
            log.append((path.name, vars(options), providers))
            self.get_inputs = lambda: [SimpleNamespace(name=name) for name in written[-1].inputs]
            self.get_outputs = lambda: [SimpleNamespace(name=name) for name in written[-1].outputs]

        def run(self, names: list[str], values: dict[str, Any]) -> list[Any]:
            of = dict(zip(written[-1].outputs, written[-1](**{name: torch.from_numpy(each) for name, each in values.items()}), strict=True))
            return [of[name].detach().numpy() for name in names]

    def exported(graph: Graph, path: Path) -> None:
        written.append(graph)
        path.write_bytes(b"graph")

    def program(graph: Graph, *words: Any, **options: Any) -> Any:
        tensors = graph(**{name: each.clamp(0, 9) if each.dtype is torch.int64 else each for name, each in options["kwargs"].items()})
        log.append([words, {name: options[name] for name in sorted(options)}, [each.tolist() for each in tensors]])
        return SimpleNamespace(save=log.append)

    monkeypatch.setattr(Runtime, "InferenceSession", Runtime, raising=False)
    monkeypatch.setattr(sessions, "require_package", lambda name: Runtime)
    monkeypatch.setattr(graphs, "require_package", log.append)
    monkeypatch.setattr(torch.onnx, "export", program)
    for name, config in ARCHITECTURES.items():
        log.clear()
        write(graph := Graph(network(name), maps=name != "hardmax" and hasattr(config, "heads")), Path(name))
        now[name] = summary([graph.inputs, graph.outputs, graph.training, [str(each) if isinstance(each, Path) else each for each in log]])
    monkeypatch.setattr(folders, "require_package", lambda name: SimpleNamespace(__version__=name))
    monkeypatch.setattr(folders, "write", exported)
    monkeypatch.setattr(folders, "compress", lambda whole, small: small.write_bytes(whole.read_bytes() + b"8"))
    use_toy_data(monkeypatch)
    run, texts = sentviz.Run.open(RUNS / "ndt-unit-2-epochs", "toy/ndt-unit-2-epochs"), ["a warm song", " ", "a dull, cold soup " * 9]
    log.clear()
    card = export(run, str(tmp_path / "out"), maps=True, int8=True, rows=20)
    assert (
        json.loads((tmp_path / "out" / CARD).read_text(encoding="utf-8")) == json.loads(json.dumps(card))
        and card.pop("version")["onnx"] == "onnx"
    )
    for small in (False, True):
        model = load(str(tmp_path / "out"), int8=small, threads=3)
        pd.testing.assert_frame_equal(model.predict(texts), sentviz.load(run).predict(texts), atol=1e-5)
    now["export"] = summary([card, log])
    live = page.content(run, texts[0], int8=True)
    now["live"] = summary([live.data, live.parts["words"].decode()])
    module = b"a = import.meta.url\nexport { a, b as c }\n//# sourceMappingURL=a"
    monkeypatch.setattr(page, "files", lambda package, _: {package.script: module, package.binary: b"binary", package.terms: b"terms"})
    monkeypatch.setattr(page, "content", lambda *words, **options: live)
    for runs in ([run, run], run):
        report = page.live_page(runs, tmp_path / "a.html", int8=True)
        document = re.sub(r"(?s)<style.*?</style>|<script>.*?mountLive", "", (tmp_path / "a.html").read_text(encoding="utf-8"))
        now[f"page {type(runs).__name__}"] = summary([document, report["int8"], report["models"]])
    befores: dict[str, dict[str, Any]] = {"WordLevel": {"type": "Split", "pattern": {"Regex": page.WORDS}}, "BPE": {"type": "ByteLevel"}}
    befores["Unigram"] = {"type": "Metaspace", "prepend_scheme": "always", "split": True, "replacement": "_"}
    for kind, before in (befores | {"WordPiece": {"type": "BertPreTokenizer"}}).items():
        words = {"model": {"type": kind, "vocab": {"?": 7, "é": 1}, "unk_token": "?", "unk_id": 3}, "pre_tokenizer": before}
        words |= {"normalizer": {"normalizers": [{"type": "Strip"}, {"type": "Lowercase"}]}}
        words["added_tokens"] = [{"content": word, "special": word == "<s>"} for word in ("<s>", "hi")]  # type: ignore[assignment]
        now[kind] = summary(str(page.for_browsers(run, json.dumps(words), split_special_tokens=kind == "BPE")))
    compare("outputs.json", "onnx", now, request, 1e-3)
