"""Every installed model with its measured accuracy, the reported one, and its provenance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from app import cache, visit
from app.blocks.files import csv_button
from app.blocks.run_choice import in_groups
from app.text import halves, intro, md, name_runs
from sentviz.data import demo
from sentviz.errors import RunError
from sentviz.io.numbers import written
from sentviz.papers.cards import card, filename, origin_in_words
from sentviz.papers.studies.cross_domain import BASELINES, EVERY, SETS, current, stored_accuracies
from sentviz.runs.catalog import catalog, faults
from sentviz.runs.printed import printed
from sentviz.runs.store import Run

SHADE = "background-color: rgba(86, 180, 233, 0.18);"
VIEWS = {"sets": "Sets", "phenomena": "Demo set by phenomenon", "errors": "Calibration error"}


def show_standing(runs: Mapping[str, Run]) -> None:
    """Draw the table; the run that is best on the demo set comes first."""
    try:
        table = current(stored_accuracies(), runs)
    except RunError as error:
        st.warning(md(str(error)), icon=":material/folder_off:")
        return
    st.markdown("##### Accuracy on other data sets")
    view = visit.setting(st.segmented_control, "Columns", "shelf", VIEWS)
    all_tags = table[table["tag"] == EVERY]
    titles = {texts.name: texts.title for texts in SETS}
    if view == "phenomena":
        demo_rows, columns, value = table[table["set"] == "demo"], [*demo.PHENOMENA, EVERY], "accuracy"
        wide = demo_rows.pivot(index="who", columns="tag", values=value)
        help_of = dict.fromkeys(columns, "Share of right predictions, 30 sentences each")
    else:
        columns, value = list(titles), "calibration" if view == "errors" else "accuracy"
        wide = all_tags.pivot(index="who", columns="set", values=value)
        counts = all_tags.groupby("set")["n"].max()
        help_of = {name: f"{titles[name]}, n = {counts.get(name, 0):,}" for name in columns}
    order = all_tags[all_tags["set"] == "demo"].sort_values("accuracy", ascending=False)["who"]
    wide = wide.reindex(index=order, columns=[name for name in columns if name in wide]).dropna(axis=1, how="all")
    home = {str(who): set(show_standing["set"]) for who, show_standing in all_tags[all_tags["home"]].groupby("who")}
    st.dataframe(
        _styled(wide, home, view == "errors"),
        height=min(38 + 35 * len(wide), 420),
        column_config={
            "_index": st.column_config.TextColumn("", pinned=True, width=230),
            **{name: st.column_config.Column(name, help=help_of[name]) for name in columns},
        },
    )
    baselines = " and ".join(BASELINES)
    st.caption(
        "Expected calibration error of the probabilities at each run's temperature; lower is better."
        if view == "errors"
        else "Share of right predictions. A prediction counts as negative or positive, whichever is more probable. A *neutral*"
        " sentence is right if this probability is at most 0.25 from 0.5. Shaded: the run was trained on sentences of this kind. Intervals"
        " are in the file."
    )
    without = ", ".join(who for who in order if who in runs and not runs[who].capabilities.maps)
    st.caption(
        f"{md(baselines)} ignore the order of words{f', and {md(without)} read it without attention' if without else ''}."
        " A model with attention that is more accurate with the same training rows shows what attention adds."
    )
    csv_button(table, "sentviz-standing", "standing-csv")


def _styled(wide: pd.DataFrame, home: Mapping[str, set[str]], errors: bool) -> Any:
    """Return the styled table: formatted numbers, shaded cells for domains of the training, and marked baselines."""

    def shade(row: pd.Series) -> list[str]:
        learned = home.get(str(row.name), set())
        return [SHADE if name in learned else "" for name in row.index]

    styled = wide.style.apply(shade, axis=1).format(partial(written, form=".3f" if errors else ".1%"), na_rep="–")
    return styled.format_index(lambda who: f"{who} (baseline)" if who in BASELINES else str(who))


def show_details(run: Run) -> None:
    """Draw where a run comes from: its data, training, configuration and model card."""
    st.markdown(f"##### {md(run.name)}")
    config = run.config
    stored = [each for each in cache.runs().values() if each.config["files"]]
    if run not in stored:
        st.caption("This model is open in memory and has no files. It is here as long as the app runs.")
        return
    st.markdown(md(origin_in_words(run)))
    with st.expander("config.json"):
        st.json(config, expanded=1)
    with st.expander("Model card", on_change="rerun", key="card") as opened:
        if opened.open:
            text = card(run, stored)
            st.download_button(
                "Markdown", text, filename(run), "text/markdown", icon=":material/download:", on_click="ignore", key="card-file"
            )
            st.code(text, language="markdown", wrap_lines=True, height=500)


intro(
    "Every installed model, its accuracy with a 95 % interval next to the one that its paper reports, and its provenance.",
    "If two intervals overlap, they do not show which model is better.",
)
frame = catalog()
problems = st.container()


def report(reasons: Iterable[str]) -> None:
    """Show each problem once, above the table."""
    for problem in filter(None, reasons):
        if problem not in reported:
            problems.warning(md(problem), icon=":material/folder_off:")
            reported.add(problem)


reported: set[str] = set()
report(frame["problem"].dropna())
frame = frame[frame["problem"].fillna("") == ""].drop(columns="problem")
if frame.empty:
    st.info("No runs are installed. `sentviz train sst2` trains a run.", icon=":material/inventory_2:")
    st.stop()
names = sorted({run.partition("/")[0] for run in frame["run"]})
data_set = visit.setting(st.pills, "Data set", "data", ["all", *names])
if data_set != "all":
    frame = frame[frame["run"].str.startswith(f"{data_set}/")]
pairs = list(zip(frame["data"], frame["model"], strict=True))
beside = {pair: table[table["name"] == "accuracy"]["value"].tolist() for pair in set(pairs) for table in [printed(*pair)]}
frame = frame.assign(printed=pd.array([(*beside[pair], None)[0] for pair in pairs], dtype="Float64"))
first = ["run", "weights", "accuracy", "low", "high", "printed", "official_accuracy", "n"]
frame = frame[[name for name in (*first, *frame.columns.drop(first, errors="ignore")) if name in frame]]
place_of = {name: place for place, name in enumerate(in_groups(cache.runs()))}  # the most accurate first, as in the choice of a model
frame = frame.sort_values("run", key=lambda names: names.map(place_of), kind="stable").reset_index(drop=True)
key = f"runs-table-{data_set}"


def take() -> None:
    rows = st.session_state[key]["selection"]["rows"]
    if rows:
        visit.go(run=str(frame["run"].iloc[rows[0]]))


formats = {
    **dict.fromkeys(("accuracy", "low", "high", "printed", "official_accuracy"), ".2%"),
    **dict.fromkeys(("f1_macro", "auc", "silhouette", "calibration"), ".3f"),
    **dict.fromkeys(("n", "parameters", "seconds"), ",.0f"),
    "epochs": ".1f",
}
left, right = halves("runs", 1.7, 1.0)
with left:
    marked = frame.assign(weights=["✓" if has_weights else "" for has_weights in frame["weights"]])
    st.dataframe(
        marked.style.format({name: partial(written, form=form) for name, form in formats.items() if name in marked}, na_rep="–"),
        key=key,
        placeholder="–",
        hide_index=True,
        height=min(38 + 35 * len(frame), 600),
        on_select=take,
        selection_mode="single-row",
        column_config={
            "run": st.column_config.TextColumn("run", width=230),
            "weights": st.column_config.TextColumn("weights", help="✓: weights are installed, so this run can make predictions"),
            "low": st.column_config.Column("95 % interval from"),
            "high": st.column_config.Column("to"),
            "printed": st.column_config.Column("paper", width=80, help="Accuracy that a paper reports for this model on this data set"),
            "official_accuracy": st.column_config.Column("official test", help="Accuracy on the official test sentences"),
            "f1_macro": st.column_config.Column("F1 (macro)"),
            "epochs": st.column_config.Column("best epoch"),
        },
    )
    csv_button(frame, "sentviz-runs", "runs-csv")
    st.caption("Choose a row to select that run. Every other page then shows it.")
    st.caption(
        "`sentviz adopt FOLDER` adds a Hugging Face classifier unchanged, and `--data sst2` its test rows;"
        " `sentviz train sst2 --hub FOLDER` fine-tunes one first."
    )
with right:
    show_details(cache.run(visit.focus().run))
name_runs(visit.focus().run)
show_standing(cache.runs())
with st.spinner("Reading the runs"):
    report(faults([each for each in cache.runs().values() if each.config["files"]]).values())
