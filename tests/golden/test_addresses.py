"""Three hundred addresses of earlier versions open the state that is stored, with the stored notes.

The addresses themselves never change: people have them in papers and messages. `--bless` writes the states that they open now.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from app.focus import Focus
from sentviz.analysis.explain import SCORES

STORED = Path(__file__).with_name("addresses.json")
RUNS = (
    "english/mpnet",
    "english/minilm",
    "imdb/hardmax-d2",
    "nsmc/cls",
    "question_pair/cls",
    "sentiment140/7ess-v1",
    "sst2/cls-last-scaled",
    "sst2/diff",
    "sst2/ndt-unit-2",
    "sst2/vanilla",
    "sst5_trees/sentiformer",
)


def opened(address: str) -> dict[str, object]:
    """Return the state that an address opens, as the parameters of a link that has everything, and the notes about it."""
    focus, notes = Focus.parse(dict(parse_qsl(urlsplit(address).query, keep_blank_values=True)), RUNS, SCORES, RUNS[0])
    again, _ = Focus.parse(focus.query(with_text=True), RUNS, SCORES, RUNS[0])
    assert again == focus, f"{address} opens a state that its own link does not open"
    return {"state": focus.query(with_text=True), "notes": notes}


def test_addresses_open_the_state_that_is_stored(request: pytest.FixtureRequest) -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    now = {address: opened(address) for address in stored}
    if request.config.getoption("--bless"):
        STORED.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        stored = now
    assert len(stored) == 300
    assert not {address: (stored[address], now[address]) for address in stored if stored[address] != now[address]}
