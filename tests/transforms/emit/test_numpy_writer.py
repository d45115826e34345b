"""Readable code: the user's own text where it still holds, and tidy text where it does not.

Each case runs, too: `check` compares the text with the meaning of the IR it was made from."""

from __future__ import annotations

import ast
import inspect
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import libcst as cst
import numpy as np
import pytest
from scipy import special

from s2s.transforms.bufferize.bufferize import bufferize
from s2s.transforms.emit.format_ops import WIDTH, lay_out
from s2s.transforms.emit.numpy_writer import write, write_function
from s2s.transforms.frontend.pytree import describe
from s2s.transforms.ir.nodes import (
    Array,
    Assign,
    Const,
    For,
    Function,
    If,
    Module,
    Op,
    Print,
    Raise,
    Scalar,
    Store,
    Var,
)
from s2s.transforms.ir.symbolic_dims import Dim
from s2s.transforms.pipeline import Request, _specialise, _value_form_passes
from tests.transforms.running import check_same, flat

X = np.array([0.3, 1.2, -0.7, 0.4])
I8 = Scalar("int64")


def written(f: Callable[..., Any], *args: Any, wrt: tuple[str, ...] = ()) -> str:
    """The readable text of a function, or of its gradient; it has been run."""
    names = f.__code__.co_varnames[: f.__code__.co_argcount]
    specs = {n: describe(a) for n, a in zip(names, args)}
    request = Request(f, specs, dict(zip(names, args)), "vjp" if wrt else "primal", wrt)
    spec = _specialise(request)
    stages = dict(_value_form_passes(spec, request))
    text = write(bufferize(stages["save"]))
    given = [*args, 1.0] if wrt else list(args)
    if len(stages["save"].functions) == 1:
        check_same(stages["simplify"], text, *given, rtol=1e-9)
    lines = text.split("\n")
    assert all(len(line) <= WIDTH for line in lines), max(lines, key=len)
    ast.parse(text)
    return text


def body(text: str) -> str:
    """The lines of the function, without signature and return."""
    lines = text[text.index("def ") :].rstrip().split("\n")[1:]
    return "\n".join(line[4:] for line in lines)


def forward(text: str) -> str:
    return body(text).partition("\n\n# ---- adjoint sweep")[0]


def sweep(text: str) -> str:
    return body(text).partition("# ---- adjoint sweep ----\n")[2]


# ---------------------------------------------------------------- the user's text


def model(W, b, x, y):
    # hidden layer
    h = np.tanh(x @ W + b)
    s = 0.0
    for i in range(h.shape[0]):
        if y[i] > 0:
            s += h[i, 0] * y[i]
        else:
            s -= np.log(1.0 + h[i, 0] ** 2)
    return s / h.shape[0]


def line_of(f: Callable[..., Any], offset: int) -> int:
    return f.__code__.co_firstlineno + offset


def test_the_ideal() -> None:
    rng = np.random.default_rng(0)
    args = (rng.normal(size=(3, 2)), rng.normal(size=2), rng.normal(size=(4, 3)), X)
    text = written(model, *args, wrt=("W", "b"))
    n = [line_of(model, k) for k in range(10)]
    first = text.index("def ")
    assert (
        text[first:]
        == f"""\
def model_vjp(W, b, x, y, out_bar=1.0):
    # hidden layer
    h = np.tanh(x @ W + b)
    s = 0.0
    for i in range(h.shape[0]):
        if y[i] > 0:
            s += h[i, 0] * y[i]
        else:
            s -= np.log(1.0 + h[i, 0] ** 2)
    out = s / h.shape[0]

    # ---- adjoint sweep ----
    # L{n[9]}: return s / h.shape[0]
    s_bar = out_bar / h.shape[0]
    # L{n[4]}: for i in range(h.shape[0])
    h_bar = np.zeros_like(h)
    for i in range(h.shape[0] - 1, -1, -1):
        if y[i] > 0:
            # L{n[6]}: s += h[i, 0] * y[i]
            h_bar[i, 0] += s_bar * y[i]
        else:
            # L{n[8]}: s -= np.log(1.0 + h[i, 0] ** 2)
            h_bar[i, 0] += -s_bar / (1.0 + h[i, 0] ** 2) * 2.0 * h[i, 0]
    # L{n[2]}: h = np.tanh(x @ W + b)
    h_1_bar = h_bar * (1.0 - h * h)
    b_bar = h_1_bar.sum(axis=0)
    W_bar = x.T @ h_1_bar
    return out, (W_bar, b_bar)
"""
    )


