"""Points that travel, the long map, a corpus as points, and the film of a training: what the browser gets, and what it may say."""

import io
import json
import re
import threading
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import streamlit as st
from PIL import Image

from app.blocks import get_data  # noqa: F401 - imported before the data sets are replaced, because it binds their description
from app.components.attention_map import Picked, content, picked
from app.components.browser import RENDER, outline, wanted_layer, wanted_row
from sentviz.analysis.epochs import EpochSeries, Measured, epoch_series, events, examples
from sentviz.analysis.maps.coarse_map import map_of_trace, pack, tile, units
from sentviz.browser.film import Film, through_data, through_html
from sentviz.browser.points import points_data, points_html
from sentviz.charts.colours import class_colours
from sentviz.charts.scatter import COLOURS, HOVER
from sentviz.errors import InputError
from sentviz.export.animation import film_gif
from sentviz.export.chromium import find_browser
from sentviz.runs.store import Run
from sentviz.serving.corpus.engines import score
from sentviz.serving.corpus.output import OutputOptions, Scored
from sentviz.serving.corpus.plane import POINT, plane, sample, server
from tests import kit
from tests.charts import figure_of, stub
from tests.kit import BAD, GOOD, NOUNS, fake_trace, opened, refused, sane, toy_splits

HOSTILE = "</script><script>window.hacked=true</script>"
TEXTS = [f"the {noun} was {good} and {bad}" for noun in NOUNS for good in GOOD for bad in BAD]


