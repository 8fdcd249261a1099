"""Speed of SentiFormer, measured and as the paper reports it.

Three measurements: texts per second compared with BERT-base, DistilBERT and MiniLM, time by text length, and the time of a training step
with full and with sparse attention. `python -m sentviz.papers.sentiformer.throughput` repeats them; the stored numbers are in `measured/`.
Weights are random, which does not change the time. Tokens and tags are given, so no number includes the time of a tokenizer or the tagger.
The paper's numbers are from a V100 and ours are not: only ratios within one process can be compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sentviz.analysis.evaluation import Floats
from sentviz.io.lazy import pd
from sentviz.papers.sentiformer import prints
from sentviz.papers.sentiformer.presets import PRESETS
from sentviz.papers.studies import timing
from sentviz.papers.studies.item_types import Column, Table
from sentviz.papers.studies.stored import Stored
from sentviz.runs.presets import preset

FOLDER = Path(__file__).parent / "measured"
COMMAND = "python -m sentviz.papers.sentiformer.throughput"
CONDITIONS = ["threads", "rounds", "note", "hardware", "torch"]
RATIO = ["full", "sparse", "times", "low", "high"]
SPEEDS, GROWTH, STEPS = (
    Stored(FOLDER / f"{name}.csv", [*columns, *CONDITIONS], f"{what} is", f"{COMMAND} --what {option}", timing.TEXTS)
    for name, option, what, columns in (
        (
            "throughput",
            "speeds",
            "SentiFormer's speed",
            ["model", "parameters", "texts_per_second", "times", "low", "high", "batch", "tokens"],
        ),
        ("growth", "growth", "The time against length", ["of", "tokens", *RATIO]),
        ("steps", "steps", "The time of a training step", ["tokens", "batch", *RATIO]),
    )
)
OURS, QUANTISED = "SentiFormer", "DistilBERT INT8"
MODELS = (OURS, "BERT-base", "DistilBERT", QUANTISED, "MiniLM")  # the paper has neither INT8 nor MiniLM
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
TRAINED = (64, 128, 256, 512)  # from what SST-5's texts are read at here to the most that the paper's model reads
LONG = 2048  # tokens at which the paper says "above 100 x"
VOCABULARY, CLASSES = 30_522, 5  # BERT's words, for all of them


# ---- measuring


def speeds(*, batch: int = 128, tokens: int = 128, rounds: int = 5, threads: int = 1, note: str = "", seed: int = 0) -> pd.DataFrame:
    """Measure texts per second of the complete model and of BERT-base, DistilBERT and MiniLM in their own shapes, one forward pass in turn.

    Columns: model, parameters, texts_per_second (median), times (how many times as many texts SentiFormer reads, median of the ratios
    within a round) with a 95 % bootstrap interval low and high; batch, tokens, threads, rounds, note.
    DistilBERT INT8, dynamically quantised in onnxruntime, is left out where that package is missing.

    Raises:
        RunError: transformers is not installed.
    """
    import torch

    from sentviz.models.encoder import Encoder
    from sentviz.models.hub.encoder import transformers
    from sentviz.models.protocol import Inputs

    torch.manual_seed(seed)
    hub, ids = transformers(), torch.randint(4, VOCABULARY, (batch, tokens))
    shape = {"vocab_size": VOCABULARY, "num_labels": CLASSES}
    networks: dict[str, Any] = {
        OURS: Encoder(preset("sentiformer", vocab_size=VOCABULARY, classes=CLASSES, max_length=512)),  # type: ignore[arg-type]
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
    import tempfile

    import torch

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
    import torch

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
    import torch

    from sentviz.models.attention import KeyTerm, Pattern, ScoreModifiers, attend

    of, rng = _shape(), torch.Generator().manual_seed(seed)
    q, k = (torch.randn(1, 1, of["heads"], tokens, of["width"] // of["heads"], generator=rng) for _ in range(2))
    v, gate = torch.randn(k[:, 0].shape, generator=rng), KeyTerm("gate", torch.randn(1, 1, 1, tokens, generator=rng))
    places = torch.tensor([[0, tokens // 3, tokens // 2, tokens - 1]])
    structures = {"full": ScoreModifiers(None, (gate,)), "sparse": ScoreModifiers(None, (gate,), None, Pattern(of["window"], places))}
    return {name: partial(attend, q, k, v, torch.ones(1), k.shape[-1] ** -0.5, structure) for name, structure in structures.items()}


def _networks(tokens: int, seed: int) -> dict[str, Any]:
    """The whole model with full and with sparse attention."""
    import torch

    from sentviz.models.encoder import Encoder

    torch.manual_seed(seed)
    names = {"full": "sentiformer-full", "sparse": "sentiformer"}
    shape = {"vocab_size": VOCABULARY, "classes": CLASSES, "max_length": tokens}
    return {name: Encoder(preset(of, **shape)) for name, of in names.items()}  # type: ignore[arg-type]


def _inputs(batch: int, tokens: int) -> Any:
    import torch

    from sentviz.models.protocol import Inputs

    return Inputs(torch.randint(4, VOCABULARY, (batch, tokens)), tags=torch.randint(0, 2, (batch, tokens)))


def _model(tokens: int, seed: int) -> Mapping[str, Callable[[], object]]:
    networks = _networks(tokens, seed)
    inputs = _inputs(1, tokens)
    return {name: partial(network.eval(), inputs) for name, network in networks.items()}


def _training(tokens: int, batch: int, seed: int) -> Mapping[str, Callable[[], object]]:
    import torch
    import torch.nn.functional as F

    networks = _networks(tokens, seed)
    inputs, labels = _inputs(batch, tokens), torch.randint(CLASSES, (batch,))

    def step(network: Any, optimizer: torch.optim.Optimizer) -> None:
        loss = F.cross_entropy(network(inputs).logits, labels, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    optimizers = {name: torch.optim.AdamW(network.train().parameters(), 1e-4, fused=True) for name, network in networks.items()}
    return {name: partial(step, network, optimizers[name]) for name, network in networks.items()}


def _shape() -> dict[str, Any]:
    return dict(PRESETS["sentiformer"].shape)


def _clock(threads: int) -> Callable[[], float]:
    return time.thread_time if threads == 1 else time.perf_counter


# ---- what was measured


def printed_times() -> dict[str, float]:
    """Return the printed ratios of SentiFormer's texts per second to those of other models: 5.3 for BERT-base, 3.6 for DistilBERT."""
    rates = prints.table("throughput").set_index("model")["sentences_per_second"]
    return {str(name): float(rates[OURS] / rate) for name, rate in rates.items()}


