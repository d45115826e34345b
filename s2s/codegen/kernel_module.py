"""A kernel as an LLVM module of its own, with a C calling convention.

Numba is used only for functions that this code generator does not implement.
"""

from __future__ import annotations

import ast
import contextlib
import pickle
import struct
from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir

from ..errors import Overlap
from ..runtime.locks import compiler_lock
from . import enable_lsr, external_routines, llvm_passes, overlap_check, refcount
from .arithmetic import convert, float64, int64
from .array_values import Buffer, of_values, parts_of_type
from .gemm import indexed
from .kernel_body import Errors, Kernel
from .llvm_utils import INT, NULL, POINTER, declare_function, member
from .partition.outline_nests import Plan
from .partition.shared_frame import Frame
from .partition.split_function import WORDS, frame_of, is_long
from .type_inference import Types, Unsupported
from .type_lowering import Context
from .value_types import Array, Float, Integer, Number

KERNEL = "s2s.kernel"
STATUS = ir.IntType(32)
# Numba's exception info struct: pickled (exception, args, format), its size, pointer to run-time
# arguments, pointer to the function that boxes them, their count.
INFO = ir.LiteralStructType([POINTER, STATUS, POINTER, POINTER, STATUS])


class Source:
    """A kernel to be compiled: a lowered function for arguments of types `kinds`.  `space` is the
    namespace of its module; `prepare` is called before Numba is used for the first time."""

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
    """The listing of a kernel: optimised LLVM IR ("llvm") or host assembly ("asm")."""
    final = optimised_module(source, [])
    return (
        str(final)
        if level == "llvm"
        else llvm_passes.assembly(final, is_lsr_profitable(source.function))
    )


def is_lsr_profitable(function: ast.FunctionDef) -> bool:
    """Whether loop strength reduction is profitable for a kernel."""
    # Most loops of a long kernel have too few iterations for address arithmetic to matter.
    return not is_long(function) and enable_lsr.is_lsr_profitable(function)


def is_brief(function: ast.FunctionDef, kinds: Iterable[Any]) -> bool:
    """True if a kernel with arguments of the types `kinds` is scalar arithmetic only, without
    loops, arrays and calls of helpers.  The GIL is then kept during the call."""
    if any(isinstance(kind, Array) for kind in kinds):
        return False
    return not any(
        isinstance(node, (ast.For, ast.While))
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
        for node in ast.walk(function)
    )


# add_entry(context, kernel, frame) adds an entry point for a kernel to its module.  A kernel with a
# frame takes its arguments in the frame.
AddEntry = Callable[[Context, Any, Frame | None], None]


def optimised_module(source: Source, written: list[int], add_entry: AddEntry | None = None) -> Any:
    """The optimised LLVM module of a kernel.  Raises `Unsupported` if the kernel cannot be compiled
    here.  The kernel raises `Overlap` if an array at one of the positions `written` may overlap
    with another array."""
    module = ir.Module("s2s")
    libraries: list[Any] = []
    with contextlib.ExitStack() as stack:
        context = Context(lambda: _numba_context(source.options, libraries, stack))
        target, frame = _emit_kernel(context, module, source, written)
        if add_entry is not None:
            add_entry(context, target, frame)
        refcount.define_refcount_functions(module)
        llvm_passes.set_fast_math_flags(module, source.options["fastmath"])
    routines = source.types.routines
    final = llvm_passes.parse_module(external_routines.with_stable_symbols(str(module), routines))
    external = [compiled.library for compiled in routines.values()]
    for library in dict.fromkeys(dep for one in libraries for dep in one._linking_libraries):
        if library not in external:
            final.link_in(library._get_module_for_linking(), preserve=True)
    if add_entry is not None:
        final.get_function(KERNEL).linkage = "internal"
    llvm_passes.run(final, neighbours=indexed.is_used(final))
    final.verify()
    return final


def _numba_context(
    options: dict[str, Any], libraries: list[Any], stack: contextlib.ExitStack
) -> Any:
    """Numba's target context, with a new code library that is appended to `libraries`.  Kernels
    have no Numba environment, so no environment manager is created."""
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
    libraries.append(library)
    return context


# ---------------------------------------------------------------- kernel function


