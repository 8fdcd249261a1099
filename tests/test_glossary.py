"""One source of words."""

from __future__ import annotations

import pytest

from sentviz.io.glossary import glossary, tip


def test_every_term_is_whole() -> None:
    """Each term has a title, a complete sentence and a source; formulas have balanced braces."""
    for term in glossary().values():
        assert term.title
        assert term.text.endswith((".", ")"))
        assert term.paper
        assert term.formula.count("{") == term.formula.count("}")


@pytest.mark.parametrize("name", ["component", "effective", "lambda", "constraint", "gate", "leader", "silhouette"])
def test_the_words_of_the_papers_are_there(name: str) -> None:
    assert glossary()[name].text in tip(name)