def promised(tokens: int = LONG, window: int = 0, global_keys: int = 0) -> float:
    """Return n / (k + s), the ratio of full to sparse attention weights (section III-D); by default with k and s of the paper's model."""
    shape = _shape()
    seen = (window or shape["window"]) + (global_keys or len(shape["global_tokens"]) + shape["global_drawn"])
    return tokens / float(seen)


def crossing(tokens: Floats, times: Floats) -> float | None:
    """The length from which full attention takes longer than sparse for good, between measured lengths on log scales.

    None if full attention never takes longer, 0 if it does at every measured length.
    """
    cheaper = np.flatnonzero(np.asarray(times) <= 1)
    if not len(cheaper):
        return 0.0
    last = int(cheaper[-1])
    if last + 1 == len(times):
        return None
    (x0, x1), (y0, y1) = np.log(tokens[last : last + 2]), np.log(times[last : last + 2])
    return float(np.exp(x0 - y0 * (x1 - x0) / (y1 - y0)))


def curves(threads: int = 1) -> pd.DataFrame:
    """Return the stored rows of `growth` that were measured with this number of threads; without rows if there are none."""
    frame = GROWTH.read()
    return frame[frame["threads"] == threads].sort_values(["of", "tokens"]).reset_index(drop=True)


def speeds_table() -> Table:
    """Return texts per second and how many times as many SentiFormer reads, measured with intervals and printed."""
    stored = SPEEDS.read()
    frame = stored.merge(prints.table("throughput")[["model", "sentences_per_second"]], on="model", how="outer")
    frame = frame.rename(columns={"sentences_per_second": "printed_per_second"})
    frame["printed_times"] = frame["model"].map(printed_times())
    order = {name: place for place, name in enumerate(MODELS)}
    frame = frame.sort_values(["threads", "model"], key=lambda column: column.map(order) if column.name == "model" else column)
    names = ["model", "parameters", "threads", "texts_per_second", "times", "low", "high", "printed_per_second", "printed_times"]
    words = (
        f"Texts of {stored['tokens'].iloc[0]} tokens per second, in batches of {stored['batch'].iloc[0]}, with random weights, and the"
        " speed of SentiFormer divided by that of the model: median over rounds within one process with a 95% interval,"
        f" {_machine(stored)}. Tokenizing and tagging are not included."
        if len(stored)
        else SPEEDS.missing
    )
    columns = (
        Column("model"),
        Column("threads", form="{:.0f}"),
        Column("texts_per_second", "texts per second", "{:,.1f}"),
        Column("times", "speed of SentiFormer over it", "{:.2f}", ("low", "high")),
        Column("printed_times", "the same, paper", "{:.1f}"),
        Column("printed_per_second", "texts per second, paper", "{:,.0f}"),
    )
    return Table("throughput", "Texts per second", frame[names].reset_index(drop=True), f"{words} The paper used a V100.", columns)


