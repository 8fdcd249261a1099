"""The page Embeddings with Streamlit's AppTest, on the runs that ship."""

from __future__ import annotations

import base64
import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from streamlit.testing.v1 import AppTest

from sentviz.analysis.testset.rows import stored
from sentviz.analysis.testset.slices import Slice
from sentviz.charts.scatter import COLOURS
from sentviz.runs.store import find
from tests.kit import RUN, SHIPPED, opened, page_text, words

pytestmark = [pytest.mark.slow, SHIPPED]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))


def charts(app: AppTest) -> list[str]:
    """Return the figures of a page as JSON."""
    return [chart.proto.spec for chart in app.get("plotly_chart")]


def drawn(app: AppTest) -> dict[str, Any]:
    """Return the data that the browser gets for the picture."""
    (component,) = app.get("bidi_component")
    data: dict[str, Any] = json.loads(component.proto.json)
    return data


def titled(app: AppTest) -> str:
    """Return method and layer of the picture; empty if the page shows no picture."""
    data = drawn(app) if app.get("bidi_component") else None
    return f"{data['title']}, {data['layers'][data['layer']]}" if data else ""


def at_hand(app: AppTest) -> int:
    """Return the number of layers between which points can move."""
    data = drawn(app)
    return len(base64.b64decode(data["places"])) // (4 * data["n"] * data["dims"])


def marked(app: AppTest) -> npt.NDArray[np.uint8]:
    """Return the bits of each point, (n,): 1 is wrong, 2 is faded."""
    return np.frombuffer(base64.b64decode(drawn(app)["marks"]), dtype=np.uint8)


def settled(app: AppTest, seconds: float = 120) -> AppTest:
    """Run the page until no work is left in the background."""
    end = time.monotonic() + seconds
    while any((button.key or "").startswith("stop-") for button in app.button):
        assert time.monotonic() < end, words(app)
        time.sleep(0.2)
        app.run()
    assert not app.exception, app.exception
    return app


@pytest.mark.exhaustive
@pytest.mark.parametrize("run", [RUN, "imdb/ndt-unit-2", "twitter_financial/ndt-unit-3"])
def test_first_seen_is_pca_of_the_stored_sample(run: str) -> None:
    """The first picture is PCA of the stored sample, with its numbers, without background work."""
    app = opened("embeddings", run=run)
    assert not app.error
    text = words(app)
    assert "a stored sample of 1,000" in text.replace("\\", "")
    assert titled(app) == "PCA, layer 2, the last"
    assert at_hand(app) == 1
    assert drawn(app)["rings"]
    assert 0 < (marked(app) == 1).sum() < 1000
    assert "**Trustworthiness**" in text
    assert "Silhouette" in charts(app)[0]
    assert not any((button.key or "").startswith("stop-") for button in app.button)


@pytest.mark.exhaustive
@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("dims", ["2", "3"])
def test_every_colour_in_every_dimension(colour: str, dims: str) -> None:
    app = opened("embeddings", colour=colour, dims=dims)
    assert not app.exception
    assert app.query_params.get("colour", "label") == colour
    if colour == "length" and not app.get("bidi_component"):
        assert "length in words" in words(app)  # the texts are not on this machine
        return
    assert drawn(app)["dims"] == int(dims)
    assert (drawn(app)["scale"] is not None) == (colour in ("confidence", "length"))


@pytest.mark.exhaustive
def test_a_lasso_in_a_link_keeps_its_rows() -> None:
    """The outline in a link chooses the same rows in the picture, in the row list and in the test."""
    outline = [(-20, -20), (0, -20), (0, 20), (-20, 20)]
    app = opened("embeddings", slice=str(Slice.lasso("pca", 2, outline)))
    from sentviz.analysis.embeddings.cache import stored_sample
    from sentviz.analysis.embeddings.projection import project

    run = find(RUN)
    n = len(stored(run))
    points = project(stored_sample(run, n)[1]).points
    inside = int((points[:, 0] < 0).sum())
    assert 0 < inside < 1000
    assert f"{inside:,} of {n:,} rows" in words(app)
    assert f"{inside:,} are chosen" in page_text(app)
    assert int((marked(app) < 2).sum()) == inside
    assert drawn(app)["outline"] == {"layer": 2, "corners": [list(map(float, corner)) for corner in outline]}


@pytest.mark.exhaustive
def test_a_cell_fades_the_others() -> None:
    app = opened("embeddings", slice="cell=1,0")
    assert "are chosen" in page_text(app)


@pytest.mark.parametrize("part", ["lasso=tsne.2:0,0;1,0;1,1", "lasso=isomap.9:0,0;1,0;1,1", "lasso=pca.2:x", "nonsense"])
@pytest.mark.exhaustive
def test_a_lasso_whose_picture_is_not_here_is_one_sentence(part: str) -> None:
    app = opened("embeddings", slice=part)
    assert not app.exception
    assert len([*app.warning, *app.info]) == 1
    assert titled(app) == "PCA, layer 2, the last"
    assert not (marked(app) & 2).any()


