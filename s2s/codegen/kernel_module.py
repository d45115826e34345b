"""A kernel as an LLVM module of its own, with a C calling convention; Numba is asked only for the
functions that nobody here knows."""

from __future__ import annotations

import ast
import contextlib
import pickle
import struct
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ..errors import Overlap
from ..runtime.locks import compiler_lock
from . import enable_lsr, external_routines, llvm_passes, overlap_check, refcount
from .arithmetic import converted, float64, int64
from .array_values import Buffer, of_values, parts_of_type
from .gemm import indexed
from .kernel_body import Errors, Kernel
from .llvm_utils import INT, NULL, POINTER, declared, member
from .partition.outline_nests import Plan
from .partition.shared_frame import Frame
from .partition.split_function import WORDS, frame_of, is_long
from .type_inference import Types, Unsupported
from .type_lowering import Context
from .value_types import Array, Float, Integer, Number

KERNEL = "s2s.kernel"
STATUS = ir.IntType(32)
# An error as Numba writes it: what it is, pickled, its size, values that belong to it, a function
# that makes objects of them, and how many there are.
INFO = ir.LiteralStructType([POINTER, STATUS, POINTER, POINTER, STATUS])


class Source:
    """A kernel to be compiled: a function of a text, for arguments of types `kinds`.  The other
    names of the text are in `space`; `prepare` is called before Numba is asked for anything."""

    def __init__(
        self,
        function: ast.FunctionDef,
        space: dict[str, Any],
        kinds: tuple[Any, ...],
        prepare: Callable[[], None],
        options: dict[str, Any],
    ) -> None:
        self.function = function
        self.types = Types(function, space, kinds, prepare)
        self.kinds, self.options = kinds, options


def listing(source: Source, level: str) -> str:
    """A kernel for people to read: in LLVM's language ("llvm") or for this machine ("asm")."""
    final = optimised(source, [])
    return str(final) if level == "llvm" else llvm_passes.assembly(final, pays(source.function))


def pays(function: ast.FunctionDef) -> bool:
    """Whether loop strength reduction pays for a kernel."""
    # Most of a long kernel runs no loop often enough for its addresses to matter.
    return not is_long(function) and enable_lsr.pays(function)


# add_entry(context, kernel, frame) adds an entry point for a kernel to its module.  A kernel with a
# frame takes its arguments there.
AddEntry = Callable[[Context, Any, Frame | None], None]


def optimised(source: Source, written: list[int], add_entry: AddEntry | None = None) -> Any:
    """The optimised module of a kernel; it may turn out to be `Unsupported`.  The kernel raises
    `Overlap` if an array at one of the positions `written` may overlap with another."""
    module = ir.Module("s2s")
    asked: list[Any] = []
    with contextlib.ExitStack() as stack:
        context = Context(lambda: _numba(source.options, asked, stack))
        target, frame = _write(context, module, source, written)
        if add_entry is not None:
            add_entry(context, target, frame)
        refcount.write(module)
        llvm_passes.mark(module, source.options["fastmath"])
    known = source.types.routines
    final = llvm_passes.parsed(external_routines.renamed(str(module), known))
    elsewhere = [compiled.library for compiled in known.values()]
    for library in dict.fromkeys(other for one in asked for other in one._linking_libraries):
        if library not in elsewhere:
            final.link_in(library._get_module_for_linking(), preserve=True)
    if add_entry is not None:
        final.get_function(KERNEL).linkage = "internal"
    llvm_passes.run(final, neighbours=indexed.is_used(final))
    final.verify()
    return final


def _numba(options: dict[str, Any], asked: list[Any], stack: contextlib.ExitStack) -> Any:
    """Numba's own context, in which nothing asks for the environment of a function: there is none.
    What it makes is in a library among those `asked`."""
    from numba.core import compiler
    from numba.core.registry import cpu_target
    from numba.core.runtime.nrt import rtsys

    stack.enter_context(compiler_lock())
    flags = compiler.Flags()
    cpu_target.options.parse_as_flags(flags, options)
    rtsys.initialize(cpu_target.target_context)
    context: Any = compiler._make_subtarget(cpu_target.target_context, flags)
    context.get_env_manager = lambda builder, return_pyobject=False: None
    library = context.codegen().create_library("s2s")
    stack.enter_context(context.push_code_library(library))
    asked.append(library)
    return context


# ---------------------------------------------------------------- the function


