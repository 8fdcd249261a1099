"""Lambda: constraints, start values and what is learned; stored weights and how far they may differ; variants of recipes."""

import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from sentviz.errors import InputError, RunError
from sentviz.models.encoder import Encoder
from sentviz.models.mixing import CONSTRAINTS, Constrained, Differential, NoMixing, mixing
from sentviz.models.weights import load_weights, pack, quantized, unpack
from sentviz.papers.studies.runner import plan
from sentviz.runs.configs import EncoderConfig, differential_start
from sentviz.runs.presets import VARIANTS, preset
from sentviz.training.recipe import Recipe
from tests import slow
from tests.kit import refused, small_encoder

RANGES = {"unit": (0, 1), "symmetric": (-1, 1), "nonneg": (0, math.inf), "free": (-math.inf, math.inf)}
LIKE = torch.zeros((), dtype=torch.float64)


def configured(kind: str, components: int = 3, **changes: object) -> EncoderConfig:
    return EncoderConfig(vocab_size=5, classes=2, components=components, mixing=kind, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_lambda_is_the_formula_and_starts_and_stays_in_its_range(constraint: str) -> None:
    for layer in (0, 1):
        config = configured(constraint, 4, lambda_std=0.4)
        torch.manual_seed(layer)
        module = mixing(config, layer).double()
        assert isinstance(module, Constrained)
        with torch.no_grad():
            module.bias.copy_(torch.tensor([0.3, -0.2, 0.1]))
            got = module(LIKE).tolist()
        assert got[0] == 1
        rows = zip(module.query.tolist(), module.key.tolist(), module.bias.tolist(), strict=True)
        for i, (query, key, bias) in enumerate(rows):
            move, start = sum(a * b for a, b in zip(query, key, strict=True)) + bias, config.lambda_start[layer][i]
            assert abs(move) > 0.01 and got[i + 1] == pytest.approx(slow.constrained(constraint, move, start), abs=1e-6)
    low, high = RANGES[constraint]
    values = CONSTRAINTS[constraint][0](torch.linspace(-30, 30, 601, dtype=torch.float64))
    assert bool(values.isfinite().all()) and bool((values.diff() >= 0).all())
    assert [float(values.min()), float(values.max())] == pytest.approx([max(low, -30), min(high, 30)], abs=1e-9)
    for components in (2, 3, 4):
        config = configured(constraint, components)
        for layer in range(config.layers):
            starts = torch.tensor(config.lambda_start[layer])
            still = mixing(configured(constraint, components, lambda_std=0.0), layer)
            torch.testing.assert_close(still(torch.zeros(()))[1:], starts, atol=1e-6, rtol=0)
            torch.manual_seed(layer)
            moved = mixing(config, layer)(torch.zeros(()))[1:]
            spread = 0.02**2 * math.sqrt(config.key_size)  # spread of the dot product of two vectors
            assert 0 < float((moved.detach() - starts).abs().max()) < 6 * spread


def test_differential_lambda_is_the_formula_and_gradients_flow_or_are_frozen() -> None:
    for layer, start in [(0, 0.2), (1, 0.8 - 0.6 * math.exp(-0.3)), (5, 0.8 - 0.6 * math.exp(-1.5))]:
        assert differential_start(layer) == pytest.approx(start)
        torch.manual_seed(2)
        module = mixing(configured("differential", 2, layers=6, lambda_std=0.5), layer).double()
        assert isinstance(module, Differential)
        lq1, lk1, lq2, lk2 = (row.tolist() for row in module.vectors)
        dot1, dot2 = (sum(a * b for a, b in zip(*pair, strict=True)) for pair in ((lq1, lk1), (lq2, lk2)))
        assert abs(dot1 - dot2) > 0.5 and module(LIKE).tolist() == pytest.approx([1, -(math.exp(dot1) - math.exp(dot2) + start)])
    module = mixing(configured("none", 1), 0)
    assert isinstance(module, NoMixing) and module(LIKE).tolist() == [1.0] and not list(module.parameters())
    for kind in [*CONSTRAINTS, "differential"]:
        module = mixing(configured(kind, 2), 1).double()
        (module(LIKE) * torch.tensor([0.0, 2.0])).sum().backward()
        assert all(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in module.parameters())
        frozen = mixing(configured(kind, 2, learn_lambda=False), 1)
        assert not any(p.requires_grad for p in frozen.parameters()) and not frozen(LIKE).requires_grad
    for constraint, start in [("unit", 1.2), ("unit", -0.1), ("symmetric", -1.5), ("nonneg", -0.2)]:
        refused(ValueError, "outside", mixing, configured(constraint, 2, layers=1, lambda_start=((start,),)), 0)


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Store the toy matrices as large ones."""
    monkeypatch.setattr("sentviz.models.weights.LARGE", 64)
    monkeypatch.setattr("sentviz.models.weights.WIDE", 4)


def test_weights_come_back_within_their_stored_precision(tmp_path: Path) -> None:
    encoder = small_encoder(5, components=3, mixing="free", width=16).float()
    with torch.no_grad():
        encoder.embedding.weight[4] = 0
        encoder.embedding.weight[5] *= 300
    save_file(pack(encoder.state_dict()), tmp_path / "w.safetensors")
    again = load_weights(lambda: Encoder(encoder.config), tmp_path / "w.safetensors")
    before, after = encoder.state_dict(), again.state_dict()
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        error = (tensor - after[name]).abs()
        if tensor.ndim == 2 and tensor.numel() >= 64:
            step = tensor.abs().amax(dim=1, keepdim=True) / 127
            assert bool((error <= step / 2 * 1.001 + 1e-7).all()) and float((error / step.clamp_min(1e-9)).max()) > 0.4
        else:
            assert bool((error <= tensor.abs() * 2**-11 + 1e-7).all())
    assert not after["embedding.weight"][4].any()
    stored = load_file(tmp_path / "w.safetensors")
    assert stored["embedding.weight.int8"].dtype == torch.int8 and stored["blocks.0.attention_norm.weight"].dtype == torch.float16
    rows = torch.linspace(-1, 1, 201).repeat(4, 1) * torch.tensor([[1e-2], [7.7e-3], [1e-3], [1e-5]])
    error = (unpack(pack({"w": rows}))["w"] - rows).abs().amax(dim=1)
    step = (rows.abs().amax(dim=1) / 127).clamp_min(torch.finfo(torch.float16).tiny)
    assert bool((error <= step / 2 * 1.001).all()) and float(error[2]) > 1e-3 / 127
    once = unpack(pack(small_encoder(6).float().state_dict()))
    again = unpack(pack(once))
    assert all(torch.equal(once[k], again[k]) for k in once)
    polarity = torch.rand(200, 3)
    stored = unpack(pack({"polarity": polarity, "wide": torch.rand(200, 4)}))
    assert bool(((stored["polarity"] - polarity).abs() <= polarity * 2**-11).all())
    assert set(pack({"wide": torch.rand(200, 4)})) == {"wide.int8", "wide.scale"}
    weights = torch.randn(40, 24) * torch.logspace(-1, 1, 24)
    for dim in (0, 1):
        stored = quantized("w", weights, dim)
        step = weights.abs().amax(dim=dim, keepdim=True) / 127
        assert bool(((unpack(stored)["w"] - weights).abs() <= step * 0.501).all())
    assert float((unpack(quantized("w", weights, 1))["w"] - weights)[:, 0].abs().max()) > float(step.min())  # columns differ a hundredfold
    for scale in (torch.ones(1, 1), torch.ones(24, 1), torch.ones(40)):
        refused(RuntimeError, r"w\.scale is not one number for each row or each column", unpack, stored | {"w.scale": scale})


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("classifier.bias", None, "'classifier.bias' is missing"),
        ("more", torch.zeros(1), "'more' is not part of the model"),
        ("classifier.bias", torch.zeros(5), r"classifier.bias has the shape \(5,\) in the file and \(3,\) in the configuration"),
        ("embedding.weight.scale", torch.zeros(1, 9), r"embedding.weight.scale has the shape \(1, 9\) in the file and \(20, 1\)"),
        ("embedding.weight.int8", torch.zeros(20, 1, dtype=torch.int8), r"has the shape \(20, 1\) in the file and \(20, 8\)"),
        ("embedding.weight.int8", torch.zeros(20, 8), "embedding.weight.int8 has the type F32, not I8"),
        ("classifier.bias", torch.zeros(3, dtype=torch.int64), "classifier.bias has the type I64, not F16 or"),
    ],
)
def test_a_file_of_other_shapes_is_told_from_its_head(name: str, tensor: torch.Tensor | None, message: str, tmp_path: Path) -> None:
    encoder, path, read_files = small_encoder(5, width=8).float(), tmp_path / "w.safetensors", []
    state = pack(encoder.state_dict()) | {name: tensor}
    save_file({key: each for key, each in state.items() if each is not None}, path)

    def make() -> Encoder:
        read_files.append(Encoder(encoder.config))
        return read_files[-1]

    refused(RunError, f"^w.safetensors does not fit the configuration: .*{message}", load_weights, make, path)
    assert len(read_files) == 1 and all(tensor.is_meta for tensor in read_files[0].state_dict().values())


def test_a_model_of_too_many_numbers_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentviz.models.weights.PARAMETERS", 100)
    save_file(pack((encoder := small_encoder(5).float()).state_dict()), tmp_path / "w.safetensors")
    with pytest.raises(RunError, match="models of at most 100 can be read"):
        load_weights(lambda: Encoder(encoder.config), tmp_path / "w.safetensors")


def config(model: str, variant: str) -> EncoderConfig:
    recipe = Recipe.read("sst2", model=model, variant=variant)
    return preset(model, vocab_size=9, classes=2, max_length=recipe.max_length, **recipe.shape)


def test_a_variant_changes_what_it_says_and_nothing_else() -> None:
    for model, sign in (("ndt-free-3", 1), ("ndt-symmetric-3", -1), ("ndt-unit-4", 1)):
        (start,) = {value for row in config(model, "equal").lambda_start for value in row}
        assert sign * start > 0
    for recipe, model, variant, changes in [
        ("imdb", None, "512", {"max_length": 512}),
        ("fused_sst2", "cls-last", "whole-words", {"lexicon": "lexicon_en_vader:whole-words"}),
        ("imdb", "hardmax-d2", "wide", {"start": 1.0}),
        ("sst5_phrases", "hardmax-d2", "wide-512", {"start": 1.0, "max_length": 512}),
    ]:
        varied, usual = (Recipe.read(recipe, model=model, variant=each).as_dict() for each in (variant, ""))
        assert {key: varied[key] for key in varied if varied[key] != usual[key]} == {"variant": variant, **changes}
    for variant, model, message in [
        ("nonsense", "ndt-free-2", "There is no variant 'nonsense'. The variants are equal"),
        ("swapped", "ndt-unit-2", "has no negative lambdas"),
        ("whole-words", "ndt-unit-2", "names no lexicon, so ndt-unit-2 has no variant whole-words"),
        ("frozen", "vanilla", "no lambda with a start value, so it has no variant"),
    ]:
        refused(InputError, message, Recipe.read, "sst2", model=model, variant=variant)
    of_ndt = VARIANTS.keys() - {"whole-words"}
    names = {Recipe.read("sst2", model="ndt-free-3", variant=variant, seed=2).name for variant in ("", *of_ndt)}
    assert "sst2/ndt-free-3-frozen-s2" in names and len(names) == 1 + len(of_ndt)
    names = [recipe.configuration for recipe in plan("ndt-controls", "sst2")]
    assert names[:4] == ["ndt-symmetric-3", "ndt-symmetric-3-equal", "ndt-symmetric-3-swapped", "ndt-symmetric-3-frozen"]
    assert len(names) == 8
