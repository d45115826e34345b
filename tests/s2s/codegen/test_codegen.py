"""Lowered source, compiled without Numba, has the results of CPython."""

# ruff: noqa: E402

from __future__ import annotations

import ast
import textwrap

import numpy as np
import pytest

from s2s import kernels
from s2s.backends.build_kernel import build, jit_helpers, load, register_runtime_functions
from s2s.codegen.options import OPTIONS

numba = pytest.importorskip("numba")
from numba.core.runtime import _nrt_python, rtsys

import s2s.kernels_numba.scalar  # noqa: F401  (tells Numba what lowered code calls)
from s2s.codegen import value_types
from s2s.codegen.numba_bridge import numba_intrinsic
from s2s.codegen.partition.outline_nests import Plan
from s2s.codegen.type_inference import (
    Types,
    Unsupported,
)
from tests.s2s.codegen.entries import plain_entry

HEADER = "import numpy as np\n\nfrom s2s import kernels as rt\n\n\n"


def module_text(text: str) -> str:
    return HEADER + textwrap.dedent(text).lstrip("\n")


def kernel(text: str, *args):
    """The compiled function and its interpreted form; Numba must not compile the whole function."""
    text = module_text(text)
    module, plain = (load("_s2s_plain", text) for _ in "ab")
    jit_helpers(module, "f")
    register_runtime_functions(text)
    space = vars(module)
    body = numba_intrinsic.body(text, "f", space, plain_entry(text, "f"), lambda: None)
    names = ", ".join("abcdefgh"[: len(args)])
    made = {"body": body}
    exec(f"def call({names}):\n    return body({names})\n", made)
    fast = numba.njit(made["call"], **OPTIONS)
    fast.compile(tuple(map(numba.typeof, args)))
    return fast, plain.f


def agree(text: str, *args):
    fast, slow = kernel(text, *args)
    ours = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
    got, want = fast(*args), slow(*ours)
    assert len(got) == len(want)
    for g, w in zip((*got, *args), (*want, *ours)):
        np.testing.assert_allclose(g, w, rtol=1e-12)
        if isinstance(g, np.ndarray):  # Numba returns Python scalars
            assert g.dtype == w.dtype
    return fast


def test_loops():
    agree(
        """
        def f(n, step):
            s = np.int64(0)
            for i in range(n):
                s = s * 3 + i
            for i in range(n, -1, -1):
                s = s * 3 + i
            for i in range(2, 2):
                s = s * 7
            for i in range(n, n + 20 * step, step):
                s = s + i
                if s > 1000000:
                    break
            last = i
            k = np.int64(0)
            while True:
                k = k + 1
                if k >= n or k == 100:
                    break
            for i in range(n):
                for j in range(i):
                    if j == 3:
                        break
                    s = s + j
            return (s, last, k, i)
        """,
        np.int64(7),
        np.int64(-3),
    )


def test_choices():
    x = np.array([1.5, -2.0, np.nan, np.inf])
    agree(
        """
        def f(x, n):
            s = np.float64(0.0)
            k = np.int64(0)
            for i in range(-2, n + 2):
                s = s + (np.float64(2.0) if i < 0 or i >= n or x[i] != x[i] else abs(x[i]))
                if i >= 0 and i < n and not x[i] > 0.0:
                    k = k + 1
                elif i == n:
                    k = k + 10
                else:
                    k = k + (100 if i > 0 else 1000)
            one = np.float32(1.0) if k > 3 else np.float32(2.0)
            both = x[0] > 0.0 and x[1] > 0.0
            return (s, k, one, both, np.inf, -np.inf, -k, n ** 3, x[1] ** 2, n // 3, n % 3)
        """,
        x,
        np.int64(4),
    )


