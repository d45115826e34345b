"""Callables are unwrapped and arguments bound as in Python."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import s2s
from s2s.call.bind_arguments import Binder, is_method, resolve_wrt, unwrap


def f(x, y=2.0, *rest, k=3, **others):
    return x


def g(x, y):
    return x


class C:
    def method(self, x):
        return x

    @classmethod
    def made(cls, x):
        return x

    @staticmethod
    def free(x):
        return x

    def __call__(self, x):
        return x


def test_plain_functions_methods_partials_and_callable_objects():
    c = C()
    assert unwrap(g).function is g
    assert unwrap(c.method).prefix == (c,)
    assert unwrap(c.method).function is C.method
    assert unwrap(C.made).prefix == (C,)
    assert unwrap(C.free).prefix == ()
    assert unwrap(c).prefix == (c,)
    partial = functools.partial(functools.partial(f, 1.0), k=5)
    assert (unwrap(partial).prefix, unwrap(partial).fixed) == ((1.0,), {"k": 5})
    assert unwrap(vars(C)["made"]).kind == "classmethod"
    assert unwrap(vars(C)["free"]).kind == "staticmethod"


def test_functions_already_given_to_numba():
    numba = pytest.importorskip("numba")
    assert unwrap(numba.njit(g)).function is g
    target = unwrap(numba.vectorize(g))
    assert target.function is g and target.vectorized


@pytest.mark.parametrize("thing", [np.sin, len, [].append])
def test_builtins_have_no_source(thing):
    with pytest.raises(s2s.SourceError, match="source not available"):
        unwrap(thing)


@pytest.mark.parametrize("thing", [C, 3, "f", None])
def test_what_is_no_function(thing):
    with pytest.raises(TypeError):
        unwrap(thing)


def test_methods_are_recognised():
    assert is_method(C.method) and is_method(C.made.__func__)
    assert not is_method(C.free) and not is_method(g)


def test_binding_fills_defaults_in_order():
    binder = Binder(f)
    assert binder.bind((1.0,), {}) == (1.0, 2.0, (), 3, {})
    assert binder.bind((1.0, 4.0, 5.0), {"k": 6, "z": 7}) == (1.0, 4.0, (5.0,), 6, {"z": 7})
    assert Binder(g).bind((1, 2), {}) == (1, 2)
    assert Binder(g).bind((1,), {"y": 2}) == (1, 2)


def test_a_wrong_call_names_the_function():
    with pytest.raises(TypeError, match=r"g\(\): missing a required argument: 'y'"):
        Binder(g).bind((1,), {})


@pytest.mark.parametrize(
    "wrt, names",
    [(0, ("x",)), (-1, ("y",)), ("y", ("y",)), (("y", 0), ("y", "x")), ([1], ("y",))],
)
def test_wrt(wrt, names):
    assert resolve_wrt(wrt, ("x", "y"), "g") == names


@pytest.mark.parametrize(
    "wrt, message",
    [
        ("z", "its parameters are x, y"),
        (2, "g has 2 parameters"),
        (-3, "counted from 0"),
        (True, "neither a name nor a position"),
        ((), "is empty"),
        (("x", 0), "names x twice"),
    ],
)
def test_wrong_wrt(wrt, message):
    with pytest.raises(TypeError, match=message):
        resolve_wrt(wrt, ("x", "y"), "g")


def test_wrt_is_checked_when_decorating():
    with pytest.raises(TypeError, match="its parameters are x, y"):
        s2s.grad(wrt="z")(g)
    with pytest.raises(TypeError, match="no parameter 'z'"):
        s2s.grad(static_argnames="z")(g)
    with pytest.raises(TypeError, match="is static"):
        s2s.grad(static_argnames="x")(g)
    with pytest.raises(ValueError, match="no backend 'gpu'"):
        s2s.grad(backend="gpu")(g)


def test_self_and_given_arguments_are_not_counted():
    class D:
        @s2s.grad
        def m(this, x, y):
            return x

        @classmethod
        @s2s.grad(wrt=1)
        def c(cls, x, y):
            return x

        @s2s.grad
        @staticmethod
        def s(x, y):
            return x

    assert D.m._specialiser("vjp").wrt == ("x",)
    assert D().m._specialiser("vjp").wrt == ("x",)
    assert vars(D)["c"].__func__._specialiser("vjp").wrt == ("y",)
    assert D.s._specialiser("vjp").wrt == ("x",)
    assert s2s.grad(functools.partial(g, 1.0))._specialiser("vjp").wrt == ("y",)
