"""Independent grids become one kernel."""

from __future__ import annotations

import pytest

from tests.cuda.compiling import emitted

SOURCE = """
def f(a, b, x, y, c, n, m):
    for i in range(n):
        x[i] = a[i] * 2.0
    {between}
    for j in range(m):
        {second}
    return ()
"""
TYPES = dict.fromkeys("abxy", "float64[:]") | {"c": "float64[:, :]"}


def launches(second: str, between: str = "t = n + 1") -> list[str]:
    text, _ = emitted(SOURCE.format(second=second, between=between), **TYPES)
    return [line.strip() for line in text.splitlines() if "dev.launch(" in line]


def test_independent_grids_are_merged():
    (launch,) = launches("y[j] = b[j] * 3.0")
    assert launch.startswith("dev.launch(f_k1, max(dev.blocks(n, BLOCK), dev.blocks(m, BLOCK)), ")
    assert launch.endswith("err, n, x, a, m, y, b)")


@pytest.mark.parametrize("second", ["y[j] = x[j]", "x[j] = 3.0", "a[j] = 3.0"])
def test_grids_that_depend_on_each_other_are_not(second):
    assert len(launches(second)) == 2


def test_a_grid_is_moved_across_a_product_that_does_not_need_it():
    product = "rt.gemm(False, False, 1.0, c, c, 0.0, c)"
    assert len(launches("y[j] = c[j, 0]", product)) == 1
    text, _ = emitted(SOURCE.format(second="y[j] = c[j, 0]", between=product), **TYPES)
    host = text.split("dev.begin(FAILURES)")[1]
    assert host.index("dev.gemm(") < host.index("dev.launch(")


def test_a_grid_that_changes_what_a_product_reads_stays():
    source = SOURCE.replace("x[i] = a[i] * 2.0", "c[i, 0] = a[i]")
    text, _ = emitted(
        source.format(
            second="y[j] = b[j]", between="rt.gemm(False, False, 1.0, c, c, 0.0, c)"
        ), **TYPES,
    )  # fmt: skip
    assert text.count("dev.launch(") == 2


def test_checks_and_barriers_are_not_merged():
    text, _ = emitted("""
def f(a, y, c, n, m):
    for i in range(n):
        if a[i] < 0.0:
            raise ValueError("negative")
    for i in range(n):
        s = 0.0
        for j in range(m):
            s = s + c[i, j]
        y[i] = s
    return ()
""", **TYPES)  # fmt: skip
    assert text.count("dev.launch(") == 2
