"""Commands for whoever works on sentviz: run with `python -m tests.tools.NAME`."""
