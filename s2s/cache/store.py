"""The on-disk cache: the directory of compiled code, and the files in it.

The files are executed, so everything is checked before use: the directory and each file belong to
this user or to root, and no other user can write to them; each file carries a seal, a digest of its
name and content.  The name of a file is a hash of everything its content depends on.  A file is
written under a temporary name, renamed atomically, and never changed afterwards; so any number of
processes can share the cache, and a killed process leaves no partial entry.

A directory is used only if it contains the s2s marker, which is created in an empty directory.  In
a directory with other files, a subdirectory is used.  A read-only directory is used as it is.  If
no directory can be created, s2s works without a persistent cache.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import re
import stat
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from ..errors import CacheError

MARKER = ".s2s-cache"  # the file that marks a cache directory
SUBDIRECTORY = "s2s-cache"  # used in a directory that contains other files
ABOUT = "This directory holds code compiled by s2s. `s2s cache clear` empties it.\n"
# The prefixes of entry names.
KINDS = ("cuda", "kernel", "numba", "parsed", "runtime", "sources", "specialisation")
_ENTRY = re.compile(rf"(?:{'|'.join(KINDS)})_[0-9a-f]{{32}}")
_TEMPORARY = re.compile(rf"\.new-({_ENTRY.pattern})-\w+")
_SEAL_LENGTH = 32  # characters of a digest


def directory() -> Path:
    """The cache directory: `S2S_CACHE_DIR`, or `s2s` in the user's cache directory; a temporary
    one if that cannot be created.  Raises CacheError if `S2S_CACHE_DIR` is not safe to use."""
    chosen = os.environ.get("S2S_CACHE_DIR")
    try:
        path = Path(chosen).expanduser().absolute() if chosen else user_directory()
        if _holds_other_files(path):
            path /= SUBDIRECTORY
        trouble = prepare(path)
    except (OSError, RuntimeError) as error:  # read-only or full, or the user has no home
        return temporary_directory(str(error))
    if trouble and chosen:
        raise CacheError(
            f"the cache directory {path} cannot be used: {trouble}",
            advice="point S2S_CACHE_DIR to a directory that only you can write to",
        )
    return temporary_directory(f"{path}: {trouble}") if trouble else path


def user_directory() -> Path:
    """The platform's directory for caches; RuntimeError if the user has no home directory."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "s2s" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "s2s"
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "s2s"


# Why this process has a temporary directory, by its path.
temporary: dict[Path, str] = {}


@functools.cache
def temporary_directory(trouble: str) -> Path:
    """A private directory for this process.  If that cannot be created either, a path at which
    nothing can be read or written."""
    import atexit
    import shutil

    warnings.warn(f"s2s compiles without a persistent cache ({trouble})", stacklevel=3)
    try:
        path = Path(tempfile.mkdtemp(prefix="s2s-"))
        _mark(path)
    except OSError:
        path = Path(os.devnull) / "s2s"
    temporary[path] = trouble
    owner = os.getpid()
    # A forked child shares the directory and must not delete it.
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(path, ignore_errors=True))
    return path


def prepare(path: Path) -> str:
    """Create and mark the directory if it is missing or empty.  Returns the reason why it must not
    be used, or an empty string; raises OSError if it cannot be created or read."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        return "it is not a directory"
    trouble = _safety_problem(path.stat())
    if not trouble and not (path / MARKER).exists():
        _mark(path)
    return trouble


def _safety_problem(status: os.stat_result) -> str:
    """The reason why a file or directory is not safe to use: another user could have written it.
    Root can write anywhere, so files of root, such as a cache in a container image, are
    accepted."""
    if os.name == "posix":
        if status.st_uid not in (os.geteuid(), 0):
            return "it belongs to another user"
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return "others can write to it"
    return ""


def _holds_other_files(path: Path) -> bool:
    """True if a directory is not empty and has no marker.  The marker is the first file written;
    the test for it comes after the listing, so a directory that another process is just creating is
    recognised."""
    try:
        with os.scandir(path) as found:
            empty = next(found, None) is None
    except OSError:
        return False
    return not empty and not (path / MARKER).exists()


def _mark(path: Path) -> None:
    try:
        file = open(path / MARKER, "x", encoding="utf-8")
    except FileExistsError:  # another process was faster
        return
    with contextlib.suppress(OSError), file:  # on a full disk, the name is sufficient
        file.write(ABOUT)


# ---------------------------------------------------------------- entries


def write_entry(path: Path, value: Any) -> None:
    """Write a value with its seal.  No effect in a read-only directory."""
    if not os.access(path.parent, os.W_OK):
        return
    data = pickle.dumps(value, protocol=4)
    try:
        _write(path, _seal(path.name) + _seal(path.name, data) + data)
    except OSError as error:  # for example a full disk: a failure of the cache must not be an error
        warnings.warn(f"s2s cannot cache compiled code ({error})", stacklevel=2)


def read_entry(path: Path) -> Any:
    """A stored value; None if there is none, it was damaged or renamed, another user could have
    written it, or a class it refers to no longer exists."""
    content = _read_entry(path, -1)
    if content is None or not content.startswith(_seal(path.name)):
        return None
    seal, data = content[_SEAL_LENGTH : 2 * _SEAL_LENGTH], content[2 * _SEAL_LENGTH :]
    if seal != _seal(path.name, data):
        return None
    try:
        return pickle.loads(data)
    except Exception:  # a class it refers to is gone
        return None


def is_ours(path: Path) -> bool:
    """True if s2s wrote a file: its name is that of a complete or temporary entry, and its content
    begins with the seal of that name.  A killed process may leave an empty temporary file."""
    unfinished = _TEMPORARY.fullmatch(path.name)
    name = unfinished[1] if unfinished else path.name
    if not _ENTRY.fullmatch(name):
        return False
    content = _read_entry(path, _SEAL_LENGTH)
    return content == _seal(name) or (content == b"" and unfinished is not None)


def _seal(name: str, *data: bytes) -> bytes:
    return digest("s2s cache entry", name, *data).encode()


def _write(path: Path, data: bytes) -> None:
    """Write a file atomically: to a temporary name, then rename."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".new-{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


# Do not follow symbolic links, and do not block on a pipe.
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_OPEN |= getattr(os, "O_BINARY", 0)


def _read_entry(path: Path, size: int) -> bytes | None:
    """The first bytes of a regular file, or all if `size` is -1; None if another user could have
    written it.  The check is on the open file descriptor, so replacing the file has no effect."""
    try:
        with open(os.open(path, _OPEN), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or _safety_problem(status):
                return None
            return file.read(size)
    except OSError:
        return None


def read(path: Path) -> bytes | None:
    """The content of a file, or None if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def digest(*parts: str | bytes) -> str:
    """A hash in which no two lists of parts collide by concatenation."""
    h = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        h.update(len(data).to_bytes(8, "little"))
        h.update(data)
    return h.hexdigest()[:32]
