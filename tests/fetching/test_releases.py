"""Runs as files of a release: the same bytes whoever packs them, taken only as they were listed."""

from __future__ import annotations

import hashlib
import shutil
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from sentviz import releases
from sentviz.bases import Base, bases
from sentviz.cli import main
from sentviz.errors import DataMissingError, InputError, SentvizError
from sentviz.fetch.download import Stopped
from sentviz.home import home
from sentviz.releases import ADDRESS, Packed, chosen, get, here, index, pack, read_index, release
from sentviz.runs import SHIPPED, Run, find, runs
from tests.fakehub import Hub
from tests.studies import made_run

NAMES = ("toy/one", "toy/two")


@pytest.fixture
def made(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Packed]:
    """Two runs packed in `release`, by name, which are not here and which the server has."""
    monkeypatch.chdir(tmp_path)
    of = [made_run(tmp_path / "checkout", "toy", "vanilla", name=name.partition("/")[2], wrong=10 + i) for i, name in enumerate(NAMES)]
    made = release([Run.open(run.folder, name) for run, name in zip(of, NAMES, strict=True)], tmp_path / "release")
    hub.linked = False
    hub.files |= {f"/r/{path.name}": path.read_bytes() for path in (tmp_path / "release").glob("*.zip")}
    return {one.name: one for one in made}


def kept() -> list[str]:
    """What lies in the user's folder of runs, hidden files too."""
    return sorted(path.relative_to(home() / "runs").as_posix() for path in (home() / "runs").glob("*/*"))


@pytest.mark.parametrize("source", ["server", "release", "checkout"])
def test_a_run_comes_as_it_was_packed(made: dict[str, Packed], hub: Hub, tmp_path: Path, source: str) -> None:
    """From a server, a folder of zips, a folder of runs; found like any other; a second time nothing is asked."""
    place = f"{hub.url}/r" if source == "server" else str(tmp_path / source)
    seen: list[tuple[int, int]] = []
    folder = get("toy/one", place, known=made, progress=lambda done, total: seen.append((done, total)))
    assert folder is not None and kept() == ["toy/one"]
    found = find("toy/one")
    assert found.folder == folder.resolve() and found.digest == made["toy/one"].digest and here(made["toy/one"])
    found.check(*found.config["files"])
    assert seen[-1] == (made["toy/one"].bytes,) * 2
    asked = len(hub.asked)
    assert get("toy/one", place, known=made) is None and len(hub.asked) == asked


def test_the_bytes_of_a_packed_run_follow_from_the_run(made: dict[str, Packed], tmp_path: Path) -> None:
    """Packed later from a copy with other times and permissions: the same file; its index is read as it was written."""
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "checkout" / "toy" / "one", copy, copy_function=shutil.copyfile)
    assert pack(Run.open(copy, "toy/one"), tmp_path / "again.zip") == made["toy/one"]
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "release" / "toy.one.zip").read_bytes()
    assert read_index(tmp_path / "release" / "release.json") == made


