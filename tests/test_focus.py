"""The app's one state: in and out of the URL, and what does not belong."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.fields import LISTED, LinkNames, choice, declared
from app.focus import CHIPS, EARLIER, FIELDS, NOTES, PRIVATE, Focus, choices
from sentviz.analysis.explain import SCORES as METHODS
from sentviz.runs.configs import LEXICON, Capabilities
from sentviz.runs.intervention import UNCHANGED, Edit, Intervention

RUNS = ("english/ndt-unit-2", "sst2/diff")
SCORES = ("removal", "received")
DEFAULT = Focus(run=RUNS[0])  # focus of an empty link
SHUT = Intervention.parse("gate:3=0")


def test_defaults_leave_an_empty_query() -> None:
    assert Focus().query() == {}


def test_a_focus_survives_its_url() -> None:
    """What is written to the URL, read back, is the same focus."""
    focus = Focus(
        run="sst2/diff",
        versus=("english/ndt-unit-2",),
        layer=2,
        head="3",
        component="1",
        score="received",
        target="very positive",
        against="neutral",
        change=Intervention.parse("lambda:1.2=-0.25~lambda:2.2=0~head:1.4=0~head:2.1=0~term:lexicon=0.5~gate:2=1~gate:4=0"),
        token=3,
        look="lexicon",
        over="demo",
        slice="cell=1,0",
        threshold=0.25,
        depth=0,
    )
    assert Focus.parse(focus.query(), RUNS, SCORES) == (focus, [])


def test_a_typed_text_stays_out_of_the_url_until_it_is_shared() -> None:
    focus = Focus(text="my private words")
    assert "text" not in focus.query()
    assert focus.query(with_text=True) == {"text": "my private words"}
    linked, _ = Focus.parse({"text": "my private words"}, RUNS, SCORES)
    assert linked.query(RUNS[0]) == {"text": "my private words"}
    assert "text" not in linked.with_(text="other words").query()


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ({"run": "sst2/none"}, "the run “sst2/none”"),
        ({"versus": "sst2/diff~x/y"}, "the run “x/y”"),
        ({"layer": "0"}, "the layer “0”"),
        ({"layer": "²"}, "the layer"),
        ({"head": "first"}, "the head"),
        ({"component": "-1"}, "the component"),
        ({"score": "shap"}, "the score"),
        ({"mix": "1.2:nan"}, "the lambda"),
        ({"mix": "1.2:999"}, "the lambda"),
        ({"mix": "<script>"}, "the lambda"),
        ({"off": "a.b"}, "silenced heads"),
        ({"strength": "nan"}, "the strength"),
        ({"strength": "11"}, "the strength"),
        ({"strength": "lexicon:1:2"}, "the strength"),
        ({"strength": "a b:1"}, "the strength"),
        ({"change": "gate:3=mean"}, "the change “gate:3=mean”"),
        ({"change": "head:0.4=0"}, "the change"),
        ({"change": "lambda:1.2=999"}, "the change"),
        ({"change": "<script>"}, "the change"),
        ({"gates": "0:open"}, "the gates"),
        ({"gates": "2:ajar"}, "the gates"),
        ({"gates": "2"}, "the gates"),
        ({"token": "0"}, "the token"),
        ({"over": "train"}, "the over"),
        ({"threshold": "2"}, "the threshold"),
        ({"threshold": "nan"}, "the threshold"),
        ({"depth": "-3"}, "the depth"),
    ],
)
def test_what_means_nothing_falls_back_with_a_note(query: dict[str, str], note: str) -> None:
    """Each unknown value gives the default and exactly one note that names it."""
    focus, notes = Focus.parse(query, RUNS, SCORES)
    assert focus.with_(versus=()) == DEFAULT
    assert len(notes) == 1
    assert note in notes[0]


def test_earlier_links_name_the_same_intervention() -> None:
    """Parameters of earlier versions are read as edits; edits without meaning are left out with a note each; the last value counts."""
    earlier = {"mix": "1.2:-0.25", "off": "1.4~2.1", "strength": "lexicon:0.5~gate:1", "gates": "2:open~4:shut"}
    focus, notes = Focus.parse(earlier, RUNS, SCORES)
    assert focus.query() == {"run": RUNS[0], "change": "lambda:1.2=-0.25~head:1.4=0~head:2.1=0~gate:2=1~gate:4=0~term:lexicon=0.5"}
    assert (notes, Focus.parse(focus.query(), RUNS, SCORES)) == ([], (focus, []))
    both, notes = Focus.parse({"off": "2.1", "change": "head:1.4=0~nonsense~state:1.2=0~head:1.4=0.5~gate=1"}, RUNS, SCORES)
    assert both.change.text() == "head:1.4=0.5~head:2.1=0~state:1.2=0" and len(notes) == 2


def test_a_link_may_take_vectors_from_another_text() -> None:
    change = Intervention.parse("head:1.4.3=@5~donor:1=another%20text")
    focus, notes = Focus.parse({"change": change.text(), "off": "2.1"}, RUNS, SCORES)
    assert notes == [] and focus.change == change.with_(Edit("head", (1, 0)))
    assert focus.fit(Capabilities(2, 4, replaces=("head",))) == (focus, [])
    assert focus.with_(text="words").change.text() == "head:2.1=0"


def test_foreign_parameters_are_ignored() -> None:
    assert Focus.parse({"utm_source": "x", "embed": "true"}, RUNS, SCORES) == (DEFAULT, [])


def test_another_run_drops_what_belonged_to_the_old_one() -> None:
    focus = Focus(text="kept", layer=2, head="4", component="2", change=Intervention.parse("lambda:1.2=0~term:lexicon=0"), token=4).with_(
        run="sst2/diff"
    )
    assert focus == Focus(run="sst2/diff", text="kept")


def test_another_text_drops_the_token_and_keeps_the_changes() -> None:
    change = Intervention.parse("head:1.1=0~term:lexicon=0.5")
    focus = Focus(text="one", token=4, change=change)
    assert focus.with_(text="two") == Focus(text="two", change=change)
    assert focus.with_(row="test-1") == Focus(row="test-1", change=change)
    assert focus.with_(text="two", token=2).token == 2


def test_gates_are_of_a_run_and_its_text() -> None:
    """Another text, row or run takes them back; a model without gates does, with a note; another page of the same view does not."""
    focus = Focus(text="one", change=SHUT)
    assert focus.with_(layer=2).change == SHUT
    moved = ({"text": "two"}, {"row": "test-1"}, {"run": "sst2/diff"})
    assert [focus.with_(**change).change for change in moved] == [UNCHANGED] * 3
    assert focus.fit(Capabilities(2, gate=True)) == (focus, [])
    fitted, notes = focus.fit(Capabilities(2))
    assert fitted == Focus(text="one") and len(notes) == 1 and "no gates to open or shut. This change is left out." in notes[0]


def test_what_is_of_a_private_text_stays_out_of_the_url_with_it() -> None:
    """A place of a token means nothing beside another text; beside the example, a row or a text from a link it is said."""
    both = SHUT.with_(Edit("head", (0, 1)))
    assert Focus(text="mine", change=both).query() == {"change": "head:1.2=0"}
    assert Focus(text="mine", change=SHUT).query(with_text=True) == {"text": "mine", "change": "gate:3=0"}
    for focus in (Focus(change=SHUT), Focus(row="test-1", change=SHUT), Focus(text="sent", shared=True, change=SHUT)):
        assert focus.query()["change"] == "gate:3=0"


def test_going_back_keeps_the_typed_text_with_what_is_of_it() -> None:
    typed, opened = Focus(text="mine", change=SHUT), Intervention.parse("gate:1=1")
    assert Focus(layer=2, change=opened).beside(typed) == Focus(text="mine", layer=2, change=SHUT)
    assert Focus(run="sst2/diff", change=opened).beside(typed) == Focus(run="sst2/diff", text="mine")
    assert Focus(change=opened).beside(Focus(layer=2)) == Focus(change=opened)


def test_as_trained_takes_every_change_back_and_nothing_else() -> None:
    focus = Focus(text="kept", layer=2, change=Intervention.parse("head:1.1=0~term:lexicon=2~gate:1=1"))
    assert focus.as_trained() == Focus(text="kept", layer=2)


def test_an_earlier_link_gives_the_lexicons_strength_alone() -> None:
    for link in ("0.5", "lexicon:0.5", "lexicon:0.5~gate:1"):
        assert Focus.parse({"strength": link}, ["r"], [])[0].change.text() == "term:lexicon=0.5"


def test_a_strength_needs_its_term() -> None:
    focus = Focus(change=Intervention.parse("term:lexicon=0.5"))
    assert focus.fit(Capabilities(2, 4, dials=(LEXICON,))) == (focus, [])
    fitted, notes = focus.fit(Capabilities(2, 4))
    assert fitted == Focus() and len(notes) == 1 and "no term 'lexicon'" in notes[0]


def test_a_silenced_head_needs_a_model_with_heads() -> None:
    focus, notes = Focus(change=Intervention.parse("head:1.1=0")).fit(Capabilities(2, maps=False, silence=False))
    assert focus == Focus() and len(notes) == 1 and "no heads to silence" in notes[0]


def test_other_rows_drop_the_part_of_the_old_ones() -> None:
    assert Focus(slice="cell=1,0", scale="change").with_(over="demo") == Focus(over="demo", scale="change")


def test_fit_gives_way_to_the_model_and_says_so() -> None:
    change = Intervention.parse("lambda:1.2=0.1~lambda:1.3=0.1~head:1.4=0~head:1.5=0")
    focus, notes = Focus(layer=7, head="9", component="3", change=change, depth=3).fit(Capabilities(2, 4, 2))
    assert focus == Focus(change=Intervention.parse("lambda:1.2=0.1~head:1.4=0"))
    assert len(notes) == 5 and notes[-1].endswith("2 changes are left out.")


def test_a_row_put_back_keeps_the_text() -> None:
    """Only a row that is one takes the text's place."""
    linked, _ = Focus.parse({"text": "one", "row": "test-1"}, RUNS, SCORES)
    assert linked.with_(row="") == Focus(run=RUNS[0], text="one", shared=True)
    assert linked.with_(row="test-2") == Focus(run=RUNS[0], row="test-2")


