"""The object code of a kernel with its entry thunk, compiled or loaded from the cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...cache import store
from ...cache.source_key import platform_key
from ...codegen.gemm_library import gemm_library
from ...codegen.options import OPTIONS, canonical_options
from ...runtime.jit_link import Code, Unlinkable
from .. import build_kernel
from .entry_signature import Signature
from .native_loader import ENTRY_SYMBOL, load

# Cached in place of object code for a kernel that only Numba can call.
NO_ENTRY_POINT = "has no entry point"
_built: dict[Any, Any] = {}  # by cache file


def build(lowered: str, name: str, written: Sequence[int], signature: Signature) -> Any:
    """The entry point of function `name` of the lowered source, or None if it cannot have one.  It
    raises `Overlap` if an array at one of the positions `written` may overlap with another."""
    whose = gemm_library.choice() if "rt.gemm(" in lowered else ""
    how = repr((canonical_options(OPTIONS), whose, signature, [*written], name))
    key = store.digest(platform_key(), how, lowered)
    path = store.directory() / f"kernel_{key}"
    if path not in _built:
        code = store.read_entry(path)
        if code is None:
            code = _compiled(lowered, name, written, signature) or NO_ENTRY_POINT
            store.write_entry(path, code)
        _built[path] = None if code == NO_ENTRY_POINT else _loaded(code)
    return _built[path]


def _loaded(code: Code) -> Any:
    try:
        return load(code)
    except (Unlinkable, RuntimeError):  # RuntimeError: LLVM could not load it
        return None


def _compiled(lowered: str, name: str, written: Sequence[int], signature: Signature) -> Code | None:
    from ...codegen import llvm_passes, value_types
    from ...codegen.kernel_module import is_brief, is_lsr_profitable, optimised_module
    from ...codegen.partition.split_function import MANY, is_long
    from ...codegen.type_inference import Unsupported
    from . import entry_thunk

    links: tuple[str, ...] = ()

    def add_entry(context: Any, target: Any, frame: Any) -> None:
        nonlocal links
        links = entry_thunk.write(
            context, target, source.kinds, source.types.results, signature, frame,
            is_brief(source.function, source.kinds),
        )  # fmt: skip
        if is_long(source.function) and len(source.kinds) > MANY:
            entry: Any = target.module.get_global(ENTRY_SYMBOL)
            # As for the functions that `codegen/partition/split_function.py` outlines.
            for attribute in ("noinline", "optnone"):
                entry.attributes.add(attribute)

    try:
        kinds = tuple(map(value_types.of_spec, signature.kernel_arguments))
        source = build_kernel.source(lowered, name, kinds)
        final = optimised_module(source, [*written], add_entry)
        missing = llvm_passes.undefined_symbols(final)
        if missing is None:  # it calls a Numba function that needs its environment
            return None
        return Code(
            llvm_passes.object_code(final, is_lsr_profitable(source.function)), links, missing
        )
    except Unsupported:
        return None
