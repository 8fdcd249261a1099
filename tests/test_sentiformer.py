"""SentiFormer's parts against loops written from its formulas: positions, gates, drawn globals; tags on their way; forced gates."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sentviz.data.parts_of_speech import TAGS
from sentviz.data.tags import Tagger
from sentviz.data.texts import TokenizedText, word_spans
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError, RunError
from sentviz.models import attention as at
from sentviz.models.batches import collate
from sentviz.models.encoder import AwarePositions, Encoder
from sentviz.models.model import Model
from sentviz.models.protocol import SHUT, Capture, Inputs, InterventionTensors
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.trace import Trace
from tests.kit import LABELS, randomise

TEXT = "What a warm garden, and not a dull song!"
FORM: dict[str, Any] = {"width": 16, "layers": 3, "heads": 2, "ffn": "relu", "ffn_width": 24, "norm": "layer", "norm_first": False}
FORM |= {"pooling": "cls", "positions": "aware", "gate": True, "window": 4, "global_drawn": 2, "dropout": 0.0}


def encoder(**changes: Any) -> Encoder:
    torch.manual_seed(0)
    return randomise(Encoder(EncoderConfig(**{"vocab_size": 50, "classes": 3, "max_length": 64} | FORM | changes)))


def inputs(*lengths: int, width: int = 0, seed: int = 0) -> Inputs:
    """Return random tokens with random tags, padded to `width` or to the longest."""
    rng = np.random.default_rng(seed)
    rows = [TokenizedText(rng.integers(4, 50, n), tags=rng.integers(0, len(TAGS), n)) for n in lengths]
    batch = collate([*rows, TokenizedText(np.zeros(width, dtype=np.int64), tags=np.zeros(width, dtype=np.int64))] if width else rows)
    if not width:
        return batch
    assert batch.mask is not None and batch.tags is not None
    return Inputs(batch.ids[:-1], batch.mask[:-1], tags=batch.tags[:-1])


@pytest.mark.parametrize("width", [6, 7])
def test_positions_are_those_of_a_loop(width: int) -> None:
    """Positions are alpha sin(i) + beta (sin(pi i/n), cos(pi i/n)) tiled to d + gamma E_pos, with n of the unpadded text."""
    torch.manual_seed(1)
    fresh, plain = (Encoder(EncoderConfig(9, 2, 12, width=8, positions=each)) for each in ("aware", "learned"))
    assert [tuple(scalar) for scalar in fresh.scalars()] == [(name, -1, -1, 1.0) for name in ("alpha", "beta", "gamma")]
    assert not [*plain.scalars()]
    module, batch = AwarePositions(EncoderConfig(9, 2, 12, width=width, heads=1, positions="aware")), inputs(9, 4, 1)
    with torch.no_grad():
        module.alpha.fill_(0.7), module.beta.fill_(-1.3), module.gamma.fill_(2.1)
        got = module(batch).numpy()
    assert batch.tags is not None
    for text, n in enumerate((9, 4, 1)):
        for i in range(n):
            recency = (math.sin(math.pi * i / n), math.cos(math.pi * i / n))
            for c in range(width):
                angle = i / 10000 ** ((c // 2 * 2) / width)
                sinusoid = math.sin(angle) if c % 2 == 0 else math.cos(angle)
                tag = module.tags.weight[batch.tags[text, i], c].item()
                assert got[text, i, c] == pytest.approx(0.7 * sinusoid - 1.3 * recency[c % 2] + 2.1 * tag, abs=1e-5)


def test_scores_hold_the_gate_of_each_key() -> None:
    """Scores are e_ij = q_i k_j / sqrt(d_k) + log sigmoid(x_j W_g), with x the layer's input."""
    model = encoder()
    with torch.no_grad():
        out = model(inputs(9), Capture(scores=True, projections=True))
    for layer, block in enumerate(model.blocks):
        seen = out.captured[layer]
        assert seen.scores is not None and seen.queries is not None and seen.keys is not None
        x, weight = out.hidden[layer][0].double(), block.attention.gate.weight[0].detach().double()  # type: ignore[union-attr]
        for h, i, j in np.ndindex(2, 9, 9):
            product = float(seen.queries[0, 0, h, i].double() @ seen.keys[0, 0, h, j].double()) / math.sqrt(8)
            gate = math.log(1 / (1 + math.exp(-float(x[j] @ weight))))
            assert seen.scores[0, 0, h, i, j].item() == pytest.approx(product + gate, abs=1e-4)


def patterns(model: Encoder, batch: Inputs) -> list[list[list[int]]]:
    """Return the global tokens of each layer and text."""
    layers = []
    with torch.no_grad():
        out = model(batch, Capture(maps=False, projections=True))
    for layer in range(3):
        terms = out.captured[layer].terms
        assert terms is not None and terms.structure.pattern is not None
        places = terms.structure.pattern.globals
        layers.append([sorted(place for place in row if place >= 0) for row in places.expand(len(batch.ids), -1).tolist()])
    return layers


