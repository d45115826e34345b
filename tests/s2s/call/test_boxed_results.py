"""The classes of results: what users get, and what is stored in objects."""

from __future__ import annotations

from typing import Any

import numpy as np

import s2s
from s2s.call.boxed_results import boxed_results


def compiled_of(f: Any, *args: Any) -> Any:
    f(*args)
    return f._specialiser(f._mode).latest.compiled


def test_scalars_and_arrays() -> None:
    @s2s.function(backend="loops")
    def f(x: Any, n: int) -> Any:
        return x + 1.0, x * 2.0, x[0] > 1.0, n + 1, np.float32(n), x[0] * 1j, np.int8(n)

    kinds = boxed_results(compiled_of(f, np.ones(3), 2))
    assert kinds == ["array", "array", "bool", "int", "float32", "complex128", "int8"]


def test_a_python_float_that_is_stored_remains_one() -> None:
    class Counter:
        total = 0.0

    counter = Counter()

    @s2s.function(backend="loops")
    def stored(x: float) -> Any:
        counter.total = counter.total + x
        return x * 2.0

    compiled = compiled_of(stored, 1.5)
    kinds = boxed_results(compiled)
    assert kinds[compiled.out.index] == "float64"
    ((_, _, tree),) = compiled.changes
    assert kinds[tree.index] == "float" and type(counter.total) is float
