"""The files of a paper, paper.toml, page.md, items.toml and tables.toml: what they give, and what a wrong file answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sentviz.errors import SentvizError
from sentviz.io.table import Column
from sentviz.papers.studies.items import make_table, paper_faults
from sentviz.runs.registry import Paper, read_paper
from sentviz.runs.sections import Drawer, FigureBlock, SideBySide, TextBlock, Where

GOOD = {
    "paper.toml": """name = "own"
short = "Own"
title = "A paper
of two lines"
citation = "Nobody"
claims = ".claims:CLAIMS"

[page]
help = "A page."

[opening]
thesis = "A."
result = "B."
question = "C."
expects = { own-000001 = "holds" }

[choices.drawn]
few = ["Few", { most = 3 }]

[presets.small]
title = "Small"
shape = { layers = 2, widths = [3, 4] }

[presets.wide]
like = "small"
shape = { width = 32 }

[studies.own]
about = "two models"
datasets = ["sst2"]
models = ["small", "wide"]
""".replace('"A paper\nof two lines"', '"""\nA paper\nof two lines"""'),
    "page.md": """# Gains (table 1) {results datasets=.study:DATASETS}

##### A heading {term=padding}
Two lines
of a text with `code`.

- one
- two

:::side 2 1
  :::figure gains marked=a,b most=3 per_row=2 choice=drawn
  :::next
  :::drawer "More, later" key=more
    :::small
    A caption.
    :::
  :::
:::
:::where dataset=sst2
  :::part own-part
:::else
  :::says .study:words form=list
:::
""",
    "items.toml": """[[item]]
id = "a"
kind = "table"
title = "Accuracies"
place = "?part=results"

[[item]]
id = "b"
kind = "figure"
title = "Gains"
place = "data"
tables = ["tweets"]
""",
    "tables.toml": """[tweets]
frame = "sentviz.papers.sevenessxin.measured:NEUTRAL"
title = "Tweets"
words = "Tweets of {run}."