# fmt: off
def commented(x, k: float = 2.0, *, n: "int" = 3, y: Any = np.pi):  # noqa: UP037
    """The docstring.

    Its second paragraph.
    """
    # start
    t = 0.0

    # of the loop
    for i in range(  # of range
        n
    ):  # behind the header
        t = t * k + x[i]

        # of the branch
        if (t > 3.0  # in brackets
                and k > 0.0):  # behind if
            t = t / (1.0 +  # in the sum
                     t)
            # end of if
        # before elif
        elif t < -9.0:
            t = -t
        # before else
        else:  # behind else
            t = np.sin(t)
        # end of the loop

    # the result
    return t * (
        y  # by y
    )
# fmt: on


def text_of(f: Callable[..., Any], *args: Any, wrt: tuple[str, ...] = ()) -> str:
    """The readable text of a function of any kinds of parameters, or of its gradient."""
    specs = dict(zip(inspect.signature(f).parameters, map(describe, args), strict=True))
    values = dict(zip(specs, args))
    request = Request(f, specs, values, "vjp" if wrt else "primal", wrt)
    module = list(_value_form_passes(_specialise(request), request))[-1][1]
    return write(bufferize(module))


COMMENTED = (X, 2.0, 3, 1.5)


def test_comments_and_blank_lines_stay_where_statements_are_added() -> None:
    text = text_of(commented, *COMMENTED, wrt=("x", "k"))
    lines = text.split("\n")
    header = 'def commented_vjp(x, k: float = 2.0, *, n: "int" = 3, y=np.pi, out_bar=1.0):'
    inside = lines[lines.index(header) + 1 : lines.index("    # ---- adjoint sweep ----")]
    own = [line.replace("return ", "out = ") for line in user_lines(commented)]
    # All the user's lines in their order, and among them what is saved.
    kept = iter(inside)
    assert [line for line in own if line not in kept] == []
    assert any("_L" in line for line in inside if line not in own)
    # No block begins with a blank line.
    assert not any(a.endswith(":") and not b for a, b in zip(inside, inside[1:]))
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    x, k, n, y = COMMENTED
    value, (_, k_bar) = namespace["commented_vjp"](x, k, n=n, y=y)
    high, low = (commented(x, k + h, n=n, y=y) for h in (1e-6, -1e-6))
    assert np.allclose(value, commented(x, k, n=n, y=y))
    assert np.allclose(k_bar, (high - low) / 2e-6, rtol=1e-6)


def user_lines(f: Callable[..., Any]) -> list[str]:
    """The lines of a function's body."""
    return inspect.getsource(f).rstrip().removesuffix("# fmt: on").rstrip().split("\n")[1:]


def test_the_whole_function_as_it_was_written() -> None:
    lines, own = text_of(commented, *COMMENTED).rstrip().split("\n"), user_lines(commented)
    assert lines[-len(own) :] == own


def prints(x, n):
    s = x[0]
    for i in range(n):
        if x[i] > 0.5:
            print("""first
  second
            third""")
            s = s * x[i]
    return s


def test_a_string_of_several_lines_keeps_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    want = "first\n  second\n            third\n"
    for wrt in ((), ("x",)):
        namespace: dict[str, Any] = {}
        text = written(prints, X, 4, wrt=wrt)
        capsys.readouterr()
        exec(text, namespace)
        namespace["prints_vjp" if wrt else "prints"](X, 4)
        assert capsys.readouterr().out == want


def starred(x, /, y, k=2.0):
    return np.sum(x * y) * k


def test_the_parameter_list_is_the_users() -> None:
    assert "def starred(x, /, y, k=2.0):" in text_of(starred, X, X, 3.0)
    text = text_of(starred, X, X, 3.0, wrt=("x",))
    assert "def starred_vjp(x, /, y, k=2.0, out_bar=1.0):" in text


def takes_a_pair(p, k: float = 2.0, *, n: int = 3):
    return p[0] * k + p[1] * n


def reads_a_global(x, /, k: float = 2.0, *, n=3):
    return x * k * n * SCALE


