"""What runs on the host, in grids, and on one thread; order of launches."""

from __future__ import annotations

import numpy as np
import pytest

from s2s import UnsupportedError
from tests.cuda.compiling import compiled, emitted, host_function

VECTOR = {"x": "float64[:]", "y": "float64[:]"}


def kinds(source: str, **types: str) -> list[str]:
    return [v.kind for v in emitted(source, **types)[1].verdicts]


def launches(text: str) -> list[str]:
    """The kernels and products of a host function in order."""
    lines = [line.strip() for line in host_function(text).splitlines()]
    return [line.split("(")[1].split(",")[0] for line in lines if line.startswith("dev.")]


def test_a_recurrence_runs_on_one_thread():
    assert kinds(
        "def f(x, n):\n    for i in range(n):\n        x[i + 1] = x[i]\n    return ()\n", **VECTOR
    ) == ["thread"]


def test_a_long_recurrence_is_refused_when_it_is_called():
    text, _ = emitted(
        "def f(x, n):\n    for i in range(n):\n        x[i + 1] = x[i]\n    return ()\n", **VECTOR
    )
    lines = [line.strip() for line in host_function(text).splitlines()]
    test, error, launch = lines[1:4]
    assert test.startswith("if n * ") and test.endswith("> 1048576:")
    assert error.startswith('raise NotImplementedError("this loop runs on one thread')
    assert launch.startswith("dev.launch(f_k1, 1, 1")


def test_a_loop_over_time_runs_on_the_host():
    text, program = emitted(
        """
def f(x, y, n, steps):
    for t in range(steps):
        for i in range(n):
            y[i] = x[i] + x[i + 1]
        for i in range(n):
            x[i] = y[i]
    return ()
""",
        **VECTOR,
    )
    assert [v.kind for v in program.verdicts] == ["host", "grid", "grid"]
    assert "for t in range(steps):" in text


def test_a_loop_controlled_by_the_device_is_refused_at_its_line():
    def relax(x):
        while np.max(np.abs(x)) > 0.5:
            x = 0.5 * (x + np.roll(x, 1))
        return np.sum(x)

    with pytest.raises(UnsupportedError, match="control depends on values on the device") as error:
        compiled(relax, np.ones(50), mode="primal")
    assert error.value.line == relax.__code__.co_firstlineno + 1
    assert "np.where" in error.value.advice


def test_bounds_are_tested_before_anything_is_written():
    text, _ = emitted(
        """
def f(x, y, n):
    m = n * 2
    for i in range(n):
        y[i] = 0.0
    for i in range(1, m):
        x[i] = x[i - 1] * 2.0
    return (x,)
""",
        **VECTOR,
    )
    host = host_function(text)
    assert host.index("NotImplementedError") < host.index("dev.launch(")
    assert "if (n * 2 - 1) * " in host.split("raise")[0]
