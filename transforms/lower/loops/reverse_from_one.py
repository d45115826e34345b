"""Rewrite reverse loops of unit step whose end may not fit in 64 bits, on loop-level IR.

    for i in range(b - 1, a - 1, -1):          for k in range(b, a, -1):
        x_bar[i] += s                      →       i = k - 1
                                                   x_bar[i] += s

`a - 1` wraps if `a` is the least int64, and the loop on the left makes no iterations then.  The
bounds on the right are those of the forward loop, which always fit.
"""

from __future__ import annotations

from collections.abc import Callable

from ..loop_ir import nodes as L


def count_from_stop(
    body: list[L.Stmt], steps: dict[str, int], new_name: Callable[[str], str]
) -> None:
    """Rewrite `body` in place.

    `steps` are the steps of the forward loops, by the variables of their reverse loops.  Loops that
    other passes have reversed again stay as they are.
    """
    for loop in L.walk(body):
        if not (isinstance(loop, L.Loop) and loop.var in steps):
            continue
        step = L.lit(steps[loop.var])
        if loop.step != L.lit(-step.value):
            continue
        index, loop.var = loop.var, new_name("k")
        loop.stop = L.add(loop.stop, step)
        limit = ">=" if step.value > 0 else "<="
        loop.start = L.strip_clamp(L.add(loop.start, step), loop.stop, limit)
        loop.body.insert(0, L.Let(index, L.sub(L.Name(loop.var), step)))
