"""Cost of a trace, of an NDT component and of length buckets."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F

from sentviz.data.texts import TokenizedText
from sentviz.data.tokenizers import Tokenizer
from sentviz.models.batches import by_length, collate
from sentviz.models.encoder import Encoder
from sentviz.models.model import Model
from sentviz.models.protocol import Inputs, Network
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.presets import preset
from sentviz.training import batches
from tools.benchmarks.timing import ratios, say


def trace() -> None:
    """`Model.trace` against the eager forward of Hugging Face's BERT with output_attentions, same shape, weights random."""
    from transformers import BertConfig, BertForSequenceClassification

    words = [f"w{i}" for i in range(400)]
    tokenizer = Tokenizer.train_words([" ".join(words)] * 5)
    for width, layers, heads, ffn in ((128, 2, 4, 256), (256, 6, 8, 1024)):
        shape: dict[str, Any] = {"width": width, "layers": layers, "heads": heads, "ffn_width": ffn}
        config = EncoderConfig(
            vocab_size=tokenizer.vocab_size,
            classes=2,
            max_length=512,
            norm="layer",
            norm_first=False,
            ffn="relu",
            pooling="cls",
            **shape,
        )
        ours = Model("ours", Encoder(config), tokenizer, ("negative", "positive"), cls=True)
        theirs = BertForSequenceClassification(
            BertConfig(
                vocab_size=tokenizer.vocab_size,
                hidden_size=width,
                num_hidden_layers=layers,
                num_attention_heads=heads,
                intermediate_size=ffn,
                max_position_embeddings=512,
                hidden_act="relu",
                attn_implementation="eager",
            )
        ).eval()
        for n in (32, 512):
            text = " ".join(np.random.default_rng(0).choice(words, n - 2))
            ids = torch.from_numpy(ours.encode(text).ids)[None]

            def hugging(ids: torch.Tensor = ids, theirs: Any = theirs) -> None:
                with torch.inference_mode():
                    theirs(input_ids=ids, output_attentions=True, output_hidden_states=True)

            seconds = ratios({"eager BERT": hugging, "sentviz trace": lambda text=text, ours=ours: ours.trace(text)}, rounds=25)
            say(f"trace of {n} tokens, d {width}, {layers} layers, {heads} heads", seconds, "eager BERT")


def by_onnxruntime() -> None:
    """One answer of MiniLM, six layers, on one thread: ours, onnxruntime's, and onnxruntime's with matrices in 8 bits."""
    import tempfile

    import sentviz
    from sentviz.serving import onnx

    text = "The plot is thin, but the actors are good"
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        onnx.export("english/minilm", folder, int8=True, rows=64)
        ways = {
            "torch": sentviz.load("english/minilm"),
            "onnxruntime": onnx.load(folder, threads=1),
            "onnxruntime, 8 bits": onnx.load(folder, int8=True, threads=1),
        }
        seconds = ratios({name: lambda model=model: model.predict([text]) for name, model in ways.items()}, rounds=25)
        say("one answer of english/minilm", seconds, "torch")


def latency() -> None:
    """Whole models at 256 tokens, batch 64, against vanilla-matched and the paper's vanilla."""
    names = ("vanilla", "vanilla-matched", "diff", "ndt-unit-2", "ndt-unit-3", "ndt-unit-4")
    models = {name: Encoder(preset(name, vocab_size=26_284, classes=2, max_length=256)).eval() for name in names}
    batch = Inputs(torch.randint(4, 26_284, (64, 256)))

    def forward(name: str) -> None:
        with torch.inference_mode():
            models[name](batch)

    seconds = ratios({name: lambda name=name: forward(name) for name in names}, rounds=11)
    say("forward of 64 texts of 256 tokens", seconds, "vanilla-matched", "vanilla")


def readout() -> None:
    """128 texts of 128 tokens: the last layer makes the state that the classifier reads, [CLS]'s, or all of them."""
    batch = Inputs(torch.randint(4, 16_000, (128, 128)))
    for name in ("sentiformer", "cls-last-scaled"):
        encoder = Encoder(preset(name, vocab_size=16_000, classes=2, max_length=128)).eval()

        def forward(final: Any, encoder: Encoder = encoder) -> None:
            with torch.inference_mode(), patch.object(Encoder, "final", final):
                encoder(batch)

        ways = {"every state": Network.final, "[CLS] alone": Encoder.final}
        say(f"forward of {name}", ratios({way: partial(forward, final) for way, final in ways.items()}, rounds=11), "every state")


def batched() -> None:
    """Measure texts of the lengths of SST-2 and IMDb through complete models, in batches of several sizes in tokens."""
    rng = np.random.default_rng(0)
    for many, middle in ((2_000, 20), (250, 230)):
        lengths = np.clip(np.exp(rng.normal(np.log(middle), 0.5, many)).astype(int), 3, 512)
        rows = [TokenizedText(rng.integers(4, 8_000, n)) for n in lengths]
        for name in ("ndt-unit-2", "sentiformer"):
            encoder = Encoder(preset(name, vocab_size=8_000, classes=2, max_length=512)).eval()

            def forward(tokens: int, encoder: Encoder = encoder, rows: Any = rows, lengths: Any = lengths) -> None:
                with torch.inference_mode():
                    for some in by_length(lengths, tokens):
                        encoder(collate([rows[i] for i in some]))

            ways = {f"{tokens:,} tokens": partial(forward, tokens) for tokens in (32_768, 16_384, 8_192, 4_096, 2_048)}
            say(f"{many:,} texts of about {middle} words, {name}", ratios(ways, rounds=7), "16,384 tokens")


def training() -> None:
    """One epoch's sample of steps with length buckets, against the same model padded to its maximum length."""
    rng = np.random.default_rng(0)
    lengths = np.minimum(256, np.exp(rng.normal(2.0, 0.8, 6_400)).astype(int) + 1)  # about SST-2's phrases
    rows = [rng.integers(4, 8_000, n) for n in lengths]
    encoder = Encoder(preset("vanilla-matched", vocab_size=8_865, classes=2, max_length=256)).train()
    optimizer = torch.optim.AdamW(encoder.parameters(), fused=True)
    chosen = batches(lengths, 64, 0, 0)[:8]

    def steps(padded: bool) -> None:
        for some in chosen:
            batch = collate([TokenizedText(rows[i]) for i in some])
            if padded:
                extra = 256 - batch.ids.shape[1]
                mask = torch.ones_like(batch.ids, dtype=torch.bool) if batch.mask is None else batch.mask
                batch = Inputs(F.pad(batch.ids, (0, extra)), F.pad(mask, (0, extra)))
            loss = F.cross_entropy(encoder(batch).logits, torch.zeros(len(some), dtype=torch.long))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    seconds = ratios({"padded to 256": lambda: steps(True), "length buckets": lambda: steps(False)}, rounds=3)
    say("8 training steps of 64 phrases", seconds, "padded to 256")
