"""Keys of the code that compiles: entries of the cache depend on it as on the program itself.

A key is a hash of the text of source files, so an edit changes it, and an image in which file times
are rounded, or a second installation of the same version, does not.  Reading the files takes
milliseconds, so each hash is kept in the cache under the times and sizes of the files: a process
reads them only if those are new.
"""

from __future__ import annotations

import functools
import os
import platform
import sys
import time
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from ..transforms.runtime import special_functions
from . import store

# The folders whose source determines the machine code of a kernel.
_CODEGEN_FOLDERS = ("backends", "codegen", "kernels", "kernels_numba", "runtime")
# Two changes of a file within the resolution of its file system leave one time.  A hash is kept
# only if all files are older.
_RESOLUTION = 2_000_000_000


@functools.cache
def platform_key() -> str:
    """A hash of everything besides the source of a kernel that its machine code depends on."""
    import llvmlite.binding as llvm
    import numpy as np

    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [os.path.join(package, folder) for folder in _CODEGEN_FOLDERS]
    # Numba compiles for the CPU named by these variables, and for the host CPU otherwise.
    cpu = os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES")
    return store.digest(
        platform.python_implementation(),
        platform.python_version(),
        platform.machine(),
        sys.platform,
        version("numba"),
        version("llvmlite"),
        np.__version__,
        cpu,
        llvm.get_host_cpu_features().flatten() if features is None else features,
        source_key(*folders, os.path.dirname(special_functions.__file__)),
    )


def source_key(*folders: str) -> str:
    """A hash of the names and texts of the Python files below the folders.  Folders behind links
    are left out."""
    files = sorted(file for folder in folders for file in _python_files(folder, ""))
    stamps = [(name, s.st_mtime_ns, s.st_ctime_ns, s.st_size) for name, _, s in files]
    entry = store.directory() / f"sources_{store.digest(repr(stamps))}"
    found = store.read_entry(entry)
    if not isinstance(found, str):
        found = store.digest(*(part for name, path, _ in files for part in (name, _bytes(path))))
        if max((max(s[1:3]) for s in stamps), default=0) < time.time_ns() - _RESOLUTION:
            store.write_entry(entry, found)
    return found


def _python_files(folder: str, name: str) -> Iterator[tuple[str, str, os.stat_result]]:
    """The name, path and status of each Python file below a folder."""
    name += "/" + os.path.basename(folder)
    with os.scandir(folder) as found:
        for entry in found:
            if entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                yield from _python_files(entry.path, name)
            elif entry.name.endswith(".py"):
                yield f"{name}/{entry.name}", entry.path, entry.stat()


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def version(package: str) -> bytes:
    """Data that identifies the version of a package, without importing it, which may be slow."""
    found = PathFinder.find_spec(package)  # also works for a package that is being imported
    if found is None or found.origin is None:
        return b""
    files = (Path(found.origin).with_name(name) for name in ("_version.py", "version.py"))
    return next((data for data in map(store.read, files) if data), found.origin.encode())
