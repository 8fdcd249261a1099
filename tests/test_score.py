"""Files answered by a run: any kind of file, any split into ranges, any number of workers, any interruption give the same bytes."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sentviz
from sentviz.analysis.maps.heads import CLS_MEASURES, MEASURES, Sums, over_rows
from sentviz.analysis.testset.rows import RowsSource, predicted
from sentviz.analysis.testset.word_counts import count_words, counts_of_frame
from sentviz.errors import InputError, SentvizError
from sentviz.runs.store import Run
from sentviz.serving.corpus import answers, engines
from sentviz.serving.corpus.answers import Scorer
from sentviz.serving.corpus.engines import score
from sentviz.serving.corpus.inputs import survey
from sentviz.serving.corpus.output import OutputOptions, Scored, ScoringJob, part_name, prepare
from sentviz.serving.corpus.summary import heads, totals, words
from tests.corpora import TEXTS, bytes_of, command, table
from tests.kit import no_room

ALL = OutputOptions(vectors=True, attention=True, words=True)


# ---- scoring


@pytest.mark.exhaustive
def test_every_row_has_an_answer_or_a_remark(run: Run, tiny_model: sentviz.Model, files: Path, tmp_path: Path) -> None:
    """Scores equal `Model.predict`, and vectors the pooled ones of `Model.forward`; file and row identify the input."""
    scored = score(run, [files], tmp_path / "out.parquet", text="review", label="label", options=ALL, rows=20)
    frame = table(scored.folder)
    assert frame.groupby("file").size().to_dict() == {"a.csv": 45, "b.tsv": 45, "deep/c.parquet": 45, "d.jsonl": 10} and scored.n == 145
    for _, some in frame.groupby("file"):
        assert some["row"].tolist() == list(range(1, len(some) + 1))
    of_csv = frame[frame["file"] == "a.csv"]
    expected = tiny_model.calibrated(1.0).predict(TEXTS)
    assert of_csv["predicted"].tolist() == expected["label"].tolist()
    shares = of_csv[["probability_negative", "probability_positive"]].to_numpy()
    np.testing.assert_allclose(shares, expected[list(tiny_model.labels)], atol=1e-6)
    logits, pooled = tiny_model.forward(tiny_model.read(pd.DataFrame({"text": TEXTS})))
    np.testing.assert_allclose(np.stack(of_csv["vector"].tolist()), pooled.astype(np.float16), atol=2e-3)
    hot = np.exp(logits / tiny_model.calibration)
    np.testing.assert_allclose(of_csv["calibrated_positive"], (hot / hot.sum(axis=1, keepdims=True))[:, 1], atol=1e-6)
    np.testing.assert_allclose(of_csv["calibrated_positive"], tiny_model.predict(TEXTS)["positive"], atol=1e-6)
    assert of_csv["label"].tolist()[:3] == [0, 1, -1]
    odd = frame[frame["file"] == "d.jsonl"]
    assert odd["predicted"].isna().tolist() == [False] * 5 + [True] * 4 + [False]
    remarks = odd["remark"].tolist()
    assert remarks[5:9] == ["The line is not JSON.", *["The row has no column 'review'."] * 2, "The text must be a string, not int."]
    assert totals(scored).unread == 4 and totals(scored).confusion.sum() == (frame["predicted"].notna() & (frame["label"] >= 0)).sum()


def test_parts_say_what_they_are_of(run: Run, files: Path, tmp_path: Path) -> None:
    """Run, version, file and rows; the parts are one data set."""
    scored = score(run, [files / "a.csv"], tmp_path / "out", rows=20)
    about = [json.loads(pq.read_schema(part).metadata[b"sentviz"]) for part in scored.parts]
    assert [(entry["first"], entry["rows"]) for entry in about] == [(0, 20), (20, 20), (40, 5)]
    assert {(entry["digest"], entry["input"]["name"]) for entry in about} == {(run.digest, "a.csv")}
    assert pq.read_table(scored.folder).num_rows == 45


@pytest.mark.exhaustive
def test_a_stopped_output_goes_on(run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After two parts, a half-written and a damaged one, only missing parts are scored, and all bytes equal an uninterrupted output."""
    whole = score(run, [files], tmp_path / "whole", text="review", options=ALL, rows=20).folder
    answer = Scorer.__call__
    calls: list[tuple[int, int]] = []

    def ends(self: Scorer, task: tuple[int, int]) -> int:
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(task)
        return answer(self, task)

    monkeypatch.setattr(Scorer, "__call__", ends)
    with pytest.raises(KeyboardInterrupt):
        score(run, [files], tmp_path / "out", text="review", options=ALL, rows=20)
    with pytest.raises(InputError, match=r"lacks \d+ of its"):
        Scored(tmp_path / "out")
    (tmp_path / "out" / part_name((0, 0))).write_bytes(b"PAR1 no more")
    (tmp_path / "out" / ".abc.part").write_bytes(b"half")
    calls[:] = [(9, 9)] * 3
    reports: list[tuple[int, int]] = []
    score(run, [files], tmp_path / "out", text="review", options=ALL, rows=20, progress=lambda done, total: reports.append((done, total)))
    assert reports[0] == (20, 145) and reports[-1] == (145, 145)
    assert (0, 0) in calls and calls.count((0, 1)) == 0 and bytes_of(tmp_path / "out") == bytes_of(whole)


