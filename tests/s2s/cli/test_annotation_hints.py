"""Annotations and defaults that determine arguments."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Annotated, Any, NamedTuple

import numba
import numpy as np

from s2s.cli.annotation_hints import UNKNOWN, annotated, value_of
from s2s.cli.argument_syntax import ExampleMaker


@dataclasses.dataclass
class Point:
    x: float
    y: "float64[3]"  # noqa: F821, UP037


class Pair(NamedTuple):
    a: int
    b: float = 2.0


def value(annotation: Any) -> Any:
    return annotated(annotation, globals(), ExampleMaker())


def test_numbers_and_texts():
    assert type(value(float)) is float and type(value("float")) is float and value(int) == 3
    assert value("float32[2, 3]").dtype == np.float32
    assert value("'float32[2, 3]'").shape == (2, 3)  # as under `from __future__ import annotations`
    assert value(Annotated[np.ndarray, "float64[n]"]).shape == (8,)
    assert value("Annotated[np.ndarray, '0 < float64[4]']").min() > 0
    assert value(np.float32).dtype == np.float32
    assert value(numba.float64[:, :]).shape == (3, 3)


def test_containers():
    point = value(Point)
    assert type(point.x) is float and point.y.shape == (3,)
    assert value(Pair) == Pair(3, 2.0)
    assert value(tuple[int, int]) == (3, 3)
    assert value(float | None) is None


def test_what_determines_nothing():
    for annotation in (np.ndarray, list, "np.ndarray", "Nonsense", tuple[float, ...], object):
        assert value(annotation) is UNKNOWN
    parameters = inspect.signature(lambda a, b=4.0: a).parameters
    assert value_of(parameters["a"], {}, ExampleMaker()) is UNKNOWN
    assert value_of(parameters["b"], {}, ExampleMaker()) == 4.0
