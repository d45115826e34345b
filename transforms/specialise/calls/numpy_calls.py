"""What NumPy users write beside plain function calls: `out=`, methods of ufuncs, loops over
index tuples, `np.r_`, and functions that are programs of the library."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...ir.record import record
from ...rules.library import scans
from ...syntax import core
from ..heap.arrays import Arrays
from ..operations.iterators import Iterators
from ..outside.objects import Objects
from ..places import Places
from ..session import Part
from ..surface.library_calls import LibraryCalls
from ..surface.library_paths import library_function
from ..surface.surface_calls import SurfaceCalls
from ..values import (
    Args,
    Bound,
    Kwargs,
    LibraryVal,
    Obj,
    ProductVal,
    PyObject,
    RangeVal,
    Ref,
    TupleVal,
    Value,
    constant,
)
from .python_calls import PythonCalls
from .random_calls import RandomCalls
from .vectorized import Vectorized

REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
    "logical_or": "any",
}  # fmt: skip


FACTS = (np.finfo, np.iinfo, np.dtype)  # made of static arguments, and static themselves


@record(eq=False)
class NumpyCalls(Part):
    """Functions of NumPy that need more than the call of one surface."""

    places: Places
    arrays: Arrays
    objects: Objects
    surface_calls: SurfaceCalls
    library_calls: LibraryCalls
    iterators: Iterators
    vectorized: Vectorized
    python_calls: PythonCalls
    random_calls: RandomCalls

    def call_numpy(self, value: PyObject, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        """NotImplemented where the object is none of these."""
        program = library_function(value)
        if program is not None and value in (itertools.accumulate, itertools.chain):
            return self.iterators.iterator(LibraryVal(program, value, tuple(args), kwargs), value)
        if program is not None:
            return self.call_library(program, value, args, kwargs, node)
        ufunc = getattr(value, "__self__", None)
        if isinstance(ufunc, np.ufunc):
            return self._ufunc_method(ufunc, value.__name__, args, kwargs, node)
        if value is np.ndindex or value is itertools.product:
            ranges = args
            if value is np.ndindex:
                if kwargs:
                    text = f"ndindex() got an unexpected keyword argument {next(iter(kwargs))!r}"
                    raise self.places.located(TypeError(text), node)
                sizes = args[0].values if len(args) == 1 and isinstance(args[0], TupleVal) else args
                ranges = tuple(self.python_calls.call_range((size,), {}, node) for size in sizes)
            elif kwargs:
                self.places.refuse(
                    node, "itertools.product with repeat= is not supported", "name the sequences"
                )
            inners = tuple(self.iterators.whole(r, node) for r in ranges)
            return self.iterators.iterator(ProductVal(inners), value)
        if value is np.ndenumerate and len(args) == 1 and isinstance(args[0], Ref):
            places = ProductVal(self._ranges_of(args[0], node), args[0])
            return self.iterators.iterator(places, np.ndenumerate)
        if value is np.nditer and len(args) == 1 and isinstance(args[0], Ref) and not kwargs:
            flat = self.surface_calls.call_surface("numpy.ravel", args, {}, node)
            return self.iterators.iterator(flat, np.nditer)
        if value is itertools.combinations:
            items = self.objects.static_items(self.iterators.whole(args[0], node))
            if items is None:
                self.places.refuse(
                    node, "combinations of a run-time sequence are not supported", "nest two loops"
                )
            chosen = itertools.combinations(
                items, self.arrays.static(args[1], node, "how many to choose")
            )
            return self.iterators.iterator(TupleVal(tuple(TupleVal(c) for c in chosen)), value)
        if value is str and len(args) == 1:
            return Obj(str(self.arrays.static(args[0], node, "what is made a string")))
        if value is np.random.shuffle:
            return self.random_calls.shuffle(None, args, kwargs, node)
        if any(value is f for f in FACTS) and not kwargs:
            given = [self.arrays.static(a, node, "this argument") for a in args]
            with self.places.python_errors(node):
                return Obj(value(*given))
        if value is np.vectorize and len(args) == 1 and not kwargs:
            return Bound(args[0], "__vectorized__")
        if isinstance(value, np.vectorize):
            return self.vectorized.call_vectorized(Obj(value.pyfunc), args, kwargs, node)
        return NotImplemented

    def call_library(
        self, program: PyObject, value: PyObject, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        """A program of the library on what its arguments run over."""
        args = tuple(self.iterators.whole(a, node) for a in args)
        kwargs = {k: self.iterators.whole(v, node) for k, v in kwargs.items()}
        return self.library_calls.run_library(program, value, args, kwargs, node)

    def _ranges_of(self, ref: Ref, node: core.Node) -> tuple[RangeVal, ...]:
        array = self.arrays.sym(ref)
        return tuple(
            self.python_calls.call_range((self.arrays.size(array, k),), {}, node)
            for k in range(array.ndim)
        )

    def _ufunc_method(
        self, ufunc: Any, method: str, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        path = f"numpy.{ufunc.__name__}"
        if method == "outer" and len(args) == 2 and not kwargs:
            left, right = (
                self.surface_calls.call_surface("numpy.asarray", (a,), {}, node) for a in args
            )
            rank = self.arrays.sym(right).ndim if isinstance(right, Ref) else 0
            if isinstance(left, Ref) and rank:
                axes = TupleVal(
                    tuple(constant(self.arrays.sym(left).ndim + k) for k in range(rank))
                )
                left = self.surface_calls.call_surface("numpy.expand_dims", (left, axes), {}, node)
            return self.surface_calls.call_surface(path, (left, right), {}, node)
        if method == "reduce" and ufunc.__name__ in REDUCTIONS:
            axis = {} if len(args) > 1 else {"axis": constant(0)}
            return self.surface_calls.call_surface(
                f"numpy.{REDUCTIONS[ufunc.__name__]}", args, {**axis, **kwargs}, node
            )
        binary = ufunc.nin == 2 and ufunc.nout == 1
        programs = {
            "reduce": scans.ufunc_reduce,
            "accumulate": scans.ufunc_accumulate,
            "reduceat": scans.ufunc_reduceat,
        }
        program = programs.get(method) if binary else None
        if method == "at" and ufunc.nout == 1:
            program = scans.ufunc_at if binary else scans.ufunc_at_alone
            if len(args) > 1 and isinstance(args[1], TupleVal):
                self.places.refuse(
                    node, f"{path}.at with several indices", "write a loop over the places"
                )
        if program is None:
            return NotImplemented
        return self.call_library(program, getattr(ufunc, method), (Obj(ufunc), *args), kwargs, node)
