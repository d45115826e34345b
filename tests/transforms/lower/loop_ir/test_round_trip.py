"""The parser inverts the printer, on single statements and on the lowered corpus."""

from __future__ import annotations

import copy
import os
import types
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from s2s.transforms import pipeline
from s2s.transforms.ir.quote import python_comment
from s2s.transforms.lower.loop_ir import nodes as L
from tests.corpus import load
from tests.corpus.known import KNOWN
from tests.judge import transform
from tests.transforms.lower.loop_ir_parser import ParseError, parse, types_of
from tests.transforms.lower.loop_ir_text import dedented, expr, ir, text

I, N = L.Name("i"), L.Name("n")  # noqa: E741
X = L.Name("x", "float64")


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("s = np.float32(0.5)", L.Let("s", L.Lit(0.5, "float32"))),
        ("s = np.float64(-0.0)", L.Let("s", L.Lit(-0.0, "float64"))),
        ("s = np.float64(-np.inf)", L.Let("s", L.Lit(-np.inf, "float64"))),
        (
            "s = np.complex64(complex(1.0, -2.0))",
            L.Let("s", L.Lit(1 - 2j, "complex64")),
        ),
        ("t = np.empty((n, 2), np.bool_)", L.Alloc("t", "bool", (N, L.lit(2)))),
        ("t = np.empty((), np.int8)", L.Alloc("t", "int8", ())),
        ("v = b.reshape((n,))", L.View("v", "b", (N,))),
        ("b[()] += 1.0", L.Store("b", (), L.Lit(1.0, "float64"), add=True)),
        ("raise ValueError(\"a \\\"b\\\"\\n\")", L.Fail("ValueError", 'a "b"\n')),
        ("raise rt.Failure(3, i)", L.Fail("Failure", "", 3, (I,))),
        ("rt.reserve(n)", L.Call("rt.reserve", (N,))),
        ("g = rt.draws.default_rng(n)", L.CallBuffers(("g",), "rt.draws.default_rng", (N,))),
        ("(p, q) = g(i)", L.CallRoutine(("p", "q"), "g", (I,))),
        ("(p,) = g()", L.CallRoutine(("p",), "g", ())),
        ("g()", L.CallRoutine((), "g", ())),
        ("return (i,)", L.Return((I,))),
        ("return ()", L.Return(())),
    ],
)  # fmt: skip
def test_statements(source, want):
    body = ir(source)
    assert body == [want]
    assert text(body) == source


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("i - 1", L.sub(I, L.ONE)),
        ("-i", L.Un("-", I, "int64")),
        ("not i < n", L.Un("not", L.Bin("<", I, N, "bool"), "bool")),
        ("a.shape[1]", L.Size("a", 1)),
        ("a[i, 0]", L.Load("a", (I, L.ZERO), "float64")),
        ("a[i]['n']", L.Field(L.Load("a", (I,), "float64"), "n", "int32")),
        ("x if n else x", L.Select(N, X, X, "float64")),
        ("np.int8(k + k)", L.Bin("+", L.Name("k", "int8"), L.Name("k", "int8"), "int8")),
        ("np.int8(i + i)", L.Cast(L.Bin("+", I, I, "int64"), "int8")),
        ("np.float32(i)", L.Cast(I, "float32")),
        ("x ** 2", L.Bin("**", X, L.lit(2), "float64")),
        ("np.isnan(x)", L.Apply("np.isnan", (X,), "bool")),
        ("abs(z)", L.Apply("abs", (L.Name("z", "complex64"),), "float32")),
        ("rt.to_int(x)", L.Apply("rt.to_int", (X,), "int64")),
    ],
)  # fmt: skip
def test_expressions(source, want):
    types = {"x": "float64", "k": "int8", "z": "complex64", ".n": "int32"}
    assert expr(source, **types) == want


def test_operators_associate_as_printed():
    for source in ("i - (n - i)", "i - n - i", "-i ** 2", "(-i) ** 2", "p and (p or p) and p"):
        e = expr(source, p="bool")
        assert text([L.Let("s", e)]) == f"s = {source}"


def test_nested_blocks():
    source = """
        for i in range(n - 1, -1, -1):
            # the row
            if i < n:
                pass
            elif n == 0:
                break
            else:
                x[i] += 1.0
        for i in rt.prange(n):
            while True:
                break
        """
    body = ir(source)
    assert text(body) == dedented(source)
    (down, threads) = (s for s in body if isinstance(s, L.Loop))
    assert (down.start, down.stop, down.step) == (L.sub(N, L.ONE), L.lit(-1), L.lit(-1))
    assert (down.parallel, threads.parallel) == (False, True)
    assert down.body[0] == L.Comment("the row")


