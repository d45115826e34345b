"""Listings of a kernel: LLVM IR and assembly.

Only the kernel's own functions are shown, without declarations and without the wrappers that
convert arguments from and to Python.  Mangled names are shortened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..backends.backends import signature
from ..backends.build_kernel import CALL, source
from .environment import cold_cache

_FOREIGN = ("cpython", "NRT_", "numba_", "_ZN5numba")


def text(entry: Any, params: Any, level: str) -> str:
    """The functions of a kernel as LLVM IR (`llvm`) or as assembly of the host (`asm`)."""
    # Not at the top: `s2s doctor` starts with versions of llvmlite that cannot be imported, too.
    from ..codegen.kernel_module import KERNEL, listing
    from ..codegen.type_inference import Unsupported
    from ..codegen.type_lowering import of_numba

    mangled = re.compile(rf"_ZN\d+\w*?{CALL}[\w$.]*|{re.escape(KERNEL)}")
    compiled = entry.compiled
    kinds = tuple(map(of_numba, signature(compiled, entry.seed, params)))
    try:
        whole = listing(source(compiled.lowered, compiled.entry, kinds), level)
    except Unsupported:
        whole = _numba_listing(entry, params, level)
    pieces = (_definitions if level == "llvm" else _routines)(whole)
    own = [body for name, body in pieces if not any(f in name for f in _FOREIGN)]
    return mangled.sub(compiled.name, "\n".join(own))


def _numba_listing(entry: Any, params: Any, level: str) -> str:
    with cold_cache():  # Numba can show only code compiled in this process
        dispatcher = entry.kernel("numba", params).dispatcher
    (found,) = dispatcher.nopython_signatures
    return (dispatcher.inspect_llvm if level == "llvm" else dispatcher.inspect_asm)(found.args)


def _definitions(text: str) -> Iterator[tuple[str, str]]:
    """Each function definition in LLVM IR: its first line and its text."""
    for match in re.finditer(r"^define .*?^}\n", text, re.MULTILINE | re.DOTALL):
        yield match[0].partition("\n")[0], match[0]


def _routines(text: str) -> Iterator[tuple[str, str]]:
    """Each function of an assembly listing: its name and its text without directives."""
    for match in re.finditer(r"^\s*\.type\s+(\S+),@function\n", text, re.MULTILINE):
        name = match[1]
        end = text.find(f"\t.size\t{name}", match.end())
        lines = text[match.end() : end if end >= 0 else None].splitlines()
        kept = (line for line in lines if not re.match(r"\s+\.(cfi|p2align|type|globl)", line))
        yield name, "".join(f"{line}\n" for line in kept)
