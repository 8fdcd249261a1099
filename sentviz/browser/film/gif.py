"""A training run as a GIF, drawn with Pillow alone: the same bytes for the same film."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.browser.film import Film, line_groups
from sentviz.browser.gif import SCALE, font, gif, moments, rgb, write
from sentviz.errors import InputError
from sentviz.figures.colours import Theme, blend, class_colours, ink_on, palette
from sentviz.figures.text import visible

Doubles = npt.NDArray[np.float64]

REST, END = 6, 24  # pictures at an epoch, at the end
MOST = 24  # epochs
NAMED = 32  # tokens that have their names


def film_gif(film: Film, *, width: int = 960, height: int = 420, theme: Theme = "light") -> bytes:
    """Map and answer, points, confusion matrix and losses, from epoch to epoch.

    Args:
        film: what is shown; of more than 24 epochs the first 24.
        width, height: in pixels.
    """
    if not (480 <= width <= 1600 and 240 <= height <= 1200):
        raise InputError("A film can be 480 to 1,600 pixels wide and 240 to 1,200 high.")
    states = min(len(film.seen.epochs), MOST)
    stage = _Stage(film, width * SCALE, height * SCALE, theme)
    return gif(moments(states, REST, END), lambda time: stage.picture(time).reduce(SCALE))


class _Stage:
    """The positions of the parts of the picture, and everything that is the same in all pictures."""

    def __init__(self, film: Film, width: int, height: int, theme: Theme) -> None:
        self.film, self.look, self.size = film, palette(theme), (width, height)
        self.classes = class_colours(film.seen.first.classes, theme)
        self.maps = film.maps() if film.mapped else None
        self.places, self.right, self.counts = film.places(), film.seen.right, film.seen.counts
        self.losses: list[dict[str, Any]] = next((group["lines"] for group in line_groups(film) if group["title"] == "Loss"), [])
        top, gap = 34 * SCALE, 16 * SCALE
        columns = 3 if film.first is not None else 2
        wide, high = (width - gap * (columns + 1)) / columns, height - top - gap
        boxes = [(gap + i * (wide + gap), float(top), wide, high) for i in range(columns)]
        self.words = boxes[0] if film.first is not None else None
        self.dots = boxes[-2]
        left, up, wide, high = boxes[-1]
        self.cells, self.lines = (left, up, wide, 0.56 * high), (left, up + 0.62 * high, wide, 0.38 * high)

    def picture(self, time: float) -> Any:
        """Return the picture at a time, from 0 to the number of epochs less one."""
        from PIL import Image, ImageDraw

        image = Image.new("RGB", self.size, self.look.paper)
        pen = ImageDraw.Draw(image)
        stop, seen = round(time), self.film.seen
        heading = f"{visible(self.film.title)}  ·  epoch {seen.epochs[stop]}  ·  {self.right[stop].mean():.1%} right"
        write(pen, (16 * SCALE, 8 * SCALE), heading, self.look.ink, 14)
        if self.words is not None:
            self._sentence(image, pen, time)
        self._points(pen, time)
        self._counts(pen, stop)
        self._lines(pen, time)
        return image

    def _around(self, time: float) -> tuple[int, int, float]:
        """Return the indices of the sentence's traces before and after a time, and the share of the second one, as in through.js."""
        with_traces, epochs = list(self.film.traces), self.film.seen.epochs
        a, b = int(time), min(int(np.ceil(time)), len(epochs) - 1)
        if epochs[a] in with_traces and epochs[b] in with_traces:
            return with_traces.index(epochs[a]), with_traces.index(epochs[b]), time - a
        before = max(sum(epoch <= epochs[round(time)] for epoch in with_traces) - 1, 0)
        return before, before, 0.0

    def _sentence(self, image: Any, pen: Any, time: float) -> None:
        from PIL import Image, ImageDraw

        assert self.words is not None and self.film.first is not None
        left, top, wide, high = self.words
        a, b, part = self._around(time)
        traces, labels = list(self.film.traces.values()), self.film.first.labels
        shares = traces[a].probabilities * (1 - part) + traces[b].probabilities * part
        bars = 20 * SCALE * min(len(labels), 6)
        for k, (label, share) in enumerate(list(zip(labels, shares, strict=True))[:6]):
            y = top + high - bars + 20 * SCALE * k
            write(pen, (left, y), visible(label)[:14], self.look.ink)
            write(pen, (left + wide, y), f"{share:.0%}", self.look.ink, anchor="ra")
            start = left + min(96 * SCALE, 0.36 * wide)
            room = max(left + wide - 44 * SCALE - start, 1.0)
            pen.rectangle((start, y + 3 * SCALE, start + room * float(share), y + 12 * SCALE), fill=self.classes[k])
        if self.maps is None:
            return
        now = self.maps[a] * (1 - part) + self.maps[b] * part
        signed, peak, n = bool(self.maps.min() < 0), float(np.abs(self.maps).max()) or 1.0, len(now)
        stops = self.look.signed if signed else self.look.sequential
        place = (now / peak + 1) / 2 if signed else now / peak
        pixels = np.array([rgb(colour) for colour in blend(stops, np.round(place.ravel() * 48) / 48)], dtype=np.uint8)
        names = 74 * SCALE if n <= NAMED else 0
        side = int(min(wide - names, high - bars - names - 10 * SCALE))
        image.paste(
            Image.fromarray(pixels.reshape(n, n, 3)).resize((side, side), Image.Resampling.NEAREST), (int(left + names), int(top + names))
        )
        if not names:
            return
        cell = side / n
        letters = font(max(int(min(cell * 0.8, 11 * SCALE)), 8))
        for i, token in enumerate(self.film.first.tokens):
            at = names + (i + 0.5) * cell
            word = visible(token)[:10]
            pen.text((left + names - 6, top + at), word, fill=self.look.ink, font=letters, anchor="rm")
            name = Image.new("RGB", (int(names), int(cell) + 2), self.look.paper)
            ImageDraw.Draw(name).text((0, name.height / 2), word, fill=self.look.ink, font=letters, anchor="lm")
            image.paste(name.rotate(90, expand=True), (int(left + at - cell / 2), int(top) - 4))

    def _points(self, pen: Any, time: float) -> None:
        left, top, wide, high = self.dots
        pen.rectangle((left, top, left + wide, top + high), outline=self.look.grid, width=SCALE)
        a, stop = int(time), round(time)
        b = min(a + 1, len(self.places) - 1)
        now = self.places[a] + (self.places[b] - self.places[a]) * (time - a)
        scale, size = min(wide, high) / 2 - 10 * SCALE, 3.5 * SCALE
        for i, (x, y) in enumerate(now):
            at = (left + wide / 2 + x * scale, top + high / 2 - y * scale)
            box = (at[0] - size, at[1] - size, at[0] + size, at[1] + size)
            colour = self.classes[int(self.film.seen.first.labels[i])]
            wrong = not self.right[stop, i]
            pen.ellipse(box, fill=colour, outline=self.look.ink if wrong else None, width=SCALE + 1)

    def _counts(self, pen: Any, stop: int) -> None:
        left, top, wide, high = self.cells
        classes, counts = self.film.seen.first.classes, self.counts[stop]
        k, names = len(classes), min(76 * SCALE, 0.3 * wide)
        across, down = (wide - names) / k, (high - 18 * SCALE) / k
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        fills = blend(self.look.judged, (np.where(np.eye(k, dtype=bool), shares, -shares).ravel() + 1) / 2)
        for i, name in enumerate(classes):
            middle = top + 18 * SCALE + (i + 0.5) * down
            write(pen, (left + names - 8, middle), visible(name)[:9], self.look.ink, anchor="rm")
            write(pen, (left + names + (i + 0.5) * across, top + 8 * SCALE), visible(name)[:9], self.look.ink, anchor="mm")
            for j in range(k):
                x, y, fill = left + names + j * across, top + 18 * SCALE + i * down, fills[i * k + j]
                pen.rectangle((x + 2, y + 2, x + across - 2, y + down - 2), fill=fill)
                if k <= 8:
                    write(pen, (x + across / 2, y + down / 2), f"{counts[i, j]:,}", ink_on(fill), 13, "mm")

    def _lines(self, pen: Any, time: float) -> None:
        if not self.losses:
            return
        left, top, wide, high = self.lines
        epochs = self.film.seen.epochs
        points = [np.array([line["x"], line["y"]], dtype=float) for line in self.losses]
        xs, ys = (np.concatenate([line[axis] for line in points]) for axis in (0, 1))
        low, high_value, start, end = ys.min(), ys.max(), xs.min(), max(xs.max(), epochs[-1])
        a = int(time)
        now = epochs[a] + (epochs[min(a + 1, len(epochs) - 1)] - epochs[a]) * (time - a)
        room = high - 24 * SCALE
        for k, (line, (at_epochs, losses)) in enumerate(zip(self.losses, points, strict=True)):
            colour = self.look.lines[k % len(self.look.lines)]
            x = left + wide * (at_epochs - start) / max(end - start, 1e-9)
            y = top + 20 * SCALE + room * (1 - (losses - low) / max(high_value - low, 1e-9))
            pen.line(list(map(tuple, np.stack([x, y], axis=1))), fill=colour, width=2 * SCALE)
            write(pen, (left + 110 * SCALE * k, top), f"loss, {line['name']}", colour)
        at = left + wide * (now - start) / max(end - start, 1e-9)
        pen.line((at, top + 18 * SCALE, at, top + high), fill=self.look.ink, width=SCALE)
