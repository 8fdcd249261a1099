"""Commands that show a run, on the terminal or in files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sentviz.cli.rows_options import own_model, own_model_options
from sentviz.cli.terminal import METHODS, command, listing, main, progress_bar, target_options
from sentviz.errors import InputError
from sentviz.io.lazy import np
from sentviz.io.numbers import percent, signed

if TYPE_CHECKING:
    from sentviz.runs.store import Run
    from sentviz.runs.target import Target
    from sentviz.runs.trace import Trace

pair_option = click.option("--pair", help="Second sentence, for runs that read pairs.")
change_option = click.option(
    "--change",
    default="",
    help="Change the model first, as in head:1.4=0~lambda:2.1=0.5~term:gate=0.5~gate:3=1. Layers, heads and tokens count from 1.",
)


@main.command()
@click.option("--folder", "folders", multiple=True, type=click.Path(path_type=Path), help="Further folder of runs. May be repeated.")
@command
def catalog(folders: tuple[Path, ...]) -> None:
    """List all available runs with accuracy, size and seed."""
    from sentviz.runs.catalog import catalog as read

    frame = read(folders)
    if frame.empty:
        click.echo("No runs are available. `sentviz train sst2` trains one, `sentviz runs get` fetches shipped runs.")
        return
    good = frame[frame["problem"].fillna("") == ""]
    click.echo(f"{'run':<36}{'accuracy':>9}  {'95 % interval':<15}{'n':>8}{'parameters':>12}  seed")
    for row in good.to_dict("records"):
        spread = f"{percent(row['low'], 2)} - {percent(row['high'], 2)}"
        click.echo(
            f"{row['run']:<36}{percent(row['accuracy'], 2):>9}  {spread:<17}{int(row['n']):>6,}{int(row['parameters']):>12,} "
            f" {int(row['seed'])}"
        )
    for problem in frame[frame["problem"].fillna("") != ""]["problem"]:
        click.echo(f"! {problem}")


@main.command()
@click.argument("run", required=False)
@click.argument("sentence", required=False)
@click.option("--pair", help="Second sentence, for runs that read pairs; with --data, the column of the second texts.")
@change_option
@click.option("--method", "--score", "score", default="removal", show_default=True, help=f"Explanation method: {METHODS}")
@target_options
@click.option("--absent", default="deleted", show_default=True, help="Absent words of --method exact: deleted, masked or padded.")
@click.option("--edit", is_flag=True, help="Search for the smallest edit that changes the predicted class, or towards --target.")
@click.option("--data", default="", metavar="FILE", help="File of texts, or data set of yours, instead of SENTENCE. It needs no labels.")
@click.option("--text", default="", help="Column of the texts of --data; by default it is guessed.")
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="File OUT.csv for the rows of --data.")
@click.option("--seconds", type=click.FloatRange(0.1), help="End the search after so many seconds of computing; no limit by default.")
@own_model_options
@command
def explain(
    run: str | None,
    sentence: str | None,
    pair: str | None,
    change: str,
    score: str,
    target: Target,
    absent: str,
    edit: bool,
    data: str,
    text: str,
    out: Path | None,
    seconds: float | None,
    model_name: str,
    classes: str,
) -> None:
    """Predict SENTENCE with RUN and print how much each word contributes to the predicted class, or to another class.

    With a sentence only, the installed run that answers its language best is used, as in the app. With --model, your own code predicts.
    Special tokens such as [SEP] in a text are special for a Hugging Face model, and plain text for a run that was trained here.

    With --data, every row of a file is explained by word removal: OUT.csv has its columns, the prediction, the reason, and the words with
    the largest values. To continue a stopped command, run it again.
    """
    if data:
        from sentviz.cli.rows_options import Given
        from sentviz.cli.score import explain_file
        from sentviz.runs.target import Target

        if sentence is not None or edit or change or target != Target() or score != "removal" or absent != "deleted":
            raise click.UsageError("--data explains the predicted class by word removal: give a RUN or --model, and no SENTENCE.")
        explain_file(Given(run or "", model_name, classes, data, text), out, pair or "")
        return
    if run is None or text or out is not None:
        raise click.UsageError("Missing argument: give a sentence, or a file with --data and -o.")

    from sentviz.analysis.explain import (
        SCORES,
        agreement,
        completeness,
        deviation,
        ends,
        explained,
        headline,
        margins,
        supported,
        uncertainty,
    )
    from sentviz.analysis.explain import score as score_of
    from sentviz.analysis.explain.faithfulness import against_chance
    from sentviz.analysis.explain.headline import chance_in, chance_of, edit_sentence, searched
    from sentviz.analysis.explain.trust import trust_in
    from sentviz.data.texts import unread_note
    from sentviz.models.budget import Budget, Spent
    from sentviz.models.loading import load

    if absent != "deleted" and score != "exact":
        raise click.UsageError("--absent belongs to --method exact.")

    if model_name:
        if sentence is not None:
            raise click.UsageError("With --model, give a sentence and no RUN.")
        model, sentence, stored = own_model(model_name, classes), run, None
        by_chance = chance_in(model)
    else:
        if sentence is None:
            run, sentence = _best_run(run), run
        stored = _find_run(run, pair)
        model = load(stored)
        by_chance = chance_of(model, stored)
    budget = Budget(seconds or math.inf)
    try:
        with budget.working() as step:
            model = model.stoppable(step)
            plain = model.trace(sentence, pair, change=change)
            trace = explained(model, plain.for_target(target), ["removal", *([score] if score != "exact" else [])])
            if score == "exact":
                trace, values_of_pairs = _exact(model, trace, absent)
            message = headline(supported(model, trace, by_chance))
            smallest = edit_sentence(searched(model, plain.for_target(target))) if edit else ""
            verdict = against_chance(model, trace, score_of(trace, score))
    except Spent as spent:
        raise InputError(f"{spent} Go on with --seconds {2 * budget.seconds:g}.") from None
    values, method = score_of(trace, score), SCORES[score]
    deviations = deviation(trace, score) if method.signed else np.where(trace.specials, 0, deviation(trace, score))
    click.echo(f"{model.name}: {message}")
    if smallest:
        click.echo(f"Smallest edit: {smallest}")
    if budget.is_spent:
        click.echo(f"The search ended after {budget.seconds:g} seconds of computing. Go on with --seconds {2 * budget.seconds:g}.")
    for sentence_of_change in trace.change.sentences(trace.tokens):
        click.echo(sentence_of_change)
    for label, probability in zip(trace.labels, trace.probabilities, strict=True):
        click.echo(f"  {label:>10} {'█' * round(30 * float(probability)):<30} {percent(probability):>6}")
    low, high = ends(trace, score)
    click.echo(f"\n{method.title} (+ {high}, - {low}):")
    top = max(float(abs(deviations).max()), 1e-9)
    width = max(len(token) for token in trace.tokens)
    errors = margins(trace, score)
    for token, value, error, unknown in zip(trace.tokens, deviations, errors, trace.unknown, strict=True):
        bar = "█" * round(20 * abs(float(value)) / top)
        left, right = (bar.rjust(20), "") if value < 0 else ("", bar)
        note = (f" ± {error:.3f}" if error else "") + ("  (not in the vocabulary)" if unknown else "")
        printed = "".join(c if c.isprintable() else "·" for c in token)
        click.echo(f"  {printed:<{width}} {left:>20}|{right:<20} {signed(value, 3)}{note}")
    if score != "removal" and (rho := agreement(trace, values, signed=method.signed)) is not None:
        click.echo(f"Rank correlation with {'word removal' if method.signed else 'the size of word removal'}: {signed(rho)}")
    for note in filter(None, (completeness(trace, score), uncertainty(trace, score))):
        click.echo(note)
    if stored is None:
        click.echo(str(verdict))
    else:
        trust = trust_in(stored, score, verdict)
        click.echo(f"Trust in these words: {trust.word}. {' '.join(trust.details)}")
    if score == "exact":
        click.echo(values_of_pairs)
    start = model.tokenizer.truncation_side == "left"
    if note := unread_note(model.config.max_length, trace.dropped, sentence, pair, start=start):
        click.echo(note)


def _exact(model: Any, trace: Trace, absent: str) -> tuple[Trace, str]:
    """Return the trace with exact values, and lines about the pairs of words that interact."""
    from sentviz.analysis.explain import with_scores
    from sentviz.analysis.explain.exact import exact

    with progress_bar("Subsets of the words") as report:
        result = exact(model, trace, absent=absent, progress=report)  # type: ignore[arg-type]
    gone = "deleted" if result.absent == "deleted" else f"replaced by {result.replaced_by}"
    lines = [f"Absent {result.by} are {gone}; {result.passes:,} texts were predicted. {result.summary}"]
    for i, j in result.pairs():
        lines.append(f"  {signed(result.interactions[i, j], 3)}  {result.players[i].text} + {result.players[j].text}")
    return with_scores(trace, {"exact": result}), "\n".join(lines)


def _papers() -> list[tuple[str, str]]:
    from sentviz.runs.registry import papers

    return [(name, f"{paper.title} ({paper.citation})") for name, paper in papers().items()]


@main.command(cls=listing("Papers", _papers))
@click.argument("run", required=False)
@click.argument("figure", required=False)
@click.option("--list", "names", is_flag=True, help="List the figures; with a RUN also whether it can give each figure, and if not, why.")
@click.option("--paper", help="Write all tables and figures of this paper into the folder OUT. The names are listed below.")
@click.option("--text", help="Sentence; default: the run's example.")
@pair_option
@change_option
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

    looks = Style.parse([*style, *([f"size={size}"] if size else [])])
    if run is None or figure is None:
        raise click.UsageError("Give a RUN and a FIGURE, or a paper with --paper. --list shows the figures.")
    if out.is_dir():
        raise click.UsageError(f"{out} is a folder. Name a file with -o.")
    if named["pair"] is not None and named["text"] is None:
        raise click.UsageError("--pair is the second sentence of a pair. Give the first sentence with --text.")
    spec = find_figure(figure)
    stored = _find_run(run, named["pair"]) if spec.of.OF_RUN and not is_table(run) else None
    options = parse_options(spec, {name: value for name, value in named.items() if value not in (None, (), "")}, more, stored)
    save(draw(run, figure, **options, theme="dark" if dark else "light"), out, style=looks)
    click.echo(f"Written to {out}")


@main.command()
@click.argument("run")
@click.argument("sentence")
@pair_option
@change_option
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="FILE.html to write.")
@click.option("--picture", is_flag=True, help="Write only the interactive picture, which highlights what belongs to a word, head or cell.")
@target_options
@command
def report(run: str, sentence: str, pair: str | None, change: str, out: Path, picture: bool, target: Target) -> None:
    """Write RUN's prediction for SENTENCE with words, attention maps and origin as one HTML page that needs no network."""

    from sentviz.analysis.explain import explained, supported, usual
    from sentviz.analysis.explain.headline import chance_of
    from sentviz.analysis.maps.arithmetic import cell
    from sentviz.analysis.maps.layers import silenced
    from sentviz.browser.canvas import canvas_html, scene_of
    from sentviz.charts import probability_bars
    from sentviz.charts.subjects import sourced
    from sentviz.export.report import report_html
    from sentviz.io.files import replacing
    from sentviz.models.loading import load

    if out.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"The report is an HTML page. Name a file that ends with .html, not {out.name}.")
    stored = _find_run(run, pair)
    model = load(stored)
    measured = model.trace(sentence, pair, change=change).for_target(target)
    if picture:
        trace = explained(model, measured, ("removal",))
        heads = silenced(model, trace) if trace.has_maps and model.capabilities.silence else None
        source = sourced(probability_bars(trace.labels, trace.probabilities), stored, trace=trace).source
        with replacing(out) as part:
            part.write_text(canvas_html(scene_of(trace, stored.capabilities, heads=heads), about=source), encoding="utf-8")
        click.echo(f"Written to {out}")
        return
    trace, arithmetic = explained(model, measured, usual(model, measured)), None
    trace = supported(model, trace, chance_of(model, stored))
    if trace.attention is not None and model.capabilities.softmax:
        layer, head, query, key = map(int, np.unravel_index(np.abs(trace.attention).argmax(), trace.attention.shape))
        arithmetic = cell(model, trace, layer, head, query, key)
    with replacing(out) as part:
        part.write_text(report_html(trace, stored, arithmetic=arithmetic), encoding="utf-8")
    click.echo(f"Written to {out}")