# ---- robust against any link

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


busy = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # machines may be busy


@st.composite
def foci(draw: st.DrawFn) -> Focus:
    """Any focus that a link can carry: a run, each other field at its default or not; a text is one that came by a link."""
    values = {name: draw(value) for name, value in VALUES.items() if name == "run" or draw(st.booleans())}
    text = draw(st.just("") | st.text(min_size=1).filter(str.strip))
    return Focus(**values, text=text, pair=draw(st.text()) if text else "", shared=bool(text))


def test_every_field_is_tried() -> None:
    """A field that is added is one of those below, or the tests of all fields would not be."""
    assert {*VALUES, *PRIVATE, "shared"} == set(FIELDS)


@pytest.mark.slow
@busy
@given(foci())
def test_every_focus_survives_its_url(focus: Focus) -> None:
    assert Focus.parse(focus.query(), RUNS, SCORES) == (focus, [])


@busy
@example({"second": " "})
@example({"text": " ", "second": "a word", "pair": " "})
@given(st.dictionaries(st.sampled_from([*sorted(FIELDS), *EARLIER]) | st.text(), any_text))
def test_no_link_stops_a_page(query: dict[str, str]) -> None:
    """Any value of any field reads as a focus with three notes at most, which can be shown, fitted and written again."""
    focus, notes = Focus.parse(query, RUNS, SCORES)
    assert len(notes) <= NOTES and all(len(note) < 250 for note in notes)
    assert Focus.parse(focus.query(), RUNS, SCORES) == (focus, [])
    edits = {"change"} if len(focus.change.edits) > CHIPS else {edit.text() for edit in focus.change.edits}
    assert set(focus.chips(("negative", "positive"), pairs=True)) == set(focus.query()) - {"run", "change"} | edits
    fitted, _ = focus.fit(Capabilities(2, 4, 2))
    assert fitted.fit(Capabilities(2, 4, 2)) == (fitted, [])


