"""What the compiler asks of a cache of parsed functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from s2s.transforms.frontend import parse_cache
from s2s.transforms.frontend.source import cache_key, read


class Kept:
    def __init__(self) -> None:
        self.values: dict[tuple[str, str], Any] = {}

    def get(self, text: str, key: str) -> Any:
        return self.values.get((text, key))

    def put(self, text: str, key: str, value: Any) -> None:
        self.values[text, key] = value


@pytest.fixture
def kept() -> Iterator[Kept]:
    before = parse_cache.installed
    cache = Kept()
    parse_cache.install(cache)
    yield cache
    parse_cache.install(before)


def test_without_a_cache_nothing_is_kept(kept: Kept) -> None:
    parse_cache.install(None)
    parse_cache.put("text", "key", 1)
    assert parse_cache.get("text", "key") is None and not kept.values


def test_what_was_parsed_is_used_again(kept: Kept) -> None:
    def f(x):
        return x  # as it is

    first = read(f)
    assert len(kept.values) == 1
    again = read(f)
    assert again.node is first.node and again is not first
    assert (again.first, again.last, again.comments) == (first.first, first.last, first.comments)


def test_each_code_object_has_its_own_key() -> None:
    def code(text: str) -> Any:
        space: dict[str, Any] = {}
        exec(text, space)
        return space["f"].__code__

    base = code("def f(x, y): return x + 1")
    assert cache_key(base) == cache_key(code("def f(x, y): return x + 1"))
    others = [
        "\ndef f(x, y): return x + 1", "def f(x, z): return x + 1", "def f(x, y): return x + 2",
        "def f(x, y): return x + 1.0", "def f(x, y): return x + True", "def f(x, y): return x - 1",
        "def f(x, *y): return x + 1",
        "def f(x, /, y): return x + 1", "def f(x, *, y): return x + 1",
        "f = lambda x, y: x + 1", "def f(x, y): return lambda: x + 1", "def f(x, y): yield x + 1",
    ]  # fmt: skip
    keys = {cache_key(base), *(cache_key(code(text)) for text in others)}
    assert len(keys) == 1 + len(others)
    assert cache_key(base) != cache_key(base, "with", 3) != cache_key(base, "with", 4)


def test_constants_that_are_equal_but_differ() -> None:
    keys = {
        cache_key(compile(text, "", "eval"))
        for text in ("0.0", "-0.0", "0", "0j", "(0.0, 'a')", "(0, 'a')", "x in {1}", "x in {1.0}")
    }
    assert len(keys) == 8
    assert cache_key(compile("x in {'a', 'b', 'c'}", "", "eval")) == cache_key(
        compile("x in {'c', 'b', 'a'}", "", "eval")
    )
