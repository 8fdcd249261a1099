"""The sentence as one linked picture: what the browser is sent, the tour, the file, and the page that shows it."""

from __future__ import annotations

import json
import tomllib
from base64 import b64decode
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.components.browser import places
from sentviz.analysis.explain import explained
from sentviz.analysis.maps.layers import HeadEffects, silenced
from sentviz.browser.canvas import HERE, Scale, Scene, canvas_data, canvas_html, scene_of, tour
from sentviz.errors import InputError
from sentviz.io.glossary import glossary
from sentviz.models.baselines import Convolutional
from sentviz.runs.configs import Capabilities, ConvolutionalConfig
from tests.kit import gated_model, small_model

TEXT = "a warm garden and a dull song , but a clever town"
MODEL = small_model(7, components=2, mixing="symmetric", max_length=240)
FALLS = np.arange(12, dtype=np.float32) / 10


def scene(text: str = TEXT, **more: Any) -> Scene:
    """Return the scene of a random model."""
    trace = MODEL.trace(text, maps=False, projections=True)
    return Scene(trace, MODEL.capabilities, **more)


def decoded(maps: dict[str, Any], part: int) -> np.ndarray:
    """Return the weights (L, H, s, s) as the browser reads them."""
    stored, shape = maps["codes"][part], (len(maps["layers"]), len(maps["heads"]), len(maps["shown"]), len(maps["shown"]))
    codes = np.frombuffer(b64decode(stored["codes"]), np.int8 if stored["signed"] else np.uint8).astype(float).reshape(shape)
    return np.asarray(stored["scale"] * codes * np.abs(codes))


def test_every_map_is_sent_within_its_rounding() -> None:
    """The effective map and the components of all heads are sent one after the other, within their rounding."""
    of = scene()
    maps = canvas_data(of)["maps"]
    assert maps["parts"] == ["effective", "A₁", "A₂"] and maps["hidden"] == 0
    for part, name in enumerate(("effective", 0, 1)):
        wanted = of.trace.stack(name)
        np.testing.assert_allclose(decoded(maps, part), wanted, atol=float(np.abs(wanted).max()) / 60)
        assert np.abs(wanted).max() > 0.1


