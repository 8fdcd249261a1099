"""The behaviour card: what a model can do, by capability, tested on sentences of our own. A failed case opens in Sentence."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from app import answers, cache, visit
from app.blocks.boundary import boundary
from app.blocks.figure import Picked, show_figure
from app.blocks.files import csv_button
from app.blocks.pages import SIZE, first_row, page_buttons
from app.blocks.run_choice import series_of, several
from app.blocks.slice_choice import note_unsliced
from app.places import TESTED
from app.server.queue import finished, giving_way, wait
from app.text import halves, intro, md
from sentviz.analysis.testset.behaviour import Card, baselines_of, card_of, shipped_rates, stored_card
from sentviz.analysis.testset.behaviour_report import HOW, as_json, as_markdown
from sentviz.charts import file_safe
from sentviz.charts.behaviour import MOST
from sentviz.charts.subjects import Runs
from sentviz.data.behaviour import FUNCTIONALITY, LANGUAGES, built_in
from sentviz.io.glossary import tip
from sentviz.io.numbers import percent
from sentviz.runs.store import Run
from sentviz.serving.jobs import Job

EXPECTED = {
    "negative": "negative",
    "positive": "positive",
    "same": "the same class",
    "rises": "no lower",
    "falls": "no higher",
}


def _card(run: Run) -> Card | None:
    """Return the card of a run, the shipped one or that of a finished job; else draw what makes it, and return None."""
    if (card := stored_card(run)) is not None:
        return card
    key = f"behaviour {run.name} {run.digest}"
    done: Card | None = finished("behaviour", key)
    if done is not None:
        return done
    st.info(f"{md(run.name)} is not tested yet: `sentviz behave {run.name}` tests it on 1,500 cases.", icon=":material/science:")
    wait("behaviour", key, f"Cases of {run.name}", lambda job: _measured(run, job), button=f"Test {run.name} here")
    return None


def _measured(run: Run, job: Job) -> Card:
    job.tick(0.0, "loading the model")
    with giving_way(job) as step:
        model = cache.model(run).stoppable(step)
        return card_of(run, model, progress=lambda done, total: job.tick(done / max(total, 1), f"{done:,} of {total:,} texts"))


@boundary()
def _open(run: Run, case: pd.Series[Any]) -> None:
    """Open a case in Sentence; an edited text is shown next to the text before the edit."""
    focus = visit.focus().with_(run=run.name).as_trained()
    if case["before"]:
        st.session_state["pinned"] = answers.trace(focus.with_(row=f"{case['id']}-before"))
    visit.go(run=run.name)
    visit.go(row=str(case["id"]))
    st.switch_page("views/sentence/explore.py")


intro(
    "What the model can do, capability by capability, on 1,500 sentences of our own: texts of a known class, edits that must not matter,"
    " and edits that must move the prediction in one direction.",
    "The sentences are made from templates, so a rate is about these templates. It is no accuracy on your data.",
)
note_unsliced("the cases are sentences of our own, not rows of a data set or file")
chosen = several(cache.runs_for(TESTED), most=MOST - 1)
cards = {run.name: card for run in chosen if (card := _card(run)) is not None}
if chosen[0].name not in cards:
    st.stop()
run, card = chosen[0], cards[chosen[0].name]
if foreign := [name for name, each in cards.items() if each.language != card.language]:
    st.caption(f"{md(', '.join(foreign))}: not drawn, because the cases are in another language.")
drawn = [each for each in chosen if each.name in cards and each.name not in foreign]
rates: dict[str, Any] = {row["capability"]: row for row in card.frame().to_dict("records")}
weakest = sorted(rates, key=lambda name: float(rates[name]["rate"]))[:3]


def rate_of(name: str) -> str:
    return percent(rates[name]["rate"], 0, (rates[name]["low"], rates[name]["high"]))


st.markdown(
    f"{md(run.name)} passes **{int(card.passed.sum()):,} of {len(card.cases):,}** {LANGUAGES[card.language]} cases. Lowest rates: "
    + ", ".join(f"{name} {rate_of(name)}" for name in weakest)
    + ".",
    help=tip("behaviour-card"),
)
near = [name for name, row in rates.items() if row["kind"] != FUNCTIONALITY and row["low"] <= row["random"]]
if near:
    st.caption(
        f"Not better than with a random edit of the same size: {', '.join(near)}. These rates show that the model is stable, and no more."
    )
for remark in card.remarks:
    st.caption(f":material/info: {md(remark)}")

names = card.capabilities
capability = visit.chosen("capability", names, default=weakest[0])
about = {each.name: each for each in built_in(card.language).capabilities}


def take(point: Picked) -> None:
    if point.data:
        visit.go(capability=point.data[0])


visit.setting(st.pills, "Capability", "capability", names, default=weakest[0])
left, right = halves("behaviour", 1.15, 1.0)
with left:
    subject = Runs.of(*drawn)
    subject.behaviour = {each.name: cards[each.name] for each in drawn}
    show_figure("behaviour", subject, selected=capability, on_pick=take, series=series_of(drawn))
with right:
    row, failed = rates[capability], card.failures(capability)
    st.markdown(f"##### {capability.capitalize()}: {len(failed)} of {row['n']} cases failed")
    st.caption(f"{about[capability].says} {row['kind'].capitalize()}: {HOW[row['kind']]}. A click on a case opens it in Sentence.")
    if failed.empty:
        st.caption("No case failed.")
    else:
        of = f"behaviour-{run.digest}-{capability}"
        start = first_row(len(failed), of)
        part = failed.iloc[start : start + SIZE]
        columns = {"text": part["text"], "expected": part["expects"].map(EXPECTED)}
        if row["kind"] != FUNCTIONALITY:
            columns = {"before the edit": part["before"], "after it": part["text"], "expected": part["expects"].map(EXPECTED)}
        opened = st.session_state.get("behaviour-opened", 0)  # a new key takes back the selection when the visitor returns
        event = st.dataframe(
            pd.DataFrame(columns),
            hide_index=True,
            height=min(38 + 35 * len(part), 460),
            key=f"{of}-{start}-{opened}",
            on_select="rerun",
            selection_mode="single-row",
        )
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            page_buttons(len(failed), of)
            csv_button(failed.drop(columns="random"), file_safe("failed", capability, run.name), "behaviour-failed")
        if picked := event["selection"]["rows"]:
            st.session_state["behaviour-opened"] = opened + 1
            _open(run, part.iloc[picked[0]])

with st.expander("All tested models", icon=":material/table:"):
    table = shipped_rates(card.language)
    texts = table.assign(text=[percent(rate, 0, ends) for rate, *ends in table[["rate", "low", "high"]].to_numpy()])
    wide = texts.pivot(index="model", columns="capability", values="text")[names]
    st.caption(
        f"Rates in % with Wilson's 95 % intervals, on the same {len(card.cases):,} {LANGUAGES[card.language]} cases (seed 0). The last rows"
        " are baselines."
    )
    st.dataframe(wide.loc[list(dict.fromkeys(table["model"]))], height="content")
    csv_button(table, f"behaviour-{card.language}", "behaviour-all")
with st.expander("Minimum rates, for continuous integration", icon=":material/rule:"):
    st.caption(
        "The command tests a model and exits with 1 if a rate is below its minimum. `counts` says what is compared: the rate, or the lower"
        " limit of its interval. It also tests your own model: `--model package.module:object --classes negative,positive`."
    )
    st.code('counts = "low"\n\n[minimum]\n' + "\n".join(f"{name} = {int(rates[name]['low'] * 20) / 20:.2f}" for name in names), "toml")
    st.code(f"sentviz behave {run.name} --require behave.toml -o behave.json", "bash")
    base = baselines_of(card, run.config["data"]["name"])
    with st.container(horizontal=True, gap="small"):
        for suffix, text in (("json", as_json(card, base)), ("md", as_markdown(card, base))):
            st.download_button(
                f"Card as {suffix.upper()}",
                text,
                f"{file_safe('behaviour', run.name)}.{suffix}",
                on_click="ignore",
                key=f"behaviour-{suffix}",
            )
