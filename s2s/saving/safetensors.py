"""The safetensors format: the length of the header, the header (JSON: dtype, shape and offsets of
each array), the bytes of the arrays.  https://huggingface.co/docs/safetensors

The file is untrusted input.  The reader accepts only what the format allows: each byte after the
header belongs to exactly one array, and each array has the size of its shape and dtype.
"""

from __future__ import annotations

import itertools
import json
import math
import struct
from typing import Any, NoReturn

import numpy as np

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1", "BOOL": "|b1",
}  # fmt: skip
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
METADATA = "__metadata__"
FIELDS = {"dtype", "shape", "data_offsets"}
LARGEST_HEADER = 100_000_000  # bytes; the limit of the safetensors library
LARGEST_SIZE = 2**63 - 1
MAX_RANK = 64  # maximum rank of NumPy arrays


def dumps(arrays: dict[str, Any]) -> bytes:
    """The contents of a file with the given arrays."""
    header: dict[str, Any] = {}
    parts: list[bytes] = []
    end = 0
    for name, value in arrays.items():
        array = np.asarray(value)
        if array.dtype.newbyteorder("<") not in NAMES:
            raise ValueError(f"{name} is of dtype {array.dtype}, which safetensors cannot hold")
        if name == METADATA or not _is_text(name):
            raise ValueError(f"{name!r} cannot be the name of an array in a safetensors file")
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        parts.append(array.tobytes())
        start, end = end, end + array.nbytes
        header[name] = {
            "dtype": NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [start, end],
        }  # fmt: skip
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that the arrays are aligned
    return b"".join([struct.pack("<Q", len(text)), text, *parts])


def loads(content: bytes) -> dict[str, Any]:
    """The arrays of a file by name; ValueError if it is malformed."""
    size = struct.unpack_from("<Q", content)[0] if len(content) >= 8 else 0
    if not 0 < size <= min(len(content) - 8, LARGEST_HEADER):
        raise ValueError("this is no safetensors file, or it is cut off")
    header = _header(content[8 : 8 + size])
    places = {name: _place(name, entry) for name, entry in header.items()}
    _check_order(places, len(content) - 8 - size)
    data = memoryview(content)[8 + size :]
    arrays = {}
    for name, (dtype, shape, (start, end)) in places.items():
        flat = np.frombuffer(data[start:end], dtype)
        if dtype.kind == "b" and np.any(flat.view("u1") > 1):
            raise ValueError(f"{name} is of dtype BOOL and has a byte that is neither 0 nor 1")
        arrays[name] = flat.reshape(shape).copy()
    return arrays


def _header(text: bytes) -> dict[str, Any]:
    """The entries of the header by name; the entries are not validated yet."""
    if not text.startswith(b"{"):
        raise ValueError("this is no safetensors file: its header is no JSON object")
    try:
        header = json.loads(
            text.decode("utf-8"),  # given bytes, json would detect other encodings
            object_pairs_hook=_without_duplicates,
            parse_int=_natural_number,
            parse_float=_refuse_number,
            parse_constant=_refuse_number,
        )
    except RecursionError:
        raise ValueError("the header of this safetensors file is nested too deeply") from None
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(
        isinstance(v, str) and _is_text(v) and _is_text(k) for k, v in metadata.items()
    ):
        raise ValueError(f"{METADATA} in the header is no object of texts")
    return header


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} is in the header twice")
    return found


def _natural_number(text: str) -> int:
    if text.startswith("-") or len(text) > 20 or int(text) > LARGEST_SIZE:
        _refuse_number(text)
    return int(text)


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(
        f"the header has the number {text[:40]}: sizes are natural numbers below 2**63"
    )


def _is_text(text: str) -> bool:
    """True if the text is encodable as UTF-8.  JSON can also express lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _place(name: str, entry: Any) -> tuple[np.dtype[Any], list[int], tuple[int, int]]:
    """The dtype and shape of an array, and the start and end offsets of its bytes."""
    if not _is_text(name) or not isinstance(entry, dict) or entry.keys() != FIELDS:
        raise ValueError(
            f"the entry of {name!r} in the header does not consist of {sorted(FIELDS)}"
        )
    label, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:
        raise ValueError(f"the shape or the offsets of {name!r} are no lists of sizes")
    if not isinstance(label, str) or label not in DTYPES:
        raise ValueError(f"{name} is of dtype {label}, which NumPy does not have")
    dtype = np.dtype(DTYPES[label])
    start, end = offsets
    sizes = itertools.accumulate(shape, int.__mul__, initial=dtype.itemsize)
    if len(shape) > MAX_RANK or any(size > LARGEST_SIZE for size in sizes):
        raise ValueError(f"{name} of shape {shape} is too large")
    if end - start != dtype.itemsize * math.prod(shape):
        raise ValueError(f"{name} of dtype {label} and shape {shape} has {end - start} bytes")
    return dtype, shape, (start, end)


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(size) is int for size in value)


def _check_order(places: dict[str, Any], size: int) -> None:
    """Raise ValueError unless each byte belongs to exactly one array: no gaps, overlaps or
    trailing bytes."""
    end = 0
    for name, (_, _, (start, stop)) in sorted(places.items(), key=lambda item: item[1][2]):
        if start != end:
            raise ValueError(f"the bytes of {name!r} begin at {start}, and the last ended at {end}")
        end = stop
    if end != size:
        raise ValueError(f"the arrays have {end} bytes in all, and the file has {size}")
