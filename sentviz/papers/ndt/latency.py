"""Milliseconds per test batch of the study's models: the stored measurements, and what the paper reports."""

from __future__ import annotations

from pathlib import Path

from sentviz.io.lazy import pd
from sentviz.papers.ndt import printed_tables
from sentviz.papers.ndt.study import printed_name
from sentviz.papers.studies import timing
from sentviz.papers.studies.stored import Stored

RATIOS = [f"to_{base}{end}" for base in ("vanilla", "matched") for end in ("", "_low", "_high")]
MEASURED = Stored(
    Path(__file__).parent / "measured" / "latency.csv",
    ("dataset", "model", "parameters", "milliseconds", *RATIOS, "batch", "batches", "tokens", "rounds", "note", "hardware", "torch"),
    "The time per batch is",
    "python -m experiments ndt latency",
    timing.TEXTS,
)
BATCHES = {"imdb": 391, "sst2": 160, "yelp_full": 411}  # the paper's number of test batches, from its milliseconds and whole seconds


def printed_milliseconds(dataset: str) -> dict[str, float]:
    """Return the reported milliseconds per batch by configuration; a row for all ranges of lambda has the name of [0,1]."""
    table = printed_tables.table("inference_ms_per_batch")
    table = table[table["dataset"] == printed_name(dataset)]
    return {
        row["family"] if row["family"] != "ndt" else f"ndt-unit-{row['components']}": float(row["milliseconds"])
        for row in table.to_dict("records")
    }


def printed_ratios(dataset: str) -> pd.DataFrame:
    """The printed milliseconds as ratios to the printed vanilla: model, value, low, high.

    The reported times look like whole seconds divided by the number of batches, so each can be wrong by half a second; low and high are
    the smallest and largest ratio that this allows. Empty if vanilla's reported total is at most 0.5 s (Twitter, reported as 0).
    """
    seconds = {model: value * BATCHES.get(dataset, 0) / 1e3 for model, value in printed_milliseconds(dataset).items()}
    base = seconds.get("vanilla", 0.0)
    rows = [
        (model, 1.0, 1.0, 1.0)
        if model == "vanilla"
        else (model, value / base, max(0.0, value - 0.5) / (base + 0.5), (value + 0.5) / max(base - 0.5, 1e-9))
        for model, value in seconds.items()
        if base > 0.5
    ]
    return pd.DataFrame(rows, columns=["model", "value", "low", "high"]).astype(dict.fromkeys(("value", "low", "high"), float))
