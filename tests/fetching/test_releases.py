"""Runs as files of a release: the same bytes whoever packs them, taken only as they were listed."""

import hashlib
import json
import os
import shutil
import stat
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.errors import DataMissingError, InputError, SentvizError
from sentviz.io.files import home
from sentviz.runs import releases
from sentviz.runs.bases import Base, bases
from sentviz.runs.releases import ADDRESS, Packed, chosen, get, index, is_installed, pack, read_index, release
from sentviz.runs.store import SHIPPED, Run, find, runs
from tests.fakehub import Hub
from tests.kit import no_room, refused
from tests.studies import made_run

NAMES = ("toy/one", "toy/two")


@pytest.fixture
def packed(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Packed]:
    """Pack two runs into `release` and serve them; return the entries by name. The runs are not installed."""
    monkeypatch.chdir(tmp_path)
    of = [made_run(tmp_path / "checkout", "toy", "vanilla", name=name.partition("/")[2], wrong=10 + i) for i, name in enumerate(NAMES)]
    packed = release([Run.open(run.folder, name) for run, name in zip(of, NAMES, strict=True)], tmp_path / "release")
    hub.linked = False
    hub.files |= {f"/r/{path.name}": path.read_bytes() for path in (tmp_path / "release").glob("*.zip")}
    return {run.name: run for run in packed}


def user_runs() -> list[str]:
    """Return the entries of the user's folder of runs, including hidden files."""
    return sorted(path.relative_to(home() / "runs").as_posix() for path in (home() / "runs").glob("*/*"))


@pytest.mark.parametrize("source", ["server", "release", "checkout"])
def test_a_run_comes_as_it_was_packed(
    packed: dict[str, Packed], hub: Hub, tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    place = f"{hub.url}/r" if source == "server" else str(tmp_path / source)
    seen: list[tuple[int, int]] = []
    folder = get("toy/one", place, known=packed, progress=lambda done, total: seen.append((done, total)))
    assert folder is not None and user_runs() == ["toy/one"]
    installed = find("toy/one")
    assert installed.folder == folder.resolve() and installed.digest == packed["toy/one"].digest and is_installed(packed["toy/one"])
    installed.check(*installed.config["files"])
    assert seen[-1] == (packed["toy/one"].bytes,) * 2
    requests_before = len(hub.requests)
    assert get("toy/one", place, known=packed) is None and len(hub.requests) == requests_before and not any(hub.tokens)


def test_the_bytes_of_a_packed_run_follow_from_the_run(packed: dict[str, Packed], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "checkout" / "toy" / "one", copy, copy_function=shutil.copyfile)
    assert pack(Run.open(copy, "toy/one"), tmp_path / "again.zip") == packed["toy/one"]
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "release" / "toy.one.zip").read_bytes()
    assert read_index(tmp_path / "release" / "release.json") == packed
    changes: list[dict[str, object]] = [
        *({"name": name} for name in ("../../escaped", "/etc/cron.d/x", "toy", "a\\b/c", "toy/.tmp-new-one", "a/b/c", 7)),
        *({"bytes": size} for size in (10**18, -1, "9")),
        *({"digest": digest} for digest in ("../x", "")),
        {"sha256": "0"},
        *({"base": base} for base in ("../../escaped", "toy/two")),
        {"name": "bases/x", "base": "bases/x"},
        {"more": 1},
    ]
    texts = [json.dumps([asdict(packed["toy/one"]) | change]) for change in changes]
    for text in (*texts, "", "{}", "[" * 100_000, "[1]", '[{"name": "a/b"}]', "\0"):
        (tmp_path / "index.json").write_text(text)
        refused(InputError, r"index\.json is not an index of runs", read_index, tmp_path / "index.json")
    for change in changes[:-1]:
        refused(ValueError, r"must be|never needs", replace, packed["toy/one"], **change)


def test_what_differs_from_the_index_is_refused(packed: dict[str, Packed], hub: Hub, tmp_path: Path) -> None:
    (second_archive, first_archive) = (hub.files[f"/r/toy.{name}.zip"] for name in ("two", "one"))
    for body in (second_archive, first_archive[:-30] + bytes([first_archive[-30] ^ 1]) + first_archive[-29:]):
        hub.files["/r/toy.one.zip"] = body
        refused(DataMissingError, ".", get, "toy/one", f"{hub.url}/r", known=packed)
    (tmp_path / "release" / "toy.one.zip").write_bytes(second_archive)
    refused(DataMissingError, "not the run that sentviz knows by this name", get, "toy/one", str(tmp_path / "release"), known=packed)
    made_run(tmp_path / "checkout", "toy", "vanilla", name="one", wrong=77)
    refused(DataMissingError, "not the run", get, "toy/one", str(tmp_path / "checkout"), known=packed)
    refusals = ((f"{hub.url}/none", DataMissingError), (str(tmp_path), DataMissingError), ("nowhere", InputError), ("http://", InputError))
    for place, kind in refusals:
        refused(kind, ".", get, "toy/two", place, known=packed)
    assert user_runs() == [] and "toy/one" not in runs()


def test_the_commands(packed: dict[str, Packed], hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "index", lambda: packed)

    def run(*words: str) -> str:
        done = CliRunner().invoke(main, ["runs", *words])
        return f"{done.exit_code} {done.output}"

    assert "2 runs, 0 installed" in run("list")
    assert f"{home() / 'runs' / 'toy' / 'one'}" in run("get", "toy/one", "--from", f"{hub.url}/r", "--quiet")
    assert "Runs fetched: 1" in run("get", "--all", "--from", str(tmp_path / "checkout"), "--quiet") and user_runs() == list(NAMES)
    assert "0 All of these runs are already installed" in run("get", "toy/*", "--quiet")
    assert "2 runs, 2 installed" in run("list")
    assert run("get").startswith("2 ") and run("get", "toy/x").startswith("1 ")


