"""Layout of word clouds, and a search for letters that no installed font has."""

from __future__ import annotations

import math
import shutil
import subprocess
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sentviz.charts.text import SKIN_TONES, text_columns
from sentviz.errors import InputError
from sentviz.io.lazy import pd

SMALLEST, TRIES = 9.0, 24  # pixels of the smallest letters; number of free places that a word chooses from
LONGEST = 20  # columns of a word in a cloud
_WIDTHS = {"iljI'.": 0.26, "tfr": 0.37, "ckszvxyJ": 0.55, "mMWw": 0.94, "GOQCDNHRUKABEPSVXYZTL": 0.82}  # ems


def layout(
    weights: Mapping[str, float],
    width: int,
    height: int,
    seed: int = 0,
    *,
    power: float = 0.5,
    smallest: float = SMALLEST,
    largest: float = math.inf,
) -> pd.DataFrame:
    """Place words so that the size of their letters grows with their weights, the largest near the middle, and no two boxes overlap.

    Free places are found by the occupancy map of the package `wordcloud`; letters are as wide as in Helvetica and a tenth more, so that
    the picture is the same on every machine and holds in the fonts that figures use.

    Args:
        weights: word -> a number above 0.
        width, height: pixels.
        power: of a weight, to which sizes are proportional: with 0.5 the letters cover areas in proportion to the weights.
        smallest, largest: pixels of the smallest and of the largest letters.
    Frame:
        word, x, y (the middle, pixels from the lower left), size (of the letters), width, height (of the box); the heaviest first.
        Words that find no place at the smallest size are left out.
    """
    if min(width, height) < 40:
        raise InputError("A cloud needs at least 40 by 40 pixels.")
    if not all(np.isfinite(weight) and weight > 0 for weight in weights.values()):
        raise InputError("The weights of a cloud must be numbers greater than 0.")
    order = sorted(weights, key=lambda word: (-weights[word], word))
    ems = np.array([_ems(word) for word in order])
    shares = np.array([weights[word] / weights[order[0]] for word in order]) ** power
    top = min([height * 0.3, largest, *(0.9 * width / (ems * shares))], default=0.0)
    while True:
        placed = _placed(np.maximum(top * shares, smallest), ems, width, height, seed)
        if len(placed) == len(order) or top < 1.2 * smallest:
            break
        top *= 0.93
    return pd.DataFrame([{"word": order[i], **box} for i, box in placed], columns=["word", "x", "y", "size", "width", "height"])


def _placed(
    sizes: npt.NDArray[np.float64], ems: npt.NDArray[np.float64], width: int, height: int, seed: int
) -> list[tuple[int, dict[str, float]]]:
    """Return the indices of words that found a place, with their boxes; the area is searched in squares of two pixels."""
    from random import Random

    from wordcloud.wordcloud import IntegralOccupancyMap

    rng, tall, wide = Random(seed), height // 2, width // 2
    free, occupied = IntegralOccupancyMap(tall, wide, None), np.zeros((tall, wide), dtype=np.uint8)
    placed = []
    for i, (size, em) in enumerate(zip(sizes.tolist(), ems.tolist(), strict=True)):
        box_width, box_height = size * em + 6, size * 1.2
        across, down = int(np.ceil(box_width / 2)), int(np.ceil(box_height / 2))
        tries = [free.sample_position(down, across, rng) for _ in range(TRIES)] if across < wide and down < tall else []
        spots = [spot for spot in tries if spot is not None]
        if not spots:
            continue
        # The occupancy map leaves the first row and column of a free place taken.
        y, x = 1 + np.array(min(spots, key=lambda spot: np.hypot((spot[0] + down / 2) / tall - 0.5, (spot[1] + across / 2) / wide - 0.5)))
        occupied[y : y + down, x : x + across] = 255
        free.update(occupied, y, x)
        middle = {"x": 2.0 * x + across, "y": height - 2.0 * y - down}
        placed.append((i, {**middle, "size": size, "width": box_width, "height": box_height}))
    return placed


def _ems(word: str) -> float:
    """Return the width of a word of at most LONGEST columns, in sizes of its letters; longer words are cut."""

    def advance(letter: str) -> float:
        if unicodedata.category(letter) in {"Mn", "Me", "Cf"} or letter in SKIN_TONES:
            return 0.0
        if unicodedata.east_asian_width(letter) in "WF":
            return 1.1
        return next((width for letters, width in _WIDTHS.items() if letter in letters), 0.62 if ord(letter) < 0x250 else 0.78)

    return sum(map(advance, word[:LONGEST])) + (1.1 if text_columns(word) > LONGEST else 0.0)


def unwritable(words: Iterable[str]) -> str:
    """Return a sentence on words with letters that no installed font has: how many of which kind; "" if all can be drawn, or if the
    fonts are unknown.
    """
    kinds: dict[str, list[str]] = {}
    for word in dict.fromkeys(words):
        if foreign := [letter for letter in word if ord(letter) > 0x24F and unicodedata.category(letter) not in {"Mn", "Me", "Cf"}]:
            kinds.setdefault(_kind(foreign[0]), []).append(word)
    doubtful = {kind: some for kind, some in kinds.items() if not _has_font("".join(sorted(set("".join(some)))))}
    missing = {kind: sum(not all(map(_has_font, word)) for word in some) for kind, some in doubtful.items()}
    named = [f"{kind} {n}" for kind, n in missing.items() if n]
    if not named:
        return ""
    return (
        f"No font of this machine can draw {sum(missing.values())} of the words ({', '.join(named)}). PNG and PDF files show boxes in"
        " their place."
    )


def _kind(letter: str) -> str:
    """Return the script of a letter, or "emoji"."""
    return "emoji" if unicodedata.category(letter)[0] == "S" else unicodedata.name(letter, "other").split()[0].capitalize()


@lru_cache(maxsize=4096)
def _has_font(letters: str) -> bool:
    """Return whether one installed font has all letters; True if the fonts are unknown."""
    program = shutil.which("fc-list")
    codes = " ".join(f"{ord(each):x}" for each in letters if ord(each) > 0x24F and unicodedata.category(each) not in {"Mn", "Me", "Cf"})
    if not codes or program is None:
        return True
    try:
        fonts = subprocess.run([program, f":charset={codes}", "file"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return True
    return bool(fonts.stdout.strip())
