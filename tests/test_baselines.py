"""The LSTM and the convolution against torch.nn by hand, and a lexicon or parts of SentiFormer behind any preset."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sentviz.data.texts import TokenizedText
from sentviz.errors import InputError
from sentviz.models.baselines import Convolutional, Recurrent
from sentviz.models.batches import collate
from sentviz.models.encoder import Encoder
from sentviz.models.protocol import Inputs
from sentviz.runs.configs import ConvolutionalConfig, EncoderConfig, RecurrentConfig
from sentviz.runs.presets import injections, preset, split
from sentviz.training.recipe import Recipe
from tests.kit import toy_trainer, use_toy_data
from tests.shipped import often

SHAPES: dict[str, dict[str, Any]] = {"bilstm": {"hidden": 6}, "cnn": {"filters": 4}}


def inputs(*lengths: int) -> Inputs:
    rng = np.random.default_rng(0)
    return collate([TokenizedText(rng.integers(4, 30, n)) for n in lengths])


def network(kind: str) -> Recurrent | Convolutional:
    torch.manual_seed(0)
    if kind == "bilstm":
        return Recurrent(RecurrentConfig(30, 3, 40, hidden=6, dropout=0.0)).eval()
    return Convolutional(ConvolutionalConfig(30, 3, 40, filters=4, dropout=0.0)).eval()


def test_the_lstm_is_that_of_torch_by_hand() -> None:
    ours, batch = network("bilstm"), inputs(9, 1, 4)
    whole = nn.LSTM(12, 6, num_layers=2, batch_first=True, bidirectional=True)
    state = {}
    for layer, lstm in enumerate(ours.lstms):  # type: ignore[arg-type]
        state |= {name.replace("l0", f"l{layer}"): tensor for name, tensor in lstm.state_dict().items()}
    whole.load_state_dict(state)
    with torch.no_grad():
        got = ours(batch)
        for text, n in enumerate((9, 1, 4)):
            states, _ = whole(ours.embedding(batch.ids[text : text + 1, :n]))
            torch.testing.assert_close(got.pooled[text], states[0].mean(dim=0), rtol=0, atol=1e-6)
            torch.testing.assert_close(got.logits[text], ours.classifier(states[0].mean(dim=0)), rtol=0, atol=1e-6)


def test_the_convolution_is_that_of_a_loop() -> None:
    """Each filter at each place equals a loop over the surrounding tokens, zeros outside the text, ReLU and the maximum."""
    ours, batch = network("cnn"), inputs(9, 1, 4)
    with torch.no_grad():
        got = ours(batch).pooled
        for text, n in enumerate((9, 1, 4)):
            x = ours.embedding(batch.ids[text, :n])
            maxima = []
            for width, conv in zip((3, 4, 5), ours.filters, strict=True):  # type: ignore[arg-type]
                for f in range(4):
                    best = 0.0
                    for i in range(n):
                        total = float(conv.bias[f])
                        for tap in range(width):
                            place = i + tap - (width - 1) // 2
                            if 0 <= place < n:
                                total += float(conv.weight[f, :, tap] @ x[place])
                        best = max(best, total)
                    maxima.append(best)
            np.testing.assert_allclose(got[text].numpy(), maxima, atol=1e-5)


@pytest.mark.parametrize("kind", ["bilstm", "cnn"])
def test_padding_changes_nothing(kind: str) -> None:
    ours, batch = network(kind), inputs(9, 30, 2)
    with torch.no_grad():
        together = ours(batch).logits
        for text, n in enumerate((9, 30, 2)):
            torch.testing.assert_close(ours(Inputs(batch.ids[text : text + 1, :n])).logits[0], together[text], rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", ["bilstm", "cnn"])
def test_parameters(kind: str) -> None:
    """The layers have the SentiFormer paper's sizes at a vocabulary of 1,000: two layers of 256, widths 3, 4 and 5."""
    built = Recurrent(RecurrentConfig(1000, 2)) if kind == "bilstm" else Convolutional(ConvolutionalConfig(1000, 2))
    lstm = sum(2 * 4 * 256 * (size + 256 + 2) for size in (512, 512)) + 1000 * 512 + 2 * 513
    convolution = 100 * (300 * (3 + 4 + 5) + 3) + 1000 * 300 + 2 * 301
    assert built.parameters_count() == {"bilstm": lstm, "cnn": convolution}[kind]