def test_arrays_of_any_layout_and_type():
    x = np.arange(24.0).reshape(4, 6)
    read_only = np.arange(3)
    read_only.setflags(write=False)
    agree(
        """
        def f(a, b, c, flags, out):
            t = np.empty((b.shape[0], b.shape[1]), np.float64)
            m = np.empty((c.shape[0],), np.bool_)
            for i in range(b.shape[0]):
                for j in range(b.shape[1]):
                    t[i, j] = a[i, j] + b[i, j]
            flat = t.reshape((b.shape[0] * b.shape[1],))
            for i in range(c.shape[0]):
                m[i] = flags[i] and c[i] > 0
                flat[i] += c[i]
                out[i] = np.float32(flat[i])
            number = np.empty((), np.float64)
            number[()] = flat[0]
            return (t, flat, m, number[()], number, c)
        """,
        x[:, ::2],
        np.asfortranarray(x[:, :3]),
        read_only,
        np.array([True, False, True]),
        np.zeros(3, np.float32),
    )


def test_functions_in_both_precisions():
    text = """
    def f(x, y):
        a = np.log2(x) + np.exp2(x) + np.sin(x)
        b = np.log2(y) + np.exp2(y) + np.sin(y)
        return (np.float64(a) - b,)
    """
    fast, _ = kernel(text, np.float32(1.5), np.float64(1.5))
    assert abs(fast(np.float32(1.5), np.float64(1.5))[0]) < 1e-6


def test_variables_that_are_bound_again():
    text = """
    def f(x, n):
        a = np.empty((2,), np.float64)
        a[0] = x[0]
        a[1] = x[1]
        old = a
        for k in range(n):
            b = np.empty((2,), np.float64)
            b[0] = a[1] + k
            b[1] = a[0] * 0.5
            old = a
            a = b
        return (a, old)
    """
    for n in (0, 1, 5):
        agree(text, np.array([1.0, 2.0]), n)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_products(dtype):
    text = """
    def f(a, b, c, d, one, zero, n):
        for k in range(n):
            rt.gemm(False, False, one, a[k], b, zero, c[k])
            rt.gemm(False, True, one, a[k], b, one, c[k])
            rt.gemm(True, False, one, a[k], b, one, c[k])
        rt.gemm(True, True, one, a[0], b, zero, d)
        return ()
    """
    rng = np.random.default_rng(0)
    for size in (3, 20):
        a, c = (rng.integers(-9, 9, (2, size, size)).astype(dtype) for _ in range(2))
        b, d = (rng.integers(-9, 9, (size, size)).astype(dtype) for _ in range(2))
        c[0, 0, 0] = d[0, 0] = 3
        type_ = np.dtype(dtype).type
        agree(text, a, b, c, d, type_(1), type_(0), 2)


# ---------------------------------------------------------------- errors and memory

FAILING = """
    def f(x, n):
        a = np.empty((n,), np.float64)
        for i in range(n):
            a[i] = np.float64(i)
        b = a.reshape((n, 1))
        if x.shape[0] == 1:
            raise ValueError("too short")
        if x.shape[0] == 2:
            raise rt.Failure(7, n, x[0])
        for i in range(n):
            if i >= x.shape[0]:
                raise IndexError("too far")
            a[i] = x[i]
        return (b, a[0])
    """


def test_errors_carry_values_and_leave_no_memory_behind():
    x = np.arange(4.0)
    fast, _ = kernel(FAILING, x, 3)
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    assert fast(x, 3)[0][2, 0] == 2.0
    with pytest.raises(ValueError, match="too short"):
        fast(x[:1], 3)
    with pytest.raises(kernels.Failure) as info:
        fast(x[:2], 3)
    assert info.value.args == (7, 3, 0.0)
    with pytest.raises(IndexError, match="too far"):
        fast(x, 5)
    for n in (-1, 2**61):
        with pytest.raises(MemoryError):
            fast(x, n)
    after = rtsys.get_allocation_stats()
    # Numba itself leaks references to the arguments of a failing call.
    failed = 5
    assert after.alloc - before.alloc - (after.free - before.free) <= failed
    assert after.mi_alloc - before.mi_alloc - (after.mi_free - before.mi_free) <= failed


