"""Programs that are refused, or fail as in Python, with the expected messages.

`# @ text` marks the faulty line and the text at the caret.  A new case is one function.
"""

# ruff: noqa: F821, F841, B007, B018, C416, PLW0602, PLW0603, E731
# pyright: basic, reportUndefinedVariable=false, reportPossiblyUnbound=false

from __future__ import annotations

import math
import os
import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numba.typed
import numpy as np
import scipy.integrate
import scipy.special
from numba.experimental import jitclass

import s2s


@dataclass
class Refusal:
    function: Callable[..., Any]
    args: tuple[Any, ...]
    error: type[Exception]
    says: str
    advice: str
    how: str
    options: dict[str, Any]
    backend: str = "loops"


REFUSALS: dict[str, Refusal] = {}
V = np.array([0.5, -1.0, 2.0])
M = np.arange(6.0).reshape(2, 3)


def refused(
    *args: Any,
    error: type[Exception] = s2s.UnsupportedError,
    says: str = "",
    advice: str = "",
    how: str = "grad",
    name: str = "",
    **options: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`says` and `advice` are substrings of the expected message and advice."""

    def declare(f: Callable[..., Any]) -> Callable[..., Any]:
        key = name or f.__name__
        assert key not in REFUSALS, key
        REFUSALS[key] = Refusal(f, args, error, says, advice, how, options)
        return f

    return declare


# ---------------------------------------------------------------- syntax


@refused(V, says="generator", advice="list")
def generator(x):
    yield x[0]  # @ yield x[0]


@refused(V, says="generator", advice="list")
def generator_from(x):
    s = x * 2.0
    yield from s  # @ yield from s


@refused(2.0, says="async", advice="plain function")
async def async_function(x):  # @ async def
    return x


COUNTER = 0.0


@refused(2.0, says="global", advice="return the value")
def global_write(x):
    global COUNTER  # @ global COUNTER
    COUNTER = x
    return x


def _nonlocal_case():
    total = 0.0

    @refused(2.0, says="enclosing", advice="return the value")
    def nonlocal_write(x):
        nonlocal total  # @ nonlocal total
        total = x
        return x


_nonlocal_case()


@refused(2.0, says="catching ZeroDivisionError", advice="if")
def try_except(x):
    try:
        return 1.0 / x  # @ 1.0 / x
    except ZeroDivisionError:
        return 0.0


@refused(V, says="`finally` after IndexError", advice="after the block")
def try_finally(x):
    try:
        y = x[2]  # @ x[2]
    finally:
        print("done")
    return y


@refused(2.0, says="with", advice="outside")
def with_statement(x):
    with np.errstate(all="raise"):  # @ with
        return x * x


@refused(V, says="del", advice="new list")
def del_of_a_slice(x):
    values = []
    for v in x:
        values.append(v * v)
    del values[:1]  # @ values
    return values[0]


@refused(2.0, says="alternatives that bind", advice="a case for each")
def match_alternatives(x):
    match (x, 1):
        case (a, 2) | (a, 1):  # @ (a, 2)
            return a


@refused(2.0, says="no literal", advice="`if`")
def match_computed_key(x):
    match {"a": x}:
        case {np.e: a}:  # @ {np.e
            return a
    return x


@refused(2.0, says="not assigned first", advice="before the inner function")
def nonlocal_of_a_branch(x):
    if x > 1.0:
        total = x

    def add(v):
        nonlocal total  # @ nonlocal total
        total += v

    add(x)
    return total


@refused(2.0, says="decorator of an inner function", advice="module level")
def decorated_by_a_class(x):
    @staticmethod  # @ staticmethod
    def inner(v):
        return v

    return inner(x)


@refused(2.0, says="shares its name", advice="rename")
def global_hidden_by_a_local(x):
    COUNTER = x  # noqa: N806

    def inner(v):
        global COUNTER  # @ global
        return v * COUNTER

    return inner(x) + COUNTER


@refused(2.0, says="class", advice="module level")
def class_inside(x):
    class Box:  # @ class Box
        v = 1.0

    return x * Box.v


@refused(2.0, says="set", advice="tuple")
def set_literal(x):
    s = 0.0
    for k in {1.0, 2.0}:  # @ {1.0, 2.0}
        s += k * x
    return s


@refused(V, says="set", advice="list")
def set_comprehension(x):
    return sum({v for v in x})  # @ {v for v in x}


@refused(V, says="dict", advice="")
def dict_comprehension_over_values(x):
    d = {i: x[i] for i in range(x.shape[0])}  # @ {i: x[i]
    return d[0]


@refused(V, says="generator", advice="list")
def local_generator_function(x):
    def items(v):
        for t in v:
            yield t * t  # @ yield t * t

    return sum(items(x))


@refused(2.0, says="complex", advice="real part", error=TypeError)
def complex_result(x):
    z = x + 2.0j
    return z * 2.0  # @ z * 2.0


@refused(np.ones(3) * 1j, says="max of complex", advice="z.real")
def largest_complex_number(z):
    return np.max(z).real  # @ np.max(z)


@refused(np.ones(3) * 1j, says="numpy.linalg.norm of complex", advice="z.real")
def norm_of_complex_numbers(z):
    return np.linalg.norm(z)  # @ np.linalg.norm(z)


@refused(np.ones(3), says="complex value", advice=".real")
def complex_into_real_array(x):
    x[0] = x[1] * 1j  # @ x[0] = x[1] * 1j
    return np.sum(x)


@refused(np.ones(3) * 1j, says="imaginary parts", advice=".real")
def complex_as_float(z):
    return np.sum(z.astype(np.float64))  # @ z.astype(np.float64)


@refused(np.ones((3, 3)), says="may share memory", advice=".copy()")
def array_written_under_its_diagonal(m):
    a = m * 1.0
    d = np.diag(a)
    a[0] *= 2.0  # @ a[0]
    return np.sum(np.sin(d)) + np.sum(a)


@refused(np.ones((3, 3)), says="may share memory", advice=".copy()")
def diagonal_by_einsum_written(m):
    a = m * 1.0
    d = np.einsum("ii->i", a)
    d[0] = 2.0  # @ d[0] = 2.0
    return np.sum(np.sin(d)) + np.sum(a)


@refused(V, says="may share memory", advice=".copy()")
def array_written_under_its_windows(x):
    a = x * 1.0
    w = np.lib.stride_tricks.sliding_window_view(a, 2)
    a[0] = 2.0  # @ a[0] = 2.0
    return np.sum(np.sin(w))


@refused(np.ones((3, 3)), says="may share memory", advice=".copy()")
def array_written_under_its_sorted_rows(m):
    a = m * 1.0
    first = sorted([a[0], a[1]], key=lambda row: row[0])[0]
    a[0] *= 2.0  # @ a[0]
    return np.sum(np.sin(first))


@refused(V, says="may share memory", advice=".copy()")
def array_that_a_round_made_the_other(x):
    g, h = x * 0.5, x * 1.0
    for t in range(4):
        h[0] = h[1] * 3.0  # @ h[0] = h[1] * 3.0
        g = np.sin(g)
        if g[0] > 0.2 * t:
            h = g
    return np.sum(g * h)


@refused(V, says="may share memory", advice=".copy()")
def array_that_was_the_other_before_the_loop(x):
    g, h = x * 0.5, x * 1.0
    if x[0] > 0.5:
        h = g
    for _ in range(4):
        h[0] = h[1] * 3.0  # @ h[0] = h[1] * 3.0
        g = g + np.sum(g * h)
        h = h * 2.0
    return np.sum(g * h)


@refused(np.ones(3) * 1j, says="may share memory")
def writing_through_a_real_part(z):
    r = z.real
    r[0] = 2.0  # @ r[0] = 2.0
    return np.sum(r) + abs(z[0])


@refused(np.ones(3) * 1j, says="real", error=TypeError)
def rfft_of_complex_numbers(z):
    return np.sum(np.fft.rfft(z).real)  # @ np.fft.rfft(z)


# ---------------------------------------------------------------- unknown calls and objects


@refused(2.0, says="scipy.integrate")
def calls_quad(x):
    return scipy.integrate.quad(math.sin, 0.0, x)[0]  # @ scipy.integrate.quad


@refused(2.0, says="open")
def calls_open(x):
    f = open("data.txt")  # @ open(
    return x


@refused(V, says="numpy.packbits", advice="s2s.defrule")
def unknown_numpy_function(x):
    y = x > 2.0
    return np.sum(x) + np.packbits(y)[0]  # @ np.packbits(y)


@refused(V, says="numpy.roots", advice="s2s.defrule")
def numpy_function_without_rule(x):
    return np.sum(np.roots(x))  # @ np.roots(x)


@refused(V, says="scipy.special")
def unknown_scipy_ufunc(x):
    return np.sum(scipy.special.airy(x)[0])  # @ scipy.special.airy(x)


@refused(V, says="statistics")
def standard_library_call(x):
    return statistics.harmonic_mean(x)  # @ statistics.harmonic_mean(x)


@refused(2.0, says="os.")
def operating_system_call(x):
    return x * os.cpu_count()  # @ os.cpu_count()


@refused(V, says="numpy.random")
def unknown_distribution(x):
    return np.sum(np.random.dirichlet(x))  # @ np.random.dirichlet(x)


@refused(2.0, says="a standard_gamma draw", advice="standard one")
def gamma_draw_by_its_shape(x):
    return np.random.gamma(x)  # @ np.random.gamma(x)


@refused(V, says="searchsorty", error=AttributeError)
def unknown_attribute_of_numpy(x):
    return np.searchsorty(x, 0.5)  # @ np.searchsorty


@refused(V, says="tobytes")
def unsupported_array_method(x):
    y = x * 2.0
    return len(y.tobytes()) * x[0]  # @ y.tobytes


@refused(V, says="no attribute 'summ'", error=AttributeError)
def unknown_array_method(x):
    y = x * 2.0
    return y.summ()  # @ y.summ


@refused(2.0, says="input")
def reads_input(x):
    k = input()  # @ input()
    return x


@refused(V, "abc", says="str")
def string_operations(x, s):
    k = s.upper().find("B") if x[0] > 0.0 else 1
    t = "n" * int(x[2])  # @ "n" * int(x[2])
    return x[k] + len(t)


@refused(2.0, says="eval")
def calls_eval(x):
    return eval("x * 2")  # @ eval(


@refused(2.0, says="locals")
def calls_locals(x):
    return locals()["x"]  # @ locals()


@jitclass([("k", numba.float64)])
class Spring:
    def __init__(self, k):
        self.k = k

    def energy(self, x):
        return 0.5 * self.k * x * x


SPRING = Spring(2.0)


@refused(2.0, Spring(1.5), says="jitclass", advice="dataclass")
def jitclass_argument(x, spring):
    return spring.energy(x)


@refused(2.0, says="jitclass", advice="dataclass")
def jitclass_global(x):
    return SPRING.energy(x)  # @ SPRING


@refused(2.0, says="jitclass", advice="dataclass")
def jitclass_built_inside(x):
    s = Spring(x)  # @ Spring(x)
    return s.energy(2.0)


@numba.guvectorize("(n)->()")
def summed_up(x, out):
    out[0] = x.sum()


@refused(V, says="guvectorize", advice="s2s.vmap")
def guvectorized_inside(x):
    out = np.zeros(1)
    summed_up(x, out)  # @ summed_up(x, out)
    return out[0]


@numba.stencil
def two_neighbours(a):
    return a[-1] + a[1]


@refused(V, says="stencil", advice="slices")
def stencil_inside(x):
    return np.sum(two_neighbours(x))  # @ two_neighbours(x)


@refused(2.0, numba.typed.List([1.0, 2.0]), says="typed.List", advice="list")
def typed_list_argument(x, items):
    return x * items[0]


@refused(2.0, says="typed.List", advice="list")
def typed_list_inside(x):
    out = numba.typed.List()  # @ numba.typed.List()
    out.append(x)
    return out[0]


@refused(2.0, says="typed.Dict", advice="dataclass")
def typed_dict_inside(x):
    d = numba.typed.Dict()  # @ numba.typed.Dict()
    return x


@refused(2.0, says="not created in compiled code", advice="before the first call")
def variable_inside(x):
    v = s2s.Variable(3.0)  # @ s2s.Variable(3.0)
    return x * v


@dataclass
class Point:
    x: float
    y: float


@refused(2.0, says="object with two names", advice="make a new one")
def dict_that_may_be_another(x):
    first = {"x": x}
    second = first
    if x > 3.0:
        first = {"x": x * x}
    first["x"] = 1.0  # @ first["x"]
    return second["x"] * x


@refused({"x": 2.0}, says="object with two names", advice="make a new one")
def dict_that_may_be_the_callers(d):
    if d["x"] > 3.0:
        d = {"x": d["x"] * 2.0}
    d["x"] = d["x"] * 2.0  # @ d["x"]
    return d["x"]


@refused(2.0, says="object with two names", advice="make a new one")
def dataclass_that_may_be_another(x):
    first = Point(x, x)
    second = first
    for i in range(3):
        first.x = first.x * i  # @ first.x
        first = Point(x * i, x)
    return first.x + second.x


# ---------------------------------------------------------------- what is differentiated


@refused(3, says="int", advice="", error=TypeError)
def integer_argument(x):
    return x * x


@refused(np.arange(3), says="int", error=TypeError)
def integer_array_argument(x):
    return np.sum(x * x)


@refused(True, says="bool", error=TypeError)
def boolean_argument(x):
    return x * 2.0


@refused((1.0, 2), says="int", error=TypeError)
def integer_in_a_tuple(p):
    return p[0] * p[1]


@refused(np.array([1.0, None], dtype=object), says="object", error=TypeError)
def object_array(x):
    return x[0]


@refused(np.ma.masked_array([1.0, 2.0], mask=[0, 1]), says="masked", error=TypeError)
def masked_array(x):
    return np.sum(x)


@refused(np.arange(3.0).astype(">f8"), says="byte order", error=TypeError)
def big_endian_array(x):
    return np.sum(x)


@refused(np.array([1.0 + 2.0j]), says="complex", error=TypeError)
def complex_array(x):
    return x[0]


@refused(np.zeros(3, dtype=np.float16), says="float16", error=TypeError)
def half_precision(x):
    return np.sum(x)


@refused(np.zeros(3, dtype=np.longdouble), says="use x.astype(np.float64)", error=TypeError)
def long_double(x):
    return np.sum(x)


@refused(np.array(["a", "b"]), 1.0, says="<U1", error=TypeError, wrt=1)
def string_array(names, x):
    return x


@refused(np.zeros(3, dtype="M8[s]"), 1.0, says="datetime64", error=TypeError, wrt=1)
def datetime_array(times, x):
    return x


@refused(np.asmatrix(np.eye(2)), says="matrix", error=TypeError)
def numpy_matrix(x):
    return x[0, 0]


@refused("text", says="holds no numbers", error=TypeError)
def string_differentiated(x):
    return 1.0


@refused(V, says="None", advice="return the array it writes")
def returns_none(x):
    x[0] = 2.0


@refused(V, V, says="None", advice="return the array it writes")
def returns_none_explicitly(x, out):
    out[0] = x[0]
    return None  # @ return None


@refused(V, says="scalar", error=TypeError)
def returns_array(x):
    return x * 2.0  # @ x * 2.0


@refused(V, says="scalar", error=TypeError)
def returns_tuple(x):
    return x[0], x[1]  # @ x[0], x[1]


@refused(2.0, says="int", error=TypeError)
def returns_integer(x):
    return int(x)  # @ int(x)


@refused(2.0, says="aux", has_aux=True, error=TypeError)
def auxiliary_missing(x):
    return x * x  # @ x * x


@refused(2.0, says="z", wrt="z", error=TypeError, advice="x, y")
def unknown_wrt(x, y=1.0):
    return x


@refused(2.0, says="5", wrt=5, error=TypeError, advice="x")
def wrt_out_of_range(x):
    return x


@refused(2.0, says="static", wrt="k", static_argnames=("k",), error=TypeError)
def wrt_is_static(x, k=1.0):
    return x * k


@refused(2.0, says="nope", static_argnames=("nope",), error=TypeError)
def unknown_static(x):
    return x


@refused(2.0, says="twice", wrt=("x", 0), error=TypeError)
def wrt_twice(x):
    return x


@refused(2.0, says="empty", wrt=(), error=TypeError)
def wrt_empty(x):
    return x


@refused(2.0, says="callable", error=TypeError)
def calls_a_number(x):
    y = x * 2.0
    return y(3.0)  # @ y(3.0)


@refused(says="missing", error=TypeError)
def argument_missing(x):
    return x


@refused(2.0, 3.0, says="too many", error=TypeError)
def argument_too_many(x):
    return x


@refused(2.0, says="unexpected keyword", error=TypeError)
def helper_keyword_unknown(x):
    return math_free(x, scale=2.0)  # @ math_free(x, scale=2.0)


def math_free(x):
    return x * x


# ---------------------------------------------------------------- sources


def _exec_made(text, name):
    scope = {"np": np}
    exec(text, scope)  # noqa: S102
    return scope[name]


refused(2.0, error=s2s.SourceError, says="source not available", advice="source=text")(
    _exec_made("def executed(x):\n    return x * x\n", "executed")
)
refused(2.0, error=s2s.SourceError, says="source not available", name="lambda_in_repl")(
    _exec_made("f = lambda x: x * x\n", "f")
)
refused(2.0, error=s2s.SourceError, says="sin", advice="wrap it", name="builtin_function")(math.sin)
refused(2.0, error=TypeError, says="class", name="a_class")(Refusal)
refused(V, error=s2s.SourceError, says="not written in Python", advice="lambda x", name="np_sum")(
    np.sum
)
refused(V, says="guvectorize", advice="s2s.vmap", name="guvectorized")(summed_up)
refused(V, says="stencil", advice="slices", name="stencil")(two_neighbours)
refused(2.0, error=TypeError, says="not a function", name="not_a_function")(3.0)  # type: ignore[arg-type]

_hidden_helper = _exec_made("def hidden(x):\n    return x * x\n", "hidden")


@refused(2.0, error=s2s.SourceError, says="source not available")
def helper_without_source(x):
    return _hidden_helper(x) + 1.0  # @ _hidden_helper(x)


def recursive_by_name(x, n):
    if n == 0:
        return x
    return x * decorated(x, n - 1)  # @ decorated(


@s2s.grad(backend="loops")
def decorated(x, n):
    if n == 0:
        return x
    return x * decorated(x, n - 1)  # @ decorated(


refused(
    2.0,
    2,
    says="here decorated is its gradient",
    advice="g = s2s.grad(decorated)",
    name="recursion_in_decorated",
)(decorated)


# ---------------------------------------------------------------- names


@refused(2.0, error=NameError, says="undefined_thing")
def undefined_name(x):
    return x * undefined_thing  # @ undefined_thing


@refused([1.0, 2.0], says="multiply of a list and a list", advice="np.array")
def product_of_lists(x):
    return np.sum(x * x)  # @ x * x


@refused((1.0, 2.0), says="subtract of a tuple and a number", advice="np.array")
def difference_of_a_tuple(x):
    return np.sum(x - 1.0)  # @ x - 1.0


@refused(V, error=TypeError, says="ended without a return")
def without_a_return(x):
    for v in x:
        if v > 9.0:
            return v * 2.0


@refused(2.0, error=UnboundLocalError, says="y")
def unbound_local(x):
    if x > 5.0:
        y = x
    return y * x  # @ y


@refused(2.0, error=UnboundLocalError, says="y")
def unbound_before_assignment(x):
    z = y * 2.0  # @ y
    y = x
    return z + y


@refused(2.0, 0, error=UnboundLocalError, says="last")
def unbound_after_empty_loop(x, n):
    for i in range(n):
        last = x * i
    return last  # @ last


@refused(2.0, error=AttributeError, says="sinn")
def undefined_attribute(x):
    return math.sinn(x)  # @ math.sinn


# ---------------------------------------------------------------- shapes, indices, dtypes


@refused(V, np.zeros(2), error=ValueError, says="broadcast")
def shapes_do_not_broadcast(x, y):
    z = x * 2.0
    return np.sum(z + y)  # @ z + y


@refused(M, V[:2], error=ValueError, says="matmul")
def matmul_mismatch(a, x):
    return np.sum(a @ x)  # @ a @ x


@refused(V, error=ValueError, says="reshape")
def reshape_mismatch(x):
    return np.sum(x.reshape(2, 2))  # @ x.reshape(2, 2)


@refused(V, M, error=ValueError, says="")
def concatenate_mismatch(x, a):
    return np.sum(np.concatenate([x, a]))  # @ np.concatenate([x, a])


@refused(V, error=ValueError, says="axis 1 is out of bounds")
def axis_out_of_range(x):
    return np.sum(np.sum(x, axis=1))  # @ np.sum(x, axis=1)


@refused(V, 3, error=IndexError, says="out of bounds for axis 0")
def index_out_of_range(x, i):
    y = x * 2.0
    return y[i]  # @ y[i]


@refused(V, error=IndexError, says="out of bounds")
def index_below_range(x):
    return x[-4] * 2.0  # @ x[-4]


@refused(V, 7, error=IndexError, says="out of bounds")
def index_out_of_range_in_write(x, i):
    y = x * 2.0
    y[i] = 1.0  # @ y[i]
    return np.sum(y)


@refused(V, np.array([0, 5]), error=IndexError, says="out of bounds")
def gather_out_of_range(x, idx):
    return np.sum(x[idx])  # @ x[idx]


@refused(V, error=IndexError, says="out of bounds")
def loop_runs_too_far(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i + 1]  # @ x[i + 1]
    return s


@refused(V, error=IndexError, says="too many indices")
def too_many_indices(x):
    return x[0, 1]  # @ x[0, 1]


@refused(V, np.array([True, False]), error=IndexError, says="boolean")
def mask_of_wrong_size(x, m):
    return np.sum(x[m])  # @ x[m]


@refused(V, error=IndexError, says="integers")
def float_index(x):
    return x[1.0]  # @ x[1.0]


@refused(V, error=ValueError, says="broadcast")
def slice_of_wrong_size(x):
    y = np.zeros(3)
    y[:2] = x  # @ y[:2]
    return np.sum(y)


@refused(V, 0, error=ValueError, says="step")
def slice_step_zero(x, k):
    return np.sum(x[::k])  # @ x[::k]


@refused(2.0, 0, error=ValueError, says="range() arg 3 must not be zero")
def range_step_zero(x, k):
    s = x
    for i in range(0, 3, k):  # @ range(0, 3, k)
        s = s * x
    return s


def _read_only():
    x = V.copy()
    x.flags.writeable = False
    return x


@refused(_read_only(), error=ValueError, says="read-only")
def read_only_argument_written(x):
    x[0] = 1.0  # @ x[0]
    return np.sum(x)


@refused(M, error=ValueError, says="unpack")
def unpack_mismatch(a):
    n, m, k = a.shape  # @ n, m, k
    return np.sum(a) * n


@refused((1.0, 2.0), error=IndexError, says="tuple index out of range")
def tuple_index_out_of_range(p):
    return p[2]  # @ p[2]


@refused({"a": 1.0}, error=KeyError, says="b")
def missing_key(d):
    return d["b"]  # @ d["b"]


@refused(V, error=ValueError, says="truth value")
def truth_of_array(x):
    if x > 0.0:  # @ x > 0.0
        return x[0]
    return x[1]


@refused(V, error=TypeError, says="")
def float_of_array(x):
    return float(x)  # @ float(x)


@refused(V, error=TypeError, says="")
def range_of_float(x):
    s = 0.0
    for i in range(x[0]):  # @ range(x[0])
        s += x[i]
    return s


@refused(V[:0], error=ValueError, says="zero-size array to reduction operation maximum")
def maximum_of_nothing(x):
    return np.max(x)  # @ np.max(x)


@refused(V, error=TypeError, says="")
def in_place_cast(x):
    k = np.arange(3)
    k += x  # @ k += x
    return np.sum(k * x)


@refused(V, error=TypeError, says="iterable")
def iterate_over_scalar(x):
    s = 0.0
    for v in x[0]:  # @ x[0]
        s += v
    return s


# ---------------------------------------------------------------- keywords and options


@refused(V, says="where", advice="")
def ufunc_with_where(x):
    return np.sum(np.exp(x, where=x > 0.0))  # @ np.exp(x, where=x > 0.0)


@refused(V, says="order")
def reshape_in_any_order(x):
    return np.sum(x.reshape((3, 1), order="A"))  # @ x.reshape((3, 1), order="A")


@refused(V, says="no backend", error=ValueError, advice="numba", backend="gpu")
def unknown_backend(x):
    return np.sum(x)


@refused(V, says="nonsense", error=TypeError, advice="documentation")
def unknown_keyword_of_numpy(x):
    return np.sum(x, nonsense=True)  # @ np.sum(x, nonsense=True)


@refused(V, says="clongdouble", advice="float")
def extended_dtype_inside(x):
    y = np.zeros(3, dtype=np.clongdouble)  # @ np.zeros
    return np.sum(x)


# ---------------------------------------------------------------- lists, loops, raises


@refused(V, error=ValueError, says="shape")
def list_of_ragged_arrays(x):
    parts = []
    for i in range(x.shape[0]):
        parts.append(x[:i])
    return np.sum(np.stack(parts))  # @ np.stack(parts)


@refused(V, says="of one rank only", advice="one list")
def list_of_mixed_ranks(x):
    parts = []
    for i in range(x.shape[0]):  # @ for i in range(x.shape[0])
        if i == 0:
            parts.append(x)
        else:
            parts.append(x[0])
    return len(parts) * x[0]


@refused(V, says="different", advice="one name")
def type_changes_in_loop(x):
    y = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            y = x * y  # @ y
    return np.sum(y)


@refused(-2.0, error=ValueError, says="x must be positive, got -2.0")
def raises_with_value(x):
    if x <= 0:
        raise ValueError(f"x must be positive, got {x}")  # @ raise
    return x


@refused(-2.0, error=AssertionError, says="x must be positive")
def assertion_fails(x):
    assert x > 0.0, "x must be positive"  # @ assert
    return x


@refused(V, error=RuntimeError, says="no convergence after 3 steps")
def raises_in_loop(x):
    k = 0
    while x[0] < 100.0:
        k += 1
        if k == 3:
            raise RuntimeError(f"no convergence after {k} steps")  # @ raise
    return x[0]


@refused(V, says="", advice="")
def try_in_helper(x):
    return _guarded(x[0])


def _guarded(v):
    try:
        return math.log(v)  # @ math.log(v)
    except ValueError:
        return 0.0


@refused(np.ones((3, 2)), says="is also an element of a list", advice="copy")
def rows_in_a_list_written(m):
    first, *rest = m
    first[0] = 2.0  # @ first[0]
    return np.sum(rest[0])


def marker(text: str) -> tuple[int, str] | None:
    """The line (from 0) and the caret text that the marker in a function's source requires."""
    for number, line in enumerate(text.splitlines()):
        found = re.search(r"# ?@ (.*)$", line)
        if found:
            return number, found[1]
    return None
