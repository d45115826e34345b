"""Sets the same number of threads for all libraries, in the environment, before any is loaded."""

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
    """The environment of a measuring process; `caches` is the directory of compiled code."""
    made = {**os.environ, **{name: str(threads) for name in VARIABLES}}
    # Installed libraries have bytecode caches, so s2s gets one, too, although it runs from its
    # sources.
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
    """Restricts the measuring process to as many cores as threads; XLA sizes its pool by that."""
    threads = int(os.environ.get("S2S_BENCH_THREADS", "1"))
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[-threads:])
