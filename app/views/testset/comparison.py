"""Two to six models on the same rows: the verdict, a report on one page, and the rows on which the models differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from app import answers, cache, visit
from app.blocks import my_file
from app.blocks.boundary import boundary
from app.blocks.figure import show_drawn
from app.blocks.files import MIME, as_report, csv_button
from app.blocks.rows import Listing, beside, list_rows, row_choices, same_rows
from app.blocks.run_choice import beside_it, option_texts, usual_second
from app.blocks.slice_choice import choose_slice
from app.server import queue
from app.shared import once
from app.text import in_percent, intro, md, name_runs, with_code
from sentviz.analysis.explain.headline import headline
from sentviz.analysis.testset.compare import ROWS, timed, with_seeds
from sentviz.analysis.testset.comparison import MOST, Candidate, Comparison, compare_rows
from sentviz.analysis.testset.rows import Rows
from sentviz.charts import Figure, gallery
from sentviz.charts.subjects import Answers
from sentviz.data.labels import ReadingError
from sentviz.errors import SentvizError
from sentviz.export.chromium import find_browser
from sentviz.export.comparison import SPEED_MEASURED
from sentviz.io.lazy import pd
from sentviz.io.numbers import in_points, p_value, percent, signed
from sentviz.runs.store import Run


def list_differing(of: Comparison) -> None:
    """Draw the choice of rows by who is right, and list them at the side with the prediction of each model."""
    parts = {name: mask for name, mask in of.parts().items() if mask.any() or name == "differ"}
    with beside(0):
        part = visit.setting(
            st.selectbox,
            "Rows on which",
            "who",
            list(parts),
            format_func=lambda name: f"{of.part_in_words(name)}: {int(parts[name].sum()):,} rows ({percent(parts[name].mean())})",
        )
    order = np.argsort(-of.spread(), kind="stable")
    chosen = [place for place in order.tolist() if parts[part][place]]
    frame = of.first.frame.iloc[chosen].assign(**{each.name: _predictions(each, chosen) for each in of.candidates})
    places = dict(zip(frame["id"].astype(str), chosen, strict=True))
    list_rows(
        replace(of.first, frame=frame.reset_index(drop=True)),
        Listing(
            total=of.n,
            order="largest difference first",
            predictions=[each.name for each in of.candidates],
            below=lambda name: _each_model(of, places[name]),
        ),
    )


def _predictions(each: Candidate, places: list[int]) -> list[str]:
    """Return a model's predictions of rows, with a tick if they are right, and the confidence if it is known."""
    frame = each.rows.frame.iloc[places]
    sure = ["" if np.isnan(value) else f" {percent(value, 0)}" for value in frame["confidence"]]
    words = zip(frame["right"], frame["predicted"], sure, strict=True)
    return [f"{'✓' if right else '✗'} {each.rows.classes[predicted]}{confidence}" for right, predicted, confidence in words]


def _each_model(of: Comparison, place: int) -> None:
    """Draw each model's prediction of a row, and last the reasons of the others, which take seconds with large models."""
    row = of.first.frame.iloc[place]
    _beside_each_other(of, row)
    slots = []
    for each in of.candidates:
        st.markdown(f"**{md(each.name)}**: {md(_predictions(each, [place])[0])}")
        slots.append(st.empty())
    for each, slot in list(zip(of.candidates, slots, strict=True))[1:]:
        slot.caption(_reason(of, each, row))


def _beside_each_other(of: Comparison, row: pd.Series[Any]) -> None:
    """Offer the first two models with weights side by side on this sentence."""
    names = [each.rows.source.ask.name for each in of.candidates if each.rows.source.ask is not None]
    if len(names) < 2 or not of.first.has_text:
        return
    where = {"row": str(row["id"])} if of.first.over != "mine" else {"text": str(row["text"]), "pair": str(row.get("text_pair", ""))}
    if st.button("Two models side by side on this sentence", icon=":material/compare:", type="tertiary", key="comparison-beside"):
        visit.go(run=names[0], versus=tuple(names[1:]), **where)
        st.switch_page("views/sentence/compare.py")


