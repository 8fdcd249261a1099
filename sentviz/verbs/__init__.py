"""What a person can do with sentviz: one function each, behind the command, HTTP, agents and `sentviz.api`."""

from sentviz.verbs import behave, compare, corpus, data, figures, files, measure, patch, rows, runs, sentence, shelf, training
from sentviz.verbs.door import GROUPS, PLACES, VERBS, OptionError, Result, Verb

__all__ = [
    "GROUPS",
    "PLACES",
    "VERBS",
    "OptionError",
    "Result",
    "Verb",
    "behave",
    "compare",
    "corpus",
    "data",
    "figures",
    "files",
    "measure",
    "patch",
    "rows",
    "runs",
    "sentence",
    "shelf",
    "training",
]
