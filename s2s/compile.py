"""From the text of a kernel to machine code, by way of the cache.

A kernel that has a door (`s2s.doors`) is kept as object code, others as what Numba made of them
(`s2s.numba_cache`).  The text becomes a module whose name holds its hash.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
import types
import warnings
from collections.abc import Sequence
from typing import Any

from . import cache, linking, locks, powers, products
from .doors import Door
from .errors import CacheError, internal

PREFIX = "_s2s_"

# Reassociation makes reductions fast; what would forget nan and inf stays off.
FASTMATH = {"reassoc", "contract", "nsz", "arcp", "afn"}
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH}
# Where Numba writes the code, a quotient by a root would become an estimate that is nan for 0 and
# infinity; our own machine code forbids that (`machine/optimise.py`).
BY_NUMBA: dict[str, Any] = {**OPTIONS, "fastmath": FASTMATH - {"arcp"}}
# Only Python calls the function around our own machine code.
WRAPPED: dict[str, Any] = {**OPTIONS, "no_cfunc_wrapper": True}
CALL, BODY, APART = f"{PREFIX}call", f"{PREFIX}body", f"{PREFIX}apart"


def build(
    lowered: str,
    entry: str,
    signature: tuple[Any, ...] | None,
    written: Sequence[int] = (),
) -> Any:
    """The Numba dispatcher of a kernel: for one signature, or for any if it is None.  One for
    a signature raises `Overlap` if one of the arrays at the positions `written` may overlap
    with another."""
    tell_numba(lowered)
    caller = _caller(lowered, entry, signature or (), written)
    text = lowered + caller
    name = module_name(text, str(signature))
    if name not in _built:
        _built[name] = _build(name, text, entry, signature)
    return _built[name]


def build_door(lowered: str, entry: str, written: Sequence[int], door: Door) -> Any:
    """The function behind a kernel's door, or None if it cannot have one; it raises `Overlap` as
    those above."""
    whose = products.choice() if "rt.gemm(" in lowered else ""
    how = repr((_spelled(OPTIONS), whose, door, [*written], entry))
    key = cache.digest(cache.platform_key(), how, lowered)
    path = cache.directory() / f"kernel_{key}"
    if path not in _built:
        code = cache.fetch(path)
        if code is None:
            code = _native(lowered, entry, written, door) or REFUSED
            cache.keep(path, code)
        _built[path] = None if code == REFUSED else _linked(code)
    return _built[path]


# Kept in place of machine code for a kernel that cannot have a door.
REFUSED = "has no door"


def _linked(code: linking.Code) -> Any:
    try:
        return linking.load(code)
    except (linking.Unlinkable, RuntimeError):  # LLVM could not do it
        return None


def _native(lowered: str, entry: str, written: Sequence[int], door: Door) -> linking.Code | None:
    from . import machine

    try:
        kinds = tuple(map(machine.kinds.of_spec, door.takes))
        return machine.native(source(lowered, entry, kinds), [*written], door)
    except machine.Unsupported:
        return None


def source(lowered: str, entry: str, kinds: tuple[Any, ...]) -> Any:
    """A kernel to be compiled for arguments of certain types (`machine.kinds`)."""
    from .machine import Source

    module = types.ModuleType(f"{PREFIX}{entry}")
    tree = ast.parse(lowered)
    functions = (s for s in tree.body if isinstance(s, ast.FunctionDef))
    function = next(s for s in functions if s.name == entry)
    tree.body.remove(function)  # which nothing else calls
    exec(compile(tree, module.__name__, "exec"), vars(module))

    def prepare() -> None:
        tell_numba(lowered)
        jit_helpers(module, entry)

    if "rt.prange(" in lowered:
        _offer_threads()
    return Source(function, vars(module), kinds, prepare, OPTIONS)


def tell_numba(lowered: str) -> None:
    """What lowered code calls."""
    locks.hold_compiler_lock()
    from . import kernels_numba  # noqa: F401

    if "rt.fft." in lowered:
        from . import kernels_fft_numba  # noqa: F401
    if "rt.linalg." in lowered:
        from . import kernels_linalg_numba  # noqa: F401
    if "rt.draws." in lowered:
        from . import kernels_random_numba  # noqa: F401
    if "rt.prange(" in lowered:
        _offer_threads()
    if "**" in lowered or "pow" in lowered:
        powers.offer()
    products.offer(lowered)
    quieten()


def _offer_threads() -> None:
    import llvmlite.binding as llvm

    from . import threads

    llvm.add_symbol(threads.NAME, threads.address())


def _caller(lowered: str, entry: str, signature: tuple[Any, ...], written: Sequence[int]) -> str:
    """A function that does what the entry does, in machine code of our own."""
    (header,) = re.findall(rf"^def {entry}\((.*)\):$", lowered, re.MULTILINE)
    lines = ["", "", f"def {CALL}({header}):"]
    if written:
        names = header.split(", ")
        arrays = [n for n, t in zip(names, signature) if hasattr(t, "ndim") and hasattr(t, "dtype")]
        first = [names[i] for i in written]
        order = [*first, *(n for n in arrays if n not in first)]
        lines.append(f"    {APART}_{len(first)}_{len(order)}({', '.join(order)})")
    return "\n".join([*lines, f"    return {BODY}({header})", ""])


# Kernels are deduplicated by the hash of their text: by the name of a module, or an entry's path.
_built: dict[Any, Any] = {}


def _build(name: str, text: str, entry: str, signature: tuple[Any, ...] | None) -> Any:
    module = load(name, text)
    if signature is None:
        return _whole(module, entry)
    try:
        kernel = _compiled(module, text, entry, signature)
    except CacheError:
        raise
    except Exception as error:
        raise internal("compiling generated code with Numba", error) from error
    kernel.disable_compile()
    return kernel


def _compiled(module: types.ModuleType, text: str, entry: str, signature: tuple[Any, ...]) -> Any:
    """Compiled the short way if the text allows it, else by all of Numba."""
    import numba

    from .machine import Unsupported, inside
    from .numba_cache import cached

    jit_helpers(module, entry)
    for first, count in re.findall(rf"{APART}_(\d+)_(\d+)", text):
        check = inside.check_apart(int(first), int(count))
        setattr(module, f"{APART}_{first}_{count}", check)
    body = inside.body(text, entry, vars(module))
    for way in (body, numba.njit(getattr(module, entry), **BY_NUMBA)):
        setattr(module, BODY, way)
        kernel: Any = cached(numba.njit(**WRAPPED))(getattr(module, CALL))
        try:
            kernel.compile(signature)
        except Unsupported:
            continue
        return kernel
    raise AssertionError


def _whole(module: types.ModuleType, entry: str) -> Any:
    import numba

    from .numba_cache import cached

    jit_helpers(module, entry)
    return cached(numba.njit(**BY_NUMBA))(getattr(module, entry))


def module_name(lowered: str, signature: str) -> str:
    """The name of a kernel's module, which says all that its machine code depends on."""
    data = lowered.encode()
    whose = products.choice() if "rt.gemm(" in lowered else ""
    key = cache.digest(cache.platform_key(), _spelled(BY_NUMBA), signature, whose, data)
    return f"{PREFIX}{key}"


def _spelled(options: dict[str, Any]) -> str:
    return str(sorted((k, sorted(v) if k == "fastmath" else v) for k, v in options.items()))


def load(name: str, text: str) -> types.ModuleType:
    """The module of a kernel.  Numba finds it by name when it loads machine code."""
    module = types.ModuleType(name)
    file = f"<{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    sys.modules[name] = module
    exec(compile(text, file, "exec"), vars(module))
    return module


def jit_helpers(module: types.ModuleType, entry: str) -> None:
    """Compiles the functions the entry calls as part of it: only the entry is cached."""
    import numba

    for name, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType) and name not in (entry, CALL):
            if value.__module__ == module.__name__:
                setattr(module, name, numba.njit(value, **BY_NUMBA))


def quieten() -> None:
    """Numba's advice on performance is for people who write the code it compiles."""
    from numba.core.errors import NumbaWarning

    warnings.filterwarnings("ignore", category=NumbaWarning, module=rf".*{PREFIX}")