def test_an_output_of_anything_else_is_refused(run: Run, tiny_runs: Path, files: Path, tmp_path: Path) -> None:
    """An output of another run, options, files or ranges, and a foreign folder, are refused in one sentence and left unchanged."""
    out, inputs = tmp_path / "out", [files / "a.csv"]
    score(run, inputs, out, rows=20)
    before = bytes_of(out)
    second_run = next(
        Run.open(path.parent) for path in sorted(tiny_runs.rglob("config.json")) if Run.open(path.parent).digest != run.digest
    )
    with pytest.raises(InputError, match="another run"):
        score(second_run, inputs, out, rows=20)
    with pytest.raises(InputError, match="another choice of vectors"):
        score(run, inputs, out, rows=20, options=OutputOptions(words=True))
    with pytest.raises(InputError, match=r"b\.tsv was not among the files"):
        score(run, [files / "a.csv", files / "b.tsv"], out, rows=20)
    with pytest.raises(InputError, match=r"a\.csv was different or read differently"):
        score(run, inputs, out, rows=21)
    with pytest.raises(InputError, match="was not written by"):
        score(run, inputs, files)
    with (files / "a.csv").open("a") as file:
        file.write("45,a warm song,1\n")
    with pytest.raises(InputError, match=r"a\.csv was different"):
        score(run, inputs, out, rows=20)
    assert bytes_of(out) == before


def test_a_file_that_changes_meanwhile_is_told(run: Run, files: Path, tmp_path: Path) -> None:
    source = survey("a.csv", files / "a.csv")
    job = ScoringJob(run, (source,), OutputOptions(), tmp_path / "out")
    prepare(job)
    (files / "a.csv").write_text("text\nshort\n")
    with pytest.raises(InputError, match="changed or removed"):
        Scorer(job, run.digest)((0, 0))


@pytest.mark.parametrize("name", ["run", "engine", "empty", "twice"])
def test_what_cannot_be_scored_is_one_sentence(name: str, run: Run, files: Path, tmp_path: Path) -> None:
    """Attention of a run without it, an unknown engine, files without a row and a locked output give one sentence."""
    from sentviz.io.files import hold

    (tmp_path / "empty.csv").write_text("text,label\n")
    if name == "engine":
        with pytest.raises(InputError, match="no engine 'magic'"):
            score(run, [files], tmp_path / "out", engine="magic")
    elif name == "empty":
        with pytest.raises(InputError, match="no row to score"):
            score(run, [tmp_path / "empty.csv"], tmp_path / "out")
    elif name == "run":
        with pytest.raises(sentviz.RunError, match="but the work began with"):
            Scorer(ScoringJob(run, (), OutputOptions(), tmp_path / "out"), "0" * 12)
    else:
        with hold(tmp_path / "out"), pytest.raises(InputError, match="Another process is writing"):
            score(run, [files], tmp_path / "out")
    assert not (tmp_path / "out").exists()


# ---- workers


def children(pid: int) -> list[int]:
    """Return the child processes that have loaded torch, which are the workers."""
    pids = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == pid and "libtorch" in (folder / "maps").read_text():
                    pids.append(int(folder.name))
            except (OSError, ValueError, IndexError):
                continue
    return pids