@pytest.mark.skipif(not (SHIPPED / "sst2").is_dir(), reason="checkpoints/ is not here")
def test_the_index_lists_the_runs_that_ship(tmp_path: Path) -> None:
    shipped: dict[str, Run | Base] = {f"bases/{name}": base for name, base in bases(SHIPPED).items()}
    known = runs([SHIPPED], shipped_first=True).items()
    shipped |= {name: run for name, run in known if isinstance(run, Run) and SHIPPED in run.folder.parents}
    assert {name: run.digest for name, run in shipped.items()} == {entry.name: entry.digest for entry in index().values()}
    for name in chosen(["korean_hate_speech/*", "imdb/hardmax-d2", "bases/minilm"], shipped):
        assert pack(shipped[name], tmp_path / "one.zip") == index()[name]
    assert ADDRESS.startswith("https://")
    assert len({entry.file for entry in index().values()}) == len(index())


def offered(path: Path, entry: Packed) -> dict[str, Packed]:
    """Return an index with the current digest of a file."""
    return {entry.name: replace(entry, bytes=path.stat().st_size, sha256=hashlib.sha256(path.read_bytes()).hexdigest())}


EXTRA = {
    "a bomb": ("metrics.json", b"\0" * 50_000_000),
    "a name that stands twice": ("metrics.json", b"{}"),
    "a folder": ("epochs/", b""),
    "a name that leaves the folder": ("../../../escaped", b""),
    "another system's name that leaves it": ("a\\..\\b", b""),
    "a file that config.json does not list": ("extra.txt", b""),
}


def changed(path: Path, how: str) -> None:
    """Change a release's file in a way that `pack` never writes."""
    members = {info.filename: zipfile.ZipFile(path).read(info) for info in zipfile.ZipFile(path).infolist()}
    if how == "half of it":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif how == "a pickle":
        path.write_bytes(b"\x80\x04N.")
    elif how == "a start before the file":
        data = bytearray(path.read_bytes())
        data[-6:-2] = (0x7FFFFFFF).to_bytes(4, "little")
        path.write_bytes(data)
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if how == "a bomb" else zipfile.ZIP_STORED) as archive:
            for name, data in members.items():
                info = zipfile.ZipInfo(name)
                if how == "links":
                    info.external_attr = (stat.S_IFLNK | 0o777) << 16
                archive.writestr(info, data)
            if how in EXTRA:
                archive.writestr(*EXTRA[how])
        if how == "encrypted":
            data = bytearray(path.read_bytes())
            for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
                data[data.index(mark) + offset] |= 1
            path.write_bytes(data)
        if how == "sizes that are not":  # the directory says that a file is larger than all of the archive
            data = bytearray(path.read_bytes())
            at = data.index(b"PK\x01\x02")
            data[at + 20 : at + 28] = (1 << 30).to_bytes(4, "little") * 2
            path.write_bytes(data)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_that_pack_would_not_write(packed: dict[str, Packed], tmp_path: Path) -> None:
    path = tmp_path / "release" / "toy.one.zip"
    assert get("toy/one", str(path.parent), known=packed) is not None
    good = path.read_bytes()
    for how in (*EXTRA, "half of it", "a pickle", "a start before the file", "links", "encrypted", "sizes that are not"):
        path.write_bytes(good)
        changed(path, how)
        with pytest.raises(SentvizError, match=r"not installed\.$") as caught:
            get("toy/one", str(path.parent), known=offered(path, packed["toy/one"]), again=True)
        assert "\n" not in str(caught.value) and user_runs() == ["toy/one"] and is_installed(packed["toy/one"]), how
    assert not list(tmp_path.rglob("escaped*"))


def test_a_damaged_run_is_not_packed(packed: dict[str, Packed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, out = tmp_path / "checkout", tmp_path / "release"
    monkeypatch.setattr("sentviz.runs.store.SHIPPED", root)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    for damage, message in (
        (lambda folder: (folder / "metrics.json").write_text("{"), "toy/one: metrics.json is damaged"),
        (lambda folder: (folder / "metrics.json").unlink(), "toy/one: metrics.json is missing"),
        (lambda folder: os.mkfifo(folder / "metrics.json"), "toy/one: metrics.json is a pipe"),
        (lambda folder: (folder / "config.json").write_text("{"), "toy/one: config.json is not JSON"),
    ):
        damage(root / "toy" / "one")
        with monkeypatch.context() as patched:
            patched.setenv("SENTVIZ_RUNS", str(root))
            done = CliRunner().invoke(main, ["runs", "pack", str(out), "toy/one"])
        assert done.exit_code == 1 and message in done.output and done.output.count("\n") == 1
        assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_disk_that_takes_no_more_and_a_place_that_is_taken(packed: dict[str, Packed], tmp_path: Path) -> None:
    with no_room(600), pytest.raises(SentvizError, match="cannot be written"):
        get("toy/one", str(tmp_path / "release"), known=packed)
    assert user_runs() == []
    assert get("toy/one", str(tmp_path / "release"), known=packed) is not None
    shutil.rmtree(home() / "runs" / "toy")
    (home() / "runs" / "toy").write_text("mine")
    refused(SentvizError, r"toy cannot be written: ", get, "toy/one", str(tmp_path / "release"), known=packed)
    assert (home() / "runs" / "toy").read_text() == "mine"
