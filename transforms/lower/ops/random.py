"""Random draws: a call of the runtime that returns one scalar, or fills a new buffer.

The runtime's functions are named for the generator's method: `rt.draws.one_standard_normal`,
`rt.draws.fill_standard_normal`, and `rt.draws.legacy_one_…` for NumPy's legacy generator.
Both are statements with side effects: nothing is moved across them.
"""

from __future__ import annotations

from ...ir import nodes
from ..build.context import Context
from ..loop_ir import nodes as L
from ..loop_ir.conversions import cast


def draw(ctx: Context, stmt: nodes.Draw) -> None:
    """Lower a random draw."""
    args: list[L.Expr | L.Subview] = []
    if stmt.rng is not None:
        assert isinstance(stmt.rng, nodes.Var)
        args.append(L.Name(ctx.python_name(stmt.rng), "rng"))
    params = [_argument(ctx, a) for a in stmt.args]
    if stmt.method in ("default_rng", "seed"):
        _generator(ctx, stmt, params)
        return
    (target,) = stmt.targets
    legacy = "" if stmt.rng is not None else "legacy_"
    name = ctx.python_name(target)
    ctx.invalidate_variable(name)
    ctx.env.pop(target.name, None)
    if stmt.size is None:
        function = f"rt.draws.{legacy}one_{stmt.method}"
        ctx.emitter.add(L.CallBuffers((name,), function, (*args, *params)))
        return
    assert isinstance(target.type, nodes.Array)
    sizes = tuple(ctx.integer(s) for s in stmt.size)
    out = ctx.allocate(name, target.type.dtype, sizes, target.type.shape)
    function = f"rt.draws.{legacy}fill_{stmt.method}"
    ctx.emitter.add(L.Call(function, (*args, out.as_argument(), *params)))


def _generator(ctx: Context, stmt: nodes.Draw, params: list[L.Expr | L.Subview]) -> None:
    """Create or seed a generator."""
    function = f"rt.draws.{stmt.method}"
    if not stmt.targets:
        ctx.emitter.add(L.Call(function, tuple(params)))
        return
    names = tuple(ctx.python_name(t) for t in stmt.targets)
    ctx.emitter.add(L.CallBuffers(names, function, tuple(params)))


def _argument(ctx: Context, operand: nodes.Operand) -> L.Expr | L.Subview:
    """An argument of a call of the runtime: a materialised array, or a scalar."""
    if operand.type.ndim:
        return ctx.materialise(ctx.value(operand)).as_argument()
    return cast(ctx.scalar(operand), operand.type.dtype)
