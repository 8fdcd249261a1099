"""Run the `sentviz` command with `python -m sentviz`."""

from sentviz.cli import main

main(prog_name="sentviz")
