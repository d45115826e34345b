"""The state of a library: all scalars, arrays and random generators that its functions reach
through objects, globals and closures, in one caller-owned block of memory.

A block begins with a header of 64 bytes (magic number, version, layout hash, size).  Each slot
begins at a multiple of 64 bytes.
"""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import UnsupportedError
from ..transforms.frontend.pytree import ArraySpec, Path, RngSpec, ScalarSpec, path_text
from ..transforms.ir.nodes import Scalar
from . import pcg64

MAGIC = b"s2sstate"
VERSION = 1
HEADER = 64


@dataclass(eq=False)
class Slot:
    """A scalar (`shape` is None) or an array; `initial` is its initial value, that at build
    time."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None
    initial: Any
    offset: int = 0

    @property
    def bytes(self) -> int:
        return int(np.prod(self.shape or (), dtype=np.int64)) * np.dtype(self.dtype).itemsize


@dataclass
class State:
    """The layout of the state.  `known` maps the identity of an object to its slot."""

    slots: list[Slot] = field(default_factory=list)
    known: dict[Any, Slot] = field(default_factory=dict)
    alive: list[Any] = field(default_factory=list)  # keeps objects alive, so that ids stay unique

    def slot(self, holder: Any, path: Path, spec: Any, value: Any) -> Slot:
        """The slot of the value at `path`.  Functions that reach the same object share its slot."""
        if isinstance(spec, ArraySpec):
            if spec.layout != "C":
                raise UnsupportedError(
                    f"{path_text(path)} is not contiguous; make it np.ascontiguousarray(...)"
                )
            start = np.array(value, order="C")
            return self._place(("array", id(value)), value, path, holder, start.shape, start)
        if isinstance(spec, ScalarSpec):
            key = "number", id(holder), path[-1]
            return self._place(key, holder, path, holder, None, np.dtype(spec.dtype).type(value))
        if isinstance(spec, RngSpec):
            start = pcg64.state_words(value, path_text(path))
            return self._place(("generator", id(value)), value, path, holder, start.shape, start)
        raise UnsupportedError(
            f"{path_text(path)} is a {type(value).__name__}, which a library cannot hold",
            advice="only numbers and arrays can be carried over",
        )

    def slot_of_store(self, holder: Any, path: Path, type_: Any) -> Slot:
        """The slot of a value that a function sets.  The function need not read it."""
        kind, key = path[-1]
        value = getattr(holder, key, None) if kind == "." else holder[key]
        if isinstance(type_, Scalar):
            start = np.dtype(type_.dtype).type(value if value is not None else 0)
            key = "number", id(holder), path[-1]
            found = self._place(key, holder, path, holder, None, start)
            if found.dtype != type_.dtype:
                raise UnsupportedError(
                    f"{path_text(path)} is {found.dtype} at first and {type_.dtype} later, which "
                    "a library cannot hold",
                    advice=f"begin with a number of {type_.dtype}",
                )
            return found
        found = self.known.get(("array", id(value)))
        alike = found is not None and (len(found.shape or ()), found.dtype) == (
            type_.ndim, type_.dtype,
        )  # fmt: skip
        if found is None or not alike:
            raise UnsupportedError(
                f"{path_text(path)} is set to another array, which a library cannot do",
                advice="write into the array there is: a[...] = new",
            )
        return found

    def _place(self, key: Any, keep: Any, path: Path, holder: Any, shape: Any, start: Any) -> Slot:
        found = self.known.get(key)
        if found is None:
            name = self._name(path, holder)
            found = Slot(name, start.dtype.name, shape, start)
            self.known[key] = found
            self.slots.append(found)
            self.alive.append(keep)
            found.offset = self.bytes
            self.bytes += -(-max(found.bytes, 1) // 64) * 64
        return found

    bytes: int = HEADER

    def _name(self, path: Path, holder: Any) -> str:
        """A unique name: that of a Variable, else the access path."""
        if path[-1] == (".", "_array") and hasattr(holder, "name"):
            name = str(holder.name)
        else:
            text = path_text(path).replace("._array", "")
            name = "/".join(part for part in re.split(r"[.\[\]'\"]+", text) if part)
        taken = {s.name for s in self.slots}
        unique, number = name, 1
        while unique in taken:
            number += 1
            unique = f"{name}_{number}"
        return unique

    # ---- as bytes

    @property
    def layout(self) -> int:
        """A hash of the names, dtypes, shapes and offsets of all slots, and of the version."""
        text = repr([(s.name, s.dtype, s.shape, s.offset) for s in self.slots])
        digest = hashlib.sha256(f"{VERSION} {text}".encode()).digest()
        return int.from_bytes(digest[:8], "little", signed=True)

    def header(self) -> tuple[int, int, int, int]:
        return int.from_bytes(MAGIC, "little", signed=True), VERSION, self.layout, self.bytes

    def image(self) -> bytes:
        """The bytes of the initial state."""
        out = bytearray(self.bytes)
        out[:32] = struct.pack("<4q", *self.header())
        for slot in self.slots:
            data = np.asarray(slot.initial).astype(np.dtype(slot.dtype).newbyteorder("<")).tobytes()
            out[slot.offset : slot.offset + len(data)] = data
        return bytes(out)
