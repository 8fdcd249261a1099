"""Commands that show a run, on the terminal or as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sentviz.cli.terminal import METHODS, command, listing, main, ticking

if TYPE_CHECKING:
    from sentviz.runs.store import Run

pair_option = click.option("--pair", help="The second sentence, for runs that read pairs.")


@main.command()
@click.option("--folder", "folders", multiple=True, type=click.Path(path_type=Path), help="Further folders of runs.")
@command
def catalog(folders: tuple[Path, ...]) -> None:
    """Every run at hand with its headline metrics."""
    from sentviz.runs.catalog import catalog as read

    frame = read(folders)
    if frame.empty:
        click.echo("There are no runs here. `sentviz train sst2` makes one.")
        return
    good = frame[frame["problem"].fillna("") == ""]
    click.echo(f"{'run':<36}{'accuracy':>9}  {'95% interval':<15}{'n':>8}{'parameters':>12}  seed")
    for row in good.to_dict("records"):
        spread = f"{row['low']:.2%} - {row['high']:.2%}"
        click.echo(
            f"{row['run']:<36}{row['accuracy']:>9.2%}  {spread:<17}{int(row['n']):>6,}{int(row['parameters']):>12,}  {int(row['seed'])}"
        )
    for problem in frame[frame["problem"].fillna("") != ""]["problem"]:
        click.echo(f"! {problem}")


@main.command()
@click.argument("run")
@click.argument("sentence")
@pair_option
@click.option("--score", default="removal", show_default=True, help=METHODS)
@command
def explain(run: str, sentence: str, pair: str | None, score: str) -> None:
    """Why RUN answers as it does to SENTENCE, on the terminal."""
    import numpy as np

    from sentviz.analysis.explain import SCORES, agreement, deviation, explained, headline, incomplete, supported
    from sentviz.analysis.explain import score as score_of
    from sentviz.analysis.explain.headline import chance_of
    from sentviz.analysis.explain.notices import uncounted
    from sentviz.models.loading import load

    found = _reading(run, pair)
    model = load(found)
    trace = supported(model, explained(model, model.trace(sentence, pair), {"removal", score}), chance_of(model, found))
    values, how = score_of(trace, score), SCORES[score]
    shown = deviation(trace, score) if how.signed else np.where(trace.specials, 0, deviation(trace, score))
    click.echo(f"{model.name}: {headline(trace)}")
    for label, probability in zip(trace.labels, trace.probabilities, strict=True):
        click.echo(f"  {label:>10} {'█' * round(30 * float(probability)):<30} {probability:6.1%}")
    click.echo(f"\n{how.title} (+ {how.high}, - {how.low}):")
    top = max(float(abs(shown).max()), 1e-9)
    width = max(len(token) for token in trace.tokens)
    for token, value, unknown in zip(trace.tokens, shown, trace.unknown, strict=True):
        bar = "█" * round(20 * abs(float(value)) / top)
        left, right = (bar.rjust(20), "") if value < 0 else ("", bar)
        printed = "".join(c if c.isprintable() else "·" for c in token)
        click.echo(f"  {printed:<{width}} {left:>20}|{right:<20} {value:+.3f}{'  (not in the vocabulary)' if unknown else ''}")
    if score != "removal" and (rho := agreement(trace, values, signed=how.signed)) is not None:
        click.echo(f"Rank correlation with {'word removal' if how.signed else 'the size of word removal'}: {rho:+.2f}")
    if gap := incomplete(trace, score):
        click.echo(gap)
    if trace.dropped:
        most = model.config.max_length
        click.echo(f"The last {trace.dropped:,} tokens are beyond the model's maximum of {most} and were not read.{uncounted(trace)}")


def _papers() -> list[tuple[str, str]]:
    from sentviz.runs.registry import papers

    return [(name, f"{paper.title} ({paper.citation})") for name, paper in papers().items()]


@main.command(cls=listing("Papers", _papers))
@click.argument("run", required=False)
@click.argument("figure", required=False)
@click.option("--list", "names", is_flag=True, help="Which figures there are; with a RUN, which it can give, and why not the others.")
@click.option("--paper", help="Every live table and figure of a paper, as listed below, instead, into the folder OUT.")
@click.option("--text", help="The sentence; by default the run's example.")
@pair_option
@click.option("--layer", help="Counted from 1; the first by default.")
@click.option("--head", help="Counted from 1, or mean, max; the mean by default.")
@click.option("--component", help="Counted from 1, or effective, which is the default.")
@click.option("--score", help=f"Of the strip: {METHODS}")
@click.option("--versus", multiple=True, help="A run beside it; may be given several times.")
@click.option("-O", "--option", "more", multiple=True, metavar="NAME=VALUE", help="Any other option of the figure, as --list names them.")
@click.option(
    "--sheet", multiple=True, metavar="'RUN FIGURE NAME=VALUE ...'", help="A panel of one sheet, instead of RUN and FIGURE. Several times."
)
@click.option("--columns", default=2, show_default=True, help="Panels of a sheet side by side.")
@click.option("--size", help="Of a place in print: column (84 mm), wide (174 mm) or slide; by default as on screen.")
@click.option(
    "--style",
    multiple=True,
    metavar="NAME=VALUE",
    help="Looks: size, width and height (mm), points, font, title, caption, legend, palette, x and y (from..to), note. Several times.",
)
@click.option("--dark", is_flag=True, help="For a dark background.")
@click.option("--onnx", is_flag=True, help="The model of RUN instead, as a graph with its tokenizer, into the folder OUT (extra: onnx).")
@click.option("--maps", is_flag=True, help="With --onnx: the graph gives attention maps too.")
@click.option(
    "--int8", is_flag=True, help="With --onnx: a second graph in 8 bits, and the accuracy that it costs on 2,000 rows of the test split."
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="FILE.png, .svg, .pdf, .html, .csv or .tex; with --paper and --onnx a folder",
)
@command
def export(
    run: str | None,
    figure: str | None,
    names: bool,
    paper: str | None,
    more: tuple[str, ...],
    sheet: tuple[str, ...],
    columns: int,
    size: str | None,
    style: tuple[str, ...],
    dark: bool,
    onnx: bool,
    maps: bool,
    int8: bool,
    out: Path | None,
    **named: Any,
) -> None:
    """Write FIGURE of RUN to a file; with --paper every live table and figure of a paper, with --onnx the model of RUN to a folder."""
    from sentviz.cli.figures import listed, options_of

    if names:
        click.echo(listed(run))
        return
    if out is None:
        raise click.UsageError("Name the file to write with -o, or see the figures with --list.")
    if onnx or maps or int8:
        if not onnx or run is None or figure is not None or paper is not None or sheet:
            raise click.UsageError(
                "--onnx takes a RUN and no FIGURE, and --maps and --int8 go with it: sentviz export RUN --onnx -o FOLDER."
            )
        _export_onnx(run, out, maps=maps, int8=int8)
        return
    if paper is not None:
        _export_paper(paper, run, out)
        return
    from sentviz.export.files import save
    from sentviz.figures.style import Style
    from sentviz.gallery import draw
    from sentviz.gallery.registry import find_figure

    looks = Style.parse([*style, *([f"size={size}"] if size else [])])
    if sheet:
        from sentviz.cli.figures import drawn
        from sentviz.export.sheets import Sheet

        if run is not None:
            raise click.UsageError("--sheet names runs and figures itself; leave RUN and FIGURE out.")
        Sheet([drawn(words) for words in sheet], columns, style=looks).save(out)
        click.echo(f"Written to {out}")
        return
    if run is None or figure is None:
        raise click.UsageError("Name a RUN and a FIGURE, or a paper with --paper; --list names the figures.")
    if out.is_dir():
        raise click.UsageError(f"{out} is a folder; name a file.")
    if named["pair"] is not None and named["text"] is None:
        raise click.UsageError("--pair goes with --text: it is the second sentence of a pair.")
    spec = find_figure(figure)
    found = _reading(run, named["pair"]) if spec.of.OF_RUN else None
    options = options_of(spec, {name: value for name, value in named.items() if value not in (None, ())}, more, found)
    save(draw(run, figure, **options, theme="dark" if dark else "light"), out, style=looks)
    click.echo(f"Written to {out}")


def _export_onnx(run: str, out: Path, *, maps: bool, int8: bool) -> None:
    from sentviz.serving.onnx import export

    card = export(run, out, maps=maps, int8=int8)
    sizes = ", ".join(f"{name} ({(out / name).stat().st_size / 1e6:.1f} MB)" for name in card["files"])
    compared = card["compared"]
    click.echo(f"Written to {out}: {sizes}, model.json")
    click.echo(f"Its logits differ from the run's by at most {compared['largest_difference']:.1e}, on {compared['texts']} texts.")
    if "why" in (cost := card.get("int8", {})):
        click.echo(f"What 8 bits cost was not measured: {cost['why']}")
    elif cost:
        low, high, of = (100 * cost["difference"][name] for name in ("low", "high", "value"))
        click.echo(
            f"In 8 bits {cost['accuracy']:.2%} of {cost['n']:,} rows of the test split are right, of the run {cost['of_the_run']:.2%}:"
            f" {of:+.2f} points [{low:+.2f}, {high:+.2f}]; {cost['same']:.2%} of the answers are the same."
        )


def _export_paper(paper: str, run: str | None, out: Path) -> None:
    from sentviz.papers.studies.export_paper import export_paper
    from sentviz.runs.catalog import study_runs

    if run is not None:
        raise click.UsageError("--paper takes every run at hand; leave RUN and FIGURE out.")
    found = study_runs()
    for name, why in found.left_out.items():
        click.echo(f"! {name}: {why}", err=True)
    with ticking("Tables and figures") as progress:
        manifest = export_paper(paper, out, found.runs, progress=progress)
    for item in manifest["items"]:
        if item["state"] != "written":
            click.echo(f"! {item.get('title', item['id'])}: {item.get('reason', item['state'])}", err=True)
    if not manifest["pictures"]:
        click.echo("! Without Chrome or Chromium the figures are CSV only.", err=True)
    files = sum(len(part["files"]) for item in manifest["items"] for part in item["parts"])
    click.echo(f"{files} files and manifest.json written to {out}")


@main.command()
@click.argument("run")
@click.argument("sentence")
@pair_option
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="FILE.html")
@click.option("--picture", is_flag=True, help="Only the linked picture: what belongs to a word, a head or a cell lights up.")
@command
def report(run: str, sentence: str, pair: str | None, out: Path, picture: bool) -> None:
    """Everything about RUN's answer to SENTENCE on one page that needs no network: verdict, words, maps, provenance."""
    import numpy as np

    from sentviz.analysis.explain import available, explained, supported
    from sentviz.analysis.explain.headline import chance_of
    from sentviz.analysis.maps.arithmetic import cell
    from sentviz.analysis.maps.silenced import silenced
    from sentviz.browser.canvas import canvas_html
    from sentviz.browser.canvas.scenes import scene_of
    from sentviz.export.report import report_html
    from sentviz.figures import probability_bars
    from sentviz.gallery import sourced
    from sentviz.io.files import replacing
    from sentviz.models.loading import load

    if out.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"The report is a page: name a file that ends with .html, not {out.name}.")
    found = _reading(run, pair)
    model = load(found)
    seen = model.trace(sentence, pair)
    if picture:
        trace = explained(model, seen, ("removal",))
        heads = silenced(model, trace) if trace.has_maps and model.capabilities.silence else None
        source = sourced(probability_bars(trace.labels, trace.probabilities), found, trace=trace).source
        with replacing(out) as part:
            part.write_text(canvas_html(scene_of(trace, found.capabilities, heads=heads), about=source), encoding="utf-8")
        click.echo(f"Written to {out}")
        return
    trace, arithmetic = explained(model, seen, available(seen, asking=True)), None
    trace = supported(model, trace, chance_of(model, found))
    if trace.attention is not None and model.capabilities.softmax:
        layer, head, query, key = map(int, np.unravel_index(np.abs(trace.attention).argmax(), trace.attention.shape))
        arithmetic = cell(model, trace, layer, head, query, key)
    with replacing(out) as part:
        part.write_text(report_html(trace, found, arithmetic=arithmetic), encoding="utf-8")
    click.echo(f"Written to {out}")


