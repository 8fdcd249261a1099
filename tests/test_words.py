"""Words: against plain loops over characters, Counters and the printed formulas; places without overlap; figures of hostile words."""

import math
import shutil
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentviz.analysis.testset import word_counts as lib
from sentviz.analysis.testset.predictions_file import predictions
from sentviz.analysis.testset.rows import Rows, RowsSource, stored
from sentviz.analysis.testset.slices import having
from sentviz.analysis.testset.word_counts import Counts, count_words, keyness, largest, read, stop_words, store
from sentviz.charts import cloud_layout
from sentviz.charts.cloud_layout import layout
from sentviz.charts.word_clouds import PANEL, cloud, word_bars
from sentviz.errors import InputError, RunError
from sentviz.runs.store import Run
from tests import kit
from tests.kit import refused

VOCABULARY = ["dull", "bright", "garden", "the", "not", "soup", "warm", "isn't", "cold", "영화", "아주", "ключ", "straße", "song"]
HOSTILE = [
    "<script>alert(1)</script>",
    "a" * 5_000,
    "👩‍👩‍👧‍👦",
    "مرحبا",
    "$x$",
    "&lt;b&gt;",
    "영화가",
    "%{customdata}",
    "e" + "\u0301" * 300,
]
SIGNS = ["👍", "👍🏽", "❤️", "🇰🇷", "🇩🇪", "👩‍🚀", "👩‍👩‍👧", "★", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"]


def random_rows(n: int = 60, classes: int = 2, seed: int = 0, labelled: bool = True) -> Rows:
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(VOCABULARY, rng.integers(0, 12))) for _ in range(n)]
    label = rng.integers(0, classes, n) if labelled else np.full(n, -1)
    predicted = rng.integers(0, classes, n)
    columns = {"id": [f"r{i}" for i in range(n)], "label": label, "predicted": predicted, "right": label == predicted, "text": texts}
    frame = pd.DataFrame(columns)
    return Rows(RowsSource("toy/run", "0" * 12), "test", tuple("abcde"[:classes]), frame)


def by_hand(text: str) -> Iterator[str]:
    """Return the words letter by letter, for texts without markup."""
    word, sign = "", ""
    for char in text.lower() + " ":
        if sign and "\u0300" <= char <= "\u036f":
            sign += char
            continue
        if sign:
            yield sign
            sign = ""
        if "\U0001f600" <= char <= "\U0001f64f":  # an emoji, and the accents after it
            sign, char = char, " "
        if unicodedata.category(char)[0] in "LNM" or char in "'’":
            word += "'" if char == "’" else char
            continue
        word = word.strip("'")
        if any(unicodedata.category(c)[0] in "LN" for c in word):
            yield word
        word = ""


def split_words(text: str) -> list[str]:
    words, ids, _ = lib.split_words([text])
    return [words[i] for i in ids]


def test_words_of_a_text_and_emoji_are_one_word_each() -> None:
    for text, words in [
        ("It’s DULL, isn't it? 'Quoted' ''twice''", ["it's", "dull", "isn't", "it", "quoted", "twice"]),
        ("One.<br /><br />Two<BR>three </i> 4 < 5 & a <3 b", ["one", "two", "three", "4", "5", "a", "3", "b"]),
        ("fish &amp; chips&#39; &quot;x", ["fish", "chips", "x"]),
        ("see https://example.org/a-b?c=d and www.example.org now", ["see", "and", "now"]),
        ("영화가 정말 좋았다!! ㅋㅋㅋ", ["영화가", "정말", "좋았다", "ㅋㅋㅋ"]),
        ("naïve e\u0301tude हिन्दी مرحبا 10/10 snake_case #tag @you", None),
        ("<script>alert(1)</script>", ["alert", "1"]),
        ("❤️ 👩‍👩‍👧 ' '' !", ["❤️", "👩‍👩‍👧"]),
        ("", []),
    ]:
        assert split_words(text) == (list(by_hand(text)) if words is None else words)
    for sign in SIGNS:
        texts = [f"nice {sign} day", f"nice{sign}day", f"{sign}{sign}", "nice day", "👍🏿 ❤ 🇫🇷", f"{sign}😂"]
        words, ids, starts = lib.split_words(texts)
        by_text = [[words[i] for i in ids[start:end]] for start, end in pairwise(starts)]
        assert by_text == [*[["nice", sign, "day"]] * 2, [sign, sign], ["nice", "day"], ["👍🏿", "❤", "🇫🇷"], [sign, "😂"]]
        (rows,) = predictions(pd.DataFrame({"text": texts, "label": ["a", "b"] * 3, "predicted": ["a", "b"] * 3})).values()
        assert having(rows, sign).tolist() == [sign in words for words in by_text]


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet=st.characters(codec="ascii", exclude_characters="<&\0") | st.sampled_from("’éçаж영화ㅋ́🙂ا"), max_size=40))
def test_words_are_those_of_a_loop_over_characters(text: str) -> None:
    if "://" not in text and "www." not in text.lower():
        assert split_words(text) == list(by_hand(text))


