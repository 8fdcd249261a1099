"""The app's one state: in and out of the URL, and what does not belong."""

import dataclasses
from itertools import product
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.fields import LISTED, LinkNames, as_sent, choice, declared, two_places, whole_number
from app.focus import CHIPS, EARLIER, FIELDS, NOTES, PRIVATE, Focus, choices
from sentviz.runs.configs import LEXICON, Capabilities
from sentviz.runs.intervention import UNCHANGED, Edit, Intervention

RUNS = ("english/ndt-unit-2", "sst2/diff")
SCORES = ("removal", "received")
DEFAULT = Focus(run=RUNS[0])  # focus of an empty link
SHUT = Intervention.parse("gate:3=0")


def test_texts_and_gates_stay_out_of_the_url_until_they_are_shared() -> None:
    focus = Focus(text="my private words")
    assert "text" not in focus.query()
    assert focus.query(with_text=True) == {"text": "my private words"}
    linked, _ = Focus.parse({"text": "my private words"}, RUNS, SCORES)
    assert linked.query(RUNS[0]) == {"text": "my private words"}
    assert "text" not in linked.with_(text="other words").query()
    focus = Focus(text="one", change=SHUT)
    assert focus.with_(layer=2).change == SHUT
    moved = ({"text": "two"}, {"row": "test-1"}, {"run": "sst2/diff"})
    assert [focus.with_(**change).change for change in moved] == [UNCHANGED] * 3
    both = SHUT.with_(Edit("head", (0, 1)))
    assert Focus(text="mine", change=both).query() == {"change": "head:1.2=0"}
    assert Focus(text="mine", change=SHUT).query(with_text=True) == {"text": "mine", "change": "gate:3=0"}
    for focus in (Focus(change=SHUT), Focus(row="test-1", change=SHUT), Focus(text="sent", shared=True, change=SHUT)):
        assert focus.query()["change"] == "gate:3=0"


def test_what_means_nothing_falls_back_with_a_note() -> None:
    for query, note in (
        ({"run": "sst2/none"}, "the run “sst2/none”, which is not available; english/ndt-unit-2 is shown instead."),
        ({"versus": "sst2/diff~x/y"}, "the run “x/y”, which is not available; it is left out."),
        ({"layer": "0"}, "the layer “0”, which is not available; the default is shown."),
        ({"mix": "1.2:nan"}, "the lambda “1.2:nan”, which is not available; the learned one is used."),
        ({"off": "a.b"}, "silenced heads “a.b”"),
        ({"strength": "lexicon:1:2"}, "the strength “lexicon:1:2”"),
        ({"change": "head:0.4=0"}, "the change “head:0.4=0”"),
        ({"over": "x" * 80}, f"the over “{'x' * 59}…”"),
    ):
        focus, (only,) = Focus.parse(query, RUNS, SCORES)
        assert focus.with_(versus=()) == DEFAULT and note in only
    n = 30_000
    texts = ("9" * n, "1." + "9" * n, "1." * n, "~" * n, "1.2:" + "9" * n)
    for name, value in product(sorted({*FIELDS, *EARLIER}), texts):
        free = name in {*TEXTS, *PRIVATE, "shared"}
        focus, notes = Focus.parse({name: value}, RUNS, SCORES)
        assert (free or len(notes) in (1, NOTES)) and all(len(note) < 250 for note in notes), value[:20]
        assert free or len(focus.query().get(name, "")) < 8 * LISTED


def test_earlier_links_name_the_same_intervention() -> None:
    earlier = {"mix": "1.2:-0.25", "off": "1.4~2.1", "strength": "lexicon:0.5~gate:1", "gates": "4:shut~2:open"}
    focus, notes = Focus.parse(earlier, RUNS, SCORES)
    assert focus.query() == {"run": RUNS[0], "change": "lambda:1.2=-0.25~head:1.4=0~head:2.1=0~gate:2=1~gate:4=0~term:lexicon=0.5"}
    assert (notes, Focus.parse(focus.query(), RUNS, SCORES)) == ([], (focus, []))
    both, notes = Focus.parse({"off": "2.1", "change": "head:1.4=0~nonsense~state:1.2=0~head:1.4=0.5~gate=1"}, RUNS, SCORES)
    assert both.change.text() == "head:1.4=0.5~head:2.1=0~state:1.2=0" and len(notes) == 2
    change = Intervention.parse("head:1.4.3=@5~donor:1=another%20text")
    focus, notes = Focus.parse({"change": change.text(), "off": "2.1"}, RUNS, SCORES)
    assert notes == [] and focus.change == change.with_(Edit("head", (1, 0)))
    assert focus.fit(Capabilities(2, 4, replaces=("head",))) == (focus, [])
    assert focus.with_(text="words").change.text() == "head:2.1=0"


