"""The encoder against the slow encoder of `slow.py`, switch by switch, and what must hold of any of its forms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from sentviz.models.encoder import Encoder
from sentviz.models.hardmax import HardmaxEncoder
from sentviz.models.loading import network_of
from sentviz.models.protocol import Capture, Inputs, InterventionTensors, Replacement
from sentviz.runs.configs import ConvolutionalConfig, EncoderConfig, HardmaxConfig, RecurrentConfig
from sentviz.runs.presets import preset
from tests import kit, slow
from tests.kit import small_encoder

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
    "add, last, scaled": {"lexicon": "add", "lexicon_heads": "last", "lexicon_scaled": True, "components": 2, "mixing": "unit"},
    "multiply, all": VANILLA | {"lexicon": "multiply"},
    "multiply, last, gate": VANILLA | {"lexicon": "multiply", "lexicon_heads": "last", "gate": True},
    "segments": {"segments": 2},
}
IDS = [[3, 7, 1, 12, 19, 7, 5, 2, 2, 9, 11], [4, 6, 8], [15], [2, 18, 6, 6, 10, 1, 4]]
TEXTS = [np.array(row, dtype=np.int64) for row in IDS]


def batch_of(form: dict[str, Any], rows: list[Any]) -> Inputs:
    """Return padded ids with the other inputs that the form reads; values at padded places must not matter."""
    plain, n = kit.batch(rows), max(len(row) for row in rows)
    polarity = torch.from_numpy(np.random.default_rng(5).dirichlet([1.0, 1.0, 1.0], size=(len(rows), n)))
    segments = torch.tensor([[int(i >= len(row) // 2) for i in range(n)] for row in rows])
    return Inputs(plain.ids, plain.mask, segments if "segments" in form else None, polarity=polarity if "lexicon" in form else None)


@pytest.mark.parametrize("name", FORMS)
def test_logits_states_and_maps_are_those_of_the_slow_encoder(name: str) -> None:
    """In every form a padded batch gives the slow encoder's logits, and under a Capture its states, maps, scores and lambdas."""
    form = FORMS[name]
    encoder = small_encoder(3, **form)
    state, batch = slow.state_of(encoder), batch_of(form, TEXTS)
    with torch.no_grad():
        fast, full, lambdas = encoder(batch), encoder(batch, Capture(scores=True)), encoder.lambdas().numpy()
    assert not fast.captured and not fast.hidden
    for b, ids in enumerate(IDS):
        n = len(ids)
        polarity, segments = (None if x is None else x[b].numpy() for x in (batch.polarity, batch.segments))
        want = slow.encode(state, encoder.config, ids, polarity=polarity, segments=segments)
        np.testing.assert_allclose(fast.logits[b], want.logits, atol=2e-6)
        np.testing.assert_allclose(full.logits[b], want.logits, atol=2e-6)
        np.testing.assert_allclose(fast.pooled[b], want.pooled, atol=2e-6)
        for layer in range(encoder.config.layers):
            seen = full.captured[layer]
            np.testing.assert_allclose(full.hidden[layer][b, :n], want.hidden[layer], atol=2e-6)
            np.testing.assert_allclose(lambdas[layer], want.lambdas[layer], atol=1e-6)
            for got, right in ((seen.attention, want.effective), (seen.components, want.components), (seen.scores, want.scores)):
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


@pytest.mark.parametrize("name", ["vanilla", "diff", "add, last, scaled", "multiply, last, gate", "window, even global"])
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
        InterventionTensors(heads_off=frozenset({(last, 1)})),
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
        got, want = (torch.autograd.grad(out.logits[:, 0].sum(), rows, retain_graph=True)[0] for out in (few, all_))
        for ours, theirs in ((few.logits, all_.logits), (few.pooled, all_.pooled), (got, want)):
            torch.testing.assert_close(ours, theirs, atol=1e-10, rtol=0)
        with torch.no_grad():
            torch.testing.assert_close(encoder(with_vectors, change=change).logits, all_.logits, atol=1e-10, rtol=0)
    assert set(widths) == {1, 40} and widths.count(1) == 2 * len(changes)
    encoder.train()
    encoder(batch)
    assert widths[-1] == 40  # dropout draws for every token


