"""Lambda: constraints, start values and what is learned."""

from __future__ import annotations

import math

import pytest
import torch

from sentviz.models.mixing import CONSTRAINTS, Constrained, Differential, NoMixing, mixing
from sentviz.runs.configs import EncoderConfig, differential_start
from tests import slow
from tests.kit import refused

RANGES = {"unit": (0, 1), "symmetric": (-1, 1), "nonneg": (0, math.inf), "free": (-math.inf, math.inf)}
LIKE = torch.zeros((), dtype=torch.float64)


def configured(kind: str, components: int = 3, **changes: object) -> EncoderConfig:
    """Return a small configuration with that mixing."""
    return EncoderConfig(vocab_size=5, classes=2, components=components, mixing=kind, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("layer", [0, 1])
def test_lambda_is_the_formula(constraint: str, layer: int) -> None:
    """Lambda is constraint(sum(lq * lk) + init + bias), with lambda_1 = 1, for large random vectors."""
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
        assert abs(move) > 0.01
        assert got[i + 1] == pytest.approx(slow.constrained(constraint, move, start), abs=1e-6)


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_lambda_stays_in_its_range(constraint: str) -> None:
    low, high = RANGES[constraint]
    values = CONSTRAINTS[constraint][0](torch.linspace(-30, 30, 601, dtype=torch.float64))
    assert bool((values >= low).all()) and bool((values <= high).all())
    assert bool(values.isfinite().all()) and bool((values.diff() >= 0).all())
    assert float(values.min()) == pytest.approx(max(low, -30), abs=1e-9)
    assert float(values.max()) == pytest.approx(min(high, 30), abs=1e-9)


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("components", [2, 3, 4])
def test_training_starts_at_the_start_values(constraint: str, components: int) -> None:
    config = configured(constraint, components)
    for layer in range(config.layers):
        starts = torch.tensor(config.lambda_start[layer])
        still = mixing(configured(constraint, components, lambda_std=0.0), layer)
        torch.testing.assert_close(still(torch.zeros(()))[1:], starts, atol=1e-6, rtol=0)
        torch.manual_seed(layer)
        moved = mixing(config, layer)(torch.zeros(()))[1:]
        spread = 0.02**2 * math.sqrt(config.key_size)  # spread of the dot product of two vectors
        assert 0 < float((moved.detach() - starts).abs().max()) < 6 * spread


@pytest.mark.parametrize("layer, start", [(0, 0.2), (1, 0.8 - 0.6 * math.exp(-0.3)), (5, 0.8 - 0.6 * math.exp(-1.5))])
def test_differential_lambda_is_the_formula(layer: int, start: float) -> None:
    """The components are (1, -(exp(lq1.lk1) - exp(lq2.lk2) + lambda_init)) with lambda_init = 0.8 - 0.6 exp(-0.3 layer)."""
    assert differential_start(layer) == pytest.approx(start)
    torch.manual_seed(2)
    module = mixing(configured("differential", 2, layers=6, lambda_std=0.5), layer).double()
    assert isinstance(module, Differential)
    lq1, lk1, lq2, lk2 = (row.tolist() for row in module.vectors)
    dot1, dot2 = (sum(a * b for a, b in zip(*pair, strict=True)) for pair in ((lq1, lk1), (lq2, lk2)))
    assert abs(dot1 - dot2) > 0.5
    assert module(LIKE).tolist() == pytest.approx([1, -(math.exp(dot1) - math.exp(dot2) + start)])


def test_one_component_has_nothing_to_mix() -> None:
    module = mixing(configured("none", 1), 0)
    assert isinstance(module, NoMixing)
    assert module(LIKE).tolist() == [1.0] and not list(module.parameters())


@pytest.mark.parametrize("kind", [*CONSTRAINTS, "differential"])
def test_gradients_flow_or_are_frozen(kind: str) -> None:
    module = mixing(configured(kind, 2), 1).double()
    (module(LIKE) * torch.tensor([0.0, 2.0])).sum().backward()
    assert all(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in module.parameters())
    frozen = mixing(configured(kind, 2, learn_lambda=False), 1)
    assert not any(p.requires_grad for p in frozen.parameters())
    assert not frozen(LIKE).requires_grad


@pytest.mark.parametrize("constraint, start", [("unit", 1.2), ("unit", -0.1), ("symmetric", -1.5), ("nonneg", -0.2)])
def test_a_start_outside_the_constraint_is_refused(constraint: str, start: float) -> None:
    refused(ValueError, "outside", mixing, configured(constraint, 2, layers=1, lambda_start=((start,),)), 0)
