"""Verbs about data sets as files: list, add, remove, fetch and check them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from sentviz.io.arguments import Arg, Progress
from sentviz.verbs.door import OptionError, Outcome, verb
from sentviz.verbs.shelf import Table

Name = Annotated[str, Arg("Name of a data set.", local=True)]


@verb("Yours", group="data")
def data_list() -> Table:
    """List the known data sets, which of them are installed, and your own."""
    from sentviz.data import datasets

    frame = datasets.datasets()
    return Table(frame, (frame.to_string(index=False),))


@verb("Yours", group="data")
def data_add(
    file: Annotated[Path, Arg("Table of texts with labels: csv, tsv, jsonl, json, xlsx or parquet.", local=True)],
    *,
    name: Annotated[str, Arg("Name of the data set: NAME makes mine/NAME; default: the file's name.", local=True)] = "",
    text: Annotated[str, Arg("Column of the texts; by default it is proposed.", local=True)] = "",
    label: Annotated[str, Arg("Column of the labels; by default it is proposed.", local=True)] = "",
    split: Annotated[str, Arg("Column with train, validation or test; by default it is proposed, else --shares decide.", local=True)] = "",
    classes: Annotated[
        str,
        Arg(
            "Class names in the order of the labels, as in negative,positive, or the name of each label that is kept, as in"
            " 1=negative,5=positive.",
            local=True,
        ),
    ] = "",
    shares: Annotated[str, Arg("Percent of train, validation and test; default: 70,15,15. Equal texts stay together.", local=True)] = "",
    seed: Annotated[int, Arg("Seed of the division by --shares.", least=0, local=True)] = 0,
    language: Annotated[
        Literal["en", "ko"] | None, Arg("Language of the texts; by default it is found from their letters.", local=True)
    ] = None,
    sheet: Annotated[str, Arg("Sheet of an Excel file; by default the one that looks most like a table of texts.", local=True)] = "",
    replace: Annotated[bool, Arg("Replace the data set of this name.", local=True)] = False,
) -> Outcome:
    """Add FILE to your library as the data set mine/NAME, which every command takes as a data set.

    FILE is a csv, tsv, jsonl, json, xlsx or parquet file of texts with labels. The output says how FILE was understood. FILE itself is not
    needed afterwards, and texts stay on this machine.
    """
    from sentviz.data.user_datasets import add_data

    titles = [title.strip() for title in classes.split(",") if title.strip()]
    of_labels = dict(title.split("=", 1) for title in titles if "=" in title)
    if of_labels and len(of_labels) < len(titles):
        raise OptionError("--classes must name each label differently, as 1=negative,5=positive, or name all classes without labels.")
    try:
        percent = [int(share) for share in shares.split(",")] if shares else []
    except ValueError:
        raise OptionError("--shares must be three whole percentages, as 70,15,15.") from None
    columns = {"text": text, "label": label, "split": split, "sheet": sheet, "language": language or ""}
    added = add_data(file, name, **columns, classes=of_labels or titles, shares=percent, seed=seed, replace=replace)
    then = f"The options of `sentviz data add` change this. `sentviz train {added.name}` trains a model on the data set."
    return Outcome((str(added), then), {"name": added.name, "understood": str(added)})


@verb("Yours", group="data")
def data_remove(name: Name) -> Outcome:
    """Delete your data set mine/NAME. Runs that were trained on it stay."""
    from sentviz.data.user_datasets import remove_data

    removed = remove_data(name)
    return Outcome((f"Deleted: {removed}",), {"removed": str(removed)})


@verb("Yours", group="data", resumes=True)
def data_get(
    name: Name,
    *,
    again: Annotated[bool, Arg("Download files again that are in the cache.", local=True)] = False,
    quiet: Annotated[bool, Arg("Show no progress bar.", local=True)] = False,
    progress: Annotated[Progress | None, "Bytes"] = None,
) -> Outcome:
    """Download data set NAME from the public hub into the user's cache. To continue a stopped download, run the command again."""
    from sentviz.data import datasets
    from sentviz.data.fetch import hub

    item = datasets.info(name)
    fetched = hub.get(name, progress=None if quiet else progress, again=again)
    lines = [f"{file.path}  {file.rows:,} rows{'' if file.exact else '  (different from the known rows)'}" for file in fetched]
    remarks = [file.remark for file in fetched if file.remark]
    if missing := [part for part in dict.fromkeys([*item.parts, *item.needed()]) if not datasets.is_available(name, part)]:
        remarks.append(f"Not installed: {', '.join(missing)}; {hub.reasons(name, missing)}.")
    files = [{"path": str(file.path), "rows": file.rows, "exact": file.exact} for file in fetched]
    return Outcome(tuple(lines) or (f"{name} is already installed; --again downloads it again.",), files, tuple(remarks))


@verb("Yours", group="data")
def data_verify(name: Name) -> Outcome:
    """Compare the files of data set NAME with their known digests and numbers of rows."""
    from sentviz.data import datasets

    datasets.verify(name)
    return Outcome((f"The files of {name} are as expected.",), {"name": name, "as_expected": True})


@verb("Yours", group="data")
def data_where() -> Outcome:
    """List the folders that are searched for data sets, in order, and the data sets in each."""
    from sentviz.data import datasets

    known = datasets.datasets()["name"]
    searched = {
        str(folder): [name for name in known if any((folder / name / f"{part}.parquet").is_file() for part in datasets.info(name).parts)]
        for folder in datasets.folders()
    }
    order = "If SENTVIZ_DATA is set, it is the first folder. Downloads go to the last folder, below SENTVIZ_HOME or in the system's cache."
    return Outcome((*(f"{folder}: {', '.join(names) or 'no data set'}" for folder, names in searched.items()), order), searched)
