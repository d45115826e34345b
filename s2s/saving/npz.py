"""Read `.npz` files: zip archives of arrays in NumPy's format.

The file is untrusted input.  Nothing in it is executed or written to disk, and reading needs no
more memory than `LARGEST_RATIO` times the size of the file.  `np.load` guarantees neither: it
allocates the memory that a header states, and evaluates the header as an expression.
"""

from __future__ import annotations

import math
import re
import struct
import zipfile
import zlib
from typing import Any, BinaryIO

import numpy as np

LARGEST_RATIO = 100  # maximum compression ratio; zeros reach 1000, arrays of weights hardly 2
_ALWAYS_ALLOWED_BYTES = 2**20  # bytes that an archive may always expand to
_HDF5 = b"\x89HDF\r\n\x1a\n"
_MAGIC = b"\x93NUMPY"
_LENGTH_FORMAT = {1: "<H", 2: "<I", 3: "<I"}  # encoding of the header length, by format version
_HEADER = re.compile(
    r"\{\s*'descr':\s*'([<>|=]?)([a-zA-Z]\d{1,9})',\s*'fortran_order':\s*(True|False),"
    r"\s*'shape':\s*\(([\d, ]*)\),?\s*\}\s*"
)
_NUMERIC_DTYPES = {
    "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16",
}  # fmt: skip
_MAX_RANK = 64
_MAX_HEADER_BYTES = 10_000
_CORRUPT = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError,
            UnicodeDecodeError, struct.error, LookupError)  # fmt: skip


def load(file: BinaryIO) -> dict[str, Any]:
    """The arrays of a file by name; ValueError if it is malformed."""
    start = file.read(len(_HDF5))
    if start == _HDF5:
        raise ValueError("this is an HDF5 file, which s2s does not read; use .npz or .safetensors")
    size = file.seek(0, 2)
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if sum(m.file_size for m in members) > LARGEST_RATIO * size + _ALWAYS_ALLOWED_BYTES:
                raise ValueError(f"it expands to more than {LARGEST_RATIO} times its size")
            arrays: dict[str, Any] = {}
            for member in members:
                name = member.filename.removesuffix(".npy")
                if name == member.filename:
                    raise ValueError(f"{name!r} is in it, which is no array")
                if name in arrays:
                    raise ValueError(f"{name!r} is in it twice")
                arrays[name] = _array(name, archive.read(member))
            return arrays
    except _CORRUPT as error:
        raise ValueError(f"this is no .npz file, or it is damaged: {error}") from error


def _array(name: str, content: bytes) -> Any:
    dtype, shape, order, start = _header(name, content)
    data = memoryview(content)[start:]
    if len(data) != dtype.itemsize * math.prod(shape):
        raise ValueError(f"{name!r} is {dtype} of shape {shape}, and has {len(data)} bytes")
    if dtype.kind == "b" and np.any(np.frombuffer(data, "u1") > 1):
        raise ValueError(f"{name!r} is of dtype bool and has a byte that is neither 0 nor 1")
    if not dtype.itemsize:  # strings of length 0
        return np.zeros(shape, dtype)
    flat = np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))
    return flat.reshape(shape, order=order)


def _header(name: str, content: bytes) -> tuple[np.dtype[Any], tuple[int, ...], Any, int]:
    """The dtype, shape and memory order of an array, and the offset of its elements."""
    version = content[len(_MAGIC)] if len(content) > 12 and content.startswith(_MAGIC) else 0
    if version not in _LENGTH_FORMAT:
        raise ValueError(f"{name!r} is no array in NumPy's format")
    begin = 8 + struct.calcsize(_LENGTH_FORMAT[version])
    (length,) = struct.unpack_from(_LENGTH_FORMAT[version], content, 8)
    text = content[begin : begin + length].decode("latin-1")
    match = _HEADER.fullmatch(text) if length <= _MAX_HEADER_BYTES else None
    if match is None:
        raise ValueError(f"{name!r} is no array of numbers: its header is {text[:80]!r}")
    order, kind, fortran, sizes = match.groups()
    if kind not in _NUMERIC_DTYPES and kind[0] not in "SU":
        raise ValueError(f"{name!r} is of dtype {kind}, and no array of numbers")
    shape = tuple(int(size) for size in re.findall(r"\d{1,19}", sizes))
    if len(shape) > _MAX_RANK or math.prod(max(size, 1) for size in shape) >= 2**63:
        raise ValueError(f"{name!r} of shape {shape} is too large")
    return np.dtype(order + kind), shape, "F" if fortran == "True" else "C", begin + length
