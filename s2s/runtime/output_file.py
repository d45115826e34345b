"""Write a file that the user named.

A plain file is written beside its place and moved there when it is complete: whatever happens in
between, the old file stays.  A link is followed.  A pipe or device is written to, not replaced.
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
    """A file object; what is written to it is the file's content once the block is left without
    an error."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        status = None
    if _is_stream(path, status):
        with open(path, "wb") as stream:  # a directory raises IsADirectoryError
            content = io.BytesIO()  # one can go back in a file, but not in a pipe
            yield content
            stream.write(content.getbuffer())
        return
    target = _destination(path)
    name = target.with_name(f".{uuid.uuid4().hex}.new")
    try:
        with open(name, "xb") as file:
            if status is not None:  # whoever may read it, still may
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
    """Whether a path names something that is no plain file, or a file that a process has open."""
    if os.path.abspath(path).startswith(("/dev/fd/", "/dev/std", "/proc/")):
        return True
    return status is not None and not stat.S_ISREG(status.st_mode)


def _destination(path: str | Path) -> Path:
    """The file that a path leads to, by way of any links."""
    path = Path(path)
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _sync_folder(folder: Path) -> None:
    """The new name, too, outlasts a loss of power, where the system can promise that."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError:  # some file systems cannot; the file itself is complete
            pass
        finally:
            os.close(handle)
