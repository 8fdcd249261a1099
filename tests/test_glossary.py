"""One source of words."""

from __future__ import annotations

from sentviz.io.glossary import glossary, tip


def test_every_term_is_whole() -> None:
    """Each term has a title, a complete sentence and a source; formulas have balanced braces."""
    for term in glossary().values():
        assert term.title and term.paper and term.text.endswith((".", ")")) and term.formula.count("{") == term.formula.count("}")
    for name in ("component", "effective", "lambda", "constraint", "gate", "leader", "silhouette"):
        assert glossary()[name].text in tip(name)
