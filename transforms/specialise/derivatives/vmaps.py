"""`vmap`: a function of one element, called with many.

The function is run into a block of its own, for one element of each mapped argument; the block
is batched (`batch/`) and takes its place in the program, with the whole arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...batch import batch
from ...frontend.axis_spec import AxesByName, frozen_axes
from ...frontend.signature import signature
from ...ir.errors import S2SValueError
from ...ir.nodes import Array, Const, Function, Operand, Scalar, Var, targets_of
from ...ir.record import record
from ...ir.symbolic_dims import Dim
from ...syntax import core
from ..dispatch import derives
from ..frames import Frames
from ..heap.arrays import Arrays
from ..outside.objects import Objects
from ..patterns import Leaf, Node, Packer, Pattern
from ..places import Places
from ..session import Part
from ..surface.guards import Guards
from ..values import (
    UNDEFINED,
    Args,
    DictVal,
    Ended,
    Kwargs,
    ListVal,
    Num,
    Obj,
    PyObject,
    Ref,
    TupleVal,
    Value,
)
from .tracing import DerivedVal, Traced, Tracing


@record(eq=False)
class Vmaps(Part):
    """`vmap`."""

    frames: Frames
    places: Places
    arrays: Arrays
    objects: Objects
    guards: Guards
    tracing: Tracing

    @derives("vmap")
    def derive_vmap(
        self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        args, kwargs = list(args), dict(kwargs)
        traced = Traced([], [], [], [], UNDEFINED)
        size = self._take_elements(derived, args, kwargs, traced, node)
        heap, envs = dict(self.state.heap), [dict(e) for e in self.state.envs]
        try:
            with self.b.into(traced.block):
                traced.result = self.evaluator.call(derived.function, tuple(args), kwargs, node)
                pattern, outs = self._returned_leaves(traced.result, node)
        except Ended:
            self._for_all(traced, [], size)
            raise
        made = self._for_all(traced, outs, size)
        self._refuse_writes(heap, envs, made, node)
        axes = self.setting(derived, "out_axes", node, 0)
        found = {
            leaf.index: self.tracing.wrap_operand(
                self._axis_to(made.results[leaf.index], axis, node)
            )
            for leaf, axis in self._axes_of(pattern, axes, node)
        }
        return self.tracing.filled(pattern, found, "result")

    def _take_elements(
        self, derived: DerivedVal, args: list[Value], kwargs: dict[str, Value], traced: Traced,
        node: core.Node,
    ) -> Operand:  # fmt: skip
        """Puts one element of each mapped argument into its place; the number of elements."""
        size: Operand | None = None
        extent = Dim.of(0)
        for holder, key, axes, name in self._mapped_arguments(derived, args, kwargs, node):
            packer = self._element_packer(node)
            pattern = packer.pack(holder[key])
            values: dict[int, Value] = {}
            for leaf, axis in self._axes_of(pattern, axes, node):
                value = values[leaf.index] = packer.leaves[leaf.index]
                # Numbers have no axis: with one axis for all, they are the same for everyone.
                if axis is None or isinstance(value, Num) and isinstance(axes, int):
                    continue
                whole = self._axis_to_front(value, axis, name, node)
                if size is None:
                    extent = whole.type.shape[0]  # type: ignore[union-attr]
                    count = self.b.dim_value(extent, (whole, 0))
                    assert count is not None
                    size = count.operand
                self._check_count(whole, extent, size, node)
                values[leaf.index] = self._element_of(whole, traced, name)
            holder[key] = self.tracing.filled(pattern, values, name)
        if size is None:
            raise self.places.refusal(
                node,
                "vmap has no array to map over",
                "pass an array for at least one argument with an axis in in_axes",
                S2SValueError,
            )
        return size

    def _mapped_arguments(
        self, derived: DerivedVal, args: list[Value], kwargs: dict[str, Value], node: core.Node
    ) -> Iterator[tuple[Any, Any, Any, str]]:
        """Each argument with an axis: where it is, its axes and its name."""
        given = self.setting(derived, "in_axes", node, 0)
        names = self.tracing.parameter_names(derived.function)
        first = derived.skipped
        axes: dict[Any, Any]
        if isinstance(given, AxesByName):
            axes = given.by_name
            for name in axes:
                if name not in names:
                    self.places.refuse(node, f"in_axes names {name!r}, which is no parameter", "")
        elif isinstance(given, tuple):
            if len(given) > len(args) - first:
                self.places.refuse(
                    node,
                    f"in_axes has {len(given)} entries for {len(args) - first} arguments",
                    "give one axis, or None, for each argument",
                )
            axes = dict(enumerate(given, first))
        else:
            axes = {**dict.fromkeys(range(first, len(args)), given), **dict.fromkeys(kwargs, given)}
        self._refuse_forgotten(given, derived, len(args), node)
        for i in range(first, len(args)):
            name = names[i] if i < len(names) else f"argument_{i}"
            axis = axes.get(i, axes.get(name))
            if axis is not None:
                yield args, i, axis, name
        for name in kwargs:
            if axes.get(name) is not None:
                yield kwargs, name, axes[name], name

    def _refuse_forgotten(
        self, given: Any, derived: DerivedVal, count: int, node: core.Node
    ) -> None:
        """Entries of in_axes may be left out for arguments with defaults only."""
        if isinstance(given, tuple):
            needed = self.required_parameters(derived.function)
            needed = count - derived.skipped if needed is None else needed - derived.skipped
            if len(given) < min(needed, count - derived.skipped):
                self.places.refuse(
                    node,
                    f"in_axes has {len(given)} entries for {needed} arguments",
                    "give one axis, or None, for each argument",
                )

    def required_parameters(self, function: Value) -> int | None:
        """How many positional parameters have no default; None if that is not known."""
        value = getattr(function, "value", None)
        if isinstance(function, Obj) and callable(value):
            parameters = signature(value).parameters.values()
            return sum(p.default is p.empty and p.kind <= 1 for p in parameters)
        return None

    def _axes_of(self, pattern: Pattern, axes: Any, node: core.Node) -> list[tuple[Leaf, Any]]:
        """Each leaf with its axis; `axes` may stop at any depth of the structure."""
        if isinstance(pattern, Leaf):
            if axes is not None and not isinstance(axes, int):
                self.places.refuse(node, f"{axes!r} is no axis", "give an int or None for an array")
            return [(pattern, axes)]
        if not isinstance(pattern, Node):
            return []
        if isinstance(axes, AxesByName):
            keys = pattern.what[-1] if len(pattern.what) == 3 else None
            if not keys or set(keys) != set(axes.by_name):
                self.places.refuse(node, "the axes name other keys than the argument has", "")
            inner = [axes.by_name[k] for k in keys]
        elif isinstance(axes, tuple):
            inner = list(axes)
            if len(inner) != len(pattern.parts):
                self.places.refuse(
                    node, f"{len(inner)} axes are given for a container of {len(pattern.parts)}", ""
                )
        else:
            inner = [axes] * len(pattern.parts)
        found: dict[int, tuple[Leaf, Any]] = {}
        for part, own in zip(pattern.parts, inner):
            for leaf, axis in self._axes_of(part, own, node):
                found.setdefault(leaf.index, (leaf, axis))
        return list(found.values())

    def _element_packer(self, node: core.Node) -> Packer:
        def refuse(why: str) -> Any:
            return self.places.refuse(
                node, f"{why} cannot be mapped over", "pass numbers and arrays"
            )

        return Packer(self.frames, lambda index, number: False, refuse)

    def _returned_leaves(self, value: Value, node: core.Node) -> tuple[Pattern, list[Operand]]:
        packer = self._element_packer(node)
        pattern = packer.pack(value)
        return pattern, [
            self.arrays.read(v) if isinstance(v, Ref) else v.operand for v in packer.leaves
        ]

    def _axis_to_front(self, value: Value, axis: int, name: str, node: core.Node) -> Var:
        x = self.arrays.sym(value)
        rank = x.ndim
        if not -rank <= axis < rank:
            what = "a number" if rank == 0 else f"an array of {rank} dimensions"
            raise self.places.refusal(
                node,
                f"vmap maps over axis {axis} of {name}, which is {what}",
                "pass an array that has the axis, or None in in_axes",
                S2SValueError,
            )
        axis %= rank
        if axis:
            others = (i for i in range(rank) if i != axis)
            x = self.b.emit("transpose", x, axes=(axis, *others))
        assert isinstance(x.operand, Var)
        return x.operand

    def _check_count(self, x: Var, size: Dim, count: Operand, node: core.Node) -> None:
        assert isinstance(x.type, Array)
        with self.guards.guarding(node):
            if self.b.facts.relate(x.type.shape[0], size) != "equal":
                own = self.b.sym(x).shape[0]
                told = ("vmap maps over axes of different sizes: ", count, " and ", own)
                self.b.check(own == self.b.sym(count), "ValueError", *told)

    def _element_of(self, whole: Var, traced: Traced, name: str) -> Value:
        """A name for one element of an array."""
        t = whole.type
        var_name = self.b.names.fresh(whole.user or name)
        traced.given.append(whole)
        if not isinstance(t, Array):
            self.places.refuse(
                self.places.stmt, "records cannot be mapped over", "map over their fields"
            )
        if t.ndim > 1:
            var = Var(var_name, replace(t, shape=t.shape[1:]))
            traced.params.append(var)
            ref = self.arrays.new_array(var, name)
            ref.cell.contiguous = t.layout == "C"
            return ref
        value = Dim.of(var_name) if t.dtype == "int64" else None
        traced.params.append(Var(var_name, Scalar(t.dtype, value=value)))
        return Num(traced.params[-1])

    def _for_all(self, traced: Traced, outs: list[Operand], size: Operand) -> Function:
        """Puts the block for all elements into the program; its results have the axis."""
        function = self.tracing.as_function(traced, outs)
        mapped = [p.name for p in traced.params]
        names, facts = self.b.names, self.b.facts
        many = batch(
            function, mapped, extent_of(size), facts, names, size, all_results=True, draws=True
        )
        many = reading(size, many)
        self.tracing.name_again(zip([p for p in many.params if p.name in mapped], traced.given))
        mapped = many.notes["batched_values"]
        kept = [v for stmt in traced.block for v in targets_of(stmt) if v.name not in mapped]
        return replace(many, results=self.tracing.splice(traced, many, many.results, kept))

    def _refuse_writes(
        self, heap: dict[Any, Any], envs: list[dict[str, Any]], made: Function, node: core.Node
    ) -> None:
        """What every element writes has no meaning outside."""
        mapped = made.notes["batched_values"]
        written = []
        for cell, now in self.state.heap.items():
            # Those that are not there yet are reached from outside, or the function's own.
            before = heap.get(cell, self.arrays.first_contents.get(cell, cell.param))
            common = isinstance(now, Var) and now.name not in mapped
            if before is not None and now != before and not common:
                written.append(cell.label or "an array or container from outside")
        for before, now in zip(envs, self.state.envs):
            written += [name for name, value in now.items() if before.get(name) != value]
        if written:
            self.places.refuse(
                node,
                f"the function writes into {written[0]} for every element",
                "let it work on a copy and return that",
            )
        views = self.state.views
        self.state.views = {k: v for k, v in views.items() if v[1].name not in mapped}

    def _axis_to(self, x: Operand, axis: Any, node: core.Node) -> Operand:
        """A result with its first axis moved to where it is wanted."""
        rank = x.type.ndim
        if axis is None or not -rank <= axis < rank:
            raise self.places.refusal(
                node,
                f"out_axes has {axis!r} for a result of {rank} dimensions",
                f"choose an axis from {-rank} to {rank - 1}",
                S2SValueError,
            )
        axis %= rank
        if axis == 0:
            return x
        axes = (*range(1, axis + 1), 0, *range(axis + 1, rank))
        return self.b.emit("transpose", x, axes=axes).operand

    # ---- options

    def setting(
        self, derived: DerivedVal, name: str, node: core.Node, default: PyObject = None
    ) -> PyObject:
        """An option, as Python has it."""
        value = derived.option(name, default)
        return self._plain(value, node, name) if isinstance(value, Value) else value

    def _plain(self, value: Value, node: core.Node, what: str) -> Any:
        if isinstance(value, DictVal):
            content = self.state.heap[value.cell]
            items = zip(content.keys, (self._plain(v, node, what) for v in content.values))
            return AxesByName(tuple(items))
        if isinstance(value, (TupleVal, ListVal)):
            return tuple(self._plain(v, node, what) for v in self.objects.static_items(value) or ())
        return frozen_axes(self.arrays.static(value, node, what))


def extent_of(count: Operand) -> Dim:
    """The dim that a number of elements stands for."""
    if isinstance(count, Const):
        return Dim.of(count.value)
    assert isinstance(count.type, Scalar) and count.type.value is not None
    return count.type.value


def reading(x: Operand, function: Function) -> Function:
    """A function that reads `x` from outside."""
    return replace(function, params=[*function.params, x]) if isinstance(x, Var) else function
