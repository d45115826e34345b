"""`python -m tests.cuda.launches NAME…`: the launches of benchmark rows on the CUDA target.

Prints one line for each row: launch sites outside of loops of the host, and inside of them; grids,
kernels of one thread, products, atomic additions, synchronisations, and loops of the host that
launch kernels of one thread only.  `--text` prints the text, too; `--update` writes
`launches.json`.  Nothing is run, but with `--run`, which prints the counts of the second step in
emulation: launches, products, and the sizes of the arrays that they are given.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import row as r
from benchmarks.rows import all_rows
from s2s import S2SError
from s2s.call import backend_choice
from s2s.transforms import pipeline

TABLE = Path(__file__).with_name("launches.json")


class Compiled(BaseException):
    """Ends a call once its function is compiled."""

    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled


def compiled(name: str) -> Any:
    """The text of a row, and its description."""
    (row,) = [found for found in all_rows() if found.name == name]
    compile_request = pipeline.compile_request

    def compile_for_cuda(request: Any) -> Any:
        request = copy.copy(request)
        request.target = "cuda"
        raise Compiled(compile_request(request))

    chosen, backend_choice.DEFAULT = backend_choice.DEFAULT, "loops"
    try:
        runner = row.makers[r.OURS]()
        pipeline.compile_request = compile_for_cuda
        runner.run()
    except Compiled as found:
        return found.compiled
    finally:
        pipeline.compile_request, backend_choice.DEFAULT = compile_request, chosen
    raise AssertionError(f"{name} compiles nothing")


def statistics(name: str) -> dict[str, int] | str:
    """The statistics of a row, or why it is refused."""
    try:
        return vars(compiled(name).cuda.stats)
    except S2SError as error:
        return f"refused: {error.message}"


def counts(name: str) -> dict[str, int]:
    """What a step of a row does in emulation."""
    from s2s.cuda import devices

    (row,) = [found for found in all_rows() if found.name == name]
    os.environ["S2S_TARGET"] = "cuda-emulated"
    run = row.makers[r.OURS]().run
    run()
    found = devices.device("cuda-emulated").counts
    found.reset()
    run()
    return {k: getattr(found, k) for k in ("launches", "gemm_calls", "bytes_accessed")}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.cuda.launches")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--run", action="store_true")
    options = parser.parse_args()
    found = {}
    names = options.names or [row.name for row in all_rows()]
    for name in names:
        if options.run:
            print(name, json.dumps(counts(name)), flush=True)
            continue
        found[name] = statistics(name)
        print(name, json.dumps(found[name]), flush=True)
        if options.text:
            print(compiled(name).lowered)
    if options.update:
        lines = [f"{json.dumps(name)}: {json.dumps(f)}" for name, f in sorted(found.items())]
        TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as cache:
        os.environ["S2S_CACHE_DIR"] = cache
        main()
