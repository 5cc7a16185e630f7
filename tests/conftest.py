"""One thread a process for the matrix libraries: on small matrices waiting threads cost far more than they bring."""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
