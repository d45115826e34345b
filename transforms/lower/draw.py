"""Random draws: a call of the runtime that yields one number, or fills a new buffer.

The runtime's functions are named for the generator's method: `rt.draws.one_standard_normal`,
`rt.draws.fill_standard_normal`, and `rt.draws.legacy_one_…` for NumPy's legacy generator.
Both are statements that nothing is moved across.
"""

from __future__ import annotations

from .. import ir
from . import loop_ir as L
from .context import Context
from .elementwise import cast


def draw(cx: Context, stmt: ir.Draw) -> None:
    args: list[L.Expr | L.Whole] = []
    if stmt.rng is not None:
        assert isinstance(stmt.rng, ir.Var)
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
    assert isinstance(target.type, ir.Array)
    sizes = tuple(cx.integer(s) for s in stmt.size)
    out = cx.allocate(name, target.type.dtype, sizes, target.type.shape)
    function = f"rt.draws.{legacy}fill_{stmt.method}"
    cx.em.add(L.Do(function, (*args, out.whole(), *params)))


def _make(cx: Context, stmt: ir.Draw, params: list[L.Expr | L.Whole]) -> None:
    function = f"rt.draws.{stmt.method}"
    if not stmt.targets:
        cx.em.add(L.Do(function, tuple(params)))
        return
    names = tuple(cx.python_name(t) for t in stmt.targets)
    cx.em.add(L.BindCall(names, function, tuple(params)))


def _argument(cx: Context, operand: ir.Operand) -> L.Expr | L.Whole:
    if operand.type.ndim:
        return cx.materialise(cx.value(operand)).whole()
    return cast(cx.scalar(operand), operand.type.dtype)
