"""The text of an emitted function's parameters, compared with what Python makes of it."""

from __future__ import annotations

import inspect
import math
from typing import Any

import libcst as cst
import numpy as np
import pytest

from s2s.transforms.emit.parameter_list import Parameter, parameter_list, users_parameters
from s2s.transforms.frontend.cst_to_core import Translator


def users(text: str) -> dict[str, Parameter]:
    module = cst.parse_module(f"def f({text}):\n    pass\n")
    (node,) = module.body
    assert isinstance(node, cst.FunctionDef)
    return users_parameters(Translator(module), node)


def signature(text: str) -> inspect.Signature:
    space: dict[str, Any] = {"np": np, "math": math}
    exec(f"def f({text}):\n    pass\n", space)
    return inspect.signature(space["f"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "x, y=2.0",
        "x, /",
        "x, y=1, /, z=2",
        "x, *, k=3",
        "a, /, b: int = 1, *, c, d=-2.5",
        "*, only=True",
        "x: np.ndarray, y: 'np.ndarray', z: int | None = None",
        "x: list[float], y: tuple[int, ...], z: 'dict[str, np.ndarray]'",
        "x: float = np.pi, y=math.e, z=np.float32(2) * 3, u=float('inf'), v=1e-3 + 2j",
    ],
)
def test_what_the_page_knows_is_kept(text: str) -> None:
    printed = parameter_list(list(users(text).values()))
    assert signature(printed) == signature(text)
    assert parameter_list(list(users(printed).values())) == printed


@pytest.mark.parametrize(
    "annotation",
    [
        "Array", "npt.NDArray", "np.no_such_thing", "'Array'", "'not python ('", "'x: int'",
        "np.ndarray[Any, Any]", "np.pi", "3", "int[0]", "'int' | None", "None | None",
        "list[Array]", "print(1)", "lambda: 0", "(int if 1 else float)", "np.linalg",
    ],
)  # fmt: skip
def test_an_annotation_that_names_something_else_is_dropped(annotation: str) -> None:
    assert parameter_list(list(users(f"x: {annotation} = 1.0").values())) == "x=1.0"


@pytest.mark.parametrize(
    "default",
    [
        "N", "config.rate", "np.no_such_thing", "np.random.rand()", "np.zeros(3)", "[1.0]",
        "float", "np.sin(1.0)", "f(1)", "float(N)", "(lambda: 1.0)",
    ],
)  # fmt: skip
def test_a_default_that_may_be_another_value_is_dropped(default: str) -> None:
    assert parameter_list(list(users(f"x, y={default}").values())) == "x, y"


def test_defaults_and_annotations_of_several_lines_stand_on_one() -> None:
    found = users("x: (int |\n  float) = (1.0 +  # one\n  2.0), y=(1,\n 2, (np.pi,))")
    assert parameter_list(list(found.values())) == "x: int | float = 1.0 + 2.0, y=(1, 2, (np.pi,))"


def test_no_default_stands_before_a_parameter_without_one() -> None:
    assert parameter_list(list(users("x=1.0, y=N, z=2.0").values())) == "x, y, z=2.0"
    assert parameter_list(list(users("x=1.0, *, y=N, z=2.0").values())) == "x=1.0, *, y, z=2.0"
    seed = Parameter("out_bar", default="1.0")
    assert parameter_list([*users("x, /").values(), seed]) == "x, /, out_bar=1.0"


def test_starred_parameters_are_not_parameters_of_a_kernel() -> None:
    assert list(users("x, *rest, k=1, **more")) == ["x", "k"]
