"""The encoder against the slow encoder of `slow.py`, switch by switch, and what must hold of any of its forms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sentviz.models.encoder import Encoder
from sentviz.models.hardmax import HardmaxEncoder
from sentviz.models.loading import network_of
from sentviz.models.protocol import Capture, Inputs, InterventionTensors, Replacement
from sentviz.runs.configs import ConvolutionalConfig, EncoderConfig, HardmaxConfig, ModelConfig, RecurrentConfig
from tests import kit, slow
from tests.kit import small_encoder
from tests.shipped import often

VANILLA: dict[str, Any] = {"positions": "sinusoid", "norm": "layer", "norm_first": False, "ffn": "relu"}
DIFF: dict[str, Any] = {"components": 2, "mixing": "differential", "head_norm": True, "lambda_std": 0.1}
FORMS: dict[str, dict[str, Any]] = {
    "vanilla": VANILLA,
    "vanilla-matched": {},
    "ndt-unit-2": {"components": 2, "mixing": "unit"},
    "ndt-symmetric-3": {"components": 3, "mixing": "symmetric", "layers": 3},
    "ndt-nonneg-3": {"components": 3, "mixing": "nonneg"},
    "ndt-free-4": {"components": 4, "mixing": "free"},
    "diff": DIFF,
    "narrow keys, gelu, cls": {"key_width": 4, "ffn": "gelu", "pooling": "cls", "positions": "none"},
    "rope, qk-norm": VANILLA | {"positions": "rotary", "qk_norm": True},
    "rope, ndt": {"components": 2, "mixing": "unit", "positions": "rotary"},
    "gate": VANILLA | {"gate": True, "pooling": "cls"},
    "gate and window": VANILLA | {"gate": True, "window": 2, "pooling": "cls"},
    "window, even global": {"window": 3, "global_tokens": (0, 4, -1, -30), "components": 2, "mixing": "free"},
    "add, all": VANILLA | {"lexicon": "add"},
    "add, last": VANILLA | {"lexicon": "add", "lexicon_heads": "last"},
    "add, all, scaled": {"lexicon": "add", "lexicon_scaled": True},
    "add, last, scaled": {
        "lexicon": "add",
        "lexicon_heads": "last",
        "lexicon_scaled": True,
        "components": 2,
        "mixing": "unit",
    },
    "multiply, all": VANILLA | {"lexicon": "multiply"},
    "multiply, last, gate": VANILLA | {"lexicon": "multiply", "lexicon_heads": "last", "gate": True},
    "segments": {"segments": 2},
}
IDS = [[3, 7, 1, 12, 19, 7, 5, 2, 2, 9, 11], [4, 6, 8], [15], [2, 18, 6, 6, 10, 1, 4]]
TEXTS = [np.array(row, dtype=np.int64) for row in IDS]


def state_of(encoder: Encoder) -> dict[str, slow.Array]:
    """Return the weights as plain arrays."""
    return {name: tensor.numpy() for name, tensor in encoder.state_dict().items()}


def extras(form: dict[str, Any], rows: list[Any]) -> tuple[Tensor, Tensor]:
    """Return polarities and segments for a padded batch; values at padded places must not matter."""
    rng, n = np.random.default_rng(5), max(len(row) for row in rows)
    polarity = rng.dirichlet([1.0, 1.0, 1.0], size=(len(rows), n))
    segments = np.array([[int(i >= len(row) // 2) for i in range(n)] for row in rows])
    return torch.from_numpy(polarity), torch.from_numpy(segments)


def batch_of(form: dict[str, Any], rows: list[Any]) -> Inputs:
    """Return padded ids with the other inputs that the form reads."""
    polarity, segments = extras(form, rows)
    plain, pairs = kit.batch(rows), segments if "segments" in form else None
    return Inputs(plain.ids, plain.mask, pairs, polarity=polarity if "lexicon" in form else None)


@pytest.mark.parametrize("name", FORMS)
def test_logits_states_and_maps_are_those_of_the_slow_encoder(name: str) -> None:
    """In every form a padded batch gives the slow encoder's logits, and under a Capture its states, maps, scores and lambdas."""
    form = FORMS[name]
    encoder = small_encoder(3, **form)
    state, batch = state_of(encoder), batch_of(form, TEXTS)
    with torch.no_grad():
        fast = encoder(batch)
        full = encoder(batch, Capture(scores=True))
        lambdas = encoder.lambdas().numpy()
    assert not fast.captured and not fast.hidden
    for b, ids in enumerate(IDS):
        n = len(ids)
        polarity = None if batch.polarity is None else batch.polarity[b].numpy()
        segments = None if batch.segments is None else batch.segments[b].tolist()
        want = slow.encode(state, encoder.config, ids, polarity=polarity, segments=segments)
        np.testing.assert_allclose(fast.logits[b], want.logits, atol=2e-6)
        np.testing.assert_allclose(full.logits[b], want.logits, atol=2e-6)
        np.testing.assert_allclose(fast.pooled[b], want.pooled, atol=2e-6)
        for layer in range(encoder.config.layers):
            seen = full.captured[layer]
            np.testing.assert_allclose(full.hidden[layer][b, :n], want.hidden[layer], atol=2e-6)
            np.testing.assert_allclose(lambdas[layer], want.lambdas[layer], atol=1e-6)
            for got, right in (
                (seen.attention, want.effective),
                (seen.components, want.components),
                (seen.scores, want.scores),
            ):
                assert got is not None
                np.testing.assert_allclose(got[b, ..., :n, :n], right[layer], atol=5e-6)


