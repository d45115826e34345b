"""What NumPy users write beside plain function calls: `out=`, methods of ufuncs, loops over
index tuples, `np.r_`, and functions that are programs of the library."""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ..ir.complex_ops import refuse_complex
from ..ir.errors import S2SError
from ..ir.record import record, replace
from ..rules import library
from ..rules.axes_and_sizes import require_equal, size_of
from ..rules.integer_arguments import as_integers, integer_parameters
from ..rules.library import LIBRARY, scans
from ..rules.promotion import join_dtypes
from ..syntax import core
from .arrays import Arrays
from .expressions import Expressions
from .iterators import Iterators
from .joins import Joins
from .places import Places
from .session import Part
from .values import (
    RANK_0,
    Bound,
    Cell,
    LibraryVal,
    Num,
    Obj,
    ProductVal,
    RangeVal,
    Ref,
    SliceVal,
    TupleVal,
    Value,
    constant,
)

REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
    "logical_or": "any",
}  # fmt: skip
LIBRARY_FOLDER = str(Path(library.__file__).parent)
FACTS = (np.finfo, np.iinfo, np.dtype)  # made of static arguments, and static themselves


def _path_of(value: Any) -> str:
    """`numpy.maximum.accumulate` for a method of a ufunc, `scipy.stats.norm.pdf` for one of a
    distribution, "" for other objects."""
    owner = getattr(value, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"numpy.{owner.__name__}.{value.__name__}"
    if type(owner).__module__.startswith("scipy.stats"):
        name = getattr(owner, "name", type(owner).__name__.removesuffix("_gen"))
        return f"scipy.stats.{name}.{value.__name__}"
    return ""


@functools.lru_cache(maxsize=1)
def _modules() -> tuple[str, ...]:
    return tuple(sorted({path.rpartition(".")[0] for path in LIBRARY}))


def library_function(value: Any) -> Any:
    """The program that stands for a library's function, if there is one.  A function of a
    module that nobody has imported cannot have been called."""
    path = _path_of(value)
    if path:
        return LIBRARY.get(path)
    name = getattr(value, "__name__", "")
    for module in _modules():
        program = LIBRARY.get(f"{module}.{name}")
        if program is not None and getattr(sys.modules.get(module), name, None) is value:
            return program
    return None


def accepts(function: Any, args: Any, kwargs: Any) -> bool:
    """Whether the library's own function takes these arguments."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    except ValueError:  # it does not tell
        return True
    return True


# Where users know functions from, whose own modules are private.
_PUBLIC = (
    "numpy numpy.linalg numpy.fft math scipy.special scipy.linalg scipy.signal scipy.integrate"
    " scipy.ndimage scipy.stats scipy.optimize"
).split()


def path_of(value: Any) -> str:
    """`numpy.ptp`, as users know it, for a function of a library; "" for others."""
    name = getattr(value, "__name__", "")
    if _path_of(value):
        return _path_of(value)
    for module in (*_PUBLIC, *_modules()):
        if name and getattr(sys.modules.get(module), name, None) is value:
            return name if module == "builtins" else f"{module}.{name}"
    return ""


@record(eq=False)
class NumpyCalls(Part):
    """Functions of NumPy that are more than one surface."""

    places: Places
    arrays: Arrays
    joins: Joins
    expressions: Expressions
    iterators: Iterators

    def call_numpy(self, value: Any, args: Any, kwargs: Any, node: Any) -> Value:
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
                ranges = tuple(
                    self.evaluator.python_calls.call_range((size,), {}, node) for size in sizes
                )
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
            flat = self.evaluator.calls.call_surface("numpy.ravel", args, {}, node)
            return self.iterators.iterator(flat, np.nditer)
        if value is itertools.combinations:
            items = self.expressions.static_items(self.iterators.whole(args[0], node))
            if items is None:
                self.places.refuse(
                    node, "combinations of a run-time sequence are not supported", "nest two loops"
                )
            chosen = itertools.combinations(
                items, self.expressions.static(args[1], node, "how many to choose")
            )
            return self.iterators.iterator(TupleVal(tuple(TupleVal(c) for c in chosen)), value)
        if value is str and len(args) == 1:
            return Obj(str(self.expressions.static(args[0], node, "what is made a string")))
        if value is np.random.shuffle:
            return self.evaluator.random_calls.shuffle(None, args, kwargs, node)
        if any(value is f for f in FACTS) and not kwargs:
            given = [self.expressions.static(a, node, "this argument") for a in args]
            with self.places.python_errors(node):
                return Obj(value(*given))
        if value is np.vectorize and len(args) == 1 and not kwargs:
            return Bound(args[0], "__vectorized__")
        if isinstance(value, np.vectorize):
            return self.evaluator.calls._call_vectorized(Obj(value.pyfunc), args, kwargs, node)
        return NotImplemented

    def call_library(self, program: Any, value: Any, args: Any, kwargs: Any, node: Any) -> Value:
        """A program of the library; what it refuses is refused at the user's call."""
        args = tuple(self.iterators.whole(a, node) for a in args)
        kwargs = {k: self.iterators.whole(v, node) for k, v in kwargs.items()}
        known = inspect.signature(program).parameters
        out = kwargs.get("out")
        if out is not None and "out" not in known:
            if not accepts(value, args, kwargs):
                text = f"{value.__name__}() got an unexpected keyword argument 'out'"
                raise self.places.located(TypeError(text), node)
            kwargs = {k: v for k, v in kwargs.items() if k != "out"}
            result = self.call_library(program, value, args, kwargs, node)
            return self.write_out(result, out, node, True) if isinstance(out, Ref) else result
        try:
            inspect.signature(program).bind(*args, **kwargs)
        except TypeError as error:
            if not accepts(value, args, kwargs):
                raise self.places.located(TypeError(f"{value.__name__}() {error}"), node) from None
            unknown = [f"{k}=" for k in kwargs if k not in known]
            told = f"with {', '.join(unknown)}" if unknown else f"({error})"
            self.places.refuse(
                node, f"{path_of(value)} {told} is not supported", "see docs/rules.md"
            )
        numbers = [
            self.arrays.sym(a) for a in (*args, *kwargs.values()) if isinstance(a, (Num, Ref))
        ]
        with self.evaluator.calls.guarding(node):
            refuse_complex(path_of(value), *numbers)
        args, kwargs = self._with_integers(program, value, args, kwargs, node)
        try:
            result = self.evaluator.call_function(Obj(program), args, kwargs, node)
        except S2SError as error:
            if error.span is None or not error.span.file.startswith(LIBRARY_FOLDER):
                raise
            raise self.places.refusal(node, error.message, error.advice, type(error)) from None
        # A program may end with `np.where` where NumPy's function returns a scalar.
        return self.of_rank_0(result) if path_of(value) in RANK_0 else self.scalar(result)

    def of_rank_0(self, value: Value) -> Value:
        """A result that is an array of rank 0 in NumPy, if it is a scalar here."""
        return replace(value, arrays=frozenset((Cell(),))) if isinstance(value, Num) else value

    def scalar(self, value: Value) -> Value:
        """A result that is no array in NumPy if it is a scalar here."""
        return replace(value, arrays=frozenset()) if isinstance(value, Num) else value

    def _with_integers(
        self, program: Any, value: Any, args: Any, kwargs: Any, node: Any
    ) -> tuple[Any, Any]:
        """The arguments of a program of the library, with those that must be integers checked."""
        path = path_of(value)
        wanted = integer_parameters(path, program)
        if not wanted:
            return args, kwargs
        bound = inspect.signature(program).bind(*args, **kwargs)
        with self.evaluator.calls.guarding(node):
            for name, parameter in wanted.items():
                given = bound.arguments.get(name)
                if isinstance(given, (Num, Ref, TupleVal, Obj)):
                    plain = self.evaluator.calls.to_surface(given, node)
                    checked = as_integers(path, parameter, plain)
                    same = isinstance(given, Ref) or checked is plain
                    bound.arguments[name] = given if same else self.arrays.wrap(checked)
        return bound.args, bound.kwargs

    def _ranges_of(self, ref: Ref, node: Any) -> tuple[RangeVal, ...]:
        array = self.arrays.sym(ref)
        return tuple(
            self.evaluator.python_calls.call_range(
                (self.evaluator.attributes.size(array, k),), {}, node
            )
            for k in range(array.ndim)
        )

    def _ufunc_method(self, ufunc: Any, method: str, args: Any, kwargs: Any, node: Any) -> Value:
        path = f"numpy.{ufunc.__name__}"
        if method == "outer" and len(args) == 2 and not kwargs:
            left, right = (
                self.evaluator.calls.call_surface("numpy.asarray", (a,), {}, node) for a in args
            )
            rank = self.arrays.sym(right).ndim if isinstance(right, Ref) else 0
            if isinstance(left, Ref) and rank:
                axes = TupleVal(
                    tuple(constant(self.arrays.sym(left).ndim + k) for k in range(rank))
                )
                left = self.evaluator.calls.call_surface(
                    "numpy.expand_dims", (left, axes), {}, node
                )
            return self.evaluator.calls.call_surface(path, (left, right), {}, node)
        if method == "reduce" and ufunc.__name__ in REDUCTIONS:
            axis = {} if len(args) > 1 else {"axis": constant(0)}
            return self.evaluator.calls.call_surface(
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

    def as_declared(self, ufunc: Any, args: Any, node: Any) -> Any:
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

    # ---- out=

    def split_out(self, value: Any, args: Any, kwargs: Any, node: Any) -> tuple[Any, Any, Any]:
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

    def write_out(self, result: Value, out: Ref, node: Any, exact: bool = False) -> Value:
        """Writes a result into `out`.  A ufunc broadcasts it; `exact`: the shapes must be equal."""
        value = self.arrays.sym(result)
        if exact:
            self._must_have_shape(value, self.arrays.sym(out), node)
        have, want = np.dtype(value.dtype), np.dtype(self.joins.ref_type(out).dtype)
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
        with self.evaluator.calls.guarding(node):
            self.arrays.write(out, (), value, node)
        return out

    def _must_have_shape(self, value: Any, out: Any, node: Any) -> None:
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

    # ---- np.r_, np.c_, np.mgrid and np.ogrid

    def grid_by_index(self, owner: Any, index: Value, node: core.Node) -> Value:
        parts = index.values if isinstance(index, TupleVal) else (index,)
        ranges = [self._range_array(p, node) for p in parts if isinstance(p, SliceVal)]
        if len(ranges) != len(parts):
            self.places.refuse(node, "an index of np.mgrid that is no slice is not supported")
        if not isinstance(index, TupleVal):
            return ranges[0]
        options = {"indexing": Obj("ij"), "sparse": constant(owner is np.ogrid)}
        grids = self.evaluator.calls.call_surface("numpy.meshgrid", tuple(ranges), options, node)
        if owner is np.mgrid:
            return self.evaluator.calls.call_surface("numpy.stack", (grids,), {}, node)
        return TupleVal(tuple(self.expressions.static_items(grids) or ()))

    def joined_by_index(self, owner: Any, index: Value, node: core.Node) -> Value:
        parts = index.values if isinstance(index, TupleVal) else (index,)
        arrays = [self._range_array(p, node) if isinstance(p, SliceVal) else p for p in parts]
        arrays = self._of_one_dtype(arrays)
        flat = [
            self.evaluator.calls.call_surface("numpy.atleast_1d", (a,), {}, node) for a in arrays
        ]
        path = "numpy.column_stack" if owner is np.c_ else "numpy.concatenate"
        return self.evaluator.calls.call_surface(path, (TupleVal(tuple(flat)),), {}, node)

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
        return self.evaluator.calls.call_surface("numpy.arange", tuple(bounds), {}, node)