@pytest.mark.parametrize("kind", often(["bilstm", "cnn", "sentiformer"], "cnn"))
def test_resuming_is_bit_for_bit(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_toy_data(monkeypatch)
    small = {"width": 16, "layers": 2, "heads": 2, "ffn_width": 24, "window": 2}
    changes: dict[str, Any] = {"shape": SHAPES.get(kind, small), "cls": kind == "sentiformer", "epochs": 1}
    whole = toy_trainer(tmp_path / "whole", kind, **changes)
    whole.fit(progress=False)
    toy_trainer(tmp_path / "two", kind, **changes).fit(progress=False, until=4)
    again = toy_trainer(tmp_path / "two", kind, **changes)
    assert again.resume()
    again.fit(progress=False)
    for name, tensor in whole.task.network.state_dict().items():
        assert torch.equal(tensor, again.task.network.state_dict()[name]), name
    assert whole.at.history == again.at.history


def test_gradients_reach_the_embedding_only_where_the_text_is() -> None:
    ours, batch = network("cnn"), inputs(9, 3)
    vectors = ours.table[batch.ids].detach().requires_grad_()
    slopes = torch.autograd.grad(F.softmax(ours(Inputs(batch.ids, batch.mask, vectors=vectors)).logits, -1)[:, 0].sum(), vectors)[0]
    assert float(slopes[1, 3:].abs().max()) == 0 < float(slopes[1, :3].abs().max())


@pytest.mark.parametrize("base", ["cls", "ndt-unit-2"])
def test_an_injection_changes_the_lexicon_and_nothing_else(base: str) -> None:
    for injection in injections():
        name = f"{base}-{injection}"
        plain, fused = (preset(n, vocab_size=50, classes=2, max_length=9) for n in (base, name))
        assert split(name) == (base, injection) and fused.lexicon == ("multiply" if injection == "xia" else "add")
        assert dataclasses.replace(fused, lexicon="none", lexicon_heads="all", lexicon_scaled=False) == plain
        assert (fused.lexicon_heads == "last") == injection.startswith("last") and fused.lexicon_scaled == injection.endswith("scaled")
        assert Encoder(plain).parameters_count() == Encoder(fused).parameters_count()


@pytest.mark.parametrize("base", ["vanilla", "diff", "sentiformer-full"])
def test_parts_of_sentiformer_go_behind_any_encoder(base: str) -> None:
    """The parts combine alone, together and with an injection; they are recognised in the name, and the model runs."""
    rest = {"gate", "positions", "tags", "window", "global_tokens", "global_drawn", "lexicon", "lexicon_heads", "lexicon_scaled"}
    for behind in ("gated", "aware", "windowed", "aware-windowed-gated", "gated-last-scaled", "all-gated"):
        assert split(f"{base}-{behind}") == (base, behind)
        plain, more = (preset(n, vocab_size=50, classes=2, max_length=64, width=16, heads=2) for n in (base, f"{base}-{behind}"))
        assert isinstance(plain, EncoderConfig) and isinstance(more, EncoderConfig)
        wanted = {
            "gate": "gated" in behind or plain.gate,
            "positions": "aware" if "aware" in behind else plain.positions,
            "window": 64 if "windowed" in behind else plain.window,
            "lexicon": "add" if {"last", "all"} & set(behind.split("-")) else "none",
        }
        wanted |= {item.name: getattr(plain, item.name) for item in dataclasses.fields(plain) if item.name not in rest}
        assert {name: getattr(more, name) for name in wanted} == wanted
    assert Encoder(more).eval()(Inputs(torch.randint(4, 50, (2, 40)))).logits.isfinite().all()


@pytest.mark.parametrize("name", ["cnn-gated", "hardmax-d2-aware", "bilstm-last", "nothing-gated"])
def test_what_a_kind_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"There is no model '{name}'"):
        Recipe.read("sst2", model=name)


def test_an_injection_needs_a_lexicon() -> None:
    with pytest.raises(InputError, match="cls-all injects a lexicon, but the recipe names none"):
        Recipe.read("sst2", model="cls-all")
    assert Recipe.read("fused_sst2", model="cls-all").lexicon == "lexicon_en_vader"
