"""The parameters of the code itself, and callables whose text does not tell what they do."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest

from s2s.transforms.frontend.signature import signature, why_not_read


def plain(a, /, b=1, *c, d, **e): ...


def test_a_wrapper_shows_its_own_parameters() -> None:
    @functools.wraps(plain)
    def wrapper(*args):
        return plain(*args, d=1)

    assert str(signature(plain)) == "(a, /, b=1, *c, d, **e)"
    assert str(inspect.signature(wrapper)) == "(a, /, b=1, *c, d, **e)"
    assert str(signature(wrapper)) == "(*args)"


def test_what_is_no_plain_function_shows_what_python_does() -> None:
    class Callable_:
        def __call__(self, x, y=2): ...

    assert str(signature(Callable_())) == "(x, y=2)"
    assert str(signature(functools.partial(plain, 1))) == "(b=1, *c, d, **e)"


def test_callables_that_numba_makes() -> None:
    numba = pytest.importorskip("numba")
    stencil = numba.stencil(lambda a: a[-1] + a[1])
    message, advice = why_not_read(stencil) or ("", "")
    assert message == "a function under @numba.stencil is not supported"
    assert advice == "write the neighbours as slices: a[:-2] + a[2:]"

    def add(x, y, out):
        out[0] = x + y

    made = numba.guvectorize("(),()->()")(add)
    message, advice = why_not_read(made) or ("", "")
    assert message == "a function under @numba.guvectorize is not supported"
    assert advice == "use s2s.vmap of a plain function"


def test_others_are_read() -> None:
    class GUFunc:  # of the user
        pass

    for value in (plain, GUFunc(), np.add, None):
        assert why_not_read(value) is None