def test_drawn_globals_depend_on_length_and_layer_only() -> None:
    model, alone = encoder(), {n: patterns(encoder(), inputs(n, seed=n)) for n in (1, 2, 3, 20, 40, 63)}
    together = patterns(model, inputs(1, 2, 3, 20, 40, 63, seed=5))
    for text, n in enumerate(alone):
        for layer in range(3):
            places = together[layer][text]
            assert places == alone[n][layer][0] and len(set(places)) == len(places)
            assert {0, n - 1} <= set(places) <= set(range(n)) and len(places) <= 4
    assert len({tuple(alone[63][layer][0]) for layer in range(3)}) == 3, "each layer draws its own"


def test_drawn_globals_are_spread_over_the_text() -> None:
    """Over 2,000 lengths the drawn places have the mean and the deviation of a uniform draw."""
    from sentviz.models.encoder import _scrambled

    lengths = torch.arange(1000, 3000)[:, None]
    for layer in range(6):
        shares = (_scrambled(lengths, layer, torch.arange(2)) % lengths).double() / lengths
        assert shares.mean(dim=0).numpy() == pytest.approx([0.5, 0.5], abs=0.03)
        assert shares.std(dim=0).numpy() == pytest.approx([12**-0.5] * 2, abs=0.02)
        assert abs(float(torch.corrcoef(shares.T)[0, 1])) < 0.08


def test_globals_are_drawn_anew_at_each_step_of_training() -> None:
    """A model without drawn globals draws no random number."""
    model, batch = encoder().train(), inputs(40, 60)
    torch.manual_seed(3)
    first, second = patterns(model, batch), patterns(model, batch)
    torch.manual_seed(3)
    assert patterns(model, batch) == first != second
    assert all({0, n - 1} <= set(first[layer][text]) <= set(range(n)) for layer in range(3) for text, n in enumerate((40, 60)))
    without = encoder(global_drawn=0).train()
    before = torch.get_rng_state()
    without(inputs(9, 5))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(("window", "lengths"), [(1, (33, 12, 1)), (4, (40, 40)), (6, (33, 12, 1)), (64, (5, 3))])
