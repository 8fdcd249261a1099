"""Whole answers as they are stored: a digest of their texts, and sums of their numbers. `pytest --bless` stores what the code gives now."""

import hashlib
import json
import math
import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DATA = Path(__file__).parent / "data"
PARTS = (r"\b[0-9a-f]{8}-[-0-9a-f]{27}\b", r"\b[0-9a-f]{12,}\b", r"[A-Za-z0-9+/]{60,}={0,2}", r"\d+\.\d+", r"\b\d{4}-\d\d-\d\d\b")
CHANGING = re.compile("|".join(PARTS))  # names made by chance, digests, packed numbers, decimals, dates
DECIMAL = re.compile(r"(?<![\w.])-?\d+\.\d+(?![\w.]*\w)")


def leaves(part: Any) -> Iterator[float | str]:
    """Yield the numbers and texts of a value, in their order; of an array that Plotly packed, its numbers."""
    if isinstance(part, dict) and "bdata" in part:
        yield from np.frombuffer(b64decode(part["bdata"]), part["dtype"]).astype(float).tolist()
    elif isinstance(part, dict):
        for key in sorted(part, key=str):
            yield str(key)
            yield from leaves(part[key])
    elif isinstance(part, list | tuple | np.ndarray):
        for each in part:
            yield from leaves(each)
    elif isinstance(part, int | float | np.number) and not isinstance(part, bool):
        yield float(part)
    else:
        yield str(part)


def summary(value: Any, computed: re.Pattern[str] | None = None) -> list[Any]:
    """Return a digest of the texts of a value, and the count of its numbers, their sum, and their sum with weights by their places.

    Numbers with decimals in its texts count as numbers, because machines round them otherwise.

    Args:
        computed: parts of texts that are left out, because they are computed from numbers.
    """
    every = [*leaves(value)]
    texts = "\0".join(each for each in every if isinstance(each, str))
    written = map(float, DECIMAL.findall(texts)) if len(texts) < 20_000 else ()  # a page draws by numbers
    numbers = np.array([*(each for each in every if isinstance(each, float) and math.isfinite(each)), *written])
    texts = CHANGING.sub("", computed.sub("", texts) if computed else texts)
    sums = numbers.sum(), numbers @ (1 + np.arange(len(numbers)) % 97)
    return [hashlib.sha256(texts.encode(errors="replace")).hexdigest()[:12], len(numbers), *(float(f"{each:.9g}") for each in sums)]


def compare(file: str, name: str, now: dict[str, list[Any]], request: pytest.FixtureRequest, tolerance: float = 1e-6) -> None:
    """Compare summaries with those of a file in `tests/data`, or store them."""
    path = DATA / file
    stored = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if request.config.getoption("--bless"):
        stored[name] = now
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(stored.items()))
        path.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    assert now.keys() == stored.get(name, {}).keys(), f"{name} has other parts; if it should, `--bless` stores them"
    for part, (texts, *numbers) in now.items():
        wanted = [stored[name][part][0], *(pytest.approx(number, rel=tolerance, abs=tolerance) for number in stored[name][part][1:])]
        assert [texts, *numbers] == wanted, f"{name}, {part} differs; if it should, `--bless` stores it"
