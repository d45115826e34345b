"""Batching rules of the `batch` pass (vmap): one operation on all batch elements at once.

A *mapped* operand has a leading batch axis, one entry per element.  Other operands are shared by
all elements.  A batching rule emits the operation for the whole batch and returns a value with the
leading axis.  It returns None if no single operation does that; the pass then emits a loop over the
elements.  The rules therefore affect speed only.

    @batching("cumsum")
    def cumsum(m):
        return m.emit("cumsum", *m.args, axis=m.attrs["axis"] + 1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.builder import Builder, Sym
from ..ir.nodes import ListOf, Type
from ..ir.op_registry import Rule
from ..ir.record import record
from .axes_and_sizes import product
from .numpy.bilinear import LETTERS, transpose_matrices
from .numpy.einsum import contract
from .promotion import BOOL_AS_INT_OPS, compute_dtype, is_weak, join_dtypes

BatchRule = Callable[["Mapped"], "Sym | None"]


@record
class Mapped:
    """One operation with mapped operands.

    `args` are the operands; operand i has a leading axis of `size` if `mapped[i]`.  `types` are
    the operand types of one element, `out` is the type of one element's result.  `lift` broadcasts
    an operand along a new leading axis."""

    b: Builder
    name: str
    size: Sym
    args: Sequence[Sym]
    mapped: Sequence[bool]
    types: Sequence[Type]
    attrs: dict[str, Any]
    out: Type
    lift: Callable[[Any], Sym]

    def emit(self, name: str, *args: Any, **attrs: Any) -> Sym:
        return self.b.emit(name, *args, **attrs)

    def lifted(self, i: int) -> Sym:
        """Operand i with the leading axis."""
        return self.args[i] if self.mapped[i] else self.lift(self.args[i])

    def aligned(self, i: int, rank: int, at: int = 1) -> Sym:
        """Operand i, expanded to broadcast against operands whose element rank is `rank`.

        The missing axes of a mapped operand are inserted at position `at`, by default after the
        leading axis."""
        missing = rank - self.types[i].ndim
        if not self.mapped[i] or missing <= 0:
            return self.args[i]
        return self.emit("expand_dims", self.args[i], axes=tuple(range(at, at + missing)))


_BY_NAME: dict[str, BatchRule] = {}


def batching(*names: str) -> Callable[[BatchRule], BatchRule]:
    """Register the decorated function as the batching rule of the operations `names`."""

    def declare(rule: BatchRule) -> BatchRule:
        for name in names:
            assert name not in _BY_NAME, name
            _BY_NAME[name] = rule
        return rule

    return declare


def batching_of(rule: Rule) -> BatchRule | None:
    """The batching rule of an operation: its own, or the default of its kind."""
    return rule.batching or _BY_NAME.get(rule.name) or _BY_KIND.get(rule.kind)


# ---------------------------------------------------------------- elementwise


def _elementwise(m: Mapped) -> Sym | None:
    rank = max(t.ndim for t in m.types)
    args = [m.aligned(i, rank) for i in range(len(m.args))]
    promotes = len(args) > 1 or m.name in BOOL_AS_INT_OPS
    if promotes and any(m.mapped[i] and is_weak(t) for i, t in enumerate(m.types)):
        # A weak scalar adopts the dtype of the other operands.  A mapped one is an array, which is
        # not weak: it needs an explicit cast.
        dtype = compute_dtype(m.name, m.types)
        if dtype == "object":  # a comparison of Python integers
            dtype = join_dtypes(m.types)
        converted = range(1, 3) if m.name == "where" else range(len(args))
        for i in converted:
            if m.mapped[i] and is_weak(m.types[i]):
                args[i] = args[i].astype(dtype)
    return m.emit(m.name, *args, **m.attrs)


@batching("cast")
def _cast(m: Mapped) -> Sym:
    return m.emit("cast", m.args[0], dtype=m.attrs["dtype"])


@batching("copy", "list_drop", "list_zeros_like", "zeros_like", "ones_like", "empty_like", "field")
def _unchanged(m: Mapped) -> Sym:
    return m.emit(m.name, *m.args, **m.attrs)


# ---------------------------------------------------------------- reductions and scans


@batching("argmax", "argmin")
def _arg_reduce(m: Mapped) -> Sym | None:
    x, axis = m.args[0], m.attrs["axis"]
    rank = x.ndim - 1
    if rank == 0 or (m.attrs.get("keepdims") and axis is None):
        return None
    if axis is None and rank > 1:
        x = m.emit("reshape", x, m.size, product(x.shape[1:]))
    at = 1 if axis is None else axis[0] + 1
    return m.emit(m.name, x, **{**m.attrs, "axis": (at,)})


def _reduce(m: Mapped) -> Sym | None:
    """Any reduction of one array: its axes move by one."""
    if "axis" not in m.attrs or len(m.args) != 1:
        return None
    x, axis = m.args[0], m.attrs["axis"]
    axes = tuple(range(x.ndim - 1)) if axis is None else axis
    if not axes:
        return None
    return m.emit(m.name, x, **{**m.attrs, "axis": tuple(a + 1 for a in axes)})


@batching("cumsum", "fft", "rfft", "irfft", "resize")
def _along_an_axis(m: Mapped) -> Sym | None:
    if sizes_mapped(m):
        return None
    return m.emit(m.name, *m.args, **{**m.attrs, "axis": m.attrs["axis"] + 1})


@batching("unbroadcast")
def _unbroadcast(m: Mapped) -> Sym:
    g, rank = m.lifted(0), m.types[1].ndim
    lead = m.types[0].ndim - rank
    if lead > 0:
        g = m.emit("sum", g, axis=tuple(range(1, lead + 1)), keepdims=False)
    elif lead < 0:
        g = m.emit("expand_dims", g, axes=tuple(range(1, 1 - lead)))
    return m.emit("unbroadcast", g, m.lifted(1)) if rank else g


# ---------------------------------------------------------------- shapes


@batching("broadcast_like")
def _broadcast_like(m: Mapped) -> Sym:
    x, like = m.aligned(0, m.types[1].ndim), m.args[1]
    if m.types[1].ndim == 0:
        return m.lifted(0)
    return m.emit("broadcast_like", x, like) if m.mapped[1] else _broadcast_batch(m, x, like.shape)


def _broadcast_batch(m: Mapped, x: Sym, sizes: Sequence[Any]) -> Sym:
    """`x` broadcast to the batch axis followed by `sizes`."""
    return m.emit("broadcast_to", x, m.size, *sizes)


def sizes_mapped(m: Mapped) -> bool:
    """True if a size operand is mapped: the results of the elements differ in shape."""
    return any(m.mapped[1:])


@batching("broadcast_to")
def _broadcast_to(m: Mapped) -> Sym | None:
    sizes = m.args[1:]
    return None if sizes_mapped(m) else _broadcast_batch(m, m.aligned(0, len(sizes)), sizes)


@batching("reshape")
def _reshape(m: Mapped) -> Sym | None:
    return None if sizes_mapped(m) else m.emit("reshape", m.args[0], m.size, *m.args[1:])


@batching("transpose")
def _transpose(m: Mapped) -> Sym:
    return m.emit("transpose", m.args[0], axes=(0, *(a + 1 for a in m.attrs["axes"])))


@batching("expand_dims", "squeeze")
def _axes(m: Mapped) -> Sym:
    return m.emit(m.name, m.args[0], axes=tuple(a + 1 for a in m.attrs["axes"]))


# ---------------------------------------------------------------- new arrays


@batching("full")
def _full(m: Mapped) -> Sym | None:
    if sizes_mapped(m):
        return None
    sizes = m.args[1:]
    fill = m.args[0].astype(m.attrs["dtype"])
    axes = tuple(range(1, len(sizes) + 1))
    return _broadcast_batch(m, m.emit("expand_dims", fill, axes=axes) if axes else fill, sizes)


@batching("full_like")
def _full_like(m: Mapped) -> Sym:
    x, fill = m.args
    if not m.mapped[1]:
        return m.emit("full_like", x, fill, **m.attrs)
    fill = fill.astype(m.attrs["dtype"])
    rank = m.types[0].ndim
    if rank == 0:
        return fill
    sizes = x.shape[1:] if m.mapped[0] else x.shape
    return _broadcast_batch(m, m.emit("expand_dims", fill, axes=tuple(range(1, rank + 1))), sizes)


@batching("pack")
def _pack(m: Mapped) -> Sym:
    cells = [m.lifted(i).astype(m.attrs["dtype"]) for i in range(len(m.args))]
    shape = m.attrs["shape"]
    if not shape:
        return cells[0]
    packed = m.emit("stack", *cells, axis=1)
    return m.emit("reshape", packed, m.size, *shape) if len(shape) > 1 else packed


# ---------------------------------------------------------------- joining


@batching("concatenate", "stack")
def _join(m: Mapped) -> Sym:
    dtype = m.out.dtype
    parts = [m.lifted(i).astype(dtype) for i in range(len(m.args))]
    return m.emit(m.name, *parts, axis=m.attrs["axis"] + 1)


# ---------------------------------------------------------------- products


@batching("matmul")
def _matmul(m: Mapped) -> Sym:
    (x, y), (p, q) = m.args, (t.ndim for t in m.types)
    if not m.mapped[1] and q <= 2:
        return x @ y
    if not m.mapped[0] and p <= 2 and q == 1:
        return y @ (transpose_matrices(x) if p == 2 else x)
    if not m.mapped[0] and p <= 2 and q == 2:
        return x @ y
    # Stacks of matrices: batch axes are aligned after the leading axis.
    row, column = p == 1, q == 1
    if row:
        x = m.emit("expand_dims", x, axes=(x.ndim - 1,))
    if column:
        y = m.emit("expand_dims", y, axes=(y.ndim,))
    rank = max(p, q, 2) - 2
    x = _stacked(m, x, m.mapped[0], rank)
    y = _stacked(m, y, m.mapped[1], rank)
    out = x @ y
    single = tuple(out.ndim - 2 + k for k, found in enumerate((row, column)) if found)
    return m.emit("squeeze", out, axes=single) if single else out


def _stacked(m: Mapped, x: Sym, mapped: bool, rank: int) -> Sym:
    """A mapped stack of matrices, expanded to `rank` axes between batch axis and matrix."""
    missing = rank - (x.ndim - 2 - mapped)
    if not mapped or missing == 0:
        return x
    return m.emit("expand_dims", x, axes=tuple(range(1, 1 + missing)))


@batching("outer")
def _outer(m: Mapped) -> Sym:
    x, y = m.args
    column = m.emit("expand_dims", x, axes=(x.ndim,))
    row = m.emit("expand_dims", y, axes=(1,)) if m.mapped[1] else y
    return column * row


@batching("einsum")
def _einsum(m: Mapped) -> Sym:
    subscripts = m.attrs["subscripts"]
    new = next(c for c in LETTERS if c not in subscripts)
    inputs, out = subscripts.split("->")
    labels = [new * on + s for s, on in zip(inputs.split(","), m.mapped, strict=True)]
    return contract(m.b, list(m.args), labels, new + out)


# ---------------------------------------------------------------- lists


@batching("list_append")
def _append(m: Mapped) -> Sym:
    return m.emit("list_append", m.lifted(0), _element(m, 1))


@batching("list_set")
def _set(m: Mapped) -> Sym | None:
    return None if m.mapped[1] else m.emit("list_set", m.lifted(0), m.args[1], _element(m, 2))


def _element(m: Mapped, i: int) -> Sym:
    """Operand i with the leading axis, cast to the dtype of the list."""
    assert isinstance(m.out, ListOf)
    return m.lifted(i).astype(m.out.dtype)


@batching("list_get")
def _get(m: Mapped) -> Sym | None:
    return None if m.mapped[1] else m.emit("list_get", *m.args)


@batching("list_stack")
def _stack_list(m: Mapped) -> Sym:
    out = m.emit("list_stack", m.args[0])
    # Stacking an empty list yields no element sizes: the reshape sets the batch size.
    out = m.emit("reshape", out, m.emit("list_len", m.args[0]), m.size, *out.shape[2:])
    return _swapped(m, out)


@batching("list_unstack")
def _unstack(m: Mapped) -> Sym:
    return m.emit("list_unstack", _swapped(m, m.args[0]))


def _swapped(m: Mapped, x: Sym) -> Sym:
    """`x` with its first two axes exchanged."""
    return m.emit("transpose", x, axes=(1, 0, *range(2, x.ndim)))


_BY_KIND: dict[str, BatchRule] = {"elementwise": _elementwise, "reduce": _reduce}
