"""Compares outcomes of `table.py` with TensorFlow's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .table import run, shown


def difference(got: Any, want: Any) -> str:
    """A description of the difference of two outcomes; "" if they are equal."""
    if want is None or isinstance(want, str):
        return "" if got == want else f"{got} instead of {want}"
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return "another structure"
        return next(filter(None, map(difference, got, want)), "")
    if not isinstance(got, dict):
        return f"{got} instead of an array"
    if got["s"] != want["s"]:
        return f"shape {got['s']} instead of {want['s']}"
    if got["d"] != want["d"]:
        return f"{got['d']} instead of {want['d']}"
    rtol = 2e-5 if want["d"] != "float64" else 1e-6
    if not np.allclose(got["v"], want["v"], rtol=rtol, atol=2e-6, equal_nan=True):
        return f"{got['v']} instead of {want['v']}"
    return ""


def compared(tf: Any, expression: str, want: Any, gradient: bool, folder: Path) -> str:
    """The difference of an outcome from TensorFlow's, if TensorFlow has one."""
    if isinstance(want, dict):
        return ""
    file = folder / f"case_{abs(hash(expression))}.py"
    try:
        done = run(tf, expression, gradient, file)
    except Exception as error:
        return f"raises {type(error).__name__}: {str(error).splitlines()[0]}"
    found = difference(shown(done["value"]), want[0])
    if not found and gradient and want[1] is not None:
        found = difference(shown(done["gradients"]), want[1])
        found = f"gradient: {found}" if found else ""
    return found
