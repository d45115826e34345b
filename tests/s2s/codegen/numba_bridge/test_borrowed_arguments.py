"""Borrowed arguments: what is accepted, who owns memory, and that nothing is lost."""

# ruff: noqa: E402

from __future__ import annotations

import ast
import gc
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba")

import s2s
from s2s.backends.build_kernel import build
from s2s.codegen import value_types as types
from s2s.codegen.numba_bridge import borrowed_arguments, numba_intrinsic
from s2s.codegen.numba_bridge.borrowed_arguments import (
    ArrayArgument,
    Results,
    ScalarArgument,
    argument_types,
    is_borrowed,
    is_borrowing,
    plain,
)
from s2s.codegen.syntax_helpers import named
from s2s.codegen.type_inference import Types
from s2s.errors import ArgumentMismatch
from s2s.runtime import block_pool
from s2s.runtime.object_layout import is_layout_known
from s2s.transforms.frontend.pytree import describe
from tests.s2s.codegen.entries import plain_entry
from tests.s2s.codegen.machine_code import VECTOR, module_text

if not is_layout_known():
    pytest.skip("objects are laid out in another way", allow_module_level=True)

FLOAT = numba.types.float64
ARRAY = numba.types.Array(FLOAT, 1, "C")


def own_types(*examples: Any) -> tuple[Any, ...]:
    specs = [describe(e) for e in examples]
    return argument_types(specs, tuple(map(numba.typeof, examples)))


def entry_point(body: str, *examples: Any, parameters: str = "x, a") -> Any:
    """The entry point of a kernel with borrowed arguments."""
    text = module_text(f"def f({parameters}):\n    {body}\n")
    given = tuple(map(numba.typeof, examples))
    made = build(text, "f", given, plain_entry(text, "f"), own_types(*examples))
    assert is_borrowing(made)
    return next(iter(made.overloads.values())).entry_point


# ---------------------------------------------------------------- types


def test_types_of_parameters() -> None:
    given = (np.zeros((2, 3), np.float32).T, 1.5, 2, np.float32(1), np.int8(1), True, 1j)
    found = own_types(*given)
    assert found[0] == ArrayArgument(numba.types.float32, 2, "A")
    assert found[1:5] == (
        ScalarArgument(FLOAT, float), ScalarArgument(numba.types.int64, int),
        ScalarArgument(numba.types.float32, np.float32), ScalarArgument(numba.types.int8, np.int8),
    )  # fmt: skip
    # Others are unboxed by Numba.
    assert found[5:] == (numba.types.boolean, numba.types.complex128)
    assert [is_borrowed(t) for t in found] == [True] * 5 + [False] * 2
    assert plain(found[1]) == FLOAT and plain(found[0]) is found[0]


def test_types_differ_where_code_differs() -> None:
    """Numba keeps one instance per key, and the cache of machine code uses the text."""
    assert ArrayArgument(FLOAT, 1, "C") != ARRAY
    assert repr(ArrayArgument(FLOAT, 1, "C")) != repr(ARRAY)
    pairs = [
        (ArrayArgument(FLOAT, 1, "C"), ArrayArgument(FLOAT, 1, "C", readonly=True)),
        (ScalarArgument(FLOAT, float), ScalarArgument(FLOAT, np.float64)),
        (Results((FLOAT,), (None,)), Results((FLOAT,), ("float64",))),
        (Results((FLOAT,), (None,)), numba.types.Tuple((FLOAT,))),
    ]
    for a, b in pairs:
        assert a != b and repr(a) != repr(b) or str(a) != str(b)


def test_interpreters_with_another_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(borrowed_arguments, "is_layout_known", lambda: False)
    assert own_types(np.zeros(3), 1.5) == (ARRAY, FLOAT)


# ---------------------------------------------------------------- unboxing


def unusual_arrays() -> dict[str, Any]:
    x = np.arange(1.0, 5.0)
    unaligned = np.zeros(33, np.uint8)[1:].view(np.float64)

    class Own(np.ndarray):
        pass

    class Convertible:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return x

    return {
        "strided": np.zeros(8)[::2], "reversed": x[::-1], "unaligned": unaligned,
        "swapped": x.astype(x.dtype.newbyteorder()), "subclass": x.view(Own),
        "other dtype": x.astype(np.float32), "integers": x.astype(np.int64),
        "0-d": np.float64(1.0) + np.zeros(()), "2-d": x.reshape(2, 2), "list": [1.0, 2.0],
        "convertible": Convertible(), "scalar": 1.5, "none": None, "memory": memoryview(x),
        "masked": np.ma.masked_array(x), "copied dtype": x.astype(np.dtype("f8", copy=True)),
        "class": np.ndarray,
    }  # fmt: skip


