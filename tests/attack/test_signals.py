"""Operations for which the processor raises a signal, loops whose counter overflows, and Ctrl-C."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import s2s
from s2s import kernels

LEAST, MOST = -(2**63), 2**63 - 1
BACKENDS = ("loops", "numba")
# ---------------------------------------------------------------- division


def quotient(a: Any, b: Any) -> Any:
    return a // b


def rest(a: Any, b: Any) -> Any:
    return a % b


def both(a: int, b: int) -> int:
    q, r = divmod(a, b)
    return q + r


def by_minus_one(a: int, b: int) -> int:
    return a // -1 + a % -1


def wrapped(n: int) -> int:
    return (n + 2**63) % 2**64 - 2**63


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [quotient, rest, both, by_minus_one])
def test_division_of_integers_wraps(function: Any, backend: str) -> None:
    f = s2s.function(function, backend=backend)
    numbers = (0, 1, -1, 2, -3, 7, MOST, LEAST, LEAST + 1, 2**62)
    for a, b in itertools.product(numbers, repeat=2):
        try:
            want = wrapped(function(a, b))
        except ZeroDivisionError:
            want = 0
        assert f(a, b) == want, (a, b)


def truncated_rest(a: Any, b: Any) -> Any:
    return np.fmod(a, b)


DTYPES = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [quotient, rest, truncated_rest])
def test_division_of_integer_arrays(function: Any, backend: str) -> None:
    f = s2s.function(function, backend=backend)
    for dtype in DTYPES:
        ends = np.iinfo(dtype)
        values = [ends.min, ends.max, 0, 1, 3, ends.min + 1] + [-1, -3] * (ends.min < 0)
        x, y = (v.ravel() for v in np.meshgrid(np.array(values, dtype), np.array(values, dtype)))
        with np.errstate(all="ignore"):
            want = function(x, y)
        got = f(x, y)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


# ---------------------------------------------------------------- ranges

BOUNDS = (0, 3, -3, 10, MOST, MOST - 1, LEAST, LEAST + 1, 2**62)
STEPS = (1, -1, 2, -2, 5, 2**61, 2**62, MOST, LEAST, -(2**62))


def short_ranges() -> list[tuple[int, int, int]]:
    found = []
    for a, b, c in itertools.product(BOUNDS, BOUNDS, STEPS):
        if kernels.trip_count(a, b, c) <= 20:
            found.append((a, b, c))
    return found


def rounds(a: int, b: int, c: int) -> int:
    s = 0
    for k in range(a, b, c):
        s += 1 + k % 7
    return s


def rounds_by_five(a: int, b: int) -> int:
    s = 0
    for _ in range(a, b, 5):
        s += 1
    return s


@pytest.mark.parametrize("backend", BACKENDS)
def test_ranges_end(backend: str) -> None:
    f = s2s.function(rounds, backend=backend)
    for bounds in short_ranges():
        assert f(*bounds) == rounds(*bounds), bounds
    g = s2s.function(rounds_by_five, backend=backend)
    for a, b in ((MOST - 1, MOST), (MOST - 11, MOST), (0, 12), (LEAST, LEAST + 6), (5, LEAST)):
        assert g(a, b) == len(range(a, b, 5))


def swept(x: float, a: int, b: int, c: int) -> float:
    for k in range(a, b, c):
        x = x * 1.5 + x * x * (k % 3)
    return x


def swept_up(x: float, a: int, b: int) -> float:
    for k in range(a, b):
        x = x * 1.5 + x * x * (k % 3)
    return x


def slope(f: Any, x: complex, *bounds: int) -> float:
    return f(x + 1e-30j, *bounds).imag / 1e-30


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_loops_over_extreme_ranges(backend: str) -> None:
    """The right gradient, or an error if the difference of the bounds has more than 63 bits."""
    f, up = s2s.grad(swept, backend=backend), s2s.grad(swept_up, backend=backend)
    for a, b, c in short_ranges():
        want = slope(swept, 0.01, a, b, c)
        try:
            np.testing.assert_allclose(f(0.01, a, b, c), want, rtol=1e-9)
            if c == 1 and a > LEAST:
                np.testing.assert_allclose(up(0.01, a, b), want, rtol=1e-9)
        except (ValueError, IndexError):
            assert abs(b - a) > MOST


def test_trip_counts_as_python_has_them() -> None:
    for a, b, c in itertools.product((*BOUNDS, -(2**62)), BOUNDS, STEPS):
        span = range(a, b, c)
        want = min(max(0, -(-(span.stop - span.start) // span.step)), MOST)
        assert kernels.trip_count(a, b, c) == want, (a, b, c)


# ---------------------------------------------------------------- Ctrl-C

INTERRUPTED = """
    import importlib, os, signal, sys, threading
    import numpy as np
    import s2s
    from s2s.codegen import llvm_passes

    sys.path.insert(0, {folder!r})
    program = importlib.import_module("long_program")
    x, w = np.linspace(0, 1, 7), np.linspace(0.1, 0.5, 5)
    f = s2s.value_and_grad(program.f)
    where = sys.argv[1]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in jobs of some shells

    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)

    def watch(frame, event, argument):
        # In the middle of a pass of ours.
        if event == "call" and frame.f_code.co_filename.endswith(where):
            sys.setprofile(None)
            interrupt()

    if where == "llvm":
        run = llvm_passes.target_machine().emit_object.__func__
        started = threading.Event()

        class Slow(type(llvm_passes.target_machine())):
            def emit_object(self, module):
                started.set()
                return run(self, module)

        llvm_passes.target_machine().__class__ = Slow
        threading.Thread(target=lambda: (started.wait(), interrupt()), daemon=True).start()
    else:
        sys.setprofile(watch)
    try:
        f(x, w)
        print("not interrupted")
    except KeyboardInterrupt:
        print("interrupted")
    assert np.allclose(f(x, w)[0], program.f(x, w))
    print("compiled")
"""


@pytest.mark.parametrize(
    "where",
    [
        "specialise/interpreter/statements.py",
        "reverse.py",
        "lower/loops/fusion.py",
        "codegen/statements.py",
        "llvm",
    ],
)
def test_ctrl_c_ends_a_compilation_and_the_next_one_is_right(where: str, tmp_path: Any) -> None:
    lines = ["import numpy as np", "def f(x, w):", "    s = 0.0", "    for i in range(x.shape[0]):"]
    lines.append("        a = x[i]")
    for k in range(6):
        lines.append(f"        a = np.sin(a * w[{k % 5}]) + a / (1.0 + a * a)")
        lines.append(f"        s = s + np.exp(-a * a) * w[{(k + 1) % 5}] * np.tanh(a)")
    (tmp_path / "long_program.py").write_text("\n".join([*lines, "    return s"]))
    script = textwrap.dedent(INTERRUPTED).format(folder=str(tmp_path))
    env = {**os.environ, "S2S_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", script, where]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split("\n")[:2] == ["interrupted", "compiled"], done.stdout
