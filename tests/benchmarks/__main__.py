"""`python -m tests.benchmarks [trace latency training start enter removal gradients methods view]`"""

from __future__ import annotations

import sys

from tests.benchmarks import app, explanations, models, views

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
}

for name in sys.argv[1:] or ALL:
    ALL[name]()
