"""Loops around a matrix product as one batched product."""

from __future__ import annotations

import pytest

from tests.cuda.compiling import emitted, host_function

CUBE = dict.fromkeys("abc", "float64[:, :, :, :]")


def products(body: str, **types: str) -> list[str]:
    source = f"def f({', '.join(types or CUBE)}, n):\n{body}    return ()\n"
    text, _ = emitted(source, **(types or CUBE))
    return [line.strip() for line in host_function(text).splitlines() if "gemm" in line]


NEST = """
    for i in range(n):
        for j in range(c.shape[1]):
            rt.gemm(False, False, 1.0, {a}, {b}, 0.0, {c})
"""


def test_two_loops_around_a_product():
    source = """
    a = np.empty((n, 4, 5, 6), np.float64)
    b = np.empty((n, 4, 6, 7), np.float64)
    c = np.empty((n, 4, 5, 7), np.float64)
    for i in range(n):
        for j in range(4):
            rt.gemm(False, False, 1.0, a[i, j], b[i, j], 0.0, c[i, j])
"""
    (line,) = products(source, n="int64")
    assert line.startswith("dev.gemm_batched(gemm_float64, False, False, ")
    assert line.endswith(
        "(n if n > 0 else 0) * 4, a.shape[2] * a.shape[3], b.shape[2] * b.shape[3], "
        "c.shape[2] * c.shape[3])"
    )


def test_an_operand_that_all_share_has_no_step():
    source = """
    for i in range(n):
        rt.gemm(False, True, 1.0, a[0, i], b[0, 0], 0.0, c[0, i])
"""
    (line,) = products(source)
    assert line.startswith("dev.gemm_batched(") and line.endswith(
        ", a.shape[2] * a.shape[3], 0, c.shape[2] * c.shape[3])"
    )


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        ("a[i, j]", "b[i, j]", "c[0, 0]"),  # all add to one matrix
        ("a[j, i]", "b[i, j]", "c[i, j]"),
        ("a[i, j]", "b[i, j]", "c[i, 0]"),
        ("c[0, 0]", "b[i, j]", "c[i, j]"),  # one of the results is an operand
        ("a[i, j + 1]", "b[i, j]", "c[i, j]"),
    ],
)
def test_other_loops_run_on_the_host(a, b, c):
    (line,) = products(NEST.format(a=a, b=b, c=c))
    assert line.startswith("dev.gemm(")


def test_only_the_inner_loop_where_sizes_are_not_known_to_be_equal():
    """`a` may have more matrices along its second axis than there are iterations."""
    source = NEST.format(a="a[i, j]", b="b[0, 0]", c="c[i, j]")
    (line,) = products(source)
    assert line.startswith("dev.gemm_batched(") and ", a, i * a.shape[1] * a.shape[2]" in line
    text, _ = emitted(f"def f(a, b, c, n):\n{source}    return ()\n", **CUBE)
    assert "    for i in range(n):\n" in text and "for j" not in host_function(text)
