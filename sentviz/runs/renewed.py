"""Shipped runs whose predictions were written anew in a smaller encoding, number for number equal, and their digests before that.

renewed.csv            before, now: digests of the run; predictions, predictions_before: SHA-256 of test.parquet
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

RENEWED = Path(__file__).with_name("renewed.csv")


@cache
def _predictions() -> dict[str, tuple[bytes, bytes]]:
    """Return the SHA-256 of test.parquet now and before by the digest of a run as it is stored now."""
    with RENEWED.open(encoding="utf-8", newline="") as file:
        return {row["now"]: (row["predictions"].encode(), row["predictions_before"].encode()) for row in csv.DictReader(file)}


def config_before(stored: str, config: bytes) -> bytes:
    """Return the bytes of config.json before the predictions of a run were written anew; empty if they never were.

    Args:
        stored: digest of the run as it is stored.
    """
    predictions, before = _predictions().get(stored, (b"", b""))
    return config.replace(predictions, before) if predictions else b""
