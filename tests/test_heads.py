"""Habits of heads over many texts: against one text at a time by loops, and against sentviz.analysis.maps.layers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sentviz.analysis.maps.heads import CLS_MEASURES, MEASURES, of_trace, over_rows, over_split
from sentviz.analysis.maps.layers import head_patterns
from sentviz.errors import InputError
from tests.kit import small_model, toy_splits

TEXTS = toy_splits()["test"].frame["text"].tolist()[:9]
FORMS = {
    "ndt": {"components": 2, "mixing": "free"},
    "diff": {"components": 2, "mixing": "differential", "head_norm": True},
    "cls": {"pooling": "cls"},
}


def by_loops(maps: np.ndarray, specials: np.ndarray, cls: bool) -> dict[str, float]:
    """Return every measure of an (n, n) map from its definition."""
    n = len(maps)
    sums = dict.fromkeys(MEASURES, 0.0)
    for i in range(n):
        row = np.abs(maps[i]) / np.abs(maps[i]).sum()
        sums["entropy"] += -sum(p * np.log(p) for p in row if p > 0) / np.log(n) / n
        sums["previous"] += (row[i - 1] if i > 0 else 0) / n
        sums["next"] += (row[i + 1] if i + 1 < n else 0) / n
        sums["same"] += row[i] / n
        sums["specials"] += row[specials].sum() / n
        sums["first"] += row[0] / n
    if cls:
        sums["from_cls"], sums["to_cls"] = float(np.std(maps[0, 1:])), float(np.std(maps[1:, 0]))
    return sums


@pytest.mark.parametrize("form", FORMS)
def test_the_mean_over_texts_is_that_of_the_texts_one_by_one(form: str) -> None:
    """Means, deviations and intervals of padded batches equal loops over traces of single texts."""
    model = small_model(cls=form == "cls", **FORMS[form])
    got = over_split(model, pd.DataFrame({"text": TEXTS}))
    rows = []
    for text in TEXTS:
        trace = model.trace(text)
        for layer in range(2):
            each = [by_loops(trace.attention[layer, head].astype(float), trace.specials, form == "cls") for head in trace.head_ids]
            mean = {name: float(np.mean([values[name] for values in each])) for name in each[0]}
            for head, values in [*enumerate(each), (-1, mean)]:
                rows += [(layer, head, name, value) for name, value in values.items()]
    want = pd.DataFrame(rows, columns=["layer", "head", "measure", "value"]).groupby(["layer", "head", "measure"])["value"]
    for row in got.itertuples():
        values = want.get_group((row.layer, row.head, row.measure))
        assert row.value == pytest.approx(values.mean(), abs=1e-5)
        assert row.sd == pytest.approx(values.std(ddof=0), abs=1e-5)
        assert row.high - row.value == pytest.approx(1.96 * values.std(ddof=0) / 3, abs=1e-5)
        assert row.n == 9
    assert set(got["measure"]) == {*MEASURES, *(CLS_MEASURES if form == "cls" else ())}


def test_one_sentence_is_the_mean_of_one_text() -> None:
    """A trace's table equals the streamed one, and `sentviz.analysis.maps.layers` for the measures that both have."""
    model = small_model(components=2, mixing="free")
    trace = model.trace(TEXTS[0])
    own, streamed = of_trace(trace), over_split(model, pd.DataFrame({"text": TEXTS[:1]}))
    pd.testing.assert_frame_equal(own, streamed[["layer", "head", "measure", "value"]], atol=1e-5, check_dtype=False)
    wide = own[own["head"] >= 0].pivot(index=["layer", "head"], columns="measure", values="value").reset_index()
    shared = ["layer", "head", "entropy", "previous", "next", "same", "first"]
    pd.testing.assert_frame_equal(wide[shared], head_patterns(trace)[shared], check_names=False, atol=1e-6)


def test_batches_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model(pooling="cls", cls=True)
    whole = over_split(model, pd.DataFrame({"text": TEXTS}))
    monkeypatch.setattr("sentviz.analysis.maps.heads.WEIGHTS_PER_BATCH", 1)
    seen: list[tuple[int, int]] = []
    rows = model.read(pd.DataFrame({"text": TEXTS}))
    pd.testing.assert_frame_equal(over_rows(model, rows, lambda done, total: seen.append((done, total))), whole, atol=1e-6)
    assert seen == [(i + 1, 9) for i in range(9)]


def test_what_has_no_measures_is_refused() -> None:
    """A trace of selected layers, heads or queries, one without maps, and no text."""
    model = small_model()
    for part in ({"layers": [1]}, {"heads": [1]}, {"queries": [1, 2]}):
        with pytest.raises(InputError, match="Head measures need a complete trace"):
            of_trace(model.trace(TEXTS[0], **part))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no text"):
        over_rows(model, [])
    with pytest.raises(InputError, match="without attention maps"):
        of_trace(model.trace(TEXTS[0], maps=False))