def frame(n: int = 30, unlabelled: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    label = np.full(n, -1) if unlabelled else rng.integers(0, 2, n)
    predicted = rng.integers(0, 3, n)
    columns = {"label": label, "predicted": predicted, "right": label == predicted}
    columns |= {"confidence": rng.uniform(0.34, 1, n), "length": rng.integers(1, 40, n)}
    return pd.DataFrame({"id": [f"row {i}" for i in range(n)], **columns, "text": [f"{HOSTILE} number {i}" for i in range(n)]})


def places(n: int = 30, dims: int = 2, layers: int = 3) -> list[npt.NDArray[np.float64]]:
    return list(np.random.default_rng(8).normal(size=(layers, n, dims)))


def data_of(rows: pd.DataFrame, at: list[npt.NDArray[np.float64]], **more: Any) -> dict[str, Any]:
    settings = {"classes": ("no", "maybe", HOSTILE), "layers": ["embedding", "layer 1", "layer 2, the last"], "layer": 2, "title": "PCA"}
    settings |= {"picture": "pca 2"}
    return points_data(rows, at, **(settings | more))


def numbers(data: dict[str, Any], name: str, kind: str) -> npt.NDArray[Any]:
    return np.frombuffer(b64decode(data[name]), dtype=kind)


def test_places_groups_and_marks_of_every_row_arrive() -> None:
    for dims in [2, 3]:
        at = places(dims=dims)
        sent = numbers(data_of(frame(), at), "places", "<f4").reshape(3, 30, dims)
        np.testing.assert_allclose(sent, np.array(at), rtol=1e-6)
        some = numbers(data_of(frame(), at[1:]), "places", "<f4")
        np.testing.assert_allclose(some.reshape(2, 30, dims), np.array(at[1:]), rtol=1e-6)
    for colour in COLOURS:
        rows, chosen = frame(), np.arange(30) < 12
        data = data_of(rows, places(), colour=colour, chosen=chosen)
        names = [group["name"] for group in data["groups"]]
        classes = ("no", "maybe", data["classes"][2])
        for i, row in enumerate(rows.to_dict("records")):
            of_class = {name: classes[row[name]] for name in ("label", "predicted")} | {"right": "right" if row["right"] else "wrong"}
            expected = of_class.get(colour, f"predicted {classes[row['predicted']]}")
            assert names[numbers(data, "of", "u1")[i]] == expected
            mark = numbers(data, "marks", "u1")[i]
            assert bool(mark & 1) == (not row["right"] and colour != "right") and bool(mark & 2) == (i >= 12)
            assert numbers(data, "sure", "u1")[i] == round(100 * row["confidence"])
            assert data["words"][i] == [row["id"], row["text"]]
        if colour in ("confidence", "length"):
            values = numbers(data, "values", "<f4")
            assert (values.min(), values.max()) == (0, 1)
            assert list(np.argsort(values, kind="stable")) == list(np.argsort(rows[colour], kind="stable"))
        else:
            assert data["scale"] is None and data["values"] is None
            assert len({(group["colour"], group["symbol"]) for group in data["groups"]}) == len(names)
    data = data_of(frame(unlabelled=True), places())
    assert [group["name"] for group in data["groups"]] == ["unlabelled"]
    assert not data["rings"] and not numbers(data, "marks", "u1").any()
    rows = frame(HOVER + 1)
    assert data_of(rows, places(HOVER + 1))["words"] is None and data_of(rows[:-1], places(HOVER))["words"] is not None


def test_the_page_is_one_file_and_another_look_is_known_by_its_mark() -> None:
    rows, at = frame(), places()
    first = data_of(rows, at)
    assert first == data_of(rows, at)
    outlined = {"outline": (2, [(0, 0), (1, 0), (0, 1)])}
    for more in ({"colour": "right"}, {"chosen": np.arange(30) < 3}, {"layer": 0}, {"theme": "dark"}, outlined):
        changed = data_of(rows, at, **more)
        assert changed["mark"] != first["mark"]
        assert (changed["rows"], changed["picture"], changed["places"]) == (first["rows"], first["picture"], first["places"])
    assert data_of(rows[::-1], at)["rows"] != first["rows"]
    assert data_of(rows, at, theme="dark")["groups"][0]["colour"] == class_colours(["no", "maybe", HOSTILE], "dark")[0]
    refused(InputError, "no row", data_of, frame(0), places(0))
    refused(InputError, "not by 'mood'", data_of, frame(), places(), colour="mood")
    refused(InputError, "length in words", data_of, frame().drop(columns="length"), places(), colour="length")
    data = data_of(frame(), places(), star=(HOSTILE, {2: (0.5, 1.0)}), more=True)
    page = points_html(data, about=HOSTILE)
    assert page == points_html(data, about=HOSTILE)
    assert page.count("</script>") == 2  # the data and the code
    assert "default-src 'none'" in page and "export default" not in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|src=|@import|url\(", page)
    script = re.search(r'<script type="application/json" id="points">(.*?)</script>', page)
    assert script is not None
    stored = json.loads(script[1])
    assert stored["words"][0][1].startswith(HOSTILE)
    assert not stored["more"]  # nobody is there to be asked
    assert {**stored, "more": True} == json.loads(json.dumps(data))


def test_an_outline_and_a_layer_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", {"plot": state})
    good = {"picture": "pca 2", "layer": 1, "corners": [[0, 0.5], [1, 0], [0, 1]]}
    state["outline"] = good
    drawn = outline("plot")
    assert drawn is not None and drawn[:2] == ("pca 2", 1)
    np.testing.assert_array_equal(drawn[2], good["corners"])
    state["outline"] = {**good, "corners": []}
    drawn = outline("plot")
    assert drawn is not None and drawn[2].shape == (0, 2)
    corners = ([[0, float("nan")]], [[0, "1"]], [[0, 1, 2]], [[0, True]], [[0, 1]] * 5_001, "0,1")
    for bad in (*({"corners": each} for each in corners), *({"layer": each} for each in (-1, True, 1.0)), {"picture": 3}):
        state["outline"] = {**good, **bad}
        assert outline("plot") is None, bad
    for nothing in (None, [1], "pca"):
        state["outline"] = nothing
        assert outline("plot") is None
    assert outline("elsewhere") is None
    for value, wanted in ((0, 0), (2, 2), (3, None), (-1, None), (True, None), (1.0, None), ("1", None), (None, None)):
        state["layer"] = value
        assert wanted_layer("plot", 2) == wanted
    assert wanted_layer("elsewhere", 2) is None


def test_the_long_map_follows_its_units_and_checks_what_the_browser_says(tiny_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_RUNS", str(tiny_runs))
    view = {"run": "toy/ndt-unit-2", "look": "long", "text": "a warm, clever song! a dull soup. I say"}
    app = opened("attention", **view)
    assert "The strongest" in sane(app)
    app.button_group(key="map-unit").set_value("sentences").run()
    assert "3 sentences per side" in sane(app) and "the sum over the keys, then the mean over the queries" in sane(app)
    app.selectbox(key="map-keys").set_value("max").run()
    assert "the value farthest from 0 over the keys" in sane(app)
    monkeypatch.setattr("sentviz.analysis.maps.coarse_map.EXACT_UNITS", 5)
    text = sane(opened("attention", **view))
    assert "mean of 1 × 1" not in text and "The strongest" not in text and "Click a cell" in text
    unit = units(fake_trace(6))
    packed = pack(tile(map_of_trace(fake_trace(6), 0), unit))
    raw = content(unit, [(packed, 0, 0, 1)], "a map")
    name = raw.split(b'"id":"')[1].split(b'"')[0].decode()
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", {"map": state})

    def seen(**fields: Any) -> Picked:
        state.clear()
        state.update(fields)
        return picked(unit, "map")

    assert seen(cell={"id": name, "at": [2, 5]}) == Picked((2, 5))
    assert seen(window={"id": name, "at": [0, 6, 1, 3]}) == Picked(None, (0, 6, 1, 3))
    for at in ([2, 6], [-1, 0], [1], [1, 2, 3], ["1", 2], [True, 1], [1.0, 2], None, "12"):
        assert seen(cell={"id": name, "at": at}) == Picked()
    assert seen(window={"id": name, "at": [3, 3, 0, 1]}) == Picked()
    assert seen(cell={"id": "another", "at": [1, 1]}) == Picked() == seen(cell=None) == seen(cell=[1, 1])


@pytest.fixture(scope="module")
def scored(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Scored:
    """Score 125 rows in parts of 30, and one row that cannot be read."""
    folder = tmp_path_factory.mktemp("plane")
    (folder / "a.txt").write_text("\n".join([*TEXTS[:40], "", *TEXTS[40:]]))
    return score(Run.open(tiny_run), [folder / "a.txt"], folder / "out", options=OutputOptions(vectors=True), rows=30)


def test_the_axes_are_principal_components_and_a_sample_is_fair(scored: Scored, tiny_run: Path, tmp_path: Path) -> None:
    points = plane(scored)
    frame = pd.read_parquet(scored.folder)
    vectors = np.stack(frame["vector"].dropna().tolist()).astype(np.float64)
    centred = vectors - vectors.mean(axis=0)
    expected = np.abs(centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T)
    order = np.lexsort((points["row"], points["part"]))
    places = np.stack([points["x"], points["y"]], axis=1)[order]
    np.testing.assert_allclose(np.abs(places), expected, atol=1e-4)
    assert len(points) == 125 and (np.array(scored.labels)[points["said"][order]] == frame["predicted"].dropna()).all()
    (tmp_path / "a.txt").write_text("a warm song\n")
    refused(InputError, "without --vectors", plane, score(Run.open(tiny_run), [tmp_path / "a.txt"], tmp_path / "out"))
    rng = np.random.default_rng(0)
    points = np.zeros(50_000, dtype=POINT)
    points["x"], points["y"] = rng.random((2, 50_000))
    far, there = sample(points, (0, 1), (0, 1), 2_000)
    assert there == 50_000 and len(far) == 2_000 and abs((points["x"][far] < 0.5).mean() - 0.5) < 0.05
    near, inside = sample(points, (0.2, 0.6), (0.1, 0.5), 2_000)
    assert inside == ((points["x"] >= 0.2) & (points["x"] <= 0.6) & (points["y"] >= 0.1) & (points["y"] <= 0.5)).sum()
    within = [k for k in far if 0.2 <= points["x"][k] <= 0.6 and 0.1 <= points["y"][k] <= 0.5]
    assert within and set(within) <= set(near.tolist())


@pytest.fixture
def address(scored: Scored) -> Iterator[str]:
    with server(plane(scored), scored) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join()


def test_the_server_sends_what_is_in_view_and_nothing_else(scored: Scored, address: str) -> None:
    points = plane(scored)
    middle = float(np.median(points["x"]))
    body = urlopen(f"{address}/points?x0={middle}&x1=1e9&y0=-1e9&y1=1e9").read()
    n, there = np.frombuffer(body, "<u4", 2)
    inside = points[points["x"] >= middle]
    assert n == there == len(inside) and len(body) == 8 + 13 * n
    assert (np.frombuffer(body, "<f4", 2 * n, 8).reshape(-1, 2)[:, 0] == inside["x"]).all()
    assert (np.frombuffer(body, "u1", n, 8 + 12 * n) == inside["said"]).all()
    text = json.loads(urlopen(f"{address}/row?point=0").read())["text"]
    row = scored.part(int(points[0]["part"]), ["row"])["row"][int(points[0]["row"])].as_py()
    assert text.startswith(f"a.txt, row {row}: {scored.labels[points[0]['said']]} ")
    assert b"connect-src 'self'" in urlopen(address).read()
    wrong = {"/points?x0=nan&x1=1&y0=0&y1=1": 400, "/points": 400, "/row?point=125": 400, "/etc": 404, "/": 403}
    for path, code in wrong.items():
        with pytest.raises(HTTPError) as caught:
            urlopen(Request(f"{address}{path}", headers={"Host": "evil.example"} if code == 403 else {}))
        assert caught.value.code == code
        caught.value.close()


NAME = "toy/ndt-unit-2-epochs"


@pytest.fixture(scope="module")
def film(kept_epochs: Path) -> Film:
    """Return the film of the run that stores its last three epochs."""
    run = Run.open(kept_epochs)
    return Film("toy & <b>", epoch_series(run), examples(run)[0], run.history(), run.capabilities.scalars, layer=1)


def unpacked(data: dict[str, object], name: str, kind: str) -> np.ndarray:
    """Return numbers as the scripts read them."""
    return np.frombuffer(b64decode(str(data[name])), dtype=kind)


def test_signed_maps_are_centred_and_texts_travel_only_where_they_are_given(film: Film, tmp_path: Path) -> None:
    signed = {epoch: trace.replace(attention=-trace.attention if epoch == 3 else trace.attention) for epoch, trace in film.traces.items()}
    sentence = through_data(replace(film, traces=signed))["sentence"]
    n = len(sentence["tokens"])
    maps = (unpacked(sentence, "maps", "u1").reshape(3, n, n).astype(float) - 128) / 127 * sentence["peak"]
    assert sentence["signed"] and (maps[1] <= 0).all() and (maps[0] >= 0).all()
    np.testing.assert_allclose(maps[1], signed[3].map(1), atol=0.51 / 127 * sentence["peak"])
    texts = dict(zip(toy_splits()["validation"].frame["id"], toy_splits()["validation"].frame["text"], strict=True))
    with_texts = through_data(film, texts=texts)
    assert all(row["text"] == texts[row["id"]] for row in with_texts["rows"])
    assert not any(row["text"] for row in through_data(film)["rows"]) and with_texts["mark"] != through_data(film)["mark"]
    page = through_html(film)
    assert not any(text in page for text in texts.values() if text not in film.first.text)  # type: ignore[union-attr]
    epoch = film.seen.measured[0]
    bare = replace(epoch, heads=epoch.heads.iloc[:0])
    less = Film("bare", EpochSeries((bare,)), {}, film.history.iloc[:0])
    data = through_data(less)
    assert data["sentence"] is None and data["groups"] == [] and data["epochs"] == [2]
    bare.save(tmp_path / "x.safetensors")  # A model without attention has no rows of heads.
    again = Measured.load(tmp_path / "x.safetensors")
    assert again.heads.empty and again.ids == bare.ids and "<title>bare</title>" in through_html(less)


@pytest.mark.skipif(find_browser() is None, reason="no Chrome or Chromium on this machine")
def test_a_film_shows_every_epoch(film: Film) -> None:
    two = replace(film, seen=EpochSeries(film.seen.measured[:2]), traces={epoch: film.traces[epoch] for epoch in film.seen.epochs[:2]})
    picture = Image.open(io.BytesIO(film_gif(two, width=480, height=240)))
    assert picture.size == (480, 240) and picture.n_frames == 9  # the first epoch, and eight a way
    shots = []
    for frame in (0, picture.n_frames - 1):
        picture.seek(frame)
        shots.append(np.asarray(picture.convert("RGB"), dtype=int))
    assert np.abs(shots[0] - shots[1]).max() > 50
    refused(InputError, "480 to 1,600", film_gif, film, width=10)


def test_forgotten_rows_stand_first(film: Film) -> None:
    right = np.array([[0, 1, 1, 1], [1, 0, 1, 1], [1, 0, 0, 1], [1, 0, 1, 1], [1, 0, 0, 1]], dtype=bool)
    assert events(right).forgotten.tolist() == [0, 1, 2, 0]
    of = stub(series=stub(epochs=[1, 2, 3, 4, 5], right=right, first=stub(ids=["learned", "once", "twice", "never"])))
    few = figure_of("epoch-rows", of, most=1)
    assert list(few.plot.layout.yaxis.ticktext) == ["twice"] and len(few.frame) == 20
    for name, options in (("epoch-heads", {"measure": "mood"}), ("epoch-rows", {"most": 0})):
        with pytest.raises(InputError):
            figure_of(name, stub(series=film.seen), **options)


@pytest.fixture
def runs(kept_epochs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Copy the run into a separate folder; make the toy set available."""
    copytree(kept_epochs, tmp_path / NAME)
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path))
    kit.use_toy_data(monkeypatch)
    st.cache_resource.clear()
    yield tmp_path
    st.cache_resource.clear()


def test_what_is_sent_follows_the_link_and_leaves_out_torn_epochs(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []
    monkeypatch.setitem(RENDER, "through", lambda data, **_: seen.append(data))
    app = opened("curves", run=NAME, layer="2")
    assert seen[-1]["epochs"] == seen[-1]["sentence"]["epochs"] == [2, 3, 4] and seen[-1]["asks"] and not app.warning
    assert seen[-1]["sentence"]["title"] == "Effective attention, layer 2, mean of heads"
    texts = kit.toy_splits()["validation"].frame.set_index("id")["text"]
    assert all(row["text"] == texts[row["id"]] for row in seen[-1]["rows"])
    measured = runs / NAME / "epochs" / "3.measured.safetensors"
    measured.write_bytes(measured.read_bytes()[:99])
    (runs / NAME / "epochs" / "4.safetensors").unlink()
    st.cache_resource.clear()
    app = opened("curves", run=NAME)
    assert seen[-1]["epochs"] == [2, 4] and "3.measured" in app.warning[0].value.replace("\\", "")
    app.text_input(key="through-sentence").input("a dull soup").run()
    assert seen[-1]["sentence"]["epochs"] == [2] and seen[-1]["sentence"]["tokens"] == ["a", "dull", "soup"]
    assert any("epochs/4.safetensors is missing" in box.value.replace("\\", "") for box in app.warning)


def test_a_row_that_a_browser_asks_for_is_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for row, wanted in [
        ({"row": 1, "id": "zzz"}, "b"),
        *((odd, "") for odd in (None, 7, {"row": "1"}, {"row": -1}, {"row": 3}, {"row": True}, {})),
    ]:
        monkeypatch.setattr(st, "session_state", {"through": {"row": row}})
        assert wanted_row("through", ("a", "b", "c")) == wanted
