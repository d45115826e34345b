"""Builds a function from operations, lowers it and runs it under CPython."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import s2s.transforms.rules  # noqa: F401  (fills the tables)
from s2s.kernels import Failure
from s2s.transforms.bufferize.bufferize import bufferize
from s2s.transforms.ir import nodes
from s2s.transforms.ir.builder import Builder, NameSupply, Sym
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.lower.lower import LoweredModule, lower


def param(name: str, value: Any) -> nodes.Var:
    if isinstance(value, np.ndarray) and value.dtype.names:
        fields = tuple((n, value.dtype[n].name) for n in value.dtype.names)
        dims = tuple(Dim.of(f"{name}.{k}") for k in range(value.ndim))
        return nodes.Var(name, nodes.Record(fields, dims), name)
    if isinstance(value, np.ndarray):
        layout = "C" if value.flags.c_contiguous else "A"
        dims = tuple(Dim.of(f"{name}.{k}") for k in range(value.ndim))
        return nodes.Var(name, nodes.Array(value.dtype.name, dims, layout), name)
    dtype = np.asarray(value).dtype.name
    known = Dim.of(name) if dtype == "int64" else None
    return nodes.Var(name, nodes.Scalar(dtype, value=known), name)


def build(
    f: Callable[..., Any], args: Sequence[Any], asked: bool, notes: dict[str, Any]
) -> tuple[nodes.Module, Facts]:
    """`f(b, *syms)` emits operations and returns the result or a tuple of them.  `asked`: relations
    of sizes are read off the arguments, as in a call."""
    names = ["abcdefgh"[i] for i in range(len(args))]
    params = [param(n, a) for n, a in zip(names, args)]
    sizes = {
        f"{n}.{k}": size
        for n, a in zip(names, args)
        if isinstance(a, np.ndarray)
        for k, size in enumerate(a.shape)
    }
    facts = Facts(sizes if asked else None)
    b = Builder(NameSupply(names), facts)
    out = f(b, *(Sym(b, p) for p in params))
    outs = out if isinstance(out, tuple) else (out,)
    results = [b.sym(o).operand for o in outs]
    function = nodes.Function("f", params, b.block, results, notes=dict(notes))
    return nodes.Module({"f": function}, "f"), facts


def lowered(
    f: Callable[..., Any],
    *args: Any,
    asked: bool = True,
    boundscheck: bool = True,
    **notes: Any,
) -> LoweredModule:
    module, facts = build(f, args, asked, notes)
    return lower(bufferize(module, for_lowering=True), facts, boundscheck=boundscheck)


def strong(args: Sequence[Any]) -> list[Any]:
    return [a if isinstance(a, np.ndarray) else np.asarray(a)[()] for a in args]


def execute(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(compile(text, "<lowered>", "exec"), space)
    return space


def phrased(kernel: LoweredModule, failure: Failure) -> Exception:
    site, *values = failure.args
    exception, parts = kernel.failures[site]
    told = "".join(str(values.pop(0)) if p is None else p for p in parts)
    return getattr(builtins, exception, np.linalg.LinAlgError)(told)


def run(f: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The results of lowered `f`; a single result without a tuple."""
    kernel = lowered(f, *args, **options)
    with np.errstate(all="ignore"):
        try:
            out = execute(kernel.text)["f"](*strong(args))
        except Failure as failure:
            raise phrased(kernel, failure) from None
    return out[0] if len(out) == 1 else out


def check(f: Callable[..., Any], reference: Callable[..., Any], *args: Any, tol: float = 0) -> None:
    """Check that lowered code agrees with NumPy in values, shape and dtype, with and without known
    relations of sizes, and does not modify its arguments."""
    with np.errstate(all="ignore"):
        want = reference(*strong(args))
    wants = want if isinstance(want, tuple) else (want,)
    for asked in (True, False):
        given = [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args]
        given = [_like(a, g) for a, g in zip(args, given)]
        got = run(f, *given, asked=asked)
        gots = got if isinstance(want, tuple) else (got,)
        for g, w in zip(gots, wants, strict=True):
            agree(g, w, tol)
        for g, a in zip(given, args):
            np.testing.assert_array_equal(g, a)


def _like(a: Any, copy: Any) -> Any:
    """The copy with a memory layout like that of the original."""
    if isinstance(a, np.ndarray) and not a.flags.c_contiguous:
        wide = np.empty((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)[..., ::2]
        wide[...] = a
        return wide if not wide.flags.c_contiguous else copy
    return copy


def agree(got: Any, want: Any, tol: float = 0) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, (got.shape, want.shape)
    assert got.dtype == want.dtype, (got.dtype, want.dtype)
    exact = want.dtype.kind != "f"
    eps = 0 if exact else float(np.finfo(want.dtype).eps)
    np.testing.assert_allclose(got, want, rtol=max(tol, 8 * eps), atol=max(tol, 8 * eps))
