"""One specialisation: runs its kernel on the parameters of a call and assembles the results in the
structure that the user expects."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends import backends
from ..backends.readable_kernel import ReadableKernel
from ..call import guards
from ..call.call_stub import CallStub, StubWriter, generate_stub, is_python_float
from ..call.tree_copy import shape_only
from ..errors import S2STypeError, S2SValueError, translate
from ..objects.tensor import immutable
from ..objects.variable_versions import before_change
from ..runtime import gc_pause
from ..runtime.locks import kernel_locks
from ..runtime.overlap import is_array, overlap, overlaps_itself
from ..transforms.frontend.pytree import (
    Out,
    OutTree,
    Path,
    Spec,
    Step,
    Tree,
    arguments_in,
    path_text,
    rebuild,
)
from ..transforms.ir.nodes import Scalar, Type

if TYPE_CHECKING:
    from ..transforms.pipeline import Compiled


# Limit on the call stubs generated for one specialisation: for objects that keep changing, another
# stub is not profitable.
MAX_STUBS_GENERATED = 16


class Specialization:
    """A compiled specialisation of `function` for arguments described by `specs`.  With `tensors`,
    all array arguments have value semantics."""

    def __init__(
        self,
        compiled: Compiled,
        function: types.FunctionType,
        specs: Mapping[str, Spec],
        args: tuple[Any, ...],
        seed: Any,
        static: tuple[str, ...] = (),
        tensors: bool = False,
    ) -> None:
        self.compiled = compiled
        self.specs = specs
        self.static = static
        # shape-only copies of the arguments it was compiled for, for `explain`
        self.example = shape_only(specs, args)
        self.checked_results: Any = None  # the results that `debug_nans` checks, computed lazily
        self.examined: Any = None  # the IR after each pass, for `debug_nans_report.py`; lazy
        self.name = function.__name__
        self.reach = guards.PathResolver(function, tuple(specs))
        self.enter = guards.write_enter(compiled, self.reach, specs, args)
        self.seed = seed
        self.kernels: dict[str, backends.Kernel] = {}
        self.kernels_into: dict[str, backends.Kernel] = {}  # those that write into buffers
        self.buffers = sorted(compiled.out_like.items())  # (result, parameter of the same shape)
        converters = enumerate(map(converter, compiled.result_types))
        self.convert: list[tuple[int, Any]] = [(i, c) for i, c in converters if c is not None]
        self.written = compiled.written
        self.stubs_generated = 0
        # Whether it takes tensors where an array would be another specialisation: a call stub does
        # not distinguish the two.
        own = {("arg", name) for name in specs} if tensors else set()
        params = (p for p in compiled.params if p.path[0] not in own)
        self.tells_tensors = any(getattr(p.spec, "tensor", False) for p in params)

        # Whether the readable source sets in objects what the program sets.  It does not if the
        # program returns an object that is found by way of one that it replaces.
        places = [(*path, step) for path, step, _ in compiled.changes]
        found = list(arguments_in(compiled.out))
        self.sets_itself = not any(path[: len(p)] == p for path in found for p in places)

    # ---- the call

    def call(
        self,
        backend: str,
        args: tuple[Any, ...],
        trees: dict[str, OutTree],
        result: str,
        asked: bool,
    ) -> CallStub | None:
        """The call stub, or None if generating it is not profitable.  `asked`: the program
        requested this back end explicitly."""
        kernel = self.kernels.get(backend)
        if kernel is None or self.stubs_generated > MAX_STUBS_GENERATED or self.tells_tensors:
            return None
        self.stubs_generated += 1
        function: Any = kernel.function  # type: ignore[attr-defined]
        with gc_pause.paused():
            writer = getattr(kernel, "writer", StubWriter)(self, args)
            return generate_stub(writer, function, trees, result, asked)

    def run(
        self,
        backend: str,
        params: tuple[Any, ...],
        given: dict[int, np.ndarray[Any, Any]] | None = None,
        args: tuple[Any, ...] | None = None,
    ) -> list[Any]:
        """Run the kernel; all results by index.  `given` are the caller's buffers for some of
        them, `args` the arguments whose parts `params` are, on which `backend="python"` runs."""
        buffers = [_usable(given.get(r)) if given else None for r, _ in self.buffers]
        into = given is not None and any(b is not None for b in buffers)
        into = into and backends.has_into_kernel(backend, self.compiled)
        known = self.kernels_into if into else self.kernels
        kernel = known.get(backend) or self.kernel(backend, params, into)
        if self.written:
            self.check_writes(params)
            for i in self.written:
                before_change(params[i])
        try:
            if isinstance(kernel, ReadableKernel) and args is not None and self.sets_itself:
                return self._run_readable(kernel, params, given, args)
            results = list(kernel(params, self.seed, buffers))
        except Exception as error:
            raise translate(error, self.compiled) from None
        return self._converted(results, given)

    def _converted(self, results: list[Any], given: dict[int, Any] | None) -> list[Any]:
        """The results as NumPy's scalars, and in the caller's buffers."""
        for i, convert in self.convert:
            pending = hasattr(results[i], "_s2s_device")  # its value is not known yet
            if results[i] is not None and not pending:
                results[i] = convert(results[i])
        if given:
            for i, buffer in given.items():
                if results[i] is not buffer:
                    buffer[...] = results[i]
                    results[i] = buffer
        return results

    def _run_readable(
        self,
        kernel: ReadableKernel,
        params: tuple[Any, ...],
        given: dict[int, Any] | None,
        args: tuple[Any, ...],
    ) -> list[Any]:
        """Run the readable source on the arguments.  What it sets in objects gets the types that
        other back ends set: the text computes with numbers and arrays of its own."""
        changes = self.compiled.changes
        values = self.reach.values(args)
        holders = [values(path) for path, _, _ in changes]
        trees = [tree for _, _, tree in changes]
        arguments = {path: values(path) for tree in trees for path in arguments_in(tree)}
        results = self._converted(kernel(params, self.seed, (), values), given)
        for (_, step, tree), holder in zip(changes, holders):
            _set(holder, step, self._rebuilt_change(tree, results, arguments.__getitem__))
        return results

    def kernel(self, backend: str, params: tuple[Any, ...], into: bool = False) -> backends.Kernel:
        """The kernel for a back end, compiled at first use (`into`: see `backends.make`)."""
        known = self.kernels_into if into else self.kernels
        with kernel_locks(backend):
            kernel = known.get(backend)
            if kernel is None:
                kernel = backends.make(backend, self.compiled, self.seed, params, into)
                known[backend] = kernel
        return kernel

    def value(self, args: tuple[Any, ...], results: list[Any]) -> Any:
        """The value of the function, assembled from the kernel's results."""
        return self._rebuild(self.compiled.out, args, results)

    def apply_side_effects(
        self, args: tuple[Any, ...], results: list[Any], backend: str = ""
    ) -> None:
        """Apply the side effects, unless the back end has: assign the attributes and items of
        non-local objects that the function sets.  All values are evaluated before the first
        assignment."""
        if backend == "python" and self.sets_itself:
            return
        reach = self.reach

        def argument(path: Path) -> Any:
            return reach.value(args, path)

        new = [
            (reach.value(args, path), step, self._rebuilt_change(tree, results, argument))
            for path, step, tree in self.compiled.changes
        ]
        for holder, step, value in new:
            _set(holder, step, value)

    def _rebuilt_change(
        self, tree: OutTree, results: list[Any], argument: Callable[[Path], Any]
    ) -> Any:
        types = self.compiled.result_types

        def leaf(i: int) -> Any:
            # A Python float remains a Python float.
            return float(results[i]) if is_python_float(types[i]) else results[i]

        return rebuild(tree, leaf, argument, immutable)

    def reject_aliases(self, args: tuple[Any, ...]) -> None:
        """Raise an error if two of the objects written to are the same: the code assumes no
        aliasing."""
        seen: dict[int, Any] = {}
        for path in self.compiled.holders:
            value = self.reach.value(args, path)
            if id(value) in seen:
                a, b = path_text(seen[id(value)]), path_text(path)
                raise S2SValueError(
                    f"{a} and {b} are one object, and {self.name} writes into objects",
                    advice="pass it once",
                )
            seen[id(value)] = path

    def gradients(self, args: tuple[Any, ...], results: list[Any]) -> list[Any]:
        """The gradients, one per `wrt`, assembled from the kernel's results."""
        return [
            results[g.index] if type(g) is Out else self._rebuild(g, args, results)
            for g in self.compiled.grads
        ]

    def _rebuild(self, tree: OutTree, args: tuple[Any, ...], results: list[Any]) -> Any:
        if type(tree) is Out and not tree.tensor:
            return results[tree.index]
        leaf = results.__getitem__
        return rebuild(tree, leaf, lambda path: self.reach.value(args, path), immutable)

    def broken_guard(self, args: tuple[Any, ...]) -> str:
        return guards.failed_guard_text(self.compiled, self.reach, args)

    def check_writes(self, params: tuple[Any, ...]) -> None:
        """Raise an error if a written array overlaps itself or another argument: kernels are
        compiled for disjoint memory."""
        arrays = [(i, p) for i, p in enumerate(params) if is_array(p)]
        for w in self.compiled.written:
            if overlaps_itself(params[w]):
                a = path_text(self.compiled.params[w].path)
                raise S2SValueError(
                    f"elements of {a} overlap in memory, and {self.name} writes into it",
                    advice=f"pass a copy: {a}.copy()",
                )
            for i, other in arrays:
                if i != w and overlap(params[w], other):
                    a, b = (path_text(self.compiled.params[k].path) for k in (w, i))
                    raise S2SValueError(
                        f"{a} and {b} overlap in memory, and {self.name} writes into {a}",
                        advice=f"pass a copy: {b}.copy()",
                    )


