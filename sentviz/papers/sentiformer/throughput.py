"""Speed of SentiFormer, measured and as the paper reports it.

Three measurements: texts per second compared with BERT-base, DistilBERT and MiniLM, time by text length, and the time of a training step
with full and with sparse attention. `python -m experiments sentiformer throughput` repeats them; the stored numbers are in `measured/`.
Weights are random, which does not change the time. Tokens and tags are given, so no number includes the time of a tokenizer or the tagger.
The paper's numbers are from a V100 and ours are not: only ratios within one process can be compared.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sentviz.analysis.evaluation import Floats
from sentviz.io.lazy import pd
from sentviz.papers.sentiformer import printed_tables
from sentviz.papers.studies import timing
from sentviz.papers.studies.stored import Stored
from sentviz.runs.presets import find_preset

FOLDER = Path(__file__).parent / "measured"
COMMAND = "python -m experiments sentiformer throughput"
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
TRAINED = (64, 128, 256, 512)  # from what SST-5's texts are read at here to the most that the paper's model reads
LONG = 2048  # tokens at which the paper says "above 100 x"


def printed_times() -> dict[str, float]:
    """Return the printed ratios of SentiFormer's texts per second to those of other models: 5.3 for BERT-base, 3.6 for DistilBERT."""
    rates = printed_tables.table("throughput").set_index("model")["sentences_per_second"]
    return {str(name): float(rates[OURS] / rate) for name, rate in rates.items()}


def promised(tokens: int = LONG, window: int = 0, global_keys: int = 0) -> float:
    """Return n / (k + s), the ratio of full to sparse attention weights (section III-D); by default with k and s of the paper's model."""
    shape: dict[str, Any] = dict(find_preset("sentiformer").shape)
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


def speeds_table() -> tuple[pd.DataFrame, dict[str, str]]:
    """Return texts per second and how many times as many SentiFormer reads, measured with intervals and printed."""
    stored = SPEEDS.read()
    frame = stored.merge(printed_tables.table("throughput")[["model", "sentences_per_second"]], on="model", how="outer")
    frame = frame.rename(columns={"sentences_per_second": "printed_per_second"})
    frame["printed_times"] = frame["model"].map(printed_times())
    order = {name: place for place, name in enumerate(MODELS)}
    frame = frame.sort_values(["threads", "model"], key=lambda column: column.map(order) if column.name == "model" else column)
    names = ["model", "parameters", "threads", "texts_per_second", "times", "low", "high", "printed_per_second", "printed_times"]
    measured = (
        f"Texts of {stored['tokens'].iloc[0]} tokens per second, in batches of {stored['batch'].iloc[0]}, with random weights, and the"
        " speed of SentiFormer divided by that of the model: median over rounds within one process with a 95 % interval,"
        f" {_machine(stored)}. Tokenizing and tagging are not included."
        if len(stored)
        else SPEEDS.missing
    )
    return frame[names].reset_index(drop=True), {"measured": measured}


def growth_table() -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the time of one text with full and with sparse attention by its length, with the paper's n / (k + s)."""
    frame = GROWTH.require()
    frame["formula"] = [promised(tokens) for tokens in frame["tokens"]]
    frame["full"], frame["sparse"] = frame["full"] * 1e3, frame["sparse"] * 1e3
    times = frame[(frame["tokens"] == LONG) & (frame["threads"] == 1)].set_index("of")["times"]
    ratios = [f"{value:.1f} × for {'one layer' if of == 'attention' else 'the complete model'}" for of, value in times.items()]
    at_long = (
        f" At {LONG:,} tokens: {' and '.join(ratios)}; n / (k + s) gives {promised():.0f} ×, and {promised(LONG, 128, 2):.0f} × for k = 128"
        " and s = 2, where the paper says above 100 ×."
        if ratios
        else ""
    )
    return frame[["of", "tokens", "threads", *RATIO, "formula"]], {"machine": _machine(frame), "at_long": at_long}


def steps_table() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the time of a training step with full and with sparse attention by the length of its texts."""
    frame = STEPS.require().sort_values(["threads", "tokens"], ignore_index=True)
    frame["full"], frame["sparse"] = frame["full"] * 1e3, frame["sparse"] * 1e3
    return frame[["tokens", "batch", "threads", *RATIO]], {"machine": _machine(frame), "least": TRAINED[0], "most": TRAINED[-1]}


def _machine(frame: pd.DataFrame) -> str:
    hardware, torch, note = ("; ".join(filter(None, dict.fromkeys(frame[name].astype(str)))) for name in ("hardware", "torch", "note"))
    return f"on {hardware}, torch {torch}{'; ' + note if note else ''}"
