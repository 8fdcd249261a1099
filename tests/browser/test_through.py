"""The page Through training in a real Chromium: the slider by mouse and keyboard, and playing."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.browser.visitor import FILM, film, settled

pytestmark = pytest.mark.usefixtures("moving")

RUN = "sst2/ndt-unit-2-epochs"
VIEW = ".st-key-figure-through"


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
    page.evaluate(FILM, "through")
    slider.press(" ")
    resting(page, last)
    frames = film(page)
    between = frames[(frames[:, 0] % 1) > 0]
    assert len(between) > 3 * last and len(set(between[:, 1])) > 2 * last  # not from stop to stop: on the way between them
    assert (np.diff(frames[:, 0]) >= 0).all()
