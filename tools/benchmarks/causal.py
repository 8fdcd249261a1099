"""Patching of all heads: in one batch, with hooks one by one, and by InterpKit if it is installed; then the maps of three shipped runs."""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sentviz.analysis.causal.patching import patch
from sentviz.models import hub
from sentviz.models.loading import load
from tools.benchmarks.timing import ratios, say

TEXT = "what a {} garden and what a song of the town , and the soup was {} too , but never dull"
FIRST, SECOND = TEXT.format("warm", "clever"), TEXT.format("cold", "dull")
MAPS: Mapping[str, Mapping[str, bool]] = {  # run -> quantity -> with a cell for each token
    "sst2/ndt-unit-2": {"state": True, "feedforward": True, "head": True, "component": True, "value": True},
    "english/minilm": {"state": True, "head": False},
    "english/mpnet": {"state": True, "head": True},
}


def patching() -> None:
    """All 72 heads of a random BERT of MiniLM's size, on one pair of sentences; one thread, CPU seconds. Then MAPS."""
    import transformers

    from tests.foreign.models import saved

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = saved(Path(name) / "bert", "bert", ("NEGATIVE", "POSITIVE"))
        own = transformers.AutoConfig.from_pretrained(folder).to_dict()
        shape = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
        torch.manual_seed(0)
        network = transformers.BertForSequenceClassification(transformers.BertConfig(**(own | shape))).eval()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(0.05 * torch.randn(parameter.shape))
        network.save_pretrained(folder)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        pair = patch(hub.load(folder), FIRST, SECOND)
        ids = [tokenizer(text, return_tensors="pt") for text in (FIRST, SECOND)]
        results: dict[str, Any] = {}
        candidates = {
            "hooks, one head at a time": lambda: results.update(hooks=_hooks(network, ids, *pair.target)),
            "one batch": lambda: results.update(batch=pair.map("head", exact=True)),
        }
        if find_spec("interpkit"):
            theirs = import_module("interpkit").load(str(folder))
            candidates["InterpKit"] = lambda: results.update(interpkit=_interpkit(theirs, *map(dict, ids)))
        seconds = ratios(candidates, rounds=3, clock=time.process_time)
        say(f"72 heads, {len(pair.first.tokens)} tokens, one thread", seconds, "one batch")
        share, k = results["batch"].share, pair.target[0]
        first, second = (float(trace.logits[k]) for trace in (pair.first, pair.second))
        of_logit = (results["batch"].logits[..., k] - first) / (second - first)  # InterpKit measures one logit, not log-odds
        for way, ours in (("hooks", share), ("interpkit", of_logit)):
            if way in results:
                print(f"  largest difference of a share to {way}: {np.abs(ours - results[way]).max():.1e}")  # noqa: T201
    for run, whats in MAPS.items():
        _maps(run, whats)


def _maps(run: str, whats: Mapping[str, bool]) -> None:
    """Every map of a run on a new pair, with both traces: milliseconds of each quantity and of all together."""
    model = load(run)

    def draw_map(what: str) -> None:
        patch(model, FIRST, SECOND).map(what, tokens=whats[what])

    candidates = {f"{what} by {'token' if by_token else 'layer'}": lambda what=what: draw_map(what) for what, by_token in whats.items()}

    def every() -> None:
        pair = patch(model, FIRST, SECOND)
        for what, by_token in whats.items():
            pair.map(what, tokens=by_token)

    seconds = ratios(candidates | {"all of them": every}, rounds=3, clock=time.process_time)
    say(f"{run}, {len(model.trace(FIRST).tokens)} tokens, one thread", seconds)


def _hooks(network: Any, ids: list[Any], k: int, against: int | None) -> Any:
    """Return the share of each head, (L, H), by a pass of the whole model each."""
    layers, heads, size = network.config.num_hidden_layers, network.config.num_attention_heads, network.config.hidden_size
    size //= heads
    inputs = [network.bert.encoder.layer[layer].attention.output.dense for layer in range(layers)]
    inputs_of: list[list[torch.Tensor]] = [[], []]
    with torch.inference_mode():
        odds = []
        for side in (0, 1):
            handles = [module.register_forward_pre_hook(lambda _, x, side=side: inputs_of[side].append(x[0].clone())) for module in inputs]
            logits = network(**ids[side]).logits[0]
            odds.append(logits[k] - logits[1 - k])
            for handle in handles:
                handle.remove()
        share = np.zeros((layers, heads))
        for layer in range(layers):
            for head in range(heads):
                mine = slice(head * size, (head + 1) * size)

                def change(_: Any, x: Any, layer: int = layer, mine: slice = mine) -> Any:
                    new = x[0].clone()
                    new[..., mine] = inputs_of[1][layer][..., mine]
                    return (new,)

                handle = inputs[layer].register_forward_pre_hook(change)
                logits = network(**ids[0]).logits[0]
                handle.remove()
                share[layer, head] = (logits[k] - logits[1 - k] - odds[0]) / (odds[1] - odds[0])
    return share


def _interpkit(model: Any, first: dict[str, Any], second: dict[str, Any]) -> Any:
    """Return the effect of each head, (L, H): what it calls clean is our second sentence, and corrupted our first one."""
    where = "bert.encoder.layer.{}.attention"
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):  # it prints a bar for each head
        return np.array(
            [[model.patch(second, first, at=where.format(layer), head=head)["effect"] for head in range(12)] for layer in range(6)]
        )
