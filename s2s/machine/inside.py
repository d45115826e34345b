"""A kernel inside a Numba function: an intrinsic, which an otherwise empty function calls.

Numba checks and unboxes the arguments, boxes the results, raises the errors, optimises and keeps
the code.  The intrinsic checks the size guards and that written arrays overlap with no other,
allocates the results and runs the loop nests.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.np import arrayobj

from .. import array_table, memory
from ..errors import Misfit, Overlap
from ..kernels_external import intrinsic_of
from ..numba_entry import Entry, empty_text, scalar_text
from ..numba_target import kernel_target
from . import apart, relations
from .buffers import Buffer, of_values, pack, parts_of_type, unpack
from .context import Context, of_numba, to_numba
from .frame import Frame, Word
from .infer import Types
from .kernel import Errors, Kernel
from .kernel_module import STATUS, results_of
from .kinds import NUMBERS, Array, Integer, Opaque, Tuple, of_spec
from .nodes import named
from .optimise import forbid_estimates
from .outline import Plan
from .parts import frame_of
from .writing import INT, NULL, member, new_function, room

WORDS = Array(NUMBERS["int64"], 1, "C")


def body(
    text: str, name: str, space: dict[str, Any], entry: Entry, prepare: Callable[[], None]
) -> Any:
    """An intrinsic that does the same as function `name` of a module; `prepare` makes the other
    functions of the module known to Numba.  The text is read when Numba compiles a call of the
    intrinsic; it may turn out to be `Unsupported`."""

    def typed(*arguments: Any) -> tuple[Any, Any]:
        kinds = kinds_of(entry, arguments)
        function = without_buffers(named(ast.parse(text), name), entry)
        known = Types(function, space, kinds, prepare)
        results = to_numba(Tuple(known.results))

        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            own = Context(lambda: context)
            values = values_of(entry, own, builder, kinds, args)
            plan = Plan(function, known)
            frame = frame_of(own, function, known, plan)
            errors = NumbaErrors(context, known)
            if frame is None:
                found = Kernel(own, builder, known, errors, plan).run(function, values)
            else:
                found = _in_frame(own, builder, function, known, errors, plan, frame, values)
            forbid_estimates(builder.module)
            if memory.ALLOCATE in builder.module.globals:
                memory.offer()
            if found is None:
                # The program always fails; what follows is never run.
                builder.position_at_end(builder.append_basic_block("never"))
                return ir.Constant(context.get_value_type(results), ir.Undefined)
            packed = [pack(own, builder, v) if isinstance(v, Buffer) else v for v in found]
            return context.make_tuple(builder, results, packed)

        return signature(results, *arguments), code

    return _intrinsic(typed, entry)


def _intrinsic(typed: Any, entry: Entry) -> Any:
    made = intrinsic_of(typed, entry.arguments([f"a{i}" for i in range(entry.parameters)]))
    kernel_target.typing_context.insert_intrinsic(made)
    return made


def from_table(entry: Entry, position: int) -> Any:
    """An intrinsic that takes the arguments and returns a parameter that is in the table."""

    def typed(*arguments: Any) -> tuple[Any, Any]:
        kinds = kinds_of(entry, arguments)

        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            own = Context(lambda: context)
            return pack(own, builder, values_of(entry, own, builder, kinds, args)[position])

        return signature(to_numba(kinds[position]), *arguments), code

    return _intrinsic(typed, entry)


def kinds_of(entry: Entry, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The types of all parameters, for the Numba types of the arguments."""
    found = {i: of_numba(types.unliteral(t)) for i, t in zip(entry.direct, arguments)}
    found |= {i: of_spec(spec) for i, spec in entry.tabled.items()}
    return tuple(found[i] for i in range(entry.parameters))


def values_of(
    entry: Entry, own: Context, builder: Any, kinds: tuple[Any, ...], args: Any
) -> list[Any]:
    """The parameters: arrays as `Buffer`s, all else as it is."""
    found = {
        i: unpack(own, builder, kinds[i], value) if isinstance(kinds[i], Array) else value
        for i, value in zip(entry.direct, args)
    }
    if entry.tabled:
        words = unpack(own, builder, WORDS, args[-1]).data
        position = array_table.HEADER
        for i in entry.tabled:
            parts = []
            for type_ in parts_of_type(kinds[i])[:-1]:
                parts.append(Word(position, type_).load(builder, words))
                position += 1
            found[i] = of_values(kinds[i], [*parts, NULL])
    return [found[i] for i in range(entry.parameters)]


def without_buffers(function: ast.FunctionDef, entry: Entry) -> ast.FunctionDef:
    """The function that makes its buffers and its scalar cotangent itself, and returns all
    results."""
    names = [a.arg for a in function.args.args]
    buffers = names[len(names) - len(entry.buffers) :]
    lines = []
    if entry.seed is not None:
        (seed,) = names[entry.parameters : len(names) - len(entry.buffers)]
        lines.append(f"{seed} = {scalar_text(entry.seed)}")
    for buffer, (_, position) in zip(buffers, entry.buffers):
        lines.append(f"{buffer} = {empty_text(names[position], *entry.arrays[position])}")
    made = ast.parse("\n".join(lines)).body
    function.args.args = function.args.args[: entry.parameters]
    for node in ast.walk(function):
        if isinstance(node, ast.Return):
            assert isinstance(node.value, ast.Tuple)
            for buffer, (result, _) in zip(buffers, entry.buffers):
                node.value.elts.insert(result, ast.Name(buffer, ast.Load()))
    function.body = [*made, *function.body]
    return function