@main.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@command
def verify(files: tuple[Path, ...]) -> None:
    """Redraw exported figures from the installed runs and compare the numbers. Exit code 0 if all are equal, otherwise 1.

    The check does not prove who made a file: a forged picture with a new record and the right numbers passes.
    """
    from sentviz.charts.text import visible
    from sentviz.export.verify import verify as verify_file

    verdicts = [verify_file(file) for file in files]
    for file, verdict in zip(files, verdicts, strict=True):
        click.echo(f"{file}: {verdict.state}. {visible(verdict.why)}")
        if (record := verdict.record) is not None:
            drawn = [record.call.drawing if record.call else record.name, record.source]
            source = [f"sentviz {record.version}", record.view, record.style]
            click.echo(f"  {visible(' '.join(filter(None, drawn)))}\n  {visible(' · '.join(filter(None, source)))}")
    if any(verdict.state not in ("equal", "numbers equal") for verdict in verdicts):
        raise SystemExit(1)


def _best_run(sentence: str) -> str:
    """Return the installed run that answers the language of a sentence best. Raises UsageError if no installed run reads it."""
    from sentviz.analysis.explain.notices import SPOKEN, written_in
    from sentviz.runs.catalog import best_run, best_to_fetch
    from sentviz.runs.store import Run, runs

    spoken = written_in(sentence) or "en"
    if name := best_run((run for run in runs().values() if isinstance(run, Run)), spoken):
        return name
    fetched, size = best_to_fetch(spoken)
    remedy = f" `sentviz runs get {fetched}` ({size / 1e6:.0f} MB) installs one." if fetched else ""
    raise click.UsageError(f"No installed run reads {SPOKEN[spoken]}.{remedy}")


def _find_run(name: str, pair: str | None) -> Run:
    """Return the run called `name`. Raises UsageError if `pair` is given and the run reads single texts."""
    from sentviz.runs.catalog import reads_pairs
    from sentviz.runs.store import find

    run = find(name)
    if pair is not None and not reads_pairs(run):
        raise click.UsageError(f"{run.name} reads single texts. Remove --pair.")
    return run
