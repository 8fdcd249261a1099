"""Directions between the sides of a model: found in a made-up model, taken away, added, against plain loops and forward hooks."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from sentviz.analysis.causal.direction_tables import along, correlations
from sentviz.analysis.causal.directions import EVERY, WAYS, Directions, directions, leace, too_few_for_leace
from sentviz.analysis.causal.probes import _classes, _measured, _random_classes, _scopes, probe
from sentviz.analysis.causal.states import Texts, halves, moved_sides, places, poles, states
from sentviz.errors import InputError
from sentviz.models.model import Model
from sentviz.models.protocol import Shift
from tests.kit import BAD, GOOD, LABELS, hook, random_model, refused, small_model, toy_splits

ROWS = pd.concat([split.frame for split in toy_splits().values()], ignore_index=True)
RANDOM = {
    "ndt": small_model(1, components=2, mixing="unit", layers=3, labels=LABELS),
    "post-norm": small_model(2, layers=3, norm_first=False, norm="layer", ffn="gelu", pooling="cls", cls=True, labels=LABELS),
}


def drawn_texts(number: int) -> pd.DataFrame:
    """Return texts of four words without a sign and two of one side, in random order, then a full stop."""
    rng, neutral = np.random.default_rng(0), ["the", "was", "and", "garden", "song", "soup", "what", "saw", "lighthouse"]
    words = [[*rng.choice(neutral, 4), *rng.choice((BAD, GOOD)[i % 2], 2)] for i in range(number)]
    return pd.DataFrame({"text": [" ".join([*rng.permutation(row), "!"]) for row in words], "label": np.arange(number) % 2})


def made_up() -> Model:
    """Return a model whose words carry their sign along the axis 0, the only one that it reads. Its blocks add nothing."""
    torch.manual_seed(0)
    model = small_model(0, labels=LABELS, width=16, norm="none", positions="none")
    network: Any = model.network
    with torch.no_grad():
        network.embedding.weight.normal_(0, 0.1)
        for sign, words in ((1, GOOD), (-1, BAD)):
            for word in words:
                network.embedding.weight[model.tokenizer.id_of(word), 0] = float(sign)
        for layer in (network.classifier, *(part for block in network.blocks for part in (block.attention.output, block.ffn.down))):
            layer.weight.zero_()
            layer.bias.zero_()
        network.classifier.weight[:, 0] = torch.tensor([-1.0, 1.0])
    return model


MADE_UP = made_up()
FOUND = directions(MADE_UP, drawn_texts(240), fit=160, sample=80)


def test_directions_are_found_on_balanced_samples() -> None:
    x, side = FOUND.rows[1], FOUND.fitted.side
    slow = np.zeros(16)
    for row, of in zip(x, side, strict=True):
        slow += row / (side == of).sum() * (1 if of else -1)
    for way in WAYS:
        for depth in FOUND.depths:
            assert FOUND.at(way, depth) @ slow / np.linalg.norm(slow) > 0.9, (way, depth)
            assert np.linalg.norm(FOUND.at(way, depth)) == pytest.approx(1)
            assert FOUND.separated(way, depth) == 1
    assert (FOUND.cosines(1).to_numpy() > 0.85).all() and np.allclose(FOUND.cosines(1), FOUND.cosines(1).T)
    assert FOUND.projected("difference", 2)[FOUND.measured.side == 1].mean() == pytest.approx(1, abs=0.1)
    labels = ("negative", "neutral", "positive", "very positive")
    frame = ROWS.assign(label=np.resize([0, 1, 2, 3, -1], len(ROWS)))
    frame.loc[0, "text"] = "  "
    first, second = halves(small_model(3, labels=labels), frame, 60, 40, 0)
    assert poles(labels, "m").tolist() == [0, -1, 1, 1] and len(first) > len(second)
    assert not set(first.texts) & set(second.texts) and "  " not in first.texts
    assert all(texts.side.sum() * 2 == len(texts) for texts in (first, second))
    of = dict(zip(frame["text"], frame["label"], strict=True))
    assert {of[text] for text in first.texts + second.texts} == {0, 2, 3}


def test_removal_falls_to_chance_and_leace_needs_ten_rows_per_dimension() -> None:
    texts = Texts.of(MADE_UP, drawn_texts(159), drawn_texts(159)["label"].to_numpy())
    few = Directions(MADE_UP, texts, FOUND.measured, FOUND.rows[:, :159], FOUND.measured_rows, 0)
    assert too_few_for_leace(160, 16) == "" and "at least 10 rows for each of the 16 dimensions" in too_few_for_leace(159, 16)
    refused(InputError, "found on 159 rows", few.erase, "leace", 1)
    assert set(few.removal([2], ("leace", "random"), ("all",), random=2)["name"]) == {"unchanged", "random"}
    table: Any = FOUND.removal([2], ("difference", "leace", "random"), ("all", "punctuation"), random=2)
    table = table.set_index(["measure", "depth", "name", "place"])
    for way in ("difference", "leace"):
        value, low, high, n = table.loc[("accuracy", 2, way, "all")]
        lost = table.loc[("lost", 2, way, "all")]
        assert value < 0.65 and low < 0.5 < high + 0.15 and n == 80
        assert lost["value"] == pytest.approx((1 - value) / 0.5) and lost["low"] <= lost["value"] <= lost["high"]
    assert table.loc[("accuracy", 2, "random", "all"), "low"] > 0.95 < table.loc[("accuracy", 2, "difference", "punctuation"), "value"]
    assert table.loc[("accuracy", EVERY, "unchanged", "all"), "value"] == 1 and FOUND.sides == LABELS and FOUND.some_depths == [0, 1, 2]


def test_leace_is_the_closed_form_and_leaves_no_linear_trace() -> None:
    """The rank-one form equals the projection with the root of the covariance; erased rows have no covariance with the side."""
    from sklearn.covariance import ledoit_wolf

    rng = np.random.default_rng(0)
    side = np.arange(60) % 2
    x = rng.normal(size=(60, 6)) @ rng.normal(size=(6, 6)) + 2.0 * side[:, None] * rng.normal(size=6)
    by, reads = leace(x, side)
    values, vectors = np.linalg.eigh(ledoit_wolf(x)[0])
    root, whiten = (vectors * values**0.5) @ vectors.T, (vectors * values**-0.5) @ vectors.T
    cross = sum((row - x.mean(axis=0)) * (of - 0.5) for row, of in zip(x, side, strict=True))[:, None] / 60
    white = whiten @ cross
    projection = root @ (white @ np.linalg.pinv(white)) @ whiten
    np.testing.assert_allclose(np.outer(by, reads), projection, atol=1e-9)
    erased = x - np.outer((x - x.mean(axis=0)) @ reads, by)
    for column in erased.T:
        assert sum(column[i] * (side[i] - 0.5) for i in range(60)) == pytest.approx(0, abs=1e-8)
    assert reads @ by == pytest.approx(1)
    u = by / np.linalg.norm(by)
    projected = x - np.outer((x - x.mean(axis=0)) @ u, u)
    size = np.linalg.inv(ledoit_wolf(x)[0])
    assert np.einsum("ni,ij,nj", x - erased, size, x - erased) <= np.einsum("ni,ij,nj", x - projected, size, x - projected) + 1e-9


@pytest.mark.parametrize("name", RANDOM)
def test_moves_are_those_of_plain_hooks(name: str) -> None:
    model = RANDOM[name]
    computed = directions(model, ROWS, fit=60, sample=40)
    masks = places(computed.measured)["function"]
    single, every = {2: computed.erase("difference", 2)}, {depth: computed.erase("pca", depth) for depth in computed.depths}
    moved = moved_sides(model, computed.measured, {"one": single, "every": every}, {"one": masks, "every": None})
    for key, shifts, chosen in (("one", single, masks), ("every", every, [np.ones(len(mask), dtype=bool) for mask in masks])):
        texts = computed.measured.texts[:10]
        gaps = np.array([np.diff(_hooked(model, text, shifts, mask))[0] for text, mask in zip(texts, chosen, strict=False)])
        clear = np.abs(gaps) > 1e-5
        assert clear.sum() > 7 and (moved[key][:10][clear] == (gaps[clear] > 0)).all(), key
    hidden = model.trace(computed.measured.texts[3]).hidden
    np.testing.assert_allclose(computed.measured_rows[2, 3], hidden[2].mean(axis=0), atol=1e-5)
    last = hidden[3][0] if model.capabilities.cls else hidden[3].mean(axis=0)
    np.testing.assert_allclose(computed.measured_rows[3, 3], last, atol=1e-5)


def _hooked(model: Model, text: str, shifts: dict[int, Shift], mask: Any) -> Any:
    """Return the logits of a text in a pass with a hook on each moved block."""
    network: Any = model.network

    def moved(shift: Shift, x: Tensor) -> Tensor:
        for i in np.flatnonzero(mask[: x.shape[1]]):
            x[0, i] = x[0, i] + (shift.goal - float(x[0, i] @ shift.along)) * shift.by
        return x

    with ExitStack() as stack:
        for depth, shift in shifts.items():
            if depth < len(network.blocks):
                stack.enter_context(hook(network.blocks[depth], partial(moved, shift), before=True))
            else:
                last = network.blocks[-1].register_forward_hook(lambda _, __, out, shift=shift: (moved(shift, out[0].clone()), out[1]))
                stack.callback(last.remove)
        return model.trace(text).logits


def test_steering_is_an_added_vector() -> None:
    model, text = RANDOM["ndt"], "a warm garden and a dull song"
    computed = directions(model, ROWS, fit=60, sample=40)
    network: Any = model.network
    u = torch.from_numpy(computed.at("difference", 1)).float()
    for norm, row in zip((-0.5, 0, 2.0), computed.steer(text, 1, [-0.5, 0, 2.0]).to_dict("records"), strict=True):
        with hook(network.blocks[1], partial(torch.add, norm * u), before=True):
            trace = model.trace(text)
        assert [row[label] for label in LABELS] == pytest.approx(trace.probabilities.tolist(), abs=1e-5)
        assert row["label"] == trace.label and row["share"] == pytest.approx(abs(norm) / computed.norms[1])
    push = FOUND.apart("difference", 0)
    assert FOUND.steer("a dull song", 0, [-push, 2 * push])["label"].tolist() == ["negative", "positive"]
    model = RANDOM["ndt"]
    texts = Texts.of(model, ROWS[:9], np.zeros(9, dtype=np.int64))
    chosen = [np.array([i % 3, 2][: 1 + i % 2]) for i in range(9)]
    _, token_states = states(model, texts, chosen, [1])
    slow = np.concatenate([model.trace(text).hidden[1][of] for text, of in zip(texts.texts, chosen, strict=True)])  # type: ignore[index]
    np.testing.assert_allclose(token_states[1], slow, atol=1e-5)


def test_places_and_labels_of_probes_and_bad_input() -> None:
    texts = Texts.of(MADE_UP, pd.DataFrame({"text": ["the garden was warm, dull and clever!"]}), np.zeros(1, dtype=np.int64))
    tokens = texts.encoded[0].tokens
    named = {name: [token for token, chosen in zip(tokens, masks[0], strict=True) if chosen] for name, masks in places(texts).items()}
    assert named == {"all": list(tokens), "function": ["the", "was", "and"], "punctuation": [",", "!"], "first": ["the"]}
    text = "not warm and bright , never dull but a warm song"
    model = small_model(0)
    texts = Texts.of(model, pd.DataFrame({"text": [text]}), np.zeros(1, dtype=np.int64))
    labels, words = _scopes(texts)[0]
    assert words == ["not", "warm", "and", "bright", "", "never", "dull", "but", "a", "warm", "song"]
    assert labels.tolist() == [-1, 1, 1, 1, -1, -1, 1, 0, 0, 0, 0]
    of_word = _random_classes(np.array([3] * 30 + [7] * 10), 0)
    drawn = np.array([of_word(f"w{i}") for i in range(2_000)])
    assert set(drawn.tolist()) == {3, 7} and (drawn == 3).mean() == pytest.approx(0.75, abs=0.03) and of_word("A") == of_word("a")
    assert (_classes(texts)[0][0] >= 0).all()
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: directions(MADE_UP, ROWS[ROWS["label"] == 1]), "at least 20 rows of both sides, but the sample has 0 of negative"),
        (lambda: directions(MADE_UP, ROWS.assign(label=-1)), "0 of negative and 0 of positive"),
        (lambda: directions(random_model(4), ROWS), "directions need a transformer"),
        (lambda: directions(small_model(labels=("left", "middle", "right")), ROWS), "have no negative and no positive side"),
        (lambda: FOUND.steer("a warm song", 1, [0, -1e9]), "too long to be added"),
        (lambda: FOUND.at("svd", 1), "no direction 'svd'"),
        (lambda: FOUND.steer("a warm song", 3, [1]), "no depth 3"),
        (lambda: FOUND.removal([7]), "no depth 7"),
        (lambda: FOUND.removal(where=["nouns"]), "no place 'nouns'"),
        (lambda: along(FOUND, [1], ["xyzzy"]), "knows none of these words"),
        (lambda: FOUND.steer(" ", 1, [1]), "[Tt]ext"),
    ]
    for call, why in cases:
        refused(InputError, why, call)


def test_a_probe_reads_what_is_there_and_its_control_does_not() -> None:
    table: Any = probe(FOUND, [0, 2]).set_index(["name", "depth", "place"])
    assert table.loc[("sentiment", 0, "task"), "value"] == 1
    for depth in (0, 2):
        task, control, gap = (table.loc[("sentiment", depth, kind), "value"] for kind in ("task", "control", "selectivity"))
        assert gap == pytest.approx(task - control) and gap > 0.2
    rng = np.random.default_rng(0)
    x, labels = [rng.normal(size=(200, 4)) for _ in range(2)], [rng.integers(0, 2, 200) for _ in range(2)]
    x[0][:, 0] += 6 * labels[0]
    x[1][:, 0] += 6 * labels[1]
    rows = _measured("t", 0, x, labels, [rng.permutation(part) for part in labels], np.repeat(np.arange(50), 4), 0)
    values = {kind: (value, low, high) for _, _, _, kind, value, low, high, _ in rows}
    assert values["task"][0] > 0.98 and values["control"][0] < 0.6


def test_words_lie_along_the_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    import sentviz.analysis.causal.direction_tables as module

    polarity = {word: value for words, value in ((GOOD, 2.0), (BAD, -2.0)) for word in words} | {"song": 0.5, "soup": -0.5}
    monkeypatch.setattr(module, "polarities", lambda: polarity)
    monkeypatch.setattr(module, "LEAST", 5)
    frame: Any = along(FOUND, [0, 1], [*GOOD, *BAD, "song", "soup", "xyzzy"])
    assert set(frame["word"]) == {*GOOD, *BAD, "song", "soup"} and len(frame) == 24
    values: Any = frame[frame["depth"] == 1].set_index("word")["value"]
    assert values[list(GOOD)].min() > values["song"] > values[list(BAD)].max()
    hidden = MADE_UP.trace("warm").hidden
    x, u, side = FOUND.rows[1], FOUND.at("difference", 1), FOUND.fitted.side
    ends = [float(np.mean([row @ u for row, of in zip(x, side, strict=True) if of == each])) for each in (0, 1)]
    assert values["warm"] == pytest.approx((hidden[1].mean(axis=0) @ u - sum(ends) / 2) / ((ends[1] - ends[0]) / 2), abs=1e-4)
    rho: Any = correlations(frame).set_index("depth")
    part = frame[frame["depth"] == 1]
    assert rho.loc[1, "value"] == pytest.approx(part["value"].corr(part["polarity"], method="spearman")) and rho.loc[1, "n"] == 12
    assert correlations(frame[frame["polarity"] == 2.0]).empty
