"""Time to the first result, and memory, of one peer in a process of its own.

    python -m benchmarks.fresh <row> <peer>

Run with an empty cache it is the cold start, run again the warm one.  Prints one line of JSON:
seconds to import the library, seconds from there to the first result, the peak memory of the
process in megabytes, and how much of it was allocated after the import.
"""

from __future__ import annotations

import importlib
import json
import sys
import time

from . import row as r
from . import rows, threads

LIBRARY = {
    r.OURS: "s2s",
    r.PRIMAL: "s2s",
    r.NJIT: "s2s",
    r.NATIVE: "s2s",
    r.HAND: "numba",
    r.JAX: "jax",
    r.TORCH: "torch",
    r.TORCH_COMPILED: "torch",
    r.TF_EAGER: "tensorflow",
    r.TF_FUNCTION: "tensorflow",
    r.TF_XLA: "tensorflow",
    r.AUTOGRAD: "autograd",
}
CALLS = 5


def kilobytes(field: str) -> int:
    """`VmRSS` is the resident memory, `VmHWM` its peak; 0 where the system does not report them."""
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith(field):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


def main() -> int:
    name, peer = sys.argv[1:]
    threads.restrict()
    row = rows.find(name)

    start = time.perf_counter()
    try:
        importlib.import_module(LIBRARY[peer])
    except ImportError as error:
        print(json.dumps({"missing": str(error)}))
        return 0
    imported = time.perf_counter()
    before = kilobytes("VmRSS")
    runner = row.makers[peer]()
    with r.on_backend(runner.backend):
        runner.run()
        first = time.perf_counter()
        for _ in range(CALLS):
            runner.run()
    peak = kilobytes("VmHWM")
    print(
        json.dumps(
            {
                "import": imported - start,
                "first": first - imported,
                "peak": peak / 1024,
                "beyond": (peak - before) / 1024,
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
