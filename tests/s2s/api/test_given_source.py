"""Functions of executed text: `source=` gives the text, which must be the one that runs."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
import s2s.tf as tf
from s2s.errors import S2STypeError, SourceError, UnsupportedError
from s2s.transforms.frontend import given_texts

X = np.array([1.0, 2.0, 3.0])
_marks = itertools.count(1)


@pytest.fixture(autouse=True)
def none_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_texts, "_given", {})


def run(text: str) -> tuple[dict[str, Any], str]:
    """The namespace of a text, and the text, which is not that of another test."""
    text += f"# {next(_marks)}\n"
    space: dict[str, Any] = {"np": np, "s2s": s2s}
    exec(text, space)
    return space, text


F = "def f(x):\n    return np.sum(x * x)\n"


def test_without_a_text_the_message_names_source() -> None:
    space, text = run(F.replace("x * x", "x * 1.5"))
    with pytest.raises(SourceError, match=r"source not available\n.*source=text"):
        s2s.grad(space["f"], backend="loops")(X)
    # A function that was refused can be read as soon as its text is known.
    assert np.allclose(s2s.grad(space["f"], source=text, backend="loops")(X), 1.5)


V = np.array([1.0, 0.5, -1.0])
TRANSFORMS = {
    "grad": (s2s.grad, (X,), 2 * X),
    "value_and_grad": (s2s.value_and_grad, (X,), (14.0, 2 * X)),
    "function": (s2s.function, (X,), 14.0),
    "jvp": (s2s.jvp, (X, V), (14.0, -2.0)),
    "vjp": (s2s.vjp, (X, 2.0), (14.0, 4 * X)),
    "hvp": (s2s.hvp, (X, V), 2 * V),
    "jacobian": (s2s.jacobian, (X,), 2 * X),
    "hessian": (s2s.hessian, (X,), 2 * np.eye(3)),
    "vmap": (s2s.vmap, (X[:, None],), X * X),
}


def same(actual: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return len(actual) == len(expected) and all(map(same, actual, expected))
    return bool(np.allclose(actual, expected))


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("as_decorator", [False, True])
def test_every_transform_takes_a_text(name: str, as_decorator: bool) -> None:
    transform, args, expected = TRANSFORMS[name]
    space, text = run(F)
    options = {"source": text, "backend": "loops"}
    made = transform(**options)(space["f"]) if as_decorator else transform(space["f"], **options)
    assert same(made(*args), expected)


def test_a_step_of_tf_takes_a_text() -> None:
    space, text = run(F)
    assert np.allclose(tf.function(space["f"], source=text)(X), 14.0)


def test_jvp_and_vjp_at_once() -> None:
    space, text = run(F)
    assert same(s2s.jvp(space["f"], (X,), (V,), source=text), (14.0, -2.0))
    value, pull = s2s.vjp(space["f"], X, source=text)
    assert value == 14.0 and same(pull(1.0), (2 * X,))


WHOLE = """
def helper(x):
    return x * 3.0

square = lambda x: x * x

class Layer:
    def __init__(self):
        self.__scale = 2.0
    def act(self, x):
        return helper(x) * self.__scale

layer = Layer()
v = s2s.Variable(2.0)

def f(x):
    def inner(y):
        return y + square(x)
    return np.sum(inner(layer.act(x)))

def train():
    with s2s.GradientTape() as tape:
        y = v * v * v
    return tape.gradient(y, v)
