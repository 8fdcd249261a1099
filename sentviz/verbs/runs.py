"""Verbs about runs and bases as files: list, fetch, pack and add them, and write model cards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sentviz.io.arguments import Arg, Progress
from sentviz.verbs.door import OptionError, Outcome, verb

if TYPE_CHECKING:
    from sentviz.errors import RunError
    from sentviz.runs.bases import Base
    from sentviz.runs.store import Run

Names = Annotated[tuple[str, ...], Arg("Names of runs, or patterns such as 'sst2/*'.", metavar="name", local=True)]


def _check_chosen(names: tuple[str, ...], everything: bool, listing: str) -> None:
    if everything == bool(names):
        raise OptionError(f"Give the names of runs, or --all for all of them. `{listing}` shows the names.")


@verb("Yours", group="runs")
def runs_list() -> Outcome:
    """List the shipped runs, their sizes in MB, and which are installed."""
    from sentviz.runs.releases import index, is_installed

    shipped = index().values()
    entries: list[dict[str, Any]] = [{"name": item.name, "bytes": item.bytes, "installed": is_installed(item)} for item in shipped]
    lines = [f"{each['name']:<44}{each['bytes'] / 1e6:>7.1f} MB  {'installed' if each['installed'] else ''}".rstrip() for each in entries]
    missing = [each["bytes"] for each in entries if not each["installed"]]
    size, installed = sum(missing) / 1e6, len(entries) - len(missing)
    end = f"{len(entries)} runs, {installed} installed; `sentviz runs get --all` fetches the others ({size:,.0f} MB)."
    return Outcome((*lines, end), entries)


@verb("Yours", group="runs", resumes=True)
def runs_get(
    names: Names = (),
    *,
    everything: Annotated[bool, Arg("Fetch all shipped runs.", flags=("--all",), local=True)] = False,
    source: Annotated[
        str, Arg("Address of another release, folder of its files, or folder of runs.", flags=("--from",), metavar="URL|FOLDER", local=True)
    ] = "",
    again: Annotated[bool, Arg("Download installed runs again.", local=True)] = False,
    quiet: Annotated[bool, Arg("Show no progress bar.", local=True)] = False,
    progress: Annotated[Progress | None, "Bytes"] = None,
) -> Outcome:
    """Fetch the runs NAME into the user's folder. The pattern 'sst2/*' names all runs of a data set.

    To continue a stopped download, run the command again.
    """
    from sentviz.runs.releases import ADDRESS, chosen, get, index, is_installed, with_bases

    _check_chosen(names, everything, "sentviz runs list")
    known = index()
    wanted = [name for name in with_bases(chosen(names or ["*"], known), known) if again or not is_installed(known[name])]
    size, before, folders = sum(known[name].bytes for name in wanted), 0, dict[str, str]()

    def report(done: int, _: int) -> None:
        if progress is not None and not quiet:
            progress(before + done, size)

    for name in wanted:
        folders[name] = str(get(name, source or ADDRESS, progress=report, again=again))
        before += known[name].bytes
    end = f"Runs fetched: {len(wanted)} ({size / 1e6:,.1f} MB)." if wanted else "All of these runs are already installed."
    return Outcome((*(f"{name}  {folder}" for name, folder in folders.items()), end), folders)


@verb("Yours", group="runs")
def runs_pack(
    out: Annotated[Path, Arg("Folder of the release.", local=True)],
    names: Names = (),
) -> Outcome:
    """Write the files of a release into folder OUT: a zip file per shipped run and base, or per NAME, and their index."""
    from sentviz.errors import RunError
    from sentviz.runs.bases import bases
    from sentviz.runs.releases import chosen, release
    from sentviz.runs.store import BASES, SHIPPED, runs

    if out.is_file():
        raise OptionError(f"{out} is a file. Name a folder.")
    shipped: dict[str, Run | Base | RunError] = {f"{BASES}/{name}": base for name, base in bases(SHIPPED).items()}
    shipped |= runs([SHIPPED], shipped_first=True)
    selected: list[Run | Base] = []
    for name in chosen(names or ["*"], shipped):
        item = shipped[name]
        if isinstance(item, RunError):
            raise item
        selected.append(item)
    packed = release(selected, out)
    size = sum(item.bytes for item in packed)
    return Outcome((f"{len(packed)} runs, {size / 1e6:,.1f} MB, written to {out}",), {"runs": len(packed), "bytes": size, "out": str(out)})


@verb("Model")
def card(
    names: Annotated[tuple[str, ...], Arg("Runs.", metavar="run", local=True)] = (),
    *,
    everything: Annotated[bool, Arg("Write the cards of all available runs.", flags=("--all",), local=True)] = False,
    out: Annotated[
        Path | None, Arg("FILE.md for one run, or a folder; by default the card is printed.", flags=("-o", "--out"), local=True)
    ] = None,
) -> Outcome:
    """Write the model card of each RUN from its files: Markdown with the metadata header that the Hugging Face hub reads."""
    from sentviz.io.files import replacing
    from sentviz.papers.cards import card as card_of
    from sentviz.papers.cards import filename
    from sentviz.runs.store import Run, find, runs

    _check_chosen(names, everything, "sentviz catalog")
    available = [run for run in runs().values() if isinstance(run, Run)]
    cards = {run: card_of(run, available) for run in (available if everything else map(find, names))}
    numbers = {run.name: text for run, text in cards.items()}
    if out is None:
        return Outcome(tuple(cards.values()), numbers)
    single = len(cards) == 1 and out.suffix == ".md"
    (out.parent if single else out).mkdir(parents=True, exist_ok=True)
    for run, text in cards.items():
        with replacing(out if single else out / filename(run)) as part:
            part.write_text(text, encoding="utf-8")
    return Outcome((f"Model cards written to {out}: {len(cards)}",), numbers)


@verb("Yours", group="base")
def base_list() -> Outcome:
    """List the installed bases with source, size and shape."""
    from sentviz.errors import RunError
    from sentviz.runs.bases import bases

    lines, entries = [], []
    for item in bases().values():
        try:
            size, settings = sum(path.stat().st_size for path in item.folder.iterdir()), item.settings
            shape = f"{settings['layers']:>3} layers, width {settings['width']}"
            lines.append(f"{item.name:<16}{item.card['source']:<48}{shape}{size / 1e6:>8.1f} MB")
            entries.append({"name": item.name, "source": item.card["source"], "bytes": size, "settings": settings})
        except RunError as error:
            lines.append(f"{item.name:<16}{error}")
            entries.append({"name": item.name, "problem": str(error)})
    return Outcome(tuple(lines), entries)


@verb("Yours", group="base")
def base_add(
    folder: Annotated[str, Arg("Folder in the Hugging Face layout, its name below SENTVIZ_MODELS, or USER/MODEL of the hub.", local=True)],
    name: Annotated[str, Arg("Name of the base.", local=True)],
    *,
    bits: Annotated[Literal["4", "8"], Arg("Bits per weight of the matrices.", local=True)] = "8",
    pooling: Annotated[Literal["mean", "cls"], Arg("Vector that a classifier reads.", local=True)] = "mean",
    source: Annotated[str, Arg("Origin of the encoder, for example sentence-transformers/all-MiniLM-L6-v2.", local=True)] = "",
    licence: Annotated[str, Arg("Licence of the encoder, for example Apache-2.0.", flags=("--license",), local=True)] = "",
    remark: Annotated[str, Arg("Further remark for the base's card.", local=True)] = "",
    revision: Annotated[str, Arg("Commit of an encoder of the hub, 40 hex digits.", local=True)] = "",
    sha256: Annotated[str, Arg("SHA-256 that model.safetensors must have; needed for an encoder of the hub.", local=True)] = "",
    out: Annotated[Path, Arg("Folder for the base.", flags=("-o", "--out"), local=True)] = Path("runs/bases"),
) -> Outcome:
    """Round the weights of the encoder in FOLDER and store it as the base NAME.

    FOLDER is a folder in the Hugging Face layout, its name below SENTVIZ_MODELS, or an encoder of the hub as USER/MODEL.
    """
    from sentviz.models.pretrained.base import add_base

    settings = {"pooling": pooling, "source": source, "license": licence, "remark": remark, "revision": revision, "sha256": sha256}
    added = add_base(folder, name, out, bits=int(bits), **settings)
    numbers = {"name": added.name, "digest": added.digest, "folder": str(added.folder)}
    return Outcome((f"{added.name}  {added.digest}  {added.folder}",), numbers)
