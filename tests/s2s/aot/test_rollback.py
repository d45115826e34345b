"""Which arrays a failed call must restore: those written at or before something that may fail."""

from __future__ import annotations

from typing import Any

import pytest

from s2s.aot.rollback import parameters_to_back_up
from s2s.aot.workspace_plan import plan
from s2s.codegen import value_types as types
from s2s.codegen.partition.outline_nests import Plan
from tests.s2s.aot.programs import lowered_function

VECTOR = types.Array(types.float64, 1, "C")
MATRIX = types.Array(types.float64, 2, "C")


def restored(body: str, *kinds: Any, checked: bool = False, callees: Any = ()) -> list[int]:
    """For a function of x and y, which are written, and k."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    text = f"def f(x, y, k):\n{lines}    return ()\n"
    function, known = lowered_function(text, *(kinds or (VECTOR, VECTOR, types.int64)))
    memory = plan(function, known, Plan(function, known).private)
    return parameters_to_back_up(function, known, memory, callees, [0, 1], checked)


FAIL = "if k > 0:\n    raise ValueError('k')"


@pytest.mark.parametrize(
    "body, expected",
    [
        ("x[0] = 1.0\ny[0] = 2.0", []),
        (f"{FAIL}\nx[0] = 1.0\ny[0] = 2.0", []),
        (f"x[0] = 1.0\n{FAIL}\ny[0] = 2.0", [0]),
        (f"y[0] += 1.0\n{FAIL}\nx[0] = 1.0", [1]),
        (f"v = x\nv[0] = 1.0\n{FAIL}", [0]),
        (f"v = x.reshape((1, x.shape[0]))\nv[0, 0] = 1.0\n{FAIL}", [0]),
        ("for i in range(k):\n    x[i] = 1.0\n    if i > 3:\n        raise ValueError('i')", [0]),
        ("for i in range(k):\n    if i > 3:\n        raise ValueError('i')\n    x[i] = 1.0", [0]),
        (f"if k > 2:\n    y[0] = 1.0\n{FAIL}", [1]),
        ("x[0] = 1.0\nn = np.int64(y[0])\na = np.empty((n,), np.float64)", [0]),
        ("x[0] = 1.0\na = np.empty((k,), np.float64)\na[0] = x[0]", []),
        ("x[0] = 1.0\na = np.empty((1,), np.float64)\na = rt.reserve(a, 0, k)", [0]),
    ],
)
def test_by_the_order_of_writes_and_failures(body, expected) -> None:
    assert restored(body) == expected


def test_what_the_return_checks_comes_last() -> None:
    assert restored("x[0] = 1.0") == [] and restored("x[0] = 1.0", checked=True) == [0]


def test_products_write_only_their_last_argument() -> None:
    kinds = (MATRIX, MATRIX, types.int64)
    body = "c = np.empty((2, 2), np.float64)\nrt.gemm(False, False, 1.0, x, c, 0.0, y)\n" + FAIL
    assert restored(body, *kinds) == [1]
