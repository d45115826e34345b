"""The safetensors format: the length of a header, the header (JSON: dtype, shape and place of each
array), the bytes of the arrays.  https://huggingface.co/docs/safetensors"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1", "BOOL": "|b1",
}  # fmt: skip
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


def dumps(arrays: dict[str, Any]) -> bytes:
    header: dict[str, Any] = {}
    parts: list[bytes] = []
    end = 0
    for name, value in arrays.items():
        array = np.asarray(value)
        if array.dtype.newbyteorder("<") not in NAMES:
            raise ValueError(f"{name} is of dtype {array.dtype}, which safetensors cannot hold")
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
    size = struct.unpack_from("<Q", content)[0] if len(content) >= 8 else 0
    if not 0 < size <= len(content) - 8:
        raise ValueError("this is no safetensors file, or it is cut off")
    header = json.loads(content[8 : 8 + size])
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        if entry["dtype"] not in DTYPES:
            raise ValueError(f"{name} is of dtype {entry['dtype']}, which NumPy does not have")
        start, end = (8 + size + offset for offset in entry["data_offsets"])
        flat = np.frombuffer(content[start:end], DTYPES[entry["dtype"]])
        arrays[name] = flat.reshape(entry["shape"]).copy()
    return arrays
