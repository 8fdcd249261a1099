"""The paper of docs/sixth_paper: a package of data files and one module of claims, which joins by its entry point."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sentviz.errors import InputError
from sentviz.papers.studies.claims import judged
from sentviz.papers.studies.tables import tables_of
from sentviz.runs.registry import Paper, find_paper
from sentviz.runs.store import Run, find
from tests.kit import ROOT, SHIPPED

FOLDER = Path(__file__).parents[1] / "docs" / "sixth_paper"
LIGHT = {"paper.toml", "page.md", "items.toml", "tables.toml", "claims.py", "measure.py", "__init__.py"}


@pytest.fixture
def debate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paper]:
    """The paper as the registry gives it, with its package installed by an entry point."""
    from sentviz.runs import registry

    (tmp_path / "attention_debate-1.0.dist-info").mkdir()
    (tmp_path / "attention_debate-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: attention-debate\nVersion: 1.0\n")
    points = "[sentviz.papers]\nattention-debate = attention_debate\n"
    (tmp_path / "attention_debate-1.0.dist-info" / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._registered.cache_clear()
    yield find_paper("attention-debate")
    registry._registered.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "attention_debate"]:
        del sys.modules[name]


def test_every_claim_is_judged_on_what_is_stored(debate: Paper) -> None:
    """Eight claims have verdicts on four models each, and the page has its parts and its table."""
    frame = judged([], ["attention-debate"])
    assert len(frame) == 8 == len(CASES) and not set(frame["verdict"]) & {"unjudged"} and {len(parts) for parts in frame["parts"]} == {4}
    assert [section.name for section in debate.page.sections] == ["orders", "weights"]
    agreement, weights = (tables_of(debate)[name]([], "all").frame for name in ("agreement", "weights"))
    assert len(agreement) == 4 * 6 and len(weights) == 4 and set(agreement["n"]) == set(weights["n"]) == {300}
    assert {path.name for path in debate.folder.iterdir() if path.is_file()} == LIGHT


def rows(**values: Any) -> pd.DataFrame:
    """Made-up measurements: 20 sentences of each model, with the same values or those of a list in turn."""
    from attention_debate.claims import MODELS

    each = {"row": range(20)} | {key: np.resize(np.asarray(value, dtype=object), 20) for key, value in values.items()}
    return pd.concat(pd.DataFrame({"run": name} | each) for name in MODELS).infer_objects()


def pairs(taus: dict[tuple[str, str], list[float]], **values: Any) -> pd.DataFrame:
    """Made-up agreement: the τ of each pair of explanations, in turn over the sentences; 0.1 and 0.12 for pairs that are not named."""
    from attention_debate.claims import WORDS

    every = {pair: [0.1, 0.12] for pair in combinations(WORDS, 2)} | taus
    return pd.concat(rows(first=first, second=second, tau=tau, **values) for (first, second), tau in every.items())


def changes(change: str, **values: Any) -> pd.DataFrame:
    return rows(change=change, **({"distance": 0.01, "right": 1, "was right": 1, "other": 1} | values))


ATTENTION, REMOVAL, OTHERS = ("attention", "gradient"), ("attention", "removal"), ("removal", "gradient")
CASES: dict[str, tuple[Callable[[Any], pd.DataFrame], tuple[Any, ...]]] = {  # numbers for which it holds, fails (None: never) and is open
    "weak-gradients": (lambda tau: pairs({ATTENTION: tau}), ([0.2, 0.3], [0.7, 0.8], [0.4, 0.6])),
    "weak-removal": (lambda tau: pairs({REMOVAL: tau}), ([0.2, 0.3], [0.7, 0.8], [0.4, 0.6])),
    "others-agree": (lambda tau: pairs({OTHERS: tau}), ([0.5, 0.6], [-0.5, -0.6], [0.6, -0.38])),
    "none-agrees": (lambda tau: pairs({OTHERS: tau}), ([0.1, 0.12], [0.7, 0.8], [0.45, 0.55])),
    "top-word": (lambda top: pairs({}, top=top[0], chance=top[1]), (([1, 1, 0], 0.1), ([0] * 19 + [1], 0.3), ([0] * 9 + [1], 0.1))),
    "permuted": (lambda distance: changes("permuted", distance=distance), (0.01, 0.2, [0.01, 0.2])),
    "other-attention": (lambda share: changes("permuted", other=share), (1, 0, [0, 1])),
    "equal": (lambda right: changes("equal everywhere", right=right), (1, None, [0, 1])),
}


@pytest.mark.parametrize("name", CASES)
def test_a_claim_holds_fails_and_stays_open(debate: Paper, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Each claim in its directions, on made-up measurements. A fall of accuracy with equal weights never refutes its claim."""
    from attention_debate import claims

    make, numbers = CASES[name]
    (claim,) = [claim for claim in claims.BOARD if claim.id == name]
    for each, verdict in zip(numbers, ("holds", "fails", "open"), strict=True):
        if each is not None:
            frame = make(each)
            monkeypatch.setattr(claims.Stored, "require", lambda *_, frame=frame: frame)
            assert claim.test([]).verdict == verdict, verdict


@SHIPPED
def test_a_model_that_changed_is_named(debate: Paper, monkeypatch: pytest.MonkeyPatch) -> None:
    """With another run under a name, no claim is judged and no table shown, and both name it; nor is what was not measured."""
    from attention_debate import claims

    for table in (claims.PAIRS, claims.CHANGES):
        assert {(name, find(name).digest) for name in claims.MODELS} == set(
            table.read()[["run", "digest"]].itertuples(index=False, name=None)
        )
    changed = [Run.open(ROOT / "checkpoints/sst2/vanilla", "sst2/cls"), *(find(name) for name in claims.MODELS if name != "sst2/cls")]
    frame = judged(changed, ["attention-debate"])
    sentence = "sst2/cls changed after the measurement: `python -m attention_debate.measure` measures again."
    assert set(frame["verdict"]) == {"unjudged"} and set(frame["evidence"]) == {sentence}
    for table in tables_of(debate).values():
        with pytest.raises(InputError, match="sst2/cls changed"):
            table(changed, "all")
    monkeypatch.setattr(claims.Stored, "read", lambda of: pd.DataFrame(columns=list(of.columns)))
    frame = judged([], ["attention-debate"])
    assert set(frame["verdict"]) == {"unjudged"} and frame["evidence"].str.contains("attention_debate.measure").all()


def test_moved_values_are_moved_weights(debate: Paper) -> None:
    """The same values give the model's own answer, and equal values the output of a head whose weights are all equal."""
    from attention_debate.measure import Moved, equal_weights

    import sentviz

    model, text = sentviz.load("sst2/ndt-unit-2"), "The film is short, but nobody in it is dull."
    moved, trace = Moved(model, text), model.trace(text)
    own = np.exp(trace.logits.astype(np.float64))
    np.testing.assert_allclose(moved.probabilities(1, lambda values: values)[0], own / own.sum(), atol=1e-5)
    seen: dict[Any, Any] = {}
    take = moved._logits

    def recorded(count: int, change: Any) -> Any:
        return take(count, replace(change, record=seen) if change.replaced else change)

    moved._logits = recorded  # type: ignore[method-assign]
    moved.probabilities(1, equal_weights)
    values, outputs = (seen[what, model.capabilities.layers - 1] for what in ("value", "head"))
    sums = trace.attention[-1].sum(axis=-1, keepdims=True)  # The weights of mixed maps need not sum to 1.
    np.testing.assert_allclose(outputs[0], sums * values[0].mean(1, keepdim=True).numpy(), atol=1e-5)
