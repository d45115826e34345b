"""`python -m tests.freeze`: see the package's docstring."""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from .programs import programs
from .record import record

TEXTS = Path(__file__).with_name("texts.json")


def record_all(names: list[str], objects: bool, jobs: int) -> dict[str, str]:
    """Record all programs in several processes, a few programs per task, with a progress line."""
    chunks = [names[i : i + 8] for i in range(0, len(names), 8)]
    found: dict[str, str] = {}
    start = time.monotonic()
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for made in pool.map(record, chunks, [objects] * len(chunks)):
            found.update(made)
            spent = time.monotonic() - start
            left = spent / len(found) * (len(names) - len(found))
            print(f"\r{len(found)}/{len(names)}, {left:.0f} s left ", end="", file=sys.stderr)
    print(file=sys.stderr)
    return found


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return [
        f"{name}: {'new' if name not in before else 'gone' if name not in after else 'differs'}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.freeze")
    parser.add_argument("--update", action="store_true", help="keep the texts as they are now")
    parser.add_argument("--objects", metavar="FILE", help="write hashes of object code to FILE")
    parser.add_argument("--compare", nargs=2, metavar="FILE", help="compare two such files")
    parser.add_argument("--only", default="", help="programs whose names contain this")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.compare:
        before, after = (json.loads(Path(p).read_text()) for p in options.compare)
    else:
        names = [name for name in programs() if options.only in name]
        after = record_all(names, bool(options.objects), options.jobs)
        target = Path(options.objects) if options.objects else TEXTS
        if options.objects or options.update:
            kept = {} if options.objects or not options.only else json.loads(TEXTS.read_text())
            target.write_text(json.dumps({**kept, **after}, indent=0, sort_keys=True) + "\n")
            print(f"{len(after)} programs written to {target.name}")
            return 0
        before = {n: h for n, h in json.loads(TEXTS.read_text()).items() if options.only in n}
    found = differences(before, after)
    print("\n".join([*found, f"{len(after)} programs, {len(found)} differ"]))
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
