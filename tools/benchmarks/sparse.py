"""SentiFormer's window: against full attention and other libraries' windows, the whole model against BERT, the tagger's part."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from experiments.sentiformer import throughput as experiment
from sentviz.data.tags import Tagger
from sentviz.data.tokenizers import Tokenizer
from sentviz.models.attention import Pattern, ScoreModifiers, attend
from sentviz.models.encoder import Encoder
from sentviz.models.model import Model
from sentviz.papers.sentiformer import throughput as speed
from sentviz.papers.studies.timing import threads
from sentviz.runs.presets import preset
from tools.benchmarks.timing import ratios, say

HEADS, SIZE, WINDOW = 8, 32, 64  # sizes of the paper's model
OURS, FULL = "window and 4 globals, ours", "full, fused"
SCALE = SIZE**-0.5


def band() -> None:
    """One layer's attention at 1,024, 8,192 and 10,000 tokens: against full fused attention, `local-attention` and Longformer's.

    First, results are compared where the pattern is the same: ours against a dense mask; the others against ours without globals. Then
    inference and training (with gradients of Q, K and V), on one thread and two. Longformer's module has three projections of its own,
    so ours is timed with three as well beside it.
    """
    _same(1024)
    for count in (1, 2):
        for n in (1024, 8192, 10_000):
            for training in (False, True):
                rounds = 3 if n > 1024 else 15
                with threads(count):
                    seconds = ratios(_candidates(n, training), rounds=rounds)
                what = "training" if training else "inference"
                say(f"one layer's attention, {n:,} tokens, {what}, {count} thread{'s' * (count > 1)}", seconds, OURS)


def _candidates(n: int, training: bool) -> dict[str, Callable[[], object]]:
    q, k, v = _tensors(n)
    places = torch.tensor([[0, n // 3, n // 2, n - 1]])
    ways: dict[str, Callable[..., Tensor]] = {
        OURS: partial(_attend, pattern=Pattern(WINDOW, places)),
        FULL: partial(_attend, pattern=None),
    }
    if (local := _local(n)) is not None:
        ways["window, local-attention"] = local
    calls = {name: partial(_run, way, (q, k, v), training) for name, way in ways.items()}
    projected, longformer, x = _longformer(n)
    calls["ours, 3 projections"] = partial(_run, projected, (x,), training)
    calls["Longformer, 3 projections"] = partial(_run, longformer, (x,), training)
    return calls


def _run(way: Callable[..., Tensor], inputs: tuple[Tensor, ...], training: bool) -> None:
    if not training:
        with torch.inference_mode():
            way(*inputs)
        return
    way(*(x.detach().requires_grad_() for x in inputs)).sum().backward()  # type: ignore[no-untyped-call]


def _tensors(n: int) -> tuple[Tensor, ...]:
    rng = torch.Generator().manual_seed(0)
    return tuple(torch.randn(1, HEADS, n, SIZE, generator=rng) for _ in range(3))


def _attend(q: Tensor, k: Tensor, v: Tensor, pattern: Pattern | None) -> Tensor:
    return attend(q[:, None], k[:, None], v, torch.ones(1), SCALE, ScoreModifiers(pattern=pattern))


def _local(n: int) -> Callable[..., Tensor] | None:
    """Return the same window by `local-attention`, exactly 32 tokens on each side; None if the package is missing."""
    try:
        from local_attention import LocalAttention
    except ImportError:
        print("\nlocal-attention is not installed and left out: python -m pip install 'sentviz[bench]'")  # noqa: T201
        return None
    layer = LocalAttention(WINDOW // 2, look_backward=1, look_forward=1, exact_windowsize=True, autopad=True, use_rotary_pos_emb=False)
    mask = torch.ones(1, n, dtype=torch.bool) if n % (WINDOW // 2) else None
    return partial(layer, mask=mask)


def _longformer(n: int) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor], Tensor]:
    """Ours with three projections, Longformer's self-attention with the same ones, and (1, n, 256) states."""
    from transformers import LongformerConfig
    from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

    torch.manual_seed(0)
    width, whole = HEADS * SIZE, -(-n // WINDOW) * WINDOW  # it takes whole windows
    config = LongformerConfig(hidden_size=width, num_attention_heads=HEADS, attention_window=[WINDOW], attention_probs_dropout_prob=0.0)
    layer: Any = LongformerSelfAttention(config, 0)
    mask = (torch.arange(whole) >= n)[None] * -10_000.0

    def theirs(x: Tensor) -> Tensor:
        x = torch.nn.functional.pad(x, (0, 0, 0, whole - n))
        out: Tensor = layer(x, mask, is_index_masked=mask < 0, is_index_global_attn=mask > 0, is_global_attn=False)[0]
        return out[:, :n]

    def ours(x: Tensor) -> Tensor:
        q, k, v = (part(x).unflatten(-1, (HEADS, SIZE)).transpose(1, 2) for part in (layer.query, layer.key, layer.value))
        return _attend(q, k, v, Pattern(WINDOW, torch.zeros(1, 0, dtype=torch.long))).transpose(1, 2).flatten(-2)

    return ours, theirs, torch.randn(1, n, width)


def _same(n: int) -> None:
    """The largest difference of results and gradients where the pattern is the same."""
    q, k, v = _tensors(n)
    none = Pattern(WINDOW, torch.zeros(1, 0, dtype=torch.long))
    four = Pattern(WINDOW, torch.tensor([[0, n // 3, n // 2, n - 1]]))
    place = torch.arange(n)
    projected, longformer, x = _longformer(n)

    def dense(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=four.allowed(place, place)[:, None])

    pairs: dict[str, tuple[Callable[..., Tensor], Callable[..., Tensor], tuple[Tensor, ...]]] = {
        "a dense mask": (partial(_attend, pattern=four), dense, (q, k, v)),
        "Longformer": (projected, longformer, (x,)),
    }
    if (local := _local(n)) is not None:
        pairs["local-attention"] = (partial(_attend, pattern=none), local, (q, k, v))
    print(f"\nlargest difference to ours at {n:,} tokens, of results and of gradients")  # noqa: T201
    for name, (first, second, inputs) in pairs.items():
        results = [_with_gradients(way, inputs) for way in (first, second)]
        apart = [float((a - b).abs().max()) for a, b in zip(*results, strict=True)]
        print(f"  {name:<28}{apart[0]:10.1e}{max(apart[1:]):10.1e}")  # noqa: T201


def _with_gradients(way: Callable[..., Tensor], inputs: tuple[Tensor, ...]) -> list[Tensor]:
    leaves = [x.detach().requires_grad_() for x in inputs]
    out = way(*leaves)
    return [out.detach(), *torch.autograd.grad(out.square().sum(), leaves)]


def throughput() -> None:
    """The whole model at 128 tokens, batch 128, against BERT-base and DistilBERT in fp32 and in 8 bits: what the paper's page shows."""
    for count in (1, 2):
        frame = experiment.speeds(threads=count, rounds=3)
        print(f"\ntexts a second, and how many times as many SentiFormer reads (print: 5.3 x, 3.6 x), threads: {count}")  # noqa: T201
        print(frame[["model", "parameters", "texts_per_second", "times", "low", "high"]].to_string(index=False))  # noqa: T201


def crossing() -> None:
    """Time against length, full and sparse, of one layer's attention and of the whole model, and where they cross."""
    for count in (1, 2):
        frame = experiment.growth(threads=count, rounds=3)
        print(f"\nseconds by tokens, threads: {count}; at 2,048 the formula gives {speed.promised():.0f} x")  # noqa: T201
        print(frame[["of", "tokens", "full", "sparse", "times", "low", "high"]].to_string(index=False))  # noqa: T201
        for of, rows in frame.groupby("of"):
            at = speed.crossing(rows["tokens"].to_numpy(), rows["times"].to_numpy())
            print(f"  {of}: full takes longer from {'no length' if at is None else f'{at:,.0f} tokens'} on")  # noqa: T201


def memory(tokens: int = 10_000) -> None:
    """Peak memory of predict and of trace of one text of 10,000 tokens, sparse and full, each in a process of its own (Linux)."""
    print(f"\npeak megabytes with one text of {tokens:,} tokens; weights loaded alone, then asked; trace keeps what its maps are made of")  # noqa: T201
    for what in ("nothing", "predict", "trace"):
        peaks = {name: _in_own_process(name, what, tokens) for name in ("sentiformer", "sentiformer-full")}
        sparse, full = peaks.values()
        print(f"  {what:<12}sparse {sparse:7,.0f}   full {full:7,.0f}   {full / sparse:5.2f} x")  # noqa: T201


def _in_own_process(name: str, what: str, tokens: int) -> float:
    lines = f"from tools.benchmarks.sparse import peak; print(peak({name!r}, {what!r}, {tokens}))"
    return float(subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True).stdout)


def peak(name: str, what: str, tokens: int) -> float:
    """The most megabytes that this process has held once a model of random weights was asked to predict or trace, or was not."""
    model, words = _model(name, tokens)
    text = " ".join(np.random.default_rng(0).choice(words, tokens - 2))  # beside [CLS] and [SEP]
    calls: dict[str, Callable[[], object]] = {"nothing": lambda: None, "predict": lambda: model.predict([text])}
    (calls | {"trace": lambda: model.trace(text, maps=False)})[what]()
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def _model(name: str, longest: int) -> tuple[Model, list[str]]:
    """A model of random weights, and the words that it knows."""
    words = [f"{a}{b}" for a in "bcdfgklmnprst" for b in ("ight", "ally", "ing", "ed", "oon", "ish", "er")]
    tokenizer = Tokenizer.train_words([" ".join(words)] * 5)
    config: Any = preset(name, vocab_size=tokenizer.vocab_size, classes=5, max_length=longest)
    return Model(name, Encoder(config), tokenizer, tuple("abcde"), cls=True, tagger=Tagger.load()), words


def tags() -> None:
    """Predict of 1,000 texts of 20 words and 100 of 200, and the tagger's part of it: tokens alone, tokens and tags, everything."""
    rng = np.random.default_rng(0)
    model, words = _model("sentiformer", 512)
    for count, length in ((1_000, 20), (100, 200)):
        texts = [" ".join(rng.choice(words, length)) + "." for _ in range(count)]
        seconds = ratios(
            {
                "tokens": lambda texts=texts: [model.tokenizer.encode(text, max_length=512, cls=True) for text in texts],
                "tokens and tags": lambda texts=texts: model.encode_all(texts),
                "predict": lambda texts=texts: model.predict(texts),
            },
            rounds=3,
        )
        say(f"{count:,} texts of {length} words", seconds, "predict")
