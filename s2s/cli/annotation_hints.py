"""Example arguments from the defaults and annotations of a function's parameters."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from typing import Any

import numpy as np

from .argument_syntax import DTYPES, ExampleMaker

UNKNOWN: Any = object()  # sentinel: neither default nor annotation determines a value


def value_of(parameter: inspect.Parameter, space: dict[str, Any], maker: ExampleMaker) -> Any:
    """The value that the default or the annotation of a parameter determines, else UNKNOWN."""
    if parameter.default is not parameter.empty:
        return parameter.default
    if parameter.annotation is parameter.empty:
        return UNKNOWN
    return annotated(parameter.annotation, space, maker)


def annotated(annotation: Any, space: dict[str, Any], maker: ExampleMaker) -> Any:
    """An example value of an annotated type, else UNKNOWN.  Supported are scalar types, strings
    such as "float64[n,3]", `Annotated` with such a string, Numba types, and tuples, named tuples
    and dataclasses of these."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return _of_text(annotation, space, maker)
    if isinstance(annotation, type) and annotation.__name__ in DTYPES:
        if annotation in (float, int, bool, complex) or issubclass(annotation, np.generic):
            return maker.number(annotation.__name__)
    if typing.get_origin(annotation) is typing.Annotated:
        notes = [n for n in annotation.__metadata__ if isinstance(n, str)]
        found = [annotated(n, space, maker) for n in (*notes, annotation.__origin__)]
        return next((v for v in found if v is not UNKNOWN), UNKNOWN)
    if type(annotation).__module__.startswith("numba."):
        return _of_numba(annotation, maker)
    if typing.get_origin(annotation) is tuple and Ellipsis not in typing.get_args(annotation):
        return _make_if_known(
            tuple, [annotated(a, space, maker) for a in typing.get_args(annotation)]
        )
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return None if type(None) in typing.get_args(annotation) else UNKNOWN
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return _of_fields(annotation, maker)
    if isinstance(annotation, type) and hasattr(annotation, "_fields"):
        return _of_fields(annotation, maker)
    return UNKNOWN


def _of_text(text: str, space: dict[str, Any], maker: ExampleMaker) -> Any:
    """An example value for a string annotation.  A Python annotation takes precedence over the
    --args syntax."""
    try:
        meant = eval(text, space)
    except Exception:
        meant = None
    if meant is not None and meant != text:
        found = annotated(meant, space, maker)
        if found is not UNKNOWN:
            return found
    head = text.partition("[")[0].strip()
    if head in DTYPES or "<" in text or ">" in text:
        return maker.value(text)
    return UNKNOWN


def _of_numba(type_: Any, maker: ExampleMaker) -> Any:
    from ..api.signature_spec import of_numba

    try:
        made = of_numba("", type_)
    except TypeError:
        return UNKNOWN
    return maker.like(made) if isinstance(made, np.ndarray) else made


def _of_fields(cls: Any, maker: ExampleMaker) -> Any:
    """An instance of a dataclass or named tuple, if all its fields are determined."""
    parameters = inspect.signature(cls).parameters.values()
    space = vars(inspect.getmodule(cls) or types)
    values = {p.name: value_of(p, space, maker) for p in parameters}
    return _make_if_known(lambda parts: cls(**dict(zip(values, parts))), list(values.values()))


def _make_if_known(make: Any, parts: list[Any]) -> Any:
    """`make(parts)`, or UNKNOWN if any part is."""
    return UNKNOWN if any(p is UNKNOWN for p in parts) else make(parts)