def _emit_kernel(
    context: Context, module: Any, source: Source, written: list[int]
) -> tuple[Any, Frame | None]:
    """Emit kernel(results, error, arguments…).  Arrays are passed and returned as their components
    (`Buffer.parts`).  A kernel with many arguments takes them in its frame."""
    known = source.types
    plan = Plan(source.function, known)
    frame = frame_of(context, source.function, known, plan)
    takes = [t for kind in source.kinds for t in argument_types(context, kind)]
    gives = ir.LiteralStructType([t for k in known.results for t in result_types(context, k)])
    errors = INFO.as_pointer().as_pointer()
    type_ = ir.FunctionType(STATUS, [gives.as_pointer(), errors, *([WORDS] if frame else takes)])
    target = ir.Function(module, type_, KERNEL)
    builder: Any = ir.IRBuilder(target.append_basic_block("entry"))
    values: list[Any] = []
    base = target.args[2] if frame else None
    if frame is None:
        given = list(target.args[2:])
        for kind, parameter in zip(source.kinds, source.function.args.args, strict=True):
            count = len(argument_types(context, kind))
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
            offsets = [(source.kinds[i], first[i]) for i in order]
            overlap_check.emit_for_frame(builder, base, offsets, len(written), overlap)
    kernel = Kernel(context, builder, known, ends, plan, frame, base)
    results = kernel.run(source.function, values)
    if results is not None and not builder.block.is_terminated:
        found = [p for v in results for p in (v.parts() if isinstance(v, Buffer) else [v])]
        for position, value in enumerate(found):
            builder.store(value, member(builder, target.args[0], position))
        builder.ret(STATUS(0))
    return target, frame


def argument_types(context: Context, kind: Any) -> list[Any]:
    """The LLVM types of the components of an argument, without the meminfo: the caller owns the
    memory."""
    return parts_of_type(kind)[:-1] if isinstance(kind, Array) else [context.value_type(kind)]


def result_types(context: Context, kind: Any) -> list[Any]:
    """The LLVM types of the components of a result, including the meminfo of an array."""
    return parts_of_type(kind) if isinstance(kind, Array) else [context.value_type(kind)]


class StatusErrors(Errors):
    """Errors in Numba's calling convention (status code and exception info), so that errors of the
    kernel and of Numba functions it calls are handled alike."""

    def set(self, builder: Any, exception: Any, args: tuple[Any, ...]) -> None:
        text, size = self._pickled(builder, (exception, args, ""))
        whole = ir.Constant(INFO, [text, STATUS(size), NULL, NULL, STATUS(0)])
        builder.store(
            _global_constant(builder.module, "s2s.error", whole), builder.function.args[1]
        )

    def _pickled(self, builder: Any, what: Any) -> tuple[Any, int]:
        data = bytearray(pickle.dumps(what, protocol=4))
        text = ir.Constant(ir.ArrayType(ir.IntType(8), len(data)), data)
        return _global_constant(builder.module, "s2s.text", text).bitcast(POINTER), len(data)

    def set_with(self, builder: Any, exception: Any, values: list[Any], kinds: list[Any]) -> None:
        """Store the exception info in new memory, and behind it the values, eight bytes each."""
        codes, stored, args = "", [], []
        for value, kind in zip(values, kinds):
            args.append(None if isinstance(value, ir.Value) else value)
            if isinstance(value, ir.Value):
                if not isinstance(kind, Number) or not isinstance(kind, (Float, Integer)):
                    raise Unsupported(f"an error that tells a {kind}")
                wide = float64 if isinstance(kind, Float) else int64
                codes += "d" if wide == float64 else "q"
                stored.append(convert(builder, value, kind, wide))
        text, size = self._pickled(builder, (exception, tuple(args), codes))
        type_ = ir.LiteralStructType([INFO, *(v.type for v in stored)])
        total = INT(struct.calcsize("Pi4xPPi4x") + 8 * len(stored))
        allocate = declare_function(builder.module, ir.FunctionType(POINTER, [INT]), "NRT_Allocate")
        info = builder.bitcast(builder.call(allocate, [total]), type_.as_pointer())
        fields = [text, STATUS(size), NULL, NULL, STATUS(len(stored))]
        for position, value in enumerate(fields):
            builder.store(value, member(builder, member(builder, info, 0), position))
        for position, value in enumerate(stored, 1):
            builder.store(value, member(builder, info, position))
        builder.store(member(builder, info, 0), builder.function.args[1])


def _global_constant(module: Any, name: str, value: Any) -> Any:
    """A private global constant with this initializer."""
    made: Any = ir.GlobalVariable(module, value.type, module.get_unique_name(name))
    made.linkage, made.global_constant, made.initializer = "internal", True, value
    return made
