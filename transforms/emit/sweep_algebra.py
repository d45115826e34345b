"""Algebraic simplification of adjoint sweeps, for reading.

`np.broadcast_to(out_bar / (d.shape[0] * d.shape[1]), d.shape) * 2.0 * d` becomes
`2.0 * out_bar / d.size * d`: numbers are multiplied without broadcasting, factors that are numbers
come first, constants are folded.  Sizes are simplified likewise, in inlined functions
too.  The compiled program is not changed, so that the two may differ by rounding.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeGuard

from ..bufferize.copy_insertion import stem
from ..ir.builder import NameSupply
from ..ir.fixpoint import rewrites
from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Const,
    Function,
    Module,
    Op,
    Operand,
    Origin,
    Scalar,
    Stmt,
    Var,
    map_blocks,
    operands_of,
    substitute,
    walk,
)
from ..ir.op_registry import RULES
from ..ir.record import replace
from ..ir.scopes import names_of


def simplify_sweeps(module: Module) -> Module:
    """The module, in value form, with simpler formulas in its entry, and in the sweeps of
    functions that stay functions."""
    if "has_functions" in module.main.notes:
        return module.map(lambda f, _: _Algebra(f).run())
    return module.with_main(_Algebra(module.main).run())


class _Algebra:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.names = NameSupply(names_of(function))
        self.definitions: dict[str, Op] = {
            s.target.name: s.op for s in walk(function.body) if isinstance(s, Assign)
        }
        self.replaced: dict[str, Operand] = {}
        self.reads = Counter(
            x.name for s in walk(function.body) for x in operands_of(s) if isinstance(x, Var)
        )

    def run(self) -> Function:
        f = self.function
        notes = f.notes
        body = substitute(self.block(f.body), self.read)
        if "slots" in notes:
            plans = {k: plan.substitute(self.read) for k, plan in notes["slots"].items()}
            notes = {**notes, "slots": plans}
        made = replace(
            f,
            body=body,
            results=[self.read(r) for r in f.results],
            effects=[(p, self.read(v)) for p, v in f.effects],
            notes=notes,
        )
        return _without_dead_values(made)

    def read(self, x: Operand) -> Operand:
        while isinstance(x, Var) and x.name in self.replaced:
            x = self.replaced[x.name]
        return x

    def block(self, block: Block) -> Block:
        out: Block = []
        for stmt in block:
            stmt = map_blocks(stmt, self.block)
            if isinstance(stmt, Assign) and stmt.origin is not None:
                self.assign(stmt, stmt.origin, out)
            else:
                out.append(stmt)
        return out

    def assign(self, stmt: Assign, origin: Origin, out: Block) -> None:
        type_ = stmt.target.type
        op = Op(stmt.op.name, tuple(map(self.read, stmt.op.args)), stmt.op.attrs)
        if self.function.notes.get("pair") and op.name in ("shape", "size"):
            op = self.of_operand(op)
        found: Op | Operand | None = None
        if type_.dtype == "int64" and (origin.sweep or origin.frame):
            found = self.integer(op)
        elif origin.sweep and isinstance(type_, (Scalar, Array)):
            new = _New(self, out, origin)
            found = self.product(op, type_, new)
            if isinstance(found, Op) and _updates(stmt) and found.args == op.args[::-1]:
                found = None  # prints as `t_bar *= 1.7`
        if isinstance(found, (Var, Const)):
            if found.type == type_ and not stmt.target.user:
                self.replaced[stmt.target.name] = found
                return
        elif found is not None:
            op = found
        self.definitions[stmt.target.name] = op
        out.append(Assign(stmt.target, op, stmt.origin))

    def op(self, x: Operand, *names: str) -> Op | None:
        """The operation that a value is the result of, if it is one of these."""
        found = self.definitions.get(x.name) if isinstance(x, Var) else None
        return found if found is not None and found.name in names else None

    def inner(self, x: Operand, *names: str) -> Op | None:
        """The operation of a factor that has no other reader, and no name of the user's."""
        if isinstance(x, Var) and (x.user or self.reads[x.name] > 1):
            return None
        return self.op(x, *names)

    # ---- sizes

    def of_operand(self, op: Op) -> Op:
        """The size of an operand of the same shape, in place of that of an elementwise result."""
        for _ in rewrites("sizes of operands"):
            (array,) = op.args
            if not isinstance(array, Var) or array.user:
                break
            made = self.definitions.get(array.name)
            if made is None or made.name not in RULES:
                break
            alike = [x for x in made.args if isinstance(x, Var) and x.type == array.type]
            if RULES[made.name].kind != "elementwise" or not alike:
                break
            op = replace(op, args=(alike[0],))
        return op

    def integer(self, op: Op) -> Op | Operand | None:
        if op.name == "multiply":
            return self.size(op)
        if op.name not in ("add", "subtract", "floor_divide") or not _is_int(op.args[1]):
            return None
        x, c = op.args[0], op.args[1].value
        if op.name == "floor_divide":
            return x if c == 1 else None
        by = c if op.name == "add" else -c
        inner = self.op(x, "add", "subtract")
        if inner is not None and _is_int(inner.args[1]):
            by += inner.args[1].value if inner.name == "add" else -inner.args[1].value
            x = inner.args[0]
        elif by:
            return None
        if not by:
            return x
        sign, amount = ("add", by) if by > 0 else ("subtract", -by)
        return Op(sign, (x, replace(op.args[1], value=amount)))

    def size(self, op: Op) -> Op | Operand | None:
        """`d.size` for the product of all sizes of an array of several axes."""
        if any(_is_int(x) and x.value == 1 for x in op.args):
            return next(x for x in op.args if not (_is_int(x) and x.value == 1))
        factors: list[Operand] = []
        todo = list(op.args)
        while todo:
            x = todo.pop()
            inner = self.op(x, "multiply")
            if inner is None:
                factors.append(x)
            else:
                todo += inner.args
        sizes = [self.op(x, "shape") for x in factors]
        arrays = {s.args[0] for s in sizes if s is not None}
        if None in sizes or len(arrays) != 1:
            return None
        (array,) = arrays
        axes = sorted(s.attrs["axis"] for s in sizes if s is not None)
        return Op("size", (array,)) if axes == [*range(array.type.ndim)] else None

    # ---- products

    def product(self, op: Op, type_: Any, new: _New) -> Op | Operand | None:
        args = tuple(self.constant(x) for x in op.args)
        op = Op(op.name, args, op.attrs)
        if op.name == "negative":
            spread = self.spread(args[0])
            return spread and self.spread_again(spread, new("negative", spread.args[0]))
        if op.name not in ("multiply", "divide"):
            return None
        spread = self.spread(args[0])
        if spread is not None:
            return self.unspread(op, spread, type_, new)
        if op.name == "divide":
            if _is_one(args[1]) and _same(args[0], type_):
                return args[0]
            return op if args != op.args else None
        spread = self.spread(args[1])
        if spread is not None:
            return self.unspread(Op("multiply", args[::-1]), spread, type_, new)
        first, second = args
        return self.scaled(first, second, type_, new)

    def constant(self, x: Operand) -> Operand:
        """The constant that a number is: the seed of a tape is one."""
        made = self.op(x, "full_like", "literal")
        if made is not None and _float(x) and x.type.ndim == 0 and isinstance(made.args[-1], Const):
            return Const(made.args[-1].value, Scalar("float64", weak=True))
        return x

    def spread(self, x: Operand) -> Op | None:
        """The operation that broadcasts a number."""
        made = self.op(x, "broadcast_like")
        return made if made is not None and made.args[0].type.ndim == 0 else None

    def spread_again(self, spread: Op, number: Operand) -> Op:
        return Op("broadcast_like", (number, *spread.args[1:]), spread.attrs)

    def unspread(self, op: Op, spread: Op, type_: Any, new: _New) -> Op | Operand | None:
        """A product with a number that was broadcast."""
        number, other = self.constant(spread.args[0]), op.args[1]
        if other.type.ndim == 0:
            return self.spread_again(spread, new.simple(op.name, number, other))
        weak = getattr(number.type, "weak", False)
        if _shape(other) != type_.shape or not (weak or number.type.dtype == type_.dtype):
            return None
        if op.name == "divide":
            return Op("divide", (number, other))
        return self.scaled(number, other, type_, new) or Op("multiply", (number, other))

    def scaled(self, a: Operand, b: Operand, type_: Any, new: _New) -> Op | Operand | None:
        """A product, with the numbers among its factors in front."""
        if isinstance(b, Const) or (b.type.ndim == 0 < a.type.ndim):
            a, b = b, a
        if a.type.ndim or not _float(a) or not _float(b):
            return None
        if _is_one(a):
            return b if _same(b, type_) else None
        inner = self.inner(b, "multiply")
        if inner is not None:
            x, y = inner.args
            if x.type.ndim == 0 and y.type.ndim == type_.ndim and _float(x):
                if isinstance(x, Const) or type_.ndim:
                    return self.times(new.simple("multiply", a, x), y, type_)
            if not type_.ndim and _float(x):
                return self.times(new.simple("multiply", a, x), y, type_)
        inner = self.inner(b, "negative")
        if inner is not None and isinstance(a, Const):
            return Op("multiply", (replace(a, value=-a.value), inner.args[0]))
        inner = self.inner(b, "divide")
        if inner is not None and inner.args[0].type.ndim == 0 and _float(inner.args[0]):
            if isinstance(a, Const) or type_.ndim:
                return Op("divide", (new.simple("multiply", a, inner.args[0]), inner.args[1]))
        return Op("multiply", (a, b))

    def times(self, number: Operand, x: Operand, type_: Any) -> Op | Operand:
        return x if _is_one(number) and _same(x, type_) else Op("multiply", (number, x))