def test_other_parameters_are_positional() -> None:
    """Parts of a container and what was reached by a name: they have no default, and none stands
    before them."""
    text = text_of(takes_a_pair, (1.0, 2.0), 2.0, 3)
    assert "def takes_a_pair(p_0, p_1, k: float = 2.0, n: int = 3):" in text
    text = text_of(reads_a_global, 1.0, 2.0, 3)
    assert "def reads_a_global(x, k: float, n, SCALE):" in text


def test_emitted_code_is_stable_and_prints_as_parsed() -> None:
    for wrt in ((), ("x",)):
        text = text_of(commented, *COMMENTED, wrt=wrt)
        assert text == text_of(commented, *COMMENTED, wrt=wrt)
        assert cst.parse_module(text).code == text


def breaks(x, n):
    s = 0.0
    for i in range(n):
        # far enough
        if x[i] > 1.0:
            break
        if x[i] < 0.0:
            continue
        s += x[i]  # so far
    return s * 2.0


def test_a_whole_loop_keeps_its_break_and_continue() -> None:
    text = written(breaks, X, 4)
    assert (
        body(text)
        == """\
s = 0.0
for i in range(n):
    # far enough
    if x[i] > 1.0:
        break
    if x[i] < 0.0:
        continue
    s += x[i]  # so far
return s * 2.0"""
    )


def rebinds(x):
    h = x * 2.0
    h = h * h  # squared
    return h.sum()


def test_a_version_needed_later_gets_a_name() -> None:
    text = written(rebinds, X, wrt=("x",))
    kept = f"h_L{line_of(rebinds, 1)}"
    assert (
        forward(text)
        == f"""\
h = x * 2.0
{kept} = h
h = h * h  # squared
out = h.sum()"""
    )
    assert f"# Saved for the adjoint sweep: {kept}." in text


def overwrites(x):
    a = x * 1.0
    t = a * a
    a[0] = 5.0
    return (t * a).sum()


def test_an_overwritten_array_is_kept_by_a_copy() -> None:
    text = written(overwrites, X, wrt=("x",))
    assert f"a_L{line_of(overwrites, 1)} = a.copy()\na[0] = 5.0" in forward(text)


def writes_through_a_view(x):
    a = x * 1.0
    v = a[1:]
    v[0] = 3.0
    return a.sum() + v.sum()


def test_a_write_through_a_view_prints_from_ir() -> None:
    # The view itself is gone, so `v[0] = 3.0` would not be what happens.
    assert "a[1:][0] = 3.0" in written(writes_through_a_view, X)


def adds_in_place(x):
    h = x * 2.0
    g = h * h
    h += g
    return (h * g).sum()


def test_augmented_assignment_of_arrays() -> None:
    assert "h += g" in written(adds_in_place, X)
    written(adds_in_place, X, wrt=("x",))


def grows(x):
    n = 0
    while x < 10.0 and n < 5:
        x = x * 1.5 + 0.1  # grow
        n += 1
    return x * n


def test_while_keeps_its_test() -> None:
    text = written(grows, 1.0, wrt=("x",))
    assert "while x < 10.0 and n < 5:\n    x = x * 1.5 + 0.1  # grow" in forward(text)
    assert "for k in range(" in sweep(text)


def stacked(x, n):
    s = x[0]
    for i in range(n):
        t = x[i]
        while t < 3.0:
            t = t * t + 1.5
            s = s * t
    return s


def test_while_in_a_loop_pushes_and_pops() -> None:
    text = written(stacked, X, 3, wrt=("x",))
    assert ".append(" in forward(text) and ".pop()" in sweep(text)


def swaps(x, n):
    a, b = x * 1.0, x * 2.0
    for _ in range(n):
        b[0] = a[1] * b[2]
        a, b = b, a
    return a.sum()


def test_a_swap_prints_as_one() -> None:
    assert "a, b = b, a" in forward(written(swaps, X, 3, wrt=("x",)))


SCALE = 2.0


def uses_a_global(x):
    y = x * SCALE
    return y * y


def helper(v):
    w = v * v
    return w + 1.0


def calls_a_helper(x):
    y = helper(x)
    return np.sin(y)


