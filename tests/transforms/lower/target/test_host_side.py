"""Statements of the host function."""

from __future__ import annotations

from tests.cuda.compiling import emitted, host_function

VECTOR = {"x": "float64[:]", "y": "float64[:]"}


def test_a_scalar_argument_is_passed_before_the_host_changes_it():
    text, _ = emitted(
        """
def f(x, y, n):
    k = n
    x[k] = 1.0
    k = n + 1
    y[k] = 2.0
    return ()
""",
        **VECTOR,
    )
    lines = [line.strip().split("(")[0] for line in host_function(text).splitlines()]
    assert lines == ["n = np.int64", "k = n", "dev.launch", "k = n + 1", "dev.launch", "return "]
