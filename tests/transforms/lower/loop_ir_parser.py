"""Parser from the text that `python_printer.py` prints back to loop-level IR.

    parse(write(routines)) == routines

The text has no types of parameters.  They are annotated, as in `def f(x: float64[:, :], n: int64)`,
or given as `types`, in the same notation.  A parameter without either is a float64 buffer if the
routine takes elements or sizes of it, otherwise an int64.  All other types are inferred.

The text does not tell apart some nodes, which are read as follows: an error with run-time values is
of the exception "Failure", `exits_early` is false, empty comments are gone, and narrow integer
arithmetic that is converted to its own dtype is not converted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

import numpy as np

from s2s.transforms.lower.loop_ir import nodes as L

_OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=", ast.And: "and", ast.Or: "or", ast.USub: "-", ast.Not: "not", ast.Invert: "~",
}  # fmt: skip
_COMMENT = re.compile(r"^( +)# (.*)$", re.MULTILINE)
# The result dtypes of functions for which it is not the dtype of the first argument.
_RESULTS = {
    **dict.fromkeys(("np.isnan", "np.isinf", "np.isfinite", "np.signbit"), "bool"),
    **dict.fromkeys(("rt.to_int", "rt.trip_count", "rt.arange_count", "rt.stack_limit"), "int64"),
    **dict.fromkeys(("rt.slice_start", "rt.slice_stop"), "int64"),
    "rt.stack_is_low": "bool",
}
_FLOAT_OF_COMPLEX = ("abs", "np.abs", "np.real", "np.imag", "np.angle")

# The dtype of each name, with the axes of a buffer: "float64", "float64[:, :]".  The axes are "..."
# if no element is accessed.  The names of fields of records start with a dot.
Types = Mapping[str, str]


class ParseError(ValueError):
    """The text is not that of loop-level IR."""


def parse(text: str, types: Mapping[str, Types] | None = None) -> list[L.Routine]:
    """The routines of a module.  `types[routine][name]` are the types of names."""
    tree = ast.parse(_COMMENT.sub(lambda m: m[1] + repr(m[2]), text))
    routines = [s for s in tree.body if isinstance(s, ast.FunctionDef)]
    return [_Reader(f, (types or {}).get(f.name, {})).routine for f in routines]


def types_of(routine: L.Routine) -> dict[str, str]:
    """The types of all names of a routine, in the notation of `parse`."""
    found: dict[str, str] = {}
    whole: dict[str, str] = {}
    for stmt in L.walk(routine.body):
        if isinstance(stmt, L.Alloc):
            found[stmt.name] = _buffer(stmt.dtype, len(stmt.sizes))
        elif isinstance(stmt, L.Store):
            found[stmt.buffer] = _buffer(stmt.expr.dtype, len(stmt.index))
        for e in L.exprs_of(stmt):
            if isinstance(e, L.Subview):
                whole[e.buffer] = "float64[...]"
            for part in e.index if isinstance(e, L.Subview) else (e,):
                found.update(_types_in(part))
    return {**whole, **found}


def _types_in(e: L.Expr) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in L.walk_expr(e):
        if isinstance(part, L.Name):
            found[part.name] = part.dtype
        elif isinstance(part, L.Field):
            found[f".{part.name}"] = part.dtype
        elif isinstance(part, L.Load):
            found[part.buffer] = _buffer(part.dtype, len(part.index))
    return found


def _buffer(dtype: str, rank: int) -> str:
    return f"{dtype}[{', '.join(':' * rank)}]"


class _Reader:
    """Reads one routine.

    `dtypes` are those of the elements of buffers and of scalars; `ranks` has the buffers, with None
    for an unknown rank.
    """

    def __init__(self, function: ast.FunctionDef, types: Types) -> None:
        self.dtypes: dict[str, str] = {}
        self.ranks: dict[str, int | None] = {}
        for node in ast.walk(function):
            match node:
                case ast.Subscript(ast.Name(buffer), at):
                    self.ranks[buffer] = max(self.ranks.get(buffer) or 0, len(_items(at)))
                case ast.Attribute(ast.Name(buffer), "shape" | "reshape"):
                    self.ranks.setdefault(buffer, None)
        params = function.args.args
        given = {a.arg: ast.unparse(a.annotation) for a in params if a.annotation}
        for name, written in {**given, **types}.items():
            self._declare(name, written)
        body = self.block(function.body)
        self.routine = L.Routine(function.name, [self.param(a.arg) for a in params], body)

    def _declare(self, name: str, written: str) -> None:
        dtype, _, axes = written.partition("[")
        self.dtypes[name] = dtype
        if axes:
            self.ranks[name] = None if axes == "...]" else axes.count(":")

    def param(self, name: str) -> L.Param:
        """A buffer whose rank is not known has rank 0."""
        rank = (self.ranks[name] or 0) if name in self.ranks else None
        buffer = "float64" if rank is not None else "int64"
        return L.Param(name, self.dtypes.get(name, buffer), rank)

    # ---- statements

    def block(self, body: list[ast.stmt]) -> list[L.Stmt]:
        return [self.statement(s) for s in body if not isinstance(s, ast.Pass)]

    def statement(self, s: ast.stmt) -> L.Stmt:
        match s:
            case ast.Assign([target], value):
                return self.assignment(target, value)
            case ast.AugAssign(ast.Subscript(ast.Name(buffer), at), ast.Add(), value):
                return L.Store(buffer, self.index(at), self.expr(value), add=True)
            case ast.For(ast.Name(var), ast.Call() as bounds, body):
                return self.loop(var, bounds, body)
            case ast.While(ast.Constant(True), body):
                return L.While(self.block(body))
            case ast.Break():
                return L.Break()
            case ast.If(cond, then, orelse):
                return L.If(self.expr(cond), self.block(then), self.block(orelse))
            case ast.Raise(ast.Call(function, args)):
                return self.failure(ast.unparse(function), args)
            case ast.Expr(ast.Constant(str(text))):
                return L.Comment(text)
            case ast.Expr(ast.Call(function, args)):
                return self.call(ast.unparse(function), args)
            case ast.Return(ast.Tuple(results)):
                return L.Return(tuple(map(self.argument, results)))
        raise ParseError(ast.unparse(s))

    def assignment(self, target: ast.expr, value: ast.expr) -> L.Stmt:
        match target, value:
            case ast.Subscript(ast.Name(buffer), at), _:
                return L.Store(buffer, self.index(at), self.expr(value))
            case ast.Tuple(targets), ast.Call(function, args):
                names = tuple(ast.unparse(t) for t in targets)
                return self.results(names, function, args)
            case ast.Name(name), ast.Call(ast.Attribute(ast.Name("np"), "empty"), [sizes, dtype]):
                found = tuple(map(self.expr, _items(sizes)))
                return self._new_buffer(L.Alloc(name, _dtype(ast.unparse(dtype)), found))
            case ast.Name(name), ast.Call(ast.Attribute(ast.Name(buffer), "reshape"), [sizes]):
                found = tuple(map(self.expr, _items(sizes)))
                self.dtypes.setdefault(name, self.dtypes.get(buffer, "float64"))
                self.ranks[name] = len(found)
                return L.View(name, buffer, found)
            case ast.Name(name), ast.Name(other) if other in self.ranks:
                self.dtypes.setdefault(name, self.dtypes.get(other, "float64"))
                self.ranks[name] = self.ranks[other]
                return L.Rebind(name, other)
            case ast.Name(name), ast.Call(function, args) if self._has_effects(function, args):
                return self.results((name,), function, args)
            case ast.Name(name), _:
                e = self.expr(value)
                self.dtypes[name] = e.dtype
                return L.Let(name, e)
        raise ParseError(f"{ast.unparse(target)} = {ast.unparse(value)}")

    def _has_effects(self, function: ast.expr, args: list[ast.expr]) -> bool:
        """True for a runtime routine: it takes buffers, or is of a family, as `rt.linalg.solve`."""
        own = ast.unparse(function).count(".") == 2
        return own or any(isinstance(a, ast.Name) and a.id in self.ranks for a in args)

    def _new_buffer(self, alloc: L.Alloc) -> L.Alloc:
        self.dtypes[alloc.name], self.ranks[alloc.name] = alloc.dtype, len(alloc.sizes)
        return alloc

    def results(self, names: tuple[str, ...], function: ast.expr, args: list[ast.expr]) -> L.Stmt:
        kind = L.CallRoutine if isinstance(function, ast.Name) else L.CallBuffers
        return kind(names, ast.unparse(function), tuple(map(self.argument, args)))

    def loop(self, var: str, bounds: ast.Call, body: list[ast.stmt]) -> L.Loop:
        function, ends = ast.unparse(bounds.func), [self.expr(a) for a in bounds.args]
        if function not in ("range", "rt.prange"):
            raise ParseError(ast.unparse(bounds))
        start, stop = (L.ZERO, ends[0]) if len(ends) == 1 else ends[:2]
        step = ends[2] if len(ends) == 3 else L.ONE
        self.dtypes[var] = "int64"
        return L.Loop(var, start, stop, step, self.block(body), parallel=function == "rt.prange")

    def failure(self, exception: str, args: list[ast.expr]) -> L.Fail:
        match exception, args:
            case "rt.Failure", [ast.Constant(int(site)), *values]:
                return L.Fail("Failure", "", site, tuple(map(self.expr, values)))
            case _, [ast.Constant(str(message))]:
                return L.Fail(exception, message)
        raise ParseError(exception)

    def call(self, function: str, args: list[ast.expr]) -> L.Stmt:
        match function, args:
            case "rt.show", [ast.Constant(str(template)), ast.Constant(), *values]:
                return L.Print(template, tuple(map(self.argument, values)))
        found = tuple(map(self.argument, args))
        return L.Call(function, found) if "." in function else L.CallRoutine((), function, found)

    # ---- arguments

    def index(self, e: ast.expr) -> L.Index:
        return tuple(map(self.expr, _items(e)))

    def argument(self, e: ast.expr) -> L.Expr | L.Subview:
        match e:
            case ast.Call(ast.Attribute(ast.Name("rt"), "lent"), [lent]):
                return self.argument(lent)
            case ast.Name(name) if name in self.ranks:
                return L.Subview(name)
            case ast.Subscript(ast.Name(buffer), at) if self.ranks[buffer] != len(_items(at)):
                return L.Subview(buffer, self.index(at))
        return self.expr(e)

    # ---- expressions

    def expr(self, e: ast.expr) -> L.Expr:
        match e:
            case ast.Constant(bool(value)):
                return L.Lit(value, "bool")
            case ast.Constant(int(value)):
                return L.Lit(value, "int64")
            case ast.Constant(float(value)):
                return L.Lit(value, "float64")
            case ast.Attribute(ast.Name("np"), "nan" | "inf" as name):
                return L.Lit(float(name), "float64")
            case ast.Name(name):
                return L.Name(name, self.dtypes.get(name, "int64"))
            case ast.UnaryOp(op, x):
                return self.unary(_OPERATORS[type(op)], x)
            case ast.BinOp(left, op, right) | ast.Compare(left, [op], [right]):
                return self.binary(_OPERATORS[type(op)], self.expr(left), self.expr(right))
            case ast.BoolOp(op, [first, *rest]):
                found = self.expr(first)
                for x in rest:
                    found = L.Bin(_OPERATORS[type(op)], found, self.expr(x), "bool")
                return found
            case ast.IfExp(cond, x, y):
                then = self.expr(x)
                return L.Select(self.expr(cond), then, self.expr(y), then.dtype)
            case ast.Subscript(ast.Attribute(ast.Name(buffer), "shape"), ast.Constant(int(axis))):
                return L.Size(buffer, axis)
            case ast.Subscript(x, ast.Constant(str(name))):
                return L.Field(self.expr(x), name, self.dtypes.get(f".{name}", "float64"))
            case ast.Subscript(ast.Name(buffer), at):
                return L.Load(buffer, self.index(at), self.dtypes.get(buffer, "float64"))
            case ast.Call(function, args):
                return self.apply(ast.unparse(function), args)
        raise ParseError(ast.unparse(e))

    def unary(self, op: str, x: ast.expr) -> L.Expr:
        inner = self.expr(x)
        if op == "-" and isinstance(inner, L.Lit) and not isinstance(x, (ast.UnaryOp, ast.Call)):
            return L.Lit(-inner.value, inner.dtype)
        return L.Un(op, inner, "bool" if op == "not" else inner.dtype)

    def binary(self, op: str, left: L.Expr, right: L.Expr) -> L.Expr:
        if op in ("==", "!=", "<", "<=", ">", ">="):
            return L.Bin(op, left, right, "bool")
        if op in ("**", "<<", ">>") and right.dtype == "int64":
            return L.Bin(op, left, right, left.dtype)
        dtype = left.dtype
        if dtype != right.dtype:
            dtype = np.promote_types(left.dtype, right.dtype).name
        return L.Bin(op, left, right, dtype)

    def apply(self, function: str, args: list[ast.expr]) -> L.Expr:
        dtype = _dtype(function)
        if dtype not in _DTYPES:
            found = tuple(map(self.expr, args))
            return L.Apply(function, found, self.result(function, found))
        match args:
            case [ast.Call(ast.Name("complex"), parts)]:
                return L.Lit(complex(*(ast.literal_eval(p) for p in parts)), dtype)
        x = self.expr(args[0])
        if isinstance(x, L.Lit):
            return L.Lit(np.dtype(dtype).type(x.value).item(), dtype)
        if isinstance(x, (L.Bin, L.Un)) and x.dtype == dtype:
            return x
        return L.Cast(x, dtype)

    def result(self, function: str, args: tuple[L.Expr, ...]) -> str:
        dtype = _RESULTS.get(function) or (args[0].dtype if args else "float64")
        if function in _FLOAT_OF_COMPLEX and dtype.startswith("complex"):
            return "float32" if dtype == "complex64" else "float64"
        return dtype


def _items(e: ast.expr) -> list[ast.expr]:
    return e.elts if isinstance(e, ast.Tuple) else [e]


_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
           "float16", "float32", "float64", "complex64", "complex128")  # fmt: skip


def _dtype(written: str) -> str:
    name = written.removeprefix("np.")
    return "bool" if name == "bool_" else name
