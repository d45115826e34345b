"""`python -m tests.cuda.gate --dtype float32 --block 2 NAME…`: the corpus on the simulator.

Prints one JSON object: for each program "equal", "refused: …" or "different: …", and the
statistics of the accepted ones.  A program is compiled and compared as in `tests/test_corpus.py`,
for each trip count, zero included.  Without names, all programs are run.

`--update` writes `statistics.json` instead.
"""

from __future__ import annotations

import os

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import argparse  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from tests.corpus import Case, load  # noqa: E402
from tests.corpus.known import KNOWN  # noqa: E402
from tests.cuda import simulator  # noqa: E402
from tests.judge import judge, transform  # noqa: E402


def outcome(case: Case, dtype: Any, block: int, trips: tuple[int, ...]) -> dict[str, Any]:
    """The outcome of one program, with the statistics of its texts."""
    from s2s import UnsupportedError

    found: dict[str, Any] = {"stats": {}}
    with simulator.on_simulator(block) as run:
        f = transform(case, "loops")
        try:
            for n in trips:
                # Atomic additions are in any order, which changes the last digits.
                repeated = 1e-12 if dtype is np.float64 else case.rtol32
                judge(case, f, n, dtype, label=f"blocks of {block}", repeated=repeated)
        except UnsupportedError as error:
            found["outcome"] = f"refused: {error.message}"
            found["line"] = error.line
            return found
        except Exception as error:
            found["outcome"] = f"different: {type(error).__name__}: {error}"[:600]
            return found
    found["outcome"] = "equal"
    found["stats"] = run.statistics()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.cuda.gate")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dtype", default="float64", choices=("float64", "float32"))
    parser.add_argument("--block", type=int, default=4)
    parser.add_argument("--last", action="store_true", help="the largest trip count only")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--part", default="0/1", help="i/n: every n-th program, from the i-th on")
    options = parser.parse_args()
    cases = load()
    first, step = map(int, options.part.split("/"))
    names = (options.names or sorted(cases))[first::step]
    if options.dtype == "float32":
        names = [name for name in names if f"{name}[float32]" not in KNOWN]
    dtype = getattr(np, options.dtype)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["S2S_CACHE_DIR"] = cache
        found = {}
        for name in names:
            trips = cases[name].trips
            found[name] = outcome(
                cases[name], dtype, options.block, trips[-1:] if options.last else trips
            )
    if options.update:
        _write_statistics(found)
    else:
        json.dump(found, sys.stdout, indent=1)


def _write_statistics(found: dict[str, Any]) -> None:
    lines = [
        f"{json.dumps(name)}: {json.dumps(f['stats'] or f['outcome'])}"
        for name, f in sorted(found.items())
    ]
    Path(__file__).with_name("statistics.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
