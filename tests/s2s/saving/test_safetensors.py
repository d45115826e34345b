"""The safetensors format: bytes by the specification, round trips, refusals.
`tests/attack/test_weight_files.py` compares hundreds of files with the verdicts of the library."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest

from s2s.saving import safetensors


def file(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8), **more: Any) -> Any:
    shape, offsets = (list(v) if isinstance(v, tuple) else v for v in (shape, offsets))
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets, **more}


def test_bytes_by_the_specification() -> None:
    content = safetensors.dumps({"a": np.array([1, 2], "<i2"), "b": np.array(True)})
    (length,) = struct.unpack("<Q", content[:8])
    assert length % 8 == 0
    assert json.loads(content[8 : 8 + length]) == {
        "a": {"dtype": "I16", "shape": [2], "data_offsets": [0, 4]},
        "b": {"dtype": "BOOL", "shape": [], "data_offsets": [4, 5]},
    }
    assert content[8 + length :] == b"\x01\x00\x02\x00\x01"


@pytest.mark.parametrize("dtype", safetensors.DTYPES.values())
def test_round_trips(dtype: str) -> None:
    for shape in ((), (3,), (2, 3), (0, 2)):
        array = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
        swapped = array.astype(array.dtype.newbyteorder(">"))
        for given in (array, np.array(array, order="F"), swapped):
            got = safetensors.loads(safetensors.dumps({"x": given}))["x"]
            assert got.dtype == array.dtype and got.shape == shape
            np.testing.assert_array_equal(got, array)
            assert got.flags.writeable


def test_names_and_metadata() -> None:
    arrays = {"0.dense/kernel": np.ones(1), "": np.ones(1), "ä\n": np.ones(1)}
    assert list(safetensors.loads(safetensors.dumps(arrays))) == list(arrays)
    with_metadata = file({"__metadata__": {"made": "by hand"}, "x": entry()}, bytes(8))
    assert list(safetensors.loads(with_metadata)) == ["x"]
    assert safetensors.loads(safetensors.dumps({})) == {}


def test_entries_in_any_order() -> None:
    content = file({"b": entry("I8", (1,), (1, 2)), "a": entry("I8", (1,), (0, 1))}, b"\x05\x07")
    got = safetensors.loads(content)
    assert (got["a"][0], got["b"][0]) == (5, 7)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "no safetensors file, or it is cut off"),
        (struct.pack("<Q", 2**40) + b"{}", "cut off"),
        (file(b"[]"), "its header is no JSON object"),
        (file(b"{" * 9), "Expecting"),
        (file({"x": entry()}, bytes(7)), "the arrays have 8 bytes in all, and the file has 7"),
        (file({"x": entry()}, bytes(9)), "and the file has 9"),
        (file({"x": entry(offsets=(8, 16))}, bytes(16)), "begin at 8, and the last ended at 0"),
        (file({"x": entry(), "y": entry()}, bytes(8)), "begin at 0, and the last ended at 8"),
        (file({"x": entry(shape=(3,))}, bytes(8)), r"shape \[3\] has 8 bytes"),
        (file({"x": entry("C64")}, bytes(8)), "dtype C64, which NumPy does not have"),
        (file({"x": entry(7)}, bytes(8)), "dtype 7"),
        (file({"x": entry(more=1)}, bytes(8)), "does not consist of"),
        (file({"x": entry(shape=2)}, bytes(8)), "no lists of sizes"),
        (file({"x": entry(shape=(True,), offsets=(0, 4))}, bytes(4)), "no lists of sizes"),
        (file({"x": entry(shape=(-2,))}, bytes(8)), "the number -2: sizes are natural"),
        (file({"x": entry(shape=(2.0,))}, bytes(8)), "the number 2.0"),
        (file({"x": entry(shape=(2**62, 4))}, bytes(8)), "too large"),
        (file({"x": entry("BOOL", (1,), (0, 1))}, b"\x02"), "neither 0 nor 1"),
        (file({"__metadata__": 3}), "is no object of texts"),
        (file(b'{"x":1,"x":2}'), "'x' is in the header twice"),
        (file(b'{"a":' * 100_000), "nested too deeply|Expecting"),
    ],
)  # fmt: skip
def test_malformed_files(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        safetensors.loads(content)


def test_what_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="x is of dtype complex128, which safetensors cannot hold"):
        safetensors.dumps({"x": np.ones(1, complex)})
    for name in ("__metadata__", "\ud800"):
        with pytest.raises(ValueError, match="cannot be the name of an array"):
            safetensors.dumps({name: np.ones(1)})
