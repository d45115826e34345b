"""What holds of the text of the evaluator's parts: what they own, and how they are typed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3] / "transforms" / "specialise"
FILES = sorted(ROOT.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
CHANGES = {
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove",
    "setdefault", "sort", "update",
}  # fmt: skip


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def classes(path: Path, *bases: str) -> Iterator[ast.ClassDef]:
    for node in TREES[path].body:
        if isinstance(node, ast.ClassDef) and any(ast.unparse(b) in bases for b in node.bases):
            yield node


def owners() -> dict[str, str]:
    """The part that owns an attribute: its class has a default for it."""
    return {
        field.target.id: part_of(path)
        for path in FILES
        for cls in classes(path, "Part")
        for field in cls.body
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and field.value is not None
    }


def part_names() -> set[str]:
    """The names under which parts hold each other."""
    known = {cls.name for path in FILES for cls in classes(path, "Part")}
    return {
        field.target.id
        for path in FILES
        for cls in classes(path, "Part")
        for field in cls.body
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and ast.unparse(field.annotation) in known
    }


def changed(node: ast.AST) -> Iterator[ast.expr]:
    """What a statement or a call assigns to, or changes in place."""
    targets: list[ast.expr] = []
    if isinstance(node, (ast.Assign, ast.Delete)):
        targets = list(node.targets)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        targets = [node.func.value] if node.func.attr in CHANGES else []
    while targets:
        target = targets.pop()
        if isinstance(target, (ast.Tuple, ast.List)):
            targets += target.elts
        elif isinstance(target, (ast.Subscript, ast.Starred)):
            targets.append(target.value)
        else:
            yield target


def foreign_changes(tree: ast.AST, part: str, owned: dict[str, str], names: set[str]) -> list[str]:
    """Changes of attributes of other parts."""
    found = []
    for node in ast.walk(tree):
        for target in changed(node):
            if not isinstance(target, ast.Attribute) or owned.get(target.attr, part) == part:
                continue
            holder = target.value
            name = holder.attr if isinstance(holder, ast.Attribute) else ""
            if name in names:
                found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_attribute_is_assigned_outside_its_part(path: Path) -> None:
    assert foreign_changes(TREES[path], part_of(path), owners(), part_names()) == []


@pytest.mark.parametrize(
    "text, found",
    [
        ("self.places.stmt = node", 1),
        ("self.arrays.appended.add(cell)", 1),
        ("del inner.variables.tapes[0]", 1),
        ("a, self.objects.lifted[k] = 1, 2", 1),
        ("self.stmt = node", 0),
        ("frame.stmt = node", 0),
        ("len(self.variables.tapes)", 0),
    ],
)
def test_foreign_changes_are_seen(text: str, found: int) -> None:
    assert len(foreign_changes(ast.parse(text), "driver", owners(), part_names())) == found


def test_every_part_owns_what_the_design_says() -> None:
    owned = owners()
    expected = {"stack": "places", "tapes": "variables", "appended": "heap", "voids": "control"}
    expected |= {"lifted": "outside", "run_over": "operations", "closing": "interpreter"}
    assert {name: owned[name] for name in expected} == expected


def test_there_is_no_getattr() -> None:
    defined = {n.name for t in TREES.values() for n in ast.walk(t) if hasattr(n, "name")}
    assert not defined & {"__getattr__", "__getattribute__", "__setattr__"}


def untyped(cls: ast.ClassDef) -> Iterator[str]:
    """The public methods of a class that have `Any`, or nothing, in their signature."""
    for method in cls.body:
        if not isinstance(method, ast.FunctionDef) or method.name.startswith("_"):
            continue
        args = method.args
        given = [*args.posonlyargs, *args.args[1:], *args.kwonlyargs, args.vararg, args.kwarg]
        types = [a.annotation for a in given if a is not None] + [method.returns]
        if any(t is None or "Any" in ast.unparse(t).split("[")[0] for t in types) or any(
            isinstance(n, ast.Name) and n.id == "Any" for t in types if t for n in ast.walk(t)
        ):
            yield f"{cls.name}.{method.name}"


def test_interfaces_are_typed() -> None:
    found = [m for path in FILES for cls in classes(path, "Part", "Protocol") for m in untyped(cls)]
    assert found == []


def test_any_is_seen() -> None:
    text = "class A:\n    def f(self, x: list[Any]) -> int: ...\n    def g(self, x): ...\n"
    (cls,) = ast.parse(text).body
    assert isinstance(cls, ast.ClassDef)
    assert list(untyped(cls)) == ["A.f", "A.g"]


def test_only_the_nine_methods_go_up() -> None:
    """What parts take from the evaluator as a whole is in its protocol."""
    (protocol,) = classes(ROOT / "evaluator.py", "Protocol")
    nine = {m.name for m in protocol.body if isinstance(m, ast.FunctionDef)}
    assert len(nine) == 9
    used = {
        n.attr
        for path in FILES
        for cls in classes(path, "Part")
        for n in ast.walk(cls)
        if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "self.evaluator"
    }
    assert used == nine
