"""Lowered code has equal results under Numba and CPython.  There are few functions with many
operations each, because compilation dominates the time."""

from __future__ import annotations

import numpy as np
import pytest

from s2s import kernels
from s2s.backends.build_kernel import build
from s2s.transforms.ir import nodes
from tests.s2s.codegen.entries import plain_entry

from .harness import agree, execute, lowered, strong
from .ops.test_scalar_ops import BINARY, FLOATS, INTEGER, INTS, UNARY

numba = pytest.importorskip("numba")


def compiled(f, *args, tol=1e-9, **options):
    """Compile a function, run it on both, and compare; return the compiled function."""
    text = lowered(f, *args, **options).text
    kernel = execute(text)["f"]
    fast = build(text, "f", tuple(map(numba.typeof, strong(args))), plain_entry(text, "f"))
    with np.errstate(all="ignore"):
        want = kernel(*strong(args))
    for g, w in zip(fast(*strong(args)), want, strict=True):
        agree(g, w, tol)
    return fast


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_elementwise(dtype):
    x = FLOATS.astype(dtype)
    for part in range(3):

        def f(b, x, y):
            ones = [b.emit(name, y) for name in UNARY[part::3]]
            return tuple(ones + [b.emit(name, x, y) for name in BINARY[part::3]])

        compiled(f, x[:, None].copy(), x, tol=1e-5)


def test_integers():
    x = INTS.astype("int32")

    def f(b, x, y):
        two = [b.emit(name, x, y) for name in INTEGER]
        wide = [b.emit(name, b.emit("cast", x, dtype="int64"), y) for name in INTEGER]
        one = [b.emit(name, x) for name in ("negative", "absolute", "sign", "square", "invert")]
        power = b.emit("power", x, b.emit("absolute", y))
        casts = [b.emit("cast", x, dtype=d) for d in ("bool", "float32", "int64")]
        return (*two, *wide, *one, power, *casts)

    compiled(f, x[:, None].copy(), x)


def arrays(b, x, w, t, i, rows, mask, n):
    """Operations of every kind, in groups that are small enough to compile quickly."""
    every = ("all",)
    yield (
        x @ w,
        b.emit("transpose", x, axes=(1, 0)) @ x,
        t @ b.emit("transpose", w, axes=(1, 0)),
        x @ b.emit("index", w, 0, items=(every, ("int", 1))),
        b.emit("einsum", t, w, subscripts="abc,bc->a"),
        b.emit("index", t, rows, items=(("array", 1), every, every)),
        b.emit("index", t, rows, i, items=(every, ("array", 1), ("int", 2))),
        b.emit("index", t, mask, items=(("mask", 1), every)),
    )
    yield (
        b.emit("index", t, i, -1, items=(("int", 1), every, ("slice", None, None, 2))),
        b.emit("index", x, n, i, items=(("slice", None, 1, None), ("slice", 2, None, None))),
        b.emit("index", x, i, i, i, items=(("slice", 1, None, 2), ("slice", None, None, 3))),
        b.emit("reshape", t, 12, 5),
        b.emit("reshape", b.emit("transpose", t, axes=(2, 0, 1)), 15, 4),
        b.emit("sum", t, axis=(1,), keepdims=True),
        b.emit("max", t, axis=(2,), keepdims=False),
        b.emit("argmax", t, axis=(0,), keepdims=False),
        b.emit("var", t, axis=None, keepdims=False, ddof=0),
    )
    yield (
        b.emit("any", mask, axis=(0,), keepdims=False),
        b.emit("cumsum", t, axis=1),
        b.emit("update_add", t, 1.5, rows, path=(("index", (("array", 2), every, every)),)),
        b.emit("update", t, 0.0, mask, path=(("index", (("mask", 2), every)),)),
        b.emit("update", t, 7.0, 60, path=(("reshape", (2,)), ("index", (every,)))),
        b.emit("arange", 0, n, 2, dtype="int64"),
    )
    yield (
        b.emit("linspace", 0.0, 1.0, n, endpoint=True, dtype="float64"),
        b.emit("eye", n, n, 0, dtype="float32"),
        b.emit("stack", x, x, axis=1),
        b.emit("concatenate", x, x, axis=0),
        b.emit("pack", i, n, shape=(2,), dtype="int64"),
        b.emit("zeros", n, 2, dtype="bool"),
        np.where(x > 0, x, 1.0),
    )


def test_arrays_of_any_layout():
    r = np.random.default_rng(0)
    x, w, t = r.normal(size=(6, 4)), r.normal(size=(4, 5)), r.normal(size=(3, 4, 5))
    rest = 1, np.array([0, 2, -1, 0]), r.normal(size=(3, 4)) > 0, 7
    for group in range(4):

        def f(b, *args):
            # Generators emit lazily, so operations of other groups are dead code.
            start = len(b.block)
            for k, results in enumerate(arrays(b, *args)):
                if k == group:
                    return results
                del b.block[start:]

        compiled(f, x, w, t, *rest)
        if group < 2:
            compiled(f, x[::2], np.asfortranarray(w), t[:, :, ::-1], *rest, asked=False)


def test_lists_errors_and_prints(capfd):
    def f(b, x, n):
        b.block.append(nodes.Print(("x is", x.operand, ("n=", (n.operand, "03d")))))
        items = b.emit("list_new", type=nodes.ListOf(x.type))
        items = b.emit("list_append", b.emit("list_append", items, x), x * 2.0)
        b.check(n < 5, "ValueError", "n is ", n)
        number = b.emit("index", x, n, items=(("int", 1),))
        return b.emit("list_stack", items), b.emit("list_get", items, 1), number

    fast = compiled(f, np.arange(3.0), 2)
    assert capfd.readouterr().out.endswith("x is [0. 1. 2.] n=002\n")
    with pytest.raises(IndexError, match="index out of bounds for axis 0"):
        fast(np.arange(3.0), 3)
    with pytest.raises(kernels.Failure) as failure:
        fast(np.arange(3.0), 7)
    assert failure.value.args == (0, 7)


def test_gemm():
    import s2s.kernels_numba.scalar  # noqa: F401

    @numba.njit
    def multiply(swap_a, swap_b, alpha, a, b, beta, c):
        kernels.gemm(swap_a, swap_b, alpha, a, b, beta, c)

    r = np.random.default_rng(1)
    for m, n, k in ((2, 3, 4), (20, 30, 40), (1, 1, 0), (0, 3, 2), (17, 1, 33), (9, 9, 0)):
        for swap_a in (False, True):
            for swap_b in (False, True):
                a = r.normal(size=(k, m) if swap_a else (m, k))
                b = r.normal(size=(n, k) if swap_b else (k, n))
                for alpha, beta in ((1.0, 0.0), (1.0, 1.0), (-0.5, 1.0)):
                    c = r.normal(size=(m, n)) if beta else np.full((m, n), np.nan)
                    want = c.copy()
                    kernels.gemm(swap_a, swap_b, alpha, a, b, beta, want)
                    multiply(swap_a, swap_b, alpha, a, b, beta, c)
                    np.testing.assert_allclose(c, want, rtol=1e-10, atol=1e-12)
