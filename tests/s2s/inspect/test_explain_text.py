"""The report of `explain` as text, from hand-made data: its sections, plural forms, width."""

from __future__ import annotations

from typing import Any

import pytest

from s2s.inspect.explain_data import Inactive, OnThreads, Recompilation, ReportData
from s2s.inspect.explain_text import WIDTH, amount, text
from s2s.transforms.diagnostics.activity_report import ActiveVariable, SourceLocation
from s2s.transforms.diagnostics.tape_report import Loop, Recomputed, Saved, Size


def report(**changed: Any) -> ReportData:
    made = ReportData("f(x, y)", "/home/user/model.py", 7, derivative=True, wrt=("x",))
    for name, value in changed.items():
        setattr(made, name, value)
    return made


def told(**changed: Any) -> str:
    return text(report(**changed))


def place(line: int, code: str = "", file: str = "/home/user/model.py") -> SourceLocation:
    return SourceLocation(file, line, code)


def saved(name: str, per: Size | None, total: Size | None, loops: Any = (), **more: Any) -> Saved:
    options: dict[str, Any] = {"kind": "array", "place": place(9), "iterations": None, **more}
    return Saved(name=name, expression=name, per_iteration=per, total=total, loops=loops, **options)


def test_an_empty_report() -> None:
    assert told() == (
        "f(x, y)  --  model.py:7\n\nActive: nothing\n\nSaved for the adjoint sweep: nothing\n\n"
        "Not compiled yet"
    )
    without = told(derivative=False)
    assert "No derivative is taken: nothing is active, saved or recomputed." in without


def test_active() -> None:
    variables = [
        ActiveVariable("x", (place(8),), ""),
        ActiveVariable("h", (place(8), place(9), place(8)), ""),
        ActiveVariable("z", (place(3, file="/home/user/other.py"),), "in helper"),
    ]
    lines = told(arguments=["x", "y"], active=variables).splitlines()
    assert "Active: what depends on x and reaches the result" in lines
    assert "  x, y  arguments" in lines
    assert "  h     L8, L9" in lines
    assert "  z     other.py:3 in helper" in lines
    assert "  x  argument" in told(arguments=["x"])


def test_without_a_derivative() -> None:
    lines = told(
        inactive=[
            Inactive("y", "is an integer", "0"),
            Inactive("k", "is an integer", "0"),
            Inactive("u", "does not reach the result"),
            Inactive("v", "does not reach the result", "None", place(12)),
        ]
    )
    assert "  y, k  gradient 0: are an integer" in lines
    assert "  u     does not reach the result" in lines
    assert "  v     gradient None in L12: does not reach the result" in lines


LOOP = Loop(place(8, "for i in range(n):"), Size("n", 100))


def test_saved() -> None:
    once = saved("h", Size("8", 8), Size("8", 8))
    lines = told(saved=[once]).splitlines()
    assert "Saved for the adjoint sweep: 8 B" in lines and "  once" in lines
    assert lines.index("    L9  h") < lines.index("      8 B")
    rows = [
        saved(name, Size("8 * m", 16), Size("8 * m * n", 1600), (LOOP,), iterations=Size("n", 100))
        for name in "ab"
    ]
    lines = told(saved=rows).splitlines()
    assert "Saved for the adjoint sweep: 3.2 kB" in lines
    assert "  in each iteration of L8 `for i in range(n)`" in lines
    assert "      8 * m bytes = 16 B each" in lines
    assert "      together 32 B per iteration, n = 100 iterations: 3.2 kB" in lines


def test_saved_of_unknown_size() -> None:
    loop = Loop(None, None)
    rows = [saved("t_1", None, None, (loop,)), saved("u", Size("8 * k", None), None, (loop,))]
    lines = told(saved=rows).splitlines()
    assert "Saved for the adjoint sweep" in lines
    assert "  in each iteration of a loop" in lines and "      a list" in lines
    assert "      8 * k bytes" in lines and "      as often as the loop runs" in lines


def test_kept_and_computed_again() -> None:
    kept = told(kept=[saved("x", Size("8", 8), Size("8", 8), kind="kept")])
    assert "Kept in memory until then, without a copy: 8 B" in kept
    again = told(
        recomputed=[
            Recomputed(place=place(9), name="h", expression="np.exp(x)", why="cheap"),
            Recomputed(place=place(9), name="u", expression="g(x)", why="checkpoint"),
            Recomputed(place=None, name="fall", expression="", why="call"),
        ]
    )
    assert "  L9     np.exp(x), g(x) (s2s.checkpoint)" in again
    assert "  calls  fall (recursive: it keeps nothing)" in again


def test_threads() -> None:
    rows = [OnThreads("L8: for i in range(n)"), OnThreads("L12: for j in range(n)", "it carries s")]
    lines = told(threads=rows, no_threads="S2S_NUM_THREADS=1")
    assert "On threads if there were any (S2S_NUM_THREADS=1)" in lines
    assert "  L8   for i in range(n)\n" in lines
    assert "  L12  for j in range(n)  --  in order: it carries s" in lines


@pytest.mark.parametrize(
    "data, line",
    [
        (Recompilation(1, ""), "Compiled once"),
        (Recompilation(2, "x is int"), "Compiled twice, the last time because x is int"),
        (Recompilation(5, ""), "Compiled 5 times"),
        (Recompilation(1, "", "y is int"), "The arguments given would be compiled anew: y is int"),
    ],
)
def test_compilations(data: Recompilation, line: str) -> None:
    assert line in told(recompiled=data).splitlines()


def test_lines_fit_the_page() -> None:
    names = [f"a_rather_long_argument_name_{k}" for k in range(9)]
    long = told(
        title=f"f({', '.join(names)})",
        arguments=names,
        inactive=[Inactive("y", "is used " + "only in a comparison, " * 9, "0")],
        saved=[saved("x * " * 60, Size("8 * " * 15 + "n", 8), None, (LOOP,) * 3)],
        recompiled=Recompilation(3, "word " * 60),
    )
    # Only a list of names, which is not wrapped, may be longer.
    too_long = [line for line in long.splitlines() if len(line) > WIDTH]
    assert all(line.startswith("  a_rather") for line in too_long)


def test_amounts() -> None:
    assert [amount(n) for n in (0, 999, 1000, 123_456, 2_000_000_000)] == [
        "0 B", "999 B", "1.0 kB", "123.5 kB", "2.0 GB"
    ]  # fmt: skip
