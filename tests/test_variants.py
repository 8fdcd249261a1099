"""Variants change what they say and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from sentviz.errors import InputError
from sentviz.papers.studies.runner import plan
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.presets import VARIANTS, preset
from sentviz.training.recipe import Recipe
from tests.kit import refused


def config(model: str, variant: str) -> EncoderConfig:
    recipe = Recipe.read("sst2", model=model, variant=variant)
    return preset(model, vocab_size=9, classes=2, max_length=recipe.max_length, **recipe.shape)


def test_equal_starts_are_equal_and_keep_their_sign() -> None:
    for model, sign in (("ndt-free-3", 1), ("ndt-symmetric-3", -1), ("ndt-unit-4", 1)):
        (start,) = {value for row in config(model, "equal").lambda_start for value in row}
        assert sign * start > 0


@pytest.mark.parametrize(
    ("recipe", "model", "variant", "changes"),
    [
        ("imdb", None, "512", {"max_length": 512}),
        ("fused_sst2", "cls-last", "whole-words", {"lexicon": "lexicon_en_vader:whole-words"}),
        ("imdb", "hardmax-d2", "wide", {"start": 1.0}),
        ("sst5_phrases", "hardmax-d2", "wide-512", {"start": 1.0, "max_length": 512}),
    ],
)
def test_a_variant_changes_nothing_else(recipe: str, model: str | None, variant: str, changes: dict[str, object]) -> None:
    varied, usual = (Recipe.read(recipe, model=model, variant=each).as_dict() for each in (variant, ""))
    assert {key: varied[key] for key in varied if varied[key] != usual[key]} == {"variant": variant, **changes}


@pytest.mark.parametrize(
    ("variant", "model", "message"),
    [
        ("nonsense", "ndt-free-2", "There is no variant 'nonsense'. The variants are equal"),
        ("swapped", "ndt-unit-2", "has no negative lambdas"),
        ("whole-words", "ndt-unit-2", "names no lexicon, so ndt-unit-2 has no variant whole-words"),
        ("frozen", "vanilla", "no lambda with a start value, so it has no variant"),
    ],
)
def test_a_variant_that_cannot_be_is_refused(variant: str, model: str, message: str) -> None:
    refused(InputError, message, Recipe.read, "sst2", model=model, variant=variant)


def test_names_tell_variants_apart() -> None:
    of_ndt = VARIANTS.keys() - {"whole-words"}
    names = {Recipe.read("sst2", model="ndt-free-3", variant=variant, seed=2).name for variant in ("", *of_ndt)}
    assert "sst2/ndt-free-3-frozen-s2" in names and len(names) == 1 + len(of_ndt)


def test_the_study_of_controls_has_every_control_beside_the_original(tmp_path: Path) -> None:
    names = [recipe.configuration for recipe in plan("ndt-controls", "sst2")]
    assert names[:4] == ["ndt-symmetric-3", "ndt-symmetric-3-equal", "ndt-symmetric-3-swapped", "ndt-symmetric-3-frozen"]
    assert len(names) == 8
