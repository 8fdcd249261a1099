"""The tests; a package, so that this is read before any library that starts threads of its own."""

import os

for variable in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # xdist runs one test per core, and idle threads of OpenMP would keep a core busy
