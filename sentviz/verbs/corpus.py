"""Verbs about large files: score every row, or write the reason for the prediction of each row."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sentviz.io.arguments import Arg, Progress, Say
from sentviz.io.lazy import np
from sentviz.io.numbers import percent
from sentviz.verbs.door import OptionError, Outcome, announced, verb
from sentviz.verbs.sources import Labels, Source, TextColumn

if TYPE_CHECKING:
    from sentviz.serving.corpus.output import Scored
    from sentviz.serving.corpus.summary import Totals

ROWS = 16  # rows of a part whose reasons are written: a stopped command loses the work on one part

PairColumn = Annotated[str, Arg("Column of the second texts, for runs that read pairs.", local=True)]


@verb("Rows", resumes=True, synopsis="[RUN] FILES...")
def score(
    of: Source,
    files: Annotated[tuple[str, ...], Arg("Files, folders, patterns, or data sets of yours.", local=True)],
    *,
    out: Annotated[
        Path,
        Arg(
            "File OUT.csv with every column of FILES and the predictions, or a folder for parquet parts, for example OUT.parquet.",
            flags=("-o", "--out"),
            local=True,
        ),
    ],
    text: Annotated[str, Arg("Column of the texts; by default it is guessed. In txt files each line is a text.", local=True)] = "",
    pair: PairColumn = "",
    label: Annotated[str, Arg("Column of the labels, to compute the accuracy.", local=True)] = "",
    labels: Labels = "",
    partial: Annotated[bool, Arg("Print the accuracy although more than 2 % of the rows are left out of it.")] = False,
    encoding: Annotated[str, Arg("Encoding of the text files; by default it is found from their bytes.")] = "",
    vectors: Annotated[bool, Arg("Store the pooled vectors, too, in half precision.")] = False,
    attention: Annotated[bool, Arg("Store what each head attends to in each row, for `sentviz heads OUT`.")] = False,
    words: Annotated[bool, Arg("Store counts of words, for `sentviz words OUT`.")] = False,
    rows: Annotated[int, Arg("Rows per output part. If a worker crashes, its part is computed again.", least=1)] = 20_000,
    workers: Annotated[int, Arg("Models that run in parallel, each on one core.", least=1)] = 1,
    engine: Annotated[Literal["process", "ray"], Arg("Backend. `ray` needs the extra `ray`.")] = "process",
    address: Annotated[
        str, Arg("Address of a Ray cluster whose machines share the files; by default Ray runs on this machine.", local=True)
    ] = "",
    progress: Annotated[Progress | None, "Rows"] = None,
    say: Say | None = None,
) -> Outcome:
    """Predict every row of FILES with RUN, or with your own --model, and write the class probabilities to OUT.

    FILES are csv, tsv, xlsx, parquet, jsonl, json or txt files (one text per line), folders of such files, patterns, or your data sets, as
    mine/NAME. OUT.csv has every column of FILES and the predictions; pandas and pyarrow read a folder OUT as one table. To continue a
    stopped command, run it again. A row that cannot be read gets a remark instead of a prediction.
    """
    from sentviz.data.labels import in_words
    from sentviz.serving.corpus import output
    from sentviz.serving.corpus.engines import score_sources
    from sentviz.serving.corpus.inputs import survey_files
    from sentviz.serving.corpus.output import OutputOptions, ScoringJob, label_counts
    from sentviz.serving.corpus.summary import totals

    if address and engine != "ray":
        raise OptionError("--address names a Ray cluster: add --engine ray.")
    is_file = output.fits(out)
    if is_file and (vectors or attention or words):
        raise OptionError("--vectors, --attention and --words need a folder: choose a name without .csv.")
    source = Source.of(of)
    if source.model and source.run:  # with a model, all names are names of files
        source, files = Source(model=source.model, classes=source.classes), (source.run, *files)
    elif not (source.model or source.run or source.opened):
        raise OptionError("Name a file to predict after the RUN.")
    if source.model and (workers > 1 or engine == "ray"):
        raise OptionError("A model of yours runs in this process only: remove --workers and --engine.")
    scorer = source.answers()
    sources = survey_files(
        [path for name in files for path in files_of(name)], text=text, pair=pair, label=label, encoding=encoding, rows=rows
    )
    if is_file:
        output.check(sources, out)
    options = OutputOptions(vectors, attention, words, labels)
    remarks = [remark for each in sources for remark in each.format.remarks]
    if label:
        class_of = ScoringJob(scorer, tuple(sources), options, out).class_of
        remarks += in_words(label_counts(sources), class_of, scorer.labels, sum(each.rows for each in sources), f"Labels in “{label}”")
    remarks = list(announced(remarks, say))
    begun, first = time.perf_counter(), -1

    def counted(done: int, total: int) -> None:
        nonlocal first
        first = done if first < 0 else first
        if progress is not None:
            progress(done, total)

    scored = score_sources(
        scorer,
        sources,
        output.parts_of(out) if is_file else out,
        options=options,
        engine=engine,
        workers=workers,
        address=address,
        progress=counted,
    )
    seconds, counts = time.perf_counter() - begun, totals(scored)
    new = counts.rows - first
    left_out = _left_out(scored, counts)
    if is_file:
        output.write(scored, sources, out)
    lines = [f"{counts.rows:,} rows in {out}" if is_file else f"{counts.rows:,} rows in {len(scored.parts):,} parts of {out}"]
    lines.append(f"{new:,} of them new, in {seconds:,.1f} s ({new / seconds:,.0f} rows per second)")
    lines += left_out
    predicted = dict(zip(scored.labels, counts.predicted.tolist(), strict=True))
    lines.append(", ".join(f"{name} {n:,}" for name, n in predicted.items()))
    numbers: dict[str, Any] = {"out": str(out), "rows": counts.rows, "new": new, "seconds": round(seconds, 3), "predicted": predicted}
    if labelled := int(counts.confusion.sum()):
        accuracy = float(np.trace(counts.confusion) / labelled)
        if why := _too_few(labelled, counts.rows, partial, str(out)):
            remarks.append(f"No accuracy is printed. {why}")
        else:
            some = f" of {counts.rows:,}" if labelled < counts.rows else ""
            lines.append(f"Accuracy {percent(accuracy, 2)} on the {labelled:,}{some} rows with a label.")
            numbers |= {"accuracy": accuracy, "n": labelled}
    return Outcome(tuple(lines), numbers, tuple(remarks))


def _too_few(labelled: int, rows: int, partial: bool, name: str) -> str:
    """Return why no accuracy is told; "" if it may be."""
    from sentviz.data.labels import LeftOutError, Reading, check_complete

    try:
        check_complete(labelled, rows, Reading(partial=partial), name)
    except LeftOutError as error:
        return str(error)
    return ""


def _left_out(scored: Scored, counts: Totals) -> list[str]:
    """Return how many rows were not read, or not to their end."""
    cut = sum(int((scored.part(place, ["truncated"])["truncated"].to_numpy() > 0).sum()) for place in range(len(scored.parts)))
    lines = []
    if counts.unread:
        lines.append(f"{counts.unread:,} rows could not be read; their remarks say why.")
    if cut:
        lines.append(f"{cut:,} rows are longer than the model reads; their remarks say by how much.")
    return lines


def files_of(name: str) -> list[str]:
    """Return the files of a data set of the user; any other name unchanged."""
    from sentviz.data import datasets

    if not datasets.is_own(name) or Path(name).exists():
        return [name]
    datasets.require(name)
    return [str(path) for part in datasets.info(name).needed() if (path := datasets.part_file(name, part))]


@verb("Rows", resumes=True)
def reasons(
    of: Source,
    *,
    data: Annotated[str, Arg("File of texts, or data set of yours. It needs no labels.", metavar="FILE", local=True)],
    out: Annotated[Path, Arg("File OUT.csv for the rows.", flags=("-o", "--out"), local=True)],
    text: TextColumn = "",
    pair: PairColumn = "",
    progress: Annotated[Progress | None, "Rows"] = None,
    say: Say | None = None,
) -> Outcome:
    """Explain every row of a file by word removal.

    OUT.csv has the columns of the file, the prediction, the reason, and the words with the largest values. To continue a stopped command,
    run it again.
    """
    from sentviz.serving.corpus import output
    from sentviz.serving.corpus.engines import score_sources
    from sentviz.serving.corpus.inputs import survey_files
    from sentviz.serving.corpus.output import OutputOptions
    from sentviz.serving.corpus.summary import totals

    if not output.fits(out):
        raise OptionError("Reasons are written as one CSV file: name it with -o, for example -o reasons.csv.")
    answers = Source.of(of).answers()
    sources = survey_files(files_of(data), text=text, pair=pair, rows=ROWS)
    output.check(sources, out)
    remarks = announced((remark for source in sources for remark in source.format.remarks), say)
    scored = score_sources(
        answers,
        sources,
        output.parts_of(out),
        options=OutputOptions(reasons=True),
        progress=progress,
    )
    counts = totals(scored)
    left_out = _left_out(scored, counts)
    output.write(scored, sources, out)
    lines = (f"{counts.rows:,} rows with their reasons in {out}", *left_out)
    return Outcome(lines, {"out": str(out), "rows": counts.rows, "unread": counts.unread}, remarks)
