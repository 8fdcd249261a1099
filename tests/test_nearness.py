"""The share of words at a leader, by what counts as near: against one review after the other, and as drawn."""

from __future__ import annotations

import numpy as np
import pytest

from sentviz.analysis.testset.leaders import MEASURES, NEAR, at_leaders, followed
from sentviz.models.hardmax import HardmaxModel
from tests.kit import random_model


def test_shares_are_those_of_each_review() -> None:
    model: HardmaxModel = random_model()
    rng = np.random.default_rng(0)
    rows = [rng.integers(4, model.config.vocab_size, size=n).astype(np.int32) for n in (1, 3, 8, 20)]
    wanted = (0.001, NEAR, 0.1, 0.5)
    measured = at_leaders(model, rows, wanted)
    for i, row in enumerate(rows):
        review = model.follow(" ".join(model.tokenizer.token_of(int(j)) for j in row))
        last, reach = review.positions[-1], np.linalg.norm(review.positions[0], axis=1).max()
        for column, near in enumerate(wanted):
            there = [min((float(np.linalg.norm(x - last[j])) for j in review.leaders), default=np.inf) <= near * reach for x in last]
            assert measured[i, column] == pytest.approx(np.mean(there))
    measures, _, _ = followed(model, rows)
    np.testing.assert_allclose(measured[:, 1], measures[:, -1, MEASURES.index("at leaders")])