def test_counts_are_those_of_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    for classes in [2, 3]:
        for least in [1, 4]:
            rows = random_rows(80, classes)
            rows.frame.loc[[3, 4], "label"] = -1
            counts = count_words(rows, least)
            every: dict[tuple[int, int], tuple[Counter[str], Counter[str]]] = {cell: (Counter(), Counter()) for cell in counts.cells}
            for row in rows.frame.to_dict("records"):
                if row["label"] >= 0:
                    words = list(by_hand(row["text"]))
                    times, once = every[row["label"], row["predicted"]]
                    times.update(words)
                    once.update(set(words))
            documents = sum((once for _, once in every.values()), Counter())
            assert set(counts.words) == {word for word, n in documents.items() if n >= least}
            for g, cell in enumerate(counts.cells):
                times, once = every[cell]
                assert counts.counts[g].tolist() == [times[word] for word in counts.words]
                assert counts.rows[g].tolist() == [once[word] for word in counts.words]
                known = (rows.labels == cell[0]) & (rows.predicted == cell[1])
                assert counts.sizes[g] == known.sum()
    rows, step = random_rows(80, 3), Mock()
    whole = count_words(rows, 1)
    monkeypatch.setattr(lib, "PART", 40)
    parts = count_words(rows, 1, most=len(whole.words), step=step)
    assert parts.words == whole.words and parts.cells == whole.cells and step.call_count > 5
    for name in ("counts", "rows", "sizes"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    for error, options in ((InputError, {"most": 5}), (LookupError, {"step": Mock(side_effect=LookupError)})):
        with pytest.raises(error):
            count_words(rows, 1, **options)


def test_keyness_is_the_printed_formula() -> None:
    for prior in [1.0, 500.0]:
        counts = count_words(random_rows(), 1)
        total = counts.counts.sum(axis=0)
        for g, cell in enumerate(counts.cells):
            frame = keyness(counts, cell, prior)
            n, other_total = int(counts.counts[g].sum()), int(total.sum() - counts.counts[g].sum())
            for v, row in enumerate(frame.to_dict("records")):
                y, other_count = int(counts.counts[g, v]), int(total[v] - counts.counts[g, v])
                a = prior * int(total[v]) / int(total.sum())
                delta = math.log((y + a) / (n + prior - y - a)) - math.log((other_count + a) / (other_total + prior - other_count - a))
                sd = math.sqrt(1 / (y + a) + 1 / (other_count + a))
                assert row["value"] == pytest.approx(delta) and row["z"] == pytest.approx(delta / sd)
                assert [row["low"], row["high"]] == pytest.approx([delta - 1.959964 * sd, delta + 1.959964 * sd])
                p, z2 = y / n, 1.959964**2
                middle, half = (p + z2 / (2 * n)) / (1 + z2 / n), math.sqrt(z2 * p * (1 - p) / n + z2**2 / (4 * n**2)) / (1 + z2 / n)
                assert [row["share_low"], row["share_high"]] == pytest.approx([max(middle - half, 0), min(middle + half, 1)], abs=1e-7)
                assert row["rest"] == pytest.approx(other_count / other_total)
    counts = Counts(("soup",), ((0, 0), (0, 1)), np.array([[4], [9]]), np.ones((2, 1), int), np.array([4, 9]), 1)
    assert keyness(counts, (0, 0))["z"].tolist() == [0.0]
    counts = count_words(random_rows(), 1)
    of_rows = replace(counts, counts=counts.rows)
    for cell in counts.cells:
        once, bare = keyness(counts, cell, once=True), keyness(of_rows, cell)
        pd.testing.assert_frame_equal(once[["value", "low", "high", "z", "sure"]], bare[["value", "low", "high", "z", "sure"]])
        pd.testing.assert_series_equal(once["share"], keyness(counts, cell)["share"])
    crowded = Counts(("name", "most"), ((0, 0), (0, 1)), np.array([[80, 900], [1, 900]]), np.array([[1, 300]] * 2), np.array([9, 9]), 1)
    assert keyness(crowded, (0, 0))["z"][0] > 5 > 1 > abs(keyness(crowded, (0, 0), once=True)["z"][0])
    assert largest(keyness(crowded, (0, 0)), "keyness", 9)["word"].tolist() == ["name"]
    assert largest(keyness(crowded, (0, 0)), "count", 2, frozenset({"name"}))["word"].tolist() == ["most"]
    counts, rows = count_words(random_rows(), 1), random_rows()
    rows.frame[["label", "predicted"]] = 0
    for ask, message in (
        (lambda: keyness(counts, (7, 7)), "no cell in row 8, column 8"),
        (lambda: keyness(counts, (0, 0), 0), "prior"),
        (lambda: keyness(count_words(rows), (0, 0)), "any other rows"),
        (lambda: keyness(count_words(rows), (1, 0)), "these rows"),
        (lambda: largest(keyness(counts, (0, 0)), "size", 3), "not by 'size'"),
        (lambda: stop_words(["xx"]), "no list of stop words for 'xx'"),
    ):
        refused(InputError, message, ask)
    every = stop_words()
    assert {"the", "it's", "그리고"} <= every and every.isdisjoint({"not", "no", "never", "n't", "but", "very", "isn't", "안", "너무"})


def test_no_two_boxes_of_a_cloud_overlap_and_hostile_words_are_text() -> None:
    for weights in [[3.0] * 12, [1000.0, 30.0, *range(10, 0, -1)]]:
        sizes = dict(zip(VOCABULARY, weights, strict=False))
        placed = layout(sizes, *PANEL)
        boxes = [(r.x - r.width / 2, r.x + r.width / 2, r.y - r.height / 2, r.y + r.height / 2) for r in placed.itertuples()]
        assert len(placed) >= 0.8 * len(sizes)
        assert all(left >= -1 and low >= -1 and right <= PANEL[0] + 1 and top <= PANEL[1] + 1 for left, right, low, top in boxes)
        for first, second in combinations(boxes, 2):
            assert first[0] >= second[1] or second[0] >= first[1] or first[2] >= second[3] or second[2] >= first[3]
        largest = placed["size"][0] / math.sqrt(sizes[placed["word"][0]])
        assert placed["size"].tolist() == pytest.approx([max(cloud_layout.SMALLEST, largest * math.sqrt(sizes[w])) for w in placed["word"]])
        pd.testing.assert_frame_equal(placed, layout(sizes, *PANEL))
        assert not placed[["x", "y"]].equals(layout(sizes, *PANEL, seed=7)[["x", "y"]])
    assert layout({}, *PANEL).empty
    odd = layout(dict.fromkeys(HOSTILE, 1.0), *PANEL)
    assert set(odd["word"]) == set(HOSTILE) and (odd["width"] <= PANEL[0]).all()
    for weight, room in ((0.0, PANEL), (math.nan, PANEL), (1.0, (10, 300))):
        refused(InputError, r"numbers greater than 0|40 by 40", layout, {"a": weight}, *room)
    frame = drawn(HOSTILE)
    refused(InputError, "no cloud", cloud, frame, [])
    refused(InputError, "No word", word_bars, frame.head(0), title="here")
    for figure in (cloud(frame, ["<b>x</b>"]), word_bars(frame, title="<b>x</b>")):
        assert set(figure.frame["word"]) == set(HOSTILE)
        texts = [note.text for note in figure.plot.layout.annotations]
        texts += [str(row[0]) for trace in figure.plot.data for row in (trace.customdata if trace.customdata is not None else ())]
        assert texts and not any("<" in text.replace("<br>", "") or "$x" in text for text in texts)


def drawn(words: list[str]) -> pd.DataFrame:
    """Return words with places and made-up numbers, in one cloud."""
    places = layout({word: 9.0 - 0.1 * i for i, word in enumerate(words)}, *PANEL)
    numbers = {"count": 5, "rows": 4, "share": 0.01, "share_low": 0.005, "share_high": 0.02, "rest": 0.001}
    return places.assign(
        cell=0, **numbers, value=1.5, low=0.5, high=2.5, z=np.linspace(9, 2, len(places)), sure=[True] + [False] * (len(places) - 1)
    )


def test_stored_words_are_those_counted_and_damage_is_named(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    texts = kit.use_toy_data(monkeypatch)["test"].frame
    folder = tmp_path / "toy" / "run"
    shutil.copytree(tiny_run, folder)
    before = Run.open(folder)
    after = store(before)
    assert after.digest != before.digest
    assert {name: digest for name, digest in after.config["files"].items() if name != lib.FILE} == before.config["files"]
    rows = stored(after)
    full = count_words(rows.with_text(texts), lib.LEAST)
    read_again = read(after, rows)
    assert sorted(read_again.words) == sorted(full.words) and read_again.sizes.tolist() == full.sizes.tolist()
    frame = after.frame(lib.FILE)
    assert frame.groupby("word")["rows"].sum().min() >= lib.LEAST and not frame["word"].str.contains(" ").any()
    for cell in full.cells:
        if full.sizes[full.cells.index(cell)]:
            full_table, stored_table = (keyness(c, cell).sort_values("word", ignore_index=True) for c in (full, read_again))
            pd.testing.assert_frame_equal(full_table, stored_table)
    (folder / "notes.txt").write_text("mine")
    refused(RunError, r"notes\.txt", store, Run.open(folder))
    frame = pd.DataFrame({"word": ["dull", "soup"], "label": [0, 1], "predicted": [0, 1], "count": [7.0, 8.0], "rows": [6, 6]})
    rows = stored(run)
    damages = frame.drop(columns="rows"), frame.assign(count=[-1, 8]), frame.assign(label=[2, 1]), frame.assign(count=[np.nan, 8])
    for damaged in damages:
        monkeypatch.setattr(Run, "frame", lambda self, file, damaged=damaged: damaged)
        refused(RunError, r"words.parquet is damaged", read, run, rows)