def test_polarities_come_from_the_table_unless_given() -> None:
    encoder, ids = small_encoder(lexicon="add"), torch.tensor([[1, 2, 5]])
    with torch.no_grad():
        neutral = encoder(Inputs(ids, polarity=torch.full((1, 3, 3), 1 / 3, dtype=torch.float64))).logits
        np.testing.assert_allclose(encoder(Inputs(ids)).logits, neutral, atol=1e-12)
        encoder.polarity[:] = torch.rand_like(encoder.polarity)
        from_inputs = encoder(Inputs(ids, polarity=encoder.polarity[ids])).logits
        np.testing.assert_allclose(encoder(Inputs(ids)).logits, from_inputs, atol=1e-12)
        assert not np.allclose(from_inputs, neutral, atol=1e-6)
    assert "polarity" not in dict(encoder.named_parameters())


@pytest.mark.parametrize(("how", "heads"), [("add", "last"), ("multiply", "all")])
def test_the_strength_scales_the_injection(how: str, heads: str) -> None:
    """Strength 0 equals the same weights without a lexicon; s adds s sigma, or multiplies by s sigma + 1 - s, on injected heads only."""
    encoder, plain = small_encoder(lexicon=how, lexicon_heads=heads), small_encoder(lexicon="none")
    plain.load_state_dict({name: value for name, value in encoder.state_dict().items() if name != "polarity"})
    batch = Inputs(torch.tensor([[1, 2, 5, 7]]), polarity=torch.rand(1, 4, 3, dtype=torch.float64))
    sigma = (batch.polarity[0] @ batch.polarity[0].T).numpy()

    def scores(strength: float) -> Any:
        return encoder(batch, Capture(scores=True), InterventionTensors(strength={"lexicon": strength}))

    with torch.no_grad():
        off = scores(0.0)
        np.testing.assert_allclose(off.logits, plain(batch).logits, atol=1e-12)
        bare = off.captured[0].scores[0, 0].numpy()
        for strength in (0.5, 2.0):
            for head, got in enumerate(scores(strength).captured[0].scores[0, 0].numpy()):
                s = strength if heads == "all" or head == len(bare) - 1 else 0.0
                want = bare[head] + s * sigma if how == "add" else bare[head] * (s * sigma + 1 - s)
                np.testing.assert_allclose(got, want, atol=1e-9)


def test_capabilities_name_the_scalars_that_a_history_records() -> None:
    small: dict[str, Any] = {"width": 8, "heads": 2}
    for config in (
        EncoderConfig(9, 2, **small),
        EncoderConfig(9, 2, **small, components=3, mixing="unit"),
        EncoderConfig(9, 2, **small, components=2, mixing="differential", learn_lambda=False),
        EncoderConfig(9, 2, **small, positions="aware", gate=True, qk_norm=True),
        HardmaxConfig(9),
        RecurrentConfig(9, 2),
        ConvolutionalConfig(9, 2),
    ):
        network = HardmaxEncoder(config) if isinstance(config, HardmaxConfig) else network_of(config)
        assert tuple(dict.fromkeys(scalar.name for scalar in network.scalars())) == config.capabilities.scalars


# arXiv 2603.20704: vocabulary, classes, length of the data set; millions of parameters printed for vanilla, the
# Differential Transformer, NDT with C = 2, 3, 4. Lengths are not printed: 256, and 128 for the tweets, meet all totals.
PRINTED = {
    "imdb": ((26_284, 2, 256), (3.63, 3.79, 3.79, 3.83, 3.86)),
    "sst2": ((8_865, 2, 256), (1.40, 1.56, 1.56, 1.60, 1.63)),
    "yelp": ((63_385, 5, 256), (8.38, 8.54, 8.54, 8.58, 8.61)),
    "twitter_financial": ((3_137, 3, 128), (0.67, 0.82, 0.82, 0.85, 0.88)),
}