@pytest.mark.parametrize("name", sorted({*FIELDS, *EARLIER}))
@pytest.mark.parametrize("length", [5_000, 200_000])
def test_numbers_and_words_of_any_length(name: str, length: int) -> None:
    """Python itself refuses whole numbers of more than 4,300 digits with an error of its own."""
    for value in ("9" * length, "0" * length, "1." + "9" * length, "1." * length, "~" * length, "1.2:" + "9" * length):
        focus, notes = Focus.parse({name: value}, RUNS, SCORES)
        free = name in {*TEXTS, *PRIVATE, "shared"}
        assert free or len(notes) in (1, NOTES), value[:20]
        assert len(notes) <= NOTES and all(len(note) < 250 for note in notes)
        assert free or len(focus.query().get(name, "")) < 8 * LISTED


@busy
@given(st.dictionaries(st.sampled_from(sorted(set(FIELDS) - {*TEXTS, *PRIVATE, "shared"})), st.just("<none of these>")))
def test_unknown_values_leave_the_defaults(query: dict[str, str]) -> None:
    focus, notes = Focus.parse(query, RUNS, SCORES)
    assert focus == DEFAULT
    assert len(notes) == min(len(query), NOTES)


def test_three_notes_and_a_sum() -> None:
    """3,000 runs that are not here are three notes, the last with how many more there are."""
    focus, notes = Focus.parse({"versus": "~".join(f"x/{i}" for i in range(3_000))}, RUNS, SCORES)
    assert focus == DEFAULT and len(notes) == 3
    assert "“x/2”" in notes[2] and notes[2].endswith("The link has 2,997 more such entries.")


