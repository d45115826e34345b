"""A kernel as a Numba intrinsic, which an otherwise empty Numba function calls.

Numba checks and unboxes the arguments, boxes the results, raises the errors, optimises and caches
the code.  The intrinsics check the size guards and that written arrays overlap with no other array,
allocate the results and run the loop nests.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.np import arrayobj

from ...errors import Overlap, SizeGuardFailed
from ...runtime import block_pool
from .. import overlap_check, size_relations
from ..array_values import (
    Buffer,
    allocate,
    of_values,
    pack,
    parts_of_type,
    release,
    unpack,
)
from ..kernel_body import Errors, Kernel
from ..kernel_module import KERNEL, STATUS, result_types
from ..llvm_passes import forbid_estimates
from ..llvm_utils import INT, NULL, entry_alloca, member, new_function
from ..partition.outline_nests import Plan
from ..partition.shared_frame import FrameSlot
from ..partition.split_function import frame_of
from ..statements import NO_MEMORY
from ..syntax_helpers import named
from ..type_inference import ReturnsArgument, Types
from ..type_lowering import Context, memory_type, of_numba, to_numba
from ..value_types import NUMBERS, Array, Complex, Integer, Number, Opaque, Tuple, of_spec
from . import array_table
from .borrowed_arguments import Results, is_borrowed, plain
from .external_call import intrinsic_of
from .numba_entry import Entry
from .numba_target import kernel_target

TABLE_TYPE = Array(NUMBERS["int64"], 1, "C")


def body(
    text: str, name: str, space: dict[str, Any], entry: Entry, prepare: Callable[[], None]
) -> Any:
    """An intrinsic equivalent to function `name` of a lowered module.  `prepare` registers the
    other functions of the module with Numba.  The source is parsed when Numba compiles a call of
    the intrinsic, which may raise `Unsupported`."""

    def typed(*arguments: Any) -> tuple[Any, Any]:
        given = kinds_of(entry, arguments)
        seed = [] if entry.seed is None else [NUMBERS[entry.seed.dtype.name]]
        like = [entry.arrays[position] for _, position in entry.buffers]
        buffers = [Array(NUMBERS[dtype], ndim, "C") for ndim, dtype in like]
        kinds = (*given, *seed, *buffers)
        function = named(ast.parse(text), name)
        known = Types(function, space, kinds, prepare)
        results = to_numba(Tuple(tuple(entry.with_buffers(known.results, buffers))))
        if any(map(is_borrowed, arguments)):
            if may_return_argument(function, known, len(kinds) if entry.into else len(given)):
                raise ReturnsArgument
            results = Results(tuple(results), entry.classes or (None,) * len(results))

        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            own, errors = Context(lambda: context), NumbaErrors(context)
            values = values_of(entry, own, builder, given, args)
            made, own_buffers = [], []
            if entry.into:
                start = len(entry.direct)
                made = [unpack(own, builder, k, v) for k, v in zip(buffers, args[start:])]
                _check_sizes(context, entry, builder, made, values)
            else:
                made = own_buffers = _new_buffers(entry, builder, buffers, values, errors)
            values += [_constant(kind, entry.seed) for kind in seed]
            found = _call_kernel(
                own, builder, function, known, kinds, errors, [*values, *made], own_buffers
            )
            forbid_estimates(builder.module)
            if block_pool.ALLOCATE in builder.module.globals:
                block_pool.register_symbols()
            if found is None:
                # The kernel always raises; the code that follows is unreachable.
                builder.position_at_end(builder.append_basic_block("never"))
                return ir.Constant(context.get_value_type(results), ir.Undefined)
            whole = entry.with_buffers(found, made)
            packed = [pack(own, builder, v) if isinstance(v, Buffer) else v for v in whole]
            return context.make_tuple(builder, results, packed)

        return signature(results, *arguments), code

    return _intrinsic(typed, entry)


def may_return_argument(function: ast.FunctionDef, known: Types, count: int) -> bool:
    """False if no returned array shares memory with one of the first `count` arguments."""
    shared = {parameter.arg for parameter in function.args.args[:count]}
    shared = {name for name in shared if isinstance(known.names[name], Array)}

    def mentions(e: ast.AST) -> bool:
        if isinstance(e, ast.Attribute) and e.attr == "shape":
            return False
        if isinstance(e, ast.Name):
            return e.id in shared
        return any(map(mentions, ast.iter_child_nodes(e)))

    def arrays(target: ast.AST) -> set[str]:
        names = (e.id for e in ast.walk(target) if isinstance(e, ast.Name))
        return {name for name in names if isinstance(known.names.get(name), Array)}

    assignments = [s for s in ast.walk(function) if isinstance(s, ast.Assign)]
    before = -1
    while before != len(shared):
        before = len(shared)
        for s in assignments:
            if not isinstance(s.targets[0], ast.Subscript) and mentions(s.value):
                shared |= arrays(s.targets[0])
    returned = (s.value for s in ast.walk(function) if isinstance(s, ast.Return) and s.value)
    return any(
        mentions(e)
        for value in returned
        for e in getattr(value, "elts", [value])
        if not isinstance(known.of.get(e), Number)
    )


def _intrinsic(typed: Any, entry: Entry) -> Any:
    count = entry.parameters + len(entry.buffers) * entry.into
    made = intrinsic_of(typed, entry.arguments([f"a{i}" for i in range(count)]))
    kernel_target.typing_context.insert_intrinsic(made)
    return made


def from_table(entry: Entry, position: int) -> Any:
    """An intrinsic that takes the arguments and returns a parameter from the table."""

    def typed(*arguments: Any) -> tuple[Any, Any]:
        kinds = kinds_of(entry, arguments)

        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            own = Context(lambda: context)
            return pack(own, builder, values_of(entry, own, builder, kinds, args)[position])

        return signature(to_numba(kinds[position]), *arguments), code

    return _intrinsic(typed, entry)


def kinds_of(entry: Entry, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The types of all parameters, for the Numba types of the arguments."""
    found = {i: of_numba(plain(types.unliteral(t))) for i, t in zip(entry.direct, arguments)}
    found |= {i: of_spec(spec) for i, spec in entry.tabled.items()}
    return tuple(found[i] for i in range(entry.parameters))


