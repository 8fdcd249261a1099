"""The verbs of sentviz for Python: each function is also a command, and most are a request over HTTP and a tool for agents.

    from sentviz import api
    explanation = api.explain("sst2/ndt-unit-2", "Not bad at all.", method="exact")
    print(explanation.text()); explanation.frame; explanation.chart(); explanation.json()

A source of answers is the name of a run, a `Run`, a model that `sentviz.load` returned or takes, or a `Source`.
"""

from sentviz.runs.target import Target
from sentviz.verbs.behave import behave
from sentviz.verbs.compare import compare
from sentviz.verbs.corpus import reasons, score
from sentviz.verbs.data import data_add, data_get, data_list, data_remove, data_verify, data_where
from sentviz.verbs.door import Outcome, Result
from sentviz.verbs.figures import Drawn, export, figures, onnx, paper
from sentviz.verbs.files import live, report, verify
from sentviz.verbs.measure import directions, epochs, faithfulness, gates, heads, leaders, referee, specialise, words
from sentviz.verbs.patch import patch
from sentviz.verbs.rows import evaluate, labels, weak
from sentviz.verbs.runs import base_add, base_list, card, runs_get, runs_list, runs_pack
from sentviz.verbs.sentence import explain, judge, predict, trace
from sentviz.verbs.shelf import catalog, verdict
from sentviz.verbs.sources import Source, SourceOfRows, StoredRun
from sentviz.verbs.training import adopt, calibrate, study, train

__all__ = [
    "Drawn",
    "Outcome",
    "Result",
    "Source",
    "SourceOfRows",
    "StoredRun",
    "Target",
    "adopt",
    "base_add",
    "base_list",
    "behave",
    "calibrate",
    "card",
    "catalog",
    "compare",
    "data_add",
    "data_get",
    "data_list",
    "data_remove",
    "data_verify",
    "data_where",
    "directions",
    "epochs",
    "evaluate",
    "explain",
    "export",
    "faithfulness",
    "figures",
    "gates",
    "heads",
    "judge",
    "labels",
    "leaders",
    "live",
    "onnx",
    "paper",
    "patch",
    "predict",
    "reasons",
    "referee",
    "report",
    "runs_get",
    "runs_list",
    "runs_pack",
    "score",
    "specialise",
    "study",
    "trace",
    "train",
    "verdict",
    "verify",
    "weak",
    "words",
]