class _New:
    """Emits new values in front of a statement."""

    def __init__(self, algebra: _Algebra, out: Block, origin: Origin) -> None:
        self.algebra = algebra
        self.out = out
        self.origin = origin

    def __call__(self, name: str, *args: Operand) -> Operand:
        return self.emit(Op(name, args))

    def emit(self, op: Op) -> Operand:
        strong = [x.type.dtype for x in op.args if not getattr(x.type, "weak", False)]
        dtype = next((d for d in strong if d.startswith("float")), "float64")
        target = Var(self.algebra.names.fresh("t"), Scalar(dtype, weak=not strong))
        self.algebra.definitions[target.name] = op
        self.out.append(Assign(target, op, self.origin))
        return target

    def simple(self, name: str, a: Operand, b: Operand) -> Operand:
        """The product or quotient of two numbers."""
        algebra = self.algebra
        a, b = algebra.constant(a), algebra.constant(b)
        if name == "multiply":
            if isinstance(b, Const):
                a, b = b, a
            if _is_one(a) and _float(b):
                return b
            if isinstance(a, Const) and isinstance(b, Const):
                return replace(a if not a.type.weak else b, value=a.value * b.value)
            inner = algebra.inner(b, "negative")
            if isinstance(a, Const) and inner is not None:
                return self.simple("multiply", replace(a, value=-a.value), inner.args[0])
            inner = algebra.inner(b, "divide", "multiply")
            if isinstance(a, Const) and inner is not None and isinstance(inner.args[0], Const):
                first = self.simple("multiply", a, inner.args[0])
                return self.emit(Op(inner.name, (first, inner.args[1])))
            if isinstance(a, Const) and inner is not None and inner.name == "divide":
                first = self.simple("multiply", a, inner.args[0])
                return self.emit(Op("divide", (first, inner.args[1])))
        elif _is_one(b):
            return a
        return self.emit(Op(name, (a, b)))


