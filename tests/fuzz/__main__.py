"""`python -m tests.fuzz --n 2000 --seed 0`"""

from __future__ import annotations

import argparse

from .generate import generate
from .run import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--n", type=int, default=500, help="how many programs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--thorough", action="store_true", help="every judge for every program")
    parser.add_argument("--backend", default="", help="judge this one only, as numba or aot")
    parser.add_argument("--most", type=int, default=20, help="stop after so many kinds of failure")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--show", action="store_true", help="only print the first program")
    options = parser.parse_args()
    if options.show:
        print(generate(options.seed, options.first))
        return 0
    report = run(
        options.n, options.seed, options.first, thorough=options.thorough,
        backend=options.backend, progress=True, most=options.most,
        shrinking=not options.no_shrink,
    )  # fmt: skip
    print(report.summary())
    return 1 if report.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
