"""Runs, and the bases that some need, as files of a release: packed, listed in an index, fetched, taken only as they were listed.

A packed run is a zip without compression, whose bytes follow from the run's: whoever packs it anew gets the same file. The index of the
runs that ship stands in every wheel, so what comes is held to what was packed, wherever it comes from. A base is packed as a run is, under
the name `bases/<name>`.
"""

from __future__ import annotations

import hashlib
import json
import re
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
from typing import NotRequired, TypedDict
from urllib.parse import urlsplit

from sentviz.errors import DataMissingError, InputError, RunError, SentvizError
from sentviz.io.files import disk, hold, read_regular, replacing, writing
from sentviz.io.paths import home
from sentviz.runs.bases import CARD, Base
from sentviz.runs.schema import DIGEST, FILE, RUN, fits, short
from sentviz.runs.store import BASES, Run, roots

ADDRESS = "https://github.com/sentviz/sentviz/releases/download/runs"  # where the files that `sentviz runs pack` writes are put
INDEX = Path(__file__).with_name("release.json")  # of the runs that ship; `python -m sentviz.runs.catalog` writes it anew
DATE = (1980, 1, 1, 0, 0, 0)  # of every file in a zip, the first that it can hold
UNIX = 3
ENCRYPTED = 1

LARGEST = 1 << 32  # bytes of a packed run
INDEX_MOST = 1 << 24  # bytes of an index

Progress = Callable[[int, int], object]  # bytes done, bytes altogether


class Entry(TypedDict):
    """A packed run as an index stores it."""

    name: str
    digest: str
    bytes: int
    sha256: str
    base: NotRequired[str]


@dataclass(frozen=True)
class Packed:
    """A packed run, or base, as an index has it."""

    name: str
    digest: str  # of the run
    bytes: int
    sha256: str  # of the file
    base: str = ""  # the entry of the base that the run needs

    def __post_init__(self) -> None:
        """Refuse what an index of somebody else could lead astray with.

        Raises:
            InputError: a name that is no name of a run, or numbers and digests that are none.
        """
        fits(asdict(self), Entry)
        good = RUN.fullmatch(self.name) and re.fullmatch("[0-9a-f]{12}", self.digest) and DIGEST.fullmatch(self.sha256)
        of_base = self.name.startswith(f"{BASES}/")
        on_base = bool(RUN.fullmatch(self.base)) and self.base.startswith(f"{BASES}/") and not of_base  # no base is on a base
        if not good or not 0 < self.bytes <= LARGEST or (self.base and not on_base):
            raise InputError(f"{short(self.name)} with {short(self.bytes)} bytes and the digest {short(self.digest)} is no packed run.")

    @property
    def file(self) -> str:
        """Its file in a release, where there are no folders."""
        return packed_name(self.name)


def packed_name(name: str) -> str:
    """The file of a run in a release: ``sst2.ndt-unit-2.zip``."""
    return name.replace("/", ".") + ".zip"


# ---- packing


def _open(name: str, folder: Path) -> Run | Base:
    """What an entry names, in a folder."""
    group, _, own = name.partition("/")
    return Base(own, folder) if group == BASES else Run.open(folder, name)


def _files(of: Run | Base) -> dict[str, Path]:
    """The files of a run or base, each checked: its card, then by name."""
    card, files = (CARD, of.card["files"]) if isinstance(of, Base) else ("config.json", of.config["files"])
    return {card: of.folder / card} | {name: of.path(name) for name in sorted(files)}


def pack(of: Run | Base, path: Path) -> Packed:
    """Write a run or a base as one file, whole or not at all.

    Raises:
        RunError: a file of it is missing or damaged.
    """
    with replacing(path) as fresh:
        with zipfile.ZipFile(fresh, "w") as archive:
            for name, source in _files(of).items():
                info = zipfile.ZipInfo(name, DATE)
                info.create_system, info.external_attr, info.file_size = UNIX, 0o644 << 16, source.stat().st_size
                with source.open("rb") as file, archive.open(info, "w") as member:
                    shutil.copyfileobj(file, member)
        needed = f"{BASES}/{of.config['base']['name']}" if isinstance(of, Run) and "base" in of.config else ""
        return Packed(_entry(of), of.digest, fresh.stat().st_size, _sha256(fresh), needed)


def _entry(of: Run | Base) -> str:
    return f"{BASES}/{of.name}" if isinstance(of, Base) else of.name


