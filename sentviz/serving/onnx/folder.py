"""A run written as a folder of ONNX: graph, tokenizer and a card; compared with the run before it is there."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sentviz.data.tags import TAGGER
from sentviz.data.texts import TokenizedText
from sentviz.errors import InputError, RunError
from sentviz.io.files import writing
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.runs import store
from sentviz.runs.configs import HubConfig, stored_config
from sentviz.runs.store import Run
from sentviz.serving.onnx.cost import cost
from sentviz.serving.onnx.graph import Graph, compress, needed, write
from sentviz.serving.onnx.session import CARD, FORMAT, SMALL, WHOLE, Session

TOLERANCE = 1e-4  # of a logit, absolute below 1 and relative above
LENGTHS = 5  # of the run's example that are compared


def export(
    run: str | Path | Run, out: str | Path, *, maps: bool = False, int8: bool = False, rows: int = 2_000, model: Model | None = None
) -> dict[str, Any]:
    """Write a run as a folder that needs no torch to be asked.

    Args:
        out: the folder; an older export there is replaced, anything else is left alone.
        maps: attention maps are outputs of the graph too. int8: a second graph in 8 bits, and what it costs.
        rows: of the test split, drawn by seed 0, on which that cost is measured, where the data are here; 0 = all.
        model: the run as it was loaded, if it was.
    Returns:
        What `model.json` says.
    Raises:
        InputError: `out` holds something else.
        RunError: no weights, no maps, a network that cannot be written, or one whose graph answers otherwise; nothing is written then.
    """
    run, out = run if isinstance(run, Run) else store.find(run), Path(out)
    _free(out)
    if isinstance(run.shape, HubConfig):
        raise RunError(f"{run.name} is a Hugging Face model; `optimum-cli export onnx` writes those.")
    model = model or load(run)
    if int8 and any(weight.dtype is torch.float64 for weight in model.network.parameters()):
        raise RunError(f"{run.name} computes in double precision, where little decides; 8 bits are not for it.")
    graph = Graph(model.network, maps=maps)
    with writing(out) as fresh:
        write(graph, fresh / WHOLE)
        model.tokenizer.save(fresh / "tokenizer.json")
        if model.tagger is not None:
            model.tagger.save(fresh / TAGGER)
        card = _card(run, model, graph) | {"compared": _compared(run, model, fresh / WHOLE)}
        if int8:
            compress(fresh / WHOLE, fresh / SMALL)
            card["int8"] = cost(run, model, fresh / SMALL, rows=rows)
        files = sorted(path for path in fresh.iterdir() if path.is_file())
        card["files"] = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        (fresh / CARD).write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return card


def _free(out: Path) -> None:
    """Raises InputError where the folder holds what no export wrote."""
    if out.is_dir():
        foreign = sorted(path.name for path in out.iterdir() if path.name not in (CARD, WHOLE, SMALL, TAGGER, "tokenizer.json"))
        if foreign or (any(out.iterdir()) and not (out / CARD).is_file()):
            raise InputError(f"{out} is no export of a model{f': it holds {foreign[0]}' if foreign else ''}; name another folder.")
    elif out.exists():
        raise InputError(f"{out} is a file; an exported model is a folder.")


def _card(run: Run, model: Model, graph: Graph) -> dict[str, Any]:
    """All that whoever reads texts for the graph has to know."""
    config, tokenizer = model.config, model.tokenizer
    special = tokenizer.specials
    return {
        "format": FORMAT,
        "run": run.name,
        "digest": run.digest,
        "labels": list(run.labels),
        "calibration": run.calibration,
        "max_length": config.max_length,
        "filled": not graph.masked,  # every text is filled up to max_length with padding (0), which is read
        "cls": model.cls,
        "tokens": {"kind": tokenizer.kind, "drop": list(tokenizer.dropped), "start": special.start, "stop": special.stop},
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "model": stored_config(config),
        "version": {"sentviz": store.version(), "torch": torch.__version__, "onnx": needed("onnx").__version__},
    }


def _compared(run: Run, model: Model, path: Path) -> dict[str, Any]:
    """How far the graph's logits are from the run's, on its example, whole and cut: alone, and side by side with padding.

    Raises:
        RunError: further than rounding explains.
    """
    example = run.example()
    whole = model.encode(example.text, example.text_pair).reading
    lengths = sorted({max(1, round(len(whole) * part / LENGTHS)) for part in range(1, LENGTHS + 1)})
    rows = [TokenizedText(whole.ids[:n], *(None if part is None else part[:n] for part in (whole.segments, whole.tags))) for n in lengths]
    if not getattr(model.config, "masked", True):
        rows = [whole]
    other = Model(run.name, Session(model.config, path), model.tokenizer, model.labels, cls=model.cls, tagger=model.tagger)
    wanted, worst = model.forward(rows)[0], 0.0
    for got in (other.forward(rows)[0], np.concatenate([other.forward([row])[0] for row in rows])):
        worst = max(worst, float((np.abs(got - wanted) / np.maximum(1, np.abs(wanted))).max()))
    if not worst <= TOLERANCE:
        raise RunError(f"{run.name}: its graph answers otherwise than the run does, by {worst:.1e} of a logit; nothing was written.")
    return {"texts": len(rows), "largest_difference": worst}
