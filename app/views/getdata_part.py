"""What a data set is, and a button that fetches it: one download a process, whoever pressed the button."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import streamlit as st

from app.shell import md
from sentviz.datasets import DatasetInfo, info, where
from sentviz.errors import SentvizError
from sentviz.fetch import hubdata
from sentviz.fetch.download import Stopped

__all__ = ["offer", "own_machine"]

FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP")  # what a proxy says of whom it asks for


@dataclass
class _Job:
    """A download under way or over."""

    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None
    started: float = field(default_factory=time.monotonic)
    first: int | None = None  # bytes that were there when it began
    done: int = 0
    total: int = 0
    said: str = ""  # what went wrong, or is worth knowing
    failed: bool = False

    @property
    def runs(self) -> bool:
        return self.thread is not None and self.thread.is_alive()

    def progress(self, done: int, total: int) -> None:
        self.first = done if self.first is None else self.first
        self.done, self.total = done, total

    def line(self) -> str:
        speed = (self.done - (self.first or 0)) / max(time.monotonic() - self.started, 0.1)
        return f"{self.done / 1e6:,.1f} of {self.total / 1e6:,.1f} MB, {speed / 1e6:,.1f} MB a second" if self.total else "Asking the hub"


@st.cache_resource(show_spinner=False)
def _jobs() -> dict[str, _Job]:
    """The last download of each data set; nothing of who asked for it."""
    return {}


def offer(name: str) -> bool:
    """Whether a data set is here; where it is not, what it is, and the button that fetches it.

    The page reruns when the download ends. `SENTVIZ_NO_DOWNLOAD` takes the button away from all, `SENTVIZ_ALLOW_DOWNLOAD` gives it to
    visitors from elsewhere as well.
    """
    item, job = info(name), _jobs().get(name)
    if job and job.runs:
        _describe(item)
        st.fragment(_watch, run_every=0.5)(name)
        return False
    if job and job.said:
        (st.error if job.failed else st.info)(md(job.said), icon=":material/cloud_off:" if job.failed else ":material/info:")
    if item.available:
        return True
    _describe(item)
    lacking = hubdata.lacking(name)
    if not lacking or not set(lacking) & set(item.needed):
        st.caption(f"It cannot be fetched from here: {md(item.hub.why)}. `SENTVIZ_DATA` names a folder that holds it.")
    elif _set("SENTVIZ_NO_DOWNLOAD") or not (_set("SENTVIZ_ALLOW_DOWNLOAD") or own_machine(st.context.ip_address, st.context.headers)):
        st.caption(f"Downloads are switched off on this server; its operator can run `sentviz data get {name}`.")
    else:
        st.button("Get data", key=f"get-{name}", icon=":material/cloud_download:", on_click=_start, args=(name,))
    return False


def own_machine(address: str | None, headers: Mapping[str, str]) -> bool:
    """Whether who looks sits at the machine that serves: no address of another one (as Streamlit tells it), no proxy between."""
    host = urlsplit(f"//{headers.get('Host', 'localhost')}").hostname
    return address is None and host in ("localhost", "127.0.0.1", "::1") and not any(name in headers for name in FORWARDED)


def _set(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")


def _describe(item: DatasetInfo) -> None:
    missing = ", ".join(f"{part} ({item.parts[part].rows:,} rows)" for part in item.needed if where(item.name, part) is None)
    with st.container(border=True, gap="small"):
        st.markdown(f":material/database: **{md(item.title)}** is not on this machine" + (f": {md(missing)}." if missing else "."))
        size = f"About {item.hub.megabytes:g} MB. " if item.hub.megabytes else ""
        origin = ", ".join(dict.fromkeys(file.repo for file in item.hub.files.values())) or item.source
        st.caption(f"{size}Licence: {md(item.licence)}. From {md(origin)}. {md(item.citation)}. {md(item.remark)}")


def _start(name: str) -> None:
    jobs = _jobs()
    if (job := jobs.get(name)) and job.runs:
        return
    jobs[name] = job = _Job()
    job.thread = threading.Thread(target=_run, args=(name, job), daemon=True, name=f"get-{name}")
    job.thread.start()


def _run(name: str, job: _Job) -> None:
    try:
        job.said = " ".join(got.remark for got in hubdata.get(name, progress=job.progress, stop=job.stop) if got.remark)
    except Stopped as stopped:
        job.said = str(stopped)
    except SentvizError as error:
        job.said, job.failed = str(error), True
    except Exception as error:
        job.said, job.failed = f"The download failed ({type(error).__name__}).", True
        raise


def _watch(name: str) -> None:
    job = _jobs().get(name)
    if job is None or not job.runs:
        st.rerun()
    st.progress(min(job.done / job.total, 1.0) if job.total else 0.0, text=job.line())
    st.button("Stop", key=f"stop-{name}", icon=":material/stop:", on_click=job.stop.set, disabled=job.stop.is_set())
