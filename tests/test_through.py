"""Data of a training run for the browser, its file, its film, and the figures of epochs."""

from __future__ import annotations

import io
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from sentviz.analysis.epochs import EpochSeries, Measured, epoch_series, events, examples
from sentviz.browser.film import Film, through_data, through_html
from sentviz.errors import InputError
from sentviz.export.animation import film_gif
from sentviz.export.chromium import find_browser
from sentviz.runs.store import Run
from tests.charts import figure_of, stub
from tests.kit import refused, toy_splits


@pytest.fixture(scope="module")
def film(kept_epochs: Path) -> Film:
    """Return the film of the run that stores its last three epochs."""
    run = Run.open(kept_epochs)
    return Film("toy & <b>", epoch_series(run), examples(run)[0], run.history(), run.capabilities.scalars, layer=1)


def unpacked(data: dict[str, object], name: str, kind: str) -> np.ndarray:
    """Return numbers as the scripts read them."""
    return np.frombuffer(b64decode(str(data[name])), dtype=kind)


def test_signed_maps_are_centred_at_zero(film: Film) -> None:
    signed = {epoch: trace.replace(attention=-trace.attention if epoch == 3 else trace.attention) for epoch, trace in film.traces.items()}
    sentence = through_data(replace(film, traces=signed))["sentence"]
    n = len(sentence["tokens"])
    maps = (unpacked(sentence, "maps", "u1").reshape(3, n, n).astype(float) - 128) / 127 * sentence["peak"]
    assert sentence["signed"] and (maps[1] <= 0).all() and (maps[0] >= 0).all()
    np.testing.assert_allclose(maps[1], signed[3].map(1), atol=0.51 / 127 * sentence["peak"])


def test_texts_travel_only_where_they_are_given(film: Film) -> None:
    texts = dict(zip(toy_splits()["validation"].frame["id"], toy_splits()["validation"].frame["text"], strict=True))
    with_texts = through_data(film, texts=texts)
    assert all(row["text"] == texts[row["id"]] for row in with_texts["rows"])
    assert not any(row["text"] for row in through_data(film)["rows"]) and with_texts["mark"] != through_data(film)["mark"]
    page = through_html(film)
    assert not any(text in page for text in texts.values() if text not in film.first.text)  # type: ignore[union-attr]


@pytest.mark.skipif(find_browser() is None, reason="no Chrome or Chromium on this machine")
@pytest.mark.slow
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


def test_what_is_not_at_hand_is_left_out(film: Film, tmp_path: Path) -> None:
    epoch = film.seen.measured[0]
    bare = replace(epoch, heads=epoch.heads.iloc[:0])
    less = Film("bare", EpochSeries((bare,)), {}, film.history.iloc[:0])
    data = through_data(less)
    assert data["sentence"] is None and data["groups"] == [] and data["epochs"] == [2]
    bare.save(tmp_path / "x.safetensors")  # A model without attention has no rows of heads.
    again = Measured.load(tmp_path / "x.safetensors")
    assert again.heads.empty and again.ids == bare.ids
    assert "<title>bare</title>" in through_html(less)
    if find_browser():
        assert film_gif(less, width=480, height=240)


# ---- figures


def test_forgotten_rows_stand_first() -> None:
    right = np.array([[0, 1, 1, 1], [1, 0, 1, 1], [1, 0, 0, 1], [1, 0, 1, 1], [1, 0, 0, 1]], dtype=bool)
    assert events(right).forgotten.tolist() == [0, 1, 2, 0]
    of = stub(series=stub(epochs=[1, 2, 3, 4, 5], right=right, first=stub(ids=["learned", "once", "twice", "never"])))
    few = figure_of("epoch-rows", of, most=1)
    assert list(few.plot.layout.yaxis.ticktext) == ["twice"] and len(few.frame) == 20


def test_what_cannot_be_drawn_is_said_in_a_sentence(film: Film) -> None:
    for name, options in (("epoch-heads", {"measure": "mood"}), ("epoch-rows", {"most": 0})):
        with pytest.raises(InputError):
            figure_of(name, stub(series=film.seen), **options)


# ---- curves of several seeds


def history(shift: float, steps: tuple[int, ...] = (10, 20, 30)) -> pd.DataFrame:
    """Return three evaluations of a made-up run."""
    rows = [(step, step / 10, name, value + shift) for step in steps for name, value in (("train_loss", 1.0), ("validation_accuracy", 0.8))]
    return pd.DataFrame(rows, columns=["step", "epoch", "name", "value"])
