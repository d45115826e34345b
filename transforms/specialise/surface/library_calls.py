"""Programs of the library, and the arguments of NumPy's functions that surfaces do not know."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np

from ...ir.complex_ops import refuse_complex
from ...ir.errors import S2SError
from ...ir.record import record, replace
from ...rules import library
from ...rules.axes_and_sizes import require_equal, size_of
from ...rules.integer_arguments import as_integers, integer_parameters
from ...rules.promotion import join_dtypes
from ...syntax import core
from ..control.updates import Updates
from ..heap.arrays import Arrays
from ..outside.objects import Objects
from ..places import Places
from ..session import Part
from ..values import (
    RANK_0,
    Args,
    Kwargs,
    Num,
    Obj,
    PyObject,
    Ref,
    SliceVal,
    TupleVal,
    Value,
    constant,
)
from .guards import Guards
from .library_paths import path_of
from .surface_calls import SurfaceCalls

LIBRARY_FOLDER = str(Path(library.__file__).parent)


@record(eq=False)
class LibraryCalls(Part):
    """Programs of the library, and arguments such as `out`."""

    places: Places
    arrays: Arrays
    updates: Updates
    objects: Objects
    guards: Guards
    surface_calls: SurfaceCalls

    def run_library(
        self, program: PyObject, value: PyObject, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        """A program of the library; what it refuses is refused at the user's call."""
        known = inspect.signature(program).parameters
        out = kwargs.get("out")
        if out is not None and "out" not in known:
            if not accepts(value, args, kwargs):
                text = f"{value.__name__}() got an unexpected keyword argument 'out'"
                raise self.places.located(TypeError(text), node)
            kwargs = {k: v for k, v in kwargs.items() if k != "out"}
            result = self.run_library(program, value, args, kwargs, node)
            return self.write_out(result, out, node, True) if isinstance(out, Ref) else result
        try:
            inspect.signature(program).bind(*args, **kwargs)
        except TypeError as error:
            if not accepts(value, args, kwargs):
                raise self.places.located(TypeError(f"{value.__name__}() {error}"), node) from None
            unknown = [f"{k}=" for k in kwargs if k not in known]
            detail = f"with {', '.join(unknown)}" if unknown else f"({error})"
            self.places.refuse(
                node, f"{path_of(value)} {detail} is not supported", "see docs/rules.md"
            )
        operands = [
            self.arrays.sym(a) for a in (*args, *kwargs.values()) if isinstance(a, (Num, Ref))
        ]
        with self.guards.guarding(node):
            refuse_complex(path_of(value), *operands)
        args, kwargs = self._with_integers(program, value, args, kwargs, node)
        try:
            result = self.evaluator.call_function(Obj(program), args, kwargs, node)
        except S2SError as error:
            if error.span is None or not error.span.file.startswith(LIBRARY_FOLDER):
                raise
            raise self.places.refusal(node, error.message, error.advice, type(error)) from None
        # A program may end with `np.where` where NumPy's function returns a scalar.
        return (
            self.surface_calls.of_rank_0(result)
            if path_of(value) in RANK_0
            else self.scalar(result)
        )

    def scalar(self, value: Value) -> Value:
        """A result that is no array in NumPy if it is a scalar here."""
        return replace(value, arrays=frozenset()) if isinstance(value, Num) else value

    def _with_integers(
        self, program: Any, value: Any, args: Args, kwargs: Kwargs, node: core.Node
    ) -> tuple[Any, Any]:
        """The arguments of a program of the library, with those that must be integers checked."""
        path = path_of(value)
        wanted = integer_parameters(path, program)
        if not wanted:
            return args, kwargs
        bound = inspect.signature(program).bind(*args, **kwargs)
        with self.guards.guarding(node):
            for name, parameter in wanted.items():
                given = bound.arguments.get(name)
                if isinstance(given, (Num, Ref, TupleVal, Obj)):
                    plain = self.guards.to_surface(given, node)
                    checked = as_integers(path, parameter, plain)
                    same = isinstance(given, Ref) or checked is plain
                    bound.arguments[name] = given if same else self.arrays.wrap(checked)
        return bound.args, bound.kwargs

    def as_declared(self, ufunc: PyObject, args: Args, node: core.Node) -> Args:
        """Arguments in the dtypes of the first signature of `@vectorize` that they fit."""
        if not all(isinstance(a, (Num, Ref)) for a in args):
            return args
        operands: list[Any] = [self.arrays.sym(a) for a in args]
        for signature in getattr(ufunc, "types", ()):
            dtypes = [np.dtype(c) for c in signature.split("->")[0]]
            if len(dtypes) == len(args) and all(
                np.can_cast(x.dtype, d) for x, d in zip(operands, dtypes)
            ):
                return tuple(
                    a if x.dtype == d.name else self.arrays.wrap(x.astype(d.name))
                    for a, x, d in zip(args, operands, dtypes)
                )
        return args

    def split_out(
        self, value: PyObject, args: Args, kwargs: Kwargs, node: core.Node
    ) -> tuple[Args, Kwargs, Ref | None]:
        """The arguments without the array that the result is to be written into."""
        out = kwargs.get("out")
        if isinstance(value, np.ufunc) and len(args) > value.nargs:
            text = f"{value.__name__}() takes from {value.nin} to {value.nargs} positional "
            text += f"arguments but {len(args)} were given"
            raise self.places.located(TypeError(text), node)
        if out is None and isinstance(value, np.ufunc) and len(args) > value.nin:
            args, out = args[: value.nin], args[value.nin]
        if isinstance(out, TupleVal) and len(out.values) == 1:
            out = out.values[0]
        if not (out is None or isinstance(out, Ref) or isinstance(out, Obj) and out.value is None):
            raise self.places.located(TypeError("return arrays must be of ArrayType"), node)
        return (
            args,
            {k: v for k, v in kwargs.items() if k != "out"},
            out if isinstance(out, Ref) else None,
        )

    def write_out(self, result: Value, out: Ref, node: core.Node, exact: bool = False) -> Value:
        """Writes a result into `out`.  A ufunc broadcasts it; `exact`: the shapes must be equal."""
        value = self.arrays.sym(result)
        if exact:
            self._must_have_shape(value, self.arrays.sym(out), node)
        have, want = np.dtype(value.dtype), np.dtype(self.arrays.ref_type(out).dtype)
        if not np.can_cast(have, want, "same_kind"):
            if exact:  # NumPy would compute in the dtype of `out`
                self.places.refuse(
                    node, f"{have} results written into out= of {want}", "convert them"
                )
            raise self.places.located(
                TypeError(
                    f"Cannot cast output from {have!r} to {want!r} with casting rule 'same_kind'"
                ),
                node,
            )
        with self.guards.guarding(node):
            self.updates.write(out, (), value, node)
        return out

    def _must_have_shape(self, value: Any, out: Any, node: core.Node) -> None:
        wrong = "the array given as out= has the wrong shape"
        if value.ndim != out.ndim:
            raise self.places.located(ValueError(wrong), node)
        for axis in range(value.ndim):
            require_equal(
                self.b,
                value.type.shape[axis],
                out.type.shape[axis],
                lambda axis=axis: (size_of(self.b, value, axis), size_of(self.b, out, axis)),
                "ValueError",
                lambda m, n: (wrong,),
            )

    def grid_by_index(self, owner: PyObject, index: Value, node: core.Node) -> Value:
        parts = index.values if isinstance(index, TupleVal) else (index,)
        ranges = [self._range_array(p, node) for p in parts if isinstance(p, SliceVal)]
        if len(ranges) != len(parts):
            self.places.refuse(node, "an index of np.mgrid that is no slice is not supported")
        if not isinstance(index, TupleVal):
            return ranges[0]
        options = {"indexing": Obj("ij"), "sparse": constant(owner is np.ogrid)}
        grids = self.surface_calls.call_surface("numpy.meshgrid", tuple(ranges), options, node)
        if owner is np.mgrid:
            return self.surface_calls.call_surface("numpy.stack", (grids,), {}, node)
        return TupleVal(tuple(self.objects.static_items(grids) or ()))

    def joined_by_index(self, owner: PyObject, index: Value, node: core.Node) -> Value:
        parts = index.values if isinstance(index, TupleVal) else (index,)
        arrays = [self._range_array(p, node) if isinstance(p, SliceVal) else p for p in parts]
        arrays = self._of_one_dtype(arrays)
        flat = [self.surface_calls.call_surface("numpy.atleast_1d", (a,), {}, node) for a in arrays]
        path = "numpy.column_stack" if owner is np.c_ else "numpy.concatenate"
        return self.surface_calls.call_surface(path, (TupleVal(tuple(flat)),), {}, node)

    def _of_one_dtype(self, values: list[Any]) -> list[Any]:
        """Python's numbers in the dtype of the arrays they are joined with."""
        if not all(isinstance(v, (Num, Ref)) for v in values):
            return values
        operands = [self.arrays.sym(v) for v in values]
        dtype = join_dtypes([x.type for x in operands])
        return [
            self.arrays.wrap(x.astype(dtype)) if isinstance(v, Num) else v
            for v, x in zip(values, operands)
        ]

    def _range_array(self, part: SliceVal, node: core.Node) -> Value:
        zero, one = constant(0), constant(1)
        bounds = [part.start or zero, part.stop, part.step or one]
        if not all(isinstance(p, Num) for p in bounds):
            self.places.refuse(
                node, "this slice of np.r_ is not supported", "use np.arange or np.linspace"
            )
        return self.surface_calls.call_surface("numpy.arange", tuple(bounds), {}, node)


def accepts(function: Any, args: Args, kwargs: Kwargs) -> bool:
    """Whether the library's own function takes these arguments."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    except ValueError:  # it does not tell
        return True
    return True
