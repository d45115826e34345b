"""Scalar optimisations on value form: constant folding, copy propagation, CSE, DCE.

`simplify` is the driver: `_Rewriter` makes one pass, `eliminate_dead_code` (`dce.py`) removes dead
code, and both repeat to a fixpoint.  Start here, then read `peephole.py` (rewrite rules of single
operations) and `dce.py`.  The other files are passes of their own, or parts of the driver:

- `cse.py`: common subexpressions, before differentiation
- `cancel_increments.py`: adjoint code of `a[i] -= e` that cancels
- `reuse_powers.py`: x**(n-1) from x**n by one division
- `code_sinking.py`: moves a value into the only branch that reads it
- `inline_calls.py`, `accumulate_in_place.py`, `lists_to_slots.py`: calls after differentiation
- `shape_only_uses.py`: avoids saving a value of which only the shape is used

The user's statements (those with `Origin.sweep` 0) keep their source text.  They are removed if
dead, and their operands are renamed where a phi of adjoint code was removed, but nothing else
changes.  Adjoint code, and code without an origin, is simplified freely.

This folder may import `ir` and `runtime`.
"""

from __future__ import annotations

from typing import Any

from ..ir.builder import int_const
from ..ir.fixpoint import rewrites
from ..ir.nodes import (
    Assign,
    Block,
    Carried,
    Const,
    For,
    Function,
    If,
    Module,
    Op,
    Operand,
    Phi,
    Scalar,
    Stmt,
    Var,
    While,
    substitute,
    targets_of,
)
from ..ir.op_registry import RULES
from ..ir.record import replace
from ..ir.symbolic_dims import Facts
from .cancel_increments import cancel_increments
from .cse import operation_key
from .dce import eliminate_dead_code, is_user_code
from .peephole import Context, rewrite_op
from .shape_only_uses import ShapeOnlyUses

# Kinds of operations that CSE excludes: each zero array is the start of its own accumulation.
_UNSHARED_KINDS = ("create", "update", "list")
# Upper limit of the fixpoint iteration.
_MAX_ITERATIONS = 20


def simplify(module: Module, facts: Facts | None = None) -> Module:
    """Simplify all functions of a module."""
    return module.map(lambda f, known: simplify_function(f, known or Facts()), facts)


def simplify_function(function: Function, facts: Facts) -> Function:
    """Simplify one function."""
    rewritten = _rewritten(function, facts)
    shorter = cancel_increments(rewritten)
    return rewritten if shorter is rewritten else _rewritten(shorter, facts)


def _rewritten(function: Function, facts: Facts) -> Function:
    """The function after rewriting and dead code elimination to a fixpoint."""
    for _ in range(_MAX_ITERATIONS):
        before = function
        function = eliminate_dead_code(_Rewriter(function, facts).run())
        if function == before:
            break
    return function


