"""Precedences agree with Python's grammar: text is parenthesised exactly where it must be."""

from __future__ import annotations

import ast

import pytest

from s2s.transforms.ir import precedence as P
from s2s.transforms.ir.precedence import wrap

# One expression of each precedence, loosest first, and a place for an operand that binds at
# least as tightly.
SAMPLES = [
    ("a if b else c", P.TERNARY),
    ("a or b", P.OR),
    ("a and b", P.AND),
    ("not a", P.NOT),
    ("a < b", P.COMPARE),
    ("a | b", P.BITOR),
    ("a ^ b", P.BITXOR),
    ("a & b", P.BITAND),
    ("a << b", P.SHIFT),
    ("a + b", P.ADD),
    ("a * b", P.MUL),
    ("-a", P.UNARY),
    ("a ** b", P.POWER),
    ("a(b)", P.ATOM),
]
# The left operand of each binary operator: Python parses it as one operand.
PLACES = {
    P.OR: "{} or z",
    P.AND: "{} and z",
    P.BITOR: "{} | z",
    P.BITXOR: "{} ^ z",
    P.BITAND: "{} & z",
    P.SHIFT: "{} << z",
    P.ADD: "{} - z",
    P.MUL: "{} % z",
    P.ATOM: "{}.T",
}


def left_of(text: str) -> str:
    node = ast.parse(text, mode="eval").body
    if isinstance(node, ast.BoolOp):
        left: ast.AST = node.values[0]
        if len(node.values) > 2:  # `a or b or z` is one node
            left = ast.BoolOp(node.op, node.values[:-1])
        return ast.unparse(left)
    if isinstance(node, ast.Attribute):
        return ast.unparse(node.value)
    return ast.unparse(node.left) if isinstance(node, ast.BinOp) else ""


def test_the_order_is_that_of_pythons_grammar() -> None:
    assert [p for _, p in SAMPLES] == list(range(14))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("source", "precedence"), SAMPLES)
def test_text_is_one_operand_and_has_no_needless_parentheses(
    source: str, precedence: int, place: int
) -> None:
    template = PLACES[place]
    wrapped = wrap((source, precedence), place)
    assert wrapped in (source, f"({source})")
    whole = ast.unparse(ast.parse(source, mode="eval"))
    assert left_of(template.format(wrapped)) == whole
    if wrapped != source:
        assert left_of(template.format(source)) != whole, "the parentheses are redundant"


def test_the_bound_itself_needs_none() -> None:
    assert wrap(("a + b", P.ADD), P.ADD) == "a + b"
    assert wrap(("a + b", P.ADD), P.MUL) == "(a + b)"
