"""The first look at attention: one map as the page sends it, against BertViz's head view of all maps."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sized

import numpy as np
import numpy.typing as npt

from sentviz.analysis.maps.longmap import pack, payload
from sentviz.browser.bertviz import WEIGHTS, bertviz_html
from sentviz.figures import heatmap
from sentviz.runs.trace import Trace

LAYERS, HEADS = 12, 12
SAMPLE = 2  # heads BertViz gets at 512 tokens, scaled up: all of them are gigabytes


def first_view() -> None:
    """Time and bytes of one map, as a heatmap's JSON and whole in 8 bits a weight, against `bertviz.head_view` of 12 x 12 random maps."""
    import torch
    from bertviz import head_view

    for n in (32, 128, 512):
        trace = random_trace(n)
        assert trace.attention is not None
        heads = HEADS if n < 512 else SAMPLE
        maps = [torch.from_numpy(np.array(layer[None, :heads])) for layer in trace.attention]

        def theirs(maps: list[torch.Tensor] = maps, trace: Trace = trace) -> str:
            return str(head_view(maps, list(trace.tokens), html_action="return").data)

        ours = measure(lambda trace=trace: str(heatmap(trace, 0, 0).plot.to_json()), rounds=5)
        base = measure(theirs, rounds=3 if n < 128 else 1)
        base = (base[0] * HEADS / heads, base[1] * HEADS / heads)
        note = "" if heads == HEADS else f", BertViz with {heads} of {HEADS} heads, times {HEADS // heads}"
        print(f"\nfirst view of {n} tokens, {LAYERS} x {HEADS} maps{note}")  # noqa: T201
        show("bertviz.head_view", base, base)
        if trace.attention.size <= WEIGHTS:
            show("the same inside sentviz", measure(lambda trace=trace: bertviz_html(trace), rounds=3), base)
        show("sentviz heatmap (48 of many)" if n > 60 else "sentviz heatmap", ours, base)
        whole = measure(lambda trace=trace: payload({"tokens": trace.tokens}, [(pack(trace.map(0, 0)), 0, 0, 1)]), rounds=5)
        show("sentviz whole map, 8 bits", whole, base)
        gc.collect()


def measure(make: Callable[[], Sized], rounds: int) -> tuple[float, float]:
    """Least seconds and bytes."""
    seconds, size = [], 0
    for _ in range(rounds):
        start = time.perf_counter()
        made = make()
        seconds.append(time.perf_counter() - start)
        size = len(made)
    return min(seconds), size


def show(name: str, value: tuple[float, float], base: tuple[float, float]) -> None:
    """One line: milliseconds, megabytes, and how many times less than the base."""
    factors = f"{base[0] / value[0]:>8.1f} x faster {base[1] / value[1]:>8.1f} x smaller" if value != base else ""
    print(f"  {name:<30}{value[0] * 1e3:>11.1f} ms {value[1] / 1e6:>10.3f} MB{factors}")  # noqa: T201


def random_trace(n: int) -> Trace:
    """Random softmax maps of n tokens."""
    maps = random_maps(n)
    return Trace(
        run="random",
        text=" ".join(f"word{i}" for i in range(n)),
        text_pair=None,
        tokens=tuple(f"word{i}" for i in range(n)),
        offsets=np.zeros((n, 2), dtype=np.int64),
        segments=np.zeros(n, dtype=np.int64),
        specials=np.zeros(n, dtype=np.bool_),
        unknown=np.zeros(n, dtype=np.bool_),
        labels=("negative", "positive"),
        logits=np.zeros(2, dtype=np.float32),
        probabilities=np.full(2, 0.5, dtype=np.float32),
        lambdas=np.ones((LAYERS, 1), dtype=np.float32),
        layer_ids=tuple(range(LAYERS)),
        head_ids=tuple(range(HEADS)),
        component_ids=(0,),
        query_ids=tuple(range(n)),
        attention=maps,
    )


def random_maps(n: int) -> npt.NDArray[np.float32]:
    """(L, H, n, n), rows sum to 1."""
    maps = np.random.default_rng(0).random((LAYERS, HEADS, n, n), dtype=np.float32) ** 4
    maps /= maps.sum(axis=-1, keepdims=True)
    return maps
