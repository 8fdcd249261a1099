"""Export a run as an ONNX folder with graph, tokenizer and card. The graph is compared with the run before the folder appears.

`cost` measures what the 8-bit graph loses: its predictions and the run's on rows of the test split.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from sentviz.analysis.evaluation import RESAMPLES, interval, mean_draws
from sentviz.data.tags import TAGGER
from sentviz.data.texts import TokenizedText
from sentviz.errors import DataMissingError, InputError, RunError
from sentviz.io.files import version, writing
from sentviz.io.lazy import torch
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.runs import store
from sentviz.runs.configs import stored_config
from sentviz.runs.store import Run
from sentviz.serving.onnx.graph import Graph, compress, require_package, write
from sentviz.serving.onnx.session import CARD, FORMAT, SMALL, WHOLE, Session

TOLERANCE = 1e-4  # allowed difference of a logit: absolute if the logit is below 1, otherwise relative
EXAMPLE_LENGTHS = 5  # number of lengths to which the run's example is cut for the comparison


def export(
    run: str | Path | Run, out: str | Path, *, maps: bool = False, int8: bool = False, rows: int = 2_000, model: Model | None = None
) -> dict[str, Any]:
    """Write a run as a folder that can predict without torch.

    Args:
        out: folder to write. An older export is replaced; anything else raises an error.
        maps: let the graph return attention maps, too.
        int8: write a second graph in 8 bits and measure its accuracy.
        rows: rows of the test split, sampled with seed 0, for that measurement; 0 = all.
        model: model of the run, if it is already loaded.
    Returns:
        The content of `model.json`.
    Raises:
        RunError: the run has no weights or no maps, its network cannot be exported, or the graph gives other predictions. Nothing is
            written then.
    """
    run, out = run if isinstance(run, Run) else store.find(run), Path(out)
    _check_folder(out)
    model = model or load(run)
    if int8 and any(weight.dtype is torch.float64 for weight in model.network.parameters()):
        raise RunError(f"{run.name} computes in double precision and needs it, so it cannot be exported in 8 bits.")
    graph = Graph(model.network, maps=maps)
    with writing(out) as fresh:
        write(graph, fresh / WHOLE)
        model.tokenizer.save(fresh / "tokenizer.json")
        if model.tagger is not None:
            model.tagger.save(fresh / TAGGER)
        card = _card(run, model, graph) | {"compared": _compare(run, model, fresh / WHOLE)}
        if int8:
            compress(fresh / WHOLE, fresh / SMALL)
            card["int8"] = cost(run, model, fresh / SMALL, rows=rows)
        files = sorted(path for path in fresh.iterdir() if path.is_file())
        card["files"] = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        (fresh / CARD).write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return card


def _check_folder(out: Path) -> None:
    """Raise InputError if the folder holds anything that an export did not write."""
    if out.is_dir():
        foreign = sorted(path.name for path in out.iterdir() if path.name not in (CARD, WHOLE, SMALL, TAGGER, "tokenizer.json"))
        if foreign or (any(out.iterdir()) and not (out / CARD).is_file()):
            raise InputError(f"{out} is not an exported model{f': it holds {foreign[0]}' if foreign else ''}. Name another folder.")
    elif out.exists():
        raise InputError(f"{out} is a file. Name a folder.")


def _card(run: Run, model: Model, graph: Graph) -> dict[str, Any]:
    """Return the description of the export that is needed to prepare texts for the graph."""
    config, tokenizer = model.config, model.tokenizer
    special = tokenizer.specials
    frame = {"start": special.start, "stop": special.stop}
    reads = {"split_special_tokens": tokenizer.split_special_tokens, "truncation_side": tokenizer.truncation_side}
    return {
        "format": FORMAT,
        "run": run.name,
        "digest": run.digest,
        "labels": list(run.labels),
        "calibration": run.calibration,
        "max_length": config.max_length,
        "filled": not graph.masked,  # Each text is padded with 0 to max_length, and the model reads the padding.
        "cls": model.cls,
        "tokens": {"kind": tokenizer.kind, "drop": list(tokenizer.dropped)} | reads | frame,
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "model": stored_config(config),
        "version": {"sentviz": version(), "torch": torch.__version__, "onnx": require_package("onnx").__version__},
    }


def _compare(run: Run, model: Model, path: Path) -> dict[str, Any]:
    """Compare the logits of the graph and of the run on the run's example, cut to several lengths: one by one, and in a padded batch.

    Raises:
        RunError: the largest difference exceeds `TOLERANCE`.
    """
    example = run.example()
    full = model.encode(example.text, example.text_pair).reading
    lengths = sorted({max(1, round(len(full) * part / EXAMPLE_LENGTHS)) for part in range(1, EXAMPLE_LENGTHS + 1)})
    rows = [TokenizedText(full.ids[:n], *(None if part is None else part[:n] for part in (full.segments, full.tags))) for n in lengths]
    if model.capabilities.padded:
        rows = [full]
    exported = Model(run.name, Session(model.config, path), model.tokenizer, model.labels, cls=model.cls, tagger=model.tagger)
    expected, worst = model.forward(rows)[0], 0.0
    for logits in (exported.forward(rows)[0], np.concatenate([exported.forward([row])[0] for row in rows])):
        worst = max(worst, float((np.abs(logits - expected) / np.maximum(1, np.abs(expected))).max()))
    if not worst <= TOLERANCE:
        raise RunError(f"{run.name}: the logits of its graph differ from the run's by {worst:.1e}. Nothing was written.")
    return {"texts": len(rows), "largest_difference": worst}


def cost(run: Run, model: Model, path: Path, *, rows: int = 2_000, seed: int = 0) -> dict[str, Any]:
    """Return the accuracy of a graph and of its run on the same rows, and their difference with a 95 % bootstrap interval over rows.

    Args:
        model: model of the run.
        path: file of the graph.
        rows: number of rows of the test split, sampled with `seed`; 0 = all.
    Returns:
        n, split, seed, accuracy, of_the_run, difference {value, low, high} (graph minus run, -1 to 1), same (share of equal predictions);
        only `why` if the data set is not installed or unknown.
    """
    from sentviz.data.datasets import load_split

    try:
        frame = load_split(run.config["data"]["name"], "test").frame
    except (DataMissingError, InputError) as error:
        return {"why": str(error)}
    if rows and rows < len(frame):
        frame = frame.iloc[np.sort(np.random.default_rng(seed).permutation(len(frame))[:rows])]
    readings = model.read(frame)
    exported = Model(run.name, Session(model.config, path), model.tokenizer, model.labels, cls=model.cls, tagger=model.tagger)
    full, small = (each.forward(readings)[0].argmax(axis=1) for each in (model, exported))
    labels = frame["label"].to_numpy()
    gain = (small == labels).astype(np.float64) - (full == labels)
    draws = mean_draws(gain, np.random.default_rng(seed), RESAMPLES)
    return {
        "split": "test",
        "n": len(frame),
        "seed": seed,
        "accuracy": round(float((small == labels).mean()), 5),
        "of_the_run": round(float((full == labels).mean()), 5),
        "difference": interval(float(gain.mean()), draws),
        "same": round(float((small == full).mean()), 5),
    }
