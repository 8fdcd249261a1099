"""Claims about layers, components and epochs: their measurements against loops, and their verdicts in three directions."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from experiments.general import claim_runs
from sentviz.analysis.causal import claims
from sentviz.analysis.causal.patching import patch
from sentviz.analysis.claim import Finding
from sentviz.analysis.explain import stored
from sentviz.runs.catalog import study_runs
from sentviz.runs.intervention import Edit, Intervention, Taken
from sentviz.runs.store import SHIPPED, Run
from sentviz.runs.target import log_odds
from tests import kit

SPREAD = {"holds": (0.1, 0.3), "fails": (-0.3, -0.1), "open": (-0.1, 0.1)}


def test_centres_and_leads_by_hand() -> None:
    """Losses below 0 have no weight, the first layer is 0 and the last 1; what is ahead are differences of shares of the whole rise."""
    losses = np.array([[0.2, -0.4, 0.6], [0.0, -1.0, 0.0]])
    top = sum(max(loss, 0) * i / 2 for i, loss in enumerate(losses[0]))
    assert claim_runs.centre(losses) == pytest.approx([top / 0.8, np.nan], nan_ok=True)
    ahead = claim_runs._ahead(np.array([[[0.8, 0.6], [0.9, 0.75]]]))
    assert ahead[0].tolist() == pytest.approx([0.3 / 0.4 - 0.1 / 0.25, 0.0])


@pytest.mark.exhaustive
def test_layers_and_components_are_those_of_traced_interventions() -> None:
    """The share of a layer, and of a component, over pairs equals passes in which its outputs are exchanged, to 1e-4."""
    model = kit.small_model(1, components=2, mixing="unit", layers=2)
    pairs = [(f"a {good} {noun} and a song", f"a {bad} {noun} and a song")
             for good, bad in (("warm", "dull"), ("clever", "cold")) for noun in ("garden", "town")]  # fmt: skip
    kinds = dict.fromkeys(claim_runs.KINDS, pairs)
    rows = pd.DataFrame([*claim_runs._layers(model, kinds, 0), *claim_runs._components(model, kinds, 0)], columns=claim_runs.COLUMNS)
    values = rows.set_index(["measure", "name", "depth"])["value"]

    def moved(pair: Any, edits: list[Edit]) -> float:
        logits = model.trace(pair.first.text, change=Intervention(tuple(edits), (pair.second.text, None))).logits
        return float((log_odds(logits, *pair.target) - pair.start) * np.sign(pair.goal - pair.start))

    scale, lost, brought = 0.0, np.zeros(2), np.zeros(2)
    for pair in (patch(model, *texts) for texts in pairs):
        scale, tokens = scale + abs(pair.goal - pair.start), range(len(pair.first.tokens))
        for i in range(2):
            edits = [Edit("head", (i, h, t), to=Taken(t)) for h in range(2) for t in tokens]
            lost[i] += moved(pair, edits + [Edit("feedforward", (i, t), to=Taken(t)) for t in tokens])
            brought[i] += sum(moved(pair, [Edit("component", (layer, i, t), to=Taken(t)) for t in tokens]) for layer in range(2))
    for i in range(2):
        assert values["layer", "adjective", i + 1] == pytest.approx(lost[i] / scale, abs=1e-4)
        assert values["component", "negation", i + 1] == pytest.approx(brought[i] / scale, abs=1e-4)
    assert values["centre", "apart", -1] == pytest.approx(0, abs=1e-6)
    assert values["centre", "adjective", -1] == pytest.approx(max(lost[1], 0) / np.maximum(lost, 0).sum(), abs=1e-3)


@pytest.mark.parametrize("verdict", SPREAD)
@pytest.mark.parametrize("test", [claims.layers_apart, claims.second_is_negative, claims.direction_is_ahead])
def test_claims_are_decided_in_three_directions(test: Callable[[Run], Finding], verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interval above 0 (for the second component: below 0), below 0, and around 0."""
    low, high = SPREAD[verdict]
    low, high = (-high, -low) if test is claims.second_is_negative else (low, high)
    names = [("centre", -1, "apart"), ("component", 2, "adjective"), ("epoch", 1, "ahead")]
    further = [("centre", -1, "adjective"), ("centre", -1, "negation"), ("component", 1, "adjective"), ("epoch", 1, "separated"),
               ("epoch", 1, "accuracy")]  # fmt: skip
    rows = [(*name, "", (low + high) / 2, low, high, 40) for name in names] + [(*name, "", 0.5, 0.4, 0.6, 40) for name in further]
    monkeypatch.setattr(claims, "rows_of", lambda name, run: pd.DataFrame(rows, columns=claim_runs.COLUMNS))
    finding = test(cast(Run, SimpleNamespace(name="sst2/ndt-unit-2", digest="abc", epochs=(1, 3))))
    assert finding.verdict == verdict and finding.effect is not None and "40" in finding.evidence


@kit.SHIPPED
def test_the_stored_tables_are_of_shipped_runs() -> None:
    """Every row names an installed run with its digest, and its value is within its interval."""
    known = {run.name: run.digest for run in study_runs([SHIPPED]).runs}
    for name in (claims.CAUSES, "agreement"):
        table = stored.read_measured(name)
        assert {(row.run, row.digest) for row in table[["run", "digest"]].drop_duplicates().itertuples()} <= set(known.items())
        assert (table["low"] <= table["value"]).all() and (table["value"] <= table["high"]).all()
