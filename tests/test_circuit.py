"""Interventions as data and text, averages over minimal pairs, circuits, and scores beside effects of patching."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file
from scipy.stats import spearmanr

from sentviz.analysis.causal import agreement
from sentviz.analysis.causal.average import averages, places, ratio
from sentviz.analysis.causal.circuit import circuit, losses_of_pair
from sentviz.analysis.causal.patching import patch
from sentviz.analysis.explain.leave_out import words
from sentviz.data.behaviour import PAIRS, minimal_pairs
from sentviz.errors import InputError
from sentviz.runs.configs import GATE, MASK, Capabilities
from sentviz.runs.intervention import AXES, MOST_EDITS, UNCHANGED, Edit, Intervention, Taken, read_change
from sentviz.runs.target import log_odds
from sentviz.runs.trace import Trace
from tests.kit import LABELS, gated_model, hook, random_model, refused, small_model, toy_splits

MODEL = small_model(1, components=2, mixing="unit", layers=2)
SWAP = {"warm": "dull", "clever": "cold", "a": "the"}


def swapped(count: int = 12) -> list[tuple[str, str]]:
    """Return sentences of the made-up set, each with one word exchanged."""
    pairs = []
    for text in toy_splits()["train"].frame["text"]:
        words = text.split()
        at = next((i for i, word in enumerate(words) if word in SWAP), None)
        if at is not None:
            pairs.append((text, " ".join([*words[:at], SWAP[words[at]], *words[at + 1 :]])))
    return list(dict.fromkeys(pairs))[:count]


def test_pairs_places_and_ratios_are_those_by_hand() -> None:
    for kind in PAIRS:
        english = minimal_pairs(kind, count=8)
        assert len(english) == 8 and english == minimal_pairs(kind, count=8) and english != minimal_pairs(kind, count=8, seed=1)
        assert all(1 <= sum(a != b for a, b in zip(first.split(), second.split(), strict=True)) <= 2 for first, second in english)
        assert all(a != b for a, b in minimal_pairs(kind, "ko", count=8))
    for wrong, count, reason in ((("verb",), 4, "not 'verb'"), (("name", "fr"), 4, "in the language"), (("name", "en"), 1, "2 to 200")):
        refused(InputError, reason, minimal_pairs, *wrong, count=count)
    pair = patch(MODEL, "a warm garden and a clever song", "a dull garden and a clever song")
    by_place = {name: tokens.tolist() for name, tokens in places(pair).items()}
    assert by_place == {"first token": [], "before": [0], "changed": [1], "next": [2], "after": [3, 4, 5, 6], "end": []}
    longer = patch(MODEL, "a warm garden", "a warm cold garden")
    assert places(longer)["changed"].tolist() == [1]
    share, low, high = ratio(np.array([[1.0, np.nan], [2.0, 1.0]]), np.array([2.0, 4.0]), 0)
    np.testing.assert_allclose(share, [0.5, 0.25])
    np.testing.assert_allclose([low[0], high[0]], 0.5)


def test_averages_are_sums_over_pairs_of_passes_of_their_own() -> None:
    pairs = swapped(4)
    results, patched = averages(MODEL, pairs, ("state", "head")), [patch(MODEL, *pair) for pair in pairs]
    scales = [abs(pair.goal - pair.start) for pair in patched]
    top_head = top_next = bottom_next = 0.0
    for pair, scale in zip(patched, scales, strict=True):
        every = [i for i, j in enumerate(pair.partners) if j is not None]
        top_head += pair.joint([pair.edit("head", (1, 0, i)) for i in every]).share * scale
        if len(at := places(pair)["next"]):
            top_next += pair.joint([pair.edit("state", (1, int(i))) for i in at]).share * scale
            bottom_next += scale
    assert results["head"].share[1, 0] == pytest.approx(top_head / sum(scales), abs=1e-4)
    assert results["state"].share[1, 3] == pytest.approx(top_next / bottom_next, abs=1e-4)
    for result in results.values():
        some = np.isfinite(result.share)
        assert (result.low[some] <= result.share[some] + 1e-9).all() and (result.share[some] <= result.high[some] + 1e-9).all()
        assert result.pairs + result.left_out == len(pairs) and len(result.frame) == result.share.size
    assert results["state"].share[0, 2] == pytest.approx(1, abs=1e-4)  # the embedding of the changed word is the complete change


def test_circuits_and_losses_are_those_of_interventions() -> None:
    pair = patch(MODEL, *swapped()[0])
    outside = np.random.default_rng(0).random((7, 2, 3)) < 0.5
    outside[0], outside[1] = False, True
    losses = losses_of_pair(pair, outside)
    for row, loss in zip(outside, losses, strict=True):
        edits = []
        for i, j in enumerate(pair.partners):
            if j is not None:
                edits += [Edit("head", (layer, h, i), to=Taken(j)) for layer in range(2) for h in range(2) if row[layer, h]]
                edits += [Edit("feedforward", (layer, i), to=Taken(j)) for layer in range(2) if row[layer, 2]]
        change = Intervention(tuple(edits), (pair.second.text, None)) if edits else Intervention()
        odds = float(log_odds(MODEL.trace(pair.first.text, change=change).logits, *pair.target))
        assert loss == pytest.approx(abs(odds - pair.start) * np.sign((odds - pair.start) * (pair.goal - pair.start)), abs=1e-4)
    assert losses[0] == pytest.approx(0, abs=1e-5)
    model = small_model(3, layers=2)
    with torch.no_grad():
        for layer, block in enumerate(model.network.blocks):  # type: ignore[arg-type]
            gone = slice(0, 4) if layer == 0 else slice(0, 8)
            block.attention.output.weight[:, gone] = 0
            if layer == 0:
                block.ffn.down.weight.zero_()
    result = circuit(model, swapped(12))
    names, full = [part.name for part in result.parts], result.share_kept[0]
    assert set(names) <= {"L1 H2", "L2 F"} and names
    assert full >= 0.85 and result.share_kept[1] <= full <= result.share_kept[2] and len(result.random) == 200
    assert result.without[0] < full and result.among == 6 and "did not see" in result.says
    assert list(result.frame["layer"]) == [part.layer for part in result.parts]


DEEPER = small_model(1, components=2, mixing="unit", layers=3, labels=LABELS)
TEXTS = toy_splits()["test"].frame["text"].tolist()[:16]


def test_effects_and_correlations_are_those_of_loops() -> None:
    means, states = agreement.mean_states(DEEPER, TEXTS), {name: list[np.ndarray]() for name in LABELS}
    for text in TEXTS:
        trace = DEEPER.trace(text)
        for i in np.flatnonzero(~trace.specials):
            states[LABELS[trace.label == LABELS[0]]].append(trace.hidden[[0, 2], i])  # type: ignore[index]
    for name, rows in states.items():
        np.testing.assert_allclose(means[name], sum(rows) / len(rows), atol=1e-5)
    trace, mean = DEEPER.trace(TEXTS[0]), np.stack(next(iter(means.values())))
    effects, players = agreement.effects_of(DEEPER, trace, mean, words(trace)), words(trace)
    assert agreement.depths_of(DEEPER) == (0, 2) and np.abs(effects).max() > 1e-3
    for place, block in enumerate((0, 2)):
        for w, word in enumerate(players):

            def written(x: torch.Tensor, place: int = place, at: tuple[int, ...] = tuple(word.indices)) -> torch.Tensor:
                x[0, list(at)] = torch.from_numpy(mean[place]).float()
                return x

            with hook(DEEPER.network.blocks[block], written, before=True):  # type: ignore[union-attr]
                odds = log_odds(DEEPER.trace(TEXTS[0]).logits, int(trace.logits.argmax()))
            assert effects[place, w] == pytest.approx(log_odds(trace.logits, int(trace.logits.argmax())) - odds, abs=1e-5)
    rng = np.random.default_rng(0)
    effects, scores = rng.normal(size=(2, 9)), {"removal": rng.normal(size=9), "received": rng.random(9)}
    rows = agreement._of_text(effects, scores).set_index(["method", "metric"])
    for metric, effect in zip(agreement.METRICS, effects, strict=True):
        sizes = [spearmanr(abs(scores["removal"]), abs(effect)).statistic, spearmanr(scores["received"], abs(effect)).statistic]
        assert rows.loc[("removal", metric), "value"] == pytest.approx(sizes[0])
        assert rows.loc[("removal", f"{metric}-ranks"), "value"] == pytest.approx(spearmanr(scores["removal"], effect).statistic)
        assert rows.loc[("received", metric), "value"] == pytest.approx(sizes[1])
    assert ("received", "patched-word-ranks") not in rows.index and (rows["random"] == 0).all()


def test_a_sample_is_measured_with_intervals() -> None:
    model = small_model(0, labels=LABELS, width=16, norm="none", positions="none")
    with torch.no_grad():
        for block in model.network.blocks:  # type: ignore[union-attr]
            for layer in (block.attention.output, block.ffn.down):
                layer.weight.zero_()
                layer.bias.zero_()
    table = agreement.measure_agreement(model, TEXTS, sample=4)
    rows = table.set_index(["method", "metric"])
    assert {"removal", "received", "gradient", "random"} <= set(table["method"]) and (rows.loc["removal", "n"] == 4).all()
    assert rows.loc[("removal", "patched-word-ranks"), "value"] > 0.9 and not {"exact", "permutation"} & set(table["method"])
    assert rows.loc[("removal", "patched-word"), "value"] == pytest.approx(rows.loc[("removal", "patched-state"), "value"])
    assert (table["low"] <= table["value"]).all() and (table["value"] <= table["high"]).all()
    refused(InputError, "needs a transformer", circuit, random_model(5), swapped())
    refused(InputError, "needs a transformer", averages, random_model(5), swapped())
    refused(InputError, "between 0 and 1", circuit, MODEL, swapped(), keep=1.0)
    refused(InputError, "too few for an average", averages, MODEL, [("soup unseenword", "soup otherunseen")] * 5)
    refused(InputError, "A circuit needs 8 pairs", circuit, MODEL, swapped(5))
    refused(InputError, "patching needs a transformer", agreement.measure_agreement, random_model(5), TEXTS)
    for texts in ([TEXTS[0]] * 3, ["  "]):
        refused(InputError, "gives all texts of the sample the same one", agreement.measure_agreement, DEEPER, texts)


HAS = Capabilities(2, 4, 3, gate=True, dials=(GATE,), switches=(MASK,))
TEXT = "What a warm garden we saw"


def _edits() -> st.SearchStrategy[Edit]:
    def of(what: str) -> st.SearchStrategy[Edit]:
        axes = AXES[what]
        sizes = {len(axes), len(axes) - 1} if axes[1:] and axes[-1] == "token" else {len(axes)}
        at = st.sampled_from(sorted(sizes)).flatmap(lambda size: st.tuples(*[st.integers(0, 10_000)] * size))
        name = st.sampled_from(["gate", "lexicon", "distance"]) if what == "term" else st.just("")
        value = st.floats(allow_nan=False, allow_infinity=False) | st.just("mean")
        return st.builds(Edit, st.just(what), at, name, value)

    return st.sampled_from(sorted(AXES)).flatmap(of)


@settings(max_examples=40)
@given(st.lists(_edits(), max_size=6))
def test_text_and_intervention_are_the_same(edits: list[Edit]) -> None:
    change = Intervention(tuple(edits))
    assert Intervention.parse(change.text()) == change == Intervention(tuple(edits[::-1])) or len({e.target for e in edits}) < len(edits)
    assert hash(Intervention.parse(change.text())) == hash(Intervention.parse(change.text()))
    assert bool(change) == bool(change.text())


def test_texts_of_interventions_are_read_or_refused() -> None:
    change = Intervention.parse("term:gate=0.5~head:1.4=0~gate:3=1~lambda:2.1=-0.25~state:0.7=mean~feedforward:2=0~value:1.2.3=0.5")
    assert change.text() == "lambda:2.1=-0.25~head:1.4=0~gate:3=1~term:gate=0.5~state:0.7=mean~feedforward:2=0~value:1.2.3=0.5"
    assert change.edits[0] == Edit("lambda", (1, 0), to=-0.25) and change.edits[4] == Edit("state", (0, 6), to="mean")
    assert (change.lambdas, change.heads_off, change.strength) == ({(1, 0): -0.25}, ((0, 3),), {"gate": 0.5})
    assert (change.gates_open, change.gates_shut) == ((2,), ())
    wrong = "head head:1.4 head:1.4= head:1.4=x head:1.4=nan head:1.4=inf head:1=0 head:1.2.3.4=0 head:gate=0 term:1=0 bone:1=0 gate:1.2=0"
    for text in (*wrong.split(), "head:1.4=0~", "~", "head:１.4=0", "head:1.4=0 ", f"term:{'x' * 41}=0", f"head:{'9' * 10}.1=0"):
        refused(InputError, ".", Intervention.parse, text)
    assert len(Intervention.parse("~".join(f"gate:{place + 1}=0" for place in range(MOST_EDITS))).edits) == MOST_EDITS
    refused(InputError, "4,097 changes", Intervention.parse, "~".join(["gate:1=0"] * (MOST_EDITS + 1)))
    Intervention.parse("lambda:2.3=-9~head:2.4=0~gate:5=1~gate:1=0~term:gate=-2~term:mask=0").check(HAS, 5)
    plain = Capabilities(2, 4)
    for text, of, message in (
        ("gate:1=0", plain, "has no gates"),
        ("lambda:1.1=0.5", plain, "its mixing cannot be changed"),
        ("head:1.1=0", Capabilities(2, maps=False, silence=False), "has no heads to silence"),
    ):
        refused(InputError, message, Intervention.parse(text).check, of, 5)
    change = Intervention.parse("lambda:1.2=0~head:1.1=0~head:2.3=0~gate:1=1~gate:2=0~term:gate=0~term:lexicon=2")
    assert change.sentences(["a", "b"]) == [
        "This is an intervention: the lambdas differ from the learned lambdas.",
        "This is an intervention: heads 1 of layer 1, 3 of layer 2 are silenced.",
        "This is an intervention: the gate of “a” (1) is open in every layer.",
        "This is an intervention: the gate of “b” (2) is shut in every layer.",
        "This is an intervention: the model runs without its gate.",
        "This is an intervention: the model runs with 2 times the trained strength of its lexicon.",
    ]
    assert UNCHANGED.sentences([]) == []
    for text, reason in (
        ("head:3.1=0", "no head 1 in layer 3 of toy"),
        ("head:1.1=0.5", "only be set to 0, not to 0.5"),
        ("head:1.1.2=0", "is not possible"),
        ("head:1.1=mean", "is not possible"),
        ("state:1.2=0", "is not possible"),
        ("lambda:1.4=0", "no component 4 in layer 1"),
        ("term:lexicon=0", "no term 'lexicon' to change; it has gate, mask"),
        ("term:mask=0.5", "can only be on"),
        ("gate:6=0", "no token 6. The tokens are 1 to 5"),
        ("gate:2=0.5", "0 .shut. or 1 .open., not 0.5"),
        ("gate:2=0~gate:2=1", "token 2 cannot be both open and shut"),
        ("lambda:1.2=0~lambda:1.2=1", "lambda:1.2=0 and lambda:1.2=1 change the same quantity"),
    ):
        refused(InputError, reason, Intervention.parse(text).check, HAS, 5, "toy")


def test_earlier_names_are_read_and_edits_replaced(tmp_path: Path) -> None:
    lambdas = np.array([[1, 0.1, np.nan], [np.nan] * 3], dtype=np.float32)
    change = Intervention.from_arguments(HAS, lambdas, {(1, 3)}, 0.5, [2], (4, 3))
    assert change.text() == "lambda:1.1=1~lambda:1.2=0.1~head:2.4=0~gate:3=1~gate:4=0~gate:5=0~term:gate=0.5"
    assert Intervention.from_arguments(HAS, strength={"gate": 1}) == UNCHANGED == read_change(None) == read_change("")
    assert Intervention.from_arguments(HAS, strength={"mask": 0}).strength == {"mask": 0}

    change = Intervention.parse("head:1.1=0~term:gate=2")
    assert change.with_(Edit("term", name="gate", to=0.0)).text() == "head:1.1=0~term:gate=0"
    assert change.without("head", (0, 0)).text() == change.without("head").text() == "term:gate=2"
    assert change.without("head", (0, 1)) == change

    change = Intervention.parse("lambda:1.2=0~head:1.4=0~head:2.1.3=0~gate:3=1~state:0.2=@1~donor:1=text")
    whole = change.without_tokens()
    assert whole.text() == "lambda:1.2=0~head:1.4=0"
    assert whole.exactly("head", [(1, 0), (1, 1)]).text() == "lambda:1.2=0~head:2.1=0~head:2.2=0"
    assert "head:2.1.3=0" in change.exactly("head", []).text() and "gate:3=1" in change.exactly("gate", [(0,)]).text()
    assert {edit.text() for edit in change.refused(HAS)} == {"head:2.1.3=0", "state:0.2=@1"}
    trace = small_model().trace(TEXT, change="head:1.2=0")
    trace.save(tmp_path / "new")
    assert Trace.load(tmp_path / "new").change == trace.change
    old = _stored(trace, tmp_path / "old", heads_off=[[0, 1]], strength={"gate": 0.5}, gates_open=[1], gates_shut=[])
    assert Trace.load(old).change.text() == "head:1.2=0~gate:2=1~term:gate=0.5"
    assert Trace.load(_stored(trace, tmp_path / "number", heads_off=[], strength=1.0)).change == UNCHANGED
    plain = small_model().trace(TEXT)
    plain.save(tmp_path / "plain")
    with safe_open(tmp_path / "plain", framework="numpy") as file:
        assert "change" not in json.loads(file.metadata()["trace"]), "earlier versions must read it"


def test_text_data_and_earlier_names_give_the_same_answers() -> None:
    model, text = gated_model(), "gate:4=0~gate:3=1~term:gate=0.5~head:1.2=0"
    arguments = {"gates_shut": [3], "gates_open": [2], "strength": 0.5, "heads_off": [(0, 1)]}
    changes = ({"change": text}, {"change": Intervention.parse(text)}, arguments)
    traces = [model.trace(TEXT, **change) for change in changes]  # type: ignore[arg-type]
    frames = [model.predict([TEXT, "soup"], **change) for change in changes]  # type: ignore[arg-type]
    assert {trace.change.text() for trace in traces} == {Intervention.parse(text).text()}
    for trace, frame in zip(traces, frames, strict=True):
        assert trace.logits.tolist() == traces[0].logits.tolist()
        np.testing.assert_allclose(frame[model.labels[0]][0], trace.probabilities[0], atol=1e-6)
    assert not np.allclose(traces[0].logits, model.trace(TEXT).logits, atol=1e-5)
    refused(TypeError, "volume", model.trace, TEXT, volume=3)


def _stored(trace: Trace, path: Path, **earlier: Any) -> Path:
    """Store a trace with the fields of earlier versions in the place of `change`."""
    trace.save(path)
    with safe_open(path, framework="numpy") as file:
        meta, arrays = json.loads(file.metadata()["trace"]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    meta.pop("change", None)
    save_file(arrays, path, metadata={"trace": json.dumps(meta | earlier)})
    return path