@main.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@command
def verify(files: tuple[Path, ...]) -> None:
    """Whether exported figures still show what the runs here give: each is drawn again, and its numbers are compared.

    Ends with 0 where the numbers of all are equal, with 1 otherwise. What it cannot prove: that nobody made up a picture, and a record to
    go with it, whose numbers are right.
    """
    from sentviz.export.verify import verify as verified
    from sentviz.figures.text import visible

    verdicts = [verified(file) for file in files]
    for file, verdict in zip(files, verdicts, strict=True):
        click.echo(f"{file}: {verdict.state}. {visible(verdict.why)}")
        if (record := verdict.record) is not None:
            drawn = [record.call.drawing if record.call else record.name, record.source]
            source = [f"sentviz {record.version}", record.view, record.style]
            click.echo(f"  {visible(' '.join(filter(None, drawn)))}\n  {visible(' · '.join(filter(None, source)))}")
    if any(verdict.state not in ("equal", "numbers equal") for verdict in verdicts):
        raise SystemExit(1)


def _reading(name: str, pair: str | None) -> Run:
    """The run by its name, if it can be asked about a text, or about two where a second one is given."""
    from sentviz.runs.languages import reads_pairs
    from sentviz.runs.store import find

    run = find(name)
    if pair is not None and not reads_pairs(run):
        raise click.UsageError(f"{run.name} reads single texts; leave --pair out.")
    return run
