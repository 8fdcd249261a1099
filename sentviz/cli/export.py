"""The command that writes figures, the files of a paper, and models as ONNX graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sentviz.cli.listings import CLASSES
from sentviz.cli.terminal import command, main
from sentviz.verbs.sentence import METHODS, no_pair


@main.command(cls=CLASSES["export"])
@click.argument("run", required=False)
@click.argument("figure", required=False)
@click.option("--list", "names", is_flag=True, help="List the figures; with a RUN also whether it can give each figure, and if not, why.")
@click.option("--paper", help="Write all tables and figures of this paper into the folder OUT. The names are listed below.")
@click.option("--text", help="Sentence; default: the run's example.")
@click.option("--pair", help="Second sentence, for runs that read pairs.")
@click.option("--change", default="", help="Change the model first, as in head:1.4=0~lambda:2.1=0.5; places count from 1.")
@click.option("--layer", help="Layer, counted from 1; default: the first.")
@click.option("--head", help="Attention head, counted from 1, or mean or max; default: mean.")
@click.option("--component", help="Attention component, counted from 1, or effective; default: effective.")
@click.option("--score", help=f"Explanation method of the figure strip: {METHODS}")
@click.option("--versus", multiple=True, help="Run to compare with. May be repeated.")
@click.option("-O", "--option", "more", multiple=True, metavar="NAME=VALUE", help="Other option, see --list. May be repeated.")
@click.option("--size", help="Size in print: column (84 mm wide), wide (174 mm) or slide; default: the size on screen.")
@click.option(
    "--style",
    multiple=True,
    metavar="NAME=VALUE",
    help="Style: size, width and height (mm), points, font, title, caption, legend, palette, x and y (from..to), note. May be repeated.",
)
@click.option("--labels", metavar="LABEL=CLASS,...", help="Class of each label of a file, as in 1=negative,2=positive.")
@click.option("--scale", help="Scale of a file's column of numbers: probability, percent, logit or confidence.")
@click.option("--partial", is_flag=True, default=None, help="Draw although more than 2 % of the file's rows are left out.")
@click.option("--dark", is_flag=True, help="Draw for a dark background.")
@click.option("--onnx", is_flag=True, help="Write the model of RUN as an ONNX graph and its tokenizer into the folder OUT (extra: onnx).")
@click.option("--maps", is_flag=True, help="With --onnx: let the graph return attention maps, too.")
@click.option(
    "--int8", is_flag=True, help="With --onnx: write a second graph in 8 bits and measure its accuracy on 2,000 rows of the test split."
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="FILE.png, .svg, .pdf, .html, .csv or .tex; with --paper and --onnx a folder.",
)
@command
def export(
    run: str | None,
    figure: str | None,
    names: bool,
    paper: str | None,
    more: tuple[str, ...],
    size: str | None,
    style: tuple[str, ...],
    dark: bool,
    onnx: bool,
    maps: bool,
    int8: bool,
    out: Path | None,
    **named: Any,
) -> None:
    """Write FIGURE of RUN to a file. With --paper, write all tables and figures of a paper; with --onnx, write the model of RUN.

    For figures of predictions, RUN may be a table with predictions of another program: FILE, or FILE:MODEL if it has several models.
    """
    from sentviz.cli.figures import export_onnx, export_paper_files, figure_list, parse_options

    if names:
        click.echo(figure_list(run, named))
        return
    if out is None:
        raise click.UsageError("Name the file to write with -o, or list the figures with --list.")
    if onnx or maps or int8:
        if not onnx or run is None or figure is not None or paper is not None:
            raise click.UsageError(
                "--onnx needs a RUN and no FIGURE, and --maps and --int8 need --onnx: sentviz export RUN --onnx -o FOLDER."
            )
        export_onnx(run, out, maps=maps, int8=int8)
        return
    if paper is not None:
        export_paper_files(paper, run, out)
        return
    from sentviz.analysis.testset.predictions_file import is_table
    from sentviz.charts.gallery import draw
    from sentviz.charts.look import Style
    from sentviz.charts.registry import find_figure
    from sentviz.export.files import save
    from sentviz.runs.store import find

    looks = Style.parse([*style, *([f"size={size}"] if size else [])])
    if run is None or figure is None:
        raise click.UsageError("Give a RUN and a FIGURE, or a paper with --paper. --list shows the figures.")
    if out.is_dir():
        raise click.UsageError(f"{out} is a folder. Name a file with -o.")
    if named["pair"] is not None and named["text"] is None:
        raise click.UsageError("--pair is the second sentence of a pair. Give the first sentence with --text.")
    spec = find_figure(figure)
    stored = find(run) if spec.of.OF_RUN and not is_table(run) else None
    if stored is not None:
        no_pair(stored, named["pair"])
    options = parse_options(spec, {name: value for name, value in named.items() if value not in (None, (), "")}, more, stored)
    save(draw(run, figure, **options, theme="dark" if dark else "light"), out, style=looks)
    click.echo(f"Written to {out}")
