"""Commands for whoever works on sentviz: run with `python -m tools.NAME`."""
