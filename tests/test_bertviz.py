"""BertViz's page as text, and the sentence as one linked picture: what the browser is sent, and what the browser says."""

import base64
import hashlib
import json
import re
import tomllib
from base64 import b64decode
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from app.components.browser import places
from sentviz.analysis.explain import explained
from sentviz.analysis.maps.layers import HeadEffects, silenced
from sentviz.browser import bertviz as bertviz_view
from sentviz.browser.bertviz import LINES, WEIGHTS, View, bertviz_height, bertviz_html
from sentviz.browser.canvas import HERE, Scale, Scene, canvas_data, canvas_html, scene_of, tour
from sentviz.browser.page import inert_json
from sentviz.errors import InputError, SentvizError
from sentviz.io.glossary import glossary
from sentviz.models.baselines import Convolutional
from sentviz.runs.configs import Capabilities, ConvolutionalConfig
from tests.kit import HOSTILE, bertviz_data, fake_trace, gated_model, refused, small_model, words_above

VIEWS: tuple[View, ...] = ("head", "model")


@pytest.mark.parametrize(("view", "component"), [("head", "effective"), ("model", 0), ("head", 1)])
def test_the_numbers_are_the_traces(view: View, component: int | str) -> None:
    trace = fake_trace(7, layers=3, heads=2)
    data = bertviz_data(bertviz_html(trace, view, component))
    maps = np.array([[trace.map(layer, head, component) for head in range(2)] for layer in range(3)])
    np.testing.assert_allclose(data["attention"][0]["attn"], maps / max(1, maps.max()), atol=5.1e-5)
    assert data["attention"][0]["left_text"] == data["attention"][0]["right_text"] == list(trace.tokens)
    assert (data["include_layers"], data["include_heads"]) == ([1, 2, 3], [1, 2])


def test_a_choice_of_layers_and_heads_or_a_pair() -> None:
    trace = fake_trace(6, layers=3, heads=4)
    data = bertviz_data(bertviz_html(trace, layers=[2], heads=[3, 1]))
    np.testing.assert_allclose(data["attention"][0]["attn"], [[trace.map(2, 3), trace.map(2, 1)]], atol=5.1e-5)
    assert (data["layer"], data["include_layers"], data["include_heads"]) == (3, [3], [4, 2])
    refused(InputError, "layers 0, 1, 2, not 7", bertviz_html, trace, layers=[7])
    refused(InputError, "At least one", bertviz_html, trace, heads=[])
    refused(InputError, "head view, a model view and a neuron view", bertviz_html, trace, "matrix")
    trace = fake_trace(5)
    large = trace.replace(attention=trace.attention * np.float32(2.5 / trace.attention.max()))
    page = bertviz_html(large)
    np.testing.assert_allclose(bertviz_data(page)["attention"][0]["attn"], large.attention / 2.5, atol=5.1e-5)
    assert "divided by 2.50, the largest" in words_above(page)
    assert "divided" not in words_above(bertviz_html(large, component=0))
    trace = fake_trace(9).replace(text_pair="and another", segments=(np.arange(9) >= 5).astype(np.int64))
    page = bertviz_html(trace)
    parts = {part["name"]: part for part in bertviz_data(page)["attention"]}
    assert list(parts) == ["All", "Text A → text A", "Text A → text B", "Text B → text A", "Text B → text B"]
    np.testing.assert_allclose(parts["Text A → text B"]["attn"], trace.attention[:, :, :5, 5:], atol=5.1e-5)
    assert parts["Text B → text A"]["left_text"] == list(trace.tokens[5:])
    assert page.count("<option value=") == 5
    assert 'id="filter"' not in bertviz_html(fake_trace(9))
    with pytest.raises(InputError, match="weights"):  # the blocks are copies, which count twice
        bertviz_html(fake_trace(int((WEIGHTS / 144) ** 0.5), 12, 12, components=1).replace(text_pair="x"))


