"""The source of a tape's block: found by the frame's line, refused if the file has changed."""

from __future__ import annotations

import importlib.util
import linecache
import sys
from pathlib import Path
from typing import Any

import pytest

from s2s.errors import SourceError
from s2s.tape.block_source import source_of
from s2s.transforms.syntax.printer import show_block


class Asks:
    """A context manager that looks up its block on entry."""

    def __enter__(self) -> Asks:
        self.source, self.node = source_of(sys._getframe(1))
        return self

    def __exit__(self, *error: Any) -> None: ...


def test_the_statement_and_its_lines() -> None:
    x = 1.0
    with Asks() as asks:
        # a comment
        y = x * 2.0
    assert show_block(asks.node.body) == "y = x * 2.0\n"
    assert asks.source.node.body == (asks.node,)
    assert asks.source.last - asks.source.first == 2 and y == 2.0
    assert asks.source.file == __file__
    assert "# a comment" in str(asks.source.comments)


def test_nested_blocks() -> None:
    with Asks() as outer:
        with Asks() as inner:
            x = 1.0
    assert inner.source.first == outer.source.first + 1 and x == 1.0
    assert show_block(outer.node.body).startswith("with Asks() as inner")


def test_several_managers_over_several_lines() -> None:
    with (
        Asks() as one,
        Asks() as other,
    ):
        pass
    assert one.source.node is not None and one.source.first == other.source.first


def test_two_blocks_on_adjacent_lines() -> None:
    with Asks() as one: x = 1  # fmt: skip # noqa: E701
    with Asks() as other: y = 2  # fmt: skip # noqa: E701
    assert show_block(one.node.body) == "x = 1\n"
    assert show_block(other.node.body) == "y = 2\n" and (x, y) == (1, 2)


TEXT = """
def run(Asks, x=1.0, z=3.0):
    with Asks() as asks:
        y = x * 2.0
        if y > 1.0:
            y += x
    return asks
"""


def loaded(path: Path, text: str) -> Any:
    path.write_text(text)
    linecache.checkcache()
    spec = importlib.util.spec_from_file_location("block_program", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    exec(compile(text, str(path), "exec"), vars(module))
    return module


def test_a_file_that_is_as_it_was(tmp_path: Path) -> None:
    module = loaded(tmp_path / "program.py", TEXT)
    assert module.run(Asks).source.file == str(tmp_path / "program.py")


CHANGES = [("    with Asks", "    if True: pass\n    for _ in ():\n        pass\n    with Asks")]
if sys.version_info >= (3, 11):  # before, the bytecode records no positions
    CHANGES += [
        ("x * 2.0", "z * 2.0"), ("x * 2.0", "x + 2.0"), ("x * 2.0", "x * 5.0"),
        ("y > 1.0", "y < 1.0"), ("y += x", "y -= x"),
    ]  # fmt: skip


@pytest.mark.parametrize("old, new", CHANGES)
def test_a_file_that_has_changed(tmp_path: Path, old: str, new: str) -> None:
    module = loaded(tmp_path / "program.py", TEXT)
    (tmp_path / "program.py").write_text(TEXT.replace(old, new))
    linecache.checkcache()
    with pytest.raises(SourceError, match="has changed since it was loaded") as info:
        module.run(Asks)
    assert info.value.advice == "restart Python"


def test_code_without_a_file() -> None:
    space: dict[str, Any] = {}
    exec(compile(TEXT, "<no file>", "exec"), space)
    with pytest.raises(SourceError, match="the block of this tape"):
        space["run"](Asks)
