"""Locations of errors that surfaces raise: the user's calls."""

from __future__ import annotations

import inspect
import re
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ...ir.builder import Sym
from ...ir.complex_ops import refuse_complex
from ...ir.errors import S2SError, UnsupportedError
from ...ir.op_registry import NeedStatic
from ...ir.path_kinds import dtype_kind
from ...ir.record import record
from ...rules import SURFACES
from ...rules.integer_arguments import convert_integer_arguments
from ...syntax import core
from ..heap.arrays import Arrays
from ..outside.objects import Objects
from ..places import Places
from ..session import Part
from ..values import (
    Args,
    Growing,
    IterVal,
    Kwargs,
    ListVal,
    Num,
    Obj,
    PyObject,
    Rec,
    Ref,
    RngVal,
    TupleVal,
    Value,
    ViewVal,
    kind_text,
)


@record(eq=False)
class Guards(Part):
    """Values as surfaces take them, and errors as the user sees them."""

    places: Places
    arrays: Arrays
    objects: Objects

    def surface_call(self, path: str, args: Args, kwargs: Kwargs, node: core.Node) -> PyObject:
        with self.guarding(node, path):
            plain = [self.to_surface(a, node) for a in args]
            named = {k: self.to_surface(v, node) for k, v in kwargs.items()}
            refuse_complex(path, *plain, *named.values())
            surface = SURFACES[path]
            plain, named = convert_integer_arguments(path, surface, plain, named)
            result = surface(self.b, *plain, **named)
            if self.b.least_kinds and isinstance(result, Sym):
                given = inspect.signature(surface).bind(self.b, *plain, **named).arguments
                if given.get("dtype") is not None:
                    self.b.set_least_kind(result.operand, dtype_kind(result.type))
            return result

    def to_surface(self, value: Value, node: core.Node) -> PyObject:
        """Run-time numbers and arrays as Syms, everything static as itself."""
        if isinstance(value, Num):
            if value.known is not None and not isinstance(value.known[0], (float, np.floating)):
                return value.known[0]
            return Sym(self.b, value.operand)
        if isinstance(value, (Ref, Rec)):
            return self.arrays.sym(value)
        if isinstance(value, RngVal):
            return Sym(self.b, value.operand)
        if isinstance(value, TupleVal):
            return tuple(self.to_surface(v, node) for v in value.values)
        if isinstance(value, ListVal):
            content = self.state.heap[value.cell]
            if isinstance(content, Growing):
                return self.b.emit("list_stack", content.operand)
            return [self.to_surface(v, node) for v in content.values]
        if isinstance(value, list):
            return [self.to_surface(v, node) for v in value]
        if isinstance(value, Obj):
            return value.value
        items = None if isinstance(value, ViewVal) else self.objects.static_items(value)
        if items is not None:
            return [self.to_surface(v, node) for v in items]
        advice = "make a list of it: `list(...)`" if isinstance(value, (IterVal, ViewVal)) else ""
        return self.places.refuse(node, f"{kind_text(value)} cannot be passed here", advice)

    def guarding(self, node: core.Node, path: str = "") -> AbstractContextManager[None]:
        return _Guarding(self.places, node, path)


class _Guarding:
    """Gives errors of rules and builders their place in the user's source."""

    def __init__(self, owner: Any, node: core.Node, path: str) -> None:
        self.owner, self.node, self.path = owner, node, path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, _: Any) -> bool:
        if error is None:
            return False
        if isinstance(error, NeedStatic):
            self.owner.demand_static(Num(error.sym.operand), self.node, error.what)
        if isinstance(error, S2SError):
            if error.span is None or not error.source_line:
                raise self.owner.refusal(
                    self.node, error.message, error.advice, type(error)
                ) from None
            return False
        if isinstance(error, TypeError) and self.path and "argument" in str(error):
            message, advice = f"{self.path}: {str(error).split(') ', 1)[-1]}", ""
            unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
            if unknown:
                message = f"{self.path} with {unknown[1]}= is not supported"
                advice = f"leave out {unknown[1]}="
            raise self.owner.refusal(self.node, message, advice, UnsupportedError) from None
        if isinstance(error, (TypeError, ValueError, IndexError, OverflowError)) and not any(
            hasattr(error, name) for name in ("lineno", "source_line")
        ):
            raise self.owner.located(error, self.node) from None
        return False
