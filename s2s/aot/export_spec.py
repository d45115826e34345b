"""Description of an exported function in terms of C: arguments, outputs, sizes and state.

The parameters of a kernel come from four sources: the caller's arguments, the state (values that
the function reaches through objects, globals and closures), a seed, and result buffers.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..api import functions
from ..backends.backends import signature as numba_signature
from ..call.guards import dim_text
from ..codegen.type_lowering import of_numba
from ..dispatch.specializations import specialiser_for
from ..errors import UnsupportedError
from ..transforms.frontend.pytree import (
    ArraySpec,
    Out,
    OutTree,
    ScalarSpec,
    path_name,
    path_text,
)
from ..transforms.ir.nodes import Array, Scalar
from . import c_names
from .library_state import Slot, State
from .size_exprs import leaves_of, literal, path_source, size_text, symbol_of
from .type_signature import Signature, Size


@dataclass
class Item:
    """An argument or an output: an array with axes, or a scalar (`axes` is None)."""

    name: str
    dtype: str
    axes: tuple[str | int, ...] | None
    expression: str = ""  # Python expression that reads it from the arguments
    written: bool = False


@dataclass
class Parameter:
    """One parameter of the kernel: an `Item` from the caller, a `Slot` of the state, or a seed."""

    source: Item | Slot | Any


@dataclass
class Export:
    """One exported function: its kernel parameters, its C interface and its results."""

    name: str
    function: functions.Function
    entry: Any
    kinds: tuple[Any, ...]
    parameters: list[Parameter]
    arguments: list[Item]
    outputs: list[Item]  # results and result buffers, in the order of the C parameters
    sizes: list[str]
    destinations: list[list[Item | Slot]]  # destinations of each result that the kernel returns
    trees: dict[str, OutTree]
    result: str  # Python expression over the names of `trees`
    leaves: dict[int, Item]  # outputs by result index
    conditions: list[str]  # guards on sizes, in lowered source
    guards: list[tuple[str, Any]]  # Python arguments that are specialised to a value
    parameters_text: str  # parameter list of the function in the loader
    uses_state: bool = False

    def result_capacities(self) -> list[int | None]:
        """The capacity in elements of each result that the kernel returns: the size of its state
        slot, -1 if the caller provides the memory, None if the result is discarded."""
        found: list[int | None] = []
        for places in self.destinations:
            slots = [s for s in places if isinstance(s, Slot) and s.shape is not None]
            counts = [math.prod(s.shape or ()) for s in slots]
            found.append(min(counts, default=-1) if places else None)
        return found


def describe(name: str, function: Any, given: Signature, state: State) -> Export:
    """Specialise a function for a signature and describe its C interface.  Values that the function
    reaches by itself are added to `state`."""
    if not isinstance(function, functions.Function):
        function = functions.function(function)
    _, bound = function._bind(function._mode, given.args, {})
    shared = function._shared
    # A library runs on the CPU and starts no threads: threading is left to the calling program.
    sequential = replace(shared.options, parallel=False, target="cpu")
    specialiser = specialiser_for(shared.target, function._mode, sequential, shared.method)
    entry, values = specialiser.find(bound, "python")
    return _Describer(name, function, specialiser, entry, bound, values, given, state).export()


class _Describer:
    """Builds the `Export` of one specialisation.  `axes` maps the symbol of each array axis to its
    size, `numbers` maps scalar parameters to their C names."""

    def __init__(
        self,
        name: str,
        function: functions.Function,
        specialiser: Any,
        entry: Any,
        bound: tuple[Any, ...],
        values: tuple[Any, ...],
        given: Signature,
        state: State,
    ) -> None:
        self.name, self.function, self.specialiser = name, function, specialiser
        self.entry, self.bound, self.values = entry, bound, values
        self.compiled = entry.compiled
        self.given, self.state = given, state
        self.names: set[str] = set()
        self.sizes: list[str] = []
        self.axes: dict[str, str | int] = {}
        self.numbers: dict[str, str] = {}

    def export(self) -> Export:
        compiled = self.compiled
        self._name_axes()
        parameters: list[Parameter] = []
        arguments: list[Item] = []
        for i, (param, value) in enumerate(zip(compiled.params, self.values)):
            if param.path[0][0] == "arg" and not self._is_bound(param.path):
                item = self._argument(i, param)
                arguments.append(item)
                parameters.append(Parameter(item))
            else:
                slot = self.state.slot(self._holder(param.path), param.path, param.spec, value)
                parameters.append(Parameter(slot))
        if self.entry.seed is not None:
            parameters.append(Parameter(self.entry.seed))
        trees, result = self.function._result_expression(self.entry)
        leaves = self._outputs(trees)
        for position, _ in sorted(compiled.out_like.items()):
            parameters.append(Parameter(leaves[position]))
        kept = self._kept(leaves)
        return Export(
            name=self.name,
            function=self.function,
            entry=self.entry,
            kinds=tuple(map(of_numba, numba_signature(compiled, self.entry.seed, self.values))),
            parameters=parameters,
            arguments=arguments,
            outputs=list(leaves.values()),
            sizes=self.sizes,
            destinations=kept,
            trees=trees,
            result=result,
            leaves=leaves,
            conditions=[self._condition(g) for g in compiled.guards],
            guards=self._fixed_arguments(),
            parameters_text=self._parameters_text(),
            uses_state=any(isinstance(p.source, Slot) for p in parameters)
            or any(isinstance(k, Slot) for ks in kept for k in ks),
        )

    def _holder(self, path: Any) -> Any:
        """The object that holds the value at a path: a container, the closure or the globals."""
        reach = self.entry.reach
        if len(path) > 1:
            return reach.value(self.bound, path[:-1])
        return reach.function.__closure__ if path[0][0] == "closure" else reach.function.__globals__

    def _is_bound(self, path: Any) -> bool:
        """True if a path starts at an argument bound to the function, such as `self`."""
        position = self.specialiser.binder.names.index(path[0][1])
        fixed = path[0][1] in self.function._fixed
        return position < len(self.function._prefix) or fixed

    def _fresh(self, name: str) -> str:
        """A unique C parameter name."""
        name = c_names.parameter(name)
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name

    # ---- sizes

    def _name_axes(self) -> None:
        """Assign to each axis of each array a constant or a named run-time size.

        A union-find over the equality guards merges axes that must be equal.  The merged axes
        share the constant or the name that the signature gives to one of them."""
        leader: dict[str, str] = {}
        meant: dict[str, Size] = {}
        for param, value in zip(self.compiled.params, self.values):
            if not isinstance(param.type, Array):
                continue
            own = param.path[0][0] == "arg" and not self._is_bound(param.path)
            axes = self.given.of(value) if own else value.shape
            for k, axis in enumerate(axes):
                leader[f"{param.name}.{k}"] = f"{param.name}.{k}"
                meant[f"{param.name}.{k}"] = axis

        def find(symbol: str) -> str:
            while leader[symbol] != symbol:
                symbol = leader[symbol]
            return symbol

        for guard in self.compiled.guards:
            left, right = symbol_of(guard.left), symbol_of(guard.right)
            if guard.sign != "==" or left not in leader:
                continue
            assert left is not None
            if right in leader:
                leader[find(right)] = find(left)
            elif not guard.right.terms and meant[left] is None:
                meant[left] = guard.right.const
        chosen: dict[str, Size] = {}
        for symbol, axis in meant.items():
            root = find(symbol)
            known = chosen.get(root)
            if known is None or (isinstance(known, str) and isinstance(axis, int)):
                chosen[root] = axis
        for symbol, axis in meant.items():
            root = find(symbol)
            if axis is None and chosen[root] is None:
                chosen[root] = self._fresh(symbol.replace(".", "_"))
            size = axis if axis is not None else chosen[root]
            assert size is not None
            if isinstance(size, str) and size not in self.sizes:
                self.names.add(size)
                self.sizes.append(size)
            self.axes[symbol] = size

    def _condition(self, guard: Any) -> str:
        """A guard on sizes as a comparison in lowered source."""
        symbols: dict[str, str] = {}
        for param in self.compiled.params:
            symbols[param.name] = param.name
            for k in range(param.type.ndim):
                symbols[f"{param.name}.{k}"] = f"{param.name}.shape[{k}]"
        left, right = (size_text(d, symbols) for d in (guard.left, guard.right))
        return f"{left} {guard.sign} {right}"

    # ---- arguments and outputs

    def _argument(self, i: int, param: Any) -> Item:
        if not isinstance(param.spec, (ArraySpec, ScalarSpec)):
            raise UnsupportedError(
                f"{path_text(param.path)} of {self.name} is neither a number nor an array of "
                "numbers, which is all that C can pass",
            )
        axes = None
        if isinstance(param.spec, ScalarSpec) and param.spec.dtype.startswith("complex"):
            raise UnsupportedError(
                f"{path_text(param.path)} of {self.name} is a complex number, which has no "
                "place in the interface for C",
                advice="pass its parts, or an array of one",
            )
        if isinstance(param.spec, ArraySpec):
            axes = tuple(self.axes[f"{param.name}.{k}"] for k in range(param.spec.ndim))
        name = self._fresh(path_name(param.path[:1] + param.path[1:]))
        if axes is None:
            self.numbers[param.name] = name
        written = i in self.compiled.written
        return Item(name, param.spec.dtype, axes, path_source(param.path), written)

    def _outputs(self, trees: Mapping[str, OutTree]) -> dict[int, Item]:
        """The output items by result index, for all leaves of the returned trees."""
        found: dict[int, Item] = {}
        wrt = self.specialiser.wrt
        order = sorted(trees.items(), key=lambda pair: pair[0] != "value")
        for key, tree in order:
            base = "out" if key == "value" else f"{wrt[int(key[1:])]}_bar"
            if key == "value" and "g0" in trees and not self.function._shared.options.has_aux:
                base = "value"
            for index, suffix in leaves_of(tree):
                if index not in found:
                    found[index] = self._output(index, base + suffix)
        return found

    def _output(self, index: int, name: str) -> Item:
        type_ = self.compiled.result_types[index]
        if isinstance(type_, Scalar):
            return Item(self._fresh(name), type_.dtype, None, written=True)
        if not isinstance(type_, Array):
            raise UnsupportedError(f"{name} of {self.name} is neither a number nor an array")
        if index in self.compiled.out_like:  # a result buffer with the shape of a parameter
            like = self.compiled.params[self.compiled.out_like[index]].name
            own = tuple(self.axes[f"{like}.{k}"] for k in range(type_.ndim))
            return Item(self._fresh(name), type_.dtype, own, written=True)
        symbols: dict[str, str] = {k: str(v) for k, v in self.axes.items()}
        symbols |= self.numbers
        try:
            axes = tuple(dim_text(d, symbols) for d in type_.shape)
        except KeyError:
            raise UnsupportedError(
                f"the size of {name} of {self.name} is known only after it has been computed",
                advice="return arrays whose sizes follow from those of the arguments",
            ) from None
        sized = tuple(int(a) if a.isdigit() else a for a in axes)
        return Item(self._fresh(name), type_.dtype, sized, written=True)

    def _kept(self, leaves: dict[int, Item]) -> list[list[Item | Slot]]:
        """The destinations of each result that the kernel returns: outputs and state slots."""
        kept: list[list[Item | Slot]] = []
        changed: dict[int, list[Slot]] = {}
        for path, step, tree in self.compiled.changes:
            if not isinstance(tree, Out):
                raise UnsupportedError(
                    f"{self.name} sets {path_text((*path, step))} to something that is not one "
                    "number or array, which the state of a library cannot hold",
                )
            holder = self.entry.reach.value(self.bound, path)
            type_ = self.compiled.result_types[tree.index]
            slot = self.state.slot_of_store(holder, (*path, step), type_)
            changed.setdefault(tree.index, []).append(slot)
        for i in range(len(self.compiled.result_types)):
            if i in self.compiled.out_like:
                continue
            kept.append([*([leaves[i]] if i in leaves else []), *changed.get(i, [])])
        return kept

    def _parameters_text(self) -> str:
        """The parameter list of the Python function, with literal defaults."""
        parameters = inspect.signature(self.function).parameters.values()
        texts = []
        for p in parameters:
            default = None if p.default is p.empty else literal(p.default)
            texts.append(p.name if default is None else f"{p.name}={default}")
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                texts[-1] = ("*" if p.kind is p.VAR_POSITIONAL else "**") + p.name
        return ", ".join(texts)

    def _fixed_arguments(self) -> list[tuple[str, Any]]:
        """The arguments that the code is specialised to, and their values."""
        found = []
        for guard in self.compiled.object_guards:
            plain = type(guard.expected) in (bool, int, str, type(None))
            own = guard.path[0][0] == "arg" and not self._is_bound(guard.path)
            if own and guard.kind in ("equals", "is") and plain:
                found.append((path_source(guard.path), guard.expected))
        return found
