"""Derived functions: names, parameters, identity."""

from __future__ import annotations

import functools
import inspect
import pickle
from typing import Any

import pytest

from s2s.transforms.frontend.derivative_spec import Derived, derive


def loss(x, y, *, k=2):
    "Its doc."
    return x * y * k


def other(v, x=1, direction=2, /, *v_): ...


def parameters(derived: Derived) -> str:
    return str(inspect.signature(derived))  # type: ignore[arg-type]


def test_it_looks_like_the_plain_function() -> None:
    derived: Any = derive(loss, "grad", wrt=("x",))
    assert derived.plain is loss and derive(derived, "jvp").plain is loss
    assert derived.__code__ is loss.__code__ and derived.__kwdefaults__ == {"k": 2}
    assert (derived.__name__, derived.__doc__) == ("loss", "Its doc.")
    assert parameters(derived) == "(x, y, *, k=2)"


def test_names() -> None:
    hessian = derive(derive(loss, "grad"), "jvp")
    assert (hessian.name, hessian.title) == ("loss_grad_jvp", "jvp of grad of loss")
    anonymous = derive(lambda x: x, "grad")
    assert (anonymous.name, anonymous.title) == ("function_grad", "grad of <lambda>")


@pytest.mark.parametrize("kind", ["jvp", "vjp", "hvp"])
def test_the_direction_follows_the_first_argument(kind: str) -> None:
    assert parameters(derive(loss, kind)) == "(x, v, y, *, k=2)"
    assert parameters(derive(derive(loss, kind), kind)) == "(x, v_, v, y, *, k=2)"
    # Names that are taken, defaults before a parameter without one, and the kind of the parameter.
    found = inspect.signature(derive(other, kind)).parameters  # type: ignore[arg-type]
    assert [*found] == ["v", "direction_", "x", "direction", "v_"]
    assert found["direction_"].kind is inspect.Parameter.POSITIONAL_ONLY
    assert found["x"].default == 1


def test_a_direction_of_a_method() -> None:
    def method(self, x=1, y=2): ...

    assert parameters(derive(method, "jvp", skipped=1)) == "(self, x, v, y=2)"


@pytest.mark.parametrize("function", [lambda: 0, lambda *, x: x, lambda *x: x, lambda **x: x])
def test_a_direction_needs_a_positional_parameter(function) -> None:
    with pytest.raises(TypeError, match="has no positional parameter"):
        derive(function, "jvp")
    assert derive(function, "grad").plain is function


def test_custom_derivatives_have_no_return_annotation() -> None:
    def f(x: float) -> float:
        return x

    assert "->" not in parameters(derive(f, "custom")) and "->" in parameters(derive(f, "grad"))


def test_each_way_to_derive_is_one_object() -> None:
    def f(x): ...

    assert derive(f, "grad", wrt=("x",)) is derive(f, "grad", wrt=("x",))
    assert derive(f, "grad", wrt=("x",)) is not derive(f, "grad", wrt=("y",))
    assert derive(f, "grad") is not derive(f, "vjp")
    assert derive(f, "grad", single=True, skipped=0) is derive(f, "grad")


def test_a_wrapper_has_its_own() -> None:
    def f(x): ...

    inner = derive(f, "grad")

    @functools.wraps(f)
    def wrapper(y): ...

    assert derive(wrapper, "grad") is not inner
    assert derive(wrapper, "grad").plain is wrapper and derive(f, "grad").plain is f


def test_defaults_are_read_again() -> None:
    def f(x, k=1): ...

    derived = derive(derive(f, "grad"), "grad")
    f.__defaults__ = (5,)
    assert parameters(derived) == "(x, k=1)"
    derived.renew()
    assert parameters(derived) == "(x, k=5)" and derived.function.__defaults__ == (5,)


def test_pickles_lead_to_the_same_object() -> None:
    derived = derive(derive(loss, "grad", wrt=("x",), has_aux=True), "jvp", options=(("a", 1),))
    again = pickle.loads(pickle.dumps(derived))
    assert (
        again is derived
        and again.plain is loss
        and again.options == (("a", 1),)
        and again.function.has_aux
    )


def test_it_is_not_called_itself() -> None:
    with pytest.raises(TypeError, match=r"^the grad of loss is called through s2s.grad$"):
        derive(loss, "grad")(1.0)
