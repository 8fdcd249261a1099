"""Verbs that draw: the figures of a run, all files of a paper, and a model as an ONNX graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from sentviz.errors import InputError
from sentviz.io.arguments import Arg, Progress
from sentviz.io.numbers import percent, signed
from sentviz.verbs.door import OptionError, Outcome, Result, verb
from sentviz.verbs.sentence import METHODS, no_pair
from sentviz.verbs.shelf import records
from sentviz.verbs.sources import Labels, Scale

if TYPE_CHECKING:
    from sentviz.charts.figure import Figure
    from sentviz.charts.gallery import FigureSpec
    from sentviz.charts.look import Style
    from sentviz.runs.store import Run


@dataclass(frozen=True, eq=False)
class Drawn(Result):
    """A figure: picture, numbers and caption."""

    figure: Figure
    style: Style
    remarks: tuple[str, ...] = field(default=())
    SAVES: ClassVar[tuple[str, ...]] = (".png", ".svg", ".pdf", ".html", ".csv", ".tex")

    def chart(self) -> Figure:
        """Return the figure itself."""
        return self.figure

    @property
    def frame(self) -> Any:
        """All numbers of the figure."""
        return self.figure.frame

    def text(self) -> str:
        """Return caption and origin."""
        return "\n".join(filter(None, (self.figure.caption, self.figure.source)))

    def json(self) -> Any:
        """Return name, caption, origin and numbers."""
        figure = self.figure
        return {"figure": figure.name, "caption": figure.caption, "source": figure.source, "rows": records(figure.frame)}

    def save(self, path: Path) -> str:
        """Write picture, page, numbers or LaTeX, by the ending of the file."""
        from sentviz.export.files import save

        save(self.figure, path, style=self.style)
        return f"Written to {path}"


@verb("Papers")
def export(
    run: Annotated[str, Arg("Run, data set of a study, or FILE[:MODEL] with predictions of another program.", run=True)],
    figure: Annotated[str, Arg("Name of a figure, as `sentviz figures` lists it.", example="confusion")],
    *,
    text: Annotated[str, Arg("Sentence; default: the run's example.", size=20_000)] = "",
    pair: Annotated[str, Arg("Second sentence, for runs that read pairs.", size=20_000)] = "",
    change: Annotated[str, Arg("Change the model first, as in head:1.4=0~lambda:2.1=0.5; places count from 1.", size=4_000)] = "",
    layer: Annotated[str, Arg("Layer, counted from 1; default: the first.")] = "",
    head: Annotated[str, Arg("Attention head, counted from 1, or mean or max; default: mean.")] = "",
    component: Annotated[str, Arg("Attention component, counted from 1, or effective; default: effective.")] = "",
    score: Annotated[str, Arg(f"Explanation method of the figure strip: {METHODS}")] = "",
    versus: Annotated[tuple[str, ...], Arg("Run to compare with. May be repeated.", run=True, several=6)] = (),
    options: Annotated[
        tuple[str, ...],
        Arg("Other option, see `sentviz figures`. May be repeated.", flags=("-O", "--option"), metavar="NAME=VALUE", local=True),
    ] = (),
    size: Annotated[str, Arg("Size in print: column (84 mm wide), wide (174 mm) or slide; default: the size on screen.", local=True)] = "",
    style: Annotated[
        tuple[str, ...],
        Arg(
            "Style: size, width and height (mm), points, font, title, caption, legend, palette, x and y (from..to), note. May be repeated.",
            metavar="NAME=VALUE",
            local=True,
        ),
    ] = (),
    labels: Labels = "",
    scale: Scale = "",
    partial: Annotated[bool, Arg("Draw although more than 2 % of the file's rows are left out.", local=True)] = False,
    dark: Annotated[bool, Arg("Draw for a dark background.", local=True)] = False,
) -> Drawn:
    """Draw FIGURE of RUN and write it to a file.

    For figures of predictions, RUN may be a table with predictions of another program: FILE, or FILE:MODEL if it has several models.
    """
    from sentviz.analysis.testset.predictions_file import is_table
    from sentviz.charts.gallery import draw
    from sentviz.charts.look import Style
    from sentviz.charts.registry import find_figure
    from sentviz.runs.store import find

    looks = Style.parse([*style, *([f"size={size}"] if size else [])])
    if pair and not text:
        raise OptionError("--pair is the second sentence of a pair. Give the first sentence with --text.")
    spec = find_figure(figure)
    stored = find(run) if spec.of.OF_RUN and not is_table(run) else None
    if stored is not None:
        no_pair(stored, pair or None)
    named: dict[str, Any] = {
        "text": text,
        "pair": pair,
        "change": change,
        "layer": layer,
        "head": head,
        "component": component,
        "score": score,
    }
    named |= {"versus": versus, "labels": labels, "scale": scale, "partial": partial}
    typed = parse_options(spec, {name: value for name, value in named.items() if value}, options, stored)
    return Drawn(draw(run, figure, **typed, theme="dark" if dark else "light"), looks)


def parse_options(spec: FigureSpec, named: Mapping[str, Any], more: Sequence[str], run: Run | None) -> dict[str, Any]:
    """Return typed options in the form that `sentviz.charts.gallery.draw` takes.

    Args:
        named: options that `export` has itself, by name.
        more: further options, as NAME=VALUE.
    """
    typed = dict(named)
    for part in more:
        name, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"{part!r} is not an option. Write NAME=VALUE.")
        typed[name] = value
    options = {name: spec.option(name).read(value) if isinstance(value, str) else value for name, value in typed.items()}
    if isinstance(options.get("versus"), tuple) and isinstance(spec.option("versus").default, str):
        if len(options["versus"]) != 1:
            raise InputError(f"The figure {spec.name} compares with one run: give --versus once.")
        options["versus"] = options["versus"][0]
    for name, value in options.items():
        kind = spec.option(name).kind
        if run is not None and (has := kind.lacks(value, run.capabilities)):
            raise InputError(f"{run.name} has {has}, not {kind.write(value)}.")
    return options


OWN = ("text", "pair", "change", "layer", "head", "component", "score", "versus", "labels", "scale", "partial")  # options of `export`


@verb("Papers")
def figures(run: Annotated[str, Arg("Run; each figure is marked that it can give.", run=True)] = "") -> Outcome:
    """List the figures with their options. With a RUN, mark those that it can give, and say why it cannot give the others."""
    from sentviz.charts.gallery import FIGURES
    from sentviz.charts.subjects import SUBJECTS
    from sentviz.runs.store import find

    stored, lines, entries = find(run) if run else None, [], []
    for subject in SUBJECTS:
        lines += ["", f"Figures {subject.SAYS}"]
        for spec in (spec for spec in FIGURES.values() if issubclass(spec.of, subject)):
            why = spec.lacks(stored) if stored is not None and subject.OF_RUN else ""
            lines += _lines(spec, why, marked=stored is not None and subject.OF_RUN)
            options = {option.name: option.help for name, option in spec.options.items() if name != "theme"}
            entries.append(
                {"figure": spec.name, "title": spec.title, "of": subject.SAYS, "options": options} | ({"lacks": why} if why else {})
            )
    return Outcome(tuple(lines[1:]), entries)


def _lines(spec: FigureSpec, why: str, marked: bool) -> list[str]:
    mark = "" if not marked else "✗ " if why else "✓ "
    needs = ", ".join(need.says for need in spec.needs)
    options = [option for name, option in spec.options.items() if name != "theme"]
    takes = [f"--{option.name}" for option in options if option.name in OWN]
    takes += [f"-O {option.help}" for option in options if option.name not in OWN]
    sets = "" if spec.of.OF_RUN else ", ".join(spec.names)
    details = (why, "" if why else " ".join(takes), f"of {sets}" if sets else "")
    head = f"  {mark}{spec.name:<22}{spec.title}" + (f" [needs {needs}]" if needs and not marked else "")
    return [head, *(f"      {detail}" for detail in details if detail)]


@verb("Papers")
def paper(
    name: Annotated[str, Arg("Name of a paper; the names are listed below.", local=True)],
    *,
    out: Annotated[Path, Arg("Folder to write.", flags=("-o", "--out"), local=True)],
    progress: Annotated[Progress | None, "Tables and figures"] = None,
) -> Outcome:
    """Write all tables and figures of a paper, made of all available runs, with a list of the files."""
    from sentviz.papers.studies.export_paper import export_paper
    from sentviz.runs.catalog import study_runs

    available = study_runs()
    manifest = export_paper(name, out, available.runs, progress=progress)
    remarks = [f"{run}: {why}" for run, why in available.left_out.items()]
    remarks += [
        f"{item.get('title', item['id'])}: {item.get('reason', item['state'])}" for item in manifest["files"] if item["state"] != "written"
    ]
    if not manifest["pictures"]:
        remarks.append("Chrome or Chromium is not installed, so the figures are written as CSV only.")
    files = sum(len(part["files"]) for item in manifest["files"] for part in item["parts"])
    return Outcome((f"{files} files and manifest.json written to {out}",), manifest, tuple(remarks))


@verb("Yours")
def onnx(
    run: Annotated[str, Arg("Run.", local=True)],
    *,
    out: Annotated[Path, Arg("Folder to write.", flags=("-o", "--out"), local=True)],
    maps: Annotated[bool, Arg("Let the graph return attention maps, too.", local=True)] = False,
    int8: Annotated[bool, Arg("Write a second graph in 8 bits, and measure it on 2,000 rows of the test split.", local=True)] = False,
) -> Outcome:
    """Write the model of RUN as an ONNX graph and its tokenizer into a folder (extra: onnx)."""
    from sentviz.serving.onnx import export as export_graph

    card = export_graph(run, out, maps=maps, int8=int8)
    compared, cost = card["compared"], card.get("int8", {})
    sizes = ", ".join(f"{name} ({(out / name).stat().st_size / 1e6:.1f} MB)" for name in card["files"])
    lines = [f"Written to {out}: {sizes}, model.json"]
    lines.append(f"Logits differ from the run's by at most {compared['largest_difference']:.1e}, on {compared['texts']} texts.")
    if "why" in cost:
        lines.append(f"The accuracy of the 8-bit graph was not measured: {cost['why']}")
    elif cost:
        low, high, value = (100 * cost["difference"][name] for name in ("low", "high", "value"))
        lines.append(
            f"Accuracy on {cost['n']:,} rows of the test split: 8-bit graph {percent(cost['accuracy'], 2)}, run"
            f" {percent(cost['of_the_run'], 2)}, difference {signed(value)} points [{signed(low)}, {signed(high)}]."
            f" {percent(cost['same'], 2)} of the predictions are the same."
        )
    return Outcome(tuple(lines), {"out": str(out)} | card)
