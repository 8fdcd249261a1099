"""Runs that shipped before the library changed: their digests, and what their models answered to our examples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sentviz
from sentviz.models.model import Model
from sentviz.remarks import reads_pairs
from sentviz.runs import Run
from sentviz.studies.timing import threads
from tests.shipped import ROOT, SHIPPED, of_each

STORED = np.load(Path(__file__).with_name("shipped_logits.npz"))
DIGESTS = dict(zip(STORED["names"].tolist(), STORED["digests"].tolist(), strict=True))
ASKED = [(str(text), str(pair) or None) for text, pair in STORED["asked"]]  # our examples of then: one more needs no new file
ANSWERED = [run for run in SHIPPED if run.name.replace("/", ".") in STORED.files]
pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason="checkpoints/ is not here")


def test_no_digest_has_changed() -> None:
    """config.json of a run that ships is never written again."""
    assert {name: Run.open(ROOT / name, name).digest for name in DIGESTS} == DIGESTS


def answers(model: Model, pairs: bool) -> np.ndarray:
    """(N, K) logits of the stored sentences, or pairs, that a model can read, each asked by itself."""
    logits = []
    for text, pair in ASKED:
        if (pair is not None) != pairs:
            continue
        try:
            encoded = model.encode(text, pair)
        except sentviz.InputError:
            continue
        logits.append(model.forward([encoded.reading])[0][0])
    return np.array(logits)


@pytest.mark.slow
@of_each(ANSWERED)
def test_a_model_answers_as_it_did(run: Run) -> None:
    """Logits of the examples against those stored when the run was new to this library, to 1e-6; another number of threads adds up anew."""
    with threads(1):
        logits = answers(sentviz.load(run), reads_pairs(run))
    np.testing.assert_allclose(logits, STORED[run.name.replace("/", ".")], rtol=0, atol=1e-6)