def _reason(of: Comparison, each: Candidate, row: pd.Series[Any]) -> str:
    """Return why a model predicts what it does for a row, as markdown; if there is no reason, why not."""
    run = each.rows.source.ask
    if run is None:
        return "It has no model here that could give a reason."
    if not of.first.has_text:
        return "The text is not on this machine."
    mine = of.first.over == "mine"
    where = {"text": str(row["text"]), "pair": str(row.get("text_pair", ""))} if mine else {"row": str(row["id"])}
    try:
        seen = answers.reasoned(visit.focus().with_(run=run.name, **where).as_trained())
    except SentvizError as error:
        return md(str(error))
    return f":material/lightbulb: {md(headline(seen))}"


intro(
    "Which of two to six models is right more often on the same rows, by how much, and where they differ.",
    "A difference on these rows may not hold on other texts.",
)
focus, known = visit.focus(), cache.runs()
first = cache.run(focus.run)
able = [run for run in known.values() if run.labels == first.labels and (run.has_weights if focus.over == "demo" else run.has_rows)]
second = usual_second(first, able)


def chosen_runs() -> list[Run]:
    """Draw the choice of runs with the same classes beside the one in focus; return it and them, in the order of the focus."""
    names = [name for name, run in known.items() if run.labels == first.labels]
    return [first, *(known[name] for name in beside_it(names, most=MOST - 1, instead=second))]


def rows_of_file() -> list[Rows]:
    """Draw the choice of a file and of its sources, and return their rows; stop the page before there are any."""
    table = my_file.choose_table()
    if table is None:
        st.stop()
    st.session_state["mine"] = table
    proposals = {each.model: each for each in my_file.proposed(table)}
    texts = {name: f"{name}, from the file" for name in proposals} | (option_texts(cache.models()) if table.text else {})
    picked = st.multiselect(
        f"Sources, two to {MOST}: models of the file, or models that read its texts",
        list(texts),
        default=[*list(proposals)[:MOST], *([first.name] if len(proposals) < 2 and first.name in texts else [])],
        format_func=texts.__getitem__,
        key=f"comparison-sources-{table.digest}-{table.text}-{table.label}",
        max_selections=MOST,
    )
    return [
        cache.brought_rows(table, proposals[name]) if name in proposals else cache.table_of(cache.run(name), replace(focus, over="mine"))
        for name in picked
    ]


def sources() -> tuple[list[Rows], bool]:
    """Draw the choice of sources; return the rows of each training, and whether seeds are taken together."""
    options = row_choices(first)
    over = focus.over if focus.over in options else options[0]
    if over == "test" and not focus.versus and known[second or first.name].config["data"]["name"] != first.config["data"]["name"]:
        over = "demo"
        st.caption("No other model was tested on the rows of this one, so they are compared on the demo set.")
    if over == "mine":
        return rows_of_file(), True
    runs = chosen_runs()
    name_runs(*(run.name for run in runs))
    if len(runs) < 2:
        return [], False
    every = runs if over == "demo" else with_seeds(runs, list(known.values()), over)
    together = True
    if len(every) > len(runs):
        words = {"together": "all stored seeds of each model", "single": "these trainings alone"}
        together = visit.setting(st.segmented_control, "Trainings", "trainings", words, label_visibility="visible") == "together"
    if not together or len(every) == len(runs):
        every, together = runs, False
    return [cache.table_of(run, replace(focus, over=over)) for run in every], together


compared = once(24, "Comparing the models")(compare_rows)


@once(24, "Drawing")
def drawn(rows: Sequence[Rows], **options: Any) -> Figure:
    return gallery.make("comparison", Answers.of(*rows), **options)


def speeds_key(result: Comparison) -> tuple[object, ...]:
    return tuple(each.rows.source.digest for each in result.candidates), result.first.over


def with_speed(result: Comparison) -> Comparison:
    """Return the comparison with the speed of its models, if it was measured in this visit."""
    return replace(result, speeds=st.session_state.get("comparison-speeds", {}).get(speeds_key(result), {}))


@boundary()
def speed_button(result: Comparison) -> None:
    """Offer to measure the speed of the models that are compared, until it is measured."""
    if result.speeds or not any(each.rows.source.ask for each in result.candidates):
        return
    says = f"Rows per second of each model on this machine, on {ROWS} rows. The table and the report then have a column for it."
    if not st.button("Measure the speed", icon=":material/speed:", key="comparison-speed", help=says):
        return
    with st.spinner("Measuring the speed"), queue.turn(long=True):
        speeds = timed(result, load=cache.model).speeds
    st.session_state.setdefault("comparison-speeds", {})[speeds_key(result)] = speeds
    st.rerun()


