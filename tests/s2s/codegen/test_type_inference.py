"""Types of lowered source: one for each name and expression, and what is left to Numba."""

from __future__ import annotations

import ast
import builtins
import textwrap
from typing import Any

import numpy as np
import pytest

from s2s import kernels
from s2s.codegen import value_types as types
from s2s.codegen.type_inference import NeedsNumba, Types, Unsupported, indices
from s2s.codegen.value_types import Array
from tests.s2s.codegen.machine_code import MATRIX, VECTOR


def inferred(text: str, *kinds: Any, prepare: Any = None) -> Types:
    (function,) = ast.parse(textwrap.dedent(text)).body
    assert isinstance(function, ast.FunctionDef)
    space = {"np": np, "rt": kernels, "__builtins__": vars(builtins)}
    return Types(function, space, kinds, prepare)


def refuse() -> None:
    raise NeedsNumba


def test_expressions() -> None:
    known = inferred(
        """
        def f(x, a, n):
            y = a[n]
            z = a[n, 0] * x[n]
            k = x.shape[0] // n
            flag = z > 1.0 and not n == 3
            w = np.float32(z)
            c = z if flag else 2.0
            b = np.empty((n, k), np.float32)
            v = b.reshape((n * k,))
            i = np.float64(k) / z
            e = -np.inf
            return (y, z, flag, w, v)
        """,
        VECTOR,
        MATRIX,
        types.int64,
        prepare=refuse,
    )
    single = Array(types.float32, 2, "C")
    assert {n: known.names[n] for n in "yzkwcbvie"} == {
        "y": VECTOR, "z": types.float64, "k": types.int64, "w": types.float32, "c": types.float64,
        "b": single, "v": single.with_rank(1), "i": types.float64, "e": types.float64,
    }  # fmt: skip
    assert known.names["flag"] == types.boolean
    assert known.results == (VECTOR, types.float64, types.boolean, types.float32,
                             single.with_rank(1))  # fmt: skip
    assert known.slots == set() and not known.awake


def test_names_that_need_memory() -> None:
    known = inferred(
        """
        def f(x, n):
            s = 0.0
            once = 1.0
            for i in range(n):
                s = s + x[i]
                inside = x[i] * once
                if inside > 0.0:
                    maybe = inside
            last = inside + maybe
            for i in range(n):
                s = s + last
            for j in range(n):
                s = s + 1.0
            k = j
            n = n + 1
            return (s, k, n)
        """,
        VECTOR,
        types.int64,
    )
    assert known.slots == {"s", "inside", "maybe", "j", "n"} and known.loops == {"i", "j"}


def test_arrays_of_one_name_may_be_read_only() -> None:
    known = inferred(
        "def f(x, n):\n    y = x\n    y = rt.lent(x)\n    return (y,)", VECTOR, types.int64
    )
    assert known.names["y"].readonly and "y" in known.slots


@pytest.mark.parametrize(
    "body",
    [
        "y = 1\n    y = 2.0", "y = x\n    y = 1.0", "y = x\n    y = np.empty((n, n), np.float64)",
        "y = x[1.0]", "y = unknown", "x[0].imag", "y = x and n", "y = n[0]",
        "y = 9223372036854775808",
        "y = None", "y = x[n][n]", "del x", "y = [1]", "y = x.size", "import os", "y = n and n",
        "for i in range(n):\n        pass\n    i = 2.0", "y = x.T",
        "z = np.empty((n,), np.float16)",
    ],
)  # fmt: skip
def test_what_is_left_to_numba(body) -> None:
    """As `Unsupported`, or as an error of the text that cannot occur in lowered source."""
    with pytest.raises((Unsupported, AttributeError, KeyError, AssertionError)):
        inferred(f"def f(x, n):\n    {body}\n    return (x,)", VECTOR, types.int64, prepare=refuse)


def test_a_write_to_a_part_of_an_array_is_refused() -> None:
    with pytest.raises(Unsupported, match="a part of an array"):
        inferred("def f(a, n):\n    a[n] = 1.0\n    return (n,)", MATRIX, types.int64)


def test_arguments_have_known_types() -> None:
    for kind in (types.Opaque("datetime64[s]"), Array(types.Opaque("S3"), 1, "C")):
        with pytest.raises(Unsupported):
            inferred("def f(x):\n    return (x,)", kind)
    with pytest.raises(ValueError):
        inferred("def f(x, y):\n    return (x,)", types.int64)


def test_equal_calls_are_resolved_once() -> None:
    known = inferred(
        "def f(x, y):\n    a = x * y\n    b = y * x\n    return (a * b, a + b)",
        types.float64,
        types.float64,
    )
    products = [c for n, c in known.calls.items() if isinstance(n.op, ast.Mult)]  # type: ignore
    assert len(products) == 3 and len({id(c) for c in products}) == 1


def test_integer_powers_keep_their_exponent() -> None:
    known = inferred("def f(x):\n    y = x ** 3\n    return (y,)", types.float64)
    (callee,) = known.calls.values()
    assert callee.args == (types.float64, types.Literal(3)) and callee.result == types.float64


def test_indices() -> None:
    for text, count in (("x[i]", 1), ("x[i, 2]", 2), ("x[i, j, k + 1]", 3)):
        node = ast.parse(text, mode="eval").body
        assert isinstance(node, ast.Subscript) and len(indices(node)) == count
