"""Python's own parser as an oracle for `cst_to_core`: the same translation from `ast` trees."""

from __future__ import annotations

import ast
from typing import Any

from s2s.transforms.syntax import core as c

BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
COMPARE = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
REFUSED = {
    "ClassDef", "TryStar", "Set", "SetComp", "Yield", "YieldFrom", "Await",
    "AsyncFor", "AsyncWith", "AsyncFunctionDef", "TemplateStr",
}  # fmt: skip
WHOLE = {"Yield", "YieldFrom", "Await", "AsyncFor", "AsyncWith"}


class Oracle:
    def __init__(self, text: str) -> None:
        # As Python counts lines: not at form feeds and the like, as `str.splitlines` does.
        self.lines = text.split("\n")

    def at(self, node: Any) -> c.At:
        def column(line: int, offset: int) -> int:
            return len(self.lines[line - 1].encode()[:offset].decode(errors="replace"))

        start, end = node.lineno, node.end_lineno
        return start, column(start, node.col_offset), end, column(end, node.end_col_offset)

    def node(self, node: Any) -> Any:
        if node is None:
            return None
        kind = type(node).__name__
        if kind in REFUSED:
            return c.Refused(self.at(node), "", "")
        return getattr(self, kind)(node)

    def all(self, nodes: Any) -> tuple[Any, ...]:
        return tuple(map(self.node, nodes))

    # ---- expressions

    def Constant(self, n: Any) -> Any:
        return c.Const(self.at(n), n.value)

    def Name(self, n: Any) -> Any:
        return c.Name(self.at(n), n.id)

    def Attribute(self, n: Any) -> Any:
        return c.Attr(self.at(n), self.node(n.value), n.attr)

    def Subscript(self, n: Any) -> Any:
        return c.Item(self.at(n), self.node(n.value), self.node(n.slice))

    def Slice(self, n: Any) -> Any:
        return c.Slice(self.at(n), *self.all((n.lower, n.upper, n.step)))

    def UnaryOp(self, n: Any) -> Any:
        return c.Unary(self.at(n), UNARY[type(n.op)], self.node(n.operand))

    def BinOp(self, n: Any) -> Any:
        return c.Binary(self.at(n), self.node(n.left), BINARY[type(n.op)], self.node(n.right))

    def BoolOp(self, n: Any) -> Any:
        return c.Bool(self.at(n), type(n.op).__name__.lower(), self.all(n.values))

    def Compare(self, n: Any) -> Any:
        ops = tuple(COMPARE[type(op)] for op in n.ops)
        rights = tuple(
            c.Seq(self.at(right), "set", self.all(right.elts))
            if isinstance(op, (ast.In, ast.NotIn)) and isinstance(right, ast.Set)
            else self.node(right)
            for op, right in zip(n.ops, n.comparators)
        )
        return c.Compare(self.at(n), self.node(n.left), ops, rights)

    def IfExp(self, n: Any) -> Any:
        return c.Choose(self.at(n), *self.all((n.test, n.body, n.orelse)))

    def NamedExpr(self, n: Any) -> Any:
        return c.Bind(self.at(n), self.node(n.target), self.node(n.value))

    def Starred(self, n: Any) -> Any:
        return c.Star(self.at(n), self.node(n.value))

    def Call(self, n: Any) -> Any:
        keywords = tuple(c.Keyword(self.at(k), k.arg, self.node(k.value)) for k in n.keywords)
        return c.Call(self.at(n), self.node(n.func), self.all(n.args), keywords)

    def Tuple(self, n: Any) -> Any:
        return c.Seq(self.at(n), "tuple", self.all(n.elts))

    def List(self, n: Any) -> Any:
        return c.Seq(self.at(n), "list", self.all(n.elts))

    def Dict(self, n: Any) -> Any:
        return c.Dict(self.at(n), self.all(n.keys), self.all(n.values))

    def clauses(self, n: Any) -> Any:
        return tuple(
            c.Clause((0, 0, 0, 0), self.node(g.target), self.node(g.iter), self.all(g.ifs))
            for g in n.generators
        )

    def ListComp(self, n: Any) -> Any:
        return c.Comp(self.at(n), "list", self.node(n.elt), self.clauses(n))

    def GeneratorExp(self, n: Any) -> Any:
        return c.Comp(self.at(n), "generator", self.node(n.elt), self.clauses(n))

    def DictComp(self, n: Any) -> Any:
        pair = c.Seq(self.at(n), "tuple", self.all((n.key, n.value)))
        return c.Comp(self.at(n), "dict", pair, self.clauses(n))

    def Lambda(self, n: Any) -> Any:
        value = self.node(n.body)
        body = (c.Return(value.at, value),)
        if _whole([n.body]):
            body = (c.Refused((0, 0, 0, 0), "", ""),)
        params = self.params(n.args, self.at(n))
        return c.Lambda(self.at(n), c.Func(self.at(n), "<lambda>", params, body, True))

    def JoinedStr(self, n: Any) -> Any:
        return c.Format(self.at(n), self.parts(n))

    def parts(self, n: Any) -> Any:
        found: list[Any] = []
        for v in n.values:
            if isinstance(v, ast.Constant):
                if found and isinstance(found[-1], str):
                    found[-1] += str(v.value)
                elif v.value:
                    found.append(v.value)
                continue
            conversion = None if v.conversion < 0 else chr(v.conversion)
            spec = None
            if v.format_spec is not None:
                spec = c.Format((0, 0, 0, 0), self.parts(v.format_spec))
            found.append(c.Field((0, 0, 0, 0), self.node(v.value), conversion, spec))
        return tuple(found)

    # ---- functions

    def params(self, a: Any, at: c.At) -> c.Params:
        def one(p: Any, default: Any) -> Any:
            return None if p is None else c.Param((0, 0, 0, 0), p.arg, self.node(default))

        plain = [*a.posonlyargs, *a.args]
        defaults = [None] * (len(plain) - len(a.defaults)) + list(a.defaults)
        both, n = [one(p, d) for p, d in zip(plain, defaults)], len(a.posonlyargs)
        named = tuple(map(one, a.kwonlyargs, a.kw_defaults))
        return c.Params(
            at, tuple(both[:n]), tuple(both[n:]), one(a.vararg, None), named, one(a.kwarg, None)
        )

    def FunctionDef(self, n: Any) -> Any:
        body = self.all(n.body)
        if _whole(n.body):
            body = (c.Refused((0, 0, 0, 0), "", ""),)
        func = c.Func(self.at(n), n.name, self.params(n.args, self.at(n)), body)
        return c.Define(self.at(n), func, self.all(n.decorator_list))

    # ---- statements

    def Expr(self, n: Any) -> Any:
        return c.Eval(self.at(n), self.node(n.value))

    def Assign(self, n: Any) -> Any:
        return c.Assign(self.at(n), self.all(n.targets), self.node(n.value))

    def AnnAssign(self, n: Any) -> Any:
        if n.value is not None:
            return c.Assign(self.at(n), (self.node(n.target),), self.node(n.value))
        return c.Pass(self.at(n), (n.target.id,) if isinstance(n.target, ast.Name) else ())

    def AugAssign(self, n: Any) -> Any:
        return c.Augment(self.at(n), self.node(n.target), BINARY[type(n.op)], self.node(n.value))

    def Delete(self, n: Any) -> Any:
        return c.Delete(self.at(n), self.all(n.targets))

    def Return(self, n: Any) -> Any:
        return c.Return(self.at(n), self.node(n.value))

    def Raise(self, n: Any) -> Any:
        return c.Raise(self.at(n), self.node(n.exc), self.node(n.cause))

    def Assert(self, n: Any) -> Any:
        return c.Assert(self.at(n), self.node(n.test), self.node(n.msg))

    def Pass(self, n: Any) -> Any:
        return c.Pass(self.at(n))

    def TypeAlias(self, n: Any) -> Any:
        at, refused = self.at(n), c.Refused(self.at(n), "", "")
        func = c.Func(at, "<lambda>", c.Params(at), (c.Return(at, refused),), True)
        return c.Assign(at, (c.Name(at, n.name.id),), c.Lambda(at, func))

    def Break(self, n: Any) -> Any:
        return c.Break(self.at(n))

    def Continue(self, n: Any) -> Any:
        return c.Continue(self.at(n))

    def aliases(self, n: Any) -> Any:
        return tuple(c.Alias((0, 0, 0, 0), a.name, a.asname) for a in n.names)

    def Import(self, n: Any) -> Any:
        return c.Import(self.at(n), self.aliases(n))

    def ImportFrom(self, n: Any) -> Any:
        if n.names[0].name == "*":
            return c.Refused(self.at(n), "", "")
        return c.ImportFrom(self.at(n), n.level, n.module or "", self.aliases(n))

    def Global(self, n: Any) -> Any:
        return c.Global(self.at(n), tuple(n.names))

    def Nonlocal(self, n: Any) -> Any:
        return c.Nonlocal(self.at(n), tuple(n.names))

    def If(self, n: Any) -> Any:
        return c.If(self.at(n), self.node(n.test), self.all(n.body), self.all(n.orelse))

    def For(self, n: Any) -> Any:
        target, over = self.all((n.target, n.iter))
        return c.For(self.at(n), target, over, self.all(n.body), self.all(n.orelse))

    def While(self, n: Any) -> Any:
        return c.While(self.at(n), self.node(n.test), self.all(n.body), self.all(n.orelse))

    def Match(self, n: Any) -> Any:
        cases = tuple(
            c.Case((0, 0, 0, 0), self.pattern(k.pattern), self.node(k.guard), self.all(k.body))
            for k in n.cases
        )
        return c.Match(self.at(n), self.node(n.subject), cases)

    def pattern(self, n: Any) -> Any:
        def name(text: str | None) -> Any:
            return None if text is None else c.Name((0, 0, 0, 0), text)

        def several(nodes: Any) -> Any:
            return tuple(map(self.pattern, nodes))

        at = (0, 0, 0, 0)
        match n:
            case None:
                return None
            case ast.MatchValue(value=value):
                return c.MatchValue(at, self.node(value))
            case ast.MatchSingleton(value=value):
                return c.MatchValue(at, c.Const(at, value))
            case ast.MatchAs(pattern=pattern, name=target):
                return c.MatchAs(at, self.pattern(pattern), name(target))
            case ast.MatchOr(patterns=patterns):
                return c.MatchOr(at, several(patterns))
            case ast.MatchStar(name=target):
                return c.MatchStar(at, name(target))
            case ast.MatchSequence(patterns=patterns):
                return c.MatchSequence(at, several(patterns))
            case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
                return c.MatchMapping(at, self.all(keys), several(patterns), name(rest))
            case ast.MatchClass(cls=cls, patterns=patterns, kwd_attrs=names, kwd_patterns=named):
                return c.MatchClass(
                    at, self.node(cls), several(patterns), tuple(names), several(named)
                )
        raise AssertionError(n)

    def Try(self, n: Any) -> Any:
        def handler(h: Any) -> Any:
            target = None if h.name is None else c.Name((0, 0, 0, 0), h.name)
            return c.Handler(self.at(h), self.node(h.type), target, self.all(h.body))

        handlers = tuple(map(handler, n.handlers))
        blocks = self.all(n.orelse), self.all(n.finalbody)
        return c.Try(self.at(n), self.all(n.body), handlers, *blocks)

    def With(self, n: Any) -> Any:
        items = tuple(
            c.WithItem((0, 0, 0, 0), self.node(i.context_expr), self.node(i.optional_vars))
            for i in n.items
        )
        return c.With(self.at(n), items, self.all(n.body))


def _whole(nodes: list[Any]) -> bool:
    """Whether syntax that refuses a whole function stands in these nodes of its own scope."""
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if type(node).__name__ in WHOLE or getattr(node, "is_async", 0):
            return True
        if type(node).__name__ == "TryStar":  # `global` in what is refused
            if any(isinstance(n, (ast.Global, ast.Nonlocal)) for n in ast.walk(node)):
                return True
        inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
        if not isinstance(node, inner):
            todo += ast.iter_child_nodes(node)
        elif isinstance(node, ast.FunctionDef):
            todo += [
                *node.decorator_list,
                *node.args.defaults,
                *filter(None, node.args.kw_defaults),
            ]
        elif isinstance(node, ast.Lambda):
            todo += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    return False


def translate(text: str) -> c.Block:
    oracle = Oracle(text)
    return oracle.all(ast.parse(text).body)


def functions(text: str) -> list[c.Define]:
    """The functions of a module, those inside of functions and classes too, in order."""
    oracle = Oracle(text)
    found = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    return sorted(map(oracle.FunctionDef, found), key=lambda node: node.at)
