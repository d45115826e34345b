"""Random draws: a call of the runtime that yields one number, or fills a new buffer.

The runtime's functions are named for the generator's method: `rt.draws.one_standard_normal`,
`rt.draws.fill_standard_normal`, and `rt.draws.legacy_one_…` for NumPy's legacy generator.
Both are statements that nothing is moved across.
"""

from __future__ import annotations

from ...ir import nodes
from ..build.context import Context
from ..loop_ir import nodes as L
from ..loop_ir.conversions import cast


def draw(cx: Context, stmt: nodes.Draw) -> None:
    args: list[L.Expr | L.Whole] = []
    if stmt.rng is not None:
        assert isinstance(stmt.rng, nodes.Var)
        args.append(L.Name(cx.python_name(stmt.rng), "rng"))
    params = [_argument(cx, a) for a in stmt.args]
    if stmt.method in ("default_rng", "seed"):
        _make(cx, stmt, params)
        return
    (target,) = stmt.targets
    legacy = "" if stmt.rng is not None else "legacy_"
    name = cx.python_name(target)
    cx.forget(name)
    cx.env.pop(target.name, None)
    if stmt.size is None:
        function = f"rt.draws.{legacy}one_{stmt.method}"
        cx.em.add(L.BindCall((name,), function, (*args, *params)))
        return
    assert isinstance(target.type, nodes.Array)
    sizes = tuple(cx.integer(s) for s in stmt.size)
    out = cx.allocate(name, target.type.dtype, sizes, target.type.shape)
    function = f"rt.draws.{legacy}fill_{stmt.method}"
    cx.em.add(L.Do(function, (*args, out.whole(), *params)))


def _make(cx: Context, stmt: nodes.Draw, params: list[L.Expr | L.Whole]) -> None:
    function = f"rt.draws.{stmt.method}"
    if not stmt.targets:
        cx.em.add(L.Do(function, tuple(params)))
        return
    names = tuple(cx.python_name(t) for t in stmt.targets)
    cx.em.add(L.BindCall(names, function, tuple(params)))


def _argument(cx: Context, operand: nodes.Operand) -> L.Expr | L.Whole:
    if operand.type.ndim:
        return cx.materialise(cx.value(operand)).whole()
    return cast(cx.scalar(operand), operand.type.dtype)
