"""The source of a tape's block: found by the frame's line, refused if the file has changed."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import linecache
import sys
from pathlib import Path
from typing import Any

import pytest

import s2s
from s2s.errors import SourceError, UnsupportedError
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


# ---- blocks wherever they stand


def squared_slope(x: Any) -> float:
    with s2s.GradientTape() as tape:
        y = x * x
    return float(tape.gradient(y, x))


def in_try(x: Any) -> float:
    try:
        with s2s.GradientTape() as tape:
            y = x * x
        raise KeyError
    except KeyError:
        with s2s.GradientTape() as other:
            z = x * x * x
        return float(tape.gradient(y, x) + other.gradient(z, x))  # pyright: ignore[reportPossiblyUnboundVariable]
    finally:
        with s2s.GradientTape():
            z = x


def in_a_generator(x: Any) -> float:
    def slopes() -> Any:
        for k in range(3):
            with s2s.GradientTape() as tape:
                y = x * x * k
            yield float(tape.gradient(y, x))

    return sum(slopes())


def in_a_coroutine(x: Any) -> float:
    async def slope() -> float:
        async with asyncio.Lock():
            with s2s.GradientTape() as tape:
                y = x * x
        await asyncio.sleep(0)
        return float(tape.gradient(y, x))

    return asyncio.run(slope())


def in_a_class(x: Any) -> float:
    class Body:
        with s2s.GradientTape() as tape:
            y = x * x
        slope = float(tape.gradient(y, x))

    return Body.slope


y0 = "another y0"


def in_a_class_of_a_class(x: Any) -> float:
    y0 = x * 2.0

    class Outer:
        class Inner:
            with s2s.GradientTape() as tape:
                y = x * y0
            slope = float(tape.gradient(y, x))

    return Outer.Inner.slope


def of_two_tapes(x: Any) -> float:
    with s2s.GradientTape() as one, s2s.GradientTape() as other:
        y = x * x
    return float(one.gradient(y, x) + other.gradient(y, x))


def over_several_lines(x: Any) -> float:
    with s2s.GradientTape(  # a comment
        persistent=True
    ) as tape:
        y = x * x
    return float(tape.gradient(y, x))  # fmt: skip


def behind_other_characters(é: Any) -> float:
    ü = "ööö"
    with s2s.GradientTape() as ñ: é2 = é * é if ü == "ööö" else é; ª = é2 * 2.0  # fmt: skip # noqa
    return float(ñ.gradient(ª, é))


class Private:
    def __init__(self, x: Any) -> None:
        self.__x = x

    def slope(self) -> float:
        with s2s.GradientTape() as __tape:
            __y = self.__x * self.__x
        return float(__tape.gradient(__y, self.__x))


BLOCKS = {
    squared_slope: 6.0, in_try: 33.0, in_a_generator: 18.0, in_a_coroutine: 6.0, in_a_class: 6.0,
    in_a_class_of_a_class: 6.0,
    of_two_tapes: 12.0, over_several_lines: 6.0, behind_other_characters: 12.0,
    (lambda x: Private(x).slope()): 6.0, (lambda x: [squared_slope(x) for _ in range(2)][1]): 6.0,
}  # fmt: skip


@pytest.mark.parametrize("f", BLOCKS)
def test_a_block_is_differentiated_wherever_it_stands(f: Any) -> None:
    assert f(s2s.Variable(3.0)) == BLOCKS[f]


def yields(x: Any) -> Any:
    with s2s.GradientTape() as tape:
        y = x * x
        yield y
    yield tape.gradient(y, x)


async def awaits(x: Any) -> Any:
    with s2s.GradientTape() as tape:
        y = x * x
        await asyncio.sleep(0)
    return tape.gradient(y, x)


def catches(x: Any) -> Any:
    with s2s.GradientTape() as tape:
        try:
            y = [x][1]
        except IndexError:
            y = x
    return tape.gradient(y, x)


def opens(x: Any) -> Any:
    with contextlib.nullcontext(), s2s.GradientTape() as tape:
        y = x * x
    return tape.gradient(y, x)


def breaks(x: Any) -> Any:
    for _ in range(2):
        with s2s.GradientTape() as tape:
            y = x * x
            break
    return tape.gradient(y, x)  # pyright: ignore[reportPossiblyUnboundVariable]


REFUSED = [
    (lambda x: list(yields(x)), "generators are not supported", "yield y"),
    (lambda x: asyncio.run(awaits(x)), "`await` is not supported", "await asyncio.sleep(0)"),
    (catches, "catching IndexError here is not supported", "y = [x][1]"),
    (opens, "`with` is not supported here",
     "with contextlib.nullcontext(), s2s.GradientTape() as tape:"),
    (breaks, "a break inside this block is not supported", "break"),
]  # fmt: skip


@pytest.mark.parametrize("f, message, line", REFUSED)
def test_a_block_that_is_refused(f: Any, message: str, line: str) -> None:
    with pytest.raises(UnsupportedError, match=message) as info:
        f(s2s.Variable(3.0))
    assert info.value.file == __file__ and info.value.source_line.strip() == line
    assert "move this line out of the tape's block" in info.value.advice


def test_a_deep_block_is_refused_with_its_place(tmp_path: Path) -> None:
    text = f"y = 1\nwith Asks() as asks:\n    y = {' + '.join(['y'] * 900)}\n"
    path = tmp_path / "program.py"
    path.write_text(text)
    with pytest.raises(UnsupportedError, match="program.py:2:1: the block of this tape nests expr"):
        exec(compile(text, str(path), "exec"), {"Asks": Asks})