def test_a_stopped_download_goes_on(made: dict[str, Packed], hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a token for the hub stays with the hub."""
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    body = bytes(1 << 19)
    hub.files["/r/toy.one.zip"] = body
    known = {"toy/one": replace(made["toy/one"], bytes=len(body), sha256=hashlib.sha256(body).hexdigest())}
    stop = threading.Event()
    with pytest.raises(Stopped):
        get("toy/one", f"{hub.url}/r", known=known, progress=lambda done, _: done and stop.set(), stop=stop)
    (part,) = [name for name in kept() if name.endswith(".part")]
    have = (home() / "runs" / part).stat().st_size
    with pytest.raises(SentvizError):  # it is no run
        get("toy/one", f"{hub.url}/r", known=known)
    assert hub.asked[-1][2] == f"bytes={have}-" and not any(hub.tokens) and kept() == []


def test_what_differs_from_the_index_is_refused(made: dict[str, Packed], hub: Hub, tmp_path: Path) -> None:
    """Another run under its name, one flipped byte, a folder whose run was trained anew, a run that is nowhere; nothing is left."""
    (other, one) = (hub.files[f"/r/toy.{name}.zip"] for name in ("two", "one"))
    for body in (other, one[:-30] + bytes([one[-30] ^ 1]) + one[-29:]):
        hub.files["/r/toy.one.zip"] = body
        with pytest.raises(DataMissingError):
            get("toy/one", f"{hub.url}/r", known=made)
    (tmp_path / "release" / "toy.one.zip").write_bytes(other)
    with pytest.raises(DataMissingError, match="not the run that sentviz knows by this name"):
        get("toy/one", str(tmp_path / "release"), known=made)
    made_run(tmp_path / "checkout", "toy", "vanilla", name="one", wrong=77)
    with pytest.raises(DataMissingError, match="not the run"):
        get("toy/one", str(tmp_path / "checkout"), known=made)
    for place, kind in (
        (f"{hub.url}/none", DataMissingError),
        (str(tmp_path), DataMissingError),
        ("nowhere", InputError),
        ("http://", InputError),
    ):
        with pytest.raises(kind):
            get("toy/two", place, known=made)
    assert kept() == [] and "toy/one" not in runs()


@pytest.mark.parametrize("name", ["../../../escaped", "/escaped", "a\\..\\b", "C:escaped", "extra.txt"])
def test_a_zip_cannot_write_elsewhere(made: dict[str, Packed], hub: Hub, tmp_path: Path, name: str) -> None:
    """Even where its digest were right: names that leave the folder, and files that config.json does not list, are refused."""
    path = tmp_path / "release" / "toy.one.zip"
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, "x")
    known = {"toy/one": replace(made["toy/one"], bytes=path.stat().st_size, sha256=hashlib.sha256(path.read_bytes()).hexdigest())}
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SentvizError, match="not kept"):
        get("toy/one", str(path.parent), known=known)
    assert kept() == [] and [path for path in sorted(tmp_path.rglob("*")) if path.name.startswith(("escaped", "extra"))] == []
    assert {path for path in before if path.is_file()} <= set(tmp_path.rglob("*"))


def test_names_are_chosen_by_pattern(made: dict[str, Packed]) -> None:
    assert chosen(["toy/*", "toy/one"], made) == list(NAMES)
    with pytest.raises(InputError, match="There is no run 'sst2/x'"):
        chosen(["sst2/x"], made)


def test_the_commands(made: dict[str, Packed], hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listed, fetched, fetched again, refused."""
    monkeypatch.setattr(releases, "index", lambda: made)

    def run(*words: str) -> str:
        done = CliRunner().invoke(main, ["runs", *words])
        return f"{done.exit_code} {done.output}"

    assert "2 runs, 0 here" in run("list")
    assert f"{home() / 'runs' / 'toy' / 'one'}" in run("get", "toy/one", "--from", f"{hub.url}/r", "--quiet")
    assert "1 fetched" in run("get", "--all", "--from", str(tmp_path / "checkout"), "--quiet") and kept() == list(NAMES)
    assert "0 All of them are here already" in run("get", "toy/*", "--quiet")
    assert "2 runs, 2 here" in run("list")
    assert run("get").startswith("2 ") and run("get", "toy/x").startswith("1 ")


@pytest.mark.skipif(not (SHIPPED / "sst2").is_dir(), reason="checkpoints/ is not here")
def test_the_index_lists_the_runs_that_ship(tmp_path: Path) -> None:
    """All, with their bases, by digest, and some by the bytes that packing gives; `python -m sentviz.shelf` writes it anew."""
    shipped: dict[str, Run | Base] = {f"bases/{name}": base for name, base in bases(SHIPPED).items()}
    shipped |= {
        name: run for name, run in runs([SHIPPED], shipped_first=True).items() if isinstance(run, Run) and SHIPPED in run.folder.parents
    }
    assert {name: run.digest for name, run in shipped.items()} == {one.name: one.digest for one in index().values()}
    for name in chosen(["korean_hate_speech/*", "imdb/hardmax-d2", "bases/minilm"], shipped):
        assert pack(shipped[name], tmp_path / "one.zip") == index()[name]
    assert ADDRESS.startswith("https://")
    assert len({one.file for one in index().values()}) == len(index())