def test_a_kernel_that_always_fails():
    text = """
        def f(x):
            a = np.empty((2,), np.float64)
            raise ValueError("never")
            a[0] = x[0]
            return (a, x[0])
        """
    fast, _ = kernel(text, np.ones(2))
    with pytest.raises(ValueError, match="never"):
        fast(np.ones(2))


# ---------------------------------------------------------------- large kernels


def stacked(blocks: int, constant: str) -> str:
    lines = ["def f(x, n):", "    s = np.float64(1.0)"]
    lines.append("    t_0 = np.empty((n,), np.float64)")
    lines += ["    for i in range(n):", "        t_0[i] = x[i]"]
    for k in range(1, blocks):
        lines += [
            f"    t_{k} = np.empty((n,), np.float64)",
            "    for i in range(n):",
            f"        if i >= {7 if k == 1 else 9}:",
            "            raise IndexError('no more')",
            f"        u_{k} = t_{k - 1}[i] * {constant.format(k)}",
            f"        s = s * 0.5 + u_{k}",
            f"        t_{k}[i] = u_{k} + np.sin(s)",
        ]
    return "\n".join([*lines, f"    return (s, t_{blocks - 1})"])


def test_nests_that_differ_in_names_only_are_compiled_once():
    x = np.arange(4.0)
    same = agree(stacked(12, "0.5"), x, 4)
    distinct = agree(stacked(12, "0.{}"), x, 4)
    (ours,), (others,) = same.inspect_llvm().values(), distinct.inspect_llvm().values()
    assert ours.count("define internal") + 8 < others.count("define internal")
    with pytest.raises(IndexError, match="no more"):
        same(np.arange(9.0), 8)


CARRIED = """def f(x, seed, scale, n):
    for k in range(n):
        a = np.empty((n,), np.float64)
        for i in range(n):
            if i == k:
                once = seed * 0.5
            seed = seed + once
            a[i] = seed
            x[i] = a[i]
"""


def test_numbers_that_a_nest_changes():
    lines = [f"    t_{k} = x[{k % 4}] + {k}.0\n    x[1] = t_{k}\n" for k in range(25)]
    lines += ["    for i in range(n):\n        seed = seed * 1.5\n"]
    lines += ["    for i in range(n):\n        x[i] += seed * scale\n        scale = scale * 0.5\n"]
    agree(CARRIED + "".join(lines) + "    return ()\n", np.arange(4.0), 0.5, 3.0, 4)


def test_small_arrays_of_a_nest_lie_in_it():
    """Small arrays are allocated on the stack of a nest."""
    small = """
    for i in range(n):
        d_{1} = np.empty(({0},), np.float64)
        for j in range(3):
            d_{1}[j] = x[i] * (j + 1)
        for j in range(3):
            s = s + d_{1}[j] * {1}.0
"""

    def compiled(*more):
        lines = [small.format(3, k) for k in range(12)]
        text = "".join(["def f(x, s, n):\n", *lines, *more, "    return (s,)\n"])
        (made,) = agree(text, np.arange(4.0), 0.5, 4).inspect_llvm().values()
        return made

    assert "nest.11(" in compiled() and "nest.12(" not in compiled()
    # An array that is large, or read elsewhere, is not.
    assert "nest.13(" in compiled(small.format(300, 12))
    assert "nest.13(" in compiled(small.format(3, 12), "    s = s + d_12[0]\n")


def test_other_functions_are_called():
    agree(
        """
        def g(x, depth):
            if depth == 0:
                return (x[0] * 2.0, x)
            a, b = g(rt.lent(x), depth - 1)
            c = np.empty((b.shape[0],), np.float64)
            for i in range(b.shape[0]):
                c[i] = b[i] * a
            return (a + c[0], c)

        def f(x):
            y, z = g(rt.lent(x), 3)
            return (y, z)
        """,
        np.array([1.5, 2.0]),
    )


