"""The printed text is Python with the same meaning: it parses to the same core syntax."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from s2s.transforms.frontend.check_subset import check_subset
from s2s.transforms.frontend.source import parsed
from s2s.transforms.syntax import core as c
from s2s.transforms.syntax.printer import show, show_block, show_function
from tests.transforms.frontend import ast_to_core
from tests.transforms.frontend.sources import difference, library_files, own_files, translator

AT = (1, 0, 1, 0)
A, B, X = (c.Name(AT, name) for name in "abx")


def test_files_are_the_same_when_printed_and_parsed() -> None:
    files = [*own_files()[::2], *library_files()[::2]]
    blocks = [translator(path).block(translator_module(path)) for path in files]
    for path, block in zip(files, blocks):
        again = ast_to_core.translate(show_block(block))
        assert difference(again, block, places=False) is None, path


def translator_module(path: Any) -> Any:
    from tests.transforms.frontend.sources import module

    return module(path)


# Printed as they are, as `ast.unparse` prints them.
TEXTS = [
    "a + b * x", "(a + b) * x", "a - (b - x)", "a - b - x", "a @ (b * x)", "(a << b) + x",
    "-x ** 2", "(-x) ** 2", "(a ** b) ** x", "a ** b ** x", "~-+x", "not -x", "(not a) == b",
    "a < b < x", "(a < b) < x", "a < (b < x)", "(a and b) and x", "a and (b or x)", "a and b or x",
    "a if b else x if a else b", "(a if b else x) if (a if b else x) else x", "(lambda: a)()",
    "lambda a, /, b=1, *x, k, **d: a", "lambda *, a: a", "a.b[x].y(a)", "1 .real", "1.0.real",
    "(a, b)[0]", "a[b, x]", "a[b,]", "a[()]", "a[:]", "a[a:b:x, ::2, ...]", "a[b:, :-1]",
    "[*a | b, *(a if b else x)]", "f(*a, k=b, **x)", "f((a for a in b), x)", "{**a, 'k': b}", "{}",
    "[a for b, x in a if b if x for x in (a, b)]", "{a: b for a, b in x}", "[(y := a) for a in b]",
    "'a\\nb'", "b'a\\xff'", "1e309", "1j", "...", "None", "(a, *b)", "()", "(a,)",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_expressions(text: str) -> None:
    (stmt,) = parsed(text)
    assert isinstance(stmt, c.Eval) and show(stmt.value) == text
    plain = ast.unparse(ast.parse(text))
    assert ast.dump(ast.parse(show(stmt.value))) == ast.dump(ast.parse(plain))


FORMATS = [
    r'''f"a\\b{x}"''', r'''f"it's {x} \"quoted\" \'\'\' '"''', r'''f"it's \"{x}\" ' "''',
    r'''f"{a['k']} \"a\" {x}'"''', r'''f"{a['k']}'"''', r'''f"{x!r:>{b}}"''', r'''f'{ {1: 2}[x] }' ''',
    r'''f"\n\t{{}}é{x}\x00"''', 'f"{x=}"', 'f"{(lambda: x)()}{(a := 1)}"', "f'a' 'b{' f'{x}'",
    "f''", 'f"{x:%H:%M}"', "f'{x}\\''",
]  # fmt: skip


@pytest.mark.parametrize("text", FORMATS)
def test_format_strings(text: str) -> None:
    again = show_block(parsed(text))
    found, expected = ast_to_core.translate(again), ast_to_core.translate(text)
    assert difference(found, expected, places=False) is None, again


STATEMENTS = """\
a = b = a, b
(a, *b), [x, a.b] = x
a += b,
del a, b[x]
assert a, b
raise a from b
import a.b as x, b
from ..a import b as x
from . import a
x: ...
if a:
    pass
elif b:
    x
else:
    if a:
        pass
    x
for a, b in x, a:
    continue
else:
    break
while a:
    pass
with a as (b, x), b:
    pass

@a(b)
@x
def f(a, /, b=1, *, x=2):
    global g
    return

def f(*a, **b):
    nonlocal g
    return a, b
"""


def test_statements() -> None:
    assert show_block(parsed(STATEMENTS)) == STATEMENTS.replace("\n\n", "\n")
    assert show_block(parsed("a = b"), "  ") == "  a = b\n"


def test_what_python_cannot_express() -> None:
    flagged = c.For(AT, A, B, (c.Pass(AT),), until="done")
    assert show_block((flagged,)) == (
        "for a in b:\n    pass\n    if done:\n        break\n"
    )  # fmt: skip
    refused = c.Refused(AT, "`try` is 'not' supported", "advice")
    assert show_block((refused, c.Eval(AT, refused))) == (
        "__refused__(\"`try` is 'not' supported\")\n" * 2
    )
    assert show_block((c.While(AT, X, (), until="done"),)).startswith("while x:\n    pass\n")
    assert show(c.Result(AT, "out", True)) == "out"


def test_functions() -> None:
    (define,) = parsed("@a\ndef f(x, *, y: int = 1) -> int:\n    return x")
    assert isinstance(define, c.Define)
    assert show_function(define.func) == "def f(x, *, y=1):\n    return x\n"
    assert show(define.func.params) == "x, *, y=1"
    (stmt,) = parsed("lambda x: (yield)")
    assert isinstance(stmt, c.Eval) and isinstance(stmt.value, c.Lambda)
    assert (
        show_function(stmt.value.func) == "lambda x: __refused__('generators are not supported')\n"
    )
    assert show_function(check_subset(define.func)) == show_function(define.func)