[tweets.columns]
of = { title = "tweets" }
n = {}
""",
}


def write_paper(folder: Path, file: str = "", old: str = "", new: str = "") -> Path:
    """Write a good paper into a folder, with one change to one file."""
    for name, text in GOOD.items():
        assert name != file or old in text
        (folder / name).write_text(text.replace(old, new, 1) if name == file else text, encoding="utf-8")
    return folder


def test_a_paper_is_read(tmp_path: Path) -> None:
    """Pointers are completed with the package, a preset has what it is like, lists are tuples, and blocks stand as they are written."""
    paper = read_paper(write_paper(tmp_path))
    assert (paper.title, paper.claims) == ("A paper of two lines", f"{tmp_path.name}.claims:CLAIMS")
    assert paper.presets["wide"].shape == {"layers": 2, "widths": (3, 4), "width": 32} and paper.presets["wide"].title == "Small"
    assert paper.opening and paper.opening.expects == {"own-000001": "holds"}
    (section,) = paper.page.sections
    assert (section.name, section.title, section.group) == ("results", "Gains (table 1)", "Results")
    assert section.datasets == f"{tmp_path.name}.study:DATASETS"
    heading, text, listing, side, where = section.blocks
    assert heading == TextBlock("##### A heading", term="padding")
    assert text == TextBlock("Two lines of a text with `code`.") and listing == TextBlock("- one\n- two")
    assert isinstance(side, SideBySide) and side.shares == (2, 1)
    ((figure,), (drawer,)) = side.columns
    assert isinstance(figure, FigureBlock) and figure.options == {"marked": ("a", "b"), "most": 3} and figure.per_row == 2
    (choice,) = figure.controls
    assert (choice.label, choice.name, choice.choices) == ("Drawn", "drawn", {"few": ("Few", {"most": 3})})
    assert drawer == Drawer("More, later", (TextBlock("A caption.", small=True),), "more")
    assert isinstance(where, Where) and callable(where.test) and len(where.blocks) == len(where.otherwise) == 1
    assert [item.id for item in paper.items()] == ["a", "b"]
    table = make_table(paper, "tweets", [])
    assert (table.title, table.caption) == ("Tweets", f"Tweets of {table.frame['run'].iloc[0]}.")
    assert table.columns == [Column("of", "tweets"), Column("n")]


WRONG: list[tuple[str, str, str, str]] = [
    ("paper.toml", 'short = "Own"', "short = Own", "paper.toml is not valid TOML: Invalid value (at line 2, column 9)"),
    ("paper.toml", 'short = "Own"\n', "", "paper.toml, line 1: short is missing"),
    ("paper.toml", "citation", "citations", "paper.toml, line 6: citations is unknown; there may be name, short,"),
    ("paper.toml", 'help = "A page."', "help = 3", "paper.toml, line 10: page.help must be a text, not 3"),
    ("paper.toml", '{ own-000001 = "holds" }', '"holds"', "paper.toml, line 16: opening.expects must be a table, not 'holds'"),
    ("paper.toml", '"Few", ', "", "paper.toml, line 19: choices.drawn.few must be a list of 2 entries, not [{'most': 3}]"),
    ("paper.toml", 'like = "small"', 'like = "large"', "paper.toml, line 26: no preset 'large' stands before 'wide'"),
    ("page.md", "# Gains (table 1) {results datasets=.study:DATASETS}\n", "", "page.md, line 2: a block stands before the first section"),
    ("page.md", " {results datasets=.study:DATASETS}", "", "page.md, line 1: a section needs its name in braces"),
    ("page.md", "datasets=", "sets=", "page.md, line 1: the section has no setting 'sets'"),
    ("page.md", "per_row=2", "per_row=two", "page.md, line 11: per_row must be a whole number, not 'two'"),
    ("page.md", "form=list", "form=lists", "page.md, line 22: form must be title, heading, text, "),
    ("page.md", "{term=padding}", "{padding}", "page.md, line 3: the heading has no setting 'padding'"),
    ("page.md", ":::side 2 1", ":::side 2", "page.md, line 10: :::side has 2 columns, and needs as many numbers or none"),
    ("page.md", ":::side 2 1", ":::side wide", "page.md, line 10: :::side has 2 columns, and needs as many"),
    ("page.md", ":::figure gains", ":::figures gains", "page.md, line 11: there is no :::figures; similar names: figure; "),
    ("page.md", ":::figure gains", ":::figure", "page.md, line 11: :::figure needs one name of a figure"),
    ("page.md", "choice=drawn", "choice=chosen", "page.md, line 11: there is no choice 'chosen' in paper.toml; there are drawn"),
    ("page.md", '"More, later"', "More, later", "page.md, line 13: :::drawer needs one title, in double quotes if it has blanks"),
    ("page.md", '"More, later"', '"More, later', "page.md, line 13: No closing quotation"),
    ("page.md", "    A caption.", "    :::part own-part", "page.md, line 14: :::small has texts alone"),
    ("page.md", "\n:::else", "\n:::next", "page.md, line 21: :::next stands outside of :::side"),
    ("page.md", "form=list\n:::\n", "form=list\n", "page.md, line 19: :::where is not closed"),
    ("page.md", "form=list\n:::\n", "form=list\n:::\n:::\n", "page.md, line 24: nothing is open that ::: could close"),
    ("page.md", "form=list\n:::\n", "form=list\n:::\n# More {results}\n", "page.md, line 24: two sections are named 'results'"),
    ("items.toml", "[[item]]", "[[item]", "items.toml is not valid TOML: "),
    ("items.toml", 'title = "Gains"\n', "", "items.toml, line 7: item[1].title is missing"),
    ("items.toml", '"table"', '"drawing"', "items.toml, line 3: item[0].kind must be table, figure, "),
    ("items.toml", 'place = "data"', 'place = "data"\nstate = "not"', "items.toml, line 7: 'b' is not live, but has no field 'why'"),
    ("items.toml", 'place = "data"\n', "", "items.toml, line 7: 'b' is live, but has neither a place nor claims"),
    ("items.toml", "?part=results", "?part=nowhere", "items.toml, line 5: the paper's page has no part 'nowhere'; parts are claims, "),
    ("items.toml", '"data"', '"nowhere"', "items.toml, line 11: there is no page 'nowhere'; pages are attention, "),
    ("items.toml", 'id = "b"', 'id = "a"', "items.toml, line 8: two entries have the id 'a'"),
    ("items.toml", "[[item]]", 'paper = "Own"\n[[item]]', "items.toml, line 1: there is 'paper'; there may be only [[item]] and [[added]]"),
    ("tables.toml", "n = {}", "m = {}", "tables.toml, line 8: the frame has no column 'm'"),
    ("tables.toml", "{run}", "{who}", "tables.toml, line 4: the braces of the table 'tweets' cannot be filled: 'who'"),
    ("tables.toml", "NEUTRAL", "NOWHERE", "tables.toml, line 2: sentviz.papers.sevenessxin.measured:NOWHERE cannot be loaded: "),
    ("items.toml", GOOD["items.toml"], 'item = "a"', "items.toml, line 1: entries must be written as [[item]]"),
]


@pytest.mark.parametrize(("file", "old", "new", "fault"), WRONG, ids=[row[3][:60] for row in WRONG])
def test_a_wrong_file_is_one_sentence(file: str, old: str, new: str, fault: str, tmp_path: Path) -> None:
    """The sentence names the file, the line and what is wrong, and no path of this machine."""
    with pytest.raises(SentvizError) as raised:
        paper = read_paper(write_paper(tmp_path, file, old, new))
        assert paper.items() and make_table(paper, "tweets", [])
    message = str(raised.value)
    assert message.startswith(f"{tmp_path.name}/{fault}"), message
    assert message.endswith(".") and not message.endswith("..") and "\n" not in message and str(tmp_path) not in message


def test_names_that_nothing_has_are_found(tmp_path: Path) -> None:
    """A figure of the page and a table of an item that do not exist are named with file and line; what exists is not."""
    paper = read_paper(write_paper(tmp_path, "page.md", ":::figure gains", ":::figure gainz"))
    (tmp_path / "tables.toml").unlink()
    without: Paper = replace(paper, claims="")
    assert list(paper_faults(without)) == [
        f"{tmp_path.name}/page.md, line 11: there is no figure 'gainz'; similar names: gains, rope-gains, gate-lines.",
        f"{tmp_path.name}/items.toml, line 12: there is no table 'tweets'; no name is similar.",
    ]
