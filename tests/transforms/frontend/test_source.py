"""The text of one function: found wherever it stands, and refused if the file has changed."""

from __future__ import annotations

import itertools
import linecache
import subprocess
import sys
from pathlib import Path
from typing import Any

import libcst as cst
import pytest

from s2s.errors import SourceError, UnsupportedError
from s2s.transforms.frontend import parse_cache
from s2s.transforms.frontend import source as source_module
from s2s.transforms.frontend.source import Source, function_at, read
from s2s.transforms.syntax.printer import show_function


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse_cache, "installed", None)


class Holder:
    def commented(self, x):
        # above
        y = x + 1  # behind
        text = """
    # inside a string"""
        return y, text, "# too"  # last


chosen = [lambda x: (x  # in a fragment
                     + 1)]  # fmt: skip


def texts(source: Source) -> dict[int, str]:
    """The comments by line, counted from the first."""
    return {line - source.node.line: text for line, (_, text) in source.comments.items()}


def test_comments_by_line():
    source = read(Holder.commented)
    assert texts(source) == {1: "# above", 2: "# behind", 5: "# last"}
    for line, (column, text) in source.comments.items():
        assert source.line(line)[column:] == text


def test_comments_of_a_fragment():
    source = read(chosen[0])
    assert texts(source) == {0: "# in a fragment", 1: "# fmt: skip"}
    assert source.without_comments(source.span(source.node.body[0])) == "x + 1"
    assert source.without_comments(source.span(source.node)) == "lambda x: (x + 1)"


def test_a_text_without_comments_on_one_line():
    def several(x):
        y = [  # brackets
            x,
            # a line of its own
            "# no comment",
        ]  # behind
        return y

    source = read(several)
    span = source.span(source.node.body[0])
    assert source.without_comments(span) == 'y = [ x, "# no comment", ]'


# fmt: off
@(lambda f: f)
@(
    lambda f: f
)
def decorated(x):
    return x  # behind
# fmt: on


def test_the_tree_is_parsed_again():
    for function in (Holder.commented, decorated):
        source = read(function)
        tree = source.tree()
        assert tree is not None and tree is not source.tree()
        found = [n for n in tree.recorder.found[cst.FunctionDef] if tree.at(n) == source.node.at]
        assert [n.name.value for n in found] == [function.__name__]
        lines = source.lines[source.first - 1 : source.last]
        assert tree.module.code.endswith("".join(lines))


def test_no_tree_of_a_lambda_nor_of_what_cannot_be_parsed():
    assert read(chosen[0]).tree() is None
    lines = ["def f(x):\n", "    return x \\\n", "\n"]
    node = read(decorated).node
    tree = Source("f.py", lines, node, 1, 2).tree()
    assert tree is not None and tree.module.code == "".join(lines)  # the whole file
    assert Source("f.py", ["def f(x):\n", "    return (\n"], node, 1, 2).tree() is None


# ---- functions of files

numbers = itertools.count()


@pytest.fixture
def load(tmp_path: Path) -> Any:
    """Writes a file and runs it: its globals."""

    def run(text: str | bytes) -> dict[str, Any]:
        path = tmp_path / f"program_{next(numbers)}.py"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        space: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
        exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), space)
        return space

    return run


def text(function: Any) -> str:
    return show_function(read(function).node)


