"""A kernel as a module: its calling convention, listings, errors, and overlap."""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np
import pytest

from s2s.codegen import value_types as types
from s2s.codegen.kernel_module import (
    KERNEL,
    argument_types,
    is_brief,
    listing,
    optimised_module,
    result_types,
)
from s2s.codegen.syntax_helpers import named
from s2s.codegen.type_inference import Unsupported
from s2s.codegen.type_lowering import Context
from s2s.errors import Overlap
from tests.s2s.codegen.machine_code import VECTOR, KernelError, kernel, kernel_source

ADDED = """
    def f(x, y, a):
        for i in range(x.shape[0]):
            y[i] = y[i] + a * x[i]
        if a > 100.0:
            raise ValueError("large", a, x.shape[0], "text")
        return (y[0],)
"""
KINDS = (VECTOR, VECTOR, types.float64)


@pytest.fixture(scope="module")
def added():
    return kernel(ADDED, *KINDS, written=[1])


def test_arrays_are_passed_as_their_parts(added) -> None:
    x, y = np.arange(1.0, 5.0), np.ones(4)
    assert added(x, y, 2.0) == [3.0] and y.tolist() == [3.0, 5.0, 7.0, 9.0]
    context = Context(lambda: pytest.fail("Numba is not needed"))
    strided = types.Array(types.float64, 2, "A")
    assert len(argument_types(context, strided)) == 5 and len(result_types(context, strided)) == 6
    assert len(argument_types(context, types.boolean)) == 1


def test_overlap_is_an_error_before_anything_is_written(added) -> None:
    block = np.ones(8)
    for x, y in ((block[:4], block[3:7]), (block, block), (block[2:6], block[:4])):
        with pytest.raises(KernelError) as raised:
            added(x, y, 2.0)
        assert raised.value.args == (Overlap, ())
    assert (block == 1.0).all()
    added(block[:4], block[4:], 2.0)
    assert block.tolist() == [1.0] * 4 + [3.0] * 4


def test_errors_tell_values(added) -> None:
    for a in (101.5, math.inf):
        with pytest.raises(KernelError) as raised:
            added(np.ones(3), np.ones(3), a)
        assert raised.value.args == (ValueError, ("large", a, 3, "text"))


def test_listings() -> None:
    source = kernel_source(ADDED, *KINDS)
    text = listing(source, "llvm")
    assert f"@{KERNEL}(" in text and "define" in text
    assert KERNEL in listing(kernel_source(ADDED, *KINDS), "asm")


def test_equal_input_gives_equal_modules() -> None:
    texts = {str(optimised_module(kernel_source(ADDED, *KINDS), [1])) for _ in range(2)}
    assert len(texts) == 1


def test_text_that_needs_numbas_front_end_is_refused() -> None:
    with pytest.raises(Unsupported):
        kernel_source("def f(x):\n    y = [x]\n    return (y[0],)", types.float64)


def brief(text: str, *kinds: Any) -> bool:
    return is_brief(named(ast.parse(text), "f"), kinds)


def test_scalar_arithmetic_keeps_the_lock_of_the_interpreter() -> None:
    assert brief("def f(x):\n    return (x * np.sin(x),)", types.float64)
    assert not brief("def f(x):\n    return (x[0],)", VECTOR)
    assert not brief(
        "def f(n):\n    for i in range(n):\n        pass\n    return (n,)", types.int64
    )
    assert not brief("def f(n):\n    while True:\n        break\n    return (n,)", types.int64)
    assert not brief("def f(n):\n    (a,) = helper(n)\n    return (a,)", types.int64)
