"""From the text of a kernel to machine code, by way of files in the cache.

A kernel that has a door (`s2s.doors`) is kept as object code.  Of others Numba keeps the machine
code, but only for functions of real, importable files; so the text becomes one, named by its hash.
Numba's own cache lies next to it, under a seal: what was damaged since it was written is thrown
away and compiled again.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import types
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import cache, linking, locks, products
from .doors import Door
from .errors import internal

PREFIX = "_s2s_"
OBJECTS = ("kernel_", "runtime_")  # how the names of files with object code begin

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
    path = write_source(lowered + caller, str(signature))
    if path not in _built:
        _built[path] = _build(path, entry, signature)
    return _built[path]


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


# Distinct functions and objects may lead to one and the same code.
_built: dict[Path, Any] = {}


def _build(path: Path, entry: str, signature: tuple[Any, ...] | None) -> Any:
    from numba.core.errors import NumbaError

    seals = _Seals(path)
    seals.check()
    for attempt in ("cached", "again", "without cache"):
        module = load(path)
        cached = attempt != "without cache"
        if signature is None:
            return _whole(module, entry, cached)
        try:
            kernel = _compiled(module, path, entry, signature, cached)
        except NumbaError as error:
            where = f" and the file {path}"
            raise internal("compiling generated code with Numba", error, where) from error
        except Exception as error:  # Numba lets any error out that a damaged file leads to
            if attempt == "without cache":
                raise internal("compiling generated code with Numba", error) from error
            seals.discard()
            continue
        kernel.disable_compile()
        seals.add()
        return kernel
    raise AssertionError


def _compiled(
    module: types.ModuleType, path: Path, entry: str, signature: tuple[Any, ...], cached: bool
) -> Any:
    """Compiled the short way if the text allows it, else by all of Numba."""
    import numba

    from .machine import Unsupported, inside

    text = path.read_text()
    jit_helpers(module, entry)
    for first, count in re.findall(rf"{APART}_(\d+)_(\d+)", text):
        check = inside.check_apart(int(first), int(count))
        setattr(module, f"{APART}_{first}_{count}", check)
    body = inside.body(text, entry, vars(module))
    for way in (body, numba.njit(getattr(module, entry), **BY_NUMBA)):
        setattr(module, BODY, way)
        kernel: Any = numba.njit(getattr(module, CALL), cache=cached, **WRAPPED)
        try:
            kernel.compile(signature)
        except Unsupported:
            continue
        return kernel
    raise AssertionError


def _whole(module: types.ModuleType, entry: str, cached: bool) -> Any:
    import numba

    jit_helpers(module, entry)
    return numba.njit(getattr(module, entry), cache=cached, **BY_NUMBA)


def write_source(lowered: str, signature: str) -> Path:
    """The file of a kernel, written if it is missing or damaged."""
    data = lowered.encode()
    whose = products.choice() if "rt.gemm(" in lowered else ""
    key = cache.digest(cache.platform_key(), _spelled(BY_NUMBA), signature, whose, data)
    path = cache.directory() / f"{PREFIX}{key}.py"
    if cache.read(path) != data:
        cache.write(path, data)
    return path


def _spelled(options: dict[str, Any]) -> str:
    return str(sorted((k, sorted(v) if k == "fastmath" else v) for k, v in options.items()))


def load(path: Path) -> types.ModuleType:
    """Imports a kernel's file.  Numba finds the module by name when it loads machine code."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
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


class _Seals:
    """Marks of Numba's files of one kernel that were found whole: empty files named by hash.
    Processes that write at once add marks of their own and never take each other's away."""

    def __init__(self, path: Path) -> None:
        self.folder = path.parent
        self.stem = path.stem

    def files(self) -> list[Path]:
        from numba.core import config

        folders = [self.folder / "__pycache__"]
        elsewhere = getattr(config, "CACHE_DIR", "")
        if elsewhere:
            folders = [p for p in Path(elsewhere).glob("*") if p.is_dir()]
        return sorted(f for d in folders for f in d.glob(f"{self.stem}.*.nb[ic]"))

    def mark(self, file: Path) -> Path:
        content = cache.digest(file.name, cache.read(file) or b"")
        return self.folder / f"{self.stem}.{content}.seal"

    def check(self) -> None:
        if not all(self.mark(file).exists() for file in self.files()):
            self.discard()

    def discard(self) -> None:
        for file in self.files():
            file.unlink(missing_ok=True)

    def add(self) -> None:
        for file in self.files():
            self.mark(file).touch()
