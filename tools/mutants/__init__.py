"""Plant faults in the code and see whether a test fails: `python -m tools.mutants`."""
