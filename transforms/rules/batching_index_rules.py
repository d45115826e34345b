"""Batching rules of `index`, `update` and `update_add`.

If only the array is mapped, a full slice is prepended for its leading axis.  If indices are mapped
too, each batch element reads its own entries (a batched gather): scalar indices become index arrays
with the leading axis, and an `arange` over the batch indexes the array's leading axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.builder import Sym
from .batching_rules import Mapped, batching
from .numpy.indexing import Item, Items, advanced_axes_position, is_advanced
from .promotion import is_weak

Label = tuple[str, int]
BATCH_AXIS: Label = ("leading", 0)


def has_uniform_extent(items: Items, mapped: Sequence[bool]) -> bool:
    """True if all batch elements select equally many entries: no slice or mask is mapped."""
    ranged = (p for i in items if i[0] in ("slice", "mask") for p in i[1:] if p is not None)
    return not any(mapped[p] for p in ranged)


class _Selection:
    """The index of one batch element, rewritten to an index of the whole batch.

    `items` and `operands` are the rewritten index.  `order` lists the axes of its result; `wanted`
    lists the same axes in the required order: the batch axis, then the axes of one element's
    result."""

    def __init__(self, m: Mapped, items: Items, of_mapped: bool) -> None:
        self.m = m
        self.operands: list[Sym] = list(m.args)
        own = [p for i in items if i[0] in ("int", "array") for p in i[1:]]
        self.rank = max([m.types[p].ndim for p in own] + [1] * _masks(items) + [0])
        picks = any(m.mapped[p] for p in own)
        self.items = self._picked(items, set(own), of_mapped) if picks else (("all",), *items)
        kept: list[Label] = [("kept", k) for k in range(_kept(items))]
        picked: list[Label] = [("picked", k) for k in range(self.rank)]
        self.wanted = [BATCH_AXIS, *_placed(kept, picked, advanced_axes_position(items))]
        if picks:
            self.order = _placed(kept, [BATCH_AXIS, *picked], advanced_axes_position(self.items))
        else:
            self.order = _placed([BATCH_AXIS, *kept], picked, advanced_axes_position(self.items))

    def _picked(self, items: Items, own: set[int], of_mapped: bool) -> tuple[Item, ...]:
        """The items with mapped ints as index arrays, and an `arange` for the batch axis."""
        m = self.m
        new: list[Item] = []
        if of_mapped:
            each = m.emit("arange", 0, m.size, 1, dtype="int64")
            axes = tuple(range(1, self.rank + 1))
            self.operands.append(m.emit("expand_dims", each, axes=axes) if axes else each)
            new.append(("array", len(self.operands) - 1))
        for p in sorted(own):
            self.operands[p] = m.aligned(p, self.rank)
        for item in items:
            arrays = item[0] == "int" and m.mapped[item[1]]
            new.append(("array", item[1]) if arrays else item)
        return tuple(new)

    def read(self, x: Sym) -> Sym:
        """Read the selection, and transpose it to the axes `wanted`."""
        out = self.m.emit("index", x, *self.operands[1:], items=self.items)
        if self.order == self.wanted:
            return out
        return self.m.emit("transpose", out, axes=tuple(map(self.order.index, self.wanted)))

    def value(self, v: Sym) -> Sym:
        """Transpose a value to be written from the axes `wanted` to the axes `order`."""
        if self.order == self.wanted or v.ndim == 0:
            return v
        missing = len(self.order) - v.ndim
        v = self.m.emit("expand_dims", v, axes=tuple(range(missing))) if missing > 0 else v
        return self.m.emit("transpose", v, axes=tuple(map(self.wanted.index, self.order)))


def _masks(items: Items) -> int:
    """The number of boolean masks."""
    return sum(item[0] == "mask" for item in items)


def _kept(items: Items) -> int:
    """The number of result axes that come from slices and new axes."""
    return sum(item[0] in ("all", "slice", "new") for item in items)


def _placed(kept: list[Label], picked: list[Label], at: int | None) -> list[Label]:
    """The axes of a result: those of the index arrays inserted at position `at`."""
    at = at or 0
    return [*kept[:at], *picked, *kept[at:]]


def selectable(items: Items, mapped: Sequence[bool]) -> bool:
    """True if one index operation can select for all batch elements."""
    picks = any(mapped[i[1]] for i in items if i[0] in ("int", "array"))
    return has_uniform_extent(items, mapped) and not (picks and _masks(items))


@batching("index")
def _index(m: Mapped) -> Sym | None:
    items = m.attrs["items"]
    if not selectable(items, m.mapped):
        return None
    return _Selection(m, items, m.mapped[0]).read(m.args[0])


# ---------------------------------------------------------------- writing


@batching("update", "update_add")
def _update(m: Mapped) -> Sym | None:
    path = m.attrs["path"]
    indices_mapped = any(m.mapped[2:])
    if indices_mapped and (len(path) != 1 or path[0][0] != "index"):
        return None
    if not all(selectable(what, m.mapped) for kind, what in path if kind == "index"):
        return None
    x = m.lifted(0)
    v = _value(m, _region_rank(m))
    operands = list(m.args)
    new: list[Any] = []
    for k, (kind, what) in enumerate(path):
        if kind == "index":
            selection = _Selection(m, what, True)
            if selection.order != selection.wanted and k != len(path) - 1:
                return None
            v = selection.value(v)
            operands = selection.operands if indices_mapped else operands
            new.append(("index", selection.items))
        elif kind == "transpose":
            new.append((kind, (0, *(a + 1 for a in what))))
        elif kind == "reshape":
            operands.append(m.size)
            new.append((kind, (len(operands) - 1, *what)))
        else:
            new.append((kind, tuple(a + 1 for a in what)))
    return m.emit(m.name, x, v, *operands[2:], path=tuple(new))


def _region_rank(m: Mapped) -> int:
    """The rank of the written region of one batch element."""
    rank = m.types[0].ndim
    for kind, what in m.attrs["path"]:
        if kind == "index":
            arrays = [m.types[i[1]].ndim for i in what if i[0] == "array"] + [1] * _masks(what)
            rank = _kept(what) + (max(arrays) if is_advanced(what) else 0)
        elif kind == "reshape":
            rank = len(what)
        elif kind == "expand_dims":
            rank += len(what)
        elif kind == "squeeze":
            rank -= len(what)
    return rank


def _value(m: Mapped, rank: int) -> Sym:
    """The value to be written; a mapped one has the batch axis first, then `rank` axes."""
    v, t = m.args[1], m.types[1]
    if not m.mapped[1]:
        return v
    if is_weak(t):
        v = v.astype(m.types[0].dtype)
    if t.ndim > rank:  # extra leading axes of size 1 are dropped by an assignment
        return m.emit("squeeze", v, axes=tuple(range(1, t.ndim - rank + 1)))
    if t.ndim == rank:
        return v
    return m.emit("expand_dims", v, axes=tuple(range(1, rank - t.ndim + 1)))
