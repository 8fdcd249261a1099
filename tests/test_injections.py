"""A lexicon behind any preset."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from sentviz.errors import InputError
from sentviz.models.encoder import Encoder
from sentviz.models.protocol import Inputs
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.presets import injections, preset, split
from sentviz.training.recipe import Recipe


@pytest.mark.parametrize("base", ["cls", "ndt-unit-2"])
def test_an_injection_changes_the_lexicon_and_nothing_else(base: str) -> None:
    """An injection combines with any preset, is recognised in the name, and adds no parameter."""
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
