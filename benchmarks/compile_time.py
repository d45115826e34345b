"""Cold compile time of gradients: `make compile-times`.

Each function is generated, and differentiated and compiled for its first call in a fresh
process with an empty cache; a trivial gradient is compiled before it, so that the fixed cost
of importing Numba is not counted.  The time must grow no worse than linearly with the number
of distinct statements; otherwise the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZES = (50, 100, 200, 400)
LAYERS = (1, 3, 6, 12)
# The largest accepted ratio of the cost of later statements to that of earlier ones; allows for
# noise.
TOLERANCE = 1.5

SCALAR = (
    "np.sin({a}) * {b}",
    "{a} * {b} + {c}",
    "np.exp(-{a} * {a}) - {b}",
    "{a} / (2.0 + {b} * {b})",
)
ARRAY = (
    "np.tanh({a}) * {b}",
    "{a} + {c} * {b}",
    "np.sin({a} - {b})",
    "{a} * {a}.mean() - {b}",
)


def expressions(templates: tuple[str, ...], count: int) -> list[str]:
    """`v1 = …; v2 = …`: every statement reads the one before and one further back."""
    lines = []
    for k in range(1, count + 1):
        before, back = f"v{k - 1}", f"v{max(k - 7, 0)}"
        text = templates[k % len(templates)].format(a=before, b=back, c=f"{0.5 + k / 1000}")
        lines.append(f"    v{k} = {text}")
    return lines


def scalars(count: int) -> str:
    body = expressions(SCALAR, count - 2)
    return "\n".join(["def f(x):", "    v0 = x[0]", *body, f"    return v{count - 2}"])


def arrays(count: int) -> str:
    body = expressions(ARRAY, count - 2)
    return "\n".join(["def f(x):", "    v0 = x", *body, f"    return v{count - 2}.sum()"])


def loops(count: int) -> str:
    """Loops of four statements with a branch, each overwriting a local array in place."""
    lines = ["def f(x):", "    v = x.copy()", "    s = 0.0"]
    for k in range((count - 3) // 5):
        lines += [
            "    for i in range(1, len(v)):",
            f"        t = v[i] * {0.5 + k / 1000} + v[i - 1]",
            "        if t > 0.0:",
            f"            s += np.sin(t) * {1 + k / 100}",
            "        v[i] = 0.9 * v[i] + 0.1 * np.cos(t)",
        ]
    return "\n".join([*lines, "    return s + v.sum()"])


def network(layers: int) -> str:
    """One loss of a dense network whose layers are a list of parameters."""
    return f"""LAYERS = {layers}

def dense(layer, x):
    return np.tanh(x @ layer["W"] + layer["b"])

def f(layers, x, y):
    for layer in layers:
        x = dense(layer, x)
    d = x - y
    return (d * d).mean()"""


PRELUDE = """import numpy as np

def tiny(x):
    return x * x

"""

# Run in a child: the source is imported from a real file, as a user's would be.
CHILD = """
import json, sys, time
import numpy as np, s2s
sys.path.insert(0, sys.argv[1])
import generated
rng = np.random.default_rng(0)
s2s.grad(generated.tiny)(2.0)
if hasattr(generated, "LAYERS"):
    layers = [{"W": rng.standard_normal((32, 32)) / 6, "b": np.zeros(32)}
              for _ in range(generated.LAYERS)]
    args = (layers, rng.standard_normal((16, 32)), rng.standard_normal((16, 32)))
else:
    args = (rng.uniform(0.5, 1.0, 8),)
g = s2s.grad(generated.f)
start = time.perf_counter(), time.process_time()
g(*args)
print(json.dumps([time.perf_counter() - start[0], time.process_time() - start[1]]))
"""


def measure(source: str, repeat: int) -> tuple[float, float]:
    """Wall-clock and CPU seconds of the first call; the best of `repeat` cold processes. CPU time
    is less sensitive to other load."""
    times = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "generated.py").write_text(f"{PRELUDE}{source}\n")
            env = {**os.environ, "S2S_CACHE_DIR": str(Path(folder, "cache"))}
            env["PYTHONPATH"] = str(ROOT)
            done = subprocess.run(
                [sys.executable, "-c", CHILD, folder], env=env, text=True, capture_output=True
            )
        if done.returncode:
            raise SystemExit(done.stderr)
        times.append(json.loads(done.stdout.splitlines()[-1]))
    return min(wall for wall, _ in times), min(cpu for _, cpu in times)


def grows_linearly(sizes: tuple[int, ...], seconds: list[float]) -> bool:
    """True if the last doubling costs no more per statement than the previous ones."""
    early = (seconds[-2] - seconds[0]) / (sizes[-2] - sizes[0])
    late = (seconds[-1] - seconds[-2]) / (sizes[-1] - sizes[-2])
    return late <= TOLERANCE * max(early, seconds[0] / sizes[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--only", choices=["scalars", "arrays", "loops", "network"])
    options = parser.parse_args()

    families: dict[str, tuple[Callable[[int], str], tuple[int, ...], str]] = {
        "scalars": (scalars, SIZES, "statements"),
        "arrays": (arrays, SIZES, "statements"),
        "loops": (loops, SIZES, "statements"),
        "network": (network, LAYERS, "layers"),
    }
    failed = False
    print(f"{'':10}{'size':>16}{'seconds':>9}{'cpu s':>9}{'cpu ms each':>13}")
    for name, (generate, sizes, unit) in families.items():
        if options.only not in (None, name):
            continue
        seconds = []
        for size in sizes:
            wall, cpu = measure(generate(size), options.repeat)
            seconds.append(cpu)
            row = f"{name:10}{size:>5} {unit:10}{wall:>9.2f}{cpu:>9.2f}{cpu / size * 1e3:>13.1f}"
            print(row, flush=True)
        if not grows_linearly(sizes, seconds):
            print(f"{name:10}grows worse than linearly")
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
