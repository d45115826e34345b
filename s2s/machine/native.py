"""A kernel as object code, by way of Numba's back end alone."""

from __future__ import annotations

import ast
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, compiler, types
from numba.core import config as numba_config
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys
from numba.core.typing.templates import signature

from ..doors import Door
from ..linking import DOOR, Code
from . import apart, door, scattered
from .infer import Types, Unsupported
from .kernel import Kernel

config: Any = numba_config


@global_compiler_lock
def native(
    text: str,
    entry: str,
    space: dict[str, Any],
    kinds: tuple[Any, ...],
    written: list[int],
    options: dict[str, Any],
    way_in: Door,
) -> Code:
    """The machine code of function `entry` of a module with its way in from Python; it may turn
    out to be `Unsupported`.  Arrays at the positions `written` are to lie apart from others."""
    library, links = _library(text, entry, space, kinds, written, options, way_in)
    final = _optimised(library, DOOR)
    things = [*final.functions, *final.global_variables]
    environments = [t.name for t in things if "NumbaEnv" in t.name]
    if environments and any(str(final).count(name) > 1 for name in environments):
        raise Unsupported("a function that needs its environment")
    missing = [t.name for t in things if t.is_declaration and not t.name.startswith("llvm.")]
    code = library._codegen._tm.emit_object(final)
    return Code(code, links, tuple(sorted(missing)))


@global_compiler_lock
def listing(
    text: str,
    entry: str,
    space: dict[str, Any],
    kinds: tuple[Any, ...],
    options: dict[str, Any],
    level: str,
) -> str:
    """The same without the way in, for people to read: in LLVM's language ("llvm") or for this
    machine ("asm")."""
    library, _ = _library(text, entry, space, kinds, [], options, None)
    final = _optimised(library, KERNEL)
    return str(final) if level == "llvm" else library._codegen._tm.emit_assembly(final)


KERNEL = "s2s.kernel"


def _library(
    text: str,
    entry: str,
    space: dict[str, Any],
    kinds: tuple[Any, ...],
    written: list[int],
    options: dict[str, Any],
    way_in: Door | None,
) -> tuple[Any, tuple[str, ...]]:
    context = _context(options)
    functions = (s for s in ast.parse(text).body if isinstance(s, ast.FunctionDef))
    function = next(s for s in functions if s.name == entry)
    known = Types(function, space, kinds)
    result: Any = types.BaseTuple.from_types(known.results)
    library = context.codegen().create_library(entry)
    module = library.create_ir_module("s2s")
    links: tuple[str, ...] = ()
    with context.push_code_library(library):
        conv = context.call_conv
        target = ir.Function(module, conv.get_function_type(result, kinds), KERNEL)
        builder: Any = ir.IRBuilder(target.append_basic_block("entry"))
        args = conv.decode_arguments(builder, kinds, target)
        if written:
            apart.emit(context, builder, *_in_order(kinds, args, written))
        value = Kernel(context, builder, known).run(function, signature(result, *kinds), args)
        if not builder.block.is_terminated:
            conv.return_value(builder, context.get_return_value(builder, result, value))
        if way_in is not None:
            links = door.write(context, target, kinds, result, way_in)
        context.post_lowering(module, library)
        _add(library, module)
    return library, links


def _add(library: Any, module: Any) -> None:
    """Numba would optimise each function by itself first, which gains nothing here."""
    parsed = llvm.parse_assembly(cgutils.normalize_ir_text(str(module)))
    parsed.data_layout = library._codegen._data_layout
    parsed.verify()
    library._final_module.link_in(parsed)


def _context(options: dict[str, Any]) -> Any:
    """Numba's own, in which nothing asks for the environment of a function: there is none."""
    flags = compiler.Flags()
    cpu_target.options.parse_as_flags(flags, options)
    rtsys.initialize(cpu_target.target_context)
    context = compiler._make_subtarget(cpu_target.target_context, flags)
    context.get_env_manager = lambda builder, return_pyobject=False: None  # type: ignore[method-assign]
    return context


def _in_order(
    kinds: tuple[Any, ...], args: list[Any], written: list[int]
) -> tuple[list[Any], list[Any], int]:
    """Types and values of the arrays, those first that are written."""
    arrays = [i for i, k in enumerate(kinds) if isinstance(k, types.Array)]
    order = [*written, *(i for i in arrays if i not in written)]
    return [kinds[i] for i in order], [args[i] for i in order], len(written)


def _optimised(library: Any, visible: str) -> Any:
    """Linked and optimised as Numba does it, but not loaded into Numba's engine."""
    final = library._final_module
    for other in dict.fromkeys(library._linking_libraries):
        final.link_in(other._get_module_for_linking(), preserve=True)
    if visible != KERNEL:
        final.get_function(KERNEL).linkage = "internal"
    usual = config.SLP_VECTORIZE
    try:
        config.SLP_VECTORIZE = usual or scattered.is_used(final)
        library._optimize_final_module()
    finally:
        config.SLP_VECTORIZE = usual
    final.verify()
    return final