def test_a_change_takes_others_back_and_a_reader_takes_its_range() -> None:
    change = Intervention.parse("head:1.1=0~term:lexicon=0.5")
    every = Focus(
        run="a/b", text="one", pair="two", second="three", layer=2, head="4", component="2", large="chosen", target="up", against="down",
        change=change, token=4, over="demo", among="has=negation", slice="cell=1,0", threshold=0.5, depth=1, scale="change", shared=True,
    )  # fmt: skip
    of_run = {"layer", "head", "component", "large", "target", "against", "change", "token", "slice", "threshold", "depth"}
    gone = {
        ("run", "c/d"): of_run,
        ("run", "a/b"): set(),
        ("text", "four"): {"second", "token", "shared"},
        ("text", "one"): {"second", "token", "shared"},
        ("row", "test-1"): {"text", "pair", "second", "token", "shared"},
        ("row", ""): set(),
        ("over", "mine"): {"among", "slice"},
        ("among", ""): {"slice"},
        ("target", "middle"): {"against"},
        ("pair", "four"): set(),
        ("look", "layers"): set(),
    }
    for (name, value), fields in gone.items():
        moved = every.with_(**{name: value})
        assert moved == dataclasses.replace(every, **{name: value}, **{field: FIELDS[field].default for field in fields}), name
    assert Focus(row="test-1").with_(run="c/d") == Focus(run="c/d") == Focus(row="test-1").with_(run="c/d", over="test")
    assert Focus(row="test-1").with_(over="demo") == Focus(over="demo") and len(as_sent("a" * 20_001)) == 20_000
    assert every.with_(text="two", token=2).token == 2 and every.as_trained() == dataclasses.replace(every, change=UNCHANGED)
    names = LinkNames(RUNS, SCORES, RUNS[0])

    def values(name: str, *texts: str) -> list[Any]:
        field = FIELDS.get(name) or EARLIER[name]
        assert field.read is not None
        return [value.text() if isinstance(value := field.read(text, names)[0], Intervention) else value for text in texts]

    assert values("layer", "1", "999", "1000", "0", "1.5", "+2") == [1, 999, None, None, None, None]
    assert values("token", "1", "0", "999") == [1, None, 999] and values("depth", "0", "999", "-1", "1000") == [0, 999, None, None]
    assert values("threshold", "0", "1", "0.505", "1.01", "-0.1") == [0, 1, 0.505, None, None]
    assert values("head", "mean", "max", "999", "1000", "0", "min") == ["mean", "max", "999", None, None, None]
    assert values("component", "effective", "2", "mean") == ["effective", "2", None]
    assert values("versus", "sst2/diff~sst2/diff~x/y~english/ndt-unit-2", "") == [("sst2/diff", "english/ndt-unit-2"), ()]
    assert values("row", "a" * 2_001, "\ud800") == ["a" * 2_000, "?"] and values("target", "a" * 201) == ["a" * 200]
    assert values("slice", "cell=1,0", "<b>", "") == ["cell=1,0", None, ""] and values("among", "has=negation~x") == [None]
    assert values("style", "size=column", "palette=neon", "nothing", "width=1e9", "note=Buy this", "") == ["size=column", *[None] * 5]
    assert values("change", "head:1.1=10~head:1.2=-10~head:1.3=10.1", "gate:1=1~gate:1=0", "gate:2=-1") == [
        "head:1.1=10~head:1.2=-10", "gate:1=0", "gate:2=-1"
    ]  # fmt: skip
    assert values("mix", "999.999:1~1.2:0", "1.1:1~x~1.2:1", "1000.1:1") == ["lambda:1.2=0~lambda:999.999=1", "lambda:1.1=1", ""]
    strengths = ["term:lexicon=2", "term:gate=0.5~term:lexicon=2", "term:lexicon=10", ""]
    assert values("strength", "2", "lexicon:2~gate:0.5", "10", "10.5") == strengths
    assert [two_places(text) for text in ("1.3", "999.999", "1", "1.2.3", "0.1", "1000.1", "a.b")] == [(1, 3), (999, 999), *[None] * 5]
    assert [whole_number(text) for text in ("0", "999", "1000", "-1", "x")] == [0, 999, None, None, None]


