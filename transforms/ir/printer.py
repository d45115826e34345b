"""Print the IR as compact, Python-like text, for tests and for inspecting the passes."""

from __future__ import annotations

from typing import Any

from .nodes import (
    Array,
    Assign,
    Block,
    Call,
    Const,
    Custom,
    Draw,
    For,
    Function,
    If,
    ListOf,
    Module,
    Op,
    Operand,
    Print,
    Raise,
    Record,
    Rng,
    Save,
    Scalar,
    Stmt,
    Store,
    Type,
    Var,
    While,
    operands_of,
)

_SHORT = {"float64": "f8", "float32": "f4", "float16": "f2", "int64": "i8", "int32": "i4"}


def print_ir(program: Module | Function, types: bool = True) -> str:
    """The text of a program, one line per statement.  `types` adds the type of each parameter
    and target.  In a module, callees come before the entry."""
    if isinstance(program, Module):
        return "\n\n".join(print_ir(f, types) for f in reversed(program.functions.values()))
    function = program
    w = _Printer(types)
    params = ", ".join(w.target(p) for p in function.params)
    w.line(0, f"def {function.name}({params}):")
    for stmt in function.body:
        w.stmt(stmt, 1)
    for param, value in function.effects:
        w.line(1, f"effect {param.name} = {operand(value)}")
    w.line(1, "return " + ", ".join(operand(r) for r in function.results))
    return "\n".join(w.lines) + "\n"


def operand(x: Operand) -> str:
    if isinstance(x, Var):
        return x.name
    if x.type.weak or x.type.dtype in ("bool", "int64", "float64"):
        return repr(x.value)
    return f"{_SHORT.get(x.type.dtype, x.type.dtype)}({x.value!r})"


def type_text(t: Type) -> str:
    if isinstance(t, Scalar):
        short = _SHORT.get(t.dtype, t.dtype)
        return f"{short}?" if t.weak else short
    if isinstance(t, Array):
        return f"{_SHORT.get(t.dtype, t.dtype)}[{', '.join(str(d) for d in t.shape)}]"
    if isinstance(t, ListOf):
        return f"list[{type_text(t.elem)}]"
    if isinstance(t, Rng):
        return "rng"
    assert isinstance(t, Record)
    return f"record[{', '.join(str(d) for d in t.shape)}]"


def operation(op: Op) -> str:
    if op.name == "restore":
        return f"restore({op.attrs['slot'].name})"
    if op.name == "index":
        return operand(op.args[0]) + _subscript(op.attrs["items"], op.args)
    if op.name in ("update", "update_add"):
        region = operand(op.args[0]) + _steps(op.attrs["path"], op.args)
        return f"{op.name}({region}, {operand(op.args[1])})"
    parts = [operand(a) for a in op.args]
    parts += [f"{k}={_attr(v)}" for k, v in sorted(op.attrs.items())]
    return f"{op.name}({', '.join(parts)})"


def _attr(value: Any) -> str:
    return type_text(value) if isinstance(value, (Scalar, Array, ListOf)) else repr(value)


def _subscript(items: Any, args: Any) -> str:
    """An index in Python syntax.  The entries of `items` hold positions in `args`."""

    def at(position: int | None) -> str:
        return "" if position is None else operand(args[position])

    parts: list[str] = []
    for kind, *positions in items:
        if kind == "slice":
            start, stop, step = map(at, positions)
            parts.append(f"{start}:{stop}" + (f":{step}" if step else ""))
        else:
            parts.append(at(positions[0]) if positions else {"all": ":", "new": "None"}[kind])
    return f"[{', '.join(parts) or '()'}]"


def _steps(path: Any, args: Any) -> str:
    """The steps of a path, each as a subscript or an attribute."""
    return "".join(
        _subscript(what, args) if step == "index" else f".{step}{what}" for step, what in path
    )


class _Printer:
    def __init__(self, types: bool) -> None:
        self.types = types
        self.lines: list[str] = []

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def target(self, v: Var) -> str:
        return f"{v.name}: {type_text(v.type)}" if self.types else v.name

    def block(self, block: Block, depth: int) -> None:
        for stmt in block:
            self.stmt(stmt, depth)
        if not block:
            self.line(depth, "pass")

    def stmt(self, s: Stmt, depth: int) -> None:
        if isinstance(s, Assign):
            self.line(depth, f"{self.target(s.target)} = {operation(s.op)}")
        elif isinstance(s, Call):
            text = f"{s.function}({', '.join(operand(a) for a in s.args)})"
            names = ", ".join(self.target(t) for t in s.targets)
            self.line(depth, f"{names} = {text}" if names else text)
        elif isinstance(s, Custom):
            names = ", ".join(self.target(t) for t in s.targets)
            values, inputs = (", ".join(map(operand, xs)) for xs in (s.values, s.inputs))
            self.line(depth, f"{names} = custom({values}) by ({inputs})")
        elif isinstance(s, Draw):
            parts = [operand(x) for x in operands_of(s)]
            names = ", ".join(self.target(t) for t in s.targets)
            self.line(depth, f"{names or '_'} = draw {s.method}({', '.join(parts)})")
        elif isinstance(s, Save):
            self.line(depth, f"save({s.slot.name}, {operand(s.value)})")
        elif isinstance(s, If):
            self.branch(s, depth)
        elif isinstance(s, (For, While)):
            self.loop(s, depth)
        elif isinstance(s, Raise):
            parts = [operand(p) if isinstance(p, (Var, Const)) else repr(p) for p in s.message]
            self.line(depth, f"raise {s.exception}({', '.join(parts)})")
        elif isinstance(s, Print):
            parts = [operand(p) if isinstance(p, (Var, Const)) else repr(p) for p in s.parts]
            self.line(depth, f"print({', '.join(parts)})")
        elif isinstance(s, Store):
            region = s.array.name + _steps(s.path, (s.array, s.value, *s.operands))
            self.line(depth, f"{region} {'+=' if s.add else '='} {operand(s.value)}")

    def branch(self, s: If, depth: int) -> None:
        self.line(depth, f"if {operand(s.cond)}:")
        self.block(s.then, depth + 1)
        if s.orelse:
            self.line(depth, "else:")
            self.block(s.orelse, depth + 1)
        for p in s.phis:
            values = f"{operand(p.then_value)} | {operand(p.else_value)}"
            self.line(depth, f"{self.target(p.target)} = {values}")

    def loop(self, s: For | While, depth: int) -> None:
        tail = f"  # {s.label}" if s.label else ""
        if isinstance(s, For):
            bounds = ", ".join(operand(o) for o in (s.start, s.stop, s.step))
            text = f"for {s.index.name} in {'reversed ' if s.reverse else ''}range({bounds})"
            if s.count is not None:
                text += f" count {operand(s.count)}"
            tail += f" mirrors {s.mirror}" if s.mirror else ""
        else:
            text = f"while {operand(s.cond)}"
        self.line(depth, f"{text}:{tail}")
        for c in s.carried:
            self.line(depth + 1, f"{self.target(c.phi)} = {operand(c.init)} | {operand(c.next)}")
        if isinstance(s, While) and s.test:
            self.line(depth + 1, "test:")
            self.block(s.test, depth + 2)
        self.block(s.body, depth + 1)
        if s.until is not None:
            self.line(depth + 1, f"until {operand(s.until)}")
        for c in s.carried:
            self.line(depth, f"{self.target(c.result)} = last {c.phi.name}")
        if s.trips is not None:
            self.line(depth, f"{s.trips.name} = trips")