def test_a_long_text_sends_the_tokens_that_receive_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 64 tokens are sent, also if maps are computed in bands; the share of the others is stated, and all words are sent."""
    of = scene(" ".join([TEXT] * 12))
    data, n = canvas_data(of), len(of.trace.tokens)
    received = np.abs(of.trace.stack()).sum(axis=(0, 1, 2))
    best = np.sort(np.argsort(-received, kind="stable")[:64])
    assert len(data["tokens"]) == n > 64
    assert data["maps"]["shown"] == best.tolist()
    assert data["maps"]["hidden"] == pytest.approx(1 - received[best].sum() / received.sum(), abs=1e-3)
    wanted = of.trace.stack(1)[..., best[:, None], best]
    np.testing.assert_allclose(decoded(data["maps"], 2), wanted, atol=float(wanted.max()) / 60)
    monkeypatch.setattr("sentviz.runs.trace.BAND_BYTES", 1 << 12)
    monkeypatch.setattr(type(of.trace).bands, "__defaults__", ("effective", 1 << 12))
    assert canvas_data(of)["maps"] == data["maps"]
    assert len(json.dumps(data)) < 600_000


def test_the_strongest_head_is_shown_unless_another_is_chosen() -> None:
    """The head with the largest fall is shown; if heads were not silenced, the one that attends most to the strongest word."""
    effects = silenced(MODEL, MODEL.trace(TEXT))
    falls = effects.falls
    layer, head = divmod(int(np.abs(falls).argmax()), falls.shape[1])
    assert scene(heads=effects).pick == (layer, head, "effective")
    assert canvas_data(scene(heads=effects))["pick"] == {"layer": layer, "head": head, "part": 0}
    assert scene().pick == (1, "mean", "effective")
    words = [(i,) for i in range(len(scene().trace.tokens))]
    of = scene(units=words, falls=-np.abs(np.arange(len(words)) - 3.0).astype(np.float32))  # the strongest is token 3
    shares = np.abs(of.trace.stack()) / np.abs(of.trace.stack()).sum(axis=(2, 3), keepdims=True)
    layer, head = np.unravel_index(shares[..., 3].sum(axis=2).argmax(), falls.shape)
    assert of.pick == (layer, head, "effective")
    assert scene(" ".join([TEXT] * 12), units=[(0,)], falls=np.ones(1, np.float32)).pick == (1, "mean", "effective")
    assert canvas_data(scene(chosen=(0, 1, 1)))["pick"] == {"layer": 0, "head": 1, "part": 2}
    assert canvas_data(scene(chosen=(0, "mean", "effective")))["pick"] == {"layer": 0, "head": -1, "part": 0}


def test_scores_units_and_the_answer_before() -> None:
    """Scores are sent unchanged, and a value that is not a number as null; the scale ends at the text's own largest score."""
    scores = np.linspace(-1, 1, 12, dtype=np.float32)
    scores[3] = np.nan
    units, before = [[0, 1], [4]], np.array([0.75, 0.25], dtype=np.float32)
    scale = Scale("Score", "against", "for")
    data = canvas_data(scene(scores=scores, tones=scores / 2, scale=scale, units=units, falls=FALLS[:2], before=before))
    assert data["scores"][3] is None and data["scores"][11] == 1 and data["tones"][11] == 0.5 and data["scale"]["title"] == "Score"
    assert (data["units"], data["falls"], data["before"]) == (units, [0.0, 0.1], [0.75, 0.25])
    p = data["probabilities"][data["best"]]
    assert data["odds"] == pytest.approx(np.log(p / (1 - p)), rel=1e-3) and "NaN" not in json.dumps(data, allow_nan=False)
    of = scene_of(explained(MODEL, MODEL.trace(TEXT)), MODEL.capabilities)
    assert of.scale is not None and of.scores is not None and of.tones is not None and of.scale.unit == "log-odds"
    assert np.abs(of.tones).max() == pytest.approx(1) and of.scale.full == pytest.approx(np.abs(of.scores).max(), rel=1e-2)


def test_a_tag_of_a_line_break_is_one_break() -> None:
    """The tokens of each tag are sent together, and the words around it are not among them."""
    data = canvas_data(scene("a warm garden<br />and a <br /> dull song"))
    assert ["".join(data["tokens"][i] for i in tokens) for tokens in data["breaks"]] == ["<br/>", "<br/>"]
    assert canvas_data(scene())["breaks"] == []


def test_the_list_of_heads_is_sent() -> None:
    """The heads that matter are sent in their order, with those that change the class and the number of rows to keep free."""
    falls, flips = np.array([[0.1, -3.0], [2.0, 0.0]], np.float32), np.array([[False, True], [False, False]])
    data, bare = canvas_data(scene(heads=HeadEffects(falls, flips))), canvas_data(scene())
    assert (data["leading"], data["flips"], data["rows"], bare["leading"], bare["heads"]) == ([[0, 1], [1, 0]], [[0, 1]], 4, [], None)
    assert data["heads"][0][1] == pytest.approx(-3 / MODEL.trace(TEXT).calibration, rel=1e-4)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"scores": FALLS[:3]}, {"units": [[0], [0, 1]]}, {"units": [[12]]}, {"units": [[0]], "falls": FALLS}),
        *({"heads": HeadEffects(np.zeros((1, 2), np.float32), np.zeros((1, 2), np.bool_))}, {"before": FALLS}),
        *({"pinned": 12}, {"pinned": -1}),
    ],
)
def test_what_does_not_fit_the_text_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"needs \w+ of shape|in one unit at most|no token"):
        scene(**wrong)


