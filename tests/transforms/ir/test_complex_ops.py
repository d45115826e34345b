"""Which operations take complex numbers: the tables name what exists, and all else is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir import complex_ops
from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.ir.nodes import Scalar, Var
from s2s.transforms.rules import RULES, SURFACES
from s2s.transforms.rules.library import LIBRARY

Z = Var("z", Scalar("complex128"))
X = Var("x", Scalar("float64"))


def test_the_tables_name_operations_and_functions_that_exist() -> None:
    assert complex_ops.OPERATIONS - RULES.keys() == {"alias"}  # of the memory form
    # These two are handled by the specialiser itself.
    special = {"numpy.add.at", "numpy.ndarray.tolist"}
    assert complex_ops.FUNCTIONS - SURFACES.keys() - LIBRARY.keys() == special


@pytest.mark.parametrize("args", [(Z,), (X, Z), (1j,), ([X, (Z,)],), ([np.complex128(1)],)])
def test_complex_arguments_are_found_at_any_depth(args: tuple[Any, ...]) -> None:
    with pytest.raises(UnsupportedError, match=r"numpy\.median of complex numbers") as error:
        complex_ops.refuse_complex("numpy.median", *args)
    assert "z.real and z.imag" in error.value.advice


@pytest.mark.parametrize("args", [(X,), (1.0, 2, "a", None), ([X, (X,)],), ()])
def test_real_arguments_pass(args: tuple[Any, ...]) -> None:
    complex_ops.refuse_complex("numpy.median", *args)


@pytest.mark.parametrize(
    "path", ["numpy.exp", "numpy.fft.fft", "scipy.fft.rfft", "cmath.sqrt", "builtins.abs"]
)
def test_functions_of_complex_numbers_pass(path: str) -> None:
    complex_ops.refuse_complex(path, Z)
