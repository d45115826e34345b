"""Positions and comments by our pass equal those of `libcst.metadata`."""

from __future__ import annotations

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from s2s.transforms.frontend.positions import Recorder
from tests.transforms.frontend.sources import module, own_files
from tests.transforms.frontend.test_cst_to_core import RARE


def check(tree: cst.Module) -> None:
    expected = MetadataWrapper(tree, unsafe_skip_copy=True).resolve(PositionProvider)
    found = Recorder(tree).spans
    for node, place in expected.items():
        start, end = (place.start.line, place.start.column), (place.end.line, place.end.column)
        if not isinstance(node, cst.Module):
            assert found[id(node)] == (start, end), node
    assert len(expected) > 3


def test_positions_in_own_files() -> None:
    files = [path for path in own_files() if "corpus" in path.parts or "syntax" in path.parts]
    for path in files[::3]:
        check(module(path))


@pytest.mark.parametrize("text", [
    *RARE, "\ta = 1\n".strip(), "x = '''\né\n'''; y = 1", "if 1:\n\tx\n\ty = '''\n'''", "# c\n\n\n",
    "def f(\n  x,  # c\n): # d\n  # e\n  return x",
])  # fmt: skip
def test_positions_of_rare_syntax(text: str) -> None:
    check(cst.parse_module(text))


def test_comments_and_nodes_that_are_found() -> None:
    tree = cst.parse_module("# é\nx = 'é'  # b\nwith a: # c\n  f = lambda: (lambda: 1) # d\n")
    recorder = Recorder(tree)
    assert recorder.comments == [
        ((1, 0), "# é"),
        ((2, 9), "# b"),
        ((3, 8), "# c"),
        ((4, 26), "# d"),
    ]
    assert [len(nodes) for nodes in recorder.found.values()] == [0, 2, 1]


def test_deep_nesting_is_a_recursion_error() -> None:
    """Not another error, raised while the stack unwinds."""
    with pytest.raises(RecursionError):
        Recorder(cst.parse_module("if a: b\n" + "elif a: b\n" * 2000))