@pytest.mark.exhaustive
def test_two_processes_write_what_one_writes_though_one_is_killed(run: Run, files: Path, tmp_path: Path) -> None:
    """After `kill -9` of a worker another one computes its range, and all bytes equal those of one process."""
    whole = score(run, [files], tmp_path / "whole", text="review", options=ALL, rows=5).folder
    out = tmp_path / "out"
    command = [sys.executable, "-m", "sentviz", "score", str(run.folder), str(files), "-o", str(out), "--text", "review", "--rows", "5"]
    work = subprocess.Popen([*command, "--vectors", "--attention", "--words", "--workers", "2"], stdout=subprocess.PIPE, text=True)
    killed = 0
    while work.poll() is None and not killed:
        if any(out.glob("part-*")) and (workers := children(work.pid)):
            os.kill(workers[0], signal.SIGKILL)
            killed = workers[0]
        time.sleep(0.002)
    output, _ = work.communicate(timeout=240)
    assert work.returncode == 0 and "145 rows in 29 parts" in output and killed
    assert bytes_of(out) == bytes_of(whole)


def test_workers_that_always_die_are_given_up(run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool that breaks at once is tried four times."""
    workers = []

    class Breaks:
        def __init__(self, *_: object, **__: object) -> None:
            workers.append(self)

        def submit(self, *_: object) -> Future[int]:
            future: Future[int] = Future()
            future.set_exception(BrokenProcessPool())
            return future

        def shutdown(self, **_: object) -> None:
            return None

    monkeypatch.setattr(engines, "ProcessPoolExecutor", Breaks)
    with pytest.raises(SentvizError, match="workers crash repeatedly"):
        score(run, [files / "a.csv"], tmp_path / "out", workers=2)
    assert len(workers) == engines.MAX_CRASHES + 1


def test_a_process_of_ray_loads_the_model_once(run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function that Ray calls works without Ray."""
    monkeypatch.setattr(engines, "_scorer", None)
    job = ScoringJob(run, (survey("a.csv", files / "a.csv", rows=20),), OutputOptions(), tmp_path / "out")
    prepare(job)
    assert engines._score_on_ray(job, run.digest, (0, 0)) == 20
    loaded = engines._scorer
    assert engines._score_on_ray(job, run.digest, (0, 2)) == 5 and engines._scorer is loaded


@pytest.mark.parametrize("options", [OutputOptions(), ALL], ids=["plain", "all"])
def test_a_full_disk_in_the_middle_of_a_part_loses_nothing(
    options: OutputOptions, run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, no half part, the parts before it stay, and the same call completes with the bytes of an uninterrupted one."""
    whole = score(run, [files / "a.csv"], tmp_path / "whole", text="review", options=options, rows=20).folder
    written: list[Path] = []

    def fills(table: pa.Table, part: Path, **settings: str) -> None:
        if len(written) == 2:
            part.write_bytes(b"PAR1 half a part")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        pq.write_table(table, part, **settings)
        written.append(part)

    with monkeypatch.context() as patch:
        patch.setattr(answers, "pq", SimpleNamespace(write_table=fills))
        with pytest.raises(SentvizError, match=r"^There is no space left in .*out\. Incomplete files were removed\.$"):
            score(run, [files / "a.csv"], tmp_path / "out", text="review", options=options, rows=20)
    stored = bytes_of(tmp_path / "out")
    parts = [name for name in stored if name.startswith("part-")]
    assert len(parts) == 2 and {name: stored[name] for name in parts} == {name: bytes_of(whole)[name] for name in parts}
    assert not any(name.endswith(".part") for name in stored)
    score(run, [files / "a.csv"], tmp_path / "out", text="review", options=options, rows=20)
    assert bytes_of(tmp_path / "out") == bytes_of(whole)


@pytest.mark.exhaustive
def test_a_full_disk_of_two_processes_is_one_sentence(run: Run, files: Path, tmp_path: Path) -> None:
    """A worker's disk error reaches the command, and with room again the same call completes."""
    whole = score(run, [files / "a.csv"], tmp_path / "whole", text="review", options=ALL, rows=20).folder
    with no_room(max(path.stat().st_size for path in whole.glob("part-*")) - 1), pytest.raises(SentvizError, match="cannot be written: "):
        score(run, [files / "a.csv"], tmp_path / "out", text="review", options=ALL, rows=20, workers=2)
    assert not list((tmp_path / "out").rglob(".*.part"))
    score(run, [files / "a.csv"], tmp_path / "out", text="review", options=ALL, rows=20, workers=2)
    assert bytes_of(tmp_path / "out") == bytes_of(whole)


needs_ray = pytest.mark.skipif(
    find_spec("ray") is None or not os.environ.get("SENTVIZ_TEST_RAY"), reason="Ray takes a minute to start: SENTVIZ_TEST_RAY=1 tries it"
)


@pytest.mark.slow
@needs_ray
def test_ray_writes_what_one_process_writes(run: Run, files: Path, tmp_path: Path) -> None:
    """Two Ray actors write the bytes that one process writes."""
    whole = score(run, [files], tmp_path / "whole", text="review", options=ALL, rows=20).folder
    command = [sys.executable, "-m", "sentviz", "score", str(run.folder), str(files), "-o", str(tmp_path / "out"), "--text", "review"]
    command += ["--rows", "20", "--vectors", "--attention", "--words", "--engine", "ray", "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert bytes_of(tmp_path / "out") == bytes_of(whole)


@pytest.mark.slow
@needs_ray
@pytest.mark.filterwarnings("ignore")  # Ray itself warns.
@pytest.mark.parametrize("lost", ["process", "machine", "file"])
def test_what_ray_loses_is_scored_again(lost: str, run: Run, files: Path, tmp_path: Path) -> None:
    """A killed process and a lost machine change no byte. The error of a worker is one sentence, and the next call completes."""
    from ray.cluster_utils import Cluster

    whole = score(run, [files], tmp_path / "whole", text="review", options=ALL, rows=5).folder
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    machines = [cluster.add_node(num_cpus=1) for _ in range(2)]
    goes = [True]

    def loses(done: int, total: int) -> None:
        if not done or not goes:
            return
        goes.clear()
        if lost == "machine":
            cluster.remove_node(machines.pop(), allow_graceful=False)
        elif lost == "process":
            raylets = [machine.all_processes["raylet"][0].process.pid for machine in machines]
            os.kill(next(worker for raylet in raylets for worker in children(raylet)), signal.SIGKILL)
        else:
            (files / "d.jsonl").rename(tmp_path / "aside")

    call = partial(score, run, [files], tmp_path / "out", text="review", options=ALL, rows=5, workers=2)
    try:
        with pytest.raises(InputError, match=r"^d\.jsonl was changed or removed") if lost == "file" else nullcontext():
            call(engine="ray", address=cluster.address, progress=loses)
    finally:
        cluster.shutdown()
    assert not goes
    if lost == "file":
        (tmp_path / "aside").rename(files / "d.jsonl")
        call()
    assert bytes_of(tmp_path / "out") == bytes_of(whole)


# ---- corpora


def test_sums_of_parts_are_those_of_the_whole() -> None:
    """Any split of rows, with NaN, gives the same counts exactly, and means and deviations to rounding."""
    rng = np.random.default_rng(0)
    each = rng.normal(3, 1, (50, 2, 3, len(MEASURES) + len(CLS_MEASURES)))
    each[rng.random(each.shape) < 0.1] = np.nan
    whole = Sums.of(each)
    for _ in range(20):
        cuts = np.sort(rng.integers(0, 51, 4))
        parts = [Sums.of(part) for part in np.split(each[rng.permutation(50)], cuts) if len(part)]
        added = sum(parts[1:], parts[0])
        assert (added.counts == whole.counts).all()
        np.testing.assert_allclose(added.total, whole.total, rtol=1e-12)
        np.testing.assert_allclose(added.squares, whole.squares, rtol=1e-12)
    frame = whole.table(cls=True).set_index(["layer", "head", "measure"])
    values = each[:, 1, 2, 0]
    assert frame.loc[(1, 2, "entropy"), "value"] == pytest.approx(np.nanmean(values)) and frame.loc[
        (1, 2, "entropy"), "sd"
    ] == pytest.approx(np.nanstd(values))


def test_heads_of_an_output_are_those_of_its_texts(run: Run, tiny_model: sentviz.Model, files: Path, tmp_path: Path) -> None:
    """The table merged from ranges of seven rows equals one pass over all texts, in single precision."""
    scored = score(run, [files / "a.csv"], tmp_path / "out", options=ALL, rows=7)
    merged = heads(scored)
    expected = over_rows(tiny_model, tiny_model.read(pd.DataFrame({"text": TEXTS})))
    assert merged[["layer", "head", "measure", "n"]].equals(expected[["layer", "head", "measure", "n"]])
    np.testing.assert_allclose(merged[["value", "low", "high", "sd"]], expected[["value", "low", "high", "sd"]], atol=2e-6)


@pytest.mark.exhaustive
@pytest.mark.parametrize("label", ["", "label"])
def test_words_of_an_output_are_those_of_its_rows(label: str, run: Run, tiny_model: sentviz.Model, files: Path, tmp_path: Path) -> None:
    """The table merged from ranges of seven rows equals `count_words` over all rows; without labels by prediction."""
    scored = score(run, [files / "a.csv"], tmp_path / "out", label=label, options=ALL, rows=7)
    labels = [0, 1, -1] * 15 if label else [-1] * 45
    frame = pd.DataFrame({"id": [str(i) for i in range(45)], "text": TEXTS, "label": labels})
    rows = predicted(tiny_model, RowsSource(tiny_model.name, run.digest), frame, "mine")
    of_output, of_rows = words(scored), count_words(rows)
    assert of_output.cells == of_rows.cells and of_output.least == of_rows.least == 2
    assert (of_output.sizes == of_rows.sizes).all()
    order = ["word", "label", "predicted"]
    pd.testing.assert_frame_equal(
        of_output.frame.sort_values(order).reset_index(drop=True),
        of_rows.frame.sort_values(order).reset_index(drop=True),
        check_dtype=False,
    )
    again = counts_of_frame(of_rows.frame, rows, of_rows.least)
    assert again.words == tuple(sorted(of_rows.words)) and (again.sizes == of_rows.sizes).all()


def test_what_was_not_asked_is_not_there(run: Run, files: Path, tmp_path: Path) -> None:
    scored = score(run, [files / "a.csv"], tmp_path / "out")
    with pytest.raises(InputError, match="without --attention"):
        heads(scored)
    with pytest.raises(InputError, match="without --words"):
        words(scored)
    with pytest.raises(InputError, match="not an output"):
        Scored(files)


# ---- the command


def test_the_command_scores_and_the_usual_ones_read_it(run: Run, files: Path, tmp_path: Path) -> None:
    """The command shows progress and totals, a second call finds all done, and heads and words accept the output as a run."""
    out = tmp_path / "out.parquet"
    arguments = ("score", run.folder, files / "a.csv", "-o", out, "--label", "label", "--attention", "--words", "--rows", 20)
    first, again = command(*arguments), command(*arguments, "--partial")
    assert "Accuracy" not in first.output and "on the 30 of 45 rows with a label" in again.output
    assert first.exit_code == 0 and "45 rows in 3 parts" in first.output and "Only 30 of the 45 rows" in first.output, first.output
    assert "45 of them new" in first.output and "\n0 of them new" in again.output
    of_heads, of_words = command("heads", out), command("words", out)
    assert of_heads.exit_code == of_words.exit_code == 0, of_heads.output + of_words.output
    assert "45 texts of" in of_heads.output and len(pd.read_parquet(out / "_heads.parquet")) == len(heads(Scored(out)))
    assert "30 texts of" in of_words.output and len(pd.read_parquet(out / "_words.parquet"))
    assert len(table(out)) == 45


def test_mistakes_of_the_command_are_sentences(run: Run, files: Path, tmp_path: Path) -> None:
    """A wrong command ends with code 1 or 2 and one sentence, and writes nothing."""
    out = tmp_path / "out"
    for more, message in (
        ((files / "left.md",), "unsupported type"),
        ((files, "--text", "magic"), "no column 'magic'"),
        ((files, "--address", "x"), "--engine ray"),
    ):
        result = command("score", run.folder, *more, "-o", out)
        assert result.exit_code in (1, 2) and message in result.output and not out.exists()
