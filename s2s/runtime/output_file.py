"""Atomic writing of a file that the user named.

A regular file is written under a temporary name in the same directory and renamed when it is
complete: after an error, the old file is unchanged.  A symbolic link is followed.  A pipe or device
is written to, not replaced.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def write(path: str | Path, data: bytes) -> None:
    with writing(path) as file:
        file.write(data)


@contextlib.contextmanager
def writing(path: str | Path) -> Iterator[BinaryIO]:
    """A file object.  The data written to it becomes the content of the file when the block ends
    without an error."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        status = None
    if _is_stream(path, status):
        with open(path, "wb") as stream:  # a directory raises IsADirectoryError
            content = io.BytesIO()  # the caller may seek, which a pipe does not allow
            yield content
            stream.write(content.getbuffer())
        return
    target = _destination(path)
    name = target.with_name(f".{uuid.uuid4().hex}.new")
    try:
        with open(name, "xb") as file:
            if status is not None:  # keep the permissions
                os.chmod(name, stat.S_IMODE(status.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _is_stream(path: str | Path, status: os.stat_result | None) -> bool:
    """True if a path names something other than a regular file, or an open file descriptor."""
    if os.path.abspath(path).startswith(("/dev/fd/", "/dev/std", "/proc/")):
        return True
    return status is not None and not stat.S_ISREG(status.st_mode)


def _destination(path: str | Path) -> Path:
    """The file that a path leads to, with symbolic links resolved."""
    path = Path(path)
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _sync_folder(folder: Path) -> None:
    """Sync the directory, so that the rename survives a power failure, where the system supports
    it."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError:  # some file systems do not support it; the file itself is complete
            pass
        finally:
            os.close(handle)