@pytest.mark.parametrize("kind", [*unusual_arrays()])
def test_other_arrays_are_refused(kind: str) -> None:
    run = entry_point("return (x[0] * a,)", np.ones(2), 1.0)
    given = unusual_arrays()[kind]
    if kind == "copied dtype" and given.dtype is np.dtype("float64"):
        pytest.skip("NumPy keeps one instance of the dtype")
    before = sys.getrefcount(given)
    for _ in range(5):
        with pytest.raises(ArgumentMismatch, match=r"an argument is no array\(float64, 1d, C\)"):
            run(given, 2.0)
    assert sys.getrefcount(given) == before
    assert run(np.array([3.0]), 2.0) == (6.0,)


def test_readonly_arrays() -> None:
    x = np.ones(3)
    x.flags.writeable = False
    with pytest.raises(ArgumentMismatch):
        entry_point("return (x[0] * a,)", np.ones(2), 1.0)(x, 2.0)
    run = entry_point("return (x[0] * a,)", x, 1.0)
    assert run(x, 2.0) == (2.0,) and run(np.array([5.0]), 2.0) == (10.0,)


def test_strided_and_empty_arrays() -> None:
    run = entry_point("return (x[0] * a,)", np.zeros(6)[::2], 1.0)
    for x in (np.arange(4.0)[::-1], np.arange(4.0)[1::2], np.arange(4.0)):
        assert run(x, 2.0) == (2.0 * x[0],)
    length = entry_point("return (x.shape[0] * 1,)", np.zeros(3), 1.0)
    assert length(np.zeros(0), 1.0) == (0,) and length(np.zeros(7), 1.0) == (7,)
    zero = entry_point("return (x[()] * a,)", np.zeros(()), 1.0)
    assert zero(np.array(3.0), 2.0) == (6.0,)


@pytest.mark.parametrize(
    ("example", "others"),
    [
        (1.5, (np.float64(1.5), np.float32(1.5), 1, True, 1j, "1.5", np.array(1.5))),
        (2, (True, np.int64(2), 2.0)),
        (np.float32(1.5), (1.5, np.float64(1.5), np.float16(1.5), 1)),
        (np.uint8(200), (200, np.int8(1), 1.0)),
    ],
)
def test_scalars_are_of_exactly_one_class(example: Any, others: Any) -> None:
    run = entry_point("return (a,)", np.ones(2), example)
    assert run(np.ones(2), example) == (example,)
    for other in others:
        before = sys.getrefcount(other)
        with pytest.raises(ArgumentMismatch, match=f"is no {type(example).__name__}"):
            run(np.ones(2), other)
        assert sys.getrefcount(other) == before


def test_integers_that_do_not_fit() -> None:
    run = entry_point("return (a,)", np.ones(2), 2)
    with pytest.raises(OverflowError):
        run(np.ones(2), 2**63)
    assert run(np.ones(2), -(2**63)) == (-(2**63),)


def test_the_wrong_number_of_arguments() -> None:
    run = entry_point("return (a,)", np.ones(2), 2)
    for args in ((), (np.ones(2),), (np.ones(2), 1, 1)):
        with pytest.raises(TypeError):
            run(*args)


# ---------------------------------------------------------------- ownership


def in_use() -> int:
    """The memory of results, in bytes: arrays of 16 KiB and more are blocks of the pool."""
    gc.collect()
    return block_pool.usage()["in_use"]


@s2s.value_and_grad
def risky(x: Any, n: int) -> Any:
    h = np.exp(x)
    s = 0.0
    for i in range(n):
        s += h[i] * x[i]
    return s


def test_nothing_is_lost_in_calls_errors_and_refusals() -> None:
    x, strided, unaligned = np.ones(4000), np.ones(8000)[::2], np.zeros(32001, np.uint8)[1:]
    unaligned = unaligned.view(np.float64)
    n = 7

    def calls() -> None:
        for given in (x, strided, unaligned):
            risky(given, n)
            with pytest.raises(IndexError):
                risky(given, 4001)

    for _ in range(3):
        calls()
    before = in_use(), *map(sys.getrefcount, (x, strided, unaligned))
    for _ in range(20):
        calls()
    assert (in_use(), *map(sys.getrefcount, (x, strided, unaligned))) == before


def test_results_own_their_memory() -> None:
    x = np.arange(1.0, 4.0)
    for _ in range(3):
        value, gradient = risky(x, 3)
        copy = gradient.copy()
        assert not np.shares_memory(gradient, x) and gradient.flags.writeable
        x[...] += 1.0
        del x
        gc.collect()
        np.testing.assert_array_equal(gradient, copy)
        x = np.arange(1.0, 4.0)
    assert len(x) == 3 and type(value) is np.float64 and sys.getrefcount(value) == 2


