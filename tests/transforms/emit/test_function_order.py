"""The order of the functions of a page."""

from __future__ import annotations

from typing import Any

from s2s.transforms.emit.function_order import in_reading_order
from s2s.transforms.ir.nodes import Call, Function, Module


class _Node:
    def __init__(self, line: int) -> None:
        self.line, self.at = line, (line, 0)


class _Source:
    file = "f.py"

    def __init__(self, line: int) -> None:
        self.node = _Node(line)


def function(name: str, line: int, calls: tuple[str, ...] = (), **notes: Any) -> Function:
    body: list[Any] = [Call([], callee, ()) for callee in calls]
    return Function(name, [], body, [], source=_Source(line), notes=notes)


def test_callees_first_and_pairs_together() -> None:
    functions = [
        function("main", 30, ("g", "h_fwd", "h_rev", "g_rev")),
        function("g_rev", 20, forward_half="g", pair=()),
        function("h_rev", 10, forward_half="h_fwd", pair=()),
        function("h_fwd", 10, returned=1),
        function("g", 20, ("h_fwd",)),
    ]
    module = Module({f.name: f for f in functions}, "main")
    found = [f.name for f in in_reading_order(module)]
    assert found == ["h_fwd", "h_rev", "g", "g_rev", "main"]