@pytest.mark.parametrize("f", [uses_a_global, calls_a_helper])
def test_text_that_needs_more_than_numpy_prints_from_ir(f: Callable[..., Any]) -> None:
    names = f.__code__.co_varnames[: f.__code__.co_argcount]
    request = Request(f, {"x": describe(1.5)}, {"x": 1.5})
    module = list(_value_form_passes(_specialise(request), request))[-1][1]
    text = write(bufferize(module))
    # The global has become a parameter, the helper has been inlined.
    code = [line for line in body(text).split("\n") if not line.startswith("#")]
    assert "helper(" not in "\n".join(code)
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    extra = [SCALE] if len(module.main.params) > len(names) else []
    assert np.allclose(namespace[module.main.name](1.5, *extra), f(1.5))


def raises(x, n):
    if n < 0:
        raise ValueError(f"n is {n}")
    assert n < 9, "too many"
    return x * n


def test_the_users_errors_stay_and_checks_of_shapes_go() -> None:
    text = written(raises, 1.5, 3)
    assert 'raise ValueError(f"n is {n}")' in text and "assert n < 9" in text

    def product(x, y):
        return (x @ y).sum()

    assert "raise" not in written(product, X, X)


def unused_names(x):
    n = 3
    y, _ = x * n, x + 1.0
    return y


def test_folded_and_dead_names_are_not_relied_on() -> None:
    text = written(unused_names, X)
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    assert np.allclose(flat(namespace["unused_names"](X))[0], X * 3)


def bound_on_one_path(x, y, z, n, k):
    if n > 1:
        v = np.sin(np.concatenate((y, x[:2])) / (1.5 + x[::-1] ** 2))  # noqa: F841
    if k > 1:
        c = np.sin(z / (1.5 + x[::-1] ** 2))
    else:
        c = np.sin(np.cumsum(np.concatenate((y, x[:2]))))
    return np.sum(c * c)


def bound_by_a_loop_on_one_path(x, y, z, n, k):
    if n > 1:
        v = np.sin(np.concatenate((y, x[:2])) / (1.5 + x[::-1] ** 2))  # noqa: F841
    else:
        for _ in range(n):
            v = x * 2.0  # noqa: F841
    if k > 1:
        c = np.sin(z / (1.5 + x[::-1] ** 2))
    else:
        c = np.sin(np.cumsum(np.concatenate((y, x[:2]))))
    return np.sum(c * c)


@pytest.mark.parametrize("f", [bound_on_one_path, bound_by_a_loop_on_one_path])
@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("k", [0, 2])
def test_text_that_leaves_a_name_unbound_prints_from_ir(
    f: Callable[..., Any], n: int, k: int
) -> None:
    """The sweep reads the name for its shape, whichever path was taken."""
    y, z, x = np.cos(np.arange(3.0)), np.arange(5.0), np.sin(np.arange(5.0))
    text = written(f, x, y, z, n, k, wrt=("x", "y", "z"))
    assert "unbroadcast(c_bar, v)" in sweep(text)
    assert "v = np.zeros(x.shape[0])" in forward(text)


def bound_by_an_unrolled_loop_or_a_folded_branch(x, n):
    if n > 1:
        for _ in (1, 2):
            v = np.sin(x)
    elif n > 0:
        if x.ndim == 1:
            v = np.cos(x)
    else:
        v = x * 2.0
    return np.sum(v * v)


def test_text_that_binds_on_every_path_is_kept() -> None:
    f = bound_by_an_unrolled_loop_or_a_folded_branch
    for n in range(3):
        text = forward(written(f, X, n, wrt=("x",)))
        assert "    for _ in (1, 2):\n" in text and "    if x.ndim == 1:\n" in text


# ---------------------------------------------------------------- from IR


def f8(name: str, *shape: str) -> Var:
    dims = tuple(Dim.of(s) for s in shape)
    return Var(name, Array("float64", dims) if shape else Scalar("float64"))


def lines(*stmts: Any, params: tuple[Var, ...] = (), results: tuple[Var, ...] = ()) -> list[str]:
    f = Function("f", list(params), list(stmts), list(results))
    return write_function(f).rstrip().split("\n")[1:]


def const(value: Any) -> Const:
    dtype = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float64"
    return Const(value, Scalar(dtype, weak=True))


