"""The user's comments, defaults and annotations on the page, where a statement is gone too."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import libcst as cst
import numpy as np

import s2s
from s2s.transforms.emit.format_ops import WIDTH
from tests.attack.beside import load

TEXT = """
def f(
    x: np.ndarray,
    k: float = (
        2.0
        + 1.0  # three
    ),
    *,
    names: tuple[int, ...] = (1,
        2),
) -> float:
    # the scale
    scale = 2.0
    # not used
    unused = x * 3.0
    # known
    if scale:
        # inside
        s = 0.0
        # also known
        if scale > 5.0:
            # not taken
            s = 1.0

    # the loop
    for v in x:
        # classify
        if v > 2.0:
            # large
            s += v * v * k
        # medium
        elif v > 1.0:  # second
            s += scale * v
        # small
        elif v > 0.5:
            # really small
            s += np.sin(
                v
            )
        else:  # rest
            # nothing
            s -= v
        # end of the body
    # the result
    return s
"""
PRIMAL = """
def f(x: np.ndarray, k: float = 2.0 + 1.0, *, names: tuple[int, ...] = (1, 2)) -> float:
    # the scale
    scale = 2.0
    # not used
    # known
    # inside
    s = 0.0
    # also known
    if scale > 5.0:
        # not taken
        s = 1.0

    # the loop
"""


def made(text: str, **arguments: Any) -> tuple[str, str]:
    f = load(text)["f"]
    gradient, primal = s2s.grad(f, backend="loops"), s2s.function(f, backend="loops")
    gradient(np.ones(3), **arguments)
    primal(np.ones(3), **arguments)
    return str(gradient.source), str(primal.source)


def checked(source: str) -> None:
    assert all(len(line) <= WIDTH for line in source.split("\n"))
    assert cst.parse_module(source).code == source
    command = [sys.executable, "-m", "ruff", "check", "--select", "E,F", "--ignore", "F841", "-"]
    done = subprocess.run(command, input=source, text=True, capture_output=True)
    if "No module named ruff" not in done.stderr:
        assert done.returncode == 0, done.stdout


def test_the_page_of_a_function() -> None:
    gradient, primal = made(TEXT)
    begin, end = TEXT.index("    for v in x:"), TEXT.index("    # the result")
    assert primal.endswith(f"{PRIMAL}{TEXT[begin:end]}    # the result\n    return s\n")
    for comment in ("the scale", "not used", "known", "inside", "the loop", "classify", "large",
                    "medium", "second", "small", "really small", "rest", "nothing"):  # fmt: skip
        assert f"# {comment}" in gradient, comment
    assert "np.sin(\n                v\n            )" in gradient
    assert ") -> float" not in gradient
    checked(gradient)
    checked(primal)


def test_a_return_annotation_that_the_page_does_not_know_is_dropped() -> None:
    text = "Kind = float\n\n\ndef f(x) -> {}:\n    return np.sum(x)\n"
    for annotation, kept in (("Kind", False), ("'Kind'", False), ("float", True), ("None", True),
                             ("tuple[float,\n  int]", True)):  # fmt: skip
        _, primal = made(text.format(annotation))
        shown = annotation.replace("\n ", "")
        assert (f"def f(x) -> {shown}:" in primal) == kept, primal


def test_comments_of_other_functions_are_not_taken() -> None:
    text = """
# above the helper
def g(v):
    # in the helper
    return v * 2.0


# above the function
def f(x):
    y = g(x)
    # the end
    return np.sum(y)
"""
    gradient, primal = made(text)
    assert "# above" not in gradient + primal
    assert primal.count("    # in the helper\n") == primal.count("    # the end\n") == 1


def test_comments_in_a_block_that_is_gone_but_for_one_statement() -> None:
    text = """
def f(x):
    # outer
    for k in (1.0, 2.0):
        # product
        y = x * k
        # sum
        x = x + y
    # last
    return np.sum(x)
"""
    _, primal = made(text)
    assert primal.count("# product") == 2 and primal.count("# sum") == 2
    assert primal.count("# last") == 1
