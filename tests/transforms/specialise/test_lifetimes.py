"""Which names may still be read."""

from __future__ import annotations

from s2s.transforms.frontend.source import read
from s2s.transforms.specialise.lifetimes import lifetimes


def straight(x):
    a = x + 1.0
    b = a * 2.0
    a = b
    return a


def loop(x, n):
    s = 0.0
    for _ in range(n):
        t = s
        s = t + x
    return s


def captures(x):
    y = x
    f = lambda: y  # noqa: E731
    x = 1.0
    return f


def alive(function) -> list[set[str]]:
    body = read(function).node.body
    found = lifetimes(body)
    return [set(found[id(stmt)]) for stmt in body]


def test_a_name_is_dead_after_its_last_read() -> None:
    assert alive(straight) == [{"x"}, {"a"}, {"b"}, {"a"}]


def test_the_next_iteration_reads_what_the_loop_reads() -> None:
    body = read(loop).node.body
    found = lifetimes(body)
    assert {"s", "x"} <= found[id(body[1].body[0])]
    assert found[id(body[2])] == {"s"}


def test_what_a_nested_function_reads_stays() -> None:
    assert all("y" in names for names in alive(captures)[1:])