def test_the_band_is_the_dense_map(window: int, lengths: tuple[int, ...]) -> None:
    """Logits and gradients of the banded path equal those through complete maps."""
    model, batch = encoder(window=window, global_tokens=(0, -1, 1, 0)), inputs(*lengths)
    banded, dense = model(batch), model(batch, Capture())
    torch.testing.assert_close(banded.logits, dense.logits, rtol=0, atol=2e-5)
    weight = model.embedding.weight
    band_gradient, two = (torch.autograd.grad(out.logits.square().sum(), weight)[0] for out in (banded, dense))
    torch.testing.assert_close(band_gradient, two, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("changes", [{}, {"positions": "sinusoid"}, {"gate": False}, {"window": 0, "global_drawn": 0}, {"norm": "none"}])
def test_padding_changes_nothing(changes: dict[str, Any]) -> None:
    model = encoder(**changes)
    with torch.no_grad():
        if changes.get("norm") == "none":  # nothing holds random weights in check
            for parameter in model.parameters():
                parameter.mul_(0.3)
        for n in (1, 7, 30):
            alone, padded = model(inputs(n, seed=n)).logits, model(inputs(n, width=45, seed=n)).logits
            torch.testing.assert_close(alone, padded, rtol=0, atol=2e-5)


def test_without_a_norm_nothing_is_normalised() -> None:
    model = encoder(norm="none")
    assert not [name for name, _ in model.named_parameters() if "norm" in name]
    assert encoder().parameters_count() - model.parameters_count() == 3 * 2 * 2 * 16


# ---- gates opened and shut


@pytest.mark.parametrize("window", [0, 4])
def test_forced_gates_replace_the_term_in_every_layer(window: int) -> None:
    model, batch = encoder(window=window, global_drawn=0), inputs(20, 12)
    change = InterventionTensors(strength={"gate": 2.0}, gates_open=frozenset({3}), gates_shut=frozenset({5, 60}))
    with torch.no_grad():
        before, after, fused = model(batch, Capture(scores=True)), model(batch, Capture(scores=True), change), model(batch, None, change)
    torch.testing.assert_close(after.logits, fused.logits, rtol=0, atol=1e-4)
    assert after.attention is not None and before.attention is not None
    for layer in range(3):
        gate = after.captured[layer].biases["gate"][0, 0, 0, 0]
        assert gate[3] == 0 and gate[5] == SHUT
        assert float(after.attention[layer, :, :, :, 5].abs().max()) == 0
    own = before.captured[0].biases["gate"][0, 0, 0, 0]
    torch.testing.assert_close(after.captured[0].biases["gate"][0, 0, 0, 0, :3], 2 * own[:3])


@pytest.fixture(scope="module")
def model() -> Model:
    texts = [TEXT, "the plot was cold and clumsy", "soup and a lighthouse", "영화는 차갑다"] * 3
    tokenizer = Tokenizer.train_bpe(texts, 300)
    network = encoder(vocab_size=tokenizer.vocab_size, classes=2)
    return Model("toy/sentiformer", network, tokenizer, LABELS, cls=True, tagger=Tagger.load())


def test_a_model_reads_tags_wherever_a_text_comes_from(model: Model) -> None:
    import pandas as pd

    texts = [TEXT, "soup", "영화는 cold"]
    frame = model.predict(texts)
    rows = model.read(pd.DataFrame({"text": texts}))
    for text, row in zip(texts, rows, strict=True):
        encoded, trace = model.encode(text), model.trace(text)
        assert encoded.tags is not None and row.tags is not None
        np.testing.assert_array_equal(encoded.tags, row.tags)
        assert trace.tags == tuple(TAGS[tag] for tag in encoded.tags) and trace.tags[0] == trace.tags[-1] == ""
        expected = frame.loc[frame["text"] == text, list(LABELS)].to_numpy()[0]
        np.testing.assert_allclose(trace.probabilities, expected, atol=1e-5)
    assert set(model.trace("영화는 차갑다").tags) == {"", "X"}
    tokens = model.trace(TEXT)
    words = word_spans(TEXT, tokens)
    assert {word.text: tokens.tags[word.indices[0]] for word in words}["warm"] == "ADJ"


def test_a_trace_carries_tags_and_forced_gates(model: Model, tmp_path: Path) -> None:
    trace = model.trace(TEXT, gates_open=[2], gates_shut=[4, 3])
    assert trace.change.gates_open == (2,) and trace.change.gates_shut == (3, 4)
    again = model.trace(TEXT, change=trace.change)
    np.testing.assert_allclose(again.logits, trace.logits, atol=1e-6)
    assert not np.allclose(model.trace(TEXT).logits, trace.logits, atol=1e-4)
    trace.replace(terms=()).save(tmp_path / "trace")
    stored = Trace.load(tmp_path / "trace")
    assert (stored.tags, stored.change) == (trace.tags, trace.change)


def test_gates_that_cannot_be_changed_are_one_sentence(model: Model) -> None:
    n = len(model.encode(TEXT))
    plain = Model(
        "toy/plain", encoder(vocab_size=model.tokenizer.vocab_size, classes=2, gate=False), model.tokenizer, LABELS, tagger=model.tagger
    )
    faults: list[tuple[Any, str]] = [
        (lambda: model.trace(TEXT, gates_shut=[n]), rf"no token {n + 1}\. The tokens are 1 to {n}"),
        (lambda: model.predict([TEXT], gates_open=[-1]), "There is no token 0"),
        (lambda: model.intervention(gates_open=[2], gates_shut=[2]), "token 3 cannot be both open and shut"),
        (lambda: plain.intervention(gates_shut=[1]), "toy/plain has no gates to open or shut"),
    ]
    for call, fault in faults:
        with pytest.raises(InputError, match=fault):
            call()
    with pytest.raises(RunError, match="reads tags, and its tagger is missing"):
        Model("x", model.network, model.tokenizer, LABELS, cls=True)
    with pytest.raises(ValueError, match="Only aware positions read tags"):
        EncoderConfig(9, 2, tags=3)
    shapes: list[dict[str, Any]] = [{"positions": "aware"}, {"positions": "aware", "tags": 5}, {}]
    assert [EncoderConfig(9, 2, **shape).tags for shape in shapes] == [len(TAGS), 5, 0]


def test_the_pattern_counts_coinciding_globals_once() -> None:
    """Global tokens that coincide or lie in the window count once, in the banded and the dense backend."""
    torch.manual_seed(2)
    q, k, v = (torch.randn(1, *((1,) if i < 2 else ()), 2, 41, 8) for i in range(3))
    for places in ([0, 40, -1, -1], [0, 1, 2, 40], [0, 20, 21, 40]):
        structure = at.ScoreModifiers(pattern=at.Pattern(4, torch.tensor([places])))
        got = at.attend(q, k, v, torch.ones(1), 0.3, structure)
        place = torch.arange(41)
        weights = at.maps(at.scores(q, k, 0.3, structure), at.visible(structure, place, place))
        torch.testing.assert_close(got, weights[:, 0] @ v, rtol=0, atol=2e-6)
        for i in range(41):
            seen = {j for j in range(41) if abs(i - j) <= 2} | {place for place in places if place >= 0}
            assert set(torch.nonzero(weights[0, 0, 0, i]).flatten().tolist()) == seen
