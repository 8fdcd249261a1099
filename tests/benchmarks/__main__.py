"""`python -m tests.benchmarks [NAME ...]`: ratios measured in one run; the names are those of ALL."""

from __future__ import annotations

import sys

from tests.benchmarks import (
    app,
    explanations,
    hardmax,
    hub,
    models,
    pages,
    points,
    portable,
    projection,
    sparse,
    through,
    tweets,
    views,
    words,
)

ALL = {
    "trace": models.trace,
    "latency": models.latency,
    "readout": models.readout,
    "batches": models.batched,
    "training": models.training,
    "start": app.start,
    "enter": app.enter,
    "select": app.select,
    "pages": pages.pages,
    "points": points.points,
    "removal": explanations.leave_one_out,
    "gradients": explanations.gradients,
    "methods": explanations.methods,
    "view": views.first_view,
    "hub-trace": hub.hub_trace,
    "hub-injection": hub.injection,
    "rank-three": hub.rank_three,
    "tsne": projection.tsne,
    "hardmax": hardmax.layer,
    "growth": hardmax.growth,
    "sphere": hardmax.worst,
    "words": words.words,
    "band": sparse.band,
    "throughput": sparse.throughput,
    "crossing": sparse.crossing,
    "memory": sparse.memory,
    "tags": sparse.tags,
    "tweets": tweets.tweets,
    "through": through.through,
    "portable": portable.portable,
}

asked = sys.argv[1:]
for name in asked[:1] if asked[:1] == ["pages"] else asked or ALL:  # further words of "pages" are its own
    ALL[name]()
