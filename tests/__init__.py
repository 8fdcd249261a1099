"""The tests; a package, so that this is read before any library that starts threads of its own."""

import os

for variable in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # as many tests as cores run at once, and threads that wait for others spin