class _Rewriter:
    """One rewriting pass over the statements, in order.

    `names` maps each replaced name to its operand.  `shared` holds the available expressions, one
    table per open block.  `bound` are the names defined so far.
    """

    def __init__(self, function: Function, facts: Facts) -> None:
        self.function = function
        self.context = Context(facts)
        self.names: dict[str, Operand] = {}
        self.shared: list[dict[Any, Var]] = []
        self.bound = {p.name for p in function.params}
        self.twins = ShapeOnlyUses(function, facts, self.bound)

    def run(self) -> Function:
        f = self.function
        body = self.block(f.body)
        results = [self.read(r) for r in f.results]
        effects = [(p, self.read(v)) for p, v in f.effects]
        notes = f.notes
        if "slots" in notes:
            plans = {k: plan.substitute(self.read) for k, plan in notes["slots"].items()}
            notes = {**notes, "slots": plans}
        return replace(f, body=body, results=results, effects=effects, notes=notes)

    def read(self, x: Operand) -> Operand:
        """The operand that replaces `x`, or `x` itself."""
        while isinstance(x, Var) and x.name in self.names:
            x = self.names[x.name]
        return x

    def resolved(self, op: Op) -> Op:
        """`op` with replaced operands."""
        return Op(op.name, tuple([self.read(a) for a in op.args]), op.attrs)

    def block(self, block: Block) -> Block:
        self.shared.append({})
        out: Block = []
        for stmt in block:
            self.stmt(stmt, out)
        self.shared.pop()
        return out

    def stmt(self, stmt: Stmt, out: Block) -> None:
        if isinstance(stmt, Assign):
            self.assign(stmt, out)
        elif isinstance(stmt, If):
            self.branch(stmt, out)
        elif isinstance(stmt, (For, While)):
            self.loop(stmt, out)
        else:
            out += substitute([stmt], self.read)
            self.bound |= {v.name for v in targets_of(stmt)}

    # ---- assignments

    def assign(self, stmt: Assign, out: Block) -> None:
        target, op = stmt.target, stmt.op
        op = self.resolved(op)
        if not is_user_code(stmt):
            # `twins` refers to the function before this pass, so replaced names are resolved again.
            op = self.resolved(self.twins.replace(op))
            found = None
            for _ in rewrites("simplify"):
                simplified = rewrite_op(self.context, op, target.type)
                if not isinstance(simplified, Op):
                    found = simplified
                    break
                op = simplified
            if found is None:
                found = self.known(op, target)
            if found is not None:
                self.names[target.name] = found
                return
        self.context.definitions[target.name] = op
        self.bound.add(target.name)
        out.append(Assign(target, op, stmt.origin))

    def known(self, op: Op, target: Var) -> Operand | None:
        """The value of the same operation, if it is available from adjoint code; else None.

        A restore must stay at its location.  Sizes and single elements are excluded, because the
        emitted code is more readable with them at their uses.
        """
        if op.name in ("restore", "undef", "copy") or RULES[op.name].kind in _UNSHARED_KINDS:
            return None
        if op.name == "shape" or (op.name == "index" and isinstance(target.type, Scalar)):
            return None
        key = operation_key(op), getattr(target.type, "weak", None)
        for table in reversed(self.shared):
            if key in table:
                return table[key]
        self.shared[-1][key] = target
        return None

    # ---- branches

    def branch(self, stmt: If, out: Block) -> None:
        cond = self.read(stmt.cond)
        free = not is_user_code(stmt)
        if free and isinstance(cond, Const):
            out += self.block(stmt.then if cond.value else stmt.orelse)
            for p in stmt.phis:
                self.names[p.target.name] = p.then_value if cond.value else p.else_value
            return
        then, orelse = self.block(stmt.then), self.block(stmt.orelse)
        phis = []
        for p in stmt.phis:
            phi = Phi(p.target, self.read(p.then_value), self.read(p.else_value))
            value = self.context.retyped(phi.then_value, p.target.type)
            if free and value is not None and phi.then_value == phi.else_value:
                self.names[p.target.name] = value
            else:
                phis.append(phi)
        out.append(replace(stmt, cond=cond, then=then, orelse=orelse, phis=phis))

    # ---- loops

    def loop(self, stmt: For | While, out: Block) -> None:
        free = not is_user_code(stmt)
        if free and isinstance(stmt, For) and self.never_runs(stmt):
            for c in stmt.carried:
                self.names[c.result.name] = c.init
            if stmt.trips is not None:
                self.names[stmt.trips.name] = int_const(0)
            return
        if free:
            self.drop_constant_carried(stmt)
        carried = [c for c in stmt.carried if c.phi.name not in self.names]
        changes: dict[str, Any] = {}
        if isinstance(stmt, While):
            # The test's values are visible in the body.
            test: Block = []
            self.shared.append({})
            for s in stmt.test:
                self.stmt(s, test)
            changes.update(test=test, cond=self.read(stmt.cond), body=self.block(stmt.body))
            self.shared.pop()
        else:
            changes.update({k: self.read(getattr(stmt, k)) for k in ("start", "stop", "step")})
            changes["count"] = None if stmt.count is None else self.read(stmt.count)
            if stmt.budget is not None:
                changes["budget"] = replace(stmt.budget, amount=self.read(stmt.budget.amount))
            changes["body"] = self.block(stmt.body)
        changes["until"] = None if stmt.until is None else self.read(stmt.until)
        changes["carried"] = [
            Carried(c.phi, self.read(c.init), self.read(c.next), c.result) for c in carried
        ]
        out.append(replace(stmt, **changes))

    def never_runs(self, stmt: For) -> bool:
        """True if the trip count is statically 0."""
        if stmt.count is not None:
            count = self.read(stmt.count)
            return isinstance(count, Const) and count.value <= 0
        bounds = [self.read(x) for x in (stmt.start, stmt.stop, stmt.step)]
        constants = [x.value for x in bounds if isinstance(x, Const)]
        return len(constants) == 3 and constants[2] != 0 and len(range(*constants)) == 0

    def drop_constant_carried(self, stmt: For | While) -> None:
        """Replace loop-carried values that no iteration changes by their initial values."""
        for c in stmt.carried:
            init, after = self.read(c.init), self.read(c.next)
            value = self.context.retyped(init, c.phi.type)
            if value is not None and after in (init, c.phi):
                self.names[c.phi.name] = self.names[c.result.name] = value