def _write(
    context: Context, module: Any, source: Source, written: list[int]
) -> tuple[Any, Frame | None]:
    """kernel(results, error, arguments…): arrays are passed as their parts and returned so.  Many
    arguments are passed in the kernel's frame."""
    known = source.types
    plan = Plan(source.function, known)
    frame = frame_of(context, source.function, known, plan)
    takes = [t for kind in source.kinds for t in parts_of(context, kind)]
    gives = ir.LiteralStructType([t for k in known.results for t in results_of(context, k)])
    errors = INFO.as_pointer().as_pointer()
    type_ = ir.FunctionType(STATUS, [gives.as_pointer(), errors, *([WORDS] if frame else takes)])
    target = ir.Function(module, type_, KERNEL)
    builder: Any = ir.IRBuilder(target.append_basic_block("entry"))
    values: list[Any] = []
    base = target.args[2] if frame else None
    if frame is None:
        given = list(target.args[2:])
        for kind, parameter in zip(source.kinds, source.function.args.args, strict=True):
            count = len(parts_of(context, kind))
            parts, given = given[:count], given[count:]
            if parameter.arg in plan.given:
                parts[0].add_attribute("noalias")
            values.append(of_values(kind, [*parts, NULL]) if isinstance(kind, Array) else parts[0])
    ends = StatusErrors()
    if written:
        arrays = [i for i, k in enumerate(source.kinds) if isinstance(k, Array)]
        order = [*written, *(i for i in arrays if i not in written)]

        def overlap() -> None:
            ends.set(builder, Overlap, ())
            ends.leave(builder)

        if frame is None:
            compared = [(values[i], values[i].type.dtype.bytes) for i in order]
            overlap_check.emit(builder, compared, len(written), overlap)
        else:
            first = [words[0].position for words in frame.given.values()]
            places = [(source.kinds[i], first[i]) for i in order]
            overlap_check.emit_in(builder, base, places, len(written), overlap)
    kernel = Kernel(context, builder, known, ends, plan, frame, base)
    results = kernel.run(source.function, values)
    if results is not None and not builder.block.is_terminated:
        found = [p for v in results for p in (v.parts() if isinstance(v, Buffer) else [v])]
        for position, value in enumerate(found):
            builder.store(value, member(builder, target.args[0], position))
        builder.ret(STATUS(0))
    return target, frame


def parts_of(context: Context, kind: Any) -> list[Any]:
    """The types of what is passed for an argument: its memory is somebody else's."""
    return parts_of_type(kind)[:-1] if isinstance(kind, Array) else [context.value_type(kind)]


def results_of(context: Context, kind: Any) -> list[Any]:
    return parts_of_type(kind) if isinstance(kind, Array) else [context.value_type(kind)]


class StatusErrors(Errors):
    """Told as functions of Numba's tell theirs, so that it makes no difference whose they are."""

    def set(self, builder: Any, exception: Any, args: tuple[Any, ...]) -> None:
        text, size = self._pickled(builder, (exception, args, ""))
        whole = ir.Constant(INFO, [text, STATUS(size), NULL, NULL, STATUS(0)])
        builder.store(_constant(builder.module, "s2s.error", whole), builder.function.args[1])

    def _pickled(self, builder: Any, what: Any) -> tuple[Any, int]:
        data = bytearray(pickle.dumps(what, protocol=4))
        text = ir.Constant(ir.ArrayType(ir.IntType(8), len(data)), data)
        return _constant(builder.module, "s2s.text", text).bitcast(POINTER), len(data)

    def set_with(self, builder: Any, exception: Any, values: list[Any], kinds: list[Any]) -> None:
        """The values stand behind the rest, in eight bytes each."""
        codes, stored, args = "", [], []
        for value, kind in zip(values, kinds):
            args.append(None if isinstance(value, ir.Value) else value)
            if isinstance(value, ir.Value):
                if not isinstance(kind, Number) or not isinstance(kind, (Float, Integer)):
                    raise Unsupported(f"an error that tells a {kind}")
                wide = float64 if isinstance(kind, Float) else int64
                codes += "d" if wide == float64 else "q"
                stored.append(converted(builder, value, kind, wide))
        text, size = self._pickled(builder, (exception, tuple(args), codes))
        type_ = ir.LiteralStructType([INFO, *(v.type for v in stored)])
        room_ = INT(struct.calcsize("Pi4xPPi4x") + 8 * len(stored))
        give = declared(builder.module, ir.FunctionType(POINTER, [INT]), "NRT_Allocate")
        info = builder.bitcast(builder.call(give, [room_]), type_.as_pointer())
        fields = [text, STATUS(size), NULL, NULL, STATUS(len(stored))]
        for position, value in enumerate(fields):
            builder.store(value, member(builder, member(builder, info, 0), position))
        for position, value in enumerate(stored, 1):
            builder.store(value, member(builder, info, position))
        builder.store(member(builder, info, 0), builder.function.args[1])


def _constant(module: Any, name: str, value: Any) -> Any:
    """A place in memory that holds a value for good."""
    made: Any = ir.GlobalVariable(module, value.type, module.get_unique_name(name))
    made.linkage, made.global_constant, made.initializer = "internal", True, value
    return made