def loop(**fields: Any) -> For:
    bounds = {"start": const(0), "stop": Var("n", I8), "step": const(1), **fields}
    x = f8("x", "n")
    store = Store(x, const(1.0), (("index", (("int", 2),)),), (Var("i", I8),))
    return For(Var("i", I8), body=[store], **bounds)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "range(n)"),
        ({"start": const(2)}, "range(2, n)"),
        ({"step": const(3)}, "range(0, n, 3)"),
        ({"reverse": True}, "range(n - 1, -1, -1)"),
        ({"reverse": True, "stop": const(5)}, "range(4, -1, -1)"),
        ({"reverse": True, "start": Var("m", I8)}, "range(n - 1, m - 1, -1)"),
        ({"reverse": True, "step": const(-1)}, "range(n + 1, 1)"),
        ({"reverse": True, "step": const(2)}, "reversed(range(0, n, 2))"),
        ({"count": Var("c", I8)}, "range(c)"),
        ({"count": Var("c", I8), "reverse": True}, "range(c - 1, -1, -1)"),
        (
            {"count": Var("c", I8), "start": Var("m", I8), "step": const(2)},
            "range(m, m + c * 2, 2)",
        ),
    ],
)
def test_ranges(fields: dict[str, Any], text: str) -> None:
    out = lines(loop(**fields), params=(Var("n", I8), f8("x", "n")))
    assert out[0] == f"    for i in {text}:"
    # What it runs through is what the loop means.
    n, m, c = 7, 2, 3
    names = {"n": n, "m": m, "c": c}

    def value(o: Any) -> int:
        return o.value if isinstance(o, Const) else names[o.name]

    s = loop(**fields)
    want = list(range(value(s.start), value(s.stop), value(s.step)))
    if s.count is not None:
        want = [value(s.start) + k * value(s.step) for k in range(value(s.count))]
    assert list(eval(text, names)) == (want[::-1] if s.reverse else want)


def test_temporaries_are_inlined_unless_read_twice_or_overwritten() -> None:
    x, t, u, y, n = f8("x", "n"), f8("t", "n"), f8("u", "n"), f8("y", "n"), const(2.0)
    add = Assign(t, Op("add", (x, n)))
    out = lines(add, Assign(y, Op("multiply", (t, x))), params=(x,), results=(y,))
    assert out == ["    return (x + 2.0) * x"]
    out = lines(add, Assign(y, Op("multiply", (t, t))), params=(x,), results=(y,))
    assert out == ["    t = x + 2.0", "    return t * t"]
    store = Store(u, n, ())
    body_ = [Assign(u, Op("copy", (x,))), Assign(t, Op("add", (u, n))), store,
             Assign(y, Op("multiply", (t, u)))]  # fmt: skip
    f = Function("f", [x], body_, [y], notes={"buffers": {"x": 0, "u": 1, "t": 2, "y": 3}})
    out = write_function(f).rstrip().split("\n")[1:]
    assert out == ["    u = x.copy()", "    t = u + 2.0", "    u[...] = 2.0", "    return t * u"]


def test_stores() -> None:
    x, k = f8("x", "n", "m"), Var("k", Array("int64", (Dim.of("p"),)))
    i, v = Var("i", I8), f8("v", "m")

    def store(*items: Any, add: bool = True, operands: Any = (k, i), path: Any = None) -> str:
        steps = (("index", items),) if path is None else path
        (line,) = lines(Store(x, v, steps, operands, add), params=(x, k, i, v))
        return line.strip()

    assert store(("int", 3), ("all",)) == "x[i] += v"
    assert store(("int", 3), ("all",), add=False) == "x[i] = v"
    assert store(("array", 2), ("all",)) == "np.add.at(x, k, v)"
    assert store(("array", 2), ("int", 3)) == "np.add.at(x, (k, i), v)"
    assert store(("all",), ("array", 2)) == "np.add.at(x, np.s_[:, k], v)"
    assert store(path=(), operands=()) == "x += v"
    assert store(path=(), operands=(), add=False) == "x[...] = v"
    chained = (("transpose", (1, 0)), ("index", (("int", 3), ("all",))))
    assert store(path=chained) == "x.T[i] += v"


def test_writing_through_a_reshape_of_a_strided_array() -> None:
    x = f8("x", "n", "m")
    size, i = Var("s", I8), Var("i", I8)
    path = (("reshape", (2,)), ("index", (("int", 3),)))
    text = "import numpy as np\n" + write_function(
        Function("f", [x, size, i], [Store(x, const(9.0), path, (size, i))], [])
    )
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    a = np.zeros((2, 3), order="F")
    namespace["f"](a, 6, 4)
    assert a[1, 1] == 9.0 and a.sum() == 9.0


