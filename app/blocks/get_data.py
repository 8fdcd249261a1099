"""The description of a data set and a button that fetches it: one download per process, whoever pressed the button."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import streamlit as st

from app.server.headers import own_machine
from app.server.queue import finished, wait
from app.text import md
from sentviz.data.dataset_info import DatasetInfo, origin
from sentviz.data.datasets import info, missing_parts, part_info
from sentviz.data.fetch import hub
from sentviz.errors import InputError
from sentviz.serving.jobs import Job


def offer(name: str, split: str = "", *, place: str = "", line: str = "") -> bool:
    """Return whether a data set, or one split of it, is available; if not, describe it and draw the button that fetches it.

    The page reruns when the download ends. `SENTVIZ_NO_DOWNLOAD` takes the button away from all, `SENTVIZ_ALLOW_DOWNLOAD` gives it to
    visitors from elsewhere as well.

    Args:
        place: tells the places of a page apart that offer the same.
        line: one line in place of the description, which becomes its tooltip, with the missing files; the button is next to it.
    """
    try:
        item = info(name)
    except InputError as error:
        st.caption(md(str(error)))
        return False
    if remarks := finished("data", name):
        st.info(md(remarks), icon=":material/info:")
    missing = missing_parts(item, split)
    if not missing:
        return True
    lacking = hub.lacking(name)
    nowhere = [part for part in missing if part not in lacking]
    size, about = _about(item, lacking)
    if not line:
        with st.container(border=True, gap="small"):
            st.markdown(f":material/database: **{md(item.title)}** is not on this machine: {md(_named(item, missing))}.")
            st.caption(about)
    row = st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"offer-{name}{place}") if line else st.container()
    with row:
        if line:
            st.caption(f":material/database: {md(line)}", help=f"{md(_named(item, missing))}. {about}", width="content")
        return _button(item, split, missing, nowhere, place, f"Get them ({size:g} MB)" if line and size else "Get data")


def _button(item: DatasetInfo, split: str, missing: tuple[str, ...], nowhere: list[str], place: str, label: str) -> bool:
    """Draw the button that downloads missing parts, or why they cannot be downloaded; return False."""
    name = item.name
    if nowhere:
        st.caption(
            f"{md(_named(item, nowhere))} cannot be downloaded: {md(hub.reasons(name, nowhere))}."
            " If you have the files, set `SENTVIZ_DATA` to their folder."
        )
    if len(nowhere) == len(missing) or (split and nowhere):
        return False
    if _set("SENTVIZ_NO_DOWNLOAD") or not (_set("SENTVIZ_ALLOW_DOWNLOAD") or own_machine(st.context.ip_address, st.context.headers)):
        st.caption(f"Downloads are switched off on this server. Its operator can run `sentviz data get {name}`.")
    else:
        icon = ":material/cloud_download:"
        wait("data", name, item.title, lambda job: _fetched(name, job), button=label, icon=icon, place=place)
    return False


def _set(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")


def _about(item: DatasetInfo, lacking: tuple[str, ...]) -> tuple[float, str]:
    """Return the megabytes of the parts that can be downloaded, 0 if unknown, and size, licence and source as markdown."""
    owners = {owner: info(owner) for owner in dict.fromkeys(origin(item.name, part)[0] for part in lacking)}
    size = sum(owner.hub.megabytes for owner in owners.values())
    repos = dict.fromkeys(file.repo for owner in owners.values() for file in owner.hub.files.values())
    source = ", ".join(repos) or item.source
    about = f"About {size:g} MB. " if size else ""
    return size, f"{about}Licence: {md(item.licence)}. From {md(source)}. {md(item.citation)}. {md(item.remark)}"


def _named(item: DatasetInfo, parts: Sequence[str]) -> str:
    return ", ".join(f"{part} ({part_info(item.name, part).rows:,} rows)" for part in parts)


def _fetched(name: str, job: Job) -> str:
    """Download a data set; return remarks about the downloaded parts."""
    began, first = time.monotonic(), None

    def progress(done: int, total: int) -> None:
        nonlocal first
        first = done if first is None else first
        speed = (done - first) / max(time.monotonic() - began, 0.1)
        job.tick(done / total if total else 0.0, f"{done / 1e6:,.1f} of {total / 1e6:,.1f} MB, {speed / 1e6:,.1f} MB per second")

    job.tick(0.0, "connecting to the hub")
    return " ".join(part.remark for part in hub.get(name, progress=progress, stop=job.stop) if part.remark)