def test_names_take_the_type_of_what_they_are_set_to():
    body = ir(
        """
        t = np.empty((n,), np.float32)
        u = t
        v = u.reshape((n, 1))
        s = v[0, 0]
        d = s + s
        """
    )
    assert body[1] == L.Rebind("u", "t")
    assert [s.expr.dtype for s in body if isinstance(s, L.Let)] == ["float32", "float32"]


def test_arguments_are_elements_or_buffers_by_rank():
    (call,) = ir("rt.gemm(x[i], x[i, 0], y, n, t[0])", x="float64[:, :]", y="float64[:]")
    assert isinstance(call, L.Call)
    assert call.args == (
        L.Subview("x", (I,)),
        L.Load("x", (I, L.ZERO), "float64"),
        L.Subview("y"),
        N,
        L.Load("t", (L.ZERO,), "float64"),
    )


def test_parameters_are_annotated_or_given():
    source = "def f(x: float32[:], k: int8, n):\n    y = x[n]\n    z = k\n"
    annotated = parse(source)
    assert annotated[0].params == [
        L.Param("x", "float32", 1),
        L.Param("k", "int8"),
        L.Param("n", "int64"),
    ]
    assert [e.dtype for s in annotated[0].body for e in L.exprs_of(s)] == ["float32", "int8"]
    bare = source.replace(": float32[:]", "").replace(": int8", "")
    assert parse(bare, {"f": {"x": "float32[:]", "k": "int8"}}) == annotated


@pytest.mark.parametrize(
    "source", ["x = [1]", "with x:\n    y = 1", "x += 1", "for i in x:\n    y = 1"]
)
def test_other_python_is_refused(source):
    with pytest.raises(ParseError):
        ir(source)


# ---------------------------------------------------------------- the corpus


def canonical(routines: list[L.Routine]) -> list[L.Routine]:
    """Without what the text does not tell; see the parser's docstring."""

    def simple(e: L.Expr) -> L.Expr | None:
        if isinstance(e, L.Lit):
            # A NaN is not equal to itself.
            value = np.dtype(e.dtype).type(e.value).item()
            return L.Lit("nan" if value != value else value, e.dtype)
        if isinstance(e, L.Cast) and isinstance(e.x, (L.Bin, L.Un)) and e.x.dtype == e.dtype:
            return L.map_expr(e.x, simple)
        return None

    def strip(block: list[L.Stmt]) -> None:
        block[:] = [s for s in block if s != L.Comment("")]
        for s in block:
            if isinstance(s, L.Comment):
                s.text = python_comment(s.text)
            elif isinstance(s, L.Loop):
                s.exits_early = False
            elif isinstance(s, L.Fail) and s.site is not None:
                s.exception, s.message = "Failure", ""
            for inner in L.blocks_of(s):
                strip(inner)

    routines = copy.deepcopy(routines)
    for routine in routines:
        strip(routine.body)
        routine.params = [L.Param(p.name, "") for p in routine.params]
        L.map_stmts(routine.body, simple)
    return routines


@pytest.mark.parametrize("name", sorted(load().keys() - KNOWN.keys()))
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
def test_lowered_programs(name, dtype, tmp_path):
    """What is printed for a gradient is parsed to the loop IR that it was printed from."""
    lowered = []

    def lower(*args, **options):
        lowered.append(pipeline_lower(*args, **options))
        return lowered[-1]

    pipeline_lower = pipeline.lower
    case = load()[name]
    f = case.function  # another test may have compiled the function itself
    fresh = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    fresh.__kwdefaults__, fresh.__qualname__ = f.__kwdefaults__, f.__qualname__
    case = replace(case, function=fresh)
    args, kwargs = case.arguments(case.trips[-1], dtype)
    with mock.patch.object(pipeline, "lower", lower):
        with mock.patch.dict(os.environ, {"S2S_BACKEND": "python", "S2S_CACHE_DIR": str(tmp_path)}):
            transform(case, None)(*args, **kwargs)
    assert lowered
    for found in lowered:
        back = parse(found.text, {r.name: types_of(r) for r in found.routines})
        assert canonical(back) == canonical(found.routines)