def test_draws_of_a_generator():
    import s2s.kernels_numba.random  # noqa: F401  (tells Numba how to draw)

    text = """
    def f(rng, n):
        x = np.empty((n,), np.float64)
        rt.draws.fill_standard_normal(rng, x)
        y = rt.draws.one_standard_gamma(rng, 2.5)
        return (x, y)
    """
    fast, slow = kernel(text, np.random.default_rng(3), 4)
    got, want = (f(np.random.default_rng(3), 4) for f in (fast, slow))
    np.testing.assert_array_equal(got[0], want[0])
    assert got[1] == want[1]


def test_print(capfd):
    text = """
    def f(x):
        rt.show("{} and {}", "float64 array", x[0], x)
        return (x[1],)
    """
    fast, _ = kernel(text, np.array([1.0, 2.0]))
    assert fast(np.array([1.0, 2.0])) == (2.0,)
    assert capfd.readouterr().out == "1.0 and [1. 2.]"


def test_what_is_out_of_reach_is_left_to_numba():
    text = """
    def f(x):
        y = 1
        y = x * 2.0
        return (y,)
    """
    with pytest.raises(Unsupported):
        kernel(text, 2.0)
    whole = module_text(text)
    assert build(whole, "f", (numba.float64,), plain_entry(whole, "f"))(2.0) == (4.0,)


def test_small_arrays_keep_apart_what_is_read_later():
    agree(
        """
        def g(x):
            return (x, x[0] + 1.0)

        def f(n):
            last = np.empty((2,), np.float64)
            last[0] = 1.0
            last[1] = 2.0
            out = np.empty((3,), np.float64)
            total = np.float64(0.0)
            for i in range(n):
                a = np.empty((2,), np.float64)
                a[0] = last[1]
                a[1] = last[0] + i
                b = np.empty((2,), np.float64)
                b[0] = a[0] * 2.0
                b[1] = a[1]
                last = b
                kept = np.empty((3,), np.float64)
                kept[0] = total
                same, more = g(rt.lent(kept))
                total = total + more + same[0] + a[0]
            out[0] = last[0]
            out[1] = last[1]
            out[2] = total
            return (out, last)
        """,
        4,
    )


def test_what_is_only_read_is_kept_across_writes():
    """Elements of `x` stay in registers; those of `y`, which is written, and of `z`, which has an
    alias, do not."""
    fast = agree(
        """
        def f(x, y, z, out):
            w = z
            for i in range(x.shape[0]):
                out[i] = x[i] * y[i] + w[i]
                y[i] = x[i] + z[i]
                w[i] = x[i]
            return (np.float64(0.0),)
        """,
        *(np.arange(1.0, 6.0) * k for k in range(1, 5)),
    )
    (text,) = fast.inspect_llvm().values()
    loads = [line for line in text.splitlines() if " load double" in line]
    assert any("!invariant.load" in line for line in loads)
    assert not all("!invariant.load" in line for line in loads)


def test_arrays_given_lie_apart_but_for_those_with_two_names():
    text = module_text(
        """
        def f(x, y, z, out):
            w = z
            for i in range(x.shape[0]):
                out[i] = x[i] * y[i] + w[i]
                y[i] = x[i] + z[i]
            return (np.float64(0.0),)
        """
    )
    module = load("_s2s_plain", text)
    (function,) = ast.parse(text).body[2:]
    assert isinstance(function, ast.FunctionDef)
    vector = value_types.Array(value_types.float64, 1, "C")
    known = Types(function, vars(module), (vector,) * 4)
    plan = Plan(function, known)
    assert plan.given == {"x", "y", "out"}
    assert plan.unaliased(["x", "w", "out"]) == {"x", "out"}
