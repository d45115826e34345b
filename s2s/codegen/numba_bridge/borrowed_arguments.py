"""Argument and result types of our own for the Numba functions around kernels.

Numba unboxes an array with a new meminfo, which takes 0.1 µs with its release, and accepts any
subclass, byte order and scalar that it can convert.  The types here check an argument exactly and
borrow it: the caller holds the objects during the call.  So their values have no meminfo, and a
kernel that may return part of an argument takes Numba's own types instead.  The results are boxed
as the user gets them: NumPy scalars are created in place.

All of it is registered through `numba.extending`.  The types have the data models of Numba's types,
and Numba converts arrays and numbers to them in calls from other compiled functions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typeconv.castgraph import Conversion
from numba.extending import NativeValue, box, lower_cast, models, register_model, unbox
from numba.np.numpy_support import as_dtype, from_dtype

from ...errors import ArgumentMismatch
from ...runtime.object_layout import (
    ALIGNED,
    ARRAY_DATA_OFFSET,
    ARRAY_DESCR_OFFSET,
    ARRAY_DIMS_OFFSET,
    ARRAY_FLAGS_OFFSET,
    ARRAY_NDIM_OFFSET,
    ARRAY_STRIDES_OFFSET,
    C_ORDER,
    SCALAR_VALUE_OFFSET,
    WRITEABLE,
    is_layout_known,
)
from ...transforms.frontend.pytree import ArraySpec, ScalarSpec, Spec
from .numba_entry import PYTHON_CLASSES, is_borrowable

BYTE_POINTER = ir.IntType(8).as_pointer()
INT32, INT64 = ir.IntType(32), ir.IntType(64)


class ArrayArgument(types.Array):
    """A borrowed array: exactly of class ndarray, of a built-in dtype in native byte order,
    aligned, of this rank and layout, and writeable unless `readonly`."""

    def __repr__(self) -> str:
        return f"ArrayArgument({self.dtype}, {self.ndim}, {self.layout!r}, {self.mutable})"


class ScalarArgument(types.Type):  # type: ignore[misc]
    """A number of exactly one class."""

    def __init__(self, number: Any, cls: type) -> None:
        self.number, self.cls = number, cls
        super().__init__(name=f"{cls.__name__}")

    @property
    def key(self) -> Any:
        return self.number, self.cls

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        found = typingctx.can_convert(types.unliteral(other), self.number)
        return None if found is None else max(found, Conversion.safe)

    def __repr__(self) -> str:
        return f"ScalarArgument({self.cls.__name__})"


class Results(types.Tuple):
    """The results of a kernel; `classes` are those of NumPy scalars, and None for other results,
    which Numba boxes."""

    def __new__(cls, types: Any, classes: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, types: Any, classes: tuple[str | None, ...]) -> None:
        self.classes = classes
        super().__init__(types)
        self.name = f"Results({', '.join(map(str, zip(self.types, classes)))})"

    @property
    def key(self) -> Any:
        return self.types, self.classes


def argument_type(spec: Spec) -> Any:
    """The type for a parameter that `is_borrowable`."""
    assert isinstance(spec, (ArraySpec, ScalarSpec))
    number = from_dtype(np.dtype(spec.dtype))
    if isinstance(spec, ArraySpec):
        return ArrayArgument(number, spec.ndim, spec.layout, readonly=not spec.writeable)
    cls = PYTHON_CLASSES[spec.dtype] if spec.weak else np.dtype(spec.dtype).type
    return ScalarArgument(number, cls)


def argument_types(specs: Sequence[Spec], plain: tuple[Any, ...]) -> tuple[Any, ...]:
    """The types for parameters; Numba's, which are `plain`, for parameters without another, and on
    an interpreter that lays objects out in another way."""
    if not is_layout_known():
        return plain
    return tuple(
        argument_type(spec) if is_borrowable(spec) else type_
        for spec, type_ in zip(specs, plain, strict=True)
    )


def plain(type_: Any) -> Any:
    """Numba's type with the same values."""
    return type_.number if isinstance(type_, ScalarArgument) else type_


