"""SentiFormer's parts against loops written from its formulas: positions, gates, drawn globals; gates and signals of a sentence."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from sentviz.analysis.explain.leave_out import leaving_out
from sentviz.analysis.maps.arithmetic import cell
from sentviz.analysis.maps.gates import forced, gates, signals
from sentviz.data.parts_of_speech import TAGS
from sentviz.data.tags import Tagger
from sentviz.data.texts import TokenizedText, word_spans
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError, RunError
from sentviz.models import attention as at
from sentviz.models.batches import collate
from sentviz.models.encoder import AwarePositions, Encoder, _scrambled
from sentviz.models.model import Model
from sentviz.models.protocol import SHUT, Capture, Inputs, InterventionTensors
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.trace import Trace
from tests.charts import figure_of, stub
from tests.kit import LABELS, gated_model, randomise, refused, small_model

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


def test_positions_and_scores_are_those_of_loops() -> None:
    for width in [6, 7]:
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
    model = encoder(norm="none")
    assert not [name for name, _ in model.named_parameters() if "norm" in name]
    assert encoder().parameters_count() - model.parameters_count() == 3 * 2 * 2 * 16


def patterns(model: Encoder, batch: Inputs) -> list[list[list[int]]]:
    layers = []
    with torch.no_grad():
        out = model(batch, Capture(maps=False, projections=True))
    for layer in range(3):
        terms = out.captured[layer].terms
        assert terms is not None and terms.structure.pattern is not None
        places = terms.structure.pattern.globals
        layers.append([sorted(place for place in row if place >= 0) for row in places.expand(len(batch.ids), -1).tolist()])
    return layers


def test_drawn_globals_depend_on_length_and_layer_and_training_draws_anew() -> None:
    model, alone = encoder(), {n: patterns(encoder(), inputs(n, seed=n)) for n in (1, 2, 3, 20, 40, 63)}
    together = patterns(model, inputs(1, 2, 3, 20, 40, 63, seed=5))
    for text, n in enumerate(alone):
        for layer in range(3):
            places = together[layer][text]
            assert places == alone[n][layer][0] and len(set(places)) == len(places)
            assert {0, n - 1} <= set(places) <= set(range(n)) and len(places) <= 4
    assert len({tuple(alone[63][layer][0]) for layer in range(3)}) == 3, "each layer draws its own"
    lengths = torch.arange(1000, 3000)[:, None]
    for layer in range(6):
        shares = (_scrambled(lengths, layer, torch.arange(2)) % lengths).double() / lengths
        assert shares.mean(dim=0).numpy() == pytest.approx([0.5, 0.5], abs=0.03)
        assert shares.std(dim=0).numpy() == pytest.approx([12**-0.5] * 2, abs=0.02)
        assert abs(float(torch.corrcoef(shares.T)[0, 1])) < 0.08
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


def test_forced_gates_replace_the_term_in_every_layer() -> None:
    for window in [0, 4]:
        model, batch = encoder(window=window, global_drawn=0), inputs(20, 12)
        change = InterventionTensors(strength={"gate": 2.0}, gates_open=frozenset({3}), gates_shut=frozenset({5, 60}))
        with torch.no_grad():
            before, after, fused = (
                model(batch, Capture(scores=True)),
                model(batch, Capture(scores=True), change),
                model(batch, None, change),
            )
        torch.testing.assert_close(after.logits, fused.logits, rtol=0, atol=1e-4)
        assert after.attention is not None and before.attention is not None
        for layer in range(3):
            gate = after.captured[layer].biases["gate"][0, 0, 0, 0]
            assert gate[3] == 0 and gate[5] == SHUT and float(after.attention[layer, :, :, :, 5].abs().max()) == 0
        own = before.captured[0].biases["gate"][0, 0, 0, 0]
        torch.testing.assert_close(after.captured[0].biases["gate"][0, 0, 0, 0, :3], 2 * own[:3])


def test_a_model_reads_tags_and_its_gates_can_be_forced(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train_bpe([TEXT, "the plot was cold and clumsy", "soup and a lighthouse", "영화는 차갑다"] * 3, 300)
    size, tagger = tokenizer.vocab_size, Tagger.load()
    model = Model("toy/sentiformer", encoder(vocab_size=size, classes=2), tokenizer, LABELS, cls=True, tagger=tagger)
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
    trace = model.trace(TEXT, gates_open=[2], gates_shut=[4, 3])
    assert trace.change.gates_open == (2,) and trace.change.gates_shut == (3, 4)
    again = model.trace(TEXT, change=trace.change)
    np.testing.assert_allclose(again.logits, trace.logits, atol=1e-6)
    assert not np.allclose(model.trace(TEXT).logits, trace.logits, atol=1e-4)
    trace.replace(terms=()).save(tmp_path / "trace")
    stored = Trace.load(tmp_path / "trace")
    assert (stored.tags, stored.change) == (trace.tags, trace.change)
    n = len(model.encode(TEXT))
    plain = Model("toy/plain", encoder(vocab_size=size, classes=2, gate=False), tokenizer, LABELS, tagger=tagger)
    faults: list[tuple[Any, str]] = [
        (lambda: model.trace(TEXT, gates_shut=[n]), rf"no token {n + 1}\. The tokens are 1 to {n}"),
        (lambda: model.predict([TEXT], gates_open=[-1]), "There is no token 0"),
        (lambda: model.intervention(gates_open=[2], gates_shut=[2]), "token 3 cannot be both open and shut"),
        (lambda: plain.intervention(gates_shut=[1]), "toy/plain has no gates to open or shut"),
    ]
    for call, fault in faults:
        refused(InputError, fault, call)
    refused(RunError, "reads tags, and its tagger is missing", Model, "x", model.network, model.tokenizer, LABELS, cls=True)
    refused(ValueError, "Only aware positions read tags", EncoderConfig, 9, 2, tags=3)
    shapes: list[dict[str, Any]] = [{"positions": "aware"}, {"positions": "aware", "tags": 5}, {}]
    assert [EncoderConfig(9, 2, **shape).tags for shape in shapes] == [len(TAGS), 5, 0]


def test_the_pattern_counts_coinciding_globals_once() -> None:
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


@pytest.fixture(scope="module")
def model() -> Model:
    return gated_model()


def projected(model: Model, text: str = TEXT, **change: Any) -> Trace:
    return model.trace(text, maps=False, projections=True, **change)


def test_forced_gates_are_one_and_nought_and_a_cell_keeps_them(model: Model) -> None:
    plain = small_model(max_length=48)
    for ask, message in (
        (lambda: gates(model.trace(TEXT)), "has no projections"),
        (lambda: gates(projected(plain)), "toy/random has no gates"),
        (lambda: signals(plain, projected(plain)), "toy/random has only one position signal"),
    ):
        refused(InputError, message, ask)
    plain, changed = projected(model), projected(model, strength={"gate": 2.0}, gates_open=[3], gates_shut=[5])
    before, after = gates(plain), gates(changed)
    rest = [j for j in range(len(plain.tokens)) if j not in (3, 5)]
    np.testing.assert_allclose(after[0, rest], before[0, rest] ** 2, rtol=1e-5)
    assert (after[:, 3] == 1).all() and (after[:, 5] == 0).all()
    assert [(i, state) for i, state in enumerate(forced(changed)) if state] == [(3, "open"), (5, "shut")]
    change: dict[str, Any] = {"gates_shut": [4], "gates_open": [2]}
    with_maps, stored = (cell(model, trace, 1, 0, 3, 2) for trace in (projected(model, **change), model.trace(TEXT, **change)))
    assert with_maps.attention == pytest.approx(stored.attention, abs=1e-6)
    assert cell(model, model.trace(TEXT, gates_shut=[4]), 1, 0, 3, 4).attention == pytest.approx(0, abs=1e-6)
    assert with_maps.attention != pytest.approx(cell(model, model.trace(TEXT), 1, 0, 3, 2).attention, abs=1e-5)
    run = stub(capabilities=stub(tags=True), config={"tagger": {"version": Tagger.load().version}})
    trace = projected(model, "<b>warm</b> $x$ &amp; 영화는")
    for name in ("gates", "positions"):
        figure = figure_of(name, stub(trace=trace, model=model, run=run))
        assert "<b>" not in figure.plot.to_json().replace("\\u003c", "<")


@pytest.mark.parametrize("window", [0, 6, 500])
def test_gates_are_sigmoids_of_what_each_layer_reads(window: int) -> None:
    model = gated_model(window=window)
    trace = projected(model)
    computed = gates(trace)
    assert trace.hidden is not None and computed.shape == (3, len(trace.tokens))
    for layer in range(3):
        weight = model.network.blocks[layer].attention.gate.weight[0].double().tolist()  # type: ignore[index, union-attr]
        norm = model.network.blocks[layer].attention_norm  # type: ignore[index, union-attr]
        read = norm(torch.from_numpy(trace.hidden[layer].copy())).double().tolist()  # type: ignore[operator]
        for j, x in enumerate(read):
            assert computed[layer, j] == pytest.approx(1 / (1 + math.exp(-sum(a * b for a, b in zip(x, weight, strict=True)))), abs=1e-5)


def test_forced_gates_stay_with_their_tokens_where_words_are_left_out(model: Model) -> None:
    trace = projected(model, gates_shut=[4], gates_open=[7])
    reading = model.encode(TEXT).reading
    assert reading.tags is not None
    removed = [[1], [4], [5], [7], [2, 3, 9], []]
    got = leaving_out(model, trace, removed)
    for some, logits in zip(removed, got, strict=True):
        left = [i for i in range(len(reading)) if i not in some]
        ids, tags = (torch.tensor([[int(array[i]) for i in left]]) for array in (reading.ids, reading.tags))
        places = {i: left.index(i) for i in (4, 7) if i in left}
        change = InterventionTensors(
            gates_shut=frozenset({places[4]} if 4 in places else ()), gates_open=frozenset({places[7]} if 7 in places else ())
        )
        with torch.inference_mode():
            expected = model.network(Inputs(ids, tags=tags), change=change).logits[0].numpy()
        np.testing.assert_allclose(logits, expected, atol=2e-5)
    assert np.abs(got[0] - leaving_out(model, projected(model), [[1]])[0]).max() > 1e-4


def test_signals_are_the_lengths_of_a_loop() -> None:
    model = gated_model(seed=3)
    network, trace = model.network, projected(model)
    lengths = signals(model, trace)
    aware = network.aware  # type: ignore[union-attr]
    alpha, beta, gamma = (float(getattr(aware, name)) for name in ("alpha", "beta", "gamma"))
    assert lengths.weights == pytest.approx({"alpha": alpha, "beta": beta, "gamma": gamma})
    encoded = model.encode(TEXT)
    n = len(encoded)
    assert encoded.tags is not None
    for i, (tag, token) in enumerate(zip(encoded.tags.tolist(), encoded.ids.tolist(), strict=True)):
        parts: dict[str, list[float]] = {"sinusoid": [], "recency": [], "tag": []}
        for c in range(8):
            angle = i / 10000 ** ((c // 2 * 2) / 8)
            parts["sinusoid"].append(alpha * (math.sin(angle) if c % 2 == 0 else math.cos(angle)))
            parts["recency"].append(beta * (math.sin(math.pi * i / n) if c % 2 == 0 else math.cos(math.pi * i / n)))
            parts["tag"].append(gamma * float(aware.tags.weight[tag, c]))  # type: ignore[union-attr, index]
        for name, values in parts.items():
            assert lengths.parts[name][i] == pytest.approx(math.hypot(*values), abs=1e-5)
        assert lengths.total[i] == pytest.approx(math.hypot(*(sum(each) for each in zip(*parts.values(), strict=True))), abs=1e-5)
        word = [float(value) * math.sqrt(8) for value in network.table[token]]
        assert lengths.word[i] == pytest.approx(math.hypot(*word), abs=1e-4)
    assert lengths.parts["sinusoid"][0] == pytest.approx(abs(alpha) * 2, abs=1e-5)