def growth_table() -> Table:
    """Return the time of one text with full and with sparse attention by its length, with the paper's n / (k + s)."""
    frame = GROWTH.require()
    frame["formula"] = [promised(tokens) for tokens in frame["tokens"]]
    frame["full"], frame["sparse"] = frame["full"] * 1e3, frame["sparse"] * 1e3
    at_long = frame[(frame["tokens"] == LONG) & (frame["threads"] == 1)].set_index("of")
    ratios = [f"{value:.1f} × for {'one layer' if of == 'attention' else 'the complete model'}" for of, value in at_long["times"].items()]
    words = (
        "Milliseconds for one text, and full divided by sparse: median over rounds within one process with a 95%"
        f" interval, {_machine(frame)}."
        + (
            f" At {LONG:,} tokens: {' and '.join(ratios)}; n / (k + s) gives {promised():.0f} ×, and"
            f" {promised(LONG, 128, 2):.0f} × for k = 128 and s = 2, where the paper says above 100 ×."
            if ratios
            else ""
        )
    )
    columns = (
        Column("of", "measured part", words={"attention": "attention of one layer", "model": "complete model"}),
        Column("tokens"),
        Column("threads"),
        Column("full", "full, ms", "{:,.2f}"),
        Column("sparse", "sparse, ms", "{:,.2f}"),
        Column("times", "full over sparse", "{:.2f}", ("low", "high")),
        Column("formula", "n / (k + s)", "{:.1f}"),
    )
    return Table("growth", "Time against length", frame[["of", "tokens", "threads", *RATIO, "formula"]], words, columns)


def steps_table() -> Table:
    """Return the time of a training step with full and with sparse attention by the length of its texts."""
    frame = STEPS.require().sort_values(["threads", "tokens"], ignore_index=True)
    frame["full"], frame["sparse"] = frame["full"] * 1e3, frame["sparse"] * 1e3
    words = (
        f"Milliseconds of a training step (forward, backward, AdamW) of {frame['batch'].iloc[0]} texts of this length, and full"
        f" divided by sparse: median over rounds within one process with a 95% interval, {_machine(frame)}. Our models read at most"
        f" {TRAINED[0]} tokens of SST-5's texts. The paper's model reads {TRAINED[-1]}; the paper does not say how far it pads. It says"
        " that full attention “roughly triples” the time of training on a V100."
    )
    columns = (
        Column("tokens", "tokens per text"),
        Column("threads"),
        Column("full", "full, ms", "{:,.0f}"),
        Column("sparse", "sparse, ms", "{:,.0f}"),
        Column("times", "full over sparse", "{:.2f}", ("low", "high")),
    )
    return Table("steps", "A step of training", frame[["tokens", "batch", "threads", *RATIO]], words, columns)


def _machine(frame: pd.DataFrame) -> str:
    hardware, torch, note = ("; ".join(filter(None, dict.fromkeys(frame[name].astype(str)))) for name in ("hardware", "torch", "note"))
    return f"on {hardware}, torch {torch}{'; ' + note if note else ''}"


def main(threads: Sequence[int], what: Sequence[str], rounds: int, note: str) -> None:
    """Measure, and store in place of the rows with the same number of threads."""
    for number in threads:
        for name in what:
            measure, stored = MEASURES[name]
            stored.update(timing.with_machine(measure(threads=number, rounds=rounds, note=note)), ("threads",))


MEASURES: Mapping[str, tuple[Callable[..., pd.DataFrame], Stored]] = {
    "speeds": (speeds, SPEEDS),
    "growth": (growth, GROWTH),
    "steps": (steps, STEPS),
}

if __name__ == "__main__":
    import argparse

    parser = argparse.ArgumentParser(description="Measure texts a second, time against length and steps of training.")
    parser.add_argument("--what", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--note", default="", help="What else ran on the machine.")
    options = parser.parse_args()
    main(options.threads, options.what, options.rounds, options.note)