def values_of(
    entry: Entry, own: Context, builder: Any, kinds: tuple[Any, ...], args: Any
) -> list[Any]:
    """The values of all parameters, arrays as `Buffer`s."""
    found = {
        i: unpack(own, builder, kinds[i], value) if isinstance(kinds[i], Array) else value
        for i, value in zip(entry.direct, args)
    }
    if entry.tabled:
        words = unpack(own, builder, TABLE_TYPE, args[-1]).data
        position = array_table.HEADER
        for i in entry.tabled:
            parts = []
            for type_ in parts_of_type(kinds[i])[:-1]:
                parts.append(FrameSlot(position, type_).load(builder, words))
                position += 1
            found[i] = of_values(kinds[i], [*parts, NULL])
    return [found[i] for i in range(entry.parameters)]


def _new_buffers(
    entry: Entry, builder: Any, kinds: list[Any], values: list[Any], errors: Errors
) -> list[Buffer]:
    """Allocate the results that have the shape of a parameter."""
    made: list[Buffer] = []

    def fail() -> None:
        _release(builder, made)
        errors.set(builder, *NO_MEMORY)
        errors.leave(builder)

    for kind, (_, position) in zip(kinds, entry.buffers):
        made.append(allocate(builder, kind, values[position].sizes, fail))
    return made


def _check_sizes(
    context: Any, entry: Entry, builder: Any, buffers: list[Buffer], values: list[Any]
) -> None:
    """Check that the caller's buffers have the shapes of the parameters."""
    for buffer, (_, position) in zip(buffers, entry.buffers, strict=True):
        for size, wanted in zip(buffer.sizes, values[position].sizes, strict=True):
            with builder.if_then(builder.icmp_signed("!=", size, wanted), likely=False):
                context.call_conv.return_user_exc(builder, SizeGuardFailed, ())


