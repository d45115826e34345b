"""Integer arguments: what is taken, what is converted, and the errors that NumPy raises too."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.builder import Builder, NameSupply
from s2s.transforms.ir.errors import S2STypeError, UnsupportedError
from s2s.transforms.ir.nodes import Array, Const, Scalar, Type, Var
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.rules import SURFACES
from s2s.transforms.rules.integer_arguments import (
    as_integers,
    convert_integer_arguments,
    integer_parameters,
)

B = Builder(NameSupply(), Facts())


def parameter(name: str, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


def sym(type_: Type) -> Any:
    return B.sym(Var("x", type_))


def integers(value: Any, path: str = "numpy.roll", name: str = "shape") -> Any:
    return as_integers(path, parameter(name), value)


def test_integer_parameters_are_found_by_name() -> None:
    assert {"axis"} <= integer_parameters("numpy.sum", SURFACES["numpy.sum"]).keys()
    assert not integer_parameters("numpy.random.binomial", lambda b, n, p: None)
    assert not integer_parameters("torch.sum", SURFACES["numpy.sum"])
    assert set(integer_parameters("math.factorial", lambda b, x: None)) == {"x"}
    assert not integer_parameters("math.exp", lambda b, x: None)


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_integers_of_any_kind_become_python_ints(value: Any) -> None:
    got = integers(value)
    assert got == 3 and type(got) is int


def test_nested_sequences_keep_their_kind() -> None:
    assert integers([1, (np.int32(2), 3)]) == [1, (2, 3)]
    assert integers(()) == ()


def test_none_where_it_is_optional() -> None:
    assert as_integers("numpy.sum", parameter("axis"), None) is None
    assert as_integers("numpy.diff", parameter("n", None), None) is None
    with pytest.raises(S2STypeError, match="an integer is required, not NoneType"):
        as_integers("numpy.diff", parameter("n"), None)


@pytest.mark.parametrize("value", [2.0, np.float32(2), 1j])
def test_floats_are_no_integers_even_if_whole(value: Any) -> None:
    with pytest.raises(TypeError, match="object cannot be interpreted as an integer"):
        integers(value)
    with pytest.raises(TypeError):
        np.zeros(value)


@pytest.mark.parametrize("value", ["2", {}, object()])
def test_other_objects_are_no_integers(value: Any) -> None:
    with pytest.raises(S2STypeError, match=f"not {type(value).__name__}"):
        integers(value)


def test_run_time_values() -> None:
    count = sym(Scalar("int64", value=Dim.of("n")))
    assert integers(count) is count
    assert integers(sym(Scalar("uint8"))).dtype == "int64"
    assert integers(B.sym(Const(4, Scalar("int32")))) == 4
    array = sym(Array("int32", (Dim.of(2),)))
    assert integers(array) is array
    with pytest.raises(TypeError, match="'float' object"):
        integers(sym(Scalar("float64")))
    with pytest.raises(TypeError, match="'float' object"):
        integers(sym(Array("float64", (Dim.of(2),))))


def test_a_bool_is_an_integer_for_python_and_refused_for_numpy() -> None:
    assert as_integers("math.comb", parameter("k"), True) is True
    for value in (True, np.True_, sym(Scalar("bool"))):
        with pytest.raises(UnsupportedError, match="a bool for k= of numpy"):
            as_integers("numpy.diag", parameter("k"), value)


def test_some_functions_take_floats() -> None:
    assert as_integers("numpy.tri", parameter("k"), 1.5) == 1.5
    assert as_integers("numpy.hanning", parameter("M"), 4.0) == 4.0
    assert as_integers("numpy.linalg.norm", parameter("axis"), 1.0) == 1
    with pytest.raises(TypeError, match="cannot be interpreted"):
        as_integers("numpy.tri", parameter("axis"), 1.5)
    with pytest.raises(ValueError, match="n should be an integer"):
        as_integers("numpy.fft.fftfreq", parameter("n"), 4.0)


def test_an_unsigned_integer_that_numpy_would_negate() -> None:
    with pytest.raises(UnsupportedError, match="wrap around") as error:
        as_integers("numpy.tril", parameter("k"), np.uint8(1))
    assert "int(" in error.value.advice
    assert as_integers("numpy.diag", parameter("k"), np.uint8(1)) == 1


def test_arguments_are_converted_by_position_and_keyword() -> None:
    def surface(b: Any, x: Any, axis: Any = None, *, offset: Any = 0) -> None: ...

    args, keywords = convert_integer_arguments(
        "numpy.diagonal", surface, [1.5, np.int8(1)], {"offset": np.int16(2), "other": 0.5}
    )
    assert args == [1.5, 1] and keywords == {"offset": 2, "other": 0.5}
    assert type(args[1]) is int
    with pytest.raises(TypeError):
        convert_integer_arguments("numpy.diagonal", surface, [1.5], {"axis": 1.0})


def test_all_arguments_of_a_variadic_parameter_are_converted() -> None:
    def surface(b: Any, x: Any, *shape: Any) -> None: ...

    args, _ = convert_integer_arguments("numpy.f", surface, [0.5, np.int8(2), np.int8(3)], {})
    assert args == [0.5, 2, 3]
    given = [0.5, 2.0]
    assert convert_integer_arguments("other.f", surface, given, {})[0] is given
