"""Long runs: memory and time over many steps, many concurrent threads, and killed processes.

python -m tests.attack.soak steps plain|batches|threads --steps 1000000
python -m tests.attack.soak cold --threads 8 --functions 20 --seconds 60
python -m tests.attack.soak kills --times 200

`steps` prints resident memory, allocated blocks and CPU time per step for each tenth of the run.
`cold` begins with an empty cache: threads compile and call gradients concurrently, and every result
is compared with an interpreted one.  `kills` ends processes with SIGKILL while they write to the
cache, and checks after each that all entries are complete.  The exit status is 1 after a failure;
`--limit` is the number of seconds after which a deadlock is reported.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import s2s
from tests.attack.gradients import calls

# ---------------------------------------------------------------- steps


class Trainer:
    """A small regression, trained with a tape in plain Python."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=(64, 3))
        self.y = self.x @ np.array([1.0, -2.0, 0.5]) + 0.3
        self.W = s2s.Variable(rng.normal(size=3))
        self.b = s2s.Variable(0.0)

    def step(self, n: int) -> float:
        x, y = self.x[:n], self.y[:n]
        with s2s.GradientTape() as tape:
            error = x @ self.W + self.b - y
            loss = np.mean(error * error)
        dW, db = tape.gradient(loss, [self.W, self.b])
        self.W.assign_sub(0.05 * dW)
        self.b.assign_sub(0.05 * db)
        return float(loss)


def plain(steps: int) -> Callable[[int, int], float]:
    trainer = Trainer()

    def run(first: int, last: int) -> float:
        loss = 0.0
        for _ in range(first, last):
            loss = trainer.step(32)
        return loss

    return run


def batches(steps: int) -> Callable[[int, int], float]:
    """The batch size changes with each step."""
    trainer = Trainer()
    sizes = [*range(1, 65)]
    random.Random(0).shuffle(sizes)

    def run(first: int, last: int) -> float:
        loss = 0.0
        for i in range(first, last):
            loss = trainer.step(sizes[i % len(sizes)])
        return loss

    return run


def threads(steps: int) -> Callable[[int, int], float]:
    """Four threads, each with its own Variables, share the steps; they are joined after each
    tenth."""
    trainers = [Trainer(seed) for seed in range(4)]

    def run(first: int, last: int) -> float:
        losses: list[float] = []

        def work(trainer: Trainer) -> None:
            loss = 0.0
            for i in range(first, last, len(trainers)):
                loss = trainer.step(32 if i % 3 else 16)
            losses.append(loss)

        together(work, trainers)
        assert len(losses) == len(trainers), "a thread has failed"
        return max(losses)

    return run


KINDS = {"plain": plain, "batches": batches, "threads": threads}


def together(work: Callable[[Any], None], items: list[Any]) -> None:
    started = [threading.Thread(target=work, args=(item,), daemon=True) for item in items]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def resident() -> float:
    """Resident memory in megabytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def seconds(work: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    """The CPU time of a call, and its result."""
    start = time.process_time()
    result = work(*args)
    return time.process_time() - start, result


def reference_work() -> int:
    """Some milliseconds of plain Python, as a unit of time that scales with the load of the
    machine."""
    return sum(i * i % 7 for i in range(50_000))


def run_steps(kind: str, steps: int) -> Iterator[tuple[int, float, int, float, float, float]]:
    """For each tenth: steps so far, resident megabytes, blocks of memory that Python has allocated,
    microseconds of CPU time per step, the same in units of the reference work, and the loss."""
    run = KINDS[kind](steps)
    run(0, min(steps // 10, 500))  # compiles
    for k in range(10):
        first, last = k * steps // 10, (k + 1) * steps // 10
        used = reference = loss = 0.0
        slices = [first + i * (last - first) // 20 for i in range(21)]
        for begin, end in zip(slices, slices[1:]):
            time_of_steps, loss = seconds(run, begin, end)
            used += time_of_steps / (last - first)
            reference += seconds(reference_work)[0] / 20
        gc.collect()
        blocks = sys.getallocatedblocks()
        yield last, resident(), blocks, used * 1e6, used / reference, loss


def steps_command(options: argparse.Namespace) -> bool:
    rows = []
    shown = "{:9,d} steps  {:8.2f} MB  {:9,d} blocks  {:7.1f} us  {:.4f} units  loss {:.3g}"
    for row in run_steps(options.kind, options.steps):
        rows.append(row)
        print(shown.format(*row), flush=True)
    (_, early, few, _, fast, _), (_, late, many, _, slow, loss) = rows[1], rows[-1]
    print(f"growth {late - early:.2f} MB, {many - few} blocks; time per step x {slow / fast:.2f}")
    return late - early < 4.0 and many - few < 1000 and loss < 1e-6


# ---------------------------------------------------------------- cold start


def run_cold(count: int, functions: int, seconds: float, seed: int) -> tuple[int, list[str]]:
    """The number of calls, and the failures."""
    made = calls()
    random.Random(seed).shuffle(made)
    made = made[:functions]
    barrier, start = threading.Barrier(count), time.monotonic()
    first: dict[str, Any] = {}
    numbers = [0] * count
    wrong: list[str] = []

    def work(k: int) -> None:
        # Half of the threads begin with the same function, the others with different ones.
        order = made[k % len(made) :] + made[: k % len(made)] if k % 2 else list(made)
        barrier.wait()
        try:
            while True:
                for name, call, _ in order:
                    found = call()
                    known = first.setdefault(name, found)
                    if not np.allclose(found, known, rtol=1e-9, atol=1e-12):
                        wrong.append(f"{name} differs between calls")
                    numbers[k] += 1
                if time.monotonic() - start > seconds:
                    return
        except BaseException:
            wrong.append(traceback.format_exc())

    together(work, list(range(count)))
    for name, _, reference in made:
        if name not in first or not np.allclose(first[name], reference(), rtol=1e-6, atol=1e-9):
            wrong.append(f"{name} is wrong")
    return sum(numbers), wrong


def cold_command(options: argparse.Namespace) -> bool:
    start = time.monotonic()
    number, wrong = run_cold(options.threads, options.functions, options.seconds, options.seed)
    print(f"{number:,d} calls by {options.threads} threads in {time.monotonic() - start:.0f} s")
    print(f"{len(wrong)} errors", *wrong[:5], sep="\n")
    return not wrong and number >= options.threads * options.functions


# ---------------------------------------------------------------- kills

# Compiles functions that differ in a number, some of them with Numba's cache, and checks what they
# compute.  Kills itself when it is about to open for writing, rename or remove a file in the cache
# for the n-th time.
WRITER = """
import os, signal, sys
folder, first, last, kill_at = sys.argv[1], *map(int, sys.argv[2:])
changes = 0

