"""Runs a block with either library, on the same weights and the same random data."""

from __future__ import annotations

import contextlib
import io
import linecache
from typing import Any

import numpy as np

from .documents import Block


def weights(shape: tuple[int, ...]) -> Any:
    """Initial weights, determined by their shape."""
    size = int(np.prod(shape))
    return (0.5 * np.sin(1.7 * np.arange(size) + len(shape))).reshape(shape).astype(np.float32)


def noise(shape: tuple[int, ...]) -> Any:
    size = int(np.prod(shape))
    return np.cos(2.3 * np.arange(size) + 1.0).reshape(shape).astype(np.float32)


def run(block: Block, tf: Any, module: str) -> dict[str, list[Any]]:
    """The block's records, as nested lists of floats."""
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf}
    with contextlib.redirect_stdout(io.StringIO()):
        _execute(block.before, space, f"<{block.id} before>")
        code = block.code.replace("import tensorflow as tf", f"import {module} as tf")
        _execute(code, space, f"<{block.id}>")
    return {name: _numbers(eval(name, space)) for name in block.records}


def _execute(code: str, space: dict[str, Any], filename: str) -> None:
    # Tapes need the source of their blocks.
    linecache.cache[filename] = (len(code), None, code.splitlines(True), filename)
    exec(compile(code, filename, "exec"), space)


def _numbers(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [n for v in value for n in _numbers(v)]
    value = value.numpy() if hasattr(value, "numpy") else value
    return [np.asarray(value, dtype=np.float64).ravel().tolist()]