def verdict(result: Comparison) -> None:
    """Draw the verdict, how it was reached, and the buttons for the report."""
    remarks = [f":material/info: {md(remark)}" for remark in result.remarks]
    if result.first.over == "mine":  # how labels are read is said before the first number
        st.caption("  \n".join(remarks))
    st.markdown(f"#### {md(result.headline)}")
    st.caption(md(result.method))
    if result.first.over != "mine":
        for remark in remarks:
            st.caption(remark)
    if result.first.over != "mine":
        st.page_link("views/sentence/compare.py", label="One sentence: why two of them answer as they do", icon=":material/compare_arrows:")
    pictures = find_browser() is not None
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        for format in ("pdf", "html"):
            st.download_button(
                f"Report, one page ({format.upper()})",
                data=partial(as_report, queue.turns("export"), result, format),
                file_name=f"sentviz-comparison-{result.first.over}.{format}",
                mime=MIME[format],
                icon=":material/summarize:",
                key=f"comparison-{format}",
                on_click="ignore",
                disabled=format == "pdf" and not pictures,
            )
        csv_button(result.table, f"sentviz-comparison-{result.first.over}", "comparison-csv")
        speed_button(result)


def numbers(result: Comparison, together: bool) -> None:
    """Draw the figure, the table of the models, and of three or more models every pair."""
    rows = [each for candidate in result.candidates for each in candidate.trainings]
    options = {} if together else {"together": False}
    show_drawn(lambda: drawn(rows, **options), "comparison", slim=True, code=gallery.call("comparison", Answers.of(*rows), options))
    columns = {
        "behind": st.column_config.TextColumn("behind, points", alignment="right", help="Accuracy minus that of the best."),
        "p": st.column_config.TextColumn(alignment="right", help="Corrected for the number of pairs."),
        "f1": st.column_config.NumberColumn("macro F1", format="%.3f"),
        "error": st.column_config.NumberColumn("calibration error", format="%.3f"),
        "parameters": st.column_config.NumberColumn(format="localized"),
        "minutes": st.column_config.NumberColumn("minutes of training", format="%.0f"),
        "speed": st.column_config.NumberColumn("rows per second", format="localized", help=SPEED_MEASURED),
    }
    table = result.table.drop(columns=["behind_low", "behind_high", "hardware", *([] if result.speeds else ["speed"])])
    table["behind"] = [None if np.isnan(value) else signed(100 * value) for value in table["behind"]]
    table["p"] = [None if np.isnan(p) else p_value(p, "").strip(" =") for p in table["p"]]
    written = in_percent(table, "accuracy", "low", "high", "confidence")
    st.dataframe(written, hide_index=True, placeholder="–", height="content", column_config=columns)
    if len(result.pairs) > 1:
        with st.expander(f"All {len(result.pairs)} pairs", icon=":material/table:"):
            pairs = [
                (pair.first, pair.second, in_points(pair.difference, (pair.low, pair.high)), pair.p, pair.better or "cannot be told")
                for pair in result.pairs
            ]
            frame = pd.DataFrame(pairs, columns=["first", "second", "first minus second", "p", "better"])
            st.dataframe(frame, hide_index=True, height="content", column_config={"p": st.column_config.NumberColumn(format="%.3f")})


try:
    all_rows, with_all_seeds = sources()
    if len(all_rows) < 2:
        st.info("Choose at least one more model above.", icon=":material/compare_arrows:")
        st.stop()
    sliced, _ = choose_slice(all_rows[0])
    if sliced.among:
        all_rows = [sliced, *(same_rows(sliced, each) for each in all_rows[1:])]
    partly = all_rows[0].over == "mine" and st.session_state["mine"].reading.partial
    outcome = with_speed(compared(all_rows, together=with_all_seeds, partial=partly))
except ReadingError as error:
    my_file.ask_reading(st.session_state["mine"], error)
    st.stop()
except SentvizError as error:
    st.warning(with_code(str(error)), icon=":material/block:")
    st.stop()
if outcome.first.over == "mine":
    my_file.ask_reading(st.session_state["mine"])
verdict(outcome)
numbers(outcome, with_all_seeds)
list_differing(outcome)