"""


def test_what_else_the_text_defines_is_found() -> None:
    space, text = run(WHOLE)
    with pytest.raises(SourceError):
        space["train"]()
    gradient = s2s.grad(space["f"], source=text, backend="loops")
    assert np.allclose(gradient(X), 6.0 + 2 * X)
    assert np.allclose(s2s.grad(space["square"], backend="loops")(3.0), 6.0)
    assert np.allclose(space["train"](), 12.0)
    assert "<string " in gradient.source and "helper" in gradient.source


def test_texts_of_the_same_name_are_distinguished() -> None:
    spaces = [run(F.replace("x * x", f"x * {k}.5")) for k in range(3)]
    for space, text in spaces:
        s2s.grad(space["f"], source=text)
    for k in (1, 0, 2):
        assert np.allclose(s2s.grad(spaces[k][0]["f"], backend="loops")(X), k + 0.5)


@pytest.mark.parametrize(
    "old, new", [("x * x", "x + x"), ("def f", "def g"), ("np.sum", "np.max"), (F, "")]
)
def test_another_text_is_refused(old: str, new: str) -> None:
    space, text = run(F)
    with pytest.raises(SourceError, match="f: the given source does not contain this function"):
        s2s.grad(space["f"], source=text.replace(old, new))


def test_what_is_not_a_text_is_refused() -> None:
    space, text = run(F)
    wrong: Any = text.encode()
    with pytest.raises(S2STypeError, match="source= is the text of the function, not bytes"):
        s2s.grad(space["f"], source=wrong)
    with pytest.raises(SourceError, match="source not available"):
        s2s.grad(space["f"], source="def f(x:\n")


def test_a_helper_of_another_text_is_refused_where_it_is_called() -> None:
    space, text = run("def f(x):\n    return np.sum(helper(x))\n")
    exec("def helper(x):\n    return x * 2.25\n", space)
    with pytest.raises(SourceError, match=r"<string \w+>:2:\d+: helper: source not available"):
        s2s.grad(space["f"], source=text, backend="loops")(X)


def test_errors_show_lines_of_the_text() -> None:
    space, text = run("def f(x, i):\n    return x[i] * 2.0  # here\n\ndef g(x):\n    yield x\n")
    with pytest.raises(IndexError) as info:
        s2s.grad(space["f"], source=text, backend="loops")(X, 7)
    assert (info.value.line, info.value.source_line) == (2, "    return x[i] * 2.0  # here")  # type: ignore[attr-defined]
    with pytest.raises(UnsupportedError, match=r"<string \w+>:5:\d+.*\n +yield x\n"):
        s2s.function(space["g"], source=text, backend="loops")(2.0)


def test_line_ends_and_futures_of_executed_text() -> None:
    text = 'def f(x):\r\n    y: "no name" = x * x\r\n    def g(z: missing) -> missing: return z\r\n'
    text += "    return g(y)\r\n"
    space: dict[str, Any] = {}
    exec(text, space)  # with the annotations of this module, which are not evaluated
    assert s2s.grad(space["f"], source=text, backend="loops")(3.0) == 6.0


def test_an_object_a_method_and_a_partial() -> None:
    import functools

    space, text = run("class A:\n    def f(self, x, k=1.0):\n        return x * x * k\n")
    a = space["A"]()
    for target, expected in ((a.f, 4.0), (functools.partial(a.f, k=3.0), 12.0)):
        assert s2s.grad(target, source=text, backend="loops")(2.0) == expected
    space, text = run("def f(x):\n    return x * x * x\n")
    first = s2s.grad(space["f"], source=text, backend="loops")
    assert s2s.grad(first, source=text, backend="loops")(2.0) == 12.0


# ---- other processes

COMMAND = """
import s2s
def f(x):
    return x * x
print(s2s.grad(f, backend="loops")(3.0))
"""


def in_process(*arguments: str, given: str = "", **environment: str) -> str:
    root = str(Path(s2s.__file__).parent.parent)
    ran = subprocess.run(
        [sys.executable, *arguments], input=given, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": root, **environment},
    )  # fmt: skip
    return ran.stdout + ran.stderr


def test_a_command_and_the_prompt_keep_their_lines_from_python_3_13_on() -> None:
    known = sys.version_info >= (3, 13)
    for answer in (
        in_process("-c", COMMAND),
        in_process("-i", "-q", given=COMMAND.replace("x * x\n", "x * x\n\n")),
    ):
        assert ("6.0" in answer) == known, answer
        assert ("source not available" in answer) != known, answer


def test_code_in_the_cache_is_not_that_of_another_text(tmp_path: Path) -> None:
    program = """
import sys, numpy as np, s2s
text = f"def f(x):\\n    return np.sum(x * {sys.argv[1]})\\n"
space = {"np": np}
exec(text, space)
print(s2s.grad(space["f"], source=text)(np.ones(1))[0])
"""
    file = tmp_path / "program.py"
    file.write_text(program)
    for number in ("2.0", "5.0", "2.0"):
        answer = in_process(str(file), number, S2S_CACHE_DIR=str(tmp_path / "cache"))
        assert answer.strip() == number
