"""Where compiled code is kept between processes.

A directory that only its owner can write to, because what lies there is executed.  Files
are named by a hash of their content and all it depends on, written to a temporary name and
moved into place, and never changed afterwards; so any number of processes can share them.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import platform
import stat
import sys
import tempfile
import warnings
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from .errors import CacheError
from .transforms import special_functions


def directory() -> Path:
    """The cache directory: `S2S_CACHE_DIR`, or `s2s` in the user's cache directory."""
    chosen = os.environ.get("S2S_CACHE_DIR")
    if chosen:
        path = Path(chosen).expanduser().absolute()
        trouble = prepare(path)
        if trouble:
            raise CacheError(
                f"the cache directory {path} cannot be used: {trouble}",
                advice="point S2S_CACHE_DIR to a directory that only you can write to",
            )
        return path
    path = user_directory()
    trouble = prepare(path)
    return temporary_directory(f"{path}: {trouble}") if trouble else path


def user_directory() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "s2s" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "s2s"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "s2s"


@functools.cache
def temporary_directory(trouble: str) -> Path:
    """A private directory for this process, when the usual one is out of order."""
    import atexit
    import shutil

    warnings.warn(f"s2s compiles without a lasting cache ({trouble})", stacklevel=2)
    path = tempfile.mkdtemp(prefix="s2s-")
    owner = os.getpid()
    # A forked child shares the directory and must not take it away from its parent.
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(path, ignore_errors=True))
    return Path(path)


def prepare(path: Path) -> str:
    """Makes the directory if need be; what is wrong with it, or an empty text."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
    except OSError as error:
        return str(error)
    if not stat.S_ISDIR(status.st_mode):
        return "it is not a directory"
    if not os.access(path, os.W_OK | os.X_OK):
        return "it is not writable"
    if os.name == "posix":
        if status.st_uid != os.geteuid():
            return "it belongs to another user"
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return "others can write to it"
    return ""


def write(path: Path, data: bytes) -> None:
    """Puts a whole file in place at once."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def keep(path: Path, value: Any) -> None:
    """Writes a value under a seal, by which one that was damaged since is known."""
    data = pickle.dumps(value, protocol=4)
    try:
        write(path, digest(data).encode() + data)
    except OSError as error:  # the disk is full, for instance; a cache is never worth an error
        warnings.warn(f"s2s cannot keep what it compiled ({error})", stacklevel=2)


def fetch(path: Path) -> Any:
    """A value that was kept, or None if there is none, or what it is made of is gone."""
    data = read(path) or b""
    seal, data = data[:32], data[32:]
    if seal != digest(data).encode():
        return None
    try:
        return pickle.loads(data)
    except Exception:  # a class it names
        return None


def digest(*parts: str | bytes) -> str:
    """A hash in which no two lists of parts collide by concatenation."""
    h = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        h.update(len(data).to_bytes(8, "little"))
        h.update(data)
    return h.hexdigest()[:32]


@functools.cache
def platform_key() -> str:
    """Everything besides the text of a kernel that its machine code depends on."""
    import llvmlite.binding as llvm
    import numpy as np

    ours = Path(__file__).parent
    folder = Path(special_functions.__file__).parent
    code = [*ours.glob("kernels*.py"), *ours.glob("machine/**/*.py")]
    code += [ours / "doors.py", ours / "linking.py", ours / "memory.py"]
    files = [*sorted(code), folder / "special_functions.py", folder / "helpers_linalg.py"]
    kernels = [read(path) or b"" for path in files]
    # Numba compiles for the named target where these are set, and for this machine otherwise.
    cpu = os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES")
    return digest(
        platform.python_implementation(),
        platform.python_version(),
        platform.machine(),
        sys.platform,
        version("numba"),
        version("llvmlite"),
        np.__version__,
        cpu,
        llvm.get_host_cpu_features().flatten() if features is None else features,
        *kernels,
    )


def version(package: str) -> bytes:
    """What tells versions of a package apart; importing it may take long."""
    found = PathFinder.find_spec(package)  # also for what is in the middle of being imported
    if found is None or found.origin is None:
        return b""
    files = (Path(found.origin).with_name(name) for name in ("_version.py", "version.py"))
    return next((data for data in map(read, files) if data), found.origin.encode())