def test_branches() -> None:
    c, d, y = Var("c", Scalar("bool")), Var("d", Scalar("bool")), f8("y")

    def bind(value: float) -> Assign:
        return Assign(Var("y", y.type, "y"), Op("alias", (const(value),)))

    out = lines(If(c, [], [bind(1.0)]), params=(c, y), results=(y,))
    assert out[:2] == ["    if not c:", "        y = 1.0"]
    nested = If(c, [bind(1.0)], [If(d, [bind(2.0)], [bind(3.0)])])
    out = lines(nested, params=(c, d, y), results=(y,))
    assert [line.strip() for line in out] == [
        "if c:", "y = 1.0", "elif d:", "y = 2.0", "else:", "y = 3.0", "return y",
    ]  # fmt: skip


def test_print_and_raise() -> None:
    x = f8("x")
    out = lines(
        Print(("x is", x, ("<", x, ">")), end=""),
        Raise("ValueError", ("bad {", x, "}")),
        params=(x,),
    )
    assert out[0] == """    print('x is', x, f"<{x}>", end='')"""
    assert out[1] == '    raise ValueError(f"bad {{{x}}}")'


def test_constants_keep_their_dtype() -> None:
    x = Var("x", Array("float32", (Dim.of("n"),)))
    y = f8("y", "n")
    single, double = (Const(0.5, Scalar(d)) for d in ("float32", "float64"))
    out = lines(Assign(y, Op("multiply", (x, double))), params=(x,), results=(y,))
    assert out == ["    return x * np.float64(0.5)"]
    out = lines(Assign(y, Op("multiply", (x, single))), params=(x,), results=(y,))
    assert out == ["    return x * 0.5"]


def test_long_lines_are_broken_in_brackets() -> None:
    terms = [f"some_value_{i} * another_value_{i}" for i in range(6)]
    for text in (
        "x = " + " + ".join(terms),
        "x = np.concatenate((" + ", ".join(terms) + "))",
        "x[i, j] += " + " - ".join(terms),
        "return " + " + ".join(terms) + f", ({', '.join(terms)})",
        "raise ValueError('it is (not, so', " + ", ".join(terms) + ")",
        "if " + " > 0 and ".join(terms) + " > 0:",
    ):
        out = lay_out(text, 4)
        assert all(len(line) <= WIDTH for line in out) and len(out) > 1
        end = "\n        pass" if text.startswith("if") else ""
        source = "def f():\n" + "\n".join(out) + end
        assert ast.dump(ast.parse(source)) == ast.dump(ast.parse("def f():\n    " + text + end))


def test_emitted_code_passes_ruff() -> None:
    text = written(model, np.ones((3, 2)), np.ones(2), np.ones((4, 3)), X, wrt=("W", "b"))
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length", "88", "-"],
        input=text, capture_output=True, text=True,
    )  # fmt: skip
    if "No module named ruff" in done.stderr:
        pytest.skip("ruff is not installed")
    assert done.returncode == 0, done.stdout


def imports(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith(("import ", "from "))]


def test_modules_are_imported_where_code_uses_them() -> None:
    """Not where a comment or a string has their names."""

    def commented(x):  # type: ignore[no-untyped-def]
        # as special.erf and math.exp do
        if x[0] > 9.0:
            raise ValueError("no special.case of math.here")
        return np.sum(x)

    def used(x, s):  # type: ignore[no-untyped-def]
        return np.sum(special.erf(x)) * math.erf(s)

    text = written(commented, X)
    assert "# as special.erf" in text and "special.case" in text
    assert imports(text) == ["import numpy as np"]
    assert imports(written(used, X, 0.5)) == [
        "import math", "import numpy as np", "from scipy import special",
    ]  # fmt: skip


def test_the_value_of_a_lambda_is_returned() -> None:
    text = written(lambda x: np.sum(x) * 2.0, X)
    assert text.rstrip().splitlines()[-1].strip() == "return x.sum() * 2.0"
    space: dict[str, Any] = {}
    exec(text, space)
    assert space["function"](X) == np.sum(X) * 2.0


def test_modules_of_several_functions() -> None:
    module = Module({"f": Function("f", [f8("x")], [], [f8("x")])}, "f")
    assert write(module).endswith("def f(x):\n    return x\n")
