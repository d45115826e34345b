"""Jacobians and Hessians: derivatives in all directions, in one sweep.

A Jacobian pushes or pulls a whole basis: the product of the traced block (`derived.py`) is
batched over its seeds (`batch/`), so that the function's own values, branches and loops are
computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...batch import batch
from ...frontend.axis_spec import MODES
from ...ir.builder import Builder, Sym
from ...ir.errors import S2STypeError
from ...ir.nodes import (
    Array,
    Block,
    Const,
    Function,
    Operand,
    Scalar,
    Var,
    is_complex,
    is_float,
    operands_of,
    walk,
)
from ...ir.record import record, replace
from ...ir.symbolic_dims import Dim
from ...rules.axes_and_sizes import constant_value, product
from ...syntax import core
from ..dispatch import derives
from ..frames import Frames
from ..patterns import Leaf, unpack
from ..places import Places
from ..session import Part
from ..values import Args, Kwargs, Value, kind_text
from .derived import Derivatives
from .tracing import DerivedVal, Traced, Tracing
from .vmaps import Vmaps, extent_of, reading


@record
class Basis:
    """The directions along every entry of some values: one identity, of which value `i`, whose
    shape is `sizes[i]`, has the columns from `starts[i]` on, `counts[i]` of them.  All are
    ints or Syms."""

    sizes: list[list[Any]]
    counts: list[Any]
    starts: list[Any]
    total: Any


@record(eq=False)
class Jacobians(Part):
    """Jacobians and Hessians."""

    frames: Frames
    places: Places
    tracing: Tracing
    derived: Derivatives
    vmaps: Vmaps

    # ---- Jacobians

    @derives("jacobian")
    def derive_jacobian(
        self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        traced = self.tracing.trace(derived, args, kwargs, node)
        with self.b.into(traced.block):
            pattern, outs = self.tracing.packed(traced.result, node)
            outs = [self._number_in(o) for o in outs]
        if not outs or not all(is_float(o.type) for o in outs):
            raise self.places.refusal(
                node,
                f"a Jacobian needs floats, and this function returns "
                f"{kind_text(traced.result)}" + (" with integers" if outs else ""),
                "return numbers or arrays of floats",
                S2STypeError,
            )
        if any(is_complex(x.type) for x in (*outs, *traced.params)):
            self.places.refuse(
                node,
                "not supported: a Jacobian of complex numbers",
                "take it of real and imaginary parts, stacked",
            )
        mode = self.vmaps.setting(derived, "mode", node)
        self._refuse_complex(outs, traced.params, mode, node)
        if any(is_complex(o.type) for o in outs):
            mode = "forward"
        if mode is None:
            mode = self._cheaper(outs, traced.params)
        if mode not in MODES:
            self.places.refuse(node, f"mode={mode!r} is neither 'forward' nor 'reverse'", "")
        made = self._pushed_basis if mode == "forward" else self._pulled_basis
        blocks = made(traced, outs)

        def leaf(leaf: Leaf, name: str) -> Value:
            return self.derived.like_wrt(derived, traced, blocks[leaf.index])

        return unpack(pattern, self.frames, leaf, "jacobian")

    def _refuse_complex(
        self, outs: Sequence[Operand], params: Sequence[Var], mode: str | None, node: core.Node
    ) -> None:
        """The derivative by a complex number takes two columns, that of a complex result two
        pulled rows; only a complex result by real arguments is one number each, when pushed."""
        if any(is_complex(p.type) for p in params):
            raise self.places.refusal(
                node,
                "a Jacobian with respect to complex numbers is not one matrix of numbers",
                "use s2s.jvp or s2s.vjp, or take real and imaginary parts as arguments",
                S2STypeError,
            )
        if mode == "reverse" and any(is_complex(o.type) for o in outs):
            raise self.places.refusal(
                node,
                "a Jacobian of complex results is pushed forward",
                'leave out mode="reverse"',
                S2STypeError,
            )

    @derives("hessian")
    def derive_hessian(
        self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        """Forward over reverse: the Jacobian of the gradient."""
        gradient = replace(derived, kind="grad", options=())
        outer = replace(derived, kind="jacobian", function=gradient, options=(("mode", "forward"),))
        return self.derive_jacobian(outer, args, kwargs, node)

    def _number_in(self, x: Operand) -> Operand:
        """The number in an array of no dimensions."""
        if isinstance(x.type, Array) and x.type.ndim == 0:
            return self.b.emit("index", x, items=()).operand
        return x

    def _cheaper(self, outs: Sequence[Operand], params: Sequence[Var]) -> str:
        """The mode with fewer directions, by the sizes at hand; either is right for all."""
        rows, columns = (_entries(xs) for xs in (outs, params))
        sizes = self.b.facts.sizes or {}
        m, n = (d.substitute(sizes) for d in (rows, columns))
        if m.is_const and n.is_const:
            return "forward" if n.const <= m.const else "reverse"
        ranks = [max(x.type.ndim for x in xs) for xs in (params, outs)]
        return "forward" if ranks[0] <= ranks[1] else "reverse"

    def basis_of(self, xs: Sequence[Operand], params: Sequence[Var]) -> Basis:
        b = self.b
        sizes = [self._sizes_of(x, params) for x in xs]
        counts = [constant_value(product(s)) for s in sizes]
        starts: list[Any] = [0]
        for count in counts:
            starts.append(_plus(b, starts[-1], count))
        return Basis(sizes, counts, starts[:-1], starts[-1])

    def _sizes_of(self, x: Operand, params: Sequence[Var]) -> list[Any]:
        """The shape of a value, read off a parameter where it has the same sizes: for its shape
        alone a result need not be computed."""
        sizes: list[Any] = []
        for axis, dim in enumerate(x.type.shape):  # type: ignore[union-attr]
            twins = (
                (p, k)
                for p in params
                for k, d in enumerate(p.type.shape)  # type: ignore[union-attr]
                if self.b.facts.known_equal(d, dim)
            )
            sizes.append(constant_value(self.b.dim_value(dim, next(twins, (x, axis)))))
        return sizes

    def directions(self, basis: Basis, xs: Sequence[Operand]) -> list[Operand]:
        """The directions along each entry of all of `xs`, for each of them."""
        b, out = self.b, []
        for i, x in enumerate(xs):
            eye = b.emit("eye", basis.total, basis.total, 0, dtype=x.type.dtype)
            if x.type.ndim == 0:
                items = (("all",), ("int", 1))
                out.append(b.emit("index", eye, basis.starts[i], items=items).operand)
                continue
            if len(xs) > 1:
                stop = _plus(b, basis.starts[i], basis.counts[i])
                items = (("all",), ("slice", 1, 2, None))
                eye = b.emit("index", eye, basis.starts[i], stop, items=items)
            if x.type.ndim > 1:
                eye = b.emit("reshape", eye, basis.total, *basis.sizes[i])
            out.append(eye.operand)
        return out

    def _rows_of(self, basis: Basis, i: int, table: Sym) -> Sym:
        """The rows of a table that belong to value `i`."""
        if len(basis.counts) == 1:
            return table
        stop = _plus(self.b, basis.starts[i], basis.counts[i])
        items = (("slice", 1, 2, None), *((("all",),) * (table.ndim - 1)))
        return self.b.emit("index", table, basis.starts[i], stop, items=items)

    def shaped_as(self, x: Sym, sizes: Sequence[Operand | Dim | Sym | int]) -> Operand:
        if sizes:
            return x.operand if x.ndim == len(sizes) else self.b.emit("reshape", x, *sizes).operand
        items = tuple(("int", 1) for _ in range(x.ndim))
        return self.b.emit("index", x, *([0] if items else []), items=items).operand

    # ---- reverse mode

    def _pulled_basis(self, traced: Traced, outs: list[Operand]) -> list[list[Operand]]:
        """For each result the derivatives by each parameter, pulled back all at once."""
        if len(outs) == 1 and outs[0].type.ndim == 0:
            return [self.derived.pulled(traced, outs, [Const(1.0, Scalar(outs[0].type.dtype))])]
        function = self.tracing.as_function(traced, outs)
        made = self.derived.reverse_of(function, tuple(p.name for p in traced.params))
        seeds = made.params[len(function.params) :]
        # How many seeds there are is known when the function has run.
        head: Block = []
        with self.b.into(head):
            basis = self.basis_of(outs, traced.params)
            given = self.directions(basis, outs)
        many = self.over_seeds(made, seeds, basis.total)
        with self.b.into(head):
            self.tracing.name_again(zip(many.params[len(function.params) :], given))
        many = replace(many, body=_insert(many.body, head, seeds, basis.total))
        self.tracing.name_arguments(traced)
        bars = self.tracing.splice(traced, many, many.results)
        basis, columns = (self.basis_of(xs, traced.params) for xs in (outs, traced.params))
        return [
            [
                self.shaped_as(self._rows_of(basis, i, self.b.sym(bar)), [*rows, *sizes])
                for sizes, bar in zip(columns.sizes, bars)
            ]
            for i, rows in enumerate(basis.sizes)
        ]

    # ---- forward mode

    def _pushed_basis(self, traced: Traced, outs: list[Operand]) -> list[list[Operand]]:
        """For each result the derivatives by each parameter, pushed forward all at once."""
        params = traced.params
        function = self.tracing.as_function(traced, outs)
        made, seeds = self.derived.forward_of(function, tuple(p.name for p in params))
        self.tracing.name_arguments(traced)
        if len(params) == 1 and isinstance(params[0].type, Scalar):
            self.tracing.name_again(zip(seeds, [Const(1.0, Scalar(params[0].type.dtype))]))
            return [[t] for t in self.tracing.splice(traced, made, made.results)]
        basis = self.basis_of(params, params)
        given = self.directions(basis, params)
        many = self.over_seeds(made, seeds, basis.total)
        self.tracing.name_again(zip(many.params[len(function.params) :], given))
        dots = self.tracing.splice(traced, many, many.results)
        rows = self.basis_of(outs, params)
        return [
            [self._columns_of(basis, i, dot, sizes) for i in range(len(params))]
            for sizes, dot in zip(rows.sizes, dots)
        ]

    def _columns_of(self, basis: Basis, i: int, dot: Operand, sizes: list[Any]) -> Operand:
        """The tangents along the entries of one parameter, which becomes the last axes."""
        dots = self._rows_of(basis, i, self.b.sym(dot))
        if dots.ndim > 1:
            dots = self.b.emit("transpose", dots, axes=(*range(1, dots.ndim), 0))
        return self.shaped_as(dots, [*sizes, *basis.sizes[i]])

    def over_seeds(self, made: Function, seeds: Sequence[Var], total: Sym) -> Function:
        count = self.b.sym(total).operand
        size = extent_of(count)
        mapped, names = [s.name for s in seeds], self.b.names
        many = batch(made, mapped, size, self.b.facts, names, count, all_results=True)
        return reading(count, many)


def _plus(b: Builder, x: Any, y: Any) -> Any:
    """The sum of two sizes, each an int if it is known."""
    return x + y if isinstance(x, int) and isinstance(y, int) else constant_value(b.sym(x) + y)


def _entries(xs: Sequence[Operand]) -> Dim:
    total = Dim.of(0)
    for x in xs:
        count = Dim.of(1)
        for d in x.type.shape:  # type: ignore[union-attr]
            count = count * d
        total = total + count
    return total


def _insert(body: Block, head: Block, seeds: Sequence[Var], total: Any) -> Block:
    """The body with `head` before the first statement that needs a seed."""
    needed = {s.name for s in seeds}
    if isinstance(total, Sym) and isinstance(total.operand, Var):
        needed.add(total.operand.name)
    for at, stmt in enumerate(body):
        read = {x.name for s in walk([stmt]) for x in operands_of(s) if isinstance(x, Var)}
        if read & needed:
            return [*body[:at], *head, *body[at:]]
    return [*body, *head]