def count(event, args):
    global changes
    if event not in ("open", "os.rename", "os.remove", "os.mkdir"):
        return
    written = event != "open" or (args[2] or 0) & (os.O_WRONLY | os.O_RDWR)
    if written and str(args[0]).startswith(folder + "/cache"):
        changes += 1
        if changes == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(count)
import numpy as np
import s2s

for k in range(first, last):
    name = f"{folder}/f{k}.py"
    noise = "rng.normal(size=4)" if k % 3 == 2 else "1.0"
    text = f"def f(x, rng):\\n    return np.sum(np.sin(x) * {noise}) * {k}.0\\n"
    with open(name, "w") as file:
        file.write(text)
    space = {"np": np}
    exec(compile(text, name, "exec"), space)
    x = np.arange(4.0)
    gradient = s2s.grad(space["f"])(x, np.random.default_rng(k))
    drawn = np.random.default_rng(k).normal(size=4) if k % 3 == 2 else 1.0
    assert np.allclose(gradient, k * np.cos(x) * drawn, rtol=1e-12), (k, gradient)
"""
AT_ONCE = 3  # functions that a process compiles; it makes 57 changes to the cache


def run_kills(times: int, seed: int) -> tuple[int, list[str]]:
    """The number of processes that were killed while they wrote to the cache, and the failures.
    Three successive processes work on the same functions, so each finds the files that the previous
    one left."""
    rng = random.Random(seed)
    wrong: list[str] = []
    killed = 0
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "S2S_CACHE_DIR": f"{folder}/cache"}

        def run(first: int, last: int, kill_at: int) -> None:
            nonlocal killed
            command = [sys.executable, "-c", WRITER, folder, *map(str, (first, last, kill_at))]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            killed += done.returncode == -signal.SIGKILL
            if done.returncode not in (0, -signal.SIGKILL) or done.stderr:
                wrong.append(f"ended with {done.returncode}: {done.stderr[-600:]}")

        group = 0
        while killed < times:
            first = AT_ONCE * group
            for _ in range(3):
                if killed < times:
                    run(first, first + AT_ONCE, rng.randrange(1, 58))
            group += 1
        run(0, AT_ONCE * group, 0)
        wrong += _damaged(Path(folder) / "cache")
    return killed, wrong


def _damaged(folder: Path) -> list[str]:
    """Incomplete files under their final names, which every later process would read."""
    from s2s.cache import store

    found = [p for p in folder.rglob("*") if p.is_file() and p.suffix == "" and p.name[0] != "."]
    sealed = [p for p in found if p.name.startswith(("kernel_", "runtime_", "specialisation_"))]
    return [f"{p.name} is damaged" for p in sealed if store.read_entry(p) is None]


def kills_command(options: argparse.Namespace) -> bool:
    killed, wrong = run_kills(options.times, options.seed)
    print(
        f"{killed} of {options.times} processes killed; {len(wrong)} errors", *wrong[:5], sep="\n"
    )
    return not wrong


# ---------------------------------------------------------------- command line


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--limit", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    commands = parser.add_subparsers(required=True)
    steps = commands.add_parser("steps")
    steps.add_argument("kind", choices=KINDS)
    steps.add_argument("--steps", type=int, default=1_000_000)
    steps.set_defaults(run=steps_command)
    cold = commands.add_parser("cold")
    cold.add_argument("--threads", type=int, default=8)
    cold.add_argument("--functions", type=int, default=20)
    cold.add_argument("--seconds", type=float, default=60.0)
    cold.set_defaults(run=cold_command)
    kills = commands.add_parser("kills")
    kills.add_argument("--times", type=int, default=200)
    kills.set_defaults(run=kills_command)
    options = parser.parse_args()
    if options.limit:
        faulthandler.dump_traceback_later(options.limit, exit=True)
    return 0 if options.run(options) else 1


if __name__ == "__main__":
    sys.exit(main())