@pytest.mark.parametrize("view", VIEWS)
def test_hostile_tokens_stay_text_and_nothing_is_asked_of_the_network(view: View) -> None:
    hostile, harmless = (bertviz_html(fake_trace(tokens=tokens), view) for tokens in (HOSTILE, ["fine"] * len(HOSTILE)))
    for mark in ("<script", "</script", "<img", "<!--", "onerror"):
        strip = re.compile(r'(?<=id="maps">).*?(?=</script>)', re.DOTALL)
        assert strip.sub("", hostile).count(mark) == strip.sub("", harmless).count(mark), mark
    labels = bertviz_data(hostile)["attention"][0]["left_text"]
    assert labels[1].startswith("</script") and labels[4] == '"' and labels[7] == "&lt;b&gt;"[:11]
    assert hostile.encode("utf-8")
    for text in HOSTILE:
        written = inert_json({text: [text]})
        assert json.loads(written) == {text: [text]} and written.isascii() and not set("<>&") & set(written)
    page = bertviz_html(fake_trace(5), view)
    head = page.split("<body>")[0]
    assert not re.search(r"\b(?:src|href)\s*=", re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL))
    assert "default-src 'none'" in head and "unsafe-eval" not in head
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in scripts]
    assert len(digests) == 4
    assert re.findall(r"'sha256-(.*?)'", head) == digests


def test_limits_heights_and_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for view, layers, heads, tokens, why in (
        ("head", 1, 4, int((LINES["head"] / 4) ** 0.5), "lines"),
        ("model", 2, 4, int((LINES["model"] / 8) ** 0.5), "lines"),
        ("head", 12, 12, int((WEIGHTS / 144) ** 0.5), "weights"),
    ):
        assert bertviz_html(fake_trace(tokens, layers, heads, components=1), view)
        with pytest.raises(InputError, match=rf"{tokens + 1} tokens.* {why}, more than .*: choose fewer tokens, layers or heads"):
            bertviz_html(fake_trace(tokens + 1, layers, heads, components=1), view)
    assert [bertviz_height(fake_trace(n), view, 2, 4) for view in VIEWS for n in (5, 60)] == [272, 1510, 343, 1210]
    monkeypatch.setattr(bertviz_view, "distribution", Mock(side_effect=PackageNotFoundError("bertviz")))
    caches = (bertviz_view._libraries, bertviz_view._file)
    for cache in caches:
        cache.cache_clear()
    refused(SentvizError, r"views need \S+\.js of \S+: python -m pip install bertviz", bertviz_html, fake_trace(4))
    for cache in caches:
        cache.cache_clear()


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


def test_every_map_is_sent_and_the_strongest_head_is_shown() -> None:
    of = scene()
    maps = canvas_data(of)["maps"]
    assert maps["parts"] == ["effective", "A₁", "A₂"] and maps["hidden"] == 0
    for part, name in enumerate(("effective", 0, 1)):
        wanted = of.trace.stack(name)
        np.testing.assert_allclose(decoded(maps, part), wanted, atol=float(np.abs(wanted).max()) / 60)
        assert np.abs(wanted).max() > 0.1
    data = canvas_data(scene("a warm garden<br />and a <br /> dull song"))
    assert ["".join(data["tokens"][i] for i in tokens) for tokens in data["breaks"]] == ["<br/>", "<br/>"]
    assert canvas_data(scene())["breaks"] == []
    falls, flips = np.array([[0.1, -3.0], [2.0, 0.0]], np.float32), np.array([[False, True], [False, False]])
    data, bare = canvas_data(scene(heads=HeadEffects(falls, flips))), canvas_data(scene())
    assert (data["leading"], data["flips"], data["rows"], bare["leading"], bare["heads"]) == ([[0, 1], [1, 0]], [[0, 1]], 4, [], None)
    assert data["heads"][0][1] == pytest.approx(-3 / MODEL.trace(TEXT).calibration, rel=1e-4)
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