def test_vanilla_is_torch_transformer_encoder() -> None:
    """Two post-norm layers equal torch.nn.TransformerEncoderLayer with copied weights, on a padded batch."""
    encoder = small_encoder(1, **VANILLA)
    batch = kit.batch(TEXTS)
    assert batch.mask is not None
    with torch.no_grad():
        x, out = encoder.embed(batch), encoder(batch, Capture(maps=False))
        for layer, block in enumerate(encoder.blocks):
            theirs = torch.nn.TransformerEncoderLayer(8, 2, 12, 0.0, batch_first=True, dtype=torch.float64).eval()
            theirs.load_state_dict(
                {
                    "self_attn.in_proj_weight": block.attention.project.weight,
                    "self_attn.in_proj_bias": block.attention.project.bias,
                    "self_attn.out_proj.weight": block.attention.output.weight,
                    "self_attn.out_proj.bias": block.attention.output.bias,
                    **{f"linear1.{k}": v for k, v in block.ffn.up.state_dict().items()},
                    **{f"linear2.{k}": v for k, v in block.ffn.down.state_dict().items()},
                    **{f"norm1.{k}": v for k, v in block.attention_norm.state_dict().items()},
                    **{f"norm2.{k}": v for k, v in block.ffn_norm.state_dict().items()},
                }
            )
            x = theirs(x, src_key_padding_mask=~batch.mask)
            np.testing.assert_allclose(out.hidden[layer + 1][batch.mask], x[batch.mask], atol=1e-10)


