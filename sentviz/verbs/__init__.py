"""What a person can do with sentviz: one function each, behind the command, HTTP, agents and `sentviz.api`."""

from sentviz.verbs import behave, compare, corpus, files, measure, patch, rows, sentence, shelf, training
from sentviz.verbs.door import PLACES, VERBS, OptionError, Result, Verb

__all__ = [
    "PLACES",
    "VERBS",
    "OptionError",
    "Result",
    "Verb",
    "behave",
    "compare",
    "corpus",
    "files",
    "measure",
    "patch",
    "rows",
    "sentence",
    "shelf",
    "training",
]