def is_borrowed(type_: Any) -> bool:
    return isinstance(type_, (ArrayArgument, ScalarArgument))


def is_borrowing(dispatcher: Any) -> bool:
    """True if a kernel was compiled with borrowed arguments."""
    return any(is_borrowed(type_) for types in dispatcher.signatures for type_ in types)


# ---------------------------------------------------------------- data models, conversions

register_model(ArrayArgument)(models.ArrayModel)
register_model(Results)(models.TupleModel)


@register_model(ScalarArgument)
class ScalarModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, type_: Any) -> None:
        super().__init__(dmm, type_, dmm.lookup(type_.number).get_value_type())


@lower_cast(types.Array, ArrayArgument)
def array_to_argument(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    return value


@lower_cast(types.Number, ScalarArgument)
def number_to_argument(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    return context.cast(builder, value, given, wanted.number)


# ---------------------------------------------------------------- unboxing


@unbox(ArrayArgument)
def unbox_array(type_: Any, obj: Any, c: Any) -> Any:
    """Check an array and fill Numba's array structure without a meminfo."""
    builder, ndim = c.builder, type_.ndim
    array = c.context.make_array(type_)(c.context, builder)
    for name in ("meminfo", "parent"):
        setattr(array, name, cgutils.get_null_value(getattr(array, name).type))
    failed = cgutils.alloca_once_value(builder, cgutils.true_bit)
    place = array._getpointer()
    dtype = as_dtype(type_.dtype)
    builder.store(ir.Constant(place.type.pointee, None), place)
    with builder.if_then(_is_of_class(c, obj, np.ndarray), likely=True):
        flags = ALIGNED | (C_ORDER if type_.layout == "C" else 0)
        flags |= WRITEABLE if type_.mutable else 0
        found = builder.and_(_field(c, obj, ARRAY_FLAGS_OFFSET, INT32), INT32(flags))
        descr = _field(c, obj, ARRAY_DESCR_OFFSET, BYTE_POINTER)
        rank = _field(c, obj, ARRAY_NDIM_OFFSET, INT32)
        fits = builder.icmp_unsigned("==", descr, _constant(c, dtype))
        fits = builder.and_(fits, builder.icmp_signed("==", found, INT32(flags)))
        fits = builder.and_(fits, builder.icmp_signed("==", rank, INT32(ndim)))
        with builder.if_then(fits, likely=True):
            array.data = builder.bitcast(
                _field(c, obj, ARRAY_DATA_OFFSET, BYTE_POINTER), array.data.type
            )
            sizes = _axes(c, obj, ARRAY_DIMS_OFFSET, ndim)
            count: Any = INT64(1)
            for size in sizes:
                count = builder.mul(count, size)
            array.nitems, array.itemsize = count, INT64(dtype.itemsize)
            array.shape = cgutils.pack_array(builder, sizes, ty=INT64)
            strides = _axes(c, obj, ARRAY_STRIDES_OFFSET, ndim)
            array.strides = cgutils.pack_array(builder, strides, ty=INT64)
            builder.store(cgutils.false_bit, failed)
    with builder.if_then(builder.load(failed), likely=False):
        _raise_mismatch(c, type_)
    return NativeValue(builder.load(place), is_error=builder.load(failed))


@unbox(ScalarArgument)
def unbox_scalar(type_: Any, obj: Any, c: Any) -> Any:
    builder, number = c.builder, type_.number
    failed = cgutils.alloca_once_value(builder, cgutils.true_bit)
    place = cgutils.alloca_once(builder, c.context.get_value_type(type_))
    builder.store(ir.Constant(place.type.pointee, None), place)
    is_class = _is_of_class(c, obj, type_.cls)
    with builder.if_then(is_class, likely=True):
        if issubclass(type_.cls, float):
            builder.store(c.pyapi.float_as_double(obj), place)
            builder.store(cgutils.false_bit, failed)
        else:
            value = c.unbox(number, obj)
            builder.store(value.value, place)
            builder.store(value.is_error, failed)
    with builder.if_then(builder.not_(is_class), likely=False):
        _raise_mismatch(c, type_)
    return NativeValue(builder.load(place), is_error=builder.load(failed))


def _raise_mismatch(c: Any, type_: Any) -> None:
    c.pyapi.err_set_string(_constant(c, ArgumentMismatch), f"an argument is no {type_}")


def _is_of_class(c: Any, obj: Any, cls: type) -> Any:
    return c.builder.icmp_unsigned("==", c.pyapi.get_type(obj), _constant(c, cls))


def _field(c: Any, obj: Any, offset: int, type_: Any) -> Any:
    place = c.builder.gep(c.builder.bitcast(obj, BYTE_POINTER), [INT64(offset)], inbounds=True)
    return c.builder.load(c.builder.bitcast(place, type_.as_pointer()))


def _axes(c: Any, obj: Any, offset: int, count: int) -> list[Any]:
    if not count:
        return []
    axes, builder = _field(c, obj, offset, INT64.as_pointer()), c.builder
    return [builder.load(builder.gep(axes, [INT64(i)], inbounds=True)) for i in range(count)]


def _constant(c: Any, value: Any) -> Any:
    """The address of a Python object that is the same in the whole process, such as a class or a
    dtype.  Machine code that is loaded from the cache finds it by name: the object is pickled in
    the module, loaded once, and kept."""
    module = c.builder.module
    name = f"s2s.object.{hashlib.sha256(repr(value).encode()).hexdigest()[:16]}"
    function = module.globals.get(name)
    if function is None:
        function = ir.Function(module, ir.FunctionType(BYTE_POINTER, []), name)
        function.linkage = "internal"
        kept: Any = ir.GlobalVariable(module, BYTE_POINTER, f"{name}.kept")
        kept.linkage, kept.initializer = "internal", ir.Constant(BYTE_POINTER, None)
        builder: Any = ir.IRBuilder(function.append_basic_block())
        with builder.if_then(cgutils.is_null(builder, builder.load(kept)), likely=False):
            api = c.context.get_python_api(builder)
            pickled = _Singleton(value) if isinstance(value, np.dtype) else value
            builder.store(api.unserialize(api.serialize_object(pickled)), kept)
        builder.ret(builder.load(kept))
    return c.builder.call(function, [])


class _Singleton:
    """A built-in dtype that is unpickled as NumPy's only instance; others would be copies."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __reduce__(self) -> Any:
        return np.dtype, (self.dtype.name,)


# ---------------------------------------------------------------- boxing


@box(Results)
def box_results(type_: Any, value: Any, c: Any) -> Any:
    builder = c.builder
    made = c.pyapi.tuple_new(type_.count)
    for i, (part, cls) in enumerate(zip(type_.types, type_.classes)):
        item = builder.extract_value(value, i)
        boxed = c.box(part, item) if cls is None else _numpy_scalar(c, part, cls, item)
        c.pyapi.tuple_setitem(made, i, boxed)
    return made


def _numpy_scalar(c: Any, type_: Any, cls: str, value: Any) -> Any:
    """A new NumPy scalar; NULL if there is no memory for it."""
    builder = c.builder
    kind = ir.FunctionType(BYTE_POINTER, [BYTE_POINTER, INT64])
    allocate = cgutils.get_or_insert_function(builder.module, kind, "PyType_GenericAlloc")
    made = builder.call(allocate, [_constant(c, np.dtype(cls).type), INT64(0)])
    with builder.if_then(cgutils.is_not_null(builder, made), likely=True):
        data = c.context.get_data_type(type_)
        place = builder.gep(made, [INT64(SCALAR_VALUE_OFFSET)], inbounds=True)
        stored = c.context.get_value_as_data(builder, type_, value)
        builder.store(stored, builder.bitcast(place, data.as_pointer()))
    return made