@pytest.mark.exhaustive
def test_the_demo_set_and_its_layers_are_asked_beside_the_page() -> None:
    """Vectors of the demo set are computed with progress; then lower layers are available, rotated onto those above."""
    app = settled(opened("embeddings", over="demo", depth="0"))
    assert titled(app) == "PCA, embedding"
    assert "Rotated and scaled" in words(app)
    assert at_hand(app) == 3
    assert "Rotated and scaled" not in words(opened("embeddings", over="demo"))


@pytest.mark.data
@pytest.mark.exhaustive
def test_one_button_brings_every_layer() -> None:
    """First only the last layer of the stored sample is shown; after the button every layer is, with the same rows in the same order."""
    app = opened("embeddings")
    assert drawn(app)["more"]
    before = base64.b64decode(drawn(app)["places"])
    app = settled(app.button(key="every-layer").click().run())
    assert at_hand(app) == 3
    assert base64.b64decode(drawn(app)["places"])[-len(before) :] == before
    assert "every-layer" not in {button.key for button in app.button}
    assert titled(app) == "PCA, layer 2, the last"  # the layer in view stays
    assert "HTML that moves" in {button.proto.label for button in app.get("download_button")}


@pytest.mark.exhaustive
def test_tsne_of_the_demo_set_states_its_parameters() -> None:
    app = settled(opened("embeddings", over="demo", method="tsne"))
    assert titled(app) == "t-SNE, layer 2, the last"
    assert "perplexity 30" in words(app)
    assert "KL divergence" in words(app)


@pytest.mark.exhaustive
def test_work_can_be_stopped_and_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """PCA is shown while another picture is computed; stopped work is not resumed before it is requested."""
    from app.blocks import pictures

    go, really = threading.Event(), pictures.pictures

    def slow(*args: Any, compute: bool = True, tick: Any = None, **more: Any) -> Any:
        while tick is not None and not go.is_set():
            tick(0.5, "t-SNE")
            time.sleep(0.02)
        return really(*args, compute=compute, **more)

    monkeypatch.setattr(pictures, "pictures", slow)
    app = opened("embeddings", method="tsne", over="demo", run="sst2/ndt-unit-3")
    end = time.monotonic() + 120
    while titled(app) != "PCA, layer 2, the last":  # the vectors come first
        assert time.monotonic() < end, words(app)
        time.sleep(0.1)
        app.run()
    next(button for button in app.button if (button.key or "").startswith("stop-")).click().run()
    assert not app.exception
    assert titled(app) == "PCA, layer 2, the last"
    while not (again := [button for button in app.button if (button.key or "").startswith("again-")]):  # the work ends after its step
        assert time.monotonic() < end
        app.run()
    go.set()
    again[0].click().run()
    assert titled(settled(app)) == "t-SNE, layer 2, the last"


@pytest.mark.exhaustive
def test_a_typed_sentence_is_placed_as_text() -> None:
    """A typed sentence is a star with a label, which is never markup and never in the link."""
    app = opened("embeddings")
    app.text_input(key="placed-sentence").set_value("a <b>warm</b> and splendid song").run()
    app = settled(app)
    star = drawn(app)["star"]
    assert star["name"] == "a <b>warm</b> and splendid song"  # only ever set as text
    assert "2" in star["places"]
    assert "<b>" not in words(app)
    assert "text" not in app.query_params


def test_a_damaged_sample_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from app.blocks import pictures
    from sentviz.errors import RunError

    def damaged(*_: object) -> None:
        raise RunError("The sample is damaged.")

    monkeypatch.setattr(pictures, "_sample", damaged)
    app = opened("embeddings")
    assert "The sample is damaged" in words(app)
    assert not charts(app) and not app.get("bidi_component")


def test_not_a_number_among_the_vectors_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from app.blocks import pictures

    pooled = np.full((40, 8), np.nan, dtype=np.float16)
    monkeypatch.setattr(pictures, "_sample", lambda *_: (np.arange(40), pooled))
    monkeypatch.setattr(pictures, "_pca", lambda rows, key, dims, missing, vectors: pictures.pictures(None, key, vectors, "pca", 2))
    app = opened("embeddings")
    assert "40 of 40 vectors" in words(app)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("outline", "says"),
    [
        ("-6,-10;3,-10;3,5;-6,5", "rows selected. sst2/ndt-unit-2 is right on"),
        ("90,90;91,90;91,91", "The selection holds no row"),
    ],
    ids=["some rows", "no row"],
)
def test_an_outline_says_what_it_holds(outline: str, says: str) -> None:
    """Accuracy inside and outside, and the nearest rows; an empty outline gets one sentence. Words counts only the rows of the outline."""
    app = opened("embeddings", run=RUN, slice=f"lasso=pca.2:{outline}")
    assert not app.exception, app.exception
    text = page_text(app).replace("\\", "")
    assert says in text
    if "no row" not in says:
        nearest = next(table.value for table in app.dataframe if "distance" in table.value)
        assert len(nearest) == 10 and nearest["distance"].is_monotonic_increasing
    app = opened("words", run=RUN, slice=f"lasso=pca.2:{outline}")
    assert not app.exception, app.exception
    assert "Only the words of" in page_text(app)