def test_a_long_text_sends_the_tokens_that_receive_most(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_scores_units_and_marks_are_sent() -> None:
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
    effects = HeadEffects(np.zeros((1, 2), np.float32), np.zeros((1, 2), np.bool_))
    few = [{"scores": FALLS[:3]}, {"units": [[0], [0, 1]]}, {"units": [[12]]}, {"units": [[0]], "falls": FALLS}, {"heads": effects}]
    for wrong in (*few, {"before": FALLS}, {"pinned": 12}, {"pinned": -1}):
        refused(InputError, r"needs \w+ of shape|in one unit at most|no token", scene, **wrong)
    pinned = canvas_data(scene(pinned=1))
    assert (pinned["pinned"], canvas_data(scene())["pinned"]) == (1, None) and pinned["mark"] == canvas_data(scene())["mark"]
    first, again, another_text = canvas_data(scene()), canvas_data(scene()), canvas_data(scene("a dull song"))
    changed = canvas_data(scene(before=np.array([1, 0], np.float32)))
    assert first["mark"] == again["mark"] != changed["mark"] and first["text"] == changed["text"] != another_text["text"]
    config = ConvolutionalConfig(MODEL.tokenizer.vocab_size, 2)
    of = Scene(replace(MODEL.trace(TEXT), attention=None, components=None, terms=()), Convolutional(config).capabilities)
    data = canvas_data(of, acts=True)
    assert data["maps"] is None and data["heads"] is None and not data["acts"] and len(data["tokens"]) == 12


def test_the_tour_and_the_file_are_whole() -> None:
    for has, titles in (
        (MODEL.capabilities, ["Query", "Key and attention", "Heads", "Mixing by lambda", "Prediction"]),
        (gated_model().capabilities, ["Query", "Key and attention", "Heads", "Gates", "Prediction"]),
        (Capabilities(2, heads=2), ["Query", "Key and attention", "Heads", "Layers", "Prediction"]),
        (Capabilities(1, maps=False, silence=False), ["Word removal", "Prediction"]),
    ):
        assert [step.title for step in tour(has)] == titles
    markup = (HERE / "canvas.html").read_text(encoding="utf-8")
    for step in tomllib.loads((HERE / "tour.toml").read_text(encoding="utf-8"))["step"]:
        assert step["formula"] and not set("=√·ₖΣ") & set(step["text"])
        assert step["term"] in glossary() and f'class="{step["part"]}"' in markup
        assert not step["needs"] or hasattr(Capabilities(1), step["needs"])
    of = scene("a <script>alert(1)</script> song", title="“<b>”")
    page = canvas_html(of, about="run & seed")
    assert page == canvas_html(scene("a <script>alert(1)</script> song", title="“<b>”"), about="run & seed")
    assert "alert(1)" not in page and "<b>”" not in page and "run &amp; seed" in page
    assert "http" not in page.split("<body>")[1].replace("http://www.w3.org/2000/svg", "")


def test_what_the_browser_says_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    for message, name, sizes, expected in (
        ({"at": [1, 0, 2]}, "pick", (2, 4, 3), (1, 0, 2)),
        ({"at": [1, -1, 0]}, "pick", (2, 4, 3), (1, -1, 0)),
        ({"at": [1, -1]}, "silence", (2, 4), None),
        ({"at": [1, 4]}, "silence", (2, 4), None),
        ({"at": [True, 0]}, "silence", (2, 4), None),
        ({"at": "01"}, "silence", (2, 4), None),
        ({"at": [4]}, "pin", (5,), (4,)),
        ({"at": [-1]}, "pin", (5,), (-1,)),
        ({"at": [5]}, "pin", (5,), None),
    ):
        monkeypatch.setattr("streamlit.session_state", {"canvas": {name: message}})
        assert places("canvas", name, *sizes) == expected