@pytest.mark.parametrize("data", PRINTED)
def test_parameter_counts_are_the_printed_ones(data: str) -> None:
    """Every preset's number of parameters rounds to the paper's; the control has NDT(2)'s without its lambdas."""
    (vocab, classes, length), printed = PRINTED[data]
    presets = ("vanilla", "diff", "ndt-unit-2", "ndt-symmetric-3", "ndt-free-4", "vanilla-matched")
    with torch.device("meta"):
        built = {name: Encoder(preset(name, vocab_size=vocab, classes=classes, max_length=length)) for name in presets}
    totals = {name: encoder.parameters_count() for name, encoder in built.items()}
    assert totals == {name: sum(p.numel() for p in encoder.parameters()) for name, encoder in built.items()}
    assert tuple(round(totals[name] / 1e6, 2) for name in presets[:-1]) == printed
    lambdas = sum(p.numel() for name, p in built["ndt-unit-2"].named_parameters() if "mixing" in name)
    assert totals["vanilla-matched"] == totals["ndt-unit-2"] - lambdas


MIXED = {"components": 2, "mixing": "free"}
RICH = {
    "ndt": {"components": 2, "mixing": "unit"},
    "diff": DIFF,
    "lexicon": MIXED | {"lexicon": "add", "lexicon_heads": "last", "gate": True, "window": 2},
    "factor": MIXED | {"lexicon": "multiply", "lexicon_heads": "last", "positions": "rotary"},
}


@pytest.mark.parametrize("form", [RICH["ndt"], DIFF, VANILLA | {"layers": 3}], ids=["ndt", "diff", "vanilla"])
def test_interventions_are_those_of_the_slow_encoder(form: dict[str, Any]) -> None:
    encoder, batch = small_encoder(10, **form), batch_of(form, [TEXTS[0]])
    config = encoder.config
    lambdas = np.random.default_rng(1).normal(size=(config.layers, config.components))
    off = frozenset({(0, 1), (config.layers - 1, 0)})
    want = slow.encode(slow.state_of(encoder), config, IDS[0], lambdas=lambdas, heads_off=off).logits
    with torch.no_grad():
        for capture in (None, Capture()):
            got = encoder(batch, capture, InterventionTensors(torch.from_numpy(lambdas), off)).logits[0]
            np.testing.assert_allclose(got, want, atol=2e-6)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"width": 10, "heads": 4}, "divide"),
        ({"key_width": 9}, "divide"),
        ({"key_width": -8}, "key_width must be a whole number from 0"),
        ({"components": 2}, "does not fit"),
        ({"mixing": "unit"}, "does not fit"),
        ({"components": 2, "mixing": "sigmoid"}, "mixing must be none"),
        ({"components": 3, "mixing": "differential"}, "lambda_start"),
        ({"components": 5, "mixing": "unit"}, "lambda_start"),
        ({"components": 2, "mixing": "unit", "lambda_start": ((0.1,),) * 3}, "2 rows"),
        ({"components": 2, "mixing": "unit", "lambda_start": ((0.1,), (0.1, 0.2))}, "1 values"),
        *(({name: "other"}, f"{name} must be ") for name in ("positions", "norm", "ffn", "pooling", "lexicon")),
        ({"head_norm": True}, "head_norm"),
        ({"heads": 0}, "heads must be a whole number from 1"),
        ({"classes": -1}, "classes must be a whole number from 0"),
    ],
)
def test_a_configuration_that_makes_no_model_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        EncoderConfig(**({"vocab_size": 9, "classes": 2, "width": 8, "heads": 2} | changes))


