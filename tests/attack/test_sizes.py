"""Sizes, bounds and counts from arguments: NumPy's result or an error, never an access outside of
the array."""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.aot import build, status_codes
from tests.attack import sizes_programs as programs
from tests.attack.beside import load
from tests.s2s.aot.programs import needs_compiler
from tests.scale import sample

BACKENDS = ("loops", "numba")
GROUPS = {
    "slices": [*programs.SLICES, *programs.STEPPED],
    "indices": [*programs.INDICES, *programs.WRAPPING],
    "shapes": programs.SHAPES,
}


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_extreme_numbers(group: str, backend: str) -> None:
    # Most of the time is compilation.
    chosen = GROUPS[group] if backend == "loops" else sample(GROUPS[group], 4)
    names = [function.__name__ for function in chosen]
    command = [sys.executable, "-m", "tests.attack.sizes_run", backend, *names]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, f"{done.stdout[-500:]}\n{done.stderr[-2000:]}"
    assert "WRONG" not in done.stdout, done.stdout
    assert done.stdout.rstrip().endswith("cases")


# ---------------------------------------------------------------- int() of floats


def slice_to(x: Any, t: float) -> Any:
    return np.sum(x[8 : int(t)] * 2.0)


def element(x: Any, t: float) -> Any:
    return x[int(t)] * 2.0


def rounded_down(x: Any, t: float) -> Any:
    return x[math.floor(t)] * 2.0


def rounded_up(x: Any, t: float) -> Any:
    return x[math.ceil(t)] * 2.0


def truncated(x: Any, t: float) -> Any:
    return x[math.trunc(t)] * 2.0


def rounded(x: Any, t: float) -> Any:
    return x[round(t)] * 2.0


def elements(x: Any, t: float) -> Any:
    s = 0.0
    y = x * t
    for i in range(x.shape[0]):
        s = s + x[int(y[i]) % 12]
    return s


CONVERTED = [slice_to, element, rounded_down, rounded_up, truncated, rounded, elements]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", CONVERTED)
def test_conversion_to_int_raises_as_in_python(function: Any, backend: str) -> None:
    x = np.linspace(0.5, 1.5, 12)
    compiled = [s2s.function(function, backend=backend), s2s.grad(function, backend=backend)]
    for t in (0.0, 2.5, -1.0):
        np.testing.assert_allclose(compiled[0](x, t), function(x, t))
        compiled[1](x, t)
    for t, error in ((np.nan, ValueError), (np.inf, OverflowError), (-np.inf, OverflowError)):
        with pytest.raises(error):
            function(x, t)
        for f in compiled:
            with pytest.raises(error, match="test_sizes.py"):
                f(x, t)
    for f in compiled:  # Python integers are unbounded, those of s2s have 64 bits
        with pytest.raises(OverflowError, match="beyond 64 bits"):
            f(x, 1e300)


def by_array(x: Any, t: float) -> Any:
    return np.sum(x[(x * t).astype(np.int64)])


@pytest.mark.parametrize("backend", BACKENDS)
def test_astype_does_not_raise_and_its_result_is_checked(backend: str) -> None:
    x = np.ones(12)
    f = s2s.function(by_array, backend=backend)
    assert f(x, 2.0) == 12.0
    for t in (np.nan, np.inf, -np.inf, 1e300):
        with pytest.raises(IndexError):
            f(x, t)


# ---------------------------------------------------------------- ranks


def many_axes(x: Any) -> Any:
    return np.sum(np.expand_dims(x, tuple(range(17))))


def many_axes_by_index(x: Any) -> Any:
    return np.sum(x[(None,) * 20])


def many_axes_by_shape(x: Any) -> Any:
    return np.sum(x.reshape((1,) * 20 + (3,)))


def total(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


@pytest.mark.parametrize("function", [many_axes, many_axes_by_index, many_axes_by_shape])
def test_results_of_more_than_16_axes_are_refused(function: Any) -> None:
    with pytest.raises(s2s.UnsupportedError, match="at most 16"):
        s2s.grad(function)(np.ones(3))


def test_arguments_of_more_than_16_axes_are_refused() -> None:
    with pytest.raises(TypeError, match="more than 16 axes"):
        s2s.grad(total)(np.ones((1,) * 64))


def test_16_axes_are_compiled() -> None:
    x = np.full((1,) * 15 + (3,), 0.5)
    got = s2s.grad(total, backend="loops")(x)
    np.testing.assert_allclose(got, np.cos(x) * x + np.sin(x))


# ---------------------------------------------------------------- libraries


def divided(x: Any, a: int, b: int) -> Any:
    return np.sum(x * x) * (a // b + a % b)


@needs_compiler
def test_a_library_refuses_what_is_no_size_and_divides_without_a_signal(tmp_path: Any) -> None:
    gradient = s2s.value_and_grad(divided)
    built = build(gradient, "float64[n,m], int64, int64", out=tmp_path / "divided")
    x = np.ones((3, 2))
    assert built.load().divided(x, -(2**63), -1)[0] == 6.0 * -(2.0**63)
    assert built.load().divided(x, 7, 0)[0] == 0.0
    library = ctypes.CDLL(str(next(tmp_path.rglob("*.so"))))
    library.divided_workspace.restype = ctypes.c_int64
    memory, bars, value = np.zeros(4160, np.uint8), np.zeros(16), np.zeros(1)
    x = np.ones(16)
    places = [x.ctypes.data, value.ctypes.data, bars.ctypes.data]
    workspace = memory.ctypes.data + -memory.ctypes.data % 64

    def call(n: int, m: int) -> int:
        x_at, *outs = map(ctypes.c_void_p, [*places, workspace])
        numbers = [ctypes.c_int64(k) for k in (n, m, 1, 1, 4096)]
        return library.divided(*numbers[:2], x_at, *numbers[2:4], *outs, numbers[4])

    assert call(3, 2) == status_codes.OK
    for sizes in ((-1, 2), (2**61, 2), (2**62 + 1, 4), (2**31, 2**31), (2**40, 2**40)):
        assert call(*sizes) == status_codes.SIZES, sizes
    given = [ctypes.c_int64(k) for k in (2**61, 2, 1, 1)]
    assert library.divided_workspace(*given) == -1


FAR = [
    (5, -(2**63)),
    (2**63 - 1, -(2**63)),
    (-(2**63), 2**63 - 1),
    (5, 2**63 - 1),
    (3, 10),
    (10, 3),
]


@pytest.mark.parametrize("bounds", FAR)
@pytest.mark.parametrize("step", ["1", "-1", "3", "-2", "c", "-c"])
def test_the_length_of_a_range_does_not_wrap(bounds, step):
    """CPython's, or an OverflowError."""
    f = load(f"def f(a, b, c):\n    return len(range(a, b, {step}))")["f"]
    try:
        wanted: Any = f(*bounds, 2)
    except OverflowError:
        wanted = OverflowError
    try:
        found: Any = s2s.function(f, backend="loops")(*bounds, 2)
    except OverflowError:
        return
    assert found == wanted


@pytest.mark.parametrize("start, stop", [(5, -(2**63)), (2**63 - 1, -(2**63)), (2, 4)])
def test_the_sweep_of_a_range_does_not_wrap(start, stop):
    f = load(
        "def f(x, a, b):\n    s = x[0]\n    for i in range(a, b):\n        s = np.sin(s) * s\n"
        "    return s"
    )["f"]
    found = s2s.grad(f, backend="loops", wrt="x")(np.array([0.5]), start, stop)
    step = 1e-6
    ends = [f(np.array([0.5 + d]), start, stop) for d in (step, -step)]
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * step), rtol=1e-6)
