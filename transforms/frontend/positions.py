"""Positions of all nodes of a libcst tree, and its comments, by one pass of its code generator.

libcst's own `PositionProvider` copies the tree and resolves metadata, which takes three to nine
times as long.  `CodegenState` is not public: `tests/transforms/frontend/test_positions.py` compares
the result with `PositionProvider`, and the version of libcst is bounded in pyproject.toml.
"""

from __future__ import annotations

from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

Place = tuple[int, int]  # line from 1, column in characters from 0


class Recorder(CodegenState):
    """Counts lines and characters instead of printing them.  `spans` has the start and end of each
    node by its `id`, `comments` each comment with its start, and `found` the nodes of those kinds
    that a source may be made of."""

    def __init__(self, module: cst.Module) -> None:
        self.default_indent = module.default_indent
        self.default_newline = module.default_newline
        self.provider: Any = None
        self.indent_tokens: list[str] = []
        self.tokens: list[str] = []
        self.line, self.column = 1, 0
        self.starts: list[Place] = []
        self.spans: dict[int, tuple[Place, Place]] = {}
        self.comments: list[tuple[Place, str]] = []
        self.found: dict[type, list[Any]] = {cst.FunctionDef: [], cst.Lambda: [], cst.With: []}
        module._codegen(self)

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.column += len(token)

    def add_token(self, value: str) -> None:
        newlines = value.count("\n")
        if newlines:
            self.line += newlines
            self.column = len(value) - value.rindex("\n") - 1
        else:
            self.column += len(value)

    def pop_trailing_newline(self) -> None:
        pass  # at the end of a file without a newline, after the last node

    def before_codegen(self, node: Any) -> None:
        self.starts.append((self.line, self.column))

    def after_codegen(self, node: Any) -> None:
        start = self.starts.pop()
        # What `record_syntactic_position` noted excludes the white space around the node.
        self.spans.setdefault(id(node), (start, (self.line, self.column)))
        kind = type(node)
        if kind is cst.Comment:
            self.comments.append((start, node.value))
        elif kind in self.found:
            self.found[kind].append(node)

    def record_syntactic_position(
        self, node: Any, *, start_node: Any = None, end_node: Any = None
    ) -> Any:
        return _Syntactic(self, node, start_node, end_node)


class _Syntactic:
    def __init__(self, recorder: Recorder, node: Any, start_node: Any, end_node: Any) -> None:
        self.recorder, self.node = recorder, node
        self.start_node, self.end_node = start_node, end_node

    def __enter__(self) -> None:
        self.start = self.recorder.line, self.recorder.column

    def __exit__(self, error: Any, *_: Any) -> None:
        if error is not None:  # a RecursionError: the nodes inside have no places
            return
        r = self.recorder
        start = self.start if self.start_node is None else r.spans[id(self.start_node)][0]
        end = (r.line, r.column) if self.end_node is None else r.spans[id(self.end_node)][1]
        r.spans[id(self.node)] = start, end
