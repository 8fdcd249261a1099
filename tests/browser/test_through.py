"""Pictures that move in a real Chromium: the film of a training, points that travel between layers, and clusters of tokens."""

import io
import re
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
import pytest
from PIL import Image

from tests.browser.visitor import FILM, HEADING, chosen, film, settled, surround

pytestmark = [pytest.mark.exhaustive, pytest.mark.usefixtures("moving")]

RUN = "sst2/ndt-unit-2-epochs"
VIEW = ".st-key-figure-through"
PLOT = ".st-key-figure-embedding"


def opened(page: Any, server: str, query: str = "") -> Any:
    """Open the page and return its slider, at the last epoch."""
    page.goto(f"{server}/curves?run={RUN}{query}")
    slider = page.locator(f"{VIEW} .time")
    slider.wait_for(timeout=120_000)
    settled(page)
    return slider


def value(page: Any) -> float:
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
    return np.asarray(Image.open(io.BytesIO(page.locator(f"{VIEW} canvas.{name}").screenshot())).convert("RGB"), dtype=int)


def test_the_slider_drives_every_panel(page: Any, server: str) -> None:
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
    assert last > 2 and not sent and page.locator(f"{VIEW} .where").inner_text() == "After epoch 1:"
    assert slider.get_attribute("aria-valuetext").startswith("epoch 1 of ")
    for name, old in before.items():
        assert np.abs(shot(page, name) - old).max() > 40, name
    assert not page.outside


def test_the_keyboard_steps_by_epochs_and_plays(page: Any, server: str) -> None:
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


def opened_map(page: Any, server: str, query: str = "") -> Any:
    """Open the page, by default with a run of two layers, and return the area that takes the pointer."""
    run = "" if "run=" in query else "run=english/ndt-unit-2&"
    page.goto(f"{server}/embeddings?{run}{query.removeprefix('?')}")
    canvas = page.locator(f"{PLOT} canvas")
    canvas.wait_for(timeout=120_000)
    page.wait_for_selector(HEADING, timeout=120_000)
    settled(page)
    return canvas


def legend(page: Any) -> int:
    """Return the number of points that are not faded, by the picture's legend."""
    counts = page.locator(f"{PLOT} .legend button").all_inner_texts()
    return sum(int(re.search(r"\(([\d,]+)\)", text)[1].replace(",", "")) for text in counts if not text.startswith("wrong"))


def test_a_lasso_shows_its_rows_and_the_link_shows_them_again(page: Any, server: str) -> None:
    area = opened_map(page, server)
    surround(page, area, [(0.02, 0.02), (0.5, 0.02), (0.45, 0.5), (0.5, 0.98), (0.02, 0.98)])
    at_once = legend(page)
    n = chosen(page)
    assert 100 < n < 1000
    assert abs(n - at_once) <= 5  # points that the browser marks before Python answers with a simpler outline
    page.wait_for_url(re.compile("slice="), timeout=30_000)
    part = unquote(parse_qs(urlsplit(page.url).query)["slice"][0])
    assert part.startswith("lasso=pca.2:") and 5 <= part.count(";") + 1 <= 24
    page.wait_for_selector(f"{PLOT} .outline", timeout=30_000)
    opened_map(page, server, "?" + urlsplit(page.url).query)
    assert chosen(page) == n and legend(page) == n and page.locator(f"{PLOT} .outline").count() == 1
    assert page.outside == []


def test_points_travel_from_layer_to_layer(page: Any, server: str) -> None:
    opened_map(page, server, "?over=demo&depth=0")
    page.wait_for_function(f"document.querySelector('{HEADING}') && !document.querySelector('[class*=st-key-stop-]')", timeout=200_000)
    page.locator(f"{PLOT} .play").wait_for(timeout=60_000)
    settled(page)
    assert page.locator(f"{PLOT} .marks [aria-current]").inner_text() == "embedding"
    page.evaluate(FILM, "points")
    page.locator(f"{PLOT} .play").click()
    page.wait_for_function("!new URL(location).searchParams.has('depth')", timeout=60_000)
    frames = film(page)
    between = frames[(frames[:, 0] % 1) > 0]
    assert len(set(between[:, 0])) >= 8 and len(set(between[:, 1])) >= 8
    assert page.locator(f"{PLOT} .title").inner_text().endswith("layer 2, the last")


def reads(page: Any, layer: str) -> None:
    """Wait until the line below the picture names the layer."""
    page.locator(".readout .where", has_text=layer).wait_for(timeout=60_000)


def pixels(canvas: Any) -> str:
    return str(canvas.evaluate("async c => { await new Promise(requestAnimationFrame); return c.toDataURL() }"))


def test_the_playground_plays_steps_and_hears_clicks(page: Any, server: str) -> None:
    page.goto(f"{server}/hardmax")
    page.locator(".st-key-focus-lab button", has_text="Playground").click(timeout=60_000)
    settled(page)  # until then the canvas of the part before stands too
    canvas = page.locator(".particles canvas")
    canvas.wait_for(timeout=60_000)
    page.locator(".speed").select_option("4")
    canvas.focus()
    page.keyboard.press("Home")
    reads(page, "At the start")
    before = pixels(canvas)
    page.keyboard.press(" ")
    assert page.locator(".particles.playing").count() == 1
    reads(page, "After layer 10 of 10")
    page.locator(".particles.playing").wait_for(state="detached", timeout=10_000)
    assert pixels(canvas) != before
    for key in ("ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    reads(page, "After layer 8 of 10")
    page.keyboard.press("Home")
    reads(page, "At the start")
    page.keyboard.press("ArrowDown")
    page.locator(".readout .what", has_text="#").wait_for(timeout=60_000)
    page.keyboard.press("Enter")
    page.get_by_text("in layer 1").wait_for(timeout=60_000)
    page.locator(".st-key-figure-play-step .main-svg").first.wait_for(timeout=60_000)
    page.keyboard.press("Escape")
    assert page.outside == []