def test_lists_are_bounded() -> None:
    many = 5 * LISTED
    query = {"versus": "~".join(["sst2/diff"] * many), "off": "~".join(["1.1"] * many), "mix": "~".join(["1.2:0"] * many)}
    focus, notes = Focus.parse(query, RUNS, SCORES)
    assert (focus.versus, focus.change.text()) == (("sst2/diff",), "lambda:1.2=0~head:1.1=0")
    assert len(notes) == 2 and "silenced" in notes[0] and "lambda" in notes[1]


# ---- declarations


def test_choices_may_come_from_a_registry() -> None:
    """A function is asked at each reading: what joins later is a choice from then on."""
    there = ["all"]
    small_class = dataclasses.make_dataclass("Small", [("paper", str, choice(lambda: there, "all"))], frozen=True)
    field = declared(small_class)["paper"]
    known = LinkNames(RUNS, SCORES, RUNS[0])
    assert field.default == "all" and field.read is not None
    assert field.read("made-up", known) == (None, ("made-up",))
    there.append("made-up")
    assert field.read("made-up", known) == ("made-up", ())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"text": "one two three four five six seven"}, "“one two three four five six…”"),
        ({"head": "3"}, "head 3"),
        ({"head": "max"}, "max of heads"),
        ({"component": "2"}, "component A₂"),
        ({"versus": ("a/b", "c/d")}, "compared with a/b, c/d"),
        ({"score": "rollout"}, METHODS["rollout"].title),
        ({"over": "demo"}, "demo set"),
        ({"slice": "cell=1,0"}, "positive predicted as negative"),
        ({"slice": "<b>"}, "an unreadable selection of rows"),
        ({"threshold": 0.25}, "threshold 0.25"),
        ({"depth": 0}, "embedding"),
        ({"depth": 2}, "states of layer 2"),
        ({"look": "bertviz"}, "BertViz"),
        ({"look": "lexicon"}, "lexicon"),
        ({"row": "{test}-1"}, "row {test}-1"),
    ],
)
def test_a_chip_says_what_is_not_as_by_default(changes: dict[str, Any], words: str) -> None:
    assert list(Focus(**changes).chips(("negative", "positive")).values()) == [words]


def test_an_edit_has_its_chip_which_takes_it_back() -> None:
    focus = Focus(layer=2, change=Intervention.parse("lambda:1.2=-0.25~head:1.4=0~term:gate=0~gate:2=0~gate:3=1~state:1.2=0"))
    chips = focus.chips()
    words = ["λ₂ of layer 1 = −0.25", "layer 1 head 4 off", "gate of token 2 shut", "gate of token 3 open", "gate × 0", "state:1.2=0"]
    assert list(chips.values()) == ["layer 2", *words]
    for chip in chips:
        focus = focus.with_(**focus.without(chip))
    assert focus == Focus()
    many = Focus(change=UNCHANGED.exactly("head", ((0, head) for head in range(CHIPS + 1))))
    assert many.chips() == {"change": "9 changes of the model"} and many.with_(**many.without("change")) == Focus()


def test_the_second_text_has_a_chip_beside_runs_that_read_pairs() -> None:
    assert Focus(text="one", pair="two").chips() == {"text": "“one”"}
    assert Focus(text="one", pair="two").chips(pairs=True) == {"text": "“one”", "pair": "“two”"}