def _release(builder: Any, arrays: list[Buffer]) -> None:
    for array in arrays:
        place = entry_alloca(builder, array.memory.type)
        builder.store(array.memory, place)
        release(builder, place)


def _constant(kind: Any, value: Any) -> Any:
    if isinstance(kind, Complex):
        part = memory_type(kind.part)
        return ir.Constant(memory_type(kind), [part(float(value.real)), part(float(value.imag))])
    return memory_type(kind)(value.item())


def _call_kernel(
    own: Context,
    builder: Any,
    function: ast.FunctionDef,
    known: Types,
    kinds: tuple[Any, ...],
    errors: Errors,
    values: list[Any],
    made: list[Buffer],
) -> list[Any] | None:
    """Define and call a kernel; returns its results, or None if it always fails.  The kernel is a
    function of its own, kernel(results, error, arguments…) or kernel(results, error, frame), since
    `noalias` is an attribute of function parameters.  If it fails, the arrays `made` for it are
    released."""
    plan = Plan(function, known)
    frame = frame_of(own, function, known, plan)
    if frame is None:
        passed = [part for value in values for part in _parts(value)]
    else:
        base = entry_alloca(builder, INT, frame.size)
        for words, value in zip(frame.given.values(), values):
            _store_words(builder, base, words, value)
        passed = [base]
    error = builder.function.args[1]  # exception pointer of Numba's calling convention
    parts = [result_types(own, kind) for kind in known.results]
    gives = ir.LiteralStructType([type_ for types in parts for type_ in types])
    type_ = ir.FunctionType(STATUS, [gives.as_pointer(), error.type, *(p.type for p in passed)])
    target = new_function(builder.module, type_, KERNEL, *(["noinline"] if frame else []))
    inner: Any = ir.IRBuilder(target.append_basic_block("entry"))
    given: list[Any] = []
    if frame is None:
        rest = list(target.args[2:])
        for kind, value, parameter in zip(kinds, values, function.args.args, strict=True):
            own_parts, rest = rest[: len(_parts(value))], rest[len(_parts(value)) :]
            if parameter.arg in plan.given:
                own_parts[0].add_attribute("noalias")
            given.append(of_values(kind, own_parts) if isinstance(kind, Array) else own_parts[0])
    kernel = Kernel(own, inner, known, errors, plan, frame, target.args[2] if frame else None)
    found = kernel.run(function, given)
    if found is not None and not inner.block.is_terminated:
        for position, part in enumerate([part for value in found for part in _parts(value)]):
            inner.store(part, member(inner, target.args[0], position))
        inner.ret(STATUS(0))
    results = entry_alloca(builder, gives)
    status = builder.call(target, [results, error, *passed])
    with builder.if_then(builder.icmp_signed("!=", status, STATUS(0)), likely=False):
        _release(builder, made)
        builder.ret(status)
    if found is None:
        builder.unreachable()
        return None
    loaded = [builder.load(member(builder, results, i)) for i in range(len(gives.elements))]
    returned = []
    for kind, types_ in zip(known.results, parts):
        own_parts, loaded = loaded[: len(types_)], loaded[len(types_) :]
        returned.append(of_values(kind, own_parts) if isinstance(kind, Array) else own_parts[0])
    return returned


def _parts(value: Any) -> list[Any]:
    return value.parts() if isinstance(value, Buffer) else [value]


def _store_words(builder: Any, base: Any, words: list[Any], value: Any) -> None:
    for word, part in zip(words, _parts(value)):
        if isinstance(word, FrameSlot):
            builder.store(part, word.place(builder, base))


