"""Static archives, written here, and shared libraries, linked by the system's C compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from ..errors import BuildError, S2SValueError
from .object_file import Target


def archive(member: str, data: bytes) -> bytes:
    """An `ar` archive of one object file, with the symbol index that linkers require."""
    symbols = global_symbols(data)
    names = b"".join(s.encode() + b"\0" for s in symbols)
    title = f"{member}/\n".encode()
    index_size = 4 + 4 * len(symbols) + len(names)
    start = 8 + _even(60 + index_size) + _even(60 + len(title))
    index = len(symbols).to_bytes(4, "big") + start.to_bytes(4, "big") * len(symbols) + names
    parts = [b"!<arch>\n"]
    for name, content in (("/", index), ("//", title), ("/0", data)):
        parts += [_header(name, len(content)), content, b"\n" * (len(content) % 2)]
    return b"".join(parts)


def _header(name: str, size: int) -> bytes:
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{'644':<8}{size:<10}`\n".encode()


def _even(n: int) -> int:
    return n + n % 2


def global_symbols(data: bytes) -> list[str]:
    """The global and weak symbols that a 64-bit ELF object file defines; [] for other formats."""
    if data[:4] != b"\x7fELF" or data[4] != 2:
        return []

    def number(at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], "little")

    table, width, count = number(40, 8), number(58, 2), number(60, 2)
    found = []
    for k in range(count):
        at = table + k * width
        if number(at + 4, 4) != 2:  # the symbol table
            continue
        offset, size, link = number(at + 24, 8), number(at + 32, 8), number(at + 40, 4)
        strings = number(table + link * width + 24, 8)
        for place in range(offset, offset + size, 24):
            name, info, section = number(place, 4), data[place + 4], number(place + 6, 2)
            if info >> 4 in (1, 2) and section != 0:
                end = data.index(b"\0", strings + name)
                found.append(data[strings + name : end].decode())
    return found


def library(given: str) -> str:
    """Check the `blas` option; return a library name or an absolute path.  It becomes a linker
    argument and part of build-system files, so it must not look like an option or need quotes."""
    path = os.path.abspath(given) if "/" in given and "\0" not in given else given
    if not re.fullmatch(r"[\w./+~-]+", path, re.ASCII) or given.startswith(("-", "@")):
        raise S2SValueError(
            f"blas={given!r} is neither the name nor the path of a library",
            advice='write "openblas", or the path of a file, of letters, digits and ./+~-_',
        )
    if "/" in path and not os.path.exists(path):
        raise S2SValueError(f"blas={given!r}: there is no such file")
    return path


def flag(library: str) -> str:
    """The linker argument for a library: its path, or `-l` and its name."""
    return library if "/" in library else f"-l{library}"


def compiler(target: Target) -> list[str] | None:
    """The compiler command that links for a target, or None if none is installed."""
    if target.is_native:
        chosen = os.environ.get("CC", "cc").split()
        return chosen if shutil.which(chosen[0]) else None
    name = f"{target.triple}-gcc"
    if shutil.which(name):
        return [name]
    if shutil.which("zig"):
        return ["zig", "cc", "-target", target.triple]
    return None


def shared(objects: Path, out: Path, target: Target, libraries: list[str]) -> None:
    """Link a shared library that depends only on the C library and on `libraries`."""
    command = compiler(target)
    if command is None:
        raise BuildError(
            f"there is no C compiler to link {out.name} for {target.triple}",
            advice="install one (cc, or <target>-gcc), or build with link=False: the object file, "
            "the archive and the header are made without it",
        )
    options = ["-shared", "-fPIC", "-Wl,-z,defs", "-Wl,-z,noexecstack", "-Wl,--build-id=none"]
    options += ["-Wl,-s", f"-Wl,-soname,{out.name}"]
    tail = [*map(flag, libraries), "-lm"]
    done = subprocess.run(
        # An absolute path cannot be mistaken for an option.
        [*command, *options, "-o", os.path.abspath(out), os.path.abspath(objects), *tail],
        capture_output=True,
        text=True,
        errors="backslashreplace",
    )
    if done.returncode:
        raise BuildError(
            f"linking {out.name} failed: {done.stderr.strip()[-2000:]}",
            advice="see which library is missing; it is named with blas=",
        )
