"""A lexicon behind any preset."""

from __future__ import annotations

import dataclasses

import pytest

from sentviz.errors import InputError
from sentviz.models.encoder import Encoder
from sentviz.papers.fused.presets import INJECTIONS
from sentviz.presets import preset, split
from sentviz.recipe import Recipe


@pytest.mark.parametrize("base", ["cls", "vanilla", "diff", "ndt-unit-2"])
@pytest.mark.parametrize("injection", INJECTIONS)
def test_an_injection_changes_the_lexicon_and_nothing_else(base: str, injection: str) -> None:
    """Works with any preset; the name is told apart again; no parameter is added."""
    name = f"{base}-{injection}"
    assert split(name) == (base, injection)
    plain, fused = (preset(n, vocab_size=50, classes=2, max_length=9) for n in (base, name))
    assert dataclasses.replace(fused, lexicon="none", lexicon_heads="all", lexicon_scaled=False) == plain
    assert fused.lexicon == ("multiply" if injection == "xia" else "add")
    assert (fused.lexicon_heads == "last") == injection.startswith("last")
    assert fused.lexicon_scaled == injection.endswith("scaled")
    assert Encoder(plain).parameters_count() == Encoder(fused).parameters_count()


def test_an_injection_needs_a_lexicon() -> None:
    with pytest.raises(InputError, match="cls-all injects a lexicon, and the recipe names none"):
        Recipe.read("sst2", model="cls-all")
    assert Recipe.read("fused_sst2", model="cls-all").lexicon == "lexicon_en_vader"