def release(of: Iterable[Run | Base], folder: Path) -> list[Packed]:
    """The files of a release: a zip of each run and base, and their index beside them.

    Raises:
        RunError: one of them is damaged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = [pack(one, folder / packed_name(_entry(one))) for one in of]
    write_index(made, folder / INDEX.name)
    return made


def index_of(of: Iterable[Run | Base]) -> list[Packed]:
    """Runs and bases as they would be packed."""
    with tempfile.TemporaryDirectory() as spare:
        return [pack(one, Path(spare) / "one.zip") for one in of]


def write_index(entries: Iterable[Packed], path: Path = INDEX) -> None:
    """An index, a line for each run."""
    lines = [
        json.dumps({name: value for name, value in asdict(one).items() if value != ""}) for one in sorted(entries, key=lambda one: one.name)
    ]
    with replacing(path) as fresh:
        fresh.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


# ---- choosing


@cache
def index() -> Mapping[str, Packed]:
    """The runs that ship, by name."""
    return read_index(INDEX)


def read_index(path: Path) -> dict[str, Packed]:
    """An index that was written before, by name.

    Raises:
        InputError: it is none.
    """
    try:
        stored = json.loads(read_regular(path, INDEX_MOST, path.name))
        fits(stored, list[Entry])
        entries = [Packed(**one) for one in stored]
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{path} is no index of runs ({str(error).rstrip('.')}).") from error
    return {one.name: one for one in entries}


def chosen(names: Sequence[str], among: Iterable[str]) -> list[str]:
    """The names that are meant, where ``sst2/*`` means all of a data set.

    Raises:
        InputError: one that means none.
    """
    there, found = list(among), dict[str, None]()
    for name in names:
        these = [one for one in there if fnmatchcase(one, name)]
        if not these:
            raise InputError(f"There is no run {name!r} to be had; `sentviz runs list` names them.")
        found |= dict.fromkeys(these)
    return list(found)


# ---- fetching


def is_installed(one: Packed) -> bool:
    """Whether a folder that is searched for runs has this one."""
    return any(_there(one, root / one.name) for root in roots())


def _there(one: Packed, folder: Path) -> bool:
    base, card = (True, CARD) if one.name.startswith(f"{BASES}/") else (False, "config.json")
    try:
        return (folder / card).is_file() and (Base if base else Run)(one.name, folder).digest == one.digest
    except RunError:
        return False


def with_bases(names: Iterable[str], known: Mapping[str, Packed]) -> list[str]:
    """The names, each base before the first run that needs it."""
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
    """Fetch a run into the user's folder, where it is found like those that came with sentviz; its base first, if that is not here.

    Args:
        source: the address of a release, a folder of its files, or a folder of runs as in a checkout.
        known: by name, what may come; the runs that ship without.
        progress: called with the bytes done and altogether.
        stop: set it from another thread to stop; the same call goes on from there.
        again: also what is here already.
    Returns:
        Its folder; None where the same run is here already.
    Raises:
        InputError: no such run, or no such folder.
        DataMissingError: it cannot be had there, or what is there is something else.
        RunError: another process fetches it.
        SentvizError: the disk is full or cannot be written.
        Stopped: `stop` was set.
    """
    known = index() if known is None else known
    one = known[chosen([name], known)[0]]
    if one.base in known and not is_installed(known[one.base]):
        get(one.base, source, known=known, stop=stop)
    if is_installed(one) and not again:
        return None
    folder = home() / "runs" / one.name
    with disk(folder.parent), ExitStack() as kept:
        folder.parent.mkdir(parents=True, exist_ok=True)
        mine = kept.enter_context(hold(folder))
        if not mine:
            raise RunError(f"{one.name} is being fetched by another process.")
        if source.startswith(("http://", "https://")):
            file = folder.with_name(f".{folder.name}.zip")
            kept.callback(file.unlink, missing_ok=True)
            _download(one, source, file, progress, stop)
        else:
            file = _local(one, Path(source), Path(kept.enter_context(tempfile.TemporaryDirectory())))
        if file.stat().st_size != one.bytes or _sha256(file) != one.sha256:
            raise DataMissingError(f"{one.name} from {source} is not the run that sentviz knows by this name; it was not kept.")
        _unpack(one, file, folder)
        if progress:
            progress(one.bytes, one.bytes)
    return folder


def _download(one: Packed, source: str, file: Path, progress: Progress | None, stop: threading.Event | None) -> None:
    from sentviz.data.fetch.download import RemoteFile, fetch

    try:
        parts = urlsplit(source)
        good = bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise InputError(f"{source} is no address of a release.")
    fetch(RemoteFile(f"{source.rstrip('/')}/{one.file}", one.bytes, one.sha256, token=False), file, progress=progress, stop=stop)


def _local(one: Packed, source: Path, spare: Path) -> Path:
    """The file of a run in a folder of a release, or made of a folder of runs."""
    if not source.is_dir():
        raise InputError(f"{source} is neither an address nor a folder.")
    if (source / one.file).is_file():
        return source / one.file
    if not any((source / one.name / card).is_file() for card in ("config.json", CARD)):
        raise DataMissingError(f"{source} holds neither {one.file} nor {one.name}.")
    pack(_open(one.name, source / one.name), spare / one.file)
    return spare / one.file


def _unpack(one: Packed, file: Path, folder: Path) -> None:
    """The run in its folder, if it holds what its config.json lists, by those digests, and nothing else."""
    with writing(folder) as fresh:
        try:
            with zipfile.ZipFile(file) as archive:
                members = archive.infolist()
                _check_members(one, members)
                for info in members:
                    with archive.open(info) as member, disk(folder.parent):
                        (fresh / info.filename).parent.mkdir(exist_ok=True)
                        with (fresh / info.filename).open("wb") as target:
                            shutil.copyfileobj(member, target)
        except SentvizError:
            raise
        except Exception as error:  # the module raises kinds of all sorts
            raise RunError(f"{one.name} is no zip that can be read ({type(error).__name__}); it was not kept.") from error
        unpacked = _open(one.name, fresh)
        if {info.filename for info in members} != _files(unpacked).keys() or unpacked.digest != one.digest:
            raise RunError(f"{one.name} does not hold what its card lists; it was not kept.")


def _check_members(one: Packed, members: Sequence[zipfile.ZipInfo]) -> None:
    """Refuse members that `pack` does not write: names that lead elsewhere or stand twice, links, more bytes than the file has."""
    names: set[str] = set()
    folders = {info.filename.rpartition("/")[0] for info in members}
    for info in members:
        name, mode = info.filename, info.external_attr >> 16
        plain = info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & ENCRYPTED and stat.S_IFMT(mode) in (0, stat.S_IFREG)
        if not plain or not FILE.fullmatch(name) or name in names | folders:
            raise RunError(f"{one.name} holds {short(name)}, which is no file of a run; it was not kept.")
        names.add(name)
    if sum(info.file_size for info in members) > one.bytes:
        raise RunError(f"{one.name} stands for more bytes than it has; it was not kept.")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
