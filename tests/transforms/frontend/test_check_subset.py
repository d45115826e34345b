"""Statements whose support depends on where they stand: before and after the check."""

from __future__ import annotations

import pytest

import s2s
from s2s.errors import UnsupportedError
from s2s.transforms.frontend.check_subset import (
    check_subset,
    checked,
    is_errstate,
    on_adjoint,
    on_pause,
    on_tape,
)
from s2s.transforms.frontend.source import read
from s2s.transforms.syntax import core as c
from s2s.transforms.syntax.printer import show_block, show_function
from s2s.transforms.syntax.traverse import walk
from tests.transforms.frontend.sources import only


def function(body: str) -> c.Func:
    inner = "".join(f"    {line}\n" for line in body.split("\n"))
    define = only(f"def f(x):\n{inner}")
    return define.func


def after(body: str) -> str:
    lines = show_function(check_subset(function(body))).splitlines()
    return "\n".join(line[4:] for line in lines[1:])


HIDDEN = (
    "__refused__('a global that shares its name with a variable of an enclosing function is not "
    "supported')"
)
GLOBAL = "__refused__('writing to a global is not supported')"
RETURN = "__refused__('a return inside this block is not supported')"

UNCHANGED = [
    "global y\nreturn y", "def g():\n    global y\n    return y",
    "return x", "while x:\n    break\nelse:\n    return 1",
    "with np.errstate(all='ignore'):\n    return x",
    "with numpy.errstate(divide='ignore', over='warn'), errstate():\n    return x",
    "with s2s.adjoint(x) as x_bar:\n    y = x_bar",
    "with adjoint(x):\n    for i in x:\n        break",
    "with GradientTape() as t, tf.GradientTape(persistent=True) as u:\n    y = x",
    "with t.stop_recording():\n    while x:\n        if y:\n            continue\n        break",
    "with GradientTape() as t:\n    def g():\n        return x\n    h = lambda: x",
]  # fmt: skip


@pytest.mark.parametrize("body", UNCHANGED)
def test_what_is_supported(body: str) -> None:
    func = function(body)
    assert after(body) == body
    if "with" not in body:
        assert check_subset(func) is func


# The evaluator decides on these: what they mean depends on the context manager.
UNCHANGED += [
    "with open(x) as y:\n    z = y", "with x:\n    pass",
    "with adjoint(x) as a, adjoint(x) as b:\n    pass",
    "with np.errstate(all='raise'):\n    pass", "with np.errstate(**x):\n    pass",
    "if x:\n    with x:\n        pass\nelse:\n    y",
]  # fmt: skip
CHANGES = [
    ("with GradientTape() as t:\n    return x", f"with GradientTape() as t:\n    {RETURN}"),
    (
        "for i in x:\n    with adjoint(x):\n        if i: break\n        else: continue",
        "for i in x:\n    with adjoint(x):\n        if i:\n"
        "            __refused__('a break inside this block is not supported')\n        else:\n"
        "            __refused__('a continue inside this block is not supported')",
    ),
    (
        "while x:\n    with adjoint(x):\n        for i in x: pass\n        else: break",
        "while x:\n    with adjoint(x):\n        for i in x:\n            pass\n        else:\n"
        "            __refused__('a break inside this block is not supported')",
    ),
    (
        "with GradientTape() as t:\n    with np.errstate(all='warn'):\n        while x: return 1",
        "with GradientTape() as t:\n    with np.errstate(all='warn'):\n        while x:\n"
        f"            {RETURN}",
    ),
    (
        "with GradientTape() as t:\n    with t.stop_recording():\n        with x: return 1",
        "with GradientTape() as t:\n    with t.stop_recording():\n        with x:\n"
        f"            {RETURN}",
    ),
    ("global y, z\nz = 1", GLOBAL),
    ("global y\ndel y", GLOBAL),
    ("global y\nimport y.z", GLOBAL),
    ("global y\ny += 1", GLOBAL),
    ("global y\ntry: y = 1\nfinally: pass", GLOBAL),
    ("y = 1\ndef g():\n    global y\n    return y", f"y = 1\ndef g():\n    {HIDDEN}"),
    (
        "def g():\n    nonlocal x\n    x = 1",
        "def g():\n    __refused__('writing to an enclosing variable is not supported')",
    ),
]  # fmt: skip


@pytest.mark.parametrize("body, expected", CHANGES)
def test_what_is_refused(body: str, expected: str) -> None:
    assert after(body) == expected


def test_what_is_refused_has_place_and_advice() -> None:
    func = check_subset(function("with GradientTape() as t:\n  y = 1\n  return x"))
    (refused,) = [n for n in walk(func) if isinstance(n, c.Refused)]
    assert refused.at == (4, 6, 4, 14) and refused.advice == "return after it"


def test_kinds_of_with() -> None:
    def kinds(text: str) -> list[bool]:
        stmt = only(f"with {text}: pass")
        assert isinstance(stmt, c.With)
        return [test(stmt) for test in (is_errstate, on_adjoint, on_tape, on_pause)]

    assert kinds("np.errstate(all='ignore')") == [True, False, False, False]
    assert kinds("s2s.adjoint(x) as y") == [False, True, False, False]
    assert kinds("GradientTape() as t, a.b.GradientTape()") == [False, False, True, False]
    assert kinds("a[0].stop_recording()") == [False, False, False, True]
    assert kinds("GradientTape") == [False] * 4 and kinds("f()()") == [False] * 4


def test_a_source_is_checked_once() -> None:
    def f(x):
        return x

    source = read(f)
    assert checked(source) is checked(source)
    assert show_block(checked(source).body) == "return x\n"


def test_it_is_an_error_only_where_it_is_reached() -> None:
    def f(x, quiet):
        if not quiet:
            with open("nothing") as file:
                x = x * len(file.read())
        return x * x

    assert s2s.grad(f, static_argnames="quiet", backend="loops")(3.0, True) == 6.0
    with pytest.raises(UnsupportedError, match="`with` is not supported here") as info:
        s2s.grad(f, static_argnames="quiet", backend="loops")(3.0, False)
    assert info.value.source_line.strip() == 'with open("nothing") as file:'
