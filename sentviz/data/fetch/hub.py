"""Download data sets from the public hub, convert them to our layout, check their rows, and store them in the user's cache.

If the rows are exactly the known ones, they get our row ids, so that the runs' stored predictions fit them. Another copy with the right
number of rows is stored too, but its ids begin with ``hub`` and the difference is reported, because it is a different data set.
"""

from __future__ import annotations

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
from sentviz.data.datasets import content, folders, info, missing_parts, part_file, with_row_names
from sentviz.data.fetch.download import Progress, RemoteFile, Stopped, fetch, look
from sentviz.errors import DataMissingError, InputError
from sentviz.io.documents import parse_json
from sentviz.io.files import disk_errors, hold, replacing
from sentviz.io.lazy import np, pd

if TYPE_CHECKING:
    import numpy.typing as npt

ENDPOINT = "https://huggingface.co"
SLACK = 3.0  # a download may have this many times the known size of its data set
LARGEST = 1 << 30  # bytes of a download if the size of its data set is unknown


@dataclass(frozen=True)
class FetchedPart:
    """A downloaded part of a data set."""

    part: str  # preceded by its data set if that is another one, for example "sst5/dev"
    path: Path
    rows: int
    exact: bool  # True if its rows are the known ones
    remark: str  # a sentence about differences from the known rows; empty if there are none


def url(file: HubFile) -> str:
    """Return the address of a file; the environment variable ``HF_ENDPOINT`` names another server than the public one."""
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
    except ValueError:  # invalid brackets or port
        return False


def lacking(name: str) -> tuple[str, ...]:
    """Return the parts of a data set, or of the data sets in a mixture, that the hub has and that are not installed."""
    return tuple(part for part in _offered(name) if part_file(name, part) is None)


def reasons(name: str, parts: Iterable[str]) -> str:
    """Return why the hub does not have some parts: half a sentence for each data set that they belong to."""
    owners = dict.fromkeys(origin(name, part)[0] for part in parts)
    return "; ".join(f"{owner}: {info(owner).hub.why}" if owner != name else info(owner).hub.why for owner in owners)


def get(name: str, *, progress: Progress | None = None, stop: threading.Event | None = None, again: bool = False) -> list[FetchedPart]:
    """Download missing parts into the user's cache; installed parts are not changed.

    Args:
        name: data set; for a mixture, the parts of its data sets are downloaded.
        progress: called with the bytes done and the total bytes, summed over all files.
        stop: set it from another thread to stop; calling `get` again continues the download.
        again: also download parts that are in the cache already.
    Returns:
        The downloaded parts.
    Raises:
        DataMissingError: the hub cannot be reached, or does not have these files.
        SentvizError: the disk is full or cannot be written.
        Stopped: `stop` was set.
    """
    item, offered = info(name), _offered(name)
    if not offered and not missing_parts(item) and not again:
        return []
    if not offered:
        raise DataMissingError(f"{name} is not on the hub: {item.hub.why}; {_layout(item)}.")
    root, owners = folders()[-1], sorted({origin(name, part)[0] for part in offered})
    with ExitStack() as stack:
        for owner in owners:  # always in the same order, so that two mixtures never wait for each other
            stack.enter_context(_alone(root / owner, stop))
        parts = tuple(offered) if again else lacking(name)
        remotes = {part: look(url(offered[part]), stop=stop) for part in parts}
        total, before, fetched = sum(remote.size for remote in remotes.values()), 0, []
        progress = _capped(progress, name, [info(owner).hub.megabytes for owner in owners])
        progress(0, total)
        for part, remote in remotes.items():
            fetched.append(_get(name, part, remote, root, _shifted(progress, before, total), stop))
            before += remote.size
    return fetched


def _offered(name: str) -> dict[str, HubFile]:
    """Return the hub's files for a data set's own parts and for the parts of a mixture."""
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
        with disk_errors(path.parent), replacing(path) as fresh:
            frame.to_parquet(fresh, index=False)
    finally:
        source.unlink(missing_ok=True)
    return FetchedPart(part, path, len(frame), exact, remark)


def _capped(progress: Progress | None, name: str, megabytes: Sequence[float]) -> Progress:
    """Return a progress function that raises an error if the download is much larger than the known size of the data sets."""
    known = sum(megabytes)
    most = int((SLACK * known + 1) * 1e6) if all(megabytes) else LARGEST

    def tick(done: int, total: int) -> None:
        if max(done, total) > most:
            raise DataMissingError(
                f"{name} has about {known:g} MB, but its server sends {max(done, total) / 1e6:,.0f} MB or more."
                " This is another file, so it was not downloaded."
            )
        if progress is not None:
            progress(done, total)

    return tick


def _shifted(progress: Progress, before: int, all_bytes: int) -> Progress:
    return lambda done, total: progress(before + done, max(all_bytes, before + total))


