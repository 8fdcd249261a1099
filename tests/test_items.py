"""The lists of items: what a wrong list answers, the names and places of items, and the tool that checks every item."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from sentviz.errors import SentvizError
from sentviz.io.table import Table
from sentviz.papers.studies.items import listed, paper_faults
from sentviz.runs.items import PAGES, Item
from sentviz.runs.registry import Paper, built_in, find_paper
from tools import items as tool
from tools import printed

GOOD = """[[item]]
id = "a"
kind = "table"
number = "1"
title = "Accuracies"
place = "?part=results"
"""


def paper_with(folder: Path, text: str) -> Paper:
    """Return a paper of another package with this list of items and NDT's page."""
    (folder / "items.toml").write_text(text, encoding="utf-8")
    ndt = find_paper("ndt")
    return replace(ndt, name="other", short="Other", folder=folder, page=replace(ndt.page, url="paper-other"))


@pytest.mark.parametrize("text", ["[[item]\n", "= 3", "\ufffe\x00"])
def test_a_list_that_is_no_toml_is_one_sentence(text: str, tmp_path: Path) -> None:
    with pytest.raises(SentvizError, match=r"^\w+/items\.toml is not .*[^.]\.$"):
        paper_with(tmp_path, text).items()


def test_a_good_list_has_links_of_its_own_page(tmp_path: Path) -> None:
    assert listed(paper_with(tmp_path, GOOD)).frame[["item", "state", "place", "link"]].to_numpy().tolist() == [
        ["Table 1", "live", "Accuracy (tables I to IX)", "paper-other?part=results"]
    ]


@pytest.mark.parametrize(
    ("kind", "number", "name"),
    [("table", "IV", "Table IV"), ("equation", "4 to 6", "Equations 4 to 6"), ("equation", "1a and 1b", "Equations 1a and 1b"),
     ("claim", "section V-E", "Claim, section V-E"), ("setting", "training and results", "Setting, training and results"),
     ("theorem", "", "Theorem"), ("future work", "1 and 2", "Future work 1 and 2"), ("table", "1, five encoders",
      "Table 1, five encoders")],
)  # fmt: skip
def test_items_are_named_as_in_the_paper(kind: str, number: str, name: str) -> None:
    assert Item("x", kind, "t", number, place="data").name == name  # type: ignore[arg-type]


@pytest.mark.parametrize("name", built_in())
def test_every_item_has_its_place(name: str) -> None:
    """Every page, part, run, claim, table, figure and term that a list names exists, and every claim of the paper's board is an item.

    Titles and reasons are whole, and no text contains “here” or “print”.
    """
    paper = find_paper(name)
    assert list(tool.listed_faults(paper)) == [] == list(paper_faults(paper))
    for item in paper.items():
        assert not item.why or re.fullmatch(r"[A-Z].*[a-z0-9%.”]\.", item.why), item.why
        assert not re.search(r"\b(in )?print(ed|s)?\b", f"{item.name} {item.title} {item.why}"), item.id
        assert not re.search("had here|could not be had|(is|are) (not )?here", item.why), item.id


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", built_in())
def test_every_printed_number_of_a_table_is_in_the_papers_files(name: str) -> None:
    """Numbers that a table computes from printed ones equal those of `RECOMPUTED`."""
    assert list(printed.number_faults(find_paper(name), tool.shipped())) == []


def table_of(monkeypatch: pytest.MonkeyPatch, frame: pd.DataFrame, item: str) -> Paper:
    """Return Sentiment-Fused with one table, in place of all others, that an item shows."""
    paper = find_paper("fused")
    monkeypatch.setattr(printed, "makers", lambda paper: dict.fromkeys(names, lambda runs: [Table("a", "A", frame, "")] if runs else []))
    names = [each.made_by for each in paper.items()]
    monkeypatch.setattr(type(paper), "items", lambda self: tuple(each for each in self._listed.items if each.id == item))
    return paper


@pytest.mark.parametrize(
    ("item", "frame", "faults"),
    [("table-1", {"ko-electra": [0.9063], "nsmc": [0.5]}, 0), ("table-1", {"ko-electra": [0.9064]}, 1),
     ("table-3", {"task": ["KorNLI", "PAWS"], "kr-bert": [0.0217, 0.003]}, 0),
     ("table-3", {"task": ["KorNLI", "PAWS"], "kr-bert": [0.0217, 0.0031]}, 1), ("table-3", {"task": ["KLUE-NLI"], "kr-bert": [0.01]}, 1),
     ("table-2", {"a": [3.0], "a_printed": [0.6], "a_difference": [2.4]}, 0),
     ("table-2", {"a": [3.0], "a_printed": [0.6], "a_difference": [2.5]}, 1)],
)  # fmt: skip
def test_computed_columns_are_recomputed(item: str, frame: dict[str, list[float]], faults: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gain that is not that of the files, a number in a row that the paper lacks, and a wrong difference are faults."""
    paper = table_of(monkeypatch, pd.DataFrame(frame), item)
    assert len(list(printed.number_faults(paper, tool.shipped()[:1]))) == faults


@pytest.mark.slow
def test_the_known_pages_are_those_of_the_app() -> None:
    """Titles and addresses of pages, which lists of items may name, are the app's."""
    assert tool.addresses() == PAGES | {"": "Reason"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", built_in())
def test_every_place_opens_and_every_live_table_and_figure_is_written(name: str, tmp_path: Path) -> None:
    """Each link of a list opens its page without an error and without a note about the link."""
    assert list(tool.opened_faults(find_paper(name))) == []
    assert list(tool.drawn_faults(find_paper(name), tool.shipped(), tmp_path)) == []
