"""Alias queries: which buffers may share memory."""

from __future__ import annotations

from collections.abc import Callable

from ..loop_ir import nodes as L

MayAlias = Callable[[str, str], bool]


def with_bindings(body: list[L.Stmt], may_alias: MayAlias) -> MayAlias:
    """`may_alias` extended by the aliases that a body creates.

    Names bound to one another's buffers by `Rebind`, `View` or a call form a group.  Two groups may
    alias if any two of their members may.
    """
    groups: dict[str, set[str]] = {}
    for s in L.walk(body):
        names: list[str] = []
        if isinstance(s, L.Rebind):
            names = [s.name, s.other]
        elif isinstance(s, L.View):
            names = [s.name, s.buffer]
        elif isinstance(s, (L.CallBuffers, L.CallRoutine)):
            names = [*s.names, *(a.buffer for a in s.args if isinstance(a, L.Subview))]
        group = set(names).union(*(groups.get(n, ()) for n in names))
        groups.update(dict.fromkeys(group, group))

    def share(a: str, b: str) -> bool:
        return any(may_alias(p, q) for p in groups.get(a, (a,)) for q in groups.get(b, (b,)))

    return share if groups else may_alias
