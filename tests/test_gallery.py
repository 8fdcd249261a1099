"""Every figure is registered by name, drawn and listed, and refused in a sentence if a run lacks its needs."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import sentviz
from sentviz.charts import Figure, heatmap
from sentviz.charts.colours import palette
from sentviz.charts.gallery import FIGURES, FigureSpec, code, draw, make
from sentviz.charts.registry import RunRequirement, figure, find_figure
from sentviz.charts.subjects import SUBJECTS, Sentence
from sentviz.cli import main
from sentviz.data import datasets
from sentviz.errors import DataMissingError, InputError, MissingMapError, SentvizError
from sentviz.runs.store import find
from tests.kit import fake_trace
from tools.syntax import nodes

pytestmark = pytest.mark.slow

DRAWN = Path(sentviz.__file__).parent / "charts"
SHIPPED = ("sst2/ndt-unit-2", "sst2/cls-last-scaled", "imdb/hardmax-d2")
BESIDE: dict[str, dict[str, Any]] = {
    "difference": {"versus": "sst2/vanilla"},
    "agreement": {"versus": ("sst2/vanilla",)},
    "comparison": {"versus": ("sst2/vanilla",)},
    "separation": {"rows": 300, "epochs": 1},
}
OF = {"patch-epochs": "sst2/ndt-unit-2-epochs"}  # its pairs have words that made-up runs do not know
SLOW = ("tsne-panels",)  # twenty seconds: the tests of the paper's panels draw it


def sentviz_(*arguments: str | Path) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def public() -> set[str]:
    """Return every public function of sentviz.charts that draws a figure, by name."""
    return {
        node.name
        for path in DRAWN.glob("*.py")
        if path.stem != "gallery"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.returns is not None
        if ast.unparse(node.returns) == "Figure"
    }


def colours_not_drawn(figure: Figure) -> list[str]:
    """Return the colours that a caption names although no colour of that role is in the light figure."""
    light, drawn = palette("light"), figure.plot.to_json().lower()
    half = len(light.signed) // 2
    roles = {
        "purple": light.signed[:half],
        "green": light.signed[half + 1 :],
        "orange": (light.classes[0], light.classes[1], light.probability[0]),
        "blue": (light.classes[-1], light.classes[-2], light.probability[-1], *light.sequential),
    }
    named = set(re.findall("[a-z]+", figure.caption.lower())) & roles.keys()
    return sorted(name for name in named if not any(colour.lower() in drawn for colour in roles[name]))


def test_a_caption_that_names_another_colour_is_noticed() -> None:
    """A map with negative cells is purple and green: the word orange in its caption is wrong."""
    figure = heatmap(fake_trace(signed=True), 0)
    assert "Purple is negative" in figure.caption and not colours_not_drawn(figure)
    wrong = replace(figure, caption=figure.caption.replace("Purple", "Orange"))
    assert colours_not_drawn(wrong) == ["orange"]


def test_every_figure_has_a_name() -> None:
    """Every drawing function is called by a figure that is registered."""
    sources = [*DRAWN.glob("*.py"), *DRAWN.parent.glob("papers/*/figures.py")]
    called = {ast.unparse(node.func) for path in sources for node in nodes(path.read_text("utf-8")) if isinstance(node, ast.Call)}
    assert public() and public() <= called


@pytest.mark.exhaustive  # tests/golden draws each figure
@pytest.mark.parametrize("name", FIGURES)
def test_every_name_draws(name: str, measured_gates: Path, kept_epochs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`draw` makes each figure from the first run that can give it."""
    spec = FIGURES[name]
    if name in SLOW:
        pytest.skip("slow, and drawn by the tests of the paper's panels")
    able = [run for run in (*SHIPPED, str(measured_gates), str(kept_epochs)) if not spec.lacks(find(run))] if spec.of.OF_RUN else spec.names
    assert able
    try:
        figure = draw(OF.get(name, able[0]), name, **BESIDE.get(name, {}))
    except DataMissingError as error:
        pytest.skip(str(error))
    assert not figure.frame.empty and figure.caption
    unknown = colours_not_drawn(figure)
    assert not unknown, f"the caption names {unknown}, which the figure does not draw: {figure.caption}"
    assert figure.source or name in ("colours", "cost", "coverage", "coverage-tokenizers", "product-and-sum", "time-by-length")


