"""The app's one state: in and out of the URL, and what does not belong."""

from __future__ import annotations

import pytest

from app.focus import Focus

RUNS = ("sst2/ndt-unit-2", "sst2/diff")
SCORES = ("removal", "received")


def test_defaults_leave_an_empty_query() -> None:
    assert Focus().query() == {}


def test_a_focus_survives_its_url() -> None:
    """What is written to the URL, read back, is the same focus."""
    focus = Focus(
        run="sst2/diff",
        versus=("sst2/ndt-unit-2",),
        layer=2,
        head="3",
        component="1",
        score="received",
        mix=((1, 2, -0.25), (2, 2, 0.0)),
        off=((1, 4), (2, 1)),
        strength=0.5,
        token=3,
        look="lexicon",
        over="demo",
        slice="cell=1,0",
        find="a|b",
        least=3,
        most=20,
        threshold=0.25,
        method="tsne",
        dims="3",
        depth=0,
        data="sst2",
        heat="0.3",
        plane="1.3",
        play="n:50~alpha:0.5",
    )
    assert Focus.parse(focus.query(), RUNS, SCORES) == (focus, [])


def test_a_typed_text_stays_out_of_the_url_until_it_is_shared() -> None:
    focus = Focus(text="my private words")
    assert "text" not in focus.query()
    assert focus.query(with_text=True) == {"text": "my private words"}
    linked, _ = Focus.parse({"text": "my private words"}, RUNS, SCORES)
    assert linked.query() == {"text": "my private words"}
    assert "text" not in linked.with_(text="other words").query()


@pytest.mark.parametrize(
    ("query", "said"),
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
        ({"token": "0"}, "the token"),
        ({"over": "train"}, "the over"),
        ({"threshold": "2"}, "the threshold"),
        ({"threshold": "nan"}, "the threshold"),
        ({"depth": "-3"}, "the depth"),
        ({"least": "many"}, "the least"),
        ({"data": "sst"}, "the data"),
        ({"heat": "0.2"}, "the heat"),
        ({"plane": "1.1"}, "the plane"),
        ({"plane": "1.x"}, "the plane"),
        ({"plane": "1.2.2"}, "the plane"),
    ],
)
def test_what_means_nothing_falls_back_with_a_note(query: dict[str, str], said: str) -> None:
    """Each unknown value gives the default and exactly one note that names it."""
    focus, notes = Focus.parse(query, RUNS, SCORES)
    assert focus.with_(versus=()) == Focus()
    assert len(notes) == 1
    assert said in notes[0]


def test_foreign_parameters_are_ignored() -> None:
    assert Focus.parse({"utm_source": "x", "embed": "true"}, RUNS, SCORES) == (Focus(), [])


def test_another_run_drops_what_belonged_to_the_old_one() -> None:
    focus = Focus(text="kept", layer=2, head="4", component="2", mix=((1, 2, 0.0),), strength=0.0, token=4).with_(run="sst2/diff")
    assert focus == Focus(run="sst2/diff", text="kept")


def test_another_text_drops_the_token_and_keeps_the_changes() -> None:
    focus = Focus(text="one", token=4, strength=0.5, off=((1, 1),))
    assert focus.with_(text="two") == Focus(text="two", strength=0.5, off=((1, 1),))
    assert focus.with_(row="test-1") == Focus(row="test-1", strength=0.5, off=((1, 1),))
    assert focus.with_(text="two", token=2).token == 2


def test_as_trained_takes_every_change_back_and_nothing_else() -> None:
    focus = Focus(text="kept", layer=2, mix=((1, 2, 0.0),), off=((1, 1),), strength=2.0)
    assert focus.as_trained() == Focus(text="kept", layer=2)


def test_a_strength_needs_a_lexicon() -> None:
    shape = {"layers": 2, "heads": 4, "components": 1}
    assert Focus(strength=0.5).fit(**shape, lexicon=True) == (Focus(strength=0.5), [])
    focus, notes = Focus(strength=0.5).fit(**shape)
    assert focus == Focus() and len(notes) == 1 and "strength" in notes[0]


def test_other_rows_drop_the_part_of_the_old_ones() -> None:
    assert Focus(slice="cell=1,0", find="x", least=2, order="loss").with_(over="demo") == Focus(over="demo", order="loss")


def test_fit_gives_way_to_the_model_and_says_so() -> None:
    wide = Focus(layer=7, head="9", component="3", mix=((1, 2, 0.1), (1, 3, 0.1)), off=((1, 4), (1, 5)), depth=3)
    focus, notes = wide.fit(layers=2, heads=4, components=2)
    assert focus == Focus(mix=((1, 2, 0.1),), off=((1, 4),))
    assert len(notes) == 6
