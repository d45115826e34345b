"""Measures all rows and writes docs/benchmarks.md: `make bench`, `make bench ROWS=mlp,gmm`.

Each row is timed in a process of its own that holds all peers; time to the first gradient and
memory are measured in fresh processes, cold (empty caches) and warm.  The results of each row are
stored in build/bench/, and the page shows all stored rows: it can be measured in parts, with ROWS,
or with --missing after an interruption, and --report rewrites it without measuring.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from tqdm import tqdm

from . import report, rows, threads
from . import row as r

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build" / "bench"
# Peers started in processes of their own; --quick takes the first two.
STARTED = (r.OURS, r.JAX, r.TORCH, r.TF_FUNCTION, r.NATIVE, r.NJIT)
# Number of repetitions of a start, and the seconds after which no more are begun.
STARTS, BRIEF = 3, 20.0
LIBRARIES = ("numpy", "numba", "scipy", "jax", "torch", "tensorflow", "tensorflow-cpu", "autograd")


def child(command: list[str], env: dict[str, str], seconds: float) -> dict[str, Any]:
    """The JSON of the last line a process prints, or {"error": …}."""
    whole = [sys.executable, "-m", *command]
    try:
        done = subprocess.run(
            whole, env=env, cwd=ROOT, text=True, capture_output=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return {"error": f"took longer than {seconds:.0f} s"}
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {"error": lines[-1] if lines else f"ended with status {done.returncode}"}
    return json.loads(done.stdout.strip().splitlines()[-1])


def started(row: r.Row, peer: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measures a cold start (empty caches) and a warm one, as the minimum of several repetitions
    unless they take long."""
    tries: list[dict[str, Any]] = []
    begin = time.monotonic()
    while len(tries) < STARTS and (not tries or time.monotonic() - begin < BRIEF):
        with tempfile.TemporaryDirectory() as folder:
            env = threads.environment(options.threads, row.dtype, Path(folder))
            command = ["benchmarks.fresh", row.name, peer]
            cold = child(command, env, options.timeout)
            warm = child(command, env, options.timeout) if "first" in cold else cold
        tries.append({"cold": cold, "warm": warm})
    return {
        when: min((t[when] for t in tries), key=lambda found: found.get("first", math.inf))
        for when in ("cold", "warm")
    }


def machine(options: argparse.Namespace) -> dict[str, Any]:
    versions = {}
    for library in LIBRARIES:
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": options.threads,
        "python": platform.python_version(),
        "versions": versions,
        "quick": options.quick,
        "date": time.strftime("%Y-%m-%d"),
    }


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def measure(chosen: list[r.Row], options: argparse.Namespace) -> None:
    peers = options.starts.split(",") if options.starts else STARTED[: 2 if options.quick else None]
    tasks = [(row, peer) for row in chosen for peer in (None, *peers)]
    if options.no_start or options.only_starts:
        tasks = [(row, peer) for row, peer in tasks if (peer is None) == options.no_start]
    last = {row.name: peer for row, peer in tasks}
    bar = tqdm(tasks, unit="process")
    found: dict[str, Any] = {}
    for row, peer in bar:
        bar.set_postfix_str(f"{row.name}: {peer or 'timing'}")
        if peer is None:
            env = threads.environment(options.threads, row.dtype)
            command = ["benchmarks.harness", row.name, "--rounds", str(options.rounds)]
            command += ["--budget", str(options.budget)]
            peers_timed = options.peers.split(",") if options.peers else list(row.makers)
            if options.quick and not options.peers:
                # Its compilation takes longer than all other measurements.
                peers_timed = [p for p in peers_timed if p != r.TORCH_COMPILED]
            command += ["--only", ",".join(peers_timed)]
            found = {"start": {}, **child(command, env, options.timeout)}
        elif peer in row.makers:
            if options.only_starts:
                found = json.loads(kept_in(row).read_text())
            found["start"][peer] = started(row, peer, options)
        kept = {**found, "machine": machine(options), "complete": peer == last[row.name]}
        kept_in(row).write_text(json.dumps(kept, indent=1) + "\n")


def kept_in(row: r.Row) -> Path:
    return KEPT / f"{row.name}.json"


def is_stored(row: r.Row) -> bool:
    """True if all processes of a row have ended: it is written after each of them."""
    stored = kept_in(row)
    return stored.exists() and bool(json.loads(stored.read_text()).get("complete"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="", help="beginnings of names, separated by commas")
    parser.add_argument("--peers", default="", help="time only these, separated by commas")
    parser.add_argument("--starts", default="", help="measure only the starts of these")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and peers")
    parser.add_argument("--threads", type=int, default=1, help="for every library (default 1)")
    parser.add_argument("--rounds", type=int, help="repetitions (default 40, quick 8)")
    parser.add_argument("--budget", type=float, help="seconds per peer (default 8, quick 2)")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds per process")
    parser.add_argument("--no-start", action="store_true", help="no cold and warm starts")
    parser.add_argument("--only-starts", action="store_true", help="leave the times as they are")
    parser.add_argument("--missing", action="store_true", help="only rows that are not stored")
    parser.add_argument("--report", action="store_true", help="write the page, measure nothing")
    parser.add_argument("--list", action="store_true", help="names of the rows")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks.md")
    options = parser.parse_args()
    options.rounds = options.rounds or (8 if options.quick else 40)
    options.budget = options.budget or (2.0 if options.quick else 8.0)

    chosen = rows.chosen(options.rows)
    if options.missing:
        chosen = [row for row in chosen if not is_stored(row)]
    if options.list:
        for row in chosen:
            print(f"{row.name:24}{row.group:14}{', '.join(row.makers)}")
        return 0
    KEPT.mkdir(parents=True, exist_ok=True)
    if not options.report:
        measure(chosen, options)
    results = {}
    for row in rows.all_rows():
        if kept_in(row).exists():
            results[row.name] = json.loads(kept_in(row).read_text())
    report.write(rows.all_rows(), results, options.out)
    print(f"written: {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
