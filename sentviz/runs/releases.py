"""Runs, and the bases that some of them need, as release files: pack, list in an index, download, and check against the index.

A packed run is a zip file without compression. Its bytes follow from the run, so packing a run again gives the same file. Every wheel
contains the index of the shipped runs, so a download is accepted only if it equals the packed file, whatever its source. A base is packed
like a run, under the name `bases/<name>`.
"""

from __future__ import annotations

import json
import shutil
import stat
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from sentviz.data.fetch.download import RemoteFile, fetch
from sentviz.errors import DataMissingError, InputError, RunError, SentvizError
from sentviz.io.documents import read_json
from sentviz.io.files import disk_errors, hold, home, replacing, sha256, writing
from sentviz.io.typed import Misfit, check, fits, fitted, short, spelled, within
from sentviz.runs.bases import CARD, Base
from sentviz.runs.schema import Digest, FileName, RunName
from sentviz.runs.store import BASES, Run, roots

ADDRESS = "https://github.com/sentviz/sentviz/releases/download/runs"  # location of the files that `sentviz runs pack` writes
INDEX = Path(__file__).with_name("release.json")  # index of the shipped runs; `python -m sentviz.runs.catalog` writes it
DATE = (1980, 1, 1, 0, 0, 0)  # date of every file in a zip, the earliest that the format allows
UNIX = 3
ENCRYPTED = 1

LARGEST = 1 << 32  # maximum bytes of a packed run
INDEX_MOST = 1 << 24  # maximum bytes of an index

Progress = Callable[[int, int], object]  # arguments: bytes done, total bytes


@dataclass(frozen=True)
class Packed:
    """A packed run or base, as listed in an index. An entry is checked, since another person's index could use it to write elsewhere."""

    name: RunName
    digest: Annotated[str, spelled("[0-9a-f]{12}", "12 hex digits")]  # digest of the run
    bytes: Annotated[int, within(1, LARGEST)]
    sha256: Digest  # digest of the packed file
    base: Annotated[str, spelled(rf"(?:{BASES}/\w[\w.-]{{0,100}})?", f"the name of a base, as in {BASES}/mpnet")] = ""  # the run needs it

    def __post_init__(self) -> None:
        """Refuse what does not fit."""
        check(self)
        if self.base and self.name.startswith(f"{BASES}/"):
            raise Misfit(("base",), "a base never needs a base")

    @property
    def file(self) -> str:
        """Name of its file in a release, which has no folders."""
        return packed_name(self.name)


def packed_name(name: str) -> str:
    """Return the file name of a run in a release: ``sst2.ndt-unit-2.zip``."""
    return name.replace("/", ".") + ".zip"


# ---- packing


def _open(name: str, folder: Path) -> Run | Base:
    """Open the run or base that an entry names."""
    group, _, own = name.partition("/")
    return Base(own, folder) if group == BASES else Run.open(folder, name)


def _files(of: Run | Base) -> dict[str, Path]:
    """Return the files of a run or base after checking each digest: first its card, then sorted by name."""
    card, files = (CARD, of.card["files"]) if isinstance(of, Base) else ("config.json", of.config["files"])
    return {card: of.folder / card} | {name: of.path(name) for name in sorted(files)}


def pack(of: Run | Base, path: Path) -> Packed:
    """Write a run or a base as one file; after an error there is no file.

    Raises:
        RunError: a file of the run or base is missing or damaged.
    """
    with replacing(path) as fresh:
        with zipfile.ZipFile(fresh, "w") as archive:
            for name, source in _files(of).items():
                info = zipfile.ZipInfo(name, DATE)
                info.create_system, info.external_attr, info.file_size = UNIX, 0o644 << 16, source.stat().st_size
                with source.open("rb") as file, archive.open(info, "w") as member:
                    shutil.copyfileobj(file, member)
        needed = f"{BASES}/{of.config['base']['name']}" if isinstance(of, Run) and "base" in of.config else ""
        return Packed(_entry(of), of.digest, fresh.stat().st_size, sha256(fresh), needed)


