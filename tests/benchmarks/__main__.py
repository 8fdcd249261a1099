"""`python -m tests.benchmarks [trace latency training start enter removal gradients methods view tsne hardmax growth sphere words]`"""

from __future__ import annotations

import sys

from tests.benchmarks import app, explanations, hardmax, models, projection, views, words

ALL = {
    "trace": models.trace,
    "latency": models.latency,
    "training": models.training,
    "start": app.start,
    "enter": app.enter,
    "removal": explanations.leave_one_out,
    "gradients": explanations.gradients,
    "methods": explanations.methods,
    "view": views.first_view,
    "tsne": projection.tsne,
    "hardmax": hardmax.layer,
    "growth": hardmax.growth,
    "sphere": hardmax.worst,
    "words": words.words,
}

for name in sys.argv[1:] or ALL:
    ALL[name]()
