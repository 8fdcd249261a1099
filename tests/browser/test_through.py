"""The page Through training in a real Chromium: the slider by mouse and keyboard, playing, a row that is followed, and the files."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.browser.conftest import offline
from tests.browser.visitor import settled

pytestmark = pytest.mark.usefixtures("moving")

RUN = "sst2/ndt-unit-2-epochs"
VIEW = ".st-key-figure-through"
FILM = """() => {
  const root = [...document.querySelectorAll('*')].map(node => node.shadowRoot).find(root => root?.querySelector('.through')) || document
  const slider = root.querySelector('.time'), canvas = root.querySelector('canvas.points')
  const film = (window.film = [])
  const frame = now => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    let sum = 0
    for (let i = 0; i < data.length; i += 4) sum = (sum * 31 + data[i] + 3 * data[i + 1]) % 1000003
    film.push([now, Number(slider.value), sum])
    window.filming = requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
}"""


def opened(page: Any, server: str, query: str = "") -> Any:
    """Open the page and return its slider, at the last epoch."""
    page.goto(f"{server}/curves?run={RUN}{query}")
    slider = page.locator(f"{VIEW} .time")
    slider.wait_for(timeout=120_000)
    settled(page)
    return slider


def value(page: Any) -> float:
    """Return the value of the slider; 0 is the first epoch."""
    return float(page.locator(f"{VIEW} .time").input_value())


def resting(page: Any, stop: int) -> None:
    """Wait until the slider is at a stop."""
    page.wait_for_function(
        "stop => [...document.querySelectorAll('*')].map(node => node.shadowRoot ?? node)"
        ".some(root => Number(root.querySelector('.through .time')?.value) === stop)",
        arg=stop,
        timeout=20_000,
    )


def shot(page: Any, name: str) -> np.ndarray:
    """Return the pixels of a canvas."""
    return np.asarray(Image.open(io.BytesIO(page.locator(f"{VIEW} canvas.{name}").screenshot())).convert("RGB"), dtype=int)


@pytest.mark.exhaustive
def test_the_slider_drives_every_panel(page: Any, server: str) -> None:
    """Moving the slider from the last epoch to the first changes every panel without a request, and the text names the epoch."""
    slider = opened(page, server)
    last = value(page)
    before = {name: shot(page, name) for name in ("map", "points", "counts", "heads", "scalars", "curves")}
    sent: list[Any] = []

    def note(request: Any) -> None:
        sent.append(request)

    page.on("request", note)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 8, box["y"] + box["height"] / 2, steps=12)
    page.mouse.up()
    resting(page, 0)
    page.remove_listener("request", note)
    assert last > 2 and not sent
    assert page.locator(f"{VIEW} .where").inner_text() == "After epoch 1:"
    assert slider.get_attribute("aria-valuetext").startswith("epoch 1 of ")
    for name, old in before.items():
        assert np.abs(shot(page, name) - old).max() > 40, name
    assert not page.outside


@pytest.mark.exhaustive
def test_the_keyboard_steps_by_epochs_and_plays(page: Any, server: str) -> None:
    """The keys Home, right and space move the film: to the first epoch, one epoch on, and through pictures in between to the last."""
    slider = opened(page, server)
    last = int(value(page))
    slider.press("Home")
    resting(page, 0)
    slider.press("ArrowRight")
    resting(page, 1)
    slider.press("ArrowLeft")
    resting(page, 0)
    page.evaluate(FILM)
    slider.press(" ")
    resting(page, last)
    film = np.array(page.evaluate("() => { cancelAnimationFrame(window.filming); return window.film }"))
    between = film[(film[:, 1] % 1) > 0]
    assert len(between) > 3 * last and len(set(between[:, 2])) > 2 * last  # not from stop to stop: on the way between them
    assert (np.diff(film[:, 1]) >= 0).all()


@pytest.mark.exhaustive
def test_without_motion_it_jumps_from_epoch_to_epoch(page: Any, server: str) -> None:
    """The film jumps from epoch to epoch for visitors whose system asks for reduced motion."""
    page.emulate_media(reduced_motion="reduce")
    slider = opened(page, server)
    slider.press("Home")
    resting(page, 0)
    page.evaluate(FILM)
    slider.press(" ")
    resting(page, 2)
    film = np.array(page.evaluate("() => { cancelAnimationFrame(window.filming); return window.film }"))
    assert set(film[:, 1]) <= {0.0, 1.0, 2.0}


@pytest.mark.exhaustive
def test_a_typed_sentence_moves_where_weights_are_kept(page: Any, server: str) -> None:
    """Answer and map of a typed sentence are those of the epochs with weights, 1, 3 and 6; at other epochs a note names the epoch."""
    slider = opened(page, server)
    box = page.get_by_label("Sentence", exact=True)
    box.fill("Not bad at all.")
    box.press("Enter")
    label = page.locator(f"{VIEW} canvas.map").last  # the picture before may still be there
    page.wait_for_function(
        "() => [...document.querySelectorAll('*')].map(node => node.shadowRoot ?? node)"
        ".some(root => root.querySelector('.through canvas.map')?.getAttribute('aria-label')?.includes('“bad”'))",
        timeout=60_000,
    )
    assert "after epoch 6" in label.get_attribute("aria-label")
    slider.press("ArrowLeft")
    resting(page, 4)
    assert page.locator(f"{VIEW} .map-note").inner_text() == "The weights of epoch 5 are not installed. The map shows epoch 3."


@pytest.mark.exhaustive
def test_rows_can_be_listed_by_what_became_of_them(page: Any, server: str) -> None:
    """Choosing a kind of forgetting lists its rows with one cell per epoch; the shown epoch is marked in each row."""
    opened(page, server)
    kinds = page.locator(f"{VIEW} select.kind")
    for kind in ("forgotten", "learned"):
        wanted = int(re.search(rf"^{kind} \((\d+)\)$", "\n".join(kinds.locator("option").all_inner_texts()), re.MULTILINE)[1])
        kinds.select_option(kind)
        rows = page.locator(f"{VIEW} .row")
        assert rows.count() == min(wanted, 200)
        if wanted:
            rows.first.locator("i.now").wait_for(state="attached")  # marked with the next frame
            assert rows.first.locator("i.now").count() == 1
            cells = rows.first.locator("i")
            colours = [cell.get_attribute("class").split()[1] for cell in cells.all()]
            assert colours[-1] == ("bad" if kind == "forgotten" else "good")


@pytest.mark.exhaustive
def test_files_hold_the_whole_film(page: Any, server: str, disk: Any, tmp_path: Path) -> None:
    """The GIF has several frames, and the HTML, opened without a network, has the slider at the same rows and plays."""
    opened(page, server)
    text = page.locator(f"{VIEW} .what").inner_text()
    for name in ("gif", "html"):
        with page.expect_download(timeout=120_000) as download:
            page.locator(f".st-key-export-through-{name} button").click()
        download.value.save_as(tmp_path / f"film.{name}")
    assert Image.open(tmp_path / "film.gif").n_frames > 8
    with offline(disk):
        disk.emulate_media(reduced_motion="no-preference")
        disk.goto((tmp_path / "film.html").as_uri())
        disk.wait_for_selector(".through canvas.points")
        assert disk.locator(".what").inner_text() == text
        disk.locator("button.first, button.back").first.click()
        disk.wait_for_function("() => Number.isInteger(Number(document.querySelector('.time').value))")
        disk.locator("button.play").click()
        disk.wait_for_function("() => document.querySelector('.through.playing, .playing')")
        assert disk.locator(".list").inner_text().count("train-") > 3  # ids: texts of data sets stay out of files
