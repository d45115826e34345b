"""Fields of records and of arrays of records, read in place."""

from __future__ import annotations

import numpy as np
import pytest

from tests.transforms.lower.harness import check, lowered

DTYPE = np.dtype([("x", "f8"), ("n", "i8"), ("flag", "?")])


def records(n: int) -> np.ndarray:
    r = np.zeros(n, DTYPE)
    r["x"], r["n"], r["flag"] = np.arange(n) * 1.5, np.arange(n), np.arange(n) % 2
    return r


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("name", ["x", "n", "flag"])
def test_a_field_of_all(n, name):
    check(lambda b, r: b.emit("field", r, name=name) * 2.0, lambda r: r[name] * 2.0, records(n))


def test_a_field_of_one():
    def f(b, r, i):
        one = b.emit("index", r, i, items=(("int", 1),))
        return b.emit("field", one, name="x") + b.emit("field", one, name="n")

    check(f, lambda r, i: r[i]["x"] + r[i]["n"], records(3), 2)


def test_fields_are_virtual():
    """Neither a record nor a field is copied: each element is read where it is used."""

    def f(b, r):
        return b.emit("field", r, name="x") + b.emit("field", r, name="n")

    text = lowered(f, records(3)).text
    assert 'a[i]["x"] + np.float64(a[i]["n"])' in text
    assert text.count("np.empty") == 1 and text.count("for ") == 1


def test_strided_records():
    check(lambda b, r: b.emit("field", r, name="x") + 1.0, lambda r: r["x"] + 1.0, records(6)[::2])
