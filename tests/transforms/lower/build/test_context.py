"""Binding of results: fused into readers, inlined, in place, or in memory; names and messages."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from s2s.transforms.ir import nodes
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.lower.build.context import HANDLERS, Context, Failures, handles
from s2s.transforms.lower.build.lazy_array import buffer_value, scalar_value
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.harness import lowered, run
from tests.transforms.lower.loop_ir_text import expr, text

X = nodes.Var("x", nodes.Array("float64", (Dim.of("x.0"), Dim.of(3)), "C"))
STRIDED = nodes.Var("w", nodes.Array("float64", (Dim.of("w.0"),), "A"))
N = nodes.Var("n", nodes.Scalar("int64", value=Dim.of("n")))


def context(*body: nodes.Stmt, params=(X, STRIDED, N), facts: Facts | None = None, **options):
    return Context(
        nodes.Function("f", [*params], [*body], []), facts or Facts(), Failures(), **options
    )


# ---------------------------------------------------------------- names


def test_versions_of_another_type_have_names_of_their_own():
    floats, ints = (nodes.Var("v", nodes.Scalar(d)) for d in ("float64", "int64"))
    ctx = context(nodes.Assign(floats, nodes.Op("exp", (ints,))))
    assert ctx.python_name(floats) == "v" and ctx.python_name(ints) == "v_1"
    assert ctx.python_name(nodes.Var("v", nodes.Scalar("float64"))) == "v"
    matrix = nodes.Var("v", nodes.Array("float64", (Dim.of(1), Dim.of(2))))
    assert ctx.python_name(matrix) not in ("v", "v_1")


@pytest.mark.parametrize(
    ("name", "python"), [("np", "np_1"), ("range", "range_1"), ("a.b", "a_b"), ("ok", "ok")]
)
def test_names_of_generated_code(name, python):
    assert context().python_name(nodes.Var(name, nodes.Scalar("float64"))) == python


# ---------------------------------------------------------------- operands


def test_operands():
    ctx = context()
    assert ctx.scalar(nodes.Const(2.5, nodes.Scalar("float32"))) == L.Lit(2.5, "float32")
    assert ctx.scalar(N) == L.Name("n")
    x, w = ctx.value(X), ctx.value(STRIDED)
    assert x.sizes == (L.Size("x", 0), L.lit(3)) and x.is_buffer and x.reads == {"x"}
    assert not w.is_buffer and not ctx.is_contiguous("w") and ctx.is_contiguous("x")
    ctx.env["x"] = scalar_value(L.Name("virtual", "float64"))
    assert ctx.value(X) is ctx.env["x"]


def test_sizes_that_are_equal_have_one_name():
    """A size is a constant, or read from the first parameter that has it."""
    other = nodes.Var("y", nodes.Array("float64", (Dim.of("y.0"), Dim.of("n"))))
    facts = Facts({"x.0": 4, "y.0": 4, "n": 3}, ints={"n": 3})
    assert facts.guard_equal(Dim.of("x.0"), Dim.of("y.0"))
    ctx = context(params=(X, N, other), facts=facts)
    assert ctx.value(other).sizes == (L.Size("x", 0), L.Name("n"))
    assert ctx.value(X).sizes == (L.Size("x", 0), L.lit(3))
    assert ctx.size_of_buffer("x", 1) == L.lit(3)
    assert ctx.size_of_buffer("x", 0) == L.Size("x", 0)


def test_sizes_of_a_variable_that_is_bound_again_are_read_from_it():
    ctx = context(nodes.Assign(X, nodes.Op("exp", (X,))), params=(X,))
    assert ctx.known_sizes == {}


def test_integers_are_simple():
    ctx = context()
    wide = nodes.Var("k", nodes.Scalar("int32"))
    assert ctx.integer(N) == L.Name("n") and ctx.integer(
        nodes.Const(3, nodes.Scalar("int64"))
    ) == L.lit(3)
    assert isinstance(ctx.integer(wide), L.Name)
    assert text(ctx.emitter.out) == "t = np.int64(k)"


def test_symbolic_values():
    ctx = context()
    assert ctx.symbolic_value(N) == Dim.of("n") and ctx.symbolic_value(
        nodes.Const(3, nodes.Scalar("int64"))
    ) == Dim.of(3)
    assert ctx.symbolic_value(nodes.Var("k", nodes.Scalar("int64"))) is None
    assert ctx.symbolic_value(X) is None


def test_scalars_are_evaluated_before_a_loop_that_reads_them():
    ctx = context()
    ctx.env["s"] = scalar_value(expr("np.exp(r)", r="float64"), {"r"})
    ready = ctx.evaluated_value(nodes.Var("s", nodes.Scalar("float64")))
    assert ready.at(ctx.emitter, ()) == L.Name("t", "float64") and ready.reads == {"r"}
    assert text(ctx.emitter.out) == "t = np.exp(r)"


# ---------------------------------------------------------------- shapes


def shape_checks(*operands: nodes.Operand, facts: Facts | None = None) -> str:
    ctx = context(facts=facts)
    ctx.shape(operands)
    return text(ctx.emitter.out).removesuffix("pass")


def test_shapes_are_checked_where_needed():
    size = nodes.Var("m", nodes.Scalar("int64", value=Dim.of("x.0")))
    less = nodes.Var("m", nodes.Scalar("int64", value=Dim.of("x.0") - 1))
    unknown = nodes.Var("m", nodes.Scalar("int64"))
    assert shape_checks(size, nodes.Const(3, nodes.Scalar("int64"))) == ""
    assert "negative dimensions" in shape_checks(less) and "too big" not in shape_checks(less)
    assert "negative dimensions" in shape_checks(unknown) and "too big" in shape_checks(unknown)


# ---------------------------------------------------------------- memory


def test_memory_is_reused():
    ctx = context()
    x, w = ctx.value(X), ctx.value(STRIDED)
    assert ctx.materialise(x) is x and ctx.materialise_if_costly(w) is w
    copied = ctx.materialise(w, "w")
    assert copied.is_buffer and copied.sizes == (L.Size("w", 0),)
    assert text(ctx.emitter.out) == (
        "w_1 = np.empty((w.shape[0],), np.float64)\nfor i in range(w.shape[0]):\n    w_1[i] = w[i]"
    )


def test_stores_are_converted():
    ctx = context()
    ctx.fill(buffer_value("y", "float32", (Dim.of("w.0"),)), ctx.value(STRIDED))
    assert "y[i] = np.float32(w[i])" in text(ctx.emitter.out)


# ---------------------------------------------------------------- results


def loops(f, *args):
    g = s2s.function(f, backend="loops")
    got, want = g(*args), f(*args)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    return g.lowered


def test_a_single_reader_computes_its_operand():
    text = loops(lambda x: (np.exp(x) * 2.0,), np.arange(3.0))
    assert text.count("np.empty") == 1


def test_a_reader_in_a_loop_does_not():
    def f(x, n):
        y = np.exp(x)
        total = 0.0
        for _ in range(n):
            total += y[0]
        return (total,)

    text = loops(f, np.arange(3.0), 4)
    assert text.index("np.exp") < text.rindex("for ")


def test_an_operand_that_changes_is_read_before():
    def f(x):
        z = x * 2.0
        y = np.sqrt(z)
        z[0] = 9.0
        return y, z

    loops(f, np.arange(3.0))


def test_updates_of_a_variable_need_no_new_buffer():
    def f(x, n):
        y = x * 1.0
        for _ in range(n):
            y = y * 0.5 + x
        return (y,)

    for n in (0, 1, 3):
        text = loops(f, np.arange(3.0), n)
    assert text.count("np.empty") == 1


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(lambda y: y[::-1] + y, id="reads another element"),
        pytest.param(lambda y: y - y.sum(), id="reads all"),
        pytest.param(lambda y: np.concatenate((y, y[:1])), id="another size"),
    ],
)
def test_updates_that_need_one(step):
    def f(x, n):
        y = x * 1.0
        for _ in range(n):
            y = step(y)
        return (y,)

    for n in (0, 1, 3):
        loops(f, np.arange(3.0), n)


def test_an_argument_is_not_computed_in_place():
    x = np.arange(3.0)
    s2s.function(lambda x: x * 2.0, backend="loops")(x)
    np.testing.assert_array_equal(x, np.arange(3.0))


def test_numbers_with_one_reader_are_inlined():
    assert " = np.exp(a * b) + 1.0" in lowered(lambda b, x, y: np.exp(x * y) + 1.0, 1.0, 2.0).text
    twice = lowered(lambda b, x, y: (lambda t: t * t)(np.exp(x)), 1.0, 2.0).text
    assert twice.count("np.exp") == 1


def test_results_keep_their_dtype():
    out = run(lambda b, x: b.emit("cast", x, dtype="float32") * np.float32(2.0), 1.5)
    assert out.dtype == np.float32 and out == 3.0


# ---------------------------------------------------------------- messages and handlers


def test_failure_sites():
    failures = Failures()
    assert failures.site("ValueError", ("n is ", None)) == 0
    assert failures.site("IndexError", ("m",)) == 1
    assert failures.sites == [("ValueError", ("n is ", None)), ("IndexError", ("m",))]


def test_messages_end_with_the_place():
    def f(x, n):
        return x[n]

    with pytest.raises(IndexError, match=r"test_context\.py:\d+: x\[n\]"):
        s2s.function(f, backend="loops")(np.ones(3), 3)


def test_source_lines_are_comments():
    def f(x):
        y = np.exp(x)  # a remark of the user
        z = y * 2.0
        return z, y

    text = loops(f, np.ones(3))
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("# L")]
    assert any(line.endswith(": y = np.exp(x)") for line in lines)


def test_source_lines_of_two_files_with_one_number(tmp_path):
    """A comment names the file of a helper; equal line numbers of two files are two places."""
    import importlib.util

    def module(name, text):
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        return made

    text = "import numpy as np\n\n\ndef {0}(x):\n    return np.{1}(x).cumsum()\n"
    first = module("first_file", text.format("first", "exp")).first
    second = module("second_file", text.format("second", "cos")).second

    lowered = loops(lambda x: second(first(x)), np.ones(3))
    assert "first_file.py:5" in lowered and "second_file.py:5" in lowered


def test_without_bounds_checks():
    def f(x, n):
        return x[n]

    g = s2s.function(f, backend="loops", boundscheck=False)
    assert g(np.arange(3.0), 1) == 1.0 and "IndexError" not in g.lowered


def test_each_operation_has_one_handler():
    with pytest.raises(AssertionError, match="zeros"):
        handles("zeros")(HANDLERS["ones"])
