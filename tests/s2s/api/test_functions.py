"""The public transforms, end to end on the loops backend; some tests run on all three."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import s2s

BACKENDS = ["numba", "loops", "python"]
scale = 3.0
offsets = np.array([1.0, 2.0])


@pytest.fixture(autouse=True)
def on_loops(monkeypatch):
    monkeypatch.setenv("S2S_BACKEND", "loops")


def square(x):
    """x times x"""
    return x * x


def weighted(W, b, x):
    return (x @ W + b).sum()


@s2s.grad
def decorated(x, y=2.0):
    return (x**2).sum() * y


@s2s.grad(wrt=("W", "b"))
def two(W, b, x):
    return (x @ W + b).sum()


@s2s.value_and_grad(wrt="y", has_aux=True)
def with_aux(x, y):
    return x * y, (x, 2 * y)


@s2s.function
def compiled(x):
    return x + 1.0


class Model:
    def __init__(self, k):
        self.k = k

    @s2s.grad
    def loss(self, x):
        return self.k * x * x

    @classmethod
    @s2s.grad
    def made(cls, x):
        return x * x

    @staticmethod
    @s2s.grad
    def free(x):
        return x * x

    @s2s.grad(wrt="y")
    @classmethod
    def inner(cls, x, y):
        return x * y

    def plain(self, x):
        return self.k * x


class Point(NamedTuple):
    x: float
    y: float


@dataclass(frozen=True)
class Weights:
    W: np.ndarray
    b: float


# ---------------------------------------------------------------- forms


def test_bare_and_with_arguments():
    np.testing.assert_array_equal(decorated(np.array([1.0, 2.0])), [4.0, 8.0])
    np.testing.assert_array_equal(decorated(np.array([1.0]), y=5.0), [10.0])
    W_bar, b_bar = two(np.ones((2, 3)), np.zeros(3), np.ones((4, 2)))
    assert (W_bar.shape, b_bar.shape) == ((2, 3), (3,))
    np.testing.assert_array_equal(b_bar, [4.0, 4.0, 4.0])


def test_on_existing_functions():
    assert s2s.grad(square)(3.0) == 6.0
    assert s2s.value_and_grad(square)(3.0) == (9.0, 6.0)
    assert s2s.function(square)(3.0) == 9.0
    assert s2s.grad(lambda x: x * 4.0)(1.0) == 4.0


def test_auxiliary_results():
    assert with_aux(2.0, 3.0) == ((6.0, (2.0, 6.0)), 2.0)
    gradient, aux = s2s.grad(with_aux.python, has_aux=True)(2.0, 3.0)
    assert (gradient, aux) == (3.0, (2.0, 6.0))


def test_tuple_of_one_gives_a_tuple():
    assert s2s.grad(square, wrt=("x",))(3.0) == (6.0,)
    assert s2s.grad(square, wrt=[0])(3.0) == (6.0,)


def test_numba_functions():
    numba = pytest.importorskip("numba")
    assert s2s.grad(numba.njit(square))(3.0) == 6.0
    ufunc = numba.vectorize(square)
    assert s2s.grad(ufunc)(3.0) == 6.0
    with pytest.raises(s2s.UnsupportedError, match="vectorize"):
        s2s.grad(ufunc)(np.ones(3))


def test_decorated_functions_keep_their_own_parameters():
    def swapped(function):
        @functools.wraps(function)
        def wrapper(b, a):
            return function(a, b)

        return wrapper

    @swapped
    def f(a, b):
        return a * a * b

    for g in (s2s.grad(f), s2s.grad(f, wrt="b")):
        assert g(3.0, 2.0) == 4.0 and g(a=2.0, b=3.0) == 4.0
    assert s2s.grad(f, wrt=1)(3.0, 2.0) == 12.0
    assert s2s.function(f)(3.0, a=2.0) == f(3.0, 2.0)
    assert list(inspect.signature(s2s.grad(f)).parameters) == ["b", "a"]
    s2s.check_grads(f, 3.0, 2.0)


def test_zip_that_is_strict():
    def f(x, y):
        return sum(a * b for a, b in zip(x, y, strict=True))

    compiled = s2s.function(f, backend="loops")
    assert compiled([1.0, 2.0], np.ones(2)) == 3.0
    for x, y in (([1.0, 2.0], np.ones(3)), ([1.0, 2.0], [1.0])):
        with pytest.raises(ValueError, match=r"zip\(\) arguments have different lengths"):
            compiled(x, y)


def test_partials():
    gradient = s2s.grad(functools.partial(lambda a, b: a * b * b, 2.0))
    assert gradient(3.0) == 12.0
    gradient = s2s.grad(functools.partial(lambda a, b: a * b * b, b=5.0))
    assert gradient(1.0) == 25.0


def test_primal_and_python():
    assert decorated.primal(np.array([3.0]), 1.0) == 9.0
    assert decorated.python(np.array([3.0]), 1.0) == 9.0
    assert inspect.isfunction(decorated.python)


def test_methods():
    model = Model(4.0)
    assert model.loss(3.0) == 24.0
    assert Model.loss(model, 3.0) == 24.0
    model.k = 5.0
    assert model.loss(3.0) == 30.0
    assert model.loss.primal(1.0) == 5.0
    assert model.loss.python(1.0) == 5.0
    assert Model.made(3.0) == 6.0 and model.made(3.0) == 6.0
    assert Model.free(3.0) == 6.0 and model.free(3.0) == 6.0
    assert Model.inner(3.0, 4.0) == 3.0
    assert s2s.grad(model.plain)(1.0) == 5.0


def test_second_instance():
    a, b = Model(1.0), Model(2.0)
    assert (a.loss(1.0), b.loss(1.0), a.loss(2.0)) == (2.0, 4.0, 4.0)


def test_gradient_of_a_gradient():
    assert s2s.grad(s2s.grad(square))(3.0) == 2.0
    assert s2s.grad(s2s.function(square))(3.0) == 6.0


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_have_their_dtype(backend):
    f = s2s.value_and_grad(lambda x: x * x, backend=backend)
    value, gradient = f(np.float32(3.0))
    assert (type(value), type(gradient)) == (np.float32, np.float32)
    value, gradient = f(3.0)
    assert (type(value), type(gradient)) == (np.float64, np.float64)
    g = s2s.grad(lambda x: (x * x).sum(), backend=backend)
    assert g(np.ones(2, np.float32)).dtype == np.float32


@pytest.mark.parametrize("backend", BACKENDS)
def test_integers_and_bools(backend):
    f = s2s.function(lambda x, n: (n + 1, x > 0.0, x * n), backend=backend)
    n, positive, product = f(2.0, 3)
    assert (n, positive, product) == (4, True, 6.0)
    assert type(n) is int and type(positive) is bool


@pytest.mark.parametrize("backend", BACKENDS)
def test_containers(backend):
    def f(p, q, d, w, rest):
        return p.x * p.y + q[0][1] * 2.0 + d["a"] * d["b"].sum() + w.W.sum() * w.b + rest[1]

    gradient = s2s.grad(f, wrt=(0, 1, 2, 3, 4), backend=backend)
    p, q, d, w, rest = gradient(
        Point(2.0, 3.0),
        ((1.0, 2.0), np.ones(2)),
        {"a": 4.0, "b": np.ones(3)},
        Weights(np.ones((2, 2)), 0.5),
        [1.0, 2.0],
    )
    assert p == Point(3.0, 2.0)
    assert q[0] == (0.0, 2.0) and type(q) is tuple
    np.testing.assert_array_equal(q[1], [0.0, 0.0])
    assert d["a"] == 3.0
    np.testing.assert_array_equal(d["b"], [4.0] * 3)
    assert type(w) is Weights and w.b == 4.0
    np.testing.assert_array_equal(w.W, np.full((2, 2), 0.5))
    assert rest == [0.0, 1.0] and type(rest) is list


def test_globals_and_closures_are_read_anew(monkeypatch):
    def f(x):
        return (x * offsets).sum() * scale

    gradient = s2s.grad(f)
    np.testing.assert_array_equal(gradient(np.ones(2)), [3.0, 6.0])
    monkeypatch.setitem(globals(), "scale", 10.0)
    np.testing.assert_array_equal(gradient(np.ones(2)), [10.0, 20.0])

    k = 2.0

    def g(x):
        return x * k

    gradient = s2s.grad(g)
    assert gradient(1.0) == 2.0
    k = 7.0
    assert gradient(1.0) == 7.0


def test_new_sizes_do_not_recompile():
    gradient = s2s.grad(lambda x, y: (x * y).sum())
    for n in (5, 3, 0, 1):
        gradient(np.ones(n), np.ones(n))
    assert len(gradient._specialiser("vjp").entries) == 1
    assert sum(map(len, gradient._specialiser("vjp").entries.values())) == 1


def test_arguments_of_any_layout():
    gradient = s2s.grad(lambda x: (x * x).sum())
    x = np.arange(12.0).reshape(3, 4)
    frozen = x.copy()
    frozen.flags.writeable = False
    for a in (x, x.T, x[::2, ::-1], np.asfortranarray(x), frozen, x[:0], np.array(2.0)):
        g = gradient(a)
        assert g.shape == a.shape
        np.testing.assert_array_equal(g, 2 * a)


def test_one_array_twice():
    gradient = s2s.grad(lambda x, y: (x * y * y).sum(), wrt=(0, 1))
    x = np.array([1.0, 2.0])
    a, b = gradient(x, x)
    np.testing.assert_array_equal(a, x * x)
    np.testing.assert_array_equal(b, 2 * x * x)


def test_writing_into_overlapping_arguments_is_refused():
    @s2s.function
    def f(x, y):
        x[0] = 5.0
        return (x * y).sum()

    x = np.ones(4)
    assert f(x, np.ones(4)) == 8.0 and x[0] == 5.0
    with pytest.raises(ValueError, match=r"overlap in memory.*\n.*\.copy\(\)"):
        f(x, x)
    with pytest.raises(ValueError, match="overlap"):
        f(x[:3], x[1:])
    assert f(x[:2], x[2:]) == 6.0
    y = np.ones(4)
    f(x, y)
    for again in (y, x[:], y[::-1]):  # known layouts take the cached stubs
        with pytest.raises(ValueError, match="overlap"):
            f(again, again)
    assert f(y, x) == f(y, x) == f(x, y)
    frozen = np.ones(4)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(frozen, x)


def test_static_arguments():
    @s2s.grad(static_argnames="kind")
    def f(x, kind):
        if kind == "square":
            return x * x
        return x * 3.0

    assert (f(2.0, "square"), f(2.0, "linear"), f(2.0, kind="square")) == (4.0, 3.0, 4.0)


# ---------------------------------------------------------------- out=


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_into_buffers(backend):
    gradient = s2s.grad(weighted, wrt=("W", "b"), backend=backend)
    args = (np.ones((2, 3)), np.zeros(3), np.ones((4, 2)))
    W_bar, strided = np.empty((2, 3)), np.empty((3, 2))[:, 0]
    got = gradient(*args, out=(W_bar, strided))
    assert got[0] is W_bar and got[1] is strided
    expected = gradient(*args)
    np.testing.assert_array_equal(W_bar, expected[0])
    np.testing.assert_array_equal(strided, expected[1])
    value, g = s2s.value_and_grad(square, backend=backend)(3.0, out=np.empty(()))
    assert value == 9.0 and isinstance(g, np.ndarray) and g == 6.0


def test_a_parameter_named_out_is_the_functions_own():
    assert s2s.grad(lambda x, out: x * out)(1.0, out=3.0) == 3.0


# ---------------------------------------------------------------- refusals of arguments


@pytest.mark.parametrize(
    "value, message",
    [
        (3, r"x is int; pass 3\.0"),
        (True, "x is bool"),
        (np.arange(3), r"x is an array of int64; pass x\.astype\(np\.float64\)"),
        (np.array([1, "a"], dtype=object), "x of square: object arrays"),
        (np.ma.array([1.0]), "x of square: masked arrays"),
        (np.ones(2, ">f8"), "x of square: arrays of foreign byte order"),
        (1j, "a gradient needs a real result"),
        ("text", "x of square is a str"),
        ((), "holds no numbers"),
    ],
)
def test_unfit_arguments(value, message):
    with pytest.raises(TypeError, match=message):
        s2s.grad(square)(value)


def test_calls_are_checked_as_in_python():
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        s2s.grad(square)()
    with pytest.raises(TypeError, match="unexpected keyword argument 'q'"):
        s2s.grad(square)(1.0, q=2.0)


# ---------------------------------------------------------------- being a good object


def test_looks_like_the_function():
    f = s2s.grad(square)
    assert (f.__name__, f.__doc__, f.__wrapped__) == ("square", "x times x", square)
    assert repr(f) == "<s2s.grad of square(x) wrt x>"
    assert repr(two).endswith("wrt (W, b)>")
    assert repr(compiled) == "<s2s.function of compiled(x)>"
    assert str(inspect.signature(Model(1.0).loss)) == "(x)"


def test_pickling():
    for f in (decorated, two, compiled, Model.free, Model.loss):
        assert pickle.loads(pickle.dumps(f)) is f
    f = pickle.loads(pickle.dumps(s2s.grad(square)))
    assert f(3.0) == 6.0
    f = pickle.loads(pickle.dumps(s2s.value_and_grad(decorated.python, wrt="y")))
    assert f(np.array([2.0]), 1.0) == (4.0, 4.0)
    bound = pickle.loads(pickle.dumps(Model(2.0).loss))
    assert bound(1.0) == 4.0
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(s2s.grad(lambda x: x))


def test_copying():
    assert copy.copy(decorated) is decorated and copy.deepcopy(decorated) is decorated
    model = Model(2.0)
    bound = copy.deepcopy(model.loss)
    model.k = 5.0
    assert bound(1.0) == 4.0


def test_making_it_again_compiles_nothing():
    assert s2s.grad(square)(3.0) == 6.0
    entry = s2s.grad(square)._specialiser("vjp").latest
    assert s2s.grad(square)(4.0) == 8.0
    assert s2s.grad(square)._specialiser("vjp").latest is entry is not None


# ---------------------------------------------------------------- reading


def test_source():
    f = s2s.grad(lambda x: x * x * x)
    assert "has not been called yet" in f.source and "has not been called yet" in f.lowered
    text = f.source_for(2.0)
    assert "def " in text and f.source == text
    assert "def " in f.lowered
    names = [name for name, _ in f.passes(2.0)]
    assert names[0] == "desugar" and names[-1] == "lower"
    assert all(isinstance(source, str) for _, source in f.passes())


@pytest.mark.parametrize("backend", BACKENDS)
def test_compiling_ahead(backend):
    f = s2s.grad(lambda x, n: (x * x).sum() * n, backend=backend)
    assert f.compile("float64[:, :]", "int64") is f
    entry = f._specialiser("vjp").latest
    np.testing.assert_array_equal(f(np.ones((2, 3)), 2), np.full((2, 3), 4.0))
    np.testing.assert_array_equal(f(np.ones((1, 1)), 2), np.full((1, 1), 4.0))
    assert f._specialiser("vjp").latest is entry
    f.compile(np.ones((2, 2), np.float32), n=3)
    assert f(np.ones((2, 2), np.float32), 3).dtype == np.float32
    with pytest.raises(TypeError, match="is no type"):
        f.compile("floot", "int64")


def test_recompilation_is_warned_of():
    class Holder:
        mode = ""

    holder = Holder()

    @s2s.function(backend="loops")
    def g(x):
        return x * 2.0 if holder.mode == "mmm" else x

    with pytest.warns(s2s.RecompilationWarning, match="holder.mode"):
        for n in range(12):
            holder.mode = "m" * n
            assert g(2.0) == (4.0 if n == 3 else 2.0)


def test_an_int_that_changes_is_lifted():
    class Holder:
        n = 0

    holder = Holder()

    @s2s.function(backend="loops")
    def g(x):
        return x * holder.n

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(12):
            holder.n = n
            assert g(2.0) == 2.0 * n


def test_a_function_made_anew_is_not_compiled_anew():
    @s2s.function(backend="loops")
    def g(x, f):
        return f(x) + 1.0

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(12):
            scale = float(n)
            assert g(2.0, lambda t: t * scale) == 2.0 * n + 1.0
