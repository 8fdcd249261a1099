"""Interventions as data and text: forms, checks, sentences, earlier names; their way through traces, figures and commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file

from sentviz.errors import InputError
from sentviz.runs.configs import GATE, MASK, Capabilities
from sentviz.runs.intervention import AXES, MOST_EDITS, UNCHANGED, Edit, Intervention, read_change
from sentviz.runs.trace import Trace
from tests.kit import gated_model, refused, small_model

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


def test_texts_count_from_one_and_depths_from_the_embedding() -> None:
    change = Intervention.parse("term:gate=0.5~head:1.4=0~gate:3=1~lambda:2.1=-0.25~state:0.7=mean~feedforward:2=0~value:1.2.3=0.5")
    assert change.text() == "lambda:2.1=-0.25~head:1.4=0~gate:3=1~term:gate=0.5~state:0.7=mean~feedforward:2=0~value:1.2.3=0.5"
    assert change.edits[0] == Edit("lambda", (1, 0), to=-0.25) and change.edits[4] == Edit("state", (0, 6), to="mean")
    assert (change.lambdas, change.heads_off, change.strength) == ({(1, 0): -0.25}, ((0, 3),), {"gate": 0.5})
    assert (change.gates_open, change.gates_shut) == ((2,), ())


def test_a_text_of_another_form_or_without_a_bound_is_refused() -> None:
    wrong = "head head:1.4 head:1.4= head:1.4=x head:1.4=nan head:1.4=inf head:1=0 head:1.2.3.4=0 head:gate=0 term:1=0 bone:1=0 gate:1.2=0"
    for text in (*wrong.split(), "head:1.4=0~", "~", "head:１.4=0", "head:1.4=0 ", f"term:{'x' * 41}=0", f"head:{'9' * 10}.1=0"):
        with pytest.raises(InputError):
            Intervention.parse(text)
    assert len(Intervention.parse("~".join(f"gate:{place + 1}=0" for place in range(MOST_EDITS))).edits) == MOST_EDITS
    refused(InputError, "4,097 changes", Intervention.parse, "~".join(["gate:1=0"] * (MOST_EDITS + 1)))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("head:3.1=0", "no head 1 in layer 3 of toy"),
        ("head:0.1=0", "no head 1 in layer 0 of toy"),
        ("head:1.5=0", "no head 5 in layer 1 of toy"),
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
    ],
)
def test_what_a_model_cannot_do_is_refused(text: str, reason: str) -> None:
    refused(InputError, reason, Intervention.parse(text).check, HAS, 5, "toy")


def test_what_a_model_can_do_passes() -> None:
    Intervention.parse("lambda:2.3=-9~head:2.4=0~gate:5=1~gate:1=0~term:gate=-2~term:mask=0").check(HAS, 5)
    plain = Capabilities(2, 4)
    for text, of, message in (
        ("gate:1=0", plain, "has no gates"),
        ("lambda:1.1=0.5", plain, "its mixing cannot be changed"),
        ("head:1.1=0", Capabilities(2, maps=False, silence=False), "has no heads to silence"),
    ):
        refused(InputError, message, Intervention.parse(text).check, of, 5)


def test_earlier_names_are_read() -> None:
    lambdas = np.array([[1, 0.1, np.nan], [np.nan] * 3], dtype=np.float32)
    change = Intervention.from_arguments(HAS, lambdas, {(1, 3)}, 0.5, [2], (4, 3))
    assert change.text() == "lambda:1.1=1~lambda:1.2=0.1~head:2.4=0~gate:3=1~gate:4=0~gate:5=0~term:gate=0.5"
    assert Intervention.from_arguments(HAS, strength={"gate": 1}) == UNCHANGED == read_change(None) == read_change("")
    assert Intervention.from_arguments(HAS, strength={"mask": 0}).strength == {"mask": 0}


def test_edits_of_the_same_target_are_replaced() -> None:
    change = Intervention.parse("head:1.1=0~term:gate=2")
    assert change.with_(Edit("term", name="gate", to=0.0)).text() == "head:1.1=0~term:gate=0"
    assert change.without("head", (0, 0)).text() == change.without("head").text() == "term:gate=2"
    assert change.without("head", (0, 1)) == change


def test_edits_of_tokens_are_told_apart_and_places_are_set_together() -> None:
    change = Intervention.parse("lambda:1.2=0~head:1.4=0~head:2.1.3=0~gate:3=1~state:0.2=@1~donor:1=text")
    whole = change.without_tokens()
    assert whole.text() == "lambda:1.2=0~head:1.4=0"
    assert whole.exactly("head", [(1, 0), (1, 1)]).text() == "lambda:1.2=0~head:2.1=0~head:2.2=0"
    assert "head:2.1.3=0" in change.exactly("head", []).text() and "gate:3=1" in change.exactly("gate", [(0,)]).text()
    assert {edit.text() for edit in change.refused(HAS)} == {"head:2.1.3=0", "state:0.2=@1"}


def test_sentences_name_what_was_changed() -> None:
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


def test_text_data_and_earlier_names_give_the_same_answers() -> None:
    """`trace` and `predict` agree for the text, the data and the earlier names; the trace stores the intervention."""
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
    with pytest.raises(TypeError):
        model.trace(TEXT, volume=3)


def _stored(trace: Trace, path: Path, **earlier: Any) -> Path:
    """Store a trace with the fields of earlier versions in the place of `change`."""
    trace.save(path)
    with safe_open(path, framework="numpy") as file:
        meta, arrays = json.loads(file.metadata()["trace"]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    meta.pop("change", None)
    save_file(arrays, path, metadata={"trace": json.dumps(meta | earlier)})
    return path


def test_traces_of_earlier_versions_are_read(tmp_path: Path) -> None:
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
