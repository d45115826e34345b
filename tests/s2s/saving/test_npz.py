"""The reader of `.npz` files: arrays come back as NumPy wrote them; anything else is refused.
`tests/attack/test_weight_files.py` has damaged and hostile files of every kind."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import pytest

from s2s.saving import npz


def written(**arrays: Any) -> io.BytesIO:
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    return file


def archive(*members: tuple[str, bytes], compression: int = zipfile.ZIP_STORED) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        for name, content in members:
            made.writestr(name, content)
    file.seek(0)
    return file


def as_npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npy(header: str, data: bytes = b"") -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.float32(1.5), np.arange(3, dtype=">i4"), np.array([True, False]), np.zeros((0, 3)),
        np.array([1 + 2j]), np.float16([0.5, np.inf]), np.array([b"ab", b""]), np.array(["ä", "b"]),
        np.zeros((2, 0, 4), np.uint8), np.array([np.nan, -0.0]),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)  # fmt: skip
def test_arrays_come_back(array: Any) -> None:
    for file in (written(x=array), archive(("x.npy", as_npy(array)), compression=8)):
        (got,) = npz.load(file).values()
        assert got.shape == array.shape and got.dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(got, array)


def test_names_and_order() -> None:
    got = npz.load(written(b=np.ones(1), a=np.zeros(2), **{"0.dense/kernel": np.ones(3)}))
    assert list(got) == ["b", "a", "0.dense/kernel"]
    assert npz.load(written()) == {}


HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n"


@pytest.mark.parametrize(
    "file, message",
    [
        (io.BytesIO(b"\x89HDF\r\n\x1a\nrest"), "an HDF5 file.*use .npz or .safetensors"),
        (io.BytesIO(b""), "no .npz file, or it is damaged"),
        (io.BytesIO(b"PK\x03\x04rest"), "no .npz file, or it is damaged"),
        (io.BytesIO(written(x=np.ones(9)).getvalue()[:-30]), "no .npz file, or it is damaged"),
        (archive(("notes.txt", b"text")), "'notes.txt' is in it, which is no array"),
        (archive(("x.npy", b"text")), "'x' is no array in NumPy's format"),
        (archive(("x.npy", npy("__import__('os')"))), 'its header is "__import__'),
        (archive(("x.npy", npy(HEADER.replace("<f8", "|O"), b""))), "no array of numbers"),
        (archive(("x.npy", npy(HEADER.replace("<f8", "<m8"), b""))), "is of dtype m8"),
        (archive(("x.npy", npy(HEADER, bytes(8)))), r"float64 of shape \(2,\), and has 8 bytes"),
        (archive(("x.npy", npy(HEADER, bytes(24)))), "and has 24 bytes"),
        (archive(("x.npy", npy(HEADER.replace("<f8", "|b1"), b"\x00\x02"))), "neither 0 nor 1"),
        (archive(("x.npy", npy(HEADER.replace("2,", "9" * 10 + ", " + "9" * 10)))), "too large"),
    ],
)
def test_malformed_files(file: io.BytesIO, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        npz.load(file)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_one_name_twice() -> None:
    member = ("x.npy", as_npy(np.ones(2)))
    with pytest.raises(ValueError, match="'x' is in it twice"):
        npz.load(archive(member, member))


def test_archives_that_expand_too_much() -> None:
    zeros = as_npy(np.zeros(2**18))
    with pytest.raises(ValueError, match="expands to more than 100 times its size"):
        npz.load(archive(("x.npy", zeros), compression=zipfile.ZIP_DEFLATED))
    small = as_npy(np.zeros(2**16))  # little is always allowed
    assert npz.load(archive(("x.npy", small), compression=zipfile.ZIP_DEFLATED))["x"].size == 2**16
