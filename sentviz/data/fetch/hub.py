"""Data sets from the public hub: download, bring into our layout, compare with what is known, keep in the user's cache.

A copy whose rows are exactly the known ones gets our row ids, so that the runs' stored predictions fit it. Any other copy
with the right number of rows is kept too, but its ids say ``hub`` and the difference is reported: it is another data set.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sentviz.data.dataset_info import DatasetInfo, HubFile, origin
from sentviz.data.datasets import content, folders, info, missing_parts, where, with_row_names
from sentviz.data.fetch.download import Progress, RemoteFile, Stopped, fetch, look
from sentviz.errors import DataMissingError, InputError
from sentviz.io.files import disk, hold, replacing

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

ENDPOINT = "https://huggingface.co"
SLACK = 3.0  # times what a data set is known to have, at most, is taken
LARGEST = 1 << 30  # bytes of one of which that is not known


@dataclass(frozen=True)
class FetchedPart:
    """One part as it came."""

    part: str  # with its data set before it, where that is another one, as in "sst5/dev"
    path: Path
    rows: int
    exact: bool  # whether its rows are the known ones
    remark: str  # a sentence; empty where there is nothing to say


def url(file: HubFile) -> str:
    """Where a file is fetched; ``HF_ENDPOINT`` names another server than the public one.

    Raises:
        InputError: it names none.
    """
    from huggingface_hub import hf_hub_url

    server = os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or ENDPOINT
    if not _is_server(server):
        raise InputError(f"HF_ENDPOINT must be the address of a server, as in {ENDPOINT}, not {server}.")
    return hf_hub_url(file.repo, file.path, repo_type="dataset", revision=file.revision, endpoint=server)


def _is_server(address: str) -> bool:
    try:
        parts = urlsplit(address)
        plain = address.isascii() and address.isprintable() and " " not in address
        return plain and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets or a port that make no address
        return False


def lacking(name: str) -> tuple[str, ...]:
    """The parts of a data set, or of those that it is made of, that are not on this machine and that the hub has.

    Raises:
        InputError: there is no such data set.
    """
    return tuple(part for part in _offered(name) if where(name, part) is None)


def reasons(name: str, parts: Iterable[str]) -> str:
    """Why the hub does not have these parts: a half sentence for each data set that they belong to."""
    owners = dict.fromkeys(origin(name, part)[0] for part in parts)
    return "; ".join(f"{owner}: {info(owner).hub.why}" if owner != name else info(owner).hub.why for owner in owners)


def get(name: str, *, progress: Progress | None = None, stop: threading.Event | None = None, again: bool = False) -> list[FetchedPart]:
    """Download what is not on this machine into the user's cache; parts that are there are left alone.

    Args:
        name: data set; of a mixture, the parts of the data sets that it is made of.
        progress: called with the bytes done and the bytes altogether, of all files together.
        stop: set it from another thread to stop; the same call goes on from there.
        again: also what is in the cache already.
    Returns:
        The parts that were fetched.
    Raises:
        InputError: there is no such data set, or HF_ENDPOINT names no server.
        DataMissingError: the hub does not have it, cannot be reached, or has something else.
        SentvizError: the disk is full or cannot be written.
        Stopped: `stop` was set.
    """
    item, offered = info(name), _offered(name)
    if not offered and not missing_parts(item) and not again:
        return []
    if not offered:
        raise DataMissingError(f"{name} is not on the hub: {item.hub.why}; {_layout(item)}.")
    root, owners = folders()[-1], sorted({origin(name, part)[0] for part in offered})
    with ExitStack() as held:
        for owner in owners:  # in one order, so that two mixtures never wait for each other
            held.enter_context(_alone(root / owner, stop))
        parts = tuple(offered) if again else lacking(name)
        remotes = {part: look(url(offered[part]), stop=stop) for part in parts}
        whole, before, fetched = sum(remote.size for remote in remotes.values()), 0, []
        progress = _capped(progress, name, [info(owner).hub.megabytes for owner in owners])
        progress(0, whole)
        for part, remote in remotes.items():
            fetched.append(_get(name, part, remote, root, _shifted(progress, before, whole), stop))
            before += remote.size
    return fetched


def _offered(name: str) -> dict[str, HubFile]:
    """What the hub has of a data set's own parts and of those that it is made of."""
    item = info(name)
    owned = {part: origin(name, part) for part in (*item.hub.files, *item.needed())}
    return {part: files[own] for part, (owner, own) in owned.items() if own in (files := info(owner).hub.files)}


def _get(name: str, part: str, remote: RemoteFile, root: Path, progress: Progress | None, stop: threading.Event | None) -> FetchedPart:
    owner, own = origin(name, part)
    item = info(owner)
    source = root / owner / f".{own}-{Path(item.hub.files[own].path).name}"
    fetch(remote, source, progress=progress, stop=stop)
    try:
        frame, exact, remark = convert(item, own, source)
        path = root / owner / f"{own}.parquet"
        with disk(path.parent), replacing(path) as fresh:
            frame.to_parquet(fresh, index=False)
    finally:
        source.unlink(missing_ok=True)
    return FetchedPart(part, path, len(frame), exact, remark)


