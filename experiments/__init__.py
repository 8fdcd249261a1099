"""Measurements that run once and write a table that ships with the package: `python -m experiments` lists them.

An experiment is a module in the folder of its paper, with a function `main` that takes the arguments of the command line. The package reads
the tables and never imports an experiment.
"""

from __future__ import annotations

from argparse import ArgumentParser


def parser(module: str, about: str | None) -> ArgumentParser:
    """Return a parser for the arguments of an experiment, from the name and the docstring of its module."""
    return ArgumentParser(f"python -m {module.replace('.', ' ')}", description=about)