def test_usual_settings_and_capabilities_are_those_that_are_written() -> None:
    """A run of an earlier version lacks settings that came later: it is read with these."""
    rich: dict[str, Any] = {"positions": "aware", "gate": True, "window": 4, "pooling": "cls", "lexicon": "add", "segments": 2}
    rich |= {"components": 2, "mixing": "unit", "relative": 8, "qk_norm": True, "masked": False}
    assert repr(EncoderConfig(9, 2)) == (
        "EncoderConfig(vocab_size=9, classes=2, max_length=256, width=128, layers=2, heads=4, components=1, "
        "mixing='none', key_width=128, lambda_start=(), lambda_std=0.02, learn_lambda=True, head_norm=False, "
        "embedding_scale=11.313708498984761, positions='learned', tags=0, qk_norm=False, norm='rms', norm_first=True, "
        "ffn='swiglu', ffn_width=342, pooling='mean', segments=1, gate=False, window=0, global_tokens=(0, -1), "
        "global_drawn=0, lexicon='none', lexicon_heads='all', lexicon_scaled=False, masked=True, dropout=0.2, "
        "norm_eps=0.0, embedding_width=128, embedding_norm=False, relative=0, relative_reach=128, head='none')"
    )
    assert repr(HardmaxConfig(9)) == (
        "HardmaxConfig(vocab_size=9, classes=2, max_length=128, width=2, layers=8, cleaning=True, training='softmax', "
        "training_temperature=0.001, tolerance=1e-12)"
    )
    assert repr(RecurrentConfig(9, 2)) == ("RecurrentConfig(vocab_size=9, classes=2, max_length=256, hidden=256, layers=2, dropout=0.2)")
    assert repr(ConvolutionalConfig(9, 2)) == (
        "ConvolutionalConfig(vocab_size=9, classes=2, max_length=256, filters=100, widths=(3, 4, 5), dropout=0.2)"
    )
    assert repr(EncoderConfig(9, 2).capabilities) == (
        "Capabilities(layers=2, heads=4, components=1, predicts=True, maps=True, softmax=True, lambdas=False, gate=False, "
        "tags=False, aware=False, lexicon=False, cls=False, last=False, pairs=False, pattern=False, silence=True, "
        "padded=False, extends=False, moving=False, dials=(), switches=(AdjustableTerm(term='mask', asks='what if the "
        "model also read the padding after the text?', tip='padding'),), scalars=(), replaces=('state', 'residual', "
        "'feedforward', 'head', 'value'))"
    )
    assert repr(EncoderConfig(9, 2, **rich).capabilities) == (
        "Capabilities(layers=2, heads=4, components=2, predicts=True, maps=True, softmax=True, lambdas=True, gate=True, "
        "tags=True, aware=True, lexicon=True, cls=True, last=False, pairs=True, pattern=True, silence=True, padded=True, "
        "extends=True, moving=False, dials=(AdjustableTerm(term='gate', asks='what if gates were open wider, or "
        "removed?', tip='gate'), AdjustableTerm(term='lexicon', asks='what if the lexicon were stronger, or removed?', "
        "tip='polarity'), AdjustableTerm(term='distance', asks='what if distance counted more, or not at all?', "
        "tip='distance-bias')), switches=(), scalars=('lambda', 'temperature', 'alpha', 'beta', 'gamma'), "
        "replaces=('state', 'residual', 'feedforward', 'head', 'value', 'component'))"
    )
    assert repr(HardmaxConfig(9).capabilities) == (
        "Capabilities(layers=8, heads=1, components=1, predicts=True, maps=True, softmax=False, lambdas=False, "
        "gate=False, tags=False, aware=False, lexicon=False, cls=False, last=False, pairs=False, pattern=False, "
        "silence=True, padded=False, extends=False, moving=True, dials=(), switches=(), scalars=('alpha',), replaces=())"
    )
    assert repr(RecurrentConfig(9, 2).capabilities) == (
        "Capabilities(layers=2, heads=1, components=1, predicts=True, maps=False, softmax=False, lambdas=False, "
        "gate=False, tags=False, aware=False, lexicon=False, cls=False, last=False, pairs=False, pattern=False, "
        "silence=False, padded=False, extends=True, moving=False, dials=(), switches=(), scalars=(), replaces=())"
    )