def test_other_data_has_another_mark_and_a_text_its_own() -> None:
    """The mark changes with everything but the pinned token, so that the browser draws again."""
    pinned = canvas_data(scene(pinned=1))
    assert (pinned["pinned"], canvas_data(scene())["pinned"]) == (1, None) and pinned["mark"] == canvas_data(scene())["mark"]
    first, again, another_text = canvas_data(scene()), canvas_data(scene()), canvas_data(scene("a dull song"))
    changed = canvas_data(scene(before=np.array([1, 0], np.float32)))
    assert first["mark"] == again["mark"] != changed["mark"] and first["text"] == changed["text"] != another_text["text"]


def test_a_model_without_maps_shows_words_and_answer() -> None:
    config = ConvolutionalConfig(MODEL.tokenizer.vocab_size, 2)
    of = Scene(replace(MODEL.trace(TEXT), attention=None, components=None, terms=()), Convolutional(config).capabilities)
    data = canvas_data(of, acts=True)
    assert data["maps"] is None and data["heads"] is None and not data["acts"] and len(data["tokens"]) == 12


@pytest.mark.parametrize(
    ("has", "titles"),
    [
        (MODEL.capabilities, ["Query", "Key and attention", "Heads", "Mixing by lambda", "Prediction"]),
        (gated_model().capabilities, ["Query", "Key and attention", "Heads", "Gates", "Prediction"]),
        (Capabilities(2, heads=2), ["Query", "Key and attention", "Heads", "Layers", "Prediction"]),
        (Capabilities(1, maps=False, silence=False), ["Word removal", "Prediction"]),
    ],
    ids=["lambda", "gate", "plain", "no maps"],
)
def test_the_tour_is_of_what_the_model_has(has: Capabilities, titles: list[str]) -> None:
    steps = tour(has)
    assert [step.title for step in steps] == titles


def test_every_step_has_plain_words_a_formula_and_its_term() -> None:
    """The plain sentence of a step has no formula, and the part that it describes is in the picture."""
    markup = (HERE / "canvas.html").read_text(encoding="utf-8")
    for step in tomllib.loads((HERE / "tour.toml").read_text(encoding="utf-8"))["step"]:
        assert step["formula"] and not set("=√·ₖΣ") & set(step["text"])
        assert step["term"] in glossary() and f'class="{step["part"]}"' in markup
        assert not step["needs"] or hasattr(Capabilities(1), step["needs"])


def test_the_file_is_whole_and_words_in_it_are_text() -> None:
    """The file has the same bytes for the same scene, holds no address, and shows a hostile text as text."""
    of = scene("a <script>alert(1)</script> song", title="“<b>”")
    page = canvas_html(of, about="run & seed")
    assert page == canvas_html(scene("a <script>alert(1)</script> song", title="“<b>”"), about="run & seed")
    assert "alert(1)" not in page and "<b>”" not in page and "run &amp; seed" in page
    assert "http" not in page.split("<body>")[1].replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize(
    ("message", "name", "sizes", "expected"),
    [
        ({"at": [1, 0, 2]}, "pick", (2, 4, 3), (1, 0, 2)),
        ({"at": [1, -1, 0]}, "pick", (2, 4, 3), (1, -1, 0)),
        ({"at": [1, -1]}, "silence", (2, 4), None),
        ({"at": [1, 3]}, "silence", (2, 4), (1, 3)),
        ({"at": [1, 4]}, "silence", (2, 4), None),
        ({"at": [True, 0]}, "silence", (2, 4), None),
        ({"at": "01"}, "silence", (2, 4), None),
        (None, "pick", (2, 4, 3), None),
        ({"at": [4]}, "pin", (5,), (4,)),
        ({"at": [-1]}, "pin", (5,), (-1,)),
        ({"at": [5]}, "pin", (5,), None),
        ({"at": [-2]}, "pin", (5,), None),
    ],
)
def test_what_the_browser_says_is_checked(
    message: Any, name: str, sizes: tuple[int, ...], expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamlit.session_state", {"canvas": {name: message}})
    assert places("canvas", name, *sizes) == expected
