"""`python -m sentviz` is the `sentviz` command."""

from sentviz.cli import main

main(prog_name="sentviz")
