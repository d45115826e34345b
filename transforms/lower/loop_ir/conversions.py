"""Builders of dtype conversions as loop-level expressions, with the semantics of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import nodes as L


def kind(dtype: str) -> str:
    """NumPy's kind character of a dtype: "b", "i", "u", "f" or "c"."""
    return np.dtype(dtype).kind


def cast(e: L.Expr, dtype: str) -> L.Expr:
    """`e` converted to `dtype` as NumPy's `astype` does."""
    if e.dtype == dtype:
        return e
    if isinstance(e, L.Lit):
        return L.Lit(_literal(e.value, dtype), dtype)
    if dtype == "bool":
        return L.Bin("!=", e, L.Lit(0, e.dtype), "bool")
    if kind(e.dtype) == "f" and kind(dtype) in "iu":
        # Python's int() raises for NaN and infinity; NumPy's astype does not.
        whole = L.Apply("rt.to_int", (e,), "int64")
        if dtype == "uint64":
            return _to_uint64(e, whole)
        return whole if dtype == "int64" else L.Cast(whole, dtype)
    if isinstance(e, L.Cast) and e.dtype == "int64" and kind(e.x.dtype) in "b":
        return L.Cast(e.x, dtype)
    return L.Cast(e, dtype)


def _to_uint64(e: L.Expr, whole: L.Expr) -> L.Expr:
    """A float converted to uint64, given its conversion `whole` to int64.

    Values from 2**63 on do not fit in int64.  For them 2**63 is subtracted before the conversion
    and the top bit is set after it.
    """
    half = L.Lit(2.0**63, e.dtype)
    rest = L.Apply("rt.to_int", (L.Bin("-", e, half, e.dtype),), "int64")
    high = L.Bin("^", L.Cast(rest, "uint64"), L.Lit(2**63, "uint64"), "uint64")
    below = L.Bin("<", e, half, "bool")
    return L.Select(below, L.Cast(whole, "uint64"), high, "uint64")


def _literal(value: Any, dtype: str) -> Any:
    """A literal's value converted at compile time."""
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype)[()].item()


def wrap_to_dtype(e: L.Expr, dtype: str) -> L.Expr:
    """`e` cast back to `dtype`: Numba promotes narrow integers to 64 bits in arithmetic."""
    if kind(dtype) in "iu" and dtype != "int64" and not isinstance(e, L.Lit):
        return L.Cast(e, dtype)
    return e