def test_a_change_needs_a_model_that_has_it() -> None:
    for change, has, lacks, note in (
        ("term:lexicon=0.5", Capabilities(2, 4, dials=(LEXICON,)), Capabilities(2, 4), "no term 'lexicon'"),
        ("head:1.1=0", Capabilities(2, 4), Capabilities(2, maps=False, silence=False), "no heads to silence"),
        ("head:2.4=0", Capabilities(2, 4), Capabilities(2, 3), "no head 4 in layer 2"),
        ("gate:3=0", Capabilities(2, gate=True), Capabilities(2), "no gates to open or shut. This change is left out."),
    ):
        focus = Focus(run="a/b", change=Intervention.parse(change))
        assert focus.fit(has) == (focus, [])
        fitted, (only,) = focus.fit(lacks)
        assert fitted == Focus(run="a/b") and note in only and "a/b" in only
        of_gates = Focus(change=Intervention.parse("gate:1=2~gate:2=0.5~gate:3=1")).fit(Capabilities(2, gate=True))
        assert of_gates[0].change.text() == "gate:3=1" and "can be 0 (shut) or 1 (open), not 2. 2 changes are left out." in of_gates[1][0]


places = st.integers(1, 999)
WHOLE = {"layer": places, "token": places, "depth": st.integers(0, 999)}
TEXTS = {name: st.text(max_size=40) for name in ("row", "target", "against")}
values = st.floats(-10, 10)
EDITS = st.one_of(
    st.builds(lambda at, to: Edit("lambda", at, to=to), st.tuples(at := st.integers(0, 998), at), values),
    st.builds(lambda at, to: Edit("head", at, to=to), st.tuples(at, at) | st.tuples(at, at, at), values),
    st.builds(lambda name, to: Edit("term", name=name, to=to), st.sampled_from(["lexicon", "gate"]), values),
    st.builds(lambda at, to: Edit("gate", (at,), to=to), at, st.sampled_from([0.0, 1.0])),
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "run": st.sampled_from(RUNS),
    "versus": st.lists(st.sampled_from(RUNS), unique=True).map(tuple),
    "head": st.sampled_from(("mean", "max")) | places.map(str),
    "component": st.just("effective") | places.map(str),
    "score": st.sampled_from(SCORES),
    "change": st.lists(EDITS, max_size=8, unique_by=lambda edit: edit.target).map(lambda edits: Intervention(tuple(edits))),
    "threshold": st.just(-1.0) | st.floats(0, 1),
    "among": st.sampled_from(["", "has=negation~col=product:phone", "length=..10"]),
    "slice": st.just("") | st.tuples(st.integers(0, 9), st.integers(0, 9)).map("cell={0[0]},{0[1]}".format),
    "style": st.just("") | st.sampled_from(("size=column", "palette=grey~x=0..1", "width=90~title=no")),
    **WHOLE,
    **TEXTS,
    **{name: st.sampled_from(choices(name)) for name, field in FIELDS.items() if field.options},
}
MARKS = [*"~.:-,=0123456789", "nan", "inf", "1e999", "²", "٣", "\ud800", *RUNS]
any_text = st.text() | st.lists(st.sampled_from(MARKS), max_size=12).map("".join)
busy = settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])  # machines may be busy


@st.composite
def foci(draw: st.DrawFn) -> Focus:
    """Any focus that a link can carry: a run, each other field at its default or not; a text is one that came by a link."""
    values = {name: draw(value) for name, value in VALUES.items() if name == "run" or draw(st.booleans())}
    text = draw(st.just("") | st.text(min_size=1).filter(str.strip))
    return Focus(**values, text=text, pair=draw(st.text()) if text else "", shared=bool(text))


@busy
@given(foci())
def test_every_focus_survives_its_url(focus: Focus) -> None:
    assert Focus.parse(focus.query(), RUNS, SCORES) == (focus, [])