def _in_frame(
    own: Context,
    builder: Any,
    function: ast.FunctionDef,
    known: Types,
    errors: Errors,
    plan: Plan,
    frame: Frame,
    values: list[Any],
) -> list[Any] | None:
    """The results of a kernel that is a function of its own, kernel(results, error, frame), as its
    code expects the arguments in the frame from its beginning on."""
    base = room(builder, INT, frame.size)
    for words, value in zip(frame.given.values(), values):
        _put(builder, base, words, value)
    error = builder.function.args[1]  # where Numba's functions note an error
    parts = [results_of(own, kind) for kind in known.results]
    gives = ir.LiteralStructType([type_ for types in parts for type_ in types])
    kind = ir.FunctionType(STATUS, [gives.as_pointer(), error.type, base.type])
    target = new_function(builder.module, kind, "s2s.kernel", "noinline")
    inner: Any = ir.IRBuilder(target.append_basic_block("entry"))
    found = Kernel(own, inner, known, errors, plan, frame, target.args[2]).run(function, [])
    if found is not None and not inner.block.is_terminated:
        made = [part for v in found for part in (v.parts() if isinstance(v, Buffer) else [v])]
        for position, part in enumerate(made):
            inner.store(part, member(inner, target.args[0], position))
        inner.ret(STATUS(0))
    results = room(builder, gives)
    status = builder.call(target, [results, error, base])
    with builder.if_then(builder.icmp_signed("!=", status, STATUS(0)), likely=False):
        builder.ret(status)
    if found is None:
        return None
    loaded = [builder.load(member(builder, results, i)) for i in range(len(gives.elements))]
    returned, position = [], 0
    for kind_, types_ in zip(known.results, parts):
        own_parts = loaded[position : position + len(types_)]
        position += len(types_)
        is_array = isinstance(kind_, Array)
        returned.append(of_values(kind_, own_parts) if is_array else own_parts[0])
    return returned


def _put(builder: Any, base: Any, words: list[Any], value: Any) -> None:
    parts = value.parts() if isinstance(value, Buffer) else [value]
    for word, part in zip(words, parts):
        if isinstance(word, Word):
            builder.store(part, word.place(builder, base))


def checks(entry: Entry) -> Any:
    """An intrinsic that takes the arguments.  It raises `Misfit` if the table is none or a guard
    on sizes does not hold, and `Overlap` if a written array may overlap with another."""

    def typed(*arguments: Any) -> tuple[Any, Any]:
        kinds = tuple(map(_array_of_anything, kinds_of(entry, arguments)))

        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            own = Context(lambda: context)

            def fail(error: type[Exception]) -> None:
                context.call_conv.return_user_exc(builder, error, ())

            if entry.tabled:
                known = _is_table(builder, unpack(own, builder, WORDS, args[-1]), entry)
                with builder.if_then(builder.not_(known), likely=False):
                    fail(Misfit)
            values = values_of(entry, own, builder, kinds, args)
            integers = [_wide(builder, kind, value) for kind, value in zip(kinds, values)]
            for relation in entry.relations:
                holds = relations.holds(builder, *relation, integers)
                with builder.if_then(builder.not_(holds), likely=False):
                    fail(Misfit)
            if entry.written:
                arrays = [i for i, kind in enumerate(kinds) if isinstance(kind, Array)]
                order = [*entry.written, *(i for i in arrays if i not in entry.written)]
                items = [(values[i], _item_size(context, kinds[i])) for i in order]
                apart.emit(builder, items, len(entry.written), lambda: fail(Overlap))
            return context.get_dummy_value()

        return signature(types.none, *arguments), code

    return _intrinsic(typed, entry)


def _array_of_anything(kind: Any) -> Any:
    """An array of records is none to the code generator, but has an address and sizes."""
    type_ = getattr(kind, "numba", None)
    if not isinstance(type_, types.Array):
        return kind
    return Array(Opaque(str(type_.dtype), type_.dtype), type_.ndim, type_.layout)


def _is_table(builder: Any, table: Buffer, entry: Entry) -> Any:
    """Whether an array of integers is a table of such arrays."""
    specs = [*entry.tabled.values()]
    words = array_table.HEADER + sum(map(array_table.length, specs))
    long = builder.icmp_signed("==", table.sizes[0], INT(words))
    function = builder.function
    check, end = (function.append_basic_block() for _ in range(2))
    start = builder.block
    builder.cbranch(long, check, end)
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


def _wide(builder: Any, kind: Any, value: Any) -> Any:
    """An integer as 64 bits; nothing else is looked at."""
    if isinstance(kind, Integer) and kind.bits < 64:
        return (builder.sext if kind.signed else builder.zext)(value, INT)
    return value


class NumbaErrors(Errors):
    def __init__(self, context: Any, known: Types) -> None:
        self.context = context
        self.known = known

    def set(self, builder: Any, exception: Any, args: tuple[Any, ...]) -> None:
        self.context.call_conv.set_static_user_exc(builder, exception, args)

    def set_with(self, builder: Any, exception: Any, values: list[Any], kinds: list[Any]) -> None:
        self.known.wake()
        told = tuple(
            to_numba(k) if isinstance(v, ir.Value) else None for k, v in zip(kinds, values)
        )
        self.context.call_conv.set_dynamic_user_exc(builder, exception, tuple(values), told)
