"""Mutations of corpus programs: operators, names, statements and expressions are exchanged.

The outcome of a mutant must be that of plain Python, or s2s must refuse it.
"""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import random
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from tests.corpus import Case, load

CONSTANTS = (
    0, 1, -1, 2, 3, 10**30, 2**63 - 1, 0.0, -0.0, 0.5, 1e308, float("inf"), True, False, None,
    "a", "", b"a", 1j, (), (1, 2.0), ...,
)  # fmt: skip
METHODS = (
    "sum", "mean", "max", "T", "copy", "reshape", "astype", "size", "shape", "append", "pop",
    "sort", "ndim", "dtype", "flatten", "ravel", "tolist", "item", "fill", "transpose", "real",
    "exp", "sin", "zeros", "ones", "arange", "where", "array", "stack", "dot", "outer", "cumsum",
    "linalg", "log", "abs", "clip", "prod", "var", "std", "argmax", "any", "all", "nosuchname",
)  # fmt: skip
WRAPPERS = (
    "(lambda: E)()", "(E,)[0]", "[E][0]", "[E]", "(E, E)", "{'k': E}['k']", "(E if E else E)",
    "(new := E)", "[E for new in range(2)][0]", "next(iter([E]))", "f'{E}'", "sum([E, E])", "-E",
    "np.array(E)", "E[...]", "E[None]", "E[0]", "E[::-1]", "E.T", "float(E)", "int(E)", "not E",
    "abs(E)", "len(E)", "list(E)", "(E and E)", "(E or E)", "np.sum(E)", "E()", "E.real", "*[E],",
    "E ** 2", "E @ E", "E[-1:5]", "(E)[:0]", "np.float32(E)", "E == E", "E is None", "E in (E,)",
    "[*E]", "dict(k=E)", "str(E)", "min(E, E)", "range(E)", "isinstance(E, float)", "(yield E)",
    "zip(E, E)", "sorted(E)", "(new for new in E)", "E < E < E", "E.copy()", "E // 2", "E % 2",
)  # fmt: skip
AROUND = (
    "if True:\n    S", "for new in range(2):\n    S", "while True:\n    S\n    break",
    "try:\n    S\nfinally:\n    pass", "def inner():\n    S\ninner()", "if COND:\n    S",
    "for new in range(2):\n    S\n    break\nelse:\n    pass", "with np.errstate():\n    S",
    "for new in [1.0, 2.0]:\n    if new > 1.5:\n        continue\n    S",
    "if COND:\n    S\nelse:\n    S",
    "match 1:\n    case 1:\n        S", "S\nS", "del new\nS", "for new in range(0):\n    S",
    "assert True\nS", "try:\n    S\nexcept Exception:\n    pass", "class Inner:\n    S",
)  # fmt: skip


def programs() -> list[tuple[Case, ast.FunctionDef]]:
    """The self-contained corpus programs, with their syntax trees."""
    found = []
    for case in load().values():
        if case.function.__closure__ or case.function.__name__ == "<lambda>":
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(case.function))).body[0]
        except (OSError, SyntaxError):
            continue
        if isinstance(tree, ast.FunctionDef):
            tree.decorator_list = []
            found.append((case, tree))
    return found


class Mutator:
    """Creates mutants, determined by `number` alone."""

    def __init__(self) -> None:
        self.programs = programs()
        self.donors = [
            node
            for _, tree in self.programs
            for node in ast.walk(tree)
            if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        ]

    def mutant(self, seed: int, number: int) -> tuple[Case, str]:
        """The case whose arguments the mutant takes, and its text; the function keeps its name."""
        rng = random.Random(f"mutant {seed} {number}")
        while True:
            case, original = rng.choice(self.programs)
            tree = copy.deepcopy(original)
            try:
                for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
                    rng.choice(MUTATIONS)(self, tree, rng)
                text = ast.unparse(ast.fix_missing_locations(tree))
                compile(text, "<mutant>", "exec")
            except (SyntaxError, ValueError, RecursionError, TypeError, IndexError):
                continue  # a syntax error, or nothing left to mutate
            if text != ast.unparse(original):
                return case, text


def _replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
                return
            if isinstance(value, list):
                for k, item in enumerate(value):
                    if item is old:
                        value[k] = new
                        return


def _loads(tree: ast.FunctionDef) -> list[ast.expr]:
    inside = [n for s in tree.body for n in ast.walk(s)]
    return [
        n
        for n in inside
        if isinstance(n, ast.expr) and isinstance(getattr(n, "ctx", ast.Load()), ast.Load)
    ]