def _entry(of: Run | Base) -> str:
    return f"{BASES}/{of.name}" if isinstance(of, Base) else of.name


def release(of: Iterable[Run | Base], folder: Path) -> list[Packed]:
    """Write the files of a release: a zip file for each run and base, and their index.

    Raises:
        RunError: a run or base is damaged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entries = [pack(item, folder / packed_name(_entry(item))) for item in of]
    write_index(entries, folder / INDEX.name)
    return entries


def index_of(of: Iterable[Run | Base]) -> list[Packed]:
    """Return the index entries of runs and bases, as packing them would give."""
    with tempfile.TemporaryDirectory() as spare:
        return [pack(item, Path(spare) / "packed.zip") for item in of]


def write_index(entries: Iterable[Packed], path: Path = INDEX) -> None:
    """Write an index, one line per run."""
    by_name = sorted(entries, key=lambda entry: entry.name)
    lines = [json.dumps({name: value for name, value in asdict(entry).items() if value != ""}) for entry in by_name]
    with replacing(path) as fresh:
        fresh.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


# ---- choosing


@cache
def index() -> Mapping[str, Packed]:
    """Return the shipped runs by name."""
    return read_index(INDEX)


def read_index(path: Path) -> dict[str, Packed]:
    """Return the entries of an index file by name."""
    try:
        stored = read_json(path, INDEX_MOST, path.name)
        entries = fitted(list[Packed], stored)
    except ValueError as error:
        raise InputError(f"{path} is not an index of runs ({str(error).rstrip('.')}).") from error
    return {entry.name: entry for entry in entries}


def chosen(names: Sequence[str], among: Iterable[str]) -> list[str]:
    """Return the names that match some patterns; ``sst2/*`` means all runs of a data set."""
    available, matches = list(among), dict[str, None]()
    for name in names:
        matching = [each for each in available if fnmatchcase(each, name)]
        if not matching:
            raise InputError(f"No run that can be fetched is called {name!r}. `sentviz runs list` shows their names.")
        matches |= dict.fromkeys(matching)
    return list(matches)


# ---- fetching


def is_installed(entry: Packed) -> bool:
    """Return whether a folder that is searched for runs contains this run."""
    return any(_is_in(entry, root / entry.name) for root in roots())


def _is_in(entry: Packed, folder: Path) -> bool:
    base, card = (True, CARD) if entry.name.startswith(f"{BASES}/") else (False, "config.json")
    try:
        return (folder / card).is_file() and (Base if base else Run)(entry.name, folder).digest == entry.digest
    except RunError:
        return False


def with_bases(names: Iterable[str], known: Mapping[str, Packed]) -> list[str]:
    """Return the names, with each base before the first run that needs it."""
    return list(dict.fromkeys(each for name in names for each in (known[name].base, name) if each in known))


def get(
    name: str,
    source: str = ADDRESS,
    *,
    known: Mapping[str, Packed] | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    again: bool = False,
) -> Path | None:
    """Fetch a run into the user's folder, where it is found like the shipped runs. Its base is fetched first if it is not installed.

    Args:
        source: the address of a release, a folder with its files, or a folder of runs as in a checkout.
        known: entries that may be fetched, by name; by default the shipped runs.
        progress: called with the bytes done and the total bytes.
        stop: set it from another thread to stop; calling `get` again continues the download.
        again: also fetch an installed run.
    Returns:
        The run's folder; None if the same run is installed already.
    Raises:
        DataMissingError: the source does not have the run, or has another file under its name.
        RunError: another process is fetching the run.
        SentvizError: the disk is full or cannot be written.
        Stopped: `stop` was set.
    """
    known = index() if known is None else known
    entry = known[chosen([name], known)[0]]
    if entry.base in known and not is_installed(known[entry.base]):
        get(entry.base, source, known=known, stop=stop)
    if is_installed(entry) and not again:
        return None
    folder = home() / "runs" / entry.name
    with disk_errors(folder.parent), ExitStack() as stack:
        folder.parent.mkdir(parents=True, exist_ok=True)
        mine = stack.enter_context(hold(folder))
        if not mine:
            raise RunError(f"{entry.name} is being fetched by another process.")
        if source.startswith(("http://", "https://")):
            file = folder.with_name(f".{folder.name}.zip")
            stack.callback(file.unlink, missing_ok=True)
            _download(entry, source, file, progress, stop)
        else:
            file = _local(entry, Path(source), Path(stack.enter_context(tempfile.TemporaryDirectory())))
        if file.stat().st_size != entry.bytes or sha256(file) != entry.sha256:
            raise DataMissingError(f"{entry.name} from {source} is not the run that sentviz knows by this name; it was not installed.")
        _unpack(entry, file, folder)
        if progress:
            progress(entry.bytes, entry.bytes)
    return folder


def _download(entry: Packed, source: str, file: Path, progress: Progress | None, stop: threading.Event | None) -> None:
    try:
        parts = urlsplit(source)
        good = bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise InputError(f"{source} is not the address of a release.")
    fetch(RemoteFile(f"{source.rstrip('/')}/{entry.file}", entry.bytes, entry.sha256, token=False), file, progress=progress, stop=stop)


def _local(entry: Packed, source: Path, spare: Path) -> Path:
    """Return the packed file of a run: from a folder with release files, or packed from a folder of runs."""
    if not source.is_dir():
        raise InputError(f"{source} is neither an address nor a folder.")
    if (source / entry.file).is_file():
        return source / entry.file
    if not any((source / entry.name / card).is_file() for card in ("config.json", CARD)):
        raise DataMissingError(f"{source} holds neither {entry.file} nor {entry.name}.")
    pack(_open(entry.name, source / entry.name), spare / entry.file)
    return spare / entry.file


def _unpack(entry: Packed, file: Path, folder: Path) -> None:
    """Unpack a run into its folder if it contains exactly the files that its config.json lists, with the listed digests."""
    with writing(folder) as fresh:
        try:
            with zipfile.ZipFile(file) as archive:
                members = archive.infolist()
                _check_members(entry, members)
                for info in members:
                    with archive.open(info) as member, disk_errors(folder.parent):
                        (fresh / info.filename).parent.mkdir(exist_ok=True)
                        with (fresh / info.filename).open("wb") as target:
                            shutil.copyfileobj(member, target)
        except SentvizError:
            raise
        except Exception as error:  # zipfile raises many types of errors
            raise RunError(f"{entry.name} is not a readable zip file ({type(error).__name__}); it was not installed.") from error
        unpacked = _open(entry.name, fresh)
        if {info.filename for info in members} != _files(unpacked).keys() or unpacked.digest != entry.digest:
            raise RunError(f"{entry.name} does not contain the files that its card lists; it was not installed.")


def _check_members(entry: Packed, members: Sequence[zipfile.ZipInfo]) -> None:
    """Refuse members that `pack` does not write: unsafe or repeated names, links, or more bytes than the file has."""
    names: set[str] = set()
    folders = {info.filename.rpartition("/")[0] for info in members}
    for info in members:
        name, mode = info.filename, info.external_attr >> 16
        plain = info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & ENCRYPTED and stat.S_IFMT(mode) in (0, stat.S_IFREG)
        if not plain or not fits(FileName, name) or name in names | folders:
            raise RunError(f"{entry.name} contains {short(name)}, which is not a file of a run; it was not installed.")
        names.add(name)
    if sum(info.file_size for info in members) > entry.bytes:
        raise RunError(f"{entry.name} unpacks to more bytes than its index says; it was not installed.")