def _without_dead_values(function: Function) -> Function:
    """The function without the values of its sweeps that nothing reads any more."""
    kept = [*function.results, *(v for _, v in function.effects)]
    for plan in function.notes.get("slots", {}).values():
        plan.substitute(lambda x: kept.append(x) or x)
    while True:
        read = {x.name for x in kept if isinstance(x, Var)}
        for s in walk(function.body):
            read |= {x.name for x in operands_of(s) if isinstance(x, Var)}

        def live(s: Stmt, read: set[str] = read) -> bool:
            swept = isinstance(s, Assign) and s.origin is not None and s.origin.sweep > 0
            return not (isinstance(s, Assign) and swept and s.target.name not in read)

        def cleaned(block: Block) -> Block:
            return [map_blocks(s, cleaned) for s in block if live(s)]

        body = cleaned(function.body)
        if sum(1 for _ in walk(body)) == sum(1 for _ in walk(function.body)):
            return function
        function = replace(function, body=body)


def _updates(stmt: Assign) -> bool:
    """Whether a product is another version of its first factor."""
    first = stmt.op.args[0]
    return isinstance(first, Var) and stem(first.name) == stem(stmt.target.name)


def _is_int(x: Operand) -> TypeGuard[Const]:
    return isinstance(x, Const) and isinstance(x.value, int) and not isinstance(x.value, bool)


def _is_one(x: Operand) -> bool:
    return isinstance(x, Const) and x.value == 1 and not isinstance(x.value, (bool, complex))


def _float(x: Operand) -> bool:
    return x.type.dtype in ("float64", "float32")


def _shape(x: Operand) -> Any:
    return getattr(x.type, "shape", None)


def _same(x: Operand, type_: Any) -> bool:
    return x.type.dtype == type_.dtype and _shape(x) == type_.shape