@pytest.mark.exhaustive
def test_nothing_is_drawn_or_loaded_before_it_is_asked_for() -> None:
    """The registry and its list load neither plotly nor torch."""
    listing = (
        "import json, sys; from click.testing import CliRunner; from sentviz.cli import main;"
        "done = CliRunner().invoke(main, ['figures']); assert 'word-cloud' in done.output, done.output;"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not {"torch", "plotly", "sklearn", "umap", "openTSNE", "wordcloud"} & set(json.loads(done.stdout))


def test_a_name_is_there_once() -> None:
    with pytest.raises(InputError, match="two figures 'strip'"):
        figure("strip", "again", Sentence)(lambda of, *, theme="light": None)


@pytest.mark.parametrize("name", ["mine/map", "..", "My map", "", "strip-", "karte-ä"])
def test_a_name_that_no_file_and_no_link_can_have_is_refused_at_registration(name: str) -> None:
    with pytest.raises(InputError, match="may have only small letters and digits with hyphens"):
        figure(name, "mine", Sentence, "strip:token_strip")(lambda of, *, theme="light": None)
    assert name not in FIGURES


# ---- what cannot be drawn


@pytest.mark.parametrize(
    ("run", "name", "options", "message"),
    [
        ("sst2/ndt-unit-2", "atention", {}, "There is no figure 'atention'; similar names: attention, "),
        ("sst2/ndt-unit-2", "strip", {"layer": 1}, "The figure strip takes no layer; it takes text, pair"),
        ("sst2/ndt-unit-2", "sigma", {}, "sst2/ndt-unit-2 has no lexicon"),
        ("sst2/vanilla", "lambda", {}, "sst2/vanilla has no lambda."),
        ("sst2/vanilla", "scalars", {}, "sst2/vanilla has no learned scalars."),
        ("sst2/vanilla", "gate-lines", {}, "sst2/vanilla has no gates."),
        ("sst2/vanilla", "component-words", {}, "one attention map per head"),
        ("imdb/hardmax-d2", "smoother", {}, "is not a softmax"),
        ("sst2/ndt-unit-2", "particles", {}, "`sentviz train imdb --model hardmax-d2`"),
        ("sst2/ndt-unit-2-s1", "head-grid", {}, "`sentviz heads sst2/ndt-unit-2-s1` measures them"),
        ("sst2/ndt-unit-2-s1", "attention", {}, "without weights. `sentviz train`"),
        ("sst2/ndt-unit-2", "agreement", {}, "name the second run with versus"),
        ("sst2/ndt-unit-2", "accuracy-grid", {}, "takes imdb, sst2, "),
        ("sst2", "roc-panels", {}, "takes all, not 'sst2'"),
        ("sst2/ndt-unit-2", "confusion", {"over": "train"}, "no stored predictions for the split 'train'"),
        ("sst2/ndt-unit-2", "attention", {"layer": 9}, "sst2/ndt-unit-2: "),
        ("sst2/ndt-unit-2", "strip", {"score": "shap"}, "There is no score 'shap'"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(run: str, name: str, options: dict[str, Any], message: str) -> None:
    """The error says what is missing, and names the command that makes it if there is one."""
    with pytest.raises(SentvizError) as caught:
        draw(run, name, **options)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_need_is_asked_in_order() -> None:
    """The error names the first missing need: those of the subject come before those of the figure."""
    spec = FigureSpec(
        "x",
        "x",
        Sentence,
        lambda of: None,
        (RunRequirement("one", lambda run: "first."), RunRequirement("two", lambda run: "second.")),
    )
    assert spec.lacks(find("sst2/ndt-unit-2")) == "first."
    assert "without weights" in spec.lacks(find("sst2/ndt-unit-2-s1"))


@pytest.mark.exhaustive
def test_a_trace_at_hand_is_not_asked_again(tiny_run: Path) -> None:
    """Reports draw from the given trace, with its interventions."""
    run = find(tiny_run)
    subject = Sentence.of(run, run.example())
    assert not make("attention", subject, layer=1).frame.empty
    with pytest.raises(InputError, match="runs the model"):
        make("strip", subject, score="integrated-gradients")
    with pytest.raises(InputError, match="only a trace is available"):
        _ = subject.fresh


@pytest.mark.exhaustive
def test_a_fault_of_a_figure_is_not_shown_as_a_sentence(tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A map that the trace lacks is refused in a sentence, but a wrong key in the code of a figure stays an error of the program."""
    run = find(tiny_run)
    subject = Sentence.of(run, run.example())
    with pytest.raises(MissingMapError, match="holds the layers 0, 1, not 99"):
        make("attention", subject, layer=99)

    def faulty(subject: Any, **options: Any) -> Figure:
        return {}["effect"]

    monkeypatch.setitem(FIGURES, "attention", replace(find_figure("attention"), make=faulty))
    with pytest.raises(KeyError, match="effect"):
        make("attention", subject)


def test_every_layer_of_a_stored_trace_is_read_in_the_models_precision() -> None:
    """The stored half-precision example of a hardmax model is read in double precision."""
    shares = draw("imdb/hardmax-d2", "verdict-by-layer").frame
    assert shares["layer"].nunique() == find("imdb/hardmax-d2").capabilities.layers + 1
    last = shares[shares["layer"] == shares["layer"].max()]["probability"]
    assert last.tolist() == pytest.approx(find("imdb/hardmax-d2").example().probabilities.tolist(), abs=5e-3)


# ---- code and command


@pytest.mark.parametrize("name", FIGURES)
def test_the_notebooks_lines_run(name: str) -> None:
    """The lines parse, name the figure and leave out defaults; an option that the figure does not take is an error."""
    spec = find_figure(name)
    assert (
        str(code("a/b", name, **{each.name: each.default for each in spec.options.values()})).splitlines()[2]
        == f"figure = draw('a/b', {name!r})"
    )
    assert "theme='dark'" in str(code("a/b", name, theme="dark"))
    ast.parse(str(code("a/b", name)))
    with pytest.raises(InputError, match="takes no nonsense"):
        code("a/b", name, nonsense=1)


def test_the_list_says_what_a_run_can_give() -> None:
    everything = sentviz_("figures").output
    assert all(f" {name} " in everything for name in FIGURES)
    assert all(subject.SAYS in everything for subject in SUBJECTS)
    of_run = sentviz_("figures", "imdb/hardmax-d2").output
    assert "✓ particles" in of_run and "✗ sigma" in of_run and "imdb/hardmax-d2 has no lexicon" in of_run
    assert "✗" not in of_run[of_run.index("Figures of a paper's study") :]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("strip", "--layer", "2"), "The figure strip takes no layer"),
        (("confusion", "--text", "a song"), "The figure confusion takes no text"),
        (("attention", "-O", "side"), "NAME=VALUE"),
        (("attention", "-O", "side=wide"), "side must be a whole number, not 'wide'."),
        (("attention", "-O", "hide_specials=perhaps"), "hide_specials must be yes or no, not 'perhaps'"),
        (("strip", "-O", "lambdas=1"), "lambdas must be given in a notebook"),
        (("reliability", "-O", "by=size"), "by must be width or mass, not 'size'."),
        (("curves", "-O", "series=a"), "series must be a whole number, or several joined by commas, not 'a'."),
        (("difference", "--versus", "a/b", "--versus", "c/d"), "compares with one run: give --versus once"),
        (("nothing",), "There is no figure 'nothing'"),
    ],
)
def test_options_are_checked_against_the_figure(arguments: tuple[str, ...], message: str, tiny_run: Path, tmp_path: Path) -> None:
    done = sentviz_("export", tiny_run, *arguments, "-o", tmp_path / "figure.csv")
    assert done.exit_code and message in done.output and not list(tmp_path.iterdir())


@pytest.mark.exhaustive
def test_options_reach_the_figure(tiny_run: Path, tmp_path: Path) -> None:
    """Places are counted from 1 in the command and its files, for own options too."""
    out = tmp_path / "figure.csv"
    for arguments, column, value in (
        (("attention", "--layer", "2", "--head", "1"), "layer", "2"),
        (("smoother", "-O", "query=2", "-O", "layer=2"), "", ""),
        (("reliability", "-O", "by=mass"), "", ""),
        (("curves", "-O", "x=step"), "", ""),
        (("scalars", "-O", "x=share", "-O", "series=3"), "", ""),
    ):
        done = sentviz_("export", tiny_run, *arguments, "-o", out)
        assert done.exit_code == 0, done.output
        rows = [line.split(",") for line in out.read_text(encoding="utf-8-sig").splitlines()]
        assert len(rows) > 1 and (not column or {row[rows[0].index(column)] for row in rows[1:]} == {value})


@pytest.mark.exhaustive
def test_a_study_is_exported_by_its_data_set(tmp_path: Path) -> None:
    out = tmp_path / "figure.csv"
    done = sentviz_("export", "sst2", "accuracy-grid", "-o", out)
    assert done.exit_code == 0, done.output
    assert out.read_text(encoding="utf-8-sig").startswith("model,printed,value")


@pytest.mark.exhaustive
def test_words_are_counted_from_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cloud of the test split uses the stored words; another split needs the texts and says how to get them."""

    def nothing(*args: Any) -> None:
        raise DataMissingError("not here; `sentviz data get sst2` gets it.")

    monkeypatch.setattr(datasets, "load_split", nothing)
    assert not draw("sst2/ndt-unit-2", "word-cloud").frame.empty
    with pytest.raises(DataMissingError, match="sentviz data get"):
        draw("sst2/ndt-unit-2", "word-list", over="official_test")
