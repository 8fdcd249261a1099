"""The files of a paper, from paper.toml to tables.toml, and the paper of docs/sixth_paper, which has such files and claims."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sentviz.errors import InputError, SentvizError
from sentviz.io.table import Column
from sentviz.papers.studies.claims import judged
from sentviz.papers.studies.items import make_table, paper_faults
from sentviz.papers.studies.tables import tables_of
from sentviz.runs import registry
from sentviz.runs.registry import Paper, find_paper, read_paper
from sentviz.runs.sections import Drawer, FigureBlock, SideBySide, TextBlock, Where
from sentviz.runs.store import Run, find
from tests.kit import ROOT, SHIPPED, refused

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
FOLDER = ROOT / "docs" / "sixth_paper"
LIGHT = {"paper.toml", "page.md", "items.toml", "tables.toml", "claims.py", "measure.py", "__init__.py"}
ATTENTION, REMOVAL, OTHERS = ("attention", "gradient"), ("attention", "removal"), ("removal", "gradient")
CASES: dict[str, tuple[Callable[[Any], pd.DataFrame], tuple[Any, ...]]] = {  # numbers for which it holds, fails (None: never) and is open
    "weak-gradients": (lambda tau: pairs({ATTENTION: tau}), ([0.2, 0.3], [0.7, 0.8], [0.4, 0.6])),
    "weak-removal": (lambda tau: pairs({REMOVAL: tau}), ([0.2, 0.3], [0.7, 0.8], [0.4, 0.6])),
    "others-agree": (lambda tau: pairs({OTHERS: tau}), ([0.5, 0.6], [-0.5, -0.6], [0.6, -0.38])),
    "none-agrees": (lambda tau: pairs({OTHERS: tau}), ([0.1, 0.12], [0.7, 0.8], [0.45, 0.55])),
    "top-word": (lambda top: pairs({}, top=top[0], chance=top[1]), (([1, 1, 0], 0.1), ([0] * 19 + [1], 0.3), ([0] * 9 + [1], 0.1))),
    "permuted": (lambda distance: changes("permuted", distance=distance), (0.01, 0.2, [0.01, 0.2])),
    "other-attention": (lambda share: changes("permuted", other=share), (1, 0, [0, 1])),
    "equal": (lambda right: changes("equal everywhere", right=right), (1, None, [0, 1])),
}


def write_paper(folder: Path, file: str = "", old: str = "", new: str = "") -> Path:
    """Write a good paper into a folder, with one change to one file."""
    for name, text in GOOD.items():
        assert name != file or old in text
        (folder / name).write_text(text.replace(old, new, 1) if name == file else text, encoding="utf-8")
    return folder


def test_a_paper_is_read_and_names_that_nothing_has_are_found(tmp_path: Path) -> None:
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
    (folder := tmp_path / "wrong").mkdir()
    paper = read_paper(write_paper(folder, "page.md", ":::figure gains", ":::figure gainz"))
    (folder / "tables.toml").unlink()
    without: Paper = replace(paper, claims="")
    assert list(paper_faults(without)) == [
        "wrong/page.md, line 11: there is no figure 'gainz'; similar names: gains, rope-gains, gate-lines.",
        "wrong/items.toml, line 12: there is no table 'tweets'; no name is similar.",
    ]


@pytest.mark.parametrize(("file", "old", "new", "fault"), WRONG, ids=[row[3][:60] for row in WRONG])
def test_a_wrong_file_is_one_sentence(file: str, old: str, new: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(SentvizError) as raised:
        paper = read_paper(write_paper(tmp_path, file, old, new))
        assert paper.items() and make_table(paper, "tweets", [])
    message = str(raised.value)
    assert message.startswith(f"{tmp_path.name}/{fault}"), message
    assert message.endswith(".") and not message.endswith("..") and "\n" not in message and str(tmp_path) not in message


@pytest.fixture
def debate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paper]:
    (info := tmp_path / "attention_debate-1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: attention-debate\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[sentviz.papers]\nattention-debate = attention_debate\n")
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._registered.cache_clear()
    yield find_paper("attention-debate")
    registry._registered.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "attention_debate"]:
        del sys.modules[name]


def test_every_claim_is_judged_on_what_is_stored(debate: Paper) -> None:
    frame = judged([], ["attention-debate"])
    assert len(frame) == 8 == len(CASES) and not set(frame["verdict"]) & {"unjudged"} and {len(parts) for parts in frame["parts"]} == {4}
    assert [section.name for section in debate.page.sections] == ["orders", "weights"]
    agreement, weights = (tables_of(debate)[name]([], "all").frame for name in ("agreement", "weights"))
    assert len(agreement) == 4 * 6 and len(weights) == 4 and set(agreement["n"]) == set(weights["n"]) == {300}
    assert {path.name for path in debate.folder.iterdir() if path.is_file()} == LIGHT


def rows(**values: Any) -> pd.DataFrame:
    """Made-up measurements: 20 sentences of each model, with the same values or those of a list in turn."""
    from attention_debate.claims import MODELS

    each = {"row": range(20)} | {key: np.resize(np.asarray(value, dtype=object), 20) for key, value in values.items()}
    return pd.concat(pd.DataFrame({"run": name} | each) for name in MODELS).infer_objects()


def pairs(taus: dict[tuple[str, str], list[float]], **values: Any) -> pd.DataFrame:
    """Made-up agreement: the τ of each pair of explanations, in turn over the sentences; 0.1 and 0.12 for pairs that are not named."""
    from attention_debate.claims import WORDS

    every = {pair: [0.1, 0.12] for pair in combinations(WORDS, 2)} | taus
    return pd.concat(rows(first=first, second=second, tau=tau, **values) for (first, second), tau in every.items())


def changes(change: str, **values: Any) -> pd.DataFrame:
    return rows(change=change, **({"distance": 0.01, "right": 1, "was right": 1, "other": 1} | values))


@pytest.mark.parametrize("name", CASES)
def test_a_claim_holds_fails_and_stays_open(debate: Paper, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    from attention_debate import claims

    make, numbers = CASES[name]
    (claim,) = [claim for claim in claims.BOARD if claim.id == name]
    for each, verdict in zip(numbers, ("holds", "fails", "open"), strict=True):
        if each is not None:
            frame = make(each)
            monkeypatch.setattr(claims.Stored, "require", lambda *_, frame=frame: frame)
            assert claim.test([]).verdict == verdict, verdict


@SHIPPED
def test_a_model_that_changed_is_named(debate: Paper, monkeypatch: pytest.MonkeyPatch) -> None:
    from attention_debate import claims

    for table in (claims.PAIRS, claims.CHANGES):
        assert {(name, find(name).digest) for name in claims.MODELS} == set(
            table.read()[["run", "digest"]].itertuples(index=False, name=None)
        )
    changed = [Run.open(ROOT / "checkpoints/sst2/vanilla", "sst2/cls"), *(find(name) for name in claims.MODELS if name != "sst2/cls")]
    frame = judged(changed, ["attention-debate"])
    sentence = "sst2/cls changed after the measurement: `python -m attention_debate.measure` measures again."
    assert set(frame["verdict"]) == {"unjudged"} and set(frame["evidence"]) == {sentence}
    for table in tables_of(debate).values():
        refused(InputError, "sst2/cls changed", table, changed, "all")
    monkeypatch.setattr(claims.Stored, "read", lambda of: pd.DataFrame(columns=list(of.columns)))
    frame = judged([], ["attention-debate"])
    assert set(frame["verdict"]) == {"unjudged"} and frame["evidence"].str.contains("attention_debate.measure").all()


def test_moved_values_are_moved_weights(debate: Paper) -> None:
    from attention_debate.measure import Moved, equal_weights

    import sentviz

    model, text = sentviz.load("sst2/ndt-unit-2"), "The film is short, but nobody in it is dull."
    moved, trace = Moved(model, text), model.trace(text)
    own = np.exp(trace.logits.astype(np.float64))
    np.testing.assert_allclose(moved.probabilities(1, lambda values: values)[0], own / own.sum(), atol=1e-5)
    seen: dict[Any, Any] = {}
    take = moved._logits

    def recorded(count: int, change: Any) -> Any:
        return take(count, replace(change, record=seen) if change.replaced else change)

    moved._logits = recorded  # type: ignore[method-assign]
    moved.probabilities(1, equal_weights)
    values, outputs = (seen[what, model.capabilities.layers - 1] for what in ("value", "head"))
    sums = trace.attention[-1].sum(axis=-1, keepdims=True)  # The weights of mixed maps need not sum to 1.
    np.testing.assert_allclose(outputs[0], sums * values[0].mean(1, keepdim=True).numpy(), atol=1e-5)
