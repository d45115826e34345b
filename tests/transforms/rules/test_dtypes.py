"""Dtype arguments in every form that NumPy takes, and the casts that its rules allow."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.builder import Builder, NameSupply
from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.ir.nodes import Scalar, Var
from s2s.transforms.ir.symbolic_dims import Facts
from s2s.transforms.rules import NeedStatic
from s2s.transforms.rules.dtypes import SUPPORTED, as_dtype, require_cast


def sym(dtype: str) -> Any:
    return Builder(NameSupply(), Facts()).sym(Var("x", Scalar(dtype)))


@pytest.mark.parametrize("name", SUPPORTED)
def test_every_supported_dtype_in_every_form(name: str) -> None:
    for form in (name, np.dtype(name), np.dtype(name).type, np.dtype(name).char):
        assert as_dtype(form) == name


def test_python_types_and_the_default() -> None:
    assert [as_dtype(t) for t in (float, bool, complex)] == ["float64", "bool", "complex128"]
    assert as_dtype(int) == np.dtype(int).name
    assert as_dtype(None) == "float64" and as_dtype(None, "int64") == "int64"


@pytest.mark.parametrize(
    "dtype", [np.longdouble, ">f8", "U3", object, "datetime64[s]", [("a", "f8")], "V4"]
)
def test_other_dtypes_are_refused(dtype: Any) -> None:
    with pytest.raises(UnsupportedError, match="is not supported"):
        as_dtype(dtype)


def test_what_is_no_dtype_is_numpys_error() -> None:
    with pytest.raises(TypeError):
        as_dtype("float63")
    with pytest.raises(NeedStatic, match="dtype"):
        as_dtype(sym("float64"))


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("have", ["bool", "int8", "int64", "float32", "float64", "complex64"])
@pytest.mark.parametrize("want", ["bool", "int64", "float32", "complex128"])
def test_casts_are_allowed_as_in_numpy(have: str, want: str, casting: Any) -> None:
    array = np.zeros(2, have)
    warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
    try:
        array.astype(want, casting=casting)
    except TypeError as numpys:
        with pytest.raises(TypeError) as error:
            require_cast(sym(have), want, casting)
        assert str(error.value) == str(numpys)
    else:
        require_cast(sym(have), want, casting)