# A program that binds `f`, and what `f` is as core syntax prints it.
PROGRAMS = {
    "one line": ("def f(x): return x\n", "def f(x):\n    return x\n"),
    "no line end": ("def f(x): return x", "def f(x):\n    return x\n"),
    "several on one line": ("def f(x): y = x; return y\n", "def f(x):\n    y = x\n    return y\n"),
    "annotated": (
        "def f(x: 'int', *y: 'int', z: 'str' = 'a') -> 'int':\n    return x\n",
        "def f(x, *y, z='a'):\n    return x\n",
    ),
    "decorated": (
        "def d(*a):\n    return lambda f: f\n@d(1)\n@d(\n    2,\n    3,\n)\n# between\n"
        "def f(x):\n    return x\n",
        "def f(x):\n    return x\n",
    ),
    "in an if": ("if True:\n    def f(x):\n        return x\n", "def f(x):\n    return x\n"),
    "in an else": (
        "if 0:\n    def f(x):\n        return 1\nelse:\n    def f(x):\n        return x\n",
        "def f(x):\n    return x\n",
    ),
    "in a try": (
        "try:\n    import nothing_of_this_name\nexcept ImportError:\n    def f(x):\n"
        "        return x\nfinally:\n    y = 1\n",
        "def f(x):\n    return x\n",
    ),
    "in a with": (
        "import contextlib\nwith contextlib.suppress(OSError):\n  def f(x):\n    return x\n",
        "def f(x):\n    return x\n",
    ),
    "in a loop": (
        "for k in range(2):\n    def f(x):\n        return x\n",
        "def f(x):\n    return x\n",
    ),
    "tabs": (
        "if True:\n\tdef f(x):\n\t\tif x:\n\t\t\treturn x\n\t\treturn 0\n",
        "def f(x):\n    if x:\n        return x\n    return 0\n",
    ),
    "tabs and blanks": (
        "class A:\n  def f(x):\n  \treturn x\nf = A.f\n",
        "def f(x):\n    return x\n",
    ),
    "form feed before": ("y = 1\n\x0c\ndef f(x):\n    return x\n", "def f(x):\n    return x\n"),
    "form feed in front": ("y = 1\n\x0cdef f(x):\n    return x\n", "def f(x):\n    return x\n"),
    "form feed inside": (
        "def f(x):\n    y = x\n\x0c\n    return y\n",
        "def f(x):\n    y = x\n    return y\n",
    ),
    "CRLF": (
        "def f(x):\r\n    # c\r\n    y = (x +\r\n         1)\r\n    return y\r\n",
        "def f(x):\n    y = x + 1\n    return y\n",
    ),
    "strings and comments in column 0": (
        'def f(x):\n    y = """\nz\n    w"""\n# comment\n    return y, (\nx,\n)\n# behind\nz = 1\n',
        "def f(x):\n    y = '\\nz\\n    w'\n    return y, (x,)\n",
    ),
    "continued lines": (
        "def f(x, \\\ny): \\\n  return x + \\\ny\n",
        "def f(x, y):\n    return x + y\n",
    ),
    "normalised names": (
        "def ﬁnal(ﬂow):\n    return ﬂow.ﬁt\nf = final\n",
        "def final(flow):\n    return flow.fit\n",
    ),
    "no body but a string": ("def f(x):\n    'doc'\n", "def f(x):\n    'doc'\n"),
    "a nested function of the same name": (
        "def f(x):\n    def f(y):\n        return y\n    return f(x)\n",
        "def f(x):\n    def f(y):\n        return y\n    return f(x)\n",
    ),
    "the inner of two of a name": (
        "def outer():\n    def f(x):\n        return x\n    return f\nf = outer()\n"
        "def other():\n    def f(x):\n        return x + 1\n    return f\n",
        "def f(x):\n    return x\n",
    ),
    "the second of two": (
        "def f(x):\n    return 1\nold = f\ndef f(x):\n    return x\n",
        "def f(x):\n    return x\n",
    ),
    "a generator": (
        "def f(x):\n    yield x\n",
        "def f(x):\n    __refused__('generators are not supported')\n",
    ),
    "a coroutine": (
        "async def f(x):\n    return x\n",
        "def f(x):\n    __refused__('`async` functions are not supported')\n",
    ),
    "awaits": (
        "async def f(x):\n    async with x:\n        return [y async for y in await x]\n",
        "def f(x):\n    __refused__('`async` functions are not supported')\n",
    ),
}
if sys.version_info >= (3, 12):
    PROGRAMS["type parameters"] = (
        "def f[T: int, *S, **P](x: T) -> T:\n    return x\n",
        "def f(x):\n    return x\n",
    )
    PROGRAMS["nested quotes"] = ("f = lambda x: f'{x['a']}'\n", "lambda x: f\"{x['a']}\"\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_of_a_function(load, name: str) -> None:
    program, expected = PROGRAMS[name]
    assert text(load(program)["f"]) == expected


LAMBDAS = {
    "several on a line": ("fs = [lambda x: x + 1, lambda x: x + 2, lambda y: y + 1]\n", None),
    "alike": ("fs = [lambda x: x + 1, lambda x: x + 1]\n", None),
    "constants": ("fs = [lambda: 1, lambda: 2, lambda: None]\n", None),
    "in a call of several lines": (
        "fs = list((\n    lambda x: x,\n    lambda x: (x\n * 2),\n    lambda x,\n    y: y,\n))\n",
        None,
    ),
    "of another": (
        "f = lambda x: lambda y: x + y\nfs = [f, f(1)]\n",
        ["lambda x: (lambda y: x + y)\n", "lambda y: x + y\n"],
    ),
    "in a try": (
        "try:\n    fs = [lambda x: x, lambda x: -x]\nexcept OSError:\n    pass\n",
        ["lambda x: x\n", "lambda x: -x\n"],
    ),
    "in a class": (
        "class A:\n    fs = [lambda self: self.x, lambda self: self.y]\nfs = A.fs\n",
        ["lambda self: self.x\n", "lambda self: self.y\n"],
    ),
    "in a generator": ("fs = list(lambda x: (x, k) for k in range(2))\n", None),
    "in a default": ("def g(a=lambda x: x, b=lambda x: 2): pass\nfs = g.__defaults__\n", None),
    "in a decorator": (
        "kept = []\ndef d(h): return lambda f: kept.append(h)\n@d(lambda x: x + 3)\n"
        "def g(): pass\nfs = kept\n",
        ["lambda x: x + 3\n"],
    ),
    "behind other characters": (
        "fs = ['éé', lambda x: 'ü' + x, lambda x: 'ö' + x][1:]\n",
        ["lambda x: 'ü' + x\n", "lambda x: 'ö' + x\n"],
    ),
    "in a function": (
        "def g(k):\n    return [lambda x: x * k, lambda x: x / k]\nfs = g(2)\n",
        ["lambda x: x * k\n", "lambda x: x / k\n"],
    ),
}


@pytest.mark.parametrize("name", LAMBDAS)
def test_the_text_of_a_lambda(load, name: str) -> None:
    program, expected = LAMBDAS[name]
    found = load(program)["fs"]
    if expected is not None:
        assert [text(f) for f in found] == expected
        return
    for f in found:
        args = range(3, 3 + f.__code__.co_argcount)
        assert eval(text(f), {"k": 1, **closure(f)})(*args) == f(*args)


@pytest.mark.parametrize("name", LAMBDAS)
def test_the_text_of_a_lambda_without_positions(load, name: str, monkeypatch) -> None:
    """As on Python 3.10, whose bytecode has no columns."""
    monkeypatch.setattr(source_module, "_around", lambda *_: [])
    test_the_text_of_a_lambda(load, name)


def closure(f: Any) -> dict[str, Any]:
    return {n: c.cell_contents for n, c in zip(f.__code__.co_freevars, f.__closure__ or ())}


PRIVATE = """
class A:
    def f(self, __x, y__, __z__):
        self.__y = __x
        return self.__y__ + self.___z + y__ + __z__
class _B:
    def f(self):
        return self.__a, [self.__b for __c in (1,)], lambda __d: self.__e(__f=1)
class __C:
    class D_:
        def __f(self):
            return self.__x
    f = D_.__dict__["_D___f"]
class __:
    def f(self):
        return self.__x
class Outer:
    def f(self):
        def g():
            import __m
            from . import __o as __p
            return __m.__n
        return g
"""


def test_private_names_are_those_that_python_looks_up(load) -> None:
    space = load(PRIVATE)
    assert text(space["A"].f) == (
        "def f(self, _A__x, y__, __z__):\n    self._A__y = _A__x\n"
        "    return self.__y__ + self._A___z + y__ + __z__\n"
    )
    body = text(space["_B"].f)
    assert "self._B__a, [self._B__b for _B__c in (1,)]" in body
    assert "lambda _B__d: self._B__e(" in body
    assert "return self._D___x" in text(space["__C"].f)
    assert "return self.__x" in text(space["__"].f)
    body = text(space["Outer"].f)
    assert "import _Outer__m\n        from . import _Outer__o as _Outer__p\n" in body
    assert "return _Outer__m._Outer__n" in body


def test_columns_count_characters(load) -> None:
    source: Any = read(load("é = 1\ndef f(x):\n    return 'éé' + ª(x) if 'ü' else x\n")["f"])
    call = source.node.body[0].value.body.right
    assert call.at == (3, 18, 3, 22) and source.text(source.span(call)) == "ª(x)"
    assert call.function.id == "a"


def test_text_of_several_lines(load) -> None:
    source = read(load("def f(x):\n    return (x +\n            1)\n")["f"])
    assert source.text(source.span(source.node.body[0])) == "return (x +\n            1)"
    assert source.line(99) == "" and source.line(0) == ""


# ---- what cannot be read


def test_an_edited_file(load) -> None:
    f = load("def f(x):\n    return x + 1\ndef g(x):\n    return x\n")["f"]
    path = Path(f.__code__.co_filename)
    path.write_text("y = 1\n\n" + path.read_text())  # moved
    linecache.checkcache()
    assert read(f).first == 3 and text(f).endswith("return x + 1\n")
    path.write_text("def f(x):\n    return x + 2\n")
    linecache.checkcache()
    with pytest.raises(SourceError, match="f: its source in .* has changed since it was loaded"):
        read(f)
    path.write_text("def f(x:\n")
    linecache.checkcache()
    with pytest.raises(SourceError, match="source not available"):
        read(f)
    path.unlink()
    linecache.checkcache()
    with pytest.raises(SourceError, match="source not available"):
        read(f)


EDITS = [
    ("x + 1", "x + 1.0"), ("x + 1", "x - 1"), ("x + 1", "y + 1"), ("x + 1", "x + True"),
    ("x, y", "x, *y"), ("x, y", "x, /, y"), ("x, y", "x, *, y"), ("(0.0, z)", "(-0.0, z)"),
    ("    assert", "    assert not"),
]  # fmt: skip


@pytest.mark.parametrize("old, new", EDITS)
def test_each_change_of_meaning_is_seen(load, old: str, new: str) -> None:
    f = load("def f(x, y, z=3):\n    assert x\n    k = (0.0, z)\n    return k, x + 1\n")["f"]
    path = Path(f.__code__.co_filename)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    linecache.checkcache()
    with pytest.raises(SourceError, match="has changed since it was loaded"):
        read(f)


def test_an_assert_that_the_loader_has_rewritten() -> None:
    """Pytest changes the code of functions with `assert`: it equals that of no text."""

    def f(x):
        assert x > 0
        return x

    assert text(f) == "def f(x):\n    assert x > 0\n    return x\n"


def test_code_without_a_file() -> None:
    space: dict[str, Any] = {}
    exec("def f(x):\n    return x\ng = lambda x: x\n", space)
    for name in "fg":
        with pytest.raises(SourceError, match="source not available\nhelp: save it to a file"):
            read(space[name])
    for thing in (len, 3, type("T", (), {})):
        with pytest.raises(SourceError, match="source not available"):
            read(thing)


COMMAND = """
import s2s
from s2s.transforms.frontend.source import read
def f(x):
    return x
try:
    print(read(f).first)
    exec("def f(x):\\n    return -x")
    read(f)
except s2s.errors.SourceError as error:
    print(error)
"""


def test_python_with_a_command() -> None:
    """From Python 3.13 on, the text of `python -c` is available, but not that of `exec` in it."""
    ran = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True)
    *first, message, advice = ran.stdout.splitlines()
    assert first == (["4"] if sys.version_info >= (3, 13) else []), ran.stderr
    assert message == "f: source not available"
    assert advice.startswith("help: save it to a file, use IPython, or give its text")


