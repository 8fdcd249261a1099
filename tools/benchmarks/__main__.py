"""`python -m tools.benchmarks [NAME ...]`: ratios measured in one run; the names are those of ALL."""

from __future__ import annotations

import sys

from tools.benchmarks import (
    app,
    bases,
    causal,
    explain,
    figures,
    hub,
    models,
    pages,
    sparse,
    tasks,
    typing,
    visits,
    ways,
)

ALL = {
    "trace": models.trace,
    "latency": models.latency,
    "onnx": models.by_onnxruntime,
    "exact": explain.exact_values,
    "patching": causal.patching,
    "readout": models.readout,
    "batches": models.batched,
    "training": models.training,
    "start": app.start,
    "enter": app.enter,
    "reason": app.reason,
    "keys": typing.keys,
    "crowd": typing.crowd,
    "answer-cost": typing.answer_cost,
    "answer-memory": typing.memory,
    "select": app.select,
    "figures": figures.figures,
    "pages": pages.pages,
    "settled": pages.settled,
    "visits": visits.visits,
    "ways": ways.ways,
    "bases": bases.loading,
    "base-answers": bases.answers,
    "hub-trace": hub.hub_trace,
    "hub-injection": hub.injection,
    "rank-three": hub.rank_three,
    "band": sparse.band,
    "throughput": sparse.throughput,
    "crossing": sparse.crossing,
    "memory": sparse.memory,
    "tags": sparse.tags,
    "tasks": tasks.tasks,
    "peers": tasks.peers,
}

arguments = sys.argv[1:]
alone = arguments[:1] in (["pages"], ["figures"], ["visits"])  # these read the arguments behind them
for name in arguments[:1] if alone else arguments or ALL:
    ALL[name]()
