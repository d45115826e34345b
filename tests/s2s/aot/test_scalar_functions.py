"""Helper functions written as lowered source: they compute what Python does, once per module."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.aot import scalar_functions
from s2s.codegen import value_types as types
from s2s.codegen.llvm_utils import INT
from s2s.codegen.type_lowering import Context
from tests.s2s.codegen.machine_code import POINTER, address, emitted

TEXT = """
def last(words, n, bound):
    found = -1
    for i in range(n):
        if words[i] > bound:
            found = i
            words[i] = bound
    while True:
        if found > 100:
            break
        found = found * 2 + 1
        if found == -1:
            break
    return (found,)
"""
KINDS = [scalar_functions.INT64_VECTOR, types.int64, types.int64]


def write(builder: Any, words: Any, n: Any, bound: Any) -> Any:
    context = Context(lambda: pytest.fail("Numba is not needed"))
    made = scalar_functions.function(context, builder.module, TEXT, KINDS)
    assert scalar_functions.function(context, builder.module, TEXT, KINDS) is made
    assert made.name == "s2s.last" and made.linkage == "internal"
    return builder.call(made, [builder.bitcast(words, INT.as_pointer()), n, bound])


def test_equals_python() -> None:
    space: dict[str, Any] = {}
    exec(TEXT, space)
    run = emitted(INT, [POINTER, INT, INT], write)
    for n, bound in ((0, 3), (4, 3), (6, 3), (6, 10**9), (6, -(2**63))):
        words, other = (np.array([5, 1, 7, 2, 9, 3]) for _ in range(2))
        assert run(address(words), n, bound) == space["last"](other, n, bound)[0]
        np.testing.assert_array_equal(words, other)
