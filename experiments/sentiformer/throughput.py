"""Speed of SentiFormer: texts per second beside other models, time by text length, and time of a training step.

Weights are random, which does not change the time. Tokens and tags are given, so no number includes the time of a tokenizer or the tagger.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F

from experiments import parser
from experiments.writing import update
from sentviz.models.attention import KeyTerm, Pattern, ScoreModifiers, attend
from sentviz.models.encoder import Encoder
from sentviz.models.hub.encoder import transformers
from sentviz.models.protocol import Inputs
from sentviz.papers.sentiformer.throughput import GROWTH, LONG, OURS, QUANTISED, RATIO, SPEEDS, STEPS, TRAINED
from sentviz.papers.studies import timing
from sentviz.runs.presets import find_preset, preset

LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
VOCABULARY, CLASSES = 30_522, 5  # BERT's words, for all of them


def speeds(*, batch: int = 128, tokens: int = 128, rounds: int = 5, threads: int = 1, note: str = "", seed: int = 0) -> pd.DataFrame:
    """Measure texts per second of the complete model and of BERT-base, DistilBERT and MiniLM in their own shapes, one forward pass in turn.

    Columns: model, parameters, texts_per_second (median), times (how many times as many texts SentiFormer reads, median of the ratios
    within a round) with a 95 % bootstrap interval low and high; batch, tokens, threads, rounds, note.
    DistilBERT INT8, dynamically quantised in onnxruntime, is left out where that package is missing.

    Raises:
        RunError: transformers is not installed.
    """
    torch.manual_seed(seed)
    hub, ids = transformers(), torch.randint(4, VOCABULARY, (batch, tokens))
    shape = {"vocab_size": VOCABULARY, "num_labels": CLASSES}
    networks: dict[str, Any] = {
        OURS: Encoder(preset("sentiformer", vocab_size=VOCABULARY, classes=CLASSES, max_length=512)),
        "BERT-base": hub.BertForSequenceClassification(hub.BertConfig(**shape)),
        "DistilBERT": hub.DistilBertForSequenceClassification(hub.DistilBertConfig(**shape)),
        "MiniLM": hub.BertForSequenceClassification(hub.BertConfig(hidden_size=384, num_hidden_layers=6, intermediate_size=1536, **shape)),
    }
    sizes = {name: sum(p.numel() for p in network.eval().parameters()) for name, network in networks.items()}
    inputs = Inputs(ids, tags=torch.randint(0, networks[OURS].config.tags, ids.shape))
    runs: dict[str, Callable[[], object]] = {OURS: partial(networks[OURS], inputs)}
    runs |= {name: partial(network, input_ids=ids) for name, network in networks.items() if name != OURS}
    if quantised := _quantised(networks["DistilBERT"], ids, threads):
        runs[QUANTISED], sizes[QUANTISED] = quantised, sizes["DistilBERT"]
    with timing.threads(threads), torch.inference_mode():
        seconds = timing.interleaved(runs, rounds, seed=seed, clock=_clock(threads))
    rows = []
    for name, measured_seconds in seconds.items():
        times, low, high = timing.median(measured_seconds / seconds[OURS], seed)
        rows.append((name, sizes[name], batch / float(np.median(measured_seconds)), times, low, high))
    frame = pd.DataFrame(rows, columns=["model", "parameters", "texts_per_second", "times", "low", "high"])
    return frame.assign(batch=batch, tokens=tokens, threads=threads, rounds=rounds, note=note)


def _quantised(network: Any, ids: Any, threads: int) -> Callable[[], object] | None:
    """Return a function that runs the model with 8-bit weights in onnxruntime; None if that package is not installed."""
    try:
        import onnxruntime
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError:
        return None

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, ids: Any) -> Any:
            return self.network(input_ids=ids).logits

    with tempfile.TemporaryDirectory() as folder:
        whole, small = (str(Path(folder) / name) for name in ("whole.onnx", "small.onnx"))
        torch.onnx.export(Logits().eval(), (ids,), whole, input_names=["ids"], dynamo=True, external_data=False, verbose=False)
        quantize_dynamic(whole, small, weight_type=QuantType.QInt8)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        session = onnxruntime.InferenceSession(small, options, providers=["CPUExecutionProvider"])
    inputs = {"ids": ids.numpy()}
    return partial(session.run, None, inputs)


def growth(lengths: Sequence[int] = LENGTHS, *, rounds: int = 5, threads: int = 1, note: str = "", seed: int = 0) -> pd.DataFrame:
    """Measure the time of one text by its length with full and sparse attention, for one layer's attention and for the complete model.

    Columns: of ("attention" | "model"), tokens, full and sparse (seconds, medians), times (full over sparse, median of the ratios within a
    round) with a 95 % bootstrap interval low and high; rounds (more for short texts), threads, note. Both have the gates; full is the
    ablation's attention.
    """
    rows = []
    for tokens in lengths:
        turns = rounds * max(1, LONG // 2 // tokens)  # short texts take little time and are disturbed most
        for of, make in (("attention", _layer), ("model", _model)):
            with torch.inference_mode():
                rows.append((of, tokens, *_ratio(make(tokens, seed), turns, threads, seed), turns))
    return pd.DataFrame(rows, columns=["of", "tokens", *RATIO, "rounds"]).assign(threads=threads, note=note)


def steps(
    lengths: Sequence[int] = TRAINED, *, batch: int = 32, rounds: int = 5, threads: int = 1, note: str = "", seed: int = 0
) -> pd.DataFrame:
    """Measure the time of a training step of the complete model with full and with sparse attention: forward, loss, backward, optimizer.

    The batch, AdamW, dropout and label smoothing are the paper's (section V-B); every text of a batch has the same number of tokens.
    Columns: tokens, batch, and as `growth` full and sparse (seconds, medians), times with low and high; rounds, threads, note.
    """
    rows = [(tokens, batch, *_ratio(_training(tokens, batch, seed), rounds, threads, seed)) for tokens in lengths]
    return pd.DataFrame(rows, columns=["tokens", "batch", *RATIO]).assign(rounds=rounds, threads=threads, note=note)


def _ratio(ways: Mapping[str, Callable[[], object]], rounds: int, threads: int, seed: int) -> tuple[float, ...]:
    """Medians of full and sparse, and of full over sparse within a round with a 95 % bootstrap interval, as in `RATIO`."""
    with timing.threads(threads):
        seconds = timing.interleaved(ways, rounds, seed=seed, clock=_clock(threads))
    full, sparse = seconds["full"], seconds["sparse"]
    return float(np.median(full)), float(np.median(sparse)), *timing.median(full / sparse, seed)


def _layer(tokens: int, seed: int) -> Mapping[str, Callable[[], object]]:
    of, rng = find_preset("sentiformer").shape, torch.Generator().manual_seed(seed)
    q, k = (torch.randn(1, 1, of["heads"], tokens, of["width"] // of["heads"], generator=rng) for _ in range(2))
    v, gate = torch.randn(k[:, 0].shape, generator=rng), KeyTerm("gate", torch.randn(1, 1, 1, tokens, generator=rng))
    places = torch.tensor([[0, tokens // 3, tokens // 2, tokens - 1]])
    structures = {"full": ScoreModifiers(None, (gate,)), "sparse": ScoreModifiers(None, (gate,), None, Pattern(of["window"], places))}
    return {name: partial(attend, q, k, v, torch.ones(1), k.shape[-1] ** -0.5, structure) for name, structure in structures.items()}


def _networks(tokens: int, seed: int) -> dict[str, Any]:
    """The whole model with full and with sparse attention."""
    torch.manual_seed(seed)
    names = {"full": "sentiformer-full", "sparse": "sentiformer"}
    shape = {"vocab_size": VOCABULARY, "classes": CLASSES, "max_length": tokens}
    return {name: Encoder(preset(of, **shape)) for name, of in names.items()}


def _inputs(batch: int, tokens: int) -> Any:
    return Inputs(torch.randint(4, VOCABULARY, (batch, tokens)), tags=torch.randint(0, 2, (batch, tokens)))


def _model(tokens: int, seed: int) -> Mapping[str, Callable[[], object]]:
    networks = _networks(tokens, seed)
    inputs = _inputs(1, tokens)
    return {name: partial(network.eval(), inputs) for name, network in networks.items()}


def _training(tokens: int, batch: int, seed: int) -> Mapping[str, Callable[[], object]]:
    networks = _networks(tokens, seed)
    inputs, labels = _inputs(batch, tokens), torch.randint(CLASSES, (batch,))

    def step(network: Any, optimizer: torch.optim.Optimizer) -> None:
        loss = F.cross_entropy(network(inputs).logits, labels, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    optimizers = {name: torch.optim.AdamW(network.train().parameters(), 1e-4, fused=True) for name, network in networks.items()}
    return {name: partial(step, network, optimizers[name]) for name, network in networks.items()}


def _clock(threads: int) -> Callable[[], float]:
    return time.thread_time if threads == 1 else time.perf_counter


MEASURES = {"speeds": (speeds, SPEEDS), "growth": (growth, GROWTH), "steps": (steps, STEPS)}


def main(arguments: Sequence[str] = ()) -> None:
    """Measure, and store in place of the rows with the same number of threads."""
    commands = parser(__name__, __doc__)
    commands.add_argument("--what", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    commands.add_argument("--threads", type=int, nargs="+", default=[1])
    commands.add_argument("--rounds", type=int, default=5)
    commands.add_argument("--note", default="", help="What else ran on the machine.")
    options = commands.parse_args(arguments)
    for number in options.threads:
        for name in options.what:
            measure, stored = MEASURES[name]
            update(stored, timing.with_machine(measure(threads=number, rounds=options.rounds, note=options.note)), ("threads",))