def checks(entry: Entry) -> Any:
    """An intrinsic that checks the arguments.  It raises `SizeGuardFailed` if the table is invalid
    or a size guard does not hold, and `Overlap`, or a ValueError with the message of the entry, if
    a written array may overlap with another."""

    def typed(*arguments: Any) -> tuple[Any, Any]:
        kinds = tuple(map(_opaque_array, kinds_of(entry, arguments)))

        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            own = Context(lambda: context)

            def fail(error: type[Exception], *message: str) -> None:
                context.call_conv.return_user_exc(builder, error, message)

            def fail_overlap() -> None:
                if entry.overlap:
                    fail(ValueError, entry.overlap)
                else:
                    fail(Overlap)

            if entry.tabled:
                known = _is_table(builder, unpack(own, builder, TABLE_TYPE, args[-1]), entry)
                with builder.if_then(builder.not_(known), likely=False):
                    fail(SizeGuardFailed)
            values = values_of(entry, own, builder, kinds, args)
            integers = [_widened(builder, kind, value) for kind, value in zip(kinds, values)]
            for relation in entry.relations:
                holds = size_relations.holds(builder, *relation, integers)
                with builder.if_then(builder.not_(holds), likely=False):
                    fail(SizeGuardFailed)
            if entry.written:
                arrays = [i for i, kind in enumerate(kinds) if isinstance(kind, Array)]
                order = [*entry.written, *(i for i in arrays if i not in entry.written)]
                items = [(values[i], _item_size(context, kinds[i])) for i in order]
                overlap_check.emit(builder, items, len(entry.written), fail_overlap)
            return context.get_dummy_value()

        return signature(types.none, *arguments), code

    return _intrinsic(typed, entry)


def _opaque_array(kind: Any) -> Any:
    """An array type for an opaque array, such as one of records: the code generator has no type for
    its elements, but it has an address and sizes."""
    type_ = getattr(kind, "numba", None)
    if not isinstance(type_, types.Array):
        return kind
    return Array(Opaque(str(type_.dtype), type_.dtype), type_.ndim, type_.layout)


def _is_table(builder: Any, table: Buffer, entry: Entry) -> Any:
    """Emit the test whether an array of integers is a table of the arrays of `entry`."""
    specs = [*entry.tabled.values()]
    words = array_table.HEADER + sum(map(array_table.length, specs))
    sized = builder.icmp_signed("==", table.sizes[0], INT(words))
    function = builder.function
    check, end = (function.append_basic_block() for _ in range(2))
    start = builder.block
    builder.cbranch(sized, check, end)
    builder.position_at_end(check)
    first, second = (builder.load(builder.gep(table.data, [INT(i)])) for i in range(2))
    own = builder.icmp_signed("==", first, builder.ptrtoint(table.data, INT))
    alike = builder.icmp_signed("==", second, INT(array_table.layout_hash(specs)))
    both = builder.and_(own, alike)
    builder.branch(end)
    builder.position_at_end(end)
    found = builder.phi(ir.IntType(1))
    found.add_incoming(ir.IntType(1)(0), start)
    found.add_incoming(both, check)
    return found


def _item_size(context: Any, kind: Any) -> int:
    dtype = kind.dtype
    if isinstance(dtype, Opaque):
        return arrayobj.get_itemsize(context, to_numba(kind))
    return dtype.bytes


def _widened(builder: Any, kind: Any, value: Any) -> Any:
    """Extend an integer to 64 bits; other values are returned unchanged."""
    if isinstance(kind, Integer) and kind.bits < 64:
        return (builder.sext if kind.signed else builder.zext)(value, INT)
    return value


class NumbaErrors(Errors):
    """Errors raised through Numba's calling convention."""

    def __init__(self, context: Any) -> None:
        self.context = context

    def set(self, builder: Any, exception: Any, args: tuple[Any, ...]) -> None:
        self.context.call_conv.set_static_user_exc(builder, exception, args)

    def set_with(self, builder: Any, exception: Any, values: list[Any], kinds: list[Any]) -> None:
        types_ = tuple(
            to_numba(k) if isinstance(v, ir.Value) else None for k, v in zip(kinds, values)
        )
        self.context.call_conv.set_dynamic_user_exc(builder, exception, tuple(values), types_)