def test_the_given_source_of_a_function() -> None:
    def f(x: Any) -> Any:
        return x

    given = read(Holder.commented)
    vars(f)["_s2s_source"] = given
    assert read(f) is given


DEEP = {
    "a sum": f"    return {' + '.join(['x'] * 900)}\n",
    "signs": f"    return {'- ' * 900}x\n",
    "a choice": f"    return {''.join(f'{i} if x else ' for i in range(900))}x\n",
    "attributes": f"    return x{'.a' * 900}\n",
    "a chain of elif": "    if x: y = 0\n" + "    elif x: y = 1\n" * 900,
    "lambdas": f"    return {'lambda: ' * 900}x\n",
    "strings": f"    y = {chr(39) * 2 * 1000}\n".replace("''", "'a' "),
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting_is_refused_with_its_place(load, name: str) -> None:
    try:
        f = load(f"y = 1\ndef f(x):\n{DEEP[name]}")["f"]
    except RecursionError:  # of Python's own compiler, which accepts less in other versions
        return
    with pytest.raises(
        UnsupportedError, match="^.*:2:1: f nests expressions, blocks or calls too"
    ) as info:
        read(f)
    assert (info.value.line, info.value.column, info.value.source_line) == (2, 0, "def f(x):")
    assert info.value.advice


def test_brackets_and_blocks_as_deep_as_python_allows(load) -> None:
    for opening, closing in ("()", "[]"):
        f = load(f"def f(x):\n    return {opening * 190}x{closing * 190}\n")["f"]
        assert text(f).count("[") == (190 if opening == "[" else 0)
    lines = [f"{'    ' * k}if x > {k}:\n" for k in range(1, 91)]
    f = load("def f(x):\n" + "".join(lines) + "    " * 91 + "return x\n")["f"]
    assert text(f) == "def f(x):\n" + "".join(lines) + "    " * 91 + "return x\n"


@pytest.mark.parametrize(
    "line", ["(y): int = x", "y = " + "'a' " * 9000], ids=["target", "strings"]
)
def test_what_libcst_cannot_parse(load, line: str) -> None:
    f = load(f"def f(x):\n    {line}\n")["f"]
    with pytest.raises(SourceError, match="f cannot be parsed") as info:
        read(f)
    assert (info.value.line, info.value.source_line) == (1, "def f(x):")


def test_a_long_function(load) -> None:
    f = load("def f(x):\n" + "    x = x + 1.0\n" * 1000 + "    return x\n")["f"]
    assert (read(f).first, read(f).last) == (1, 1002)


# ---- functions by line


def test_the_innermost_function_at_a_line() -> None:
    lines: Any = """\
y = 1
def f(x):
    def g(z):
        return z

    return g(x)
h = [lambda x: (
    x)]
""".splitlines(keepends=True)

    def at(line: int) -> str | None:
        found = function_at("some file", lines, line)
        return None if found is None else found.node.name

    names = [None, "f", "g", "g", "f", "f", "<lambda>", "<lambda>"]
    assert [at(n) for n in range(1, 9)] == names


def test_functions_at_the_lines_of_a_source() -> None:
    found = function_at(__file__, read(Holder.commented).lines, read(Holder.commented).first + 2)
    assert isinstance(found, Source) and found.node.name == "commented"