def _blocks(tree: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                yield block


def _names(tree: ast.FunctionDef) -> list[str]:
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    names |= {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}
    return sorted(n for n in names if n != "np" and not hasattr(builtins, n))


def _fill(template: str, **parts: ast.AST) -> list[ast.stmt]:
    body = ast.parse(template).body

    class Filler(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return copy.deepcopy(parts[node.id]) if node.id in parts else node

        def visit_Expr(self, node: ast.Expr) -> Any:
            self.generic_visit(node)
            return node.value if isinstance(node.value, ast.stmt) else node

    return [Filler().visit(s) for s in body]


def swap_operator(_: Mutator, tree: ast.FunctionDef, rng: random.Random) -> None:
    kinds: list[tuple[type, str, tuple[type, ...]]] = [
        (ast.BinOp, "op", (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow,
                           ast.MatMult, ast.LShift, ast.BitAnd, ast.BitOr)),
        (ast.AugAssign, "op", (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Pow)),
        (ast.UnaryOp, "op", (ast.USub, ast.UAdd, ast.Not, ast.Invert)),
        (ast.BoolOp, "op", (ast.And, ast.Or)),
    ]  # fmt: skip
    places = [(n, k) for n in ast.walk(tree) for k in kinds if isinstance(n, k[0])]
    if places:
        node, (_kind, name, choices) = rng.choice(places)
        setattr(node, name, rng.choice(choices)())


def swap_comparison(_: Mutator, tree: ast.FunctionDef, rng: random.Random) -> None:
    choices = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In)
    places = [n for n in ast.walk(tree) if isinstance(n, ast.Compare)]
    if places:
        node = rng.choice(places)
        node.ops[rng.randrange(len(node.ops))] = rng.choice(choices)()


def change_constant(_: Mutator, tree: ast.FunctionDef, rng: random.Random) -> None:
    places = [n for n in _loads(tree) if isinstance(n, ast.Constant)]
    if places:
        value = rng.choice(CONSTANTS)
        new = ast.parse(repr(value).replace("inf", "1e999"), mode="eval").body
        _replace(tree, rng.choice(places), new)


def change_name(_: Mutator, tree: ast.FunctionDef, rng: random.Random) -> None:
    places = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id != "np"]
    names = _names(tree)
    if places and names:
        rng.choice(places).id = rng.choice(names)


def change_attribute(_: Mutator, tree: ast.FunctionDef, rng: random.Random) -> None:
    places = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    if places:
        rng.choice(places).attr = rng.choice(METHODS)


def transplant(mutator: Mutator, tree: ast.FunctionDef, rng: random.Random) -> None:
    """An expression of another program, over names of this one."""
    new, names = copy.deepcopy(rng.choice(mutator.donors)), _names(tree)
    for node in ast.walk(new):
        free = isinstance(node, ast.Name) and node.id != "np" and not hasattr(builtins, node.id)
        if free and names:
            node.id = rng.choice(names)
    _replace(tree, rng.choice(_loads(tree)), new)


def wrap_expression(_: Mutator, tree: ast.FunctionDef, rng: random.Random) -> None:
    old = rng.choice(_loads(tree))
    (stmt,) = _fill(rng.choice(WRAPPERS), E=old)
    assert isinstance(stmt, ast.Expr)
    _replace(tree, old, stmt.value)


def wrap_statement(_: Mutator, tree: ast.FunctionDef, rng: random.Random) -> None:
    block = rng.choice(list(_blocks(tree)))
    at = rng.randrange(len(block))
    comparisons = [n for n in ast.walk(tree) if isinstance(n, ast.Compare)]
    cond = rng.choice(comparisons) if comparisons else ast.Constant(True)
    block[at : at + 1] = _fill(rng.choice(AROUND), S=block[at], COND=cond)


def remove_statement(_: Mutator, tree: ast.FunctionDef, rng: random.Random) -> None:
    block = rng.choice(list(_blocks(tree)))
    if len(block) > 1:
        del block[rng.randrange(len(block))]


def move_statement(_: Mutator, tree: ast.FunctionDef, rng: random.Random) -> None:
    blocks = list(_blocks(tree))
    source, target = rng.choice(blocks), rng.choice(blocks)
    stmt = copy.deepcopy(rng.choice(source))
    target.insert(rng.randrange(len(target) + 1), stmt)


def leave_early(_: Mutator, tree: ast.FunctionDef, rng: random.Random) -> None:
    block = rng.choice(list(_blocks(tree)))
    names = _names(tree) or ["np"]
    value = ast.Name(rng.choice(names), ast.Load())
    stmt = rng.choice((ast.Break(), ast.Continue(), ast.Return(value), ast.Return(None)))
    block.insert(rng.randrange(len(block) + 1), stmt)


def add_keyword(_: Mutator, tree: ast.FunctionDef, rng: random.Random) -> None:
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    if calls:
        name, value = rng.choice(
            (("axis", "0"), ("axis", "-1"), ("keepdims", "True"), ("dtype", "np.float32"),
             ("dtype", "int"), ("axis", "None"), ("out", "None"), ("nosuch", "1"),
             ("axis", "(0, 1)"))
        )  # fmt: skip
        rng.choice(calls).keywords.append(ast.keyword(name, ast.parse(value, mode="eval").body))


def drop_argument(_: Mutator, tree: ast.FunctionDef, rng: random.Random) -> None:
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and n.args]
    if calls:
        args = rng.choice(calls).args
        if rng.random() < 0.5:
            del args[rng.randrange(len(args))]
        else:
            args.append(copy.deepcopy(rng.choice(args)))


MUTATIONS: tuple[Callable[[Mutator, ast.FunctionDef, random.Random], None], ...] = (
    swap_operator, swap_comparison, change_constant, change_name, change_attribute, transplant,
    transplant, wrap_expression, wrap_expression, wrap_statement, wrap_statement, remove_statement,
    move_statement, leave_early, add_keyword, drop_argument,
)  # fmt: skip
