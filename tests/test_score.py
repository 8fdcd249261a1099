"""Files answered by a run, with reasons: any split into ranges, workers and interruption give the same bytes."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sentviz
from sentviz.analysis.maps.heads import CLS_MEASURES, MEASURES, Sums
from sentviz.analysis.testset.rows import RowsSource, predicted
from sentviz.analysis.testset.word_counts import count_words, counts_of_frame
from sentviz.api import Source, predict
from sentviz.errors import InputError, SentvizError
from sentviz.io.files import hold
from sentviz.runs.store import Run
from sentviz.serving.corpus import answers, engines
from sentviz.serving.corpus.answers import Scorer
from sentviz.serving.corpus.engines import score
from sentviz.serving.corpus.inputs import survey
from sentviz.serving.corpus.output import OutputOptions, Scored, ScoringJob, part_name, prepare
from sentviz.serving.corpus.summary import heads, totals, words
from tests.corpora import TEXTS, bytes_of, command, table
from tests.kit import refused

ALL = OutputOptions(vectors=True, attention=True, words=True)
LONG = "warm " * 700


def test_every_row_has_an_answer_or_a_remark(run: Run, tiny_model: sentviz.Model, files: Path, tmp_path: Path) -> None:
    scored = score(run, [files], tmp_path / "out.parquet", text="review", label="label", options=ALL, rows=20)
    about = [json.loads(pq.read_schema(part).metadata[b"sentviz"]) for part in scored.parts]
    assert [(entry["input"]["name"], entry["first"], entry["rows"]) for entry in about[:3]] == [
        ("a.csv", i, min(20, 45 - i)) for i in (0, 20, 40)
    ]
    assert {entry["digest"] for entry in about} == {run.digest}
    frame = table(scored.folder)
    assert frame.groupby("file").size().to_dict() == {"a.csv": 45, "b.tsv": 45, "deep/c.parquet": 45, "d.jsonl": 10} and scored.n == 145
    assert all(some["row"].tolist() == list(range(1, len(some) + 1)) for _, some in frame.groupby("file"))
    of_csv, odd = (frame[frame["file"] == name] for name in ("a.csv", "d.jsonl"))
    expected = tiny_model.calibrated(1.0).predict(TEXTS)
    assert of_csv["predicted"].tolist() == expected["label"].tolist() and of_csv["label"].tolist()[:3] == [0, 1, -1]
    shares = of_csv[["probability_negative", "probability_positive"]].to_numpy()
    np.testing.assert_allclose(shares, expected[list(tiny_model.labels)], atol=1e-6)
    pooled = tiny_model.forward(tiny_model.read(pd.DataFrame({"text": TEXTS})))[1]
    np.testing.assert_allclose(np.stack(of_csv["vector"].tolist()), pooled.astype(np.float16), atol=2e-3)
    np.testing.assert_allclose(of_csv["calibrated_positive"], tiny_model.predict(TEXTS)["positive"], atol=1e-6)
    assert odd["predicted"].isna().tolist() == [False] * 5 + [True] * 4 + [False]
    why = ["The line is not JSON.", *["The row has no column 'review'."] * 2, "The text must be a string, not int."]
    assert odd["remark"].tolist()[5:9] == why and totals(scored).unread == 4
    assert totals(scored).confusion.sum() == (frame["predicted"].notna() & (frame["label"] >= 0)).sum()


def test_a_stopped_output_goes_on(run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again = partial(score, run, [files / "a.csv"], text="review", options=ALL, rows=10)
    whole, out, answer, calls = again(tmp_path / "whole").folder, tmp_path / "out", Scorer.__call__, list[tuple[int, int]]()

    def ends(self: Scorer, task: tuple[int, int]) -> int:
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(task)
        return answer(self, task)

    monkeypatch.setattr(Scorer, "__call__", ends)
    with pytest.raises(KeyboardInterrupt):
        again(out)
    refused(InputError, r"lacks \d+ of its", Scored, out)
    (out / part_name((0, 0))).write_bytes(b"PAR1 no more")
    (out / ".abc.part").write_bytes(b"half")
    calls[:] = [(9, 9)] * 3
    reports: list[tuple[int, int]] = []
    again(out, progress=lambda done, total: reports.append((done, total)))
    assert reports[0] == (10, 45) and reports[-1] == (45, 45)
    assert (0, 0) in calls and calls.count((0, 1)) == 0 and bytes_of(out) == bytes_of(whole)


def test_what_cannot_be_scored_is_one_sentence(run: Run, files: Path, tmp_path: Path, tiny_runs: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "empty.csv").write_text("text,label\n")
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: score(run, [files], out, engine="magic"), "no engine 'magic'"),
        (lambda: score(run, [tmp_path / "empty.csv"], out), "no row to score"),
        (lambda: Scorer(ScoringJob(run, (), OutputOptions(), out), "0" * 12), "but the work began with"),
    ]
    for call, why in cases:
        refused(SentvizError, why, call)
    with hold(out), pytest.raises(InputError, match="Another process is writing"):
        score(run, [files], out)
    assert not out.exists()
    out, inputs, second_run = tmp_path / "out", [files / "a.csv"], Run.open(tiny_runs / "toy" / "vanilla-matched")
    score(run, inputs, out, rows=20)
    before = bytes_of(out)
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: score(second_run, inputs, out, rows=20), "another run"),
        (lambda: score(run, inputs, out, rows=20, options=OutputOptions(words=True)), "another choice of vectors"),
        (lambda: score(run, [files / "a.csv", files / "b.tsv"], out, rows=20), r"b\.tsv was not among the files"),
        (lambda: score(run, inputs, out, rows=21), r"a\.csv was different or read differently"),
        (lambda: score(run, inputs, files), "was not written by"),
        (lambda: heads(Scored(out)), "without --attention"),
        (lambda: words(Scored(out)), "without --words"),
        (lambda: Scored(files), "not an output"),
    ]
    for call, why in cases:
        refused(InputError, why, call)
    with (files / "a.csv").open("a") as file:
        file.write("45,a warm song,1\n")
    refused(InputError, r"a\.csv was different", score, run, inputs, out, rows=20)
    assert bytes_of(out) == before
    source = survey("a.csv", files / "a.csv")
    job = ScoringJob(run, (source,), OutputOptions(), tmp_path / "changed")
    prepare(job)
    (files / "a.csv").write_text("text\nshort\n")
    with pytest.raises(InputError, match="changed or removed"):
        Scorer(job, run.digest)((0, 0))


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


def test_workers_that_always_die_are_given_up_and_ray_loads_the_model_once(
    run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_scorer", None)
    job = ScoringJob(run, (survey("a.csv", files / "a.csv", rows=20),), OutputOptions(), tmp_path / "out")
    prepare(job)
    assert engines._score_on_ray(job, run.digest, (0, 0)) == 20
    loaded = engines._scorer
    assert engines._score_on_ray(job, run.digest, (0, 2)) == 5 and engines._scorer is loaded
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
    refused(SentvizError, "workers crash repeatedly", score, run, [files / "a.csv"], tmp_path / "crashed", workers=2)
    assert len(workers) == engines.MAX_CRASHES + 1


def test_a_full_disk_in_the_middle_of_a_part_loses_nothing(run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again, out = partial(score, run, [files / "a.csv"], text="review", options=ALL, rows=20), tmp_path / "out"
    whole, written = bytes_of(again(tmp_path / "whole").folder), list[Path]()

    def fills(table: pa.Table, part: Path, **settings: str) -> None:
        if len(written) == 2:
            part.write_bytes(b"PAR1 half a part")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        pq.write_table(table, part, **settings)
        written.append(part)

    with monkeypatch.context() as patch:
        patch.setattr(answers, "pq", SimpleNamespace(write_table=fills))
        refused(SentvizError, r"^There is no space left in .*out\. Incomplete files were removed\.$", again, out)
    stored = {name: data for name, data in bytes_of(out).items() if name.startswith("part-")}
    assert len(stored) == 2 and stored.items() <= whole.items() and not any(name.endswith(".part") for name in bytes_of(out))
    again(out)
    assert bytes_of(out) == whole


def test_words_and_sums_of_an_output_are_those_of_its_rows(run: Run, tiny_model: sentviz.Model, files: Path, tmp_path: Path) -> None:
    for label in ["", "label"]:
        scored = score(run, [files / "a.csv"], tmp_path / f"out{label}", label=label, options=OutputOptions(words=True), rows=7)
        labels = [0, 1, -1] * 15 if label else [-1] * 45
        frame = pd.DataFrame({"id": [str(i) for i in range(45)], "text": TEXTS, "label": labels})
        rows = predicted(tiny_model, RowsSource(tiny_model.name, run.digest), frame, "mine")
        of_output, of_rows, order = words(scored), count_words(rows), ["word", "label", "predicted"]
        assert of_output.cells == of_rows.cells and of_output.least == of_rows.least == 2 and (of_output.sizes == of_rows.sizes).all()
        got, want = (each.frame.sort_values(order).reset_index(drop=True) for each in (of_output, of_rows))
        pd.testing.assert_frame_equal(got, want, check_dtype=False)
        again = counts_of_frame(of_rows.frame, rows, of_rows.least)
        assert again.words == tuple(sorted(of_rows.words)) and (again.sizes == of_rows.sizes).all()
    rng = np.random.default_rng(0)
    each = rng.normal(3, 1, (50, 2, 3, len(MEASURES) + len(CLS_MEASURES)))
    each[rng.random(each.shape) < 0.1] = np.nan
    whole = Sums.of(each)
    for _ in range(5):
        parts = [Sums.of(part) for part in np.split(each[rng.permutation(50)], np.sort(rng.integers(0, 51, 4))) if len(part)]
        added = sum(parts[1:], parts[0])
        assert (added.counts == whole.counts).all()
        np.testing.assert_allclose(added.total, whole.total, rtol=1e-12)
        np.testing.assert_allclose(added.squares, whole.squares, rtol=1e-12)
    row, values = whole.table(cls=True).set_index(["layer", "head", "measure"]).loc[(1, 2, "entropy")], each[:, 1, 2, 0]
    assert row[["value", "sd"]].tolist() == pytest.approx([np.nanmean(values), np.nanstd(values)])


def test_the_command_scores_and_the_usual_ones_read_it(run: Run, files: Path, tmp_path: Path) -> None:
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
    assert len(table(out)) == 45 and "--engine ray" in command(*arguments, "--address", "x").output


def written(tmp_path: Path, texts: list[str]) -> Path:
    path = tmp_path / "in.csv"
    pd.DataFrame({"number": np.arange(len(texts)) + 7, "review": texts}).to_csv(path, index=False)
    return path


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, keep_default_na=False)


def test_a_model_of_code_gives_reasons_and_what_does_not_go_together_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    (tmp_path / "of_mine.py").write_text("def predict(texts):\n    return [[0.9, 0.1] if 'dull' in t else [0.2, 0.8] for t in texts]\n")
    monkeypatch.chdir(tmp_path)
    path, out = written(tmp_path, ["a dull soup", "a warm soup"]), tmp_path / "out.csv"
    result = command("explain", "--model", "of_mine:predict", "--classes", "bad,good", "--data", path, "-o", out)
    assert result.exit_code == 0 and read(out)["word_1"].iloc[0] == "dull" and "“dull”" in read(out)["reason"].iloc[0], result.output
    written(tmp_path, TEXTS[:2])
    monkeypatch.chdir(tmp_path)
    for arguments, says in (
        (["--data", "in.csv"], "Missing option '-o'"),
        (["--data", "in.csv", "-o", "reasons.parquet"], "one CSV file"),
        (["a text", "--data", "in.csv", "-o", "reasons.csv"], "unexpected extra argument (a text)"),
        (["--data", "in.csv", "-o", "reasons.csv", "--edit"], "No such option '--edit'"),
        (["--data", "in.csv", "-o", "in.csv"], "one of the files"),
    ):
        result = command("explain", run.folder, *arguments)
        assert result.exit_code != 0 and says in result.output and "Traceback" not in result.output, result.output


def test_truncated_rows_are_marked_at_every_door(run: Run, tiny_model: sentviz.Model, tmp_path: Path) -> None:
    most = tiny_model.config.max_length
    texts, beyond = ["a warm song", LONG, "warm " * most], 700 - most
    says = f"The model reads {most:,} tokens at most; the last {beyond:,} tokens were not read."
    assert command("explain", run.folder, LONG).output.strip().endswith(says)
    answers = predict(Source(run.name, opened=(run, tiny_model)), tuple(texts)).json()["answers"]
    result = command("score", run.folder, written(tmp_path, texts), "-o", tmp_path / "scores.csv")
    scored = read(tmp_path / "scores.csv")
    for remarks in (tiny_model.predict(texts)["remark"].tolist(), [each["remark"] for each in answers], scored["remark"].tolist()):
        assert remarks == ["", says, ""]
    assert "1 rows are longer than the model reads" in result.output and scored["truncated"].tolist() == [0, beyond, 0]


@pytest.mark.exhaustive
def test_mistakes_are_written_the_most_confident_first(run: Run, tiny_model: sentviz.Model, tmp_path: Path) -> None:
    texts = [*TEXTS[:6], "=cold soup"]
    predicted, opposite = tiny_model.predict(texts), {"negative": "positive", "positive": "negative"}
    labels = [opposite[label] if place % 2 == 0 else label for place, label in enumerate(predicted["label"])]
    path, out = tmp_path / "labelled.csv", tmp_path / "mistakes.csv"
    pd.DataFrame({"review": texts, "label": labels}).to_csv(path, index=False)
    result = command("evaluate", run.folder, "--data", path, "-o", out)
    assert result.exit_code == 0 and "4 mistakes written" in result.output, result.output
    wrong = pd.DataFrame({"id": range(1, 8), "text": texts, "label": labels, "predicted": predicted["label"]}).iloc[::2]
    wrong = wrong.assign(probability=predicted[["negative", "positive"]].max(axis=1), text=wrong["text"].str.replace("=cold", "'=cold"))
    got = read(out)
    assert got["probability"].is_monotonic_decreasing
    pd.testing.assert_frame_equal(got.sort_values("id", ignore_index=True), wrong.reset_index(drop=True), atol=1e-5, check_dtype=False)
