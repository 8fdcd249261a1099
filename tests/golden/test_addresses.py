"""Three hundred addresses of earlier versions open the state that is stored, with the stored notes.

The addresses themselves never change: people have them in papers and messages. `--bless` writes the states that they open now, and what a
visitor has of each: its chips, what a smaller model shows of it, and what is left of a text that was typed before, or is set after it.
"""

import json
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from app.focus import FIELDS, Focus
from sentviz.analysis.explain import SCORES
from sentviz.runs.configs import Capabilities
from sentviz.runs.intervention import Intervention

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
CLASSES = ("no", "yes")
TYPED = Focus(run="sst2/ndt-unit-2", text="typed words", change=Intervention.parse("gate:2=0"), token=2, row="test-1")
UNTYPED = Focus(
    run="sst2/ndt-unit-2",
    pair="a second text",
    layer=2,
    change=Intervention.parse("head:1.2=0"),
    over="demo",
    among="has=negation",
    slice="cell=1,0",
)
SMALL = Capabilities(layers=1, components=1, heads=2)


def opened(address: str) -> dict[str, object]:
    """Return the state that an address opens, as the parameters of a link that has everything, and the notes about it."""
    focus, notes = Focus.parse(dict(parse_qsl(urlsplit(address).query, keep_blank_values=True)), RUNS, SCORES, RUNS[0])
    again, _ = Focus.parse(focus.query(with_text=True), RUNS, SCORES, RUNS[0])
    assert again == focus, f"{address} opens a state that its own link does not open"
    return {"state": focus.query(with_text=True), "notes": notes, **visited(focus)}


def visited(focus: Focus) -> dict[str, object]:
    """Return what a visit makes of the state of a link, without what is empty or is the state itself."""
    fitted, notes = focus.fit(SMALL)
    own = {name: getattr(focus, name) for name in FIELDS if getattr(focus, name) != getattr(Focus(), name)}
    states = {
        "small": fitted,
        "beside typed": focus.beside(TYPED),
        "beside untyped": focus.beside(UNTYPED),
        "set on typed": TYPED.with_(**own),
        "set on untyped": UNTYPED.with_(**own),
        "as trained": focus.as_trained(),
    }
    queries = {name: state.query(RUNS[0], with_text=True) for name, state in states.items() if state != focus}
    chips, single = focus.chips(CLASSES, pairs=True), focus.chips(CLASSES)
    hidden = sorted(focus.query(with_text=True).keys() - focus.query().keys())
    parts = {
        "chips": chips,
        "only with pairs": sorted(chips.keys() - single.keys()),
        "small notes": notes,
        "not in its link": hidden,
        **queries,
    }
    return {name: part for name, part in parts.items() if part}


def test_addresses_open_the_state_that_is_stored(request: pytest.FixtureRequest) -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    now = json.loads(json.dumps({address: opened(address) for address in stored}))
    if request.config.getoption("--bless"):
        STORED.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        stored = now
    assert len(stored) == 300
    assert not {address: (stored[address], now[address]) for address in stored if stored[address] != now[address]}


EVERY: dict[str, tuple[object, str]] = {  # field -> a value other than the default, and its chip
    "versus": (("sst2/diff", "sst2/vanilla"), "compared with sst2/diff, sst2/vanilla"),
    "text": ("typed words", "“typed words”"),
    "pair": ("more words", "“more words”"),
    "second": ("other words", "second: “other words”"),
    "row": ("test-3", "row test-3"),
    "layer": (2, "layer 2"),
    "head": ("3", "head 3"),
    "component": ("2", "component A₂"),
    "large": ("chosen", "a chosen map"),
    "score": ("received", "Attention received"),
    "target": ("positive", "explains positive"),
    "against": ("negative", "against negative"),
    "change": (Intervention.parse("head:1.2=0"), "layer 1 head 2 off"),
    "token": (3, "token 3"),
    "over": ("demo", "demo set"),
    "among": ("has=negation", "with negation"),
    "slice": ("cell=1,0", "yes predicted as no"),
    "threshold": (0.25, "threshold 0.25"),
    "words": ("count", "words by frequency"),
    "study": ("imdb", "study of imdb"),
    "part": ("items", "items"),
    "depth": (0, "embedding"),
    "look": ("layers", "layers and heads"),
    "scale": ("change", "change from the start"),
    "style": ("size=column", "figure style: column"),
}
CHIP = {"change": "head:1.2=0"}  # an edit has its own chip


def test_each_field_has_its_chip() -> None:
    """A field that is not at its default has a chip with these words, also beside all others, and is in the link; "shared" has neither."""
    assert EVERY.keys() == FIELDS.keys() - {"run", "shared"}
    alone = {name: Focus(**{name: value}).chips(CLASSES, pairs=True) for name, (value, _) in EVERY.items()}
    assert alone == {name: {CHIP.get(name, name): words} for name, (_, words) in EVERY.items()}
    together = Focus(**{name: value for name, (value, _) in EVERY.items()})  # type: ignore[arg-type]
    assert together.chips(CLASSES, pairs=True) == {CHIP.get(name, name): words for name, (_, words) in EVERY.items()}
    assert together.query(with_text=True).keys() == EVERY.keys()