def _set(holder: Any, step: Step, value: Any) -> None:
    kind, key = step
    if kind == ".":
        setattr(holder, key, value)
    else:
        holder[key] = value


def _usable(buffer: Any) -> Any:
    """The buffer if a kernel can write into it (plain, contiguous, aligned), else None: the result
    is then copied."""
    return buffer if type(buffer) is np.ndarray and takes_writes(buffer.flags) else None


def takes_writes(flags: Any) -> bool:
    """True if a kernel can write into an array: contiguous, aligned, not read-only."""
    return flags.c_contiguous and flags.behaved


def seed_of(compiled: Compiled, has_aux: bool) -> Any:
    """The seed: the cotangent of the differentiated value, 1 in its dtype."""
    tree = compiled.out
    if has_aux and isinstance(tree, Tree):
        tree = tree.children[0]
    if not isinstance(tree, Out):
        raise S2STypeError("the value to differentiate is not a number")
    type_ = compiled.result_types[tree.index]
    one = np.dtype(type_.dtype).type(1)
    return one if isinstance(type_, Scalar) else np.ones((), one.dtype)


def converter(type_: Type) -> Callable[[Any], Any] | None:
    """The conversion of a scalar result to the type NumPy would return, since Numba returns every
    float as a Python float; None for arrays."""
    if not isinstance(type_, Scalar):
        return None
    if type_.dtype == "bool":
        return bool
    if type_.dtype == "int64":
        return int
    return np.dtype(type_.dtype).type
