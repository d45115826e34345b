"""`build`: compile functions and write the files of a library."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import kernels
from .._version import __version__
from ..codegen.gemm import gemm_call
from ..codegen.gemm_library import gemm_dispatch
from ..errors import BuildError, S2STypeError, UnsupportedError
from ..runtime.output_file import write as write_file
from ..runtime.versions import require_numba
from ..transforms.ir.quote import file_name
from . import blas as external
from . import c_names, header, link, python_loader, unsupported_calls, workspace_plan
from . import object_file as target
from .c_kernel import Kernel
from .export_spec import Export, Item, describe
from .library_module import C_LIBRARY_SYMBOLS, Library
from .library_state import Slot, State
from .type_signature import Signature, parse_signature


@dataclass
class Built:
    """The files of a library by kind, and the workspace size of each function in bytes.  The size
    is None if it depends on sizes at run time."""

    name: str
    files: dict[str, Path]
    functions: list[str] = field(default_factory=list)
    workspace: dict[str, int | None] = field(default_factory=dict)
    state_bytes: int = 0

    def load(self) -> Any:
        """Load the generated Python loader module of the library."""
        if "so" not in self.files:
            raise BuildError(f"{self.name} was built without a shared library, by link=False")
        # The dynamic loader caches libraries by path.  A fresh copy avoids a stale library.
        with tempfile.TemporaryDirectory() as folder:
            for kind in ("py", "so"):
                shutil.copy(self.files[kind], folder)
            path = Path(folder) / self.files["py"].name
            spec = importlib.util.spec_from_file_location(self.name, path)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        return module

    def __str__(self) -> str:
        lines = [f"{kind:8}{path}" for kind, path in self.files.items()]
        for name in self.functions:
            size = self.workspace[name]
            lines.append(f"{name}: workspace {'by size' if size is None else f'{size} bytes'}")
        if self.state_bytes:
            lines.append(f"state {self.state_bytes} bytes")
        return "\n".join(lines)


def build(
    function: Any,
    signature: Any = None,
    out: str | Path = "build/step",
    *,
    cpu: str | None = None,
    target: str | None = None,
    blas: str | None = None,
    max_trips: int | None = None,
    link: bool = True,
) -> Built:
    """Compile a function, a gradient or a training step into a library for C.

    function: an s2s function, or a dict of several: `{"step": (step, signature), ...}`
    signature: `"float32[n,784], int64[n]"`, or example arguments; a list for several signatures
    out: folder and name; `build/step` makes `libstep.so`, `libstep.a`, `step.o`, `step.h`,
        `step.py`, `step_adjoint.py`, `step.pc` and `step.cmake` in `build`
    cpu, target: the CPU model and the target triple; by default those of the host
    blas: the name or the path of a library that defines `cblas_sgemm` and `cblas_dgemm`; by default
        matrix products are compiled into the library
    max_trips: an upper bound on the trip count of loops whose trip count is known only at run time;
        with it, the workspace size query includes what these loops save
    link: False skips the shared library, the only file that needs a C compiler
    """
    require_numba()
    path = Path(out)
    name = c_names.check_symbol(path.name, "library")
    made = _Build(name, path.parent, cpu, target, blas, max_trips, link)
    return made.run(_wanted(function, signature, name))


def _wanted(function: Any, signature: Any, name: str) -> dict[str, tuple[Any, list[Signature]]]:
    """The functions to compile by name, each with its parsed signatures."""
    if isinstance(function, Mapping):
        if signature is not None:
            raise S2STypeError(
                "give the signatures with the functions: {name: (function, signature)}"
            )
        pairs = {c_names.check_symbol(str(k), "function"): v for k, v in function.items()}
    else:
        pairs = {name: (function, signature)}
    found = {}
    for key, pair in pairs.items():
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise S2STypeError(f"{key} must be a pair of a function and a signature")
        one, given = pair
        several = given if isinstance(given, list) else [given]
        found[key] = one, [parse_signature(() if g is None else g) for g in several]
    return found


class _Build:
    """One build: the options, the target machine and the matrix-product routines."""

    def __init__(
        self, name: str, folder: Path, cpu: str | None, triple: str | None, blas: str | None,
        trips: int | None, linked: bool,
    ) -> None:  # fmt: skip
        self.trips = trips
        self.name, self.folder, self.linked = name, folder, linked
        self.machine = target.find(triple, cpu)
        self.libraries = [] if blas is None else [link.library(blas)]
        vectors = self.machine.vector_bytes
        large = gemm_dispatch.builtin(vectors)
        if self.libraries:
            large = external.cblas_gemm(large)
        self.products = gemm_call.Library(vectors, gemm_dispatch.dispatching(large))

    def run(self, wanted: dict[str, tuple[Any, list[Signature]]]) -> Built:
        state = State()
        groups: dict[str, list[Export]] = {}
        for key, (function, signatures) in wanted.items():
            base = key if key == self.name else f"{self.name}_{key}"
            groups[key] = [
                describe(base if k == 0 else f"{base}_{k + 1}", function, given, state)
                for k, given in enumerate(signatures)
            ]
        exports = [e for group in groups.values() for e in group]
        library = Library(self.name, exports, state, self.machine, self.trips)
        whole = library.build(self.products)
        self._check_undefined_symbols(whole, library)
        workspaces = {e.name: _fixed_workspace(e, library.kernels[e.name]) for e in exports}
        grows = {e.name for e in exports if library.kernels[e.name].memory.heap}
        origin = ", ".join(dict.fromkeys(_origin(e) for e in exports))
        files = {
            "o": (f"{self.name}.o", self.machine.machine.emit_object(whole)),
            "h": (
                f"{self.name}.h",
                header.text(self.name, origin, exports, state, library.messages, workspaces, grows),
            ),
            "py": (f"{self.name}.py", python_loader.text(self.name, origin, groups, state, grows)),
            "adjoint": (f"{self.name}_adjoint.py", _sources(exports)),
            "pc": (f"{self.name}.pc", header.pkg_config(self.name, __version__, self.libraries)),
            "cmake": (f"{self.name}.cmake", header.cmake(self.name, self.libraries)),
        }
        files["a"] = f"lib{self.name}.a", link.archive(f"{self.name}.o", files["o"][1])
        paths = self._write(files)
        if self.linked:
            paths["so"] = self._link(paths["o"])
        return Built(self.name, paths, [e.name for e in exports], workspaces,
                     state.bytes if state.slots else 0)  # fmt: skip

    def _write(self, files: dict[str, tuple[str, str | bytes]]) -> dict[str, Path]:
        self.folder.mkdir(parents=True, exist_ok=True)
        paths = {}
        for kind, (name, data) in files.items():
            paths[kind] = self.folder / name
            write_file(paths[kind], data.encode() if isinstance(data, str) else data)
        return paths

    def _link(self, objects: Path) -> Path:
        """Link the shared library in a temporary folder, then write it to its path.  A linker
        replaces an existing output file, even if that is a symbolic link."""
        path = self.folder / f"lib{self.name}.so"
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / path.name
            link.shared(objects, made, self.machine, self.libraries)
            write_file(path, made.read_bytes())
        return path

    def _check_undefined_symbols(self, whole: Any, library: Library) -> None:
        """Raise UnsupportedError if the module has undefined symbols besides those of the C library
        and the chosen BLAS."""
        allowed = C_LIBRARY_SYMBOLS | ({"cblas_sgemm", "cblas_dgemm"} if self.libraries else set())
        foreign = [n for n in target.undefined_symbols(whole) if n not in allowed]
        if foreign and library.numba_calls:
            raise unsupported_calls.error(*library.numba_calls[0])
        if foreign:
            some = ", ".join(foreign[:3]) + ", …" * (len(foreign) > 3)
            raise UnsupportedError(
                f"{self.name} needs {some} at run time, which is not available ahead of time",
                advice="compute that part outside, or write it out in NumPy",
            )


def _origin(export: Export) -> str:
    """`file.py:line qualname` of the Python function of an export."""
    function = export.function.python
    code = getattr(getattr(function, "func", function), "__code__", None)
    where = f"{file_name(code.co_filename)}:{code.co_firstlineno} " if code else ""
    return f"{where}{export.function.__qualname__}"


def _sources(exports: list[Export]) -> str:
    """The readable sources of the exported functions, concatenated without duplicates."""
    return "\n\n".join(dict.fromkeys(e.entry.compiled.source for e in exports))


def _fixed_workspace(export: Export, kernel: Kernel) -> int | None:
    """The workspace size in bytes if it is a compile-time constant, else None.

    It is constant if all sizes are fixed, no argument is a scalar (sizes may depend on it), and the
    heap is unused or bounded by `max_trips`."""
    memory = kernel.memory
    unbounded_heap = memory.heap and not memory.growth
    if export.sizes or unbounded_heap or any(i.axes is None for i in export.arguments):
        return None
    assert memory.sizes is not None
    module = ast.fix_missing_locations(ast.Module([memory.sizes], []))
    space: dict[str, Any] = {"np": np, "rt": kernels}
    exec(compile(module, "<s2s sizes>", "exec"), space)
    values = []
    for parameter in export.parameters:
        source = parameter.source
        if isinstance(source, Slot):
            values.append(np.broadcast_to(np.asarray(source.initial), source.shape or ()))
        elif isinstance(source, Item):
            zero = np.zeros((), source.dtype)
            values.append(np.broadcast_to(zero, source.axes))  # type: ignore[arg-type]
        else:
            values.append(source)
    copies = sum(
        workspace_plan.align_up(values[i].nbytes)
        for i in {id(export.parameters[i].source): i for i in kernel.backed_up}.values()
    )
    return copies + workspace_plan.workspace_bytes(
        memory, [int(n) for n in space["sizes"](*values)]
    )