def test_differential_attention_is_the_published_formula() -> None:
    """One layer's attention equals the equations of the Differential Transformer, written with torch operations."""
    encoder = small_encoder(2, **DIFF)
    layer, x = 1, torch.randn(1, 6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    module = encoder.blocks[layer].attention
    with torch.no_grad():
        w_q1, w_q2, w_k1, w_k2, w_v = module.project.weight.split([4, 4, 4, 4, 8])
        b_q1, b_q2, b_k1, b_k2, b_v = module.project.bias.split([4, 4, 4, 4, 8])
        lq1, lk1, lq2, lk2 = module.mixing.vectors
        init = 0.8 - 0.6 * np.exp(-0.3 * layer)
        lam = torch.exp(lq1 @ lk1) - torch.exp(lq2 @ lk2) + init
        heads = []
        for h in range(2):
            part, wide = slice(2 * h, 2 * h + 2), slice(4 * h, 4 * h + 4)
            q1, k1 = x[0] @ w_q1[part].T + b_q1[part], x[0] @ w_k1[part].T + b_k1[part]
            q2, k2 = x[0] @ w_q2[part].T + b_q2[part], x[0] @ w_k2[part].T + b_k2[part]
            v = x[0] @ w_v[wide].T + b_v[wide]
            a = torch.softmax(q1 @ k1.T / 2**0.5, -1) - lam * torch.softmax(q2 @ k2.T / 2**0.5, -1)
            out = a @ v
            rms = (out.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()
            heads.append((1 - init) * out / rms * module.head_norm.weight)
        want = torch.cat(heads, -1) @ module.output.weight.T + module.output.bias
        got, _ = module(x, Inputs(torch.zeros(1, 6, dtype=torch.long)), None, InterventionTensors())
    np.testing.assert_allclose(got[0], want, atol=1e-6)


@pytest.mark.parametrize("name", often(FORMS, *list(FORMS)[:6]))
def test_the_last_layer_makes_the_state_of_cls_alone_where_nobody_looks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logits, pooled vectors and gradients equal those of a pass that captures (and computes) every state; also under interventions."""
    form = FORMS[name] | {"pooling": "cls", "max_length": 40}
    encoder = small_encoder(9, **form)
    rng, has = np.random.default_rng(1), encoder.capabilities
    batch = batch_of(form, [rng.integers(1, 20, size=n) for n in (40, 23, 4, 1)])
    tokens, zero = torch.from_numpy(rng.integers(0, 40, 12)), torch.zeros(())
    rows, heads = torch.arange(12) % 4, torch.from_numpy(rng.integers(0, has.heads, 12))
    last, vectors = has.layers - 1, torch.from_numpy(rng.normal(size=(12, 8)))
    of_row = {("head", last): Replacement((rows, heads, slice(None)), zero), ("state", last): Replacement((rows, tokens), vectors)}
    after = {(what, last): Replacement((rows, tokens), vectors) for what in ("residual", "feedforward")}
    changes = [
        InterventionTensors(),
        InterventionTensors(replaced={("value", last): (Replacement((rows, heads, tokens), zero),)}),
        InterventionTensors(heads_off=frozenset({(has.layers - 1, 1)})),
        InterventionTensors(replaced={site: (each,) for site, each in (of_row | after).items()}),
        InterventionTensors(replaced={("state", has.layers): (Replacement((rows, tokens), vectors),)}),
        InterventionTensors(gates_open=frozenset({2}), gates_shut=frozenset({1}), strength={"gate": 0.5, "lexicon": 0.5}),
    ]
    widths: list[int] = []
    ffn = encoder.blocks[-1].ffn
    monkeypatch.setattr(ffn, "forward", lambda x, forward=ffn.forward: (widths.append(x.shape[1]), forward(x))[1])
    for change in changes:
        rows = encoder.table.detach()[batch.ids].requires_grad_()
        with_vectors = replace(batch, vectors=rows)
        few, all_ = encoder(with_vectors, change=change), encoder(with_vectors, Capture(maps=False), change)
        np.testing.assert_allclose(few.logits.detach(), all_.logits.detach(), atol=1e-10)
        np.testing.assert_allclose(few.pooled.detach(), all_.pooled.detach(), atol=1e-10)
        got, want = (torch.autograd.grad(out.logits[:, 0].sum(), rows)[0] for out in (few, all_))
        np.testing.assert_allclose(got, want, atol=1e-10)
        with torch.no_grad():
            np.testing.assert_allclose(encoder(with_vectors, change=change).logits, all_.logits.detach(), atol=1e-10)
    assert set(widths) == {1, 40} and widths.count(1) == 2 * len(changes)
    encoder.train()
    encoder(batch)
    assert widths[-1] == 40  # dropout draws for every token


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_padding_and_order_of_a_batch_change_nothing(name: str) -> None:
    """A text has the same logits in a padded batch, alone, and in a reordered batch."""
    form = FORMS[name]
    encoder, batch = small_encoder(4, **form), batch_of(form, TEXTS)
    order = torch.tensor([2, 0, 3, 1])

    def pick(rows: Tensor, length: int | None = None) -> Inputs:
        fields = (batch.ids, batch.mask, batch.segments, batch.polarity)
        ids, mask, segments, polarity = (None if x is None else x[rows][:, :length] for x in fields)
        assert ids is not None
        return Inputs(ids, None if length else mask, segments, polarity=polarity)

    with torch.no_grad():
        together, mixed = encoder(batch).logits, encoder(pick(order)).logits
        np.testing.assert_allclose(mixed, together[order], atol=1e-10)
        for b, ids in enumerate(IDS):
            alone = encoder(pick(torch.tensor([b]), len(ids))).logits
            np.testing.assert_allclose(alone[0], together[b], atol=1e-10)


def test_rotary_scores_depend_on_the_distance_only() -> None:
    """Two vectors at places (i, j) and (i + 5, j + 5) have the same score, and another one at another distance."""
    encoder = small_encoder(6, layers=1, positions="rotary")
    with torch.no_grad():
        row = torch.full((1, 12), 4)
        s = encoder(Inputs(row), Capture(scores=True)).captured[0].scores[0, 0, 0]
    for distance in range(-6, 7):
        along = torch.diagonal(s, distance)
        np.testing.assert_allclose(along, along[0].expand_as(along), atol=1e-6)
    assert float((s[0, 0] - s[0, 3]).abs()) > 1e-3


def test_a_neutral_row_is_unmoved_by_the_lexicon() -> None:
    """Sigma of 1/3 towards every key cancels in the softmax: layer 1's [CLS] row stays, the other rows change."""
    form = VANILLA | {"pooling": "cls"}
    plain, added = small_encoder(7, **form), small_encoder(7, **form, lexicon="add")
    ids = torch.tensor([[2, 9, 4, 17, 3]])
    polarity = torch.tensor([[[1 / 3] * 3, [0.9, 0.05, 0.05], [0.1, 0.1, 0.8], [0.2, 0.6, 0.2], [1 / 3] * 3]]).double()
    with torch.no_grad():
        a = plain(Inputs(ids), Capture())
        b = added(Inputs(ids, polarity=polarity), Capture())
    first, moved = a.captured[0].attention[0], b.captured[0].attention[0]
    np.testing.assert_allclose(moved[:, 0], first[:, 0], atol=1e-7)
    assert float((moved[:, 1:4] - first[:, 1:4]).abs().amax(dim=-1).min()) > 0.005
    np.testing.assert_allclose(b.hidden[1][0, 0], a.hidden[1][0, 0], atol=1e-6)
    assert float((b.hidden[2][0, 0] - a.hidden[2][0, 0]).abs().max()) > 1e-4


@pytest.mark.parametrize("window", [2, 5])
def test_a_window_is_the_same_banded_and_dense(window: int) -> None:
    """The fast banded path and the captured dense path of a long padded batch give the same logits."""
    globals_ = (0, 4, -36, -1)  # the second and the third are one place where the text has 40 tokens
    encoder = small_encoder(8, window=window, global_tokens=globals_, components=2, mixing="unit", max_length=40)
    rng = np.random.default_rng(0)
    batch = kit.batch([rng.integers(1, 20, size=n) for n in (40, 23, 4)])
    with torch.no_grad():
        np.testing.assert_allclose(encoder(batch).logits, encoder(batch, Capture()).logits, atol=1e-10)


@pytest.mark.parametrize("how", ["add", "multiply"])
def test_polarities_come_from_the_table_unless_given(how: str) -> None:
    """Ids alone take polarities from the encoder's constants, which are neutral at first and have no gradient."""
    encoder = small_encoder(lexicon=how)
    ids = torch.tensor([[1, 2, 5]])
    with torch.no_grad():
        neutral = encoder(Inputs(ids, polarity=torch.full((1, 3, 3), 1 / 3, dtype=torch.float64))).logits
        np.testing.assert_allclose(encoder(Inputs(ids)).logits, neutral, atol=1e-12)
        encoder.polarity[:] = torch.rand_like(encoder.polarity)
        from_inputs = encoder(Inputs(ids, polarity=encoder.polarity[ids])).logits
        np.testing.assert_allclose(encoder(Inputs(ids)).logits, from_inputs, atol=1e-12)
        assert not np.allclose(from_inputs, neutral, atol=1e-6)
    assert "polarity" not in dict(encoder.named_parameters())


@pytest.mark.parametrize("how", ["add", "multiply"])
@pytest.mark.parametrize("heads", ["all", "last"])
def test_the_strength_scales_the_injection(how: str, heads: str) -> None:
    """Strength 0 equals the same weights without a lexicon; s adds s sigma, or multiplies by s sigma + 1 - s, on injected heads only."""
    encoder = small_encoder(lexicon=how, lexicon_heads=heads)
    plain = small_encoder(lexicon="none")
    plain.load_state_dict({name: value for name, value in encoder.state_dict().items() if name != "polarity"})
    batch = Inputs(torch.tensor([[1, 2, 5, 7]]), polarity=torch.rand(1, 4, 3, dtype=torch.float64))
    sigma = (batch.polarity[0] @ batch.polarity[0].T).numpy()
    with torch.no_grad():
        off = encoder(batch, Capture(scores=True), InterventionTensors(strength={"lexicon": 0.0}))
        np.testing.assert_allclose(off.logits, plain(batch).logits, atol=1e-12)
        for strength in (0.5, 2.0):
            got = encoder(batch, Capture(scores=True), InterventionTensors(strength={"lexicon": strength})).captured[0].scores[0, 0].numpy()
            bare = off.captured[0].scores[0, 0].numpy()
            for head in range(len(bare)):
                s = strength if heads == "all" or head == len(bare) - 1 else 0.0
                want = bare[head] + s * sigma if how == "add" else bare[head] * (s * sigma + 1 - s)
                np.testing.assert_allclose(got[head], want, atol=1e-9)


@pytest.mark.parametrize("scaled", [False, True])
def test_the_row_of_a_neutral_token_cannot_move_in_the_first_layer(scaled: bool) -> None:
    """[CLS] has sigma = 1/3 towards every key, which softmax cancels; other rows change, and deeper rows of [CLS] with them."""
    encoder = small_encoder(lexicon="add", lexicon_scaled=scaled)
    polarity = torch.rand(1, 6, 3, dtype=torch.float64)
    polarity /= polarity.sum(dim=-1, keepdim=True)
    polarity[0, 0] = 1 / 3
    batch = Inputs(torch.tensor([[2, 5, 7, 8, 9, 3]]), polarity=polarity)
    with torch.no_grad():
        off, on = (
            encoder(batch, Capture(), InterventionTensors(strength={"lexicon": strength})).attention[:, 0].numpy()
            for strength in (0.0, 5.0)
        )
    np.testing.assert_allclose(on[0, :, 0], off[0, :, 0], atol=1e-12)
    assert np.abs(on[0, :, 1:] - off[0, :, 1:]).max() > 1e-3
    assert np.abs(on[1, :, 0] - off[1, :, 0]).max() > 1e-6


@pytest.mark.parametrize(
    "config",
    [
        EncoderConfig(9, 2, width=8, heads=2),
        EncoderConfig(9, 2, width=8, heads=2, components=3, mixing="unit"),
        EncoderConfig(9, 2, width=8, heads=2, components=2, mixing="differential", learn_lambda=False),
        EncoderConfig(9, 2, width=8, heads=2, positions="aware", gate=True, qk_norm=True),
        HardmaxConfig(9),
        RecurrentConfig(9, 2),
        ConvolutionalConfig(9, 2),
    ],
    ids=lambda config: config.KIND,
)
def test_capabilities_name_the_scalars_that_a_history_records(config: ModelConfig) -> None:
    """The scalars that a network records in training are those that its shape names, in order."""
    network = HardmaxEncoder(config) if isinstance(config, HardmaxConfig) else network_of(config)
    assert tuple(dict.fromkeys(scalar.name for scalar in network.scalars())) == config.capabilities.scalars
