"""Verbs that write pages of a run, and check exported files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from sentviz.io.arguments import Arg, Progress
from sentviz.io.lazy import np
from sentviz.io.numbers import percent
from sentviz.runs.target import PREDICTED, Target
from sentviz.verbs.door import OptionError, Outcome, verb
from sentviz.verbs.sentence import Change, Pair, Text, no_pair
from sentviz.verbs.sources import StoredRun


@verb("Sentence")
def report(
    of: StoredRun,
    text: Text,
    *,
    out: Annotated[Path, Arg("FILE.html to write.", flags=("-o", "--out"), local=True)],
    pair: Pair = None,
    change: Change = "",
    picture: Annotated[bool, Arg("Write only the interactive picture, which highlights what belongs to a word, head or cell.")] = False,
    target: Target = PREDICTED,
) -> Outcome:
    """Write RUN's prediction for TEXT with words, attention maps and origin as one HTML page that needs no network."""
    from sentviz.analysis.explain import explained, supported, usual
    from sentviz.analysis.explain.headline import chance_of
    from sentviz.analysis.maps.arithmetic import cell
    from sentviz.analysis.maps.layers import silenced
    from sentviz.browser.canvas import canvas_html, scene_of
    from sentviz.charts import probability_bars
    from sentviz.charts.subjects import sourced
    from sentviz.export.report import report_html
    from sentviz.io.files import replacing

    if out.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"The report is an HTML page. Name a file that ends with .html, not {out.name}.")
    run, model = StoredRun.of(of).open()
    no_pair(run, pair)
    measured = model.trace(text, pair, change=change).for_target(target)
    if picture:
        trace = explained(model, measured, ("removal",))
        heads = silenced(model, trace) if trace.has_maps and model.capabilities.silence else None
        source = sourced(probability_bars(trace.labels, trace.probabilities), run, trace=trace).source
        page = canvas_html(scene_of(trace, run.capabilities, heads=heads), about=source)
    else:
        trace, arithmetic = supported(model, explained(model, measured, usual(model, measured)), chance_of(model, run)), None
        if trace.attention is not None and model.capabilities.softmax:
            layer, head, query, key = map(int, np.unravel_index(np.abs(trace.attention).argmax(), trace.attention.shape))
            arithmetic = cell(model, trace, layer, head, query, key)
        page = report_html(trace, run, arithmetic=arithmetic)
    with replacing(out) as part:
        part.write_text(page, encoding="utf-8")
    return Outcome((f"Written to {out}",), {"out": str(out), "label": trace.label})


@verb("Papers")
def verify(files: Annotated[tuple[Path, ...], Arg("Exported files.", metavar="file", local=True)]) -> Outcome:
    """Redraw exported figures from the installed runs and compare the numbers. Exit code 0 if all are equal, otherwise 1.

    The check does not prove who made a file: a forged picture with a new record and the right numbers passes.
    """
    from sentviz.charts.text import visible
    from sentviz.export.verify import verify as verify_file

    lines, numbers, equal = [], [], True
    for file in files:
        verdict = verify_file(file)
        equal &= verdict.state in ("equal", "numbers equal")
        lines.append(f"{file}: {verdict.state}. {visible(verdict.why)}")
        row: dict[str, Any] = {"file": str(file), "state": verdict.state, "why": verdict.why}
        if (record := verdict.record) is not None:
            drawn = [record.call.drawing if record.call else record.name, record.source]
            source = [f"sentviz {record.version}", record.view, record.style]
            lines.append(f"  {visible(' '.join(filter(None, drawn)))}\n  {visible(' · '.join(filter(None, source)))}")
            row |= {"figure": record.name, "source": record.source, "version": record.version}
        numbers.append(row)
    return Outcome(tuple(lines), numbers, met=equal)


@verb("Sentence")
def live(
    runs: Annotated[tuple[str, ...], Arg("Runs, which answer the same sentence side by side.", metavar="run", several=6, local=True)],
    *,
    out: Annotated[Path, Arg("The page.", flags=("-o", "--out"), local=True)] = Path("live.html"),
    text: Annotated[str, Arg("Sentence that is shown first; default: the run's example.")] = "",
    int8: Annotated[bool, Arg("Compute in 8 bits: a quarter of the size, other rounding.")] = False,
    theme: Annotated[Literal["light", "dark"] | None, Arg("Colours; default: those that the reader's system prefers.")] = None,
    progress: Annotated[Progress | None, "Fetching packages"] = None,
) -> Outcome:
    """Write RUN as one HTML page that answers what is typed, without a server and without a network (extra: onnx).

    Several RUNs answer the same sentence side by side. Whoever has the page has the models. Without a wheel that has it, onnxruntime-web
    (33 MB) is fetched from the npm registry on first use.
    """
    from sentviz.serving.live.page import live_page

    done = live_page(runs, out, text=text, int8=int8, theme=theme, progress=progress)
    lines = [f"{out}: {done['bytes'] / 1e6:.1f} MB. Open it in a browser; it needs no network."]
    lines += [
        f"In 8 bits {model['run']} predicts the same class for {percent(cost['same'])} of {cost['n']:,} test rows."
        for model in done["models"]
        if "same" in (cost := model["cost"])
    ]
    return Outcome(tuple(lines), {"out": str(out), "bytes": done["bytes"], "models": done["models"]})