def test_numpy_scalars_of_all_kinds() -> None:
    f = s2s.function(lambda x: (x + 1, x * np.float32(2), x * 1j, np.int8(x), x > 1, int(x)))
    kept = []
    for i in range(300):
        found = f(float(i % 100))
        assert found == (i % 100 + 1, 2 * (i % 100), (i % 100) * 1j, i % 100, i % 100 > 1, i % 100)
        kinds = [np.float64, np.float32, np.complex128, np.int8, bool, int]
        assert [type(v) for v in found] == kinds
        assert all(sys.getsizeof(v) == sys.getsizeof(type(v)(1)) for v in found[:4])
        kept.append(found[i % 6])
    del kept
    gc.collect()


def test_threads() -> None:
    """One kernel in eight threads, each with arrays of its own."""
    expected: dict[int, Any] = {}
    arrays = {t: np.full(3000 + t, 0.1 * t) for t in range(8)}
    for t, x in arrays.items():
        expected[t] = risky(x, 50)
    wrong: list[Any] = []

    def run(t: int) -> None:
        for i in range(100):
            value, gradient = risky(arrays[t], 50)
            if value != expected[t][0] or (gradient != expected[t][1]).any():
                wrong.append((t, i))
            if i % 50 == 0:
                with pytest.raises(IndexError):
                    risky(arrays[t], 3010)

    before = in_use()
    threads = [threading.Thread(target=run, args=(t,)) for t in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and in_use() == before


# ---------------------------------------------------------------- returned arguments


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return (x[0],)", False),
        ("return (x,)", True),
        ("y = x\n    return (y, 1.0)", True),
        ("y = x\n    z = y\n    return (x[0], z)", True),
        ("y = np.empty((x.shape[0],), np.float64)\n    return (y,)", False),
        ("y = x\n    n = y.shape[0]\n    return (n,)", False),
        ("if x[0] > 0.0:\n        y = x\n    else:\n        y = np.empty((3,), np.float64)\n"
         "    return (y,)", True),
    ],
)  # fmt: skip
def test_whether_an_argument_may_be_returned(body: str, expected: bool) -> None:
    text = module_text(f"def f(x):\n    {body}\n")
    function = named(ast.parse(text), "f")
    known = Types(function, {"np": np}, (VECTOR,))
    assert numba_intrinsic.may_return_argument(function, known, 1) is expected
    assert not numba_intrinsic.may_return_argument(function, known, 0)


def test_returned_arguments_are_not_borrowed() -> None:
    text = module_text("def f(x):\n    return (x,)\n")
    made = build(text, "f", (ARRAY,), plain_entry(text, "f"), own_types(np.ones(2)))
    assert made.signatures == [(ARRAY,)] and not is_borrowing(made)
    x = np.arange(3.0)
    (found,) = made(x)
    assert np.shares_memory(found, x)
    del x
    gc.collect()
    assert found.tolist() == [0.0, 1.0, 2.0]


def test_types_of_the_code_generator() -> None:
    text = module_text("def f(x, a):\n    return (a,)\n")
    kinds = numba_intrinsic.kinds_of(plain_entry(text, "f"), own_types(np.ones(2), np.int8(1)))
    assert kinds == (types.Array(types.float64, 1, "C"), types.NUMBERS["int8"])


# ---------------------------------------------------------------- in other processes, in Numba


def test_functions_of_users_call_kernels_with_arrays_and_scalars() -> None:
    f = s2s.value_and_grad(lambda x, a, n: np.sum(x * x) * a**n, wrt=("x", "a"))
    f(np.ones(2), 2.0, 3)
    kernel = f.compiled
    assert is_borrowing(kernel)

    @numba.njit
    def both(x: Any, a: Any, n: Any) -> Any:
        value, x_bar, a_bar = kernel(x, a, n)
        return value + x_bar[0] + a_bar, x_bar

    x = np.append([1.0, 2.0], np.zeros(3000))
    before = in_use()
    found, x_bar = both(x, 2.0, 3)
    assert found == 5 * 8 + 2 * 8 + 5 * 3 * 4
    np.testing.assert_array_equal(x_bar, 16 * x)
    del x_bar
    assert in_use() == before


def test_machine_code_in_the_cache(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import numpy as np, s2s\n"
        "f = s2s.value_and_grad(lambda x, a: np.sum(x * x) * a)\n"
        "for _ in range(3):\n"
        "    value, bar = f(np.arange(3.0), 2.0)\n"
        "print(repr(value), bar, f.compiled.signatures)\n"
        "print(f(np.arange(6.0)[::2], 2.0)[0], sum(f.compiled.stats.cache_hits.values()))\n"
    )
    environment = {**os.environ, "S2S_CACHE_DIR": str(tmp_path / "cache"), "S2S_BACKEND": "numba"}
    found = []
    for _ in "cold", "warm":
        done = subprocess.run(
            [sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True,
            text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.splitlines())
    assert found[0][0] == found[1][0] and "ArrayArgument" in found[0][0]
    assert [lines[1].split()[1] for lines in found] == ["0", "1"]