@busy
@example({"second": " "})
@example({"text": " ", "second": "a word", "pair": " "})
@given(st.dictionaries(st.sampled_from([*sorted(FIELDS), *EARLIER]) | st.text(), any_text))
def test_no_link_stops_a_page(query: dict[str, str]) -> None:
    focus, notes = Focus.parse(query, RUNS, SCORES)
    assert len(notes) <= NOTES and all(len(note) < 250 for note in notes)
    assert Focus.parse(focus.query(), RUNS, SCORES) == (focus, [])
    edits = {"change"} if len(focus.change.edits) > CHIPS else {edit.text() for edit in focus.change.edits}
    assert set(focus.chips(("negative", "positive"), pairs=True)) == set(focus.query()) - {"run", "change"} | edits
    fitted, _ = focus.fit(Capabilities(2, 4, 2))
    assert fitted.fit(Capabilities(2, 4, 2)) == (fitted, [])


@busy
@given(st.dictionaries(st.sampled_from(sorted(set(FIELDS) - {*TEXTS, *PRIVATE, "shared"})), st.just("<none of these>")))
def test_unknown_values_leave_the_defaults(query: dict[str, str]) -> None:
    focus, notes = Focus.parse(query, RUNS, SCORES)
    assert focus == DEFAULT
    assert len(notes) == min(len(query), NOTES)


def test_lists_notes_choices_and_models_are_bounds() -> None:
    focus, notes = Focus.parse({"versus": "~".join(f"x/{i}" for i in range(3_000))}, RUNS, SCORES)
    assert focus == DEFAULT and len(notes) == 3
    assert "“x/2”" in notes[2] and notes[2].endswith("The link has 2,997 more such entries.")
    query = {name: "~".join([part] * 5 * LISTED) for name, part in (("versus", "sst2/diff"), ("off", "1.1"), ("mix", "1.2:0"))}
    focus, notes = Focus.parse(query, RUNS, SCORES)
    assert (focus.versus, focus.change.text()) == (("sst2/diff",), "lambda:1.2=0~head:1.1=0")
    assert len(notes) == 2 and "silenced" in notes[0] and "lambda" in notes[1]
    there = ["all"]
    small_class = dataclasses.make_dataclass("Small", [("paper", str, choice(lambda: there, "all"))], frozen=True)
    field = declared(small_class)["paper"]
    known = LinkNames(RUNS, SCORES, RUNS[0])
    assert field.default == "all" and field.read is not None
    assert field.read("made-up", known) == (None, ("made-up",))
    there.append("made-up")
    assert field.read("made-up", known) == ("made-up", ())
    assert {*VALUES, *PRIVATE, "shared"} == set(FIELDS)
    change = Intervention.parse("lambda:1.2=0.1~lambda:1.3=0.1~head:1.4=0~head:1.5=0")
    focus, notes = Focus(layer=7, head="9", component="3", change=change, depth=3).fit(Capabilities(2, 4, 2))
    assert focus == Focus(change=Intervention.parse("lambda:1.2=0.1~head:1.4=0"))
    assert len(notes) == 5 and notes[-1].endswith("2 changes are left out.")


def test_a_chip_says_what_is_not_as_by_default() -> None:
    """Golden addresses have the chips of all fields; these are their edges."""
    for changes, words in (
        ({"text": "one two three four five six"}, "“one two three four five six”"),
        ({"text": "one two three four five six!!"}, "“one two three four five six…”"),
        ({"slice": "<b>"}, "an unreadable selection of rows"),
        ({"slice": "agree=neither"}, "both runs are wrong"),
        ({"depth": 0}, "embedding"),
        ({"row": "{test}-1"}, "row {test}-1"),
    ):
        assert list(Focus(**changes).chips(("negative", "positive")).values()) == [words]  # type: ignore[arg-type]
    focus = Focus(layer=2, change=Intervention.parse("lambda:1.2=-0.25~head:1.4=0~term:gate=0~gate:2=0~gate:3=1~state:1.2=0"))
    chips = focus.chips()
    words = ["λ₂ of layer 1 = −0.25", "layer 1 head 4 off", "gate of token 2 shut", "gate of token 3 open", "gate × 0", "state:1.2=0"]
    assert list(chips.values()) == ["layer 2", *words]
    for chip in chips:
        focus = focus.with_(**focus.without(chip))
    assert focus == Focus()
    many = Focus(change=UNCHANGED.exactly("head", ((0, head) for head in range(CHIPS + 1))))
    assert many.chips() == {"change": "9 changes of the model"} and many.with_(**many.without("change")) == Focus()