def _capped(progress: Progress | None, name: str, megabytes: Sequence[float]) -> Progress:
    """Progress that ends where much more comes, or is announced, than the data sets are known to have."""
    known = sum(megabytes)
    most = int((SLACK * known + 1) * 1e6) if all(megabytes) else LARGEST

    def tick(done: int, total: int) -> None:
        if max(done, total) > most:
            raise DataMissingError(
                f"{name} has about {known:g} MB; its server sends {max(done, total) / 1e6:,.0f} MB or more,"
                " which is something else, so it was not taken."
            )
        if progress is not None:
            progress(done, total)

    return tick


def _shifted(progress: Progress, before: int, whole: int) -> Progress:
    return lambda done, total: progress(before + done, max(whole, before + total))


def _layout(item: DatasetInfo) -> str:
    places = ", ".join("/".join(origin(item.name, part)) + ".parquet" for part in item.needed())
    columns = "term and polarity" if item.kind == "lexicon" else f"id, text, {'text_pair, ' * item.pair}label"
    return f"make it from {item.sources} as {places} (columns {columns}) in a folder that SENTVIZ_DATA names"


# ---- conversion


def convert(item: DatasetInfo, part: str, source: Path) -> tuple[pd.DataFrame, bool, str]:
    """A file of the hub in our columns, whether it holds exactly the known rows, and a sentence where it does not.

    Raises:
        DataMissingError: it cannot be read, or holds another number of rows or unknown labels.
    """
    import numpy as np

    file, known = item.hub.files[part], item.parts[part]
    origin = f"{file.repo}, {file.path}"
    try:
        frame = ours(_read(source), file)
    except Exception as error:
        raise DataMissingError(f"{origin} is not laid out as expected ({type(error).__name__}: {error}).") from error
    if len(frame) != known.rows:
        raise DataMissingError(f"{origin} holds {len(frame):,} rows, not {known.rows:,}, and was not kept; {_layout(item)}.")
    labels = frame["label"].to_numpy()
    if item.labels and not np.isin(labels, range(len(item.labels))).all():
        raise DataMissingError(f"{origin} holds labels other than 0 to {len(item.labels) - 1} and was not kept; {_layout(item)}.")
    if content(with_row_names(frame, part)) == known.content:
        return frame, True, ""
    if (order := _order(item.name, part)) is not None:
        sorted_rows = frame.sort_values(["label", "text"], kind="stable", ignore_index=True)
        arranged = sorted_rows.iloc[order].reset_index(drop=True).assign(id=frame["id"].to_numpy())
        if content(with_row_names(arranged, part)) == known.content:
            return arranged, True, ""
    counts = np.bincount(labels, minlength=len(item.labels)).tolist() if item.labels else []
    what = (
        "its texts or their order differ" if counts == list(known.counts) else f"its labels are counted {counts}, not {list(known.counts)}"
    )
    return (
        frame.assign(id=[f"hub-{key}" for key in frame["id"]]),
        False,
        f"{item.name}/{part} is not the copy that the runs were trained on: {what}; its row ids begin with hub.",
    )


def ours(frame: pd.DataFrame, file: HubFile) -> pd.DataFrame:
    """The hub's columns as ours: id, text, [text_pair], label."""
    import pandas as pd

    made: dict[str, Any] = {}
    for column, theirs in (("text", file.text), ("text_pair", file.text_pair)):
        if theirs:
            texts = ["" if pd.isna(text) else str(text) for text in frame[theirs].tolist()]
            made[column] = [text.replace("\r\n", "\n").replace("\r", "\n").strip() for text in texts] if file.strip else texts
    labels = [int(label) for label in frame[file.label].tolist()]
    made["label"] = [file.labels[label] if 0 <= label < len(file.labels) else -1 for label in labels] if file.labels else labels
    if "{row}" not in file.id:
        made["id"] = [str(key) for key in frame[file.id].tolist()]
    whole = pd.DataFrame(made)
    if file.without:
        kept = (whole["text"] != file.without) & (whole["text_pair"] != file.without if file.text_pair else True)
        whole = whole[kept].reset_index(drop=True)
    if "{row}" in file.id:
        whole["id"] = [file.id.format(row=row) for row in range(len(whole))]
    return whole[["id", *(column for column in made if column not in ("id", "label")), "label"]]


def _read(source: Path) -> pd.DataFrame:
    import pandas as pd

    match source.suffix:
        case ".parquet":
            return pd.read_parquet(source)
        case ".csv":
            return pd.read_csv(source, dtype=str, keep_default_na=False, encoding="utf-8")
        case _:
            with source.open(encoding="utf-8", newline="\n") as lines:
                return pd.DataFrame([json.loads(line) for line in lines if line.strip()])


def _order(name: str, part: str) -> npt.NDArray[np.uint16] | None:
    return _orders().get(f"{name}/{part}")


@cache
def _orders() -> Mapping[str, npt.NDArray[np.uint16]]:
    """Where each of our rows stands among the rows sorted by label and text, for parts that the hub has in another order."""
    import numpy as np

    with files("sentviz.data.fetch").joinpath("orders.npz").open("rb") as file, np.load(file) as stored:
        return dict(stored)


# ---- one download of a data set at a time


@contextmanager
def _alone(folder: Path, stop: threading.Event | None) -> Iterator[None]:
    """Hold a data set's folder; wait while another process does."""
    with ExitStack() as held:
        with disk(folder.parent):
            mine = held.enter_context(hold(folder, -1, stop.is_set if stop else None))
        if not mine:
            raise Stopped("Stopped while another process was downloading the same data set.")
        yield
