"""Alias queries: which buffers may share memory."""

from __future__ import annotations

from collections.abc import Callable

from ..loop_ir import nodes as L
from ..loop_ir.operations import shared_buffers
from .liveness import defs

MayAlias = Callable[[str, str], bool]


def with_bindings(body: list[L.Stmt], may_alias: MayAlias) -> MayAlias:
    """`may_alias` extended by the aliases that a body creates.

    Names bound to one another's buffers by `Rebind`, `View` or a call form a group.  Two groups may
    alias if any two of their members may.
    """
    groups: dict[str, set[str]] = {}
    for s in L.walk(body):
        others = shared_buffers(s)
        names = [*defs(s), *others] if others else ()
        group = set(names).union(*(groups.get(n, ()) for n in names))
        groups.update(dict.fromkeys(group, group))

    def share(a: str, b: str) -> bool:
        return any(may_alias(p, q) for p in groups.get(a, (a,)) for q in groups.get(b, (b,)))

    return share if groups else may_alias
