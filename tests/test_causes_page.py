"""The page Causes: the smallest edit as the second sentence, maps, a path, and what cannot be patched."""

from __future__ import annotations

import pytest

from tests.kit import opened, words

pytestmark = pytest.mark.slow
TEXT = "not a good film"


@pytest.mark.exhaustive
def test_a_click_gives_the_second_sentence_and_the_strongest_head() -> None:
    """From a typed sentence, one click fills the second one; the answer names a head, a layer and a token; the path has a joint effect."""
    app = opened("causes", run="sst2/ndt-unit-2", text=TEXT)
    assert "carries most" not in words(app) and "The parts sum to" in words(app)
    app.button(key="use-flip").click().run()
    assert not app.exception and app.session_state["focus"].second
    assert "carries most" in words(app) and "of layer" in words(app)
    app.button(key="add-strongest").click().run()
    assert not app.exception and "Together **" in words(app)
    path = app.session_state["settings"].values["path"]
    assert path.startswith("head:") and app.query_params["path"] in (path, [path])
    app.button(key="clear-path").click().run()
    assert not app.exception and "Click cells of a map" in words(app)


@pytest.mark.exhaustive
def test_links_open_direction_alignment_and_components() -> None:
    """A link gives second sentence, direction, map and alignment; a wrong alignment is one sentence."""
    link = {"run": "sst2/ndt-unit-2", "text": TEXT, "second": "not a bad film", "of": "component", "direction": "break"}
    app = opened("causes", **link, by="feedforward")
    assert not app.exception and "carries most" in words(app) and "The parts sum to" in words(app)
    assert "Write an alignment" in words(opened("causes", **link, align="x"))
    assert "Both sentences are the same" in words(opened("causes", **link | {"second": TEXT}))


@pytest.mark.exhaustive
def test_links_open_averages_and_the_circuit() -> None:
    """A link gives the kind of minimal pairs, and averages, the circuit, or epochs of a run that keeps them."""
    link = {"run": "sst2/ndt-unit-2-epochs", "text": TEXT, "pairs": "adjective"}
    assert "40 minimal pairs" in words(opened("causes", **link))
    assert "random sets of the same size" in words(opened("causes", **link, beyond="circuit"))
    assert "after each epoch" in words(opened("causes", **link, beyond="epochs"))


def test_models_without_states_say_so() -> None:
    app = opened("causes", run="imdb/hardmax-d2")
    assert not app.exception and "choose a transformer" in words(app)
