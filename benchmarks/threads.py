"""The same number of threads for all: set in the environment, before any library is loaded."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
)


def environment(threads: int, dtype: str, caches: Path | None = None) -> dict[str, str]:
    """Of a process that measures; `caches` is where compiled code is kept."""
    made = {**os.environ, **{name: str(threads) for name in VARIABLES}}
    # Installed libraries have their bytecode; ours, run from its sources, shall too.
    made.pop("PYTHONDONTWRITEBYTECODE", None)
    made["S2S_BENCH_THREADS"] = str(threads)
    made["JAX_ENABLE_X64"] = "1" if dtype == "float64" else "0"
    made["JAX_PLATFORMS"] = "cpu"
    made["TF_CPP_MIN_LOG_LEVEL"] = "3"
    made["CUDA_VISIBLE_DEVICES"] = ""
    if caches is not None:
        made["S2S_CACHE_DIR"] = str(caches / "s2s")
        made["NUMBA_CACHE_DIR"] = str(caches / "numba")
        made["JAX_COMPILATION_CACHE_DIR"] = str(caches / "jax")
        made["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        made["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
        made["TORCHINDUCTOR_CACHE_DIR"] = str(caches / "torch")
    return made


def restrict() -> None:
    """In the measuring process: as many cores as threads, which also sizes XLA's pool."""
    threads = int(os.environ.get("S2S_BENCH_THREADS", "1"))
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[-threads:])
