"""`python -m tests.benchmarks [trace latency training start enter]`"""

from __future__ import annotations

import sys

from tests.benchmarks import app, models

ALL = {
    "trace": models.trace,
    "latency": models.latency,
    "training": models.training,
    "start": app.start,
    "enter": app.enter,
}

for name in sys.argv[1:] or ALL:
    ALL[name]()