def _layout(item: DatasetInfo) -> str:
    places = ", ".join("/".join(origin(item.name, part)) + ".parquet" for part in item.needed())
    columns = "term and polarity" if item.kind == "lexicon" else f"id, text, {'text_pair, ' * item.pair}label"
    return f"make it from {item.sources} as {places} (columns {columns}) in a folder that SENTVIZ_DATA names"


# ---- conversion


def convert(item: DatasetInfo, part: str, source: Path) -> tuple[pd.DataFrame, bool, str]:
    """Return a file of the hub in our columns, whether it holds exactly the known rows, and a sentence if it does not.

    Raises:
        DataMissingError: the file cannot be read, or has another number of rows or unknown labels.
    """
    file, known = item.hub.files[part], item.parts[part]
    origin = f"{file.repo}, {file.path}"
    try:
        frame = ours(_read(source), file)
    except Exception as error:
        raise DataMissingError(f"{origin} has an unexpected layout ({type(error).__name__}: {error}).") from error
    if len(frame) != known.rows:
        raise DataMissingError(f"{origin} has {len(frame):,} rows, not {known.rows:,}, and was not stored; {_layout(item)}.")
    labels = frame["label"].to_numpy()
    if item.labels and not np.isin(labels, range(len(item.labels))).all():
        raise DataMissingError(f"{origin} has labels other than 0 to {len(item.labels) - 1} and was not stored; {_layout(item)}.")
    if content(with_row_names(frame, part)) == known.content:
        return frame, True, ""
    if (order := _order(item.name, part)) is not None:
        sorted_rows = frame.sort_values(["label", "text"], kind="stable", ignore_index=True)
        arranged = sorted_rows.iloc[order].reset_index(drop=True).assign(id=frame["id"].to_numpy())
        if content(with_row_names(arranged, part)) == known.content:
            return arranged, True, ""
    counts = np.bincount(labels, minlength=len(item.labels)).tolist() if item.labels else []
    what = "its texts or their order differ" if counts == list(known.counts) else f"its label counts are {counts}, not {list(known.counts)}"
    return (
        frame.assign(id=[f"hub-{key}" for key in frame["id"]]),
        False,
        f"{item.name}/{part} is not the copy that the runs were trained on: {what}; its row ids begin with “hub.”.",
    )


def ours(frame: pd.DataFrame, file: HubFile) -> pd.DataFrame:
    """Return the hub's columns as ours: id, text, [text_pair], label."""
    columns: dict[str, Any] = {}
    for column, theirs in (("text", file.text), ("text_pair", file.text_pair)):
        if theirs:
            texts = ["" if pd.isna(text) else str(text) for text in frame[theirs].tolist()]
            columns[column] = [text.replace("\r\n", "\n").replace("\r", "\n").strip() for text in texts] if file.strip else texts
    labels = [int(label) for label in frame[file.label].tolist()]
    columns["label"] = [file.labels[label] if 0 <= label < len(file.labels) else -1 for label in labels] if file.labels else labels
    if "{row}" not in file.id:
        columns["id"] = [str(key) for key in frame[file.id].tolist()]
    rows = pd.DataFrame(columns)
    if file.without:
        selected = (rows["text"] != file.without) & (rows["text_pair"] != file.without if file.text_pair else True)
        rows = rows[selected].reset_index(drop=True)
    if "{row}" in file.id:
        rows["id"] = [file.id.format(row=row) for row in range(len(rows))]
    return rows[["id", *(name for name in columns if name not in ("id", "label")), "label"]]


def _read(source: Path) -> pd.DataFrame:
    match source.suffix:
        case ".parquet":
            return pd.read_parquet(source)
        case ".csv":
            return pd.read_csv(source, dtype=str, keep_default_na=False, encoding="utf-8")
        case _:
            with source.open(encoding="utf-8", newline="\n") as lines:
                return pd.DataFrame([parse_json(line, source.name, gaps=True) for line in lines if line.strip()])


def _order(name: str, part: str) -> npt.NDArray[np.uint16] | None:
    return _orders().get(f"{name}/{part}")


@cache
def _orders() -> Mapping[str, npt.NDArray[np.uint16]]:
    """Return, for parts that the hub has in another order, the place of each of our rows among the rows sorted by label and text."""
    with files("sentviz.data.fetch").joinpath("orders.npz").open("rb") as file, np.load(file) as stored:
        return dict(stored)


# ---- one download of a data set at a time


@contextmanager
def _alone(folder: Path, stop: threading.Event | None) -> Iterator[None]:
    """Lock a data set's folder; wait while another process has it."""
    with ExitStack() as stack:
        with disk_errors(folder.parent):
            mine = stack.enter_context(hold(folder, -1, stop.is_set if stop else None))
        if not mine:
            raise Stopped("Stopped while another process was downloading the same data set.")
        yield
