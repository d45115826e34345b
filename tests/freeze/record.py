"""Hashes of the source and object code that the compilation of a program produces."""

from __future__ import annotations

import hashlib
import os
import re
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from .programs import programs

# A location in the library's own files: their names and line numbers may change.
_PLACE = re.compile(r"\b\w+\.py:\d+")
_CALL_CHAIN = re.compile(r"^(\s*# )\w+\.py:\d+.*$", re.MULTILINE)
_SAVED = re.compile(r"_L\d+")  # the name of a saved value ends in its line number
_IMPORT = re.compile(r"^from s2s\.[\w.]+ import", re.MULTILINE)
# Sections of object code that hold instructions and numeric constants.
_CODE = re.compile(r"\.l?text|\.l?rodata\.cst")


def normalised(text: str) -> str:
    """Emitted text without the names and lines of files."""
    text = _IMPORT.sub("from s2s import", _CALL_CHAIN.sub(r"\1place", text))
    return _SAVED.sub("_L", _PLACE.sub("place", text))


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def code_sections(data: bytes) -> bytes:
    """The instructions and numeric constants of a 64-bit ELF file, without symbol names,
    relocations and strings."""
    if data[:5] != b"\x7fELF\x02":
        raise ValueError("object code that is no ELF file of 64 bits")
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count, names_index = struct.unpack_from("<HHH", data, 58)

    def section(i: int) -> tuple[int, bytes]:
        name, _, _, _, offset, length = struct.unpack_from("<IIQQQQ", data, table + i * size)
        return name, data[offset : offset + length]

    _, names = section(names_index)
    found = []
    for i in range(1, count):
        at, body = section(i)
        name = names[at : names.index(b"\0", at)].decode()
        if _CODE.match(name):
            found.append(name.encode() + b"\n" + body)
    return b"".join(sorted(found))


class Recorded:
    """The texts and the object code recorded so far."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.objects: list[bytes] = []

    def text_hash(self) -> str:
        return digest(*(normalised(t).encode() for t in sorted(self.texts)))

    def object_hash(self) -> str:
        return digest(*sorted(map(code_sections, self.objects)))


@contextmanager
def recording() -> Iterator[Recorded]:
    """Context manager that records all compilations inside its block."""
    from s2s.codegen import llvm_passes
    from s2s.transforms import pipeline

    recorded = Recorded()
    compile_request, object_code = pipeline.compile_request, llvm_passes.object_code

    def compiling(request: Any) -> Any:
        compiled = compile_request(request)
        recorded.texts += [compiled.source, compiled.lowered]
        return compiled

    def writing(*args: Any, **options: Any) -> bytes:
        recorded.objects.append(made := object_code(*args, **options))
        return made

    with mock.patch.object(pipeline, "compile_request", compiling):
        with mock.patch.object(llvm_passes, "object_code", writing):
            yield recorded


def record(names: list[str], objects: bool) -> dict[str, str]:
    """The hash of each program.  Corpus cases run under CPython unless object code is requested,
    because that is faster than compiling them."""
    table, found = programs(), {}
    for name in names:
        plain = name.startswith("corpus/") and not objects
        with tempfile.TemporaryDirectory() as folder, recording() as recorded:
            backend = "python" if plain else "native"
            chosen = {"S2S_CACHE_DIR": folder, "S2S_BACKEND": backend}
            try:
                with mock.patch.dict(os.environ, chosen):
                    table[name]()
            except Exception as error:  # expected for a case that raises
                recorded.texts.append(type(error).__name__)
        found[name] = recorded.object_hash() if objects else recorded.text_hash()
    return found
