"""Objects that are completed while compiling: layers that build themselves at their first call."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ...frontend.kernel_interface import Build
from ...frontend.pytree import Argument, Fixed, Out, OutTree, Tree
from ...ir.record import record
from ...ir.symbolic_dims import Dim
from ...syntax import core
from ..heap.arrays import Arrays
from ..places import Places, located
from ..session import Part
from ..values import (
    Args,
    DictVal,
    Items,
    IterVal,
    Kwargs,
    ListVal,
    Num,
    Obj,
    PyObject,
    Ref,
    TupleVal,
    Value,
    ZipVal,
)
from ..variables import Variables
from .effects import Counts
from .objects import Objects


class Built(Exception):
    """An object has been completed that this pass has seen incomplete: start again."""


@record(eq=False)
class Builds(Part):
    """Calls that are run while compiling."""

    places: Places
    variables: Variables
    arrays: Arrays
    objects: Objects

    def build_objects(
        self, function: PyObject, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        """Runs a function that completes objects (`layer.build(shape)`) in Python, for the
        sizes at hand.  The statements specialised so far depend on the incomplete objects: the pass
        continues only to complete further objects, and specialisation is then repeated."""
        self._refuse_in_callee(node, "completes objects")
        plain = [self._concrete(a, node) for a in args]
        named = {k: self._concrete(v, node) for k, v in kwargs.items()}
        plainly = getattr(function, "__func__", function)
        known = (plainly, id(getattr(function, "__self__", plain[0] if plain else None)))
        if known in self.shared.built:
            raise Built
        build = self._noted(plainly, args, kwargs, (plain, named))
        try:
            function(*plain, **named)
        except Exception as error:
            self.shared.built.clear()  # an error to be shown
            raise self._blamed(error, function, node) from error
        self.shared.built.add(known)
        self.shared.builds.append(build)
        self.shared.built_after = len(self.shared.object_guards)
        if hasattr(plainly, "_s2s_counted"):
            # Otherwise counters are found only at the end of the pass.
            owner = build.args[0] if build.args else None
            if isinstance(owner, Argument):
                raise Counts({(*owner.path, (".", name)) for name in plainly._s2s_counted})
            raise Built
        # What is read from now on is read anew, but for objects, which are what they are.
        self.objects.keep_lifted(_is_object)
        return Obj(None)

    def _refuse_in_callee(self, node: core.Node, what: str) -> None:
        """Refuses what Python would compute for the sizes of the first call only."""
        if self.session.outer is not None and self.b.facts.sizes is not None:
            self.places.refuse(node, f"a function whose calls stay calls {what}")

    def _noted(self, function: Any, args: Args, kwargs: Kwargs, plain: Any) -> Build:
        """The record by which the building of an object can be repeated."""
        sizes: list[Dim] = []
        given, named = plain
        places = [self._found_again(a, p, sizes) for a, p in zip(args, given)]
        by_name = [(k, self._found_again(v, named[k], sizes)) for k, v in kwargs.items()]
        guards = self.shared.object_guards[self.shared.built_after :]
        facts = self.b.facts.guards
        return Build(
            function,
            (*places,),
            (*by_name,),
            (*guards,),
            (*facts,),
            (*self.session.params,),
            (*sizes,),
        )

    def _found_again(self, value: Value, plain: Any, sizes: list[Dim]) -> OutTree:
        """The argument of a function that builds: by its path, if it is an object."""
        if isinstance(value, (TupleVal, ListVal)):
            whole = value if isinstance(value, TupleVal) else self.state.heap[value.cell]
            parts = tuple(self._found_again(v, p, sizes) for v, p in zip(whole.values, plain))
            kind = "tuple" if isinstance(value, TupleVal) else "list"
            return Tree(kind, type(plain), (*range(len(parts)),), parts)
        if isinstance(value, Ref) and value.cell in self.variables.variables:
            return Argument(value.cell.path[:-1])
        if isinstance(value, Obj) and value.path and _is_object(value):
            return Argument(value.path)
        if isinstance(value, Num) and value.known is None:
            sizes.append(value.operand.type.value)
            return Out(len(sizes) - 1)
        return Fixed(plain)

    def _concrete(self, value: Value, node: core.Node) -> Any:
        if isinstance(value, TupleVal):
            return tuple(self._concrete(v, node) for v in value.values)
        if isinstance(value, (ListVal, DictVal)) and value.cell.path:
            self.places.refuse(
                node, "an object is built from shapes and plain values", "pass those"
            )
        if isinstance(value, ListVal):
            return [self._concrete(v, node) for v in self.state.heap[value.cell].values]
        if isinstance(value, Num) and value.known is None:
            size = getattr(value.operand.type, "value", None)
            known = None
            if size is not None:
                known = self.b.facts.size_of(size.substitute(self.session.given_ints))
            if known is None:
                self.places.refuse(
                    node,
                    "this object is built with sizes that are not known yet",
                    "build it before: call the model once in Python",
                )
            return known
        if isinstance(value, Ref) and value.cell in self.variables.variables:
            return self.variables.variables[value.cell]
        return self.arrays.static(value, node, "what an object is built with")

    def look(self, function: PyObject, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        """Runs a function that validates structures, sizes and dtypes: in Python, on arrays without
        values.  It leaves no statements in the program."""
        self._refuse_in_callee(node, "looks at sizes")
        try:
            plain = [self._outline(a) for a in args]
            named = {k: self._outline(v) for k, v in kwargs.items()}
        except _SizeUnknown:
            return Obj(None)
        if "unconnected" in inspect.signature(function).parameters:
            named["unconnected"] = [u.text for u in self.shared.unconnected]
        try:
            function(*plain, **named)
        except Exception as error:
            raise self._blamed(error, function, node) from None
        return Obj(None)

    def _outline(self, value: Value) -> Any:
        """A value with the structure, sizes and dtypes that are known while compiling."""
        if isinstance(value, (TupleVal, ListVal)):
            content = value if isinstance(value, TupleVal) else self.state.heap[value.cell]
            if not isinstance(content, (TupleVal, Items)):
                raise _SizeUnknown
            parts = [self._outline(v) for v in content.values]
            return parts if isinstance(value, ListVal) else tuple(parts)
        if isinstance(value, DictVal):
            content = self.state.heap[value.cell]
            return {k: self._outline(v) for k, v in zip(content.keys, content.values)}
        if isinstance(value, IterVal):
            return iter(self._outline(self.state.heap[value.cell]))
        if isinstance(value, ZipVal):
            return zip(*(self._outline(v) for v in value.inners))
        if isinstance(value, Ref) and value.cell in self.variables.variables and not value.path:
            return self.variables.variables[value.cell]
        if isinstance(value, Num) and value.known is not None:
            return value.known[0]
        if isinstance(value, Num) and value.operand.type.dtype == "int64":
            return self._integer_at_hand(value)
        if isinstance(value, (Num, Ref)):
            type_ = self.arrays.sym(value).type
            shape = [self.b.facts.size_of(d) for d in getattr(type_, "shape", ())]
            if None in shape:
                raise _SizeUnknown
            return np.broadcast_to(np.zeros((), type_.dtype), tuple(shape))  # type: ignore[arg-type]
        return getattr(value, "value", value)

    def _integer_at_hand(self, value: Num) -> int:
        """A size, or an int that was read from somewhere."""
        size = getattr(value.operand.type, "value", None)
        known = None if size is None else self.b.facts.size_of(size)
        for lifted, found in self.objects.reached.items():
            if value.operand in found:
                known = getattr(lifted, "value", None)
        if known is None:
            raise _SizeUnknown
        return known

    def _blamed(self, error: Exception, function: Any, node: core.Node) -> Exception:
        """The error with the innermost line outside of the package that raised it."""
        package = _package(function)
        for caller, callee in reversed([*zip(self.places.stack, self.places.stack[1:])]):
            if callee.calls and _package(caller.function) != package:
                return located(error, caller.source, callee.calls[-1])
        return self.places.located(error, node)


class _SizeUnknown(Exception):
    """A size is unknown while compiling."""


def _is_object(value: Value) -> bool:
    plain = (type(None), bool, int, float, str)
    return isinstance(value, Obj) and not isinstance(value.value, plain)


def _package(function: Any) -> str:
    return str(getattr(function, "__module__", "")).partition(".")[0]
