"""Translate libcst's trees to core syntax.

Every node of Python's grammar has a method here.  Unsupported syntax becomes `Refused`, which is an
error only where the evaluator reaches it: a `try` in a branch that is not taken for these types
does not matter.  What would change the meaning of a whole function (`yield`, `await`) makes the
function's body `Refused`.

libcst keeps the text of tokens where Python has values: identifiers are normalised (NFKC), numbers
and strings are evaluated, `and` and `or` are flattened, and private names are mangled.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

import libcst as cst

from ..syntax import core as c
from .positions import Place, Recorder

_BINARY = {
    "Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "FloorDivide": "//", "Modulo": "%",
    "Power": "**", "MatrixMultiply": "@", "BitAnd": "&", "BitOr": "|", "BitXor": "^",
    "LeftShift": "<<", "RightShift": ">>",
}  # fmt: skip
_COMPARE = {
    "LessThan": "<", "LessThanEqual": "<=", "GreaterThan": ">", "GreaterThanEqual": ">=",
    "Equal": "==", "NotEqual": "!=", "Is": "is", "IsNot": "is not", "In": "in", "NotIn": "not in",
}  # fmt: skip
_UNARY = {"Minus": "-", "Plus": "+", "BitInvert": "~", "Not": "not"}
_CONSTANTS = {"True": True, "False": False, "None": None}

_GENERATOR = "generators are not supported", "append to a list and return it"
_SETS = "sets are not supported", "use a tuple or a list"
_TRY_STAR = "`except*` is not supported", "test the condition with `if`"
_FUNCTION_REFUSALS = {
    "Yield": _GENERATOR,
    "Await": ("`await` is not supported", "compute outside, pass the value in"),
}
_ASYNC = {
    "For": ("`async for` is not supported", "use a plain for loop"),
    "With": ("`async with` is not supported", "open resources outside the function"),
    "FunctionDef": ("`async` functions are not supported", "use a plain function"),
}


def identifier(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


class Translator:
    """Translates the nodes of one module.  `first` is the line of the user's file in which the
    module's first line stands, and `mangle` maps names as the innermost class does."""

    def __init__(
        self, module: cst.Module, first: int = 1, mangle: Callable[[str], str] | None = None
    ) -> None:
        self.module = module
        self.recorder = Recorder(module)
        self.offset = first - 1
        self.mangle = mangle
        # Of the innermost function that is being translated: syntax that refuses all of it.
        self.whole_refused: c.Refused | None = None

    # ---- places and names

    def span(self, start: Place, end: Place) -> c.At:
        return start[0] + self.offset, start[1], end[0] + self.offset, end[1]

    def at(self, node: cst.CSTNode) -> c.At:
        return self.span(*self.recorder.spans[id(node)])

    def name(self, text: str) -> str:
        text = identifier(text)
        private = self.mangle is not None and text.startswith("__") and not text.endswith("__")
        return self.mangle(text) if private and self.mangle else text

    def comments(self, first: int, last: int) -> dict[int, tuple[int, str]]:
        """The comments in some lines, by line: column and text."""
        found = {}
        for (line, column), text in self.recorder.comments:
            if first <= line + self.offset <= last:
                found[line + self.offset] = (column, text)
        return found

    def alone(self, made: c.With) -> c.With:
        """A translated statement that is compiled without the function around it."""
        if self.whole_refused is None:
            return made
        return c.With(made.at, made.items, (self.whole_refused,))

    # ---- statements

    def block(self, body: cst.BaseSuite | cst.Module) -> c.Block:
        found: list[c.Stmt] = []
        for line in body.body:
            if isinstance(line, cst.SimpleStatementLine):
                found += map(self.stmt, line.body)
            else:
                found.append(self.stmt(line))
        return tuple(found)

    def stmt(self, node: Any) -> c.Stmt:
        return getattr(self, f"stmt_{type(node).__name__}")(node)

    def refused(self, node: cst.CSTNode, refusal: tuple[str, str], binds: Any = ()) -> c.Refused:
        return c.Refused(self.at(node), *refusal, tuple(binds))

    def stmt_Expr(self, node: cst.Expr) -> c.Stmt:
        return c.Eval(self.at(node), self.expr(node.value))

    def stmt_Assign(self, node: cst.Assign) -> c.Stmt:
        targets = tuple(self.expr(t.target) for t in node.targets)
        return c.Assign(self.at(node), targets, self.expr(node.value))

    def stmt_AnnAssign(self, node: cst.AnnAssign) -> c.Stmt:
        target = self.expr(node.target)
        if node.value is not None:
            return c.Assign(self.at(node), (target,), self.expr(node.value))
        return c.Pass(self.at(node), (target.id,) if isinstance(target, c.Name) else ())

    def stmt_AugAssign(self, node: cst.AugAssign) -> c.Stmt:
        op = _BINARY[type(node.operator).__name__.removesuffix("Assign")]
        return c.Augment(self.at(node), self.expr(node.target), op, self.expr(node.value))

    def stmt_Del(self, node: cst.Del) -> c.Stmt:
        target: Any = self.expr(node.target)
        several = isinstance(node.target, cst.Tuple) and not node.target.lpar
        return c.Delete(self.at(node), target.items if several else (target,))

    def stmt_Return(self, node: cst.Return) -> c.Stmt:
        return c.Return(self.at(node), self.optional(node.value))

    def stmt_Raise(self, node: cst.Raise) -> c.Stmt:
        cause = None if node.cause is None else self.expr(node.cause.item)
        return c.Raise(self.at(node), self.optional(node.exc), cause)

    def stmt_Assert(self, node: cst.Assert) -> c.Stmt:
        return c.Assert(self.at(node), self.expr(node.test), self.optional(node.msg))

    def stmt_Pass(self, node: cst.Pass) -> c.Stmt:
        return c.Pass(self.at(node))

    def stmt_Break(self, node: cst.Break) -> c.Stmt:
        return c.Break(self.at(node))

    def stmt_Continue(self, node: cst.Continue) -> c.Stmt:
        return c.Continue(self.at(node))

    def stmt_Import(self, node: cst.Import) -> c.Stmt:
        return c.Import(self.at(node), tuple(map(self.alias, node.names)))

    def stmt_ImportFrom(self, node: cst.ImportFrom) -> c.Stmt:
        if isinstance(node.names, cst.ImportStar):  # which Python allows in modules only
            return self.refused(node, ("`import *` is not supported", "import names"))
        names = tuple(map(self.alias, node.names))
        module = "" if node.module is None else self.dotted(node.module)
        return c.ImportFrom(self.at(node), len(node.relative), module, names)

    def alias(self, node: cst.ImportAlias) -> c.Alias:
        asname = None if node.asname is None else self.name(node.asname.name.value)  # type: ignore[union-attr]
        return c.Alias(self.at(node), self.dotted(node.name), asname)

    def dotted(self, node: cst.BaseExpression) -> str:
        """The name of a module; Python mangles one without dots."""
        return self.name(node.value) if isinstance(node, cst.Name) else _dotted(node)

    def stmt_Global(self, node: cst.Global) -> c.Stmt:
        return c.Global(self.at(node), tuple(self.name(n.name.value) for n in node.names))

    def stmt_Nonlocal(self, node: cst.Nonlocal) -> c.Stmt:
        return c.Nonlocal(self.at(node), tuple(self.name(n.name.value) for n in node.names))

    def stmt_TypeAlias(self, node: Any) -> c.Stmt:
        """A name for what nothing that is compiled may use: Python evaluates it when it is read."""
        at, name = self.at(node), self.name(node.name.value)
        refused = self.refused(node, ("a type alias is not supported as a value", "use its type"))
        func = c.Func(at, "<lambda>", c.Params(at), (c.Return(at, refused),), True)
        return c.Assign(at, (c.Name(at, name),), c.Lambda(at, func))

    def stmt_If(self, node: cst.If) -> c.Stmt:
        orelse: c.Block = ()
        if isinstance(node.orelse, cst.If):
            orelse = (self.stmt_If(node.orelse),)
        elif node.orelse is not None:
            orelse = self.block(node.orelse.body)
        return c.If(self.at(node), self.expr(node.test), self.block(node.body), orelse)

    def stmt_For(self, node: cst.For) -> c.Stmt:
        if node.asynchronous is not None:
            return self.refuse_whole(node, _ASYNC["For"])
        target, over = self.expr(node.target), self.expr(node.iter)
        return c.For(self.at(node), target, over, self.block(node.body), self.orelse(node))

    def stmt_While(self, node: cst.While) -> c.Stmt:
        test = self.expr(node.test)
        return c.While(self.at(node), test, self.block(node.body), self.orelse(node))

    def orelse(self, node: cst.For | cst.While | cst.Try) -> c.Block:
        return () if node.orelse is None else self.block(node.orelse.body)

    def stmt_With(self, node: cst.With) -> c.Stmt:
        if node.asynchronous is not None:
            return self.refuse_whole(node, _ASYNC["With"])
        items = tuple(map(self.with_item, node.items))
        return c.With(self.at(node), items, self.block(node.body))

    def with_item(self, node: cst.WithItem) -> c.WithItem:
        target = None if node.asname is None else self.expr(node.asname.name)
        return c.WithItem(self.at(node), self.expr(node.item), target)

    def stmt_Try(self, node: cst.Try) -> c.Stmt:
        handlers = tuple(map(self.handler, node.handlers))
        final = () if node.finalbody is None else self.block(node.finalbody.body)
        return c.Try(self.at(node), self.block(node.body), handlers, self.orelse(node), final)

    def handler(self, node: cst.ExceptHandler) -> c.Handler:
        types = self.optional(node.type)
        name = None if node.name is None else self.captured(node.name.name)  # type: ignore[arg-type]
        return c.Handler(self.at(node), types, name, self.block(node.body))

    def stmt_TryStar(self, node: cst.TryStar) -> c.Stmt:
        return self.refuse_parts(node, _TRY_STAR)

    def stmt_Match(self, node: cst.Match) -> c.Stmt:
        cases = tuple(map(self.case, node.cases))
        return c.Match(self.at(node), self.expr(node.subject), cases)

    def case(self, node: cst.MatchCase) -> c.Case:
        pattern, guard = self.pattern(node.pattern), self.optional(node.guard)
        return c.Case(self.at(node), pattern, guard, self.block(node.body))

    def pattern(self, node: Any) -> Any:
        at = self.at(node)
        if isinstance(node, (cst.MatchValue, cst.MatchSingleton)):
            return c.MatchValue(at, self.expr(node.value))
        if isinstance(node, cst.MatchAs):
            inner = None if node.pattern is None else self.pattern(node.pattern)
            return c.MatchAs(at, inner, self.captured(node.name))
        if isinstance(node, cst.MatchOr):
            return c.MatchOr(at, tuple(self.pattern(p.pattern) for p in node.patterns))
        if isinstance(node, cst.MatchStar):
            return c.MatchStar(at, self.captured(node.name))
        if isinstance(node, cst.MatchMapping):
            keys = tuple(self.expr(e.key) for e in node.elements)
            patterns = tuple(self.pattern(e.pattern) for e in node.elements)
            return c.MatchMapping(at, keys, patterns, self.captured(node.rest))
        if isinstance(node, cst.MatchClass):
            patterns = tuple(self.pattern(p.value) for p in node.patterns)
            names = tuple(self.name(k.key.value) for k in node.kwds)
            named = tuple(self.pattern(k.pattern) for k in node.kwds)
            return c.MatchClass(at, self.expr(node.cls), patterns, names, named)
        assert isinstance(node, cst.MatchSequence)
        parts = (p if isinstance(p, cst.MatchStar) else p.value for p in node.patterns)
        return c.MatchSequence(at, tuple(map(self.pattern, parts)))

    def captured(self, node: cst.Name | None) -> c.Name | None:
        return None if node is None else c.Name(self.at(node), self.name(node.value))

    def stmt_ClassDef(self, node: cst.ClassDef) -> c.Stmt:
        refusal = "a class inside the function is not supported", "define it at module level"
        return self.refuse_parts(node, refusal)

    def stmt_FunctionDef(self, node: cst.FunctionDef) -> c.Stmt:
        if node.asynchronous is not None:
            return self.refuse_parts(node, _ASYNC["FunctionDef"])
        decorators = tuple(self.expr(d.decorator) for d in node.decorators)
        return c.Define(self.at(node), self.function(node), decorators)

    # ---- functions

    def function(self, node: cst.FunctionDef | cst.Lambda) -> c.Func:
        params = self.params(node.params, node)
        around, self.whole_refused = self.whole_refused, None
        at = self.at(node)
        if isinstance(node, cst.Lambda):
            value = self.expr(node.body)
            body: c.Block = (c.Return(value.at, value),)
            name = "<lambda>"
        else:
            body, name = self.block(node.body), self.name(node.name.value)
        if isinstance(node, cst.FunctionDef) and node.asynchronous is not None:
            self.whole_refused = c.Refused(at, *_ASYNC["FunctionDef"])
        if self.whole_refused is not None:
            body = (self.whole_refused,)
        self.whole_refused = around
        return c.Func(at, name, params, body, isinstance(node, cst.Lambda))

    def params(self, node: cst.Parameters, owner: cst.CSTNode) -> c.Params:
        def several(found: Iterable[cst.Param]) -> tuple[c.Param, ...]:
            return tuple(map(self.param, found))

        star = self.param(node.star_arg) if isinstance(node.star_arg, cst.Param) else None
        star_star = None if node.star_kwarg is None else self.param(node.star_kwarg)
        return c.Params(
            self.at(owner), several(node.posonly_params), several(node.params), star,
            several(node.kwonly_params), star_star,
        )  # fmt: skip

    def param(self, node: cst.Param) -> c.Param:
        return c.Param(self.at(node), self.name(node.name.value), self.optional(node.default))

    def refuse_whole(self, node: cst.CSTNode, refusal: tuple[str, str]) -> c.Refused:
        """Refuse the innermost function: this syntax makes it something else than a function."""
        found = self.refused(node, refusal)
        self.whole_refused = self.whole_refused or found
        return found

    def refuse_parts(self, node: cst.CSTNode, refusal: tuple[str, str]) -> c.Refused:
        """Syntax whose parts are not translated; what they bind is local all the same, and what
        refuses the whole function still does."""
        binds = _Binds(self)
        node.visit(binds)
        for inner in binds.whole:
            self.refuse_whole(inner, _FUNCTION_REFUSALS[type(inner).__name__])
        if binds.declares:
            self.refuse_whole(node, refusal)
        return self.refused(node, refusal, dict.fromkeys(binds.names))

    # ---- expressions

    def optional(self, node: cst.BaseExpression | None) -> c.Expr | None:
        return None if node is None else self.expr(node)

    def expr(self, node: Any) -> Any:
        return getattr(self, f"expr_{type(node).__name__}")(node)

    def exprs(self, nodes: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(map(self.expr, nodes))

    def expr_Name(self, node: cst.Name) -> c.Expr:
        if node.value in _CONSTANTS:
            return c.Const(self.at(node), _CONSTANTS[node.value])
        return c.Name(self.at(node), self.name(node.value))

    def expr_Integer(self, node: cst.Integer) -> c.Expr:
        text = node.value.replace("_", "")
        return c.Const(self.at(node), int(text, 0) if text.strip("0") else 0)

    def expr_Float(self, node: cst.Float) -> c.Expr:
        return c.Const(self.at(node), float(node.value.replace("_", "")))

    def expr_Imaginary(self, node: cst.Imaginary) -> c.Expr:
        return c.Const(self.at(node), complex(node.value.replace("_", "")))

    def expr_Ellipsis(self, node: cst.Ellipsis) -> c.Expr:
        return c.Const(self.at(node), ...)

    def expr_SimpleString(self, node: cst.SimpleString) -> c.Expr:
        return c.Const(self.at(node), node.evaluated_value)

    def expr_FormattedString(self, node: cst.FormattedString) -> c.Expr:
        return c.Format(self.at(node), self.format_parts(node))

    def expr_ConcatenatedString(self, node: cst.ConcatenatedString) -> c.Expr:
        strings = _strings(node)
        if any(isinstance(s, cst.FormattedString) for s in strings):
            return c.Format(self.at(node), self.format_parts(node))
        if any(not isinstance(s, cst.SimpleString) for s in strings):
            return self.expr_TemplatedString(node)
        values: list[Any] = [s.evaluated_value for s in strings]
        return c.Const(self.at(node), values[0][:0].join(values))

    def expr_TemplatedString(self, node: cst.CSTNode) -> c.Expr:
        return self.refuse_parts(node, ("template strings are not supported", "use an f-string"))

    def format_parts(self, node: cst.BaseString) -> tuple[str | c.Field, ...]:
        found: list[str | c.Field] = []
        for string in _strings(node):
            if isinstance(string, cst.SimpleString):
                found.append(str(string.evaluated_value))
            else:
                raw = "r" in string.prefix.lower()
                found += [part for p in string.parts for part in self.format_part(p, raw)]
        return _merged(found)

    def format_part(self, node: Any, raw: bool) -> list[str | c.Field]:
        if isinstance(node, cst.FormattedStringText):
            return [_decoded(node.value, raw)]
        conversion, spec = node.conversion, None
        if node.format_spec is not None:
            parts = [p for part in node.format_spec for p in self.format_part(part, raw)]
            spec = c.Format(self.at(node), _merged(parts))
        field: list[str | c.Field] = []
        if node.equal is not None:  # `{x=}` prints its own text
            text = _code(node.whitespace_before_expression) + _code(node.expression)
            field.append(text + _code(node.equal) + _code(node.whitespace_after_expression))
            if conversion is None and spec is None:
                conversion = "r"
        return [*field, c.Field(self.at(node), self.expr(node.expression), conversion, spec)]

    def expr_Attribute(self, node: cst.Attribute) -> c.Expr:
        return c.Attr(self.at(node), self.expr(node.value), self.name(node.attr.value))

    def expr_Subscript(self, node: cst.Subscript) -> c.Expr:
        parts = [self.subscript(e.slice) for e in node.slice]
        plain = not isinstance(node.slice[0].comma, cst.Comma) and not isinstance(parts[0], c.Star)
        if len(parts) == 1 and plain:
            index = parts[0]
        else:
            spans = self.recorder.spans
            start, (line, column) = spans[id(node.slice[0])][0], spans[id(node.slice[-1])][1]
            comma = node.slice[-1].comma
            if isinstance(comma, cst.Comma):  # at the end, which belongs to the tuple
                column += len(_code(comma.whitespace_before)) + 1
            index = c.Seq(self.span(start, (line, column)), "tuple", tuple(parts))
        return c.Item(self.at(node), self.expr(node.value), index)

    def subscript(self, node: cst.BaseSlice) -> Any:
        if isinstance(node, cst.Index):
            value = self.expr(node.value)
            return c.Star(self.at(node), value) if node.star else value
        assert isinstance(node, cst.Slice)
        parts = (self.optional(node.lower), self.optional(node.upper), self.optional(node.step))
        return c.Slice(self.at(node), *parts)

    def expr_UnaryOperation(self, node: cst.UnaryOperation) -> c.Expr:
        op = _UNARY[type(node.operator).__name__]
        return c.Unary(self.at(node), op, self.expr(node.expression))

    def expr_BinaryOperation(self, node: cst.BinaryOperation) -> c.Expr:
        op = _BINARY[type(node.operator).__name__]
        return c.Binary(self.at(node), self.expr(node.left), op, self.expr(node.right))

    def expr_BooleanOperation(self, node: cst.BooleanOperation) -> c.Expr:
        kind = type(node.operator)
        values = [self.expr(node.right)]
        left = node.left
        # `x and y and z` nests to the left; parentheses make another operation.
        while isinstance(left, cst.BooleanOperation) and type(left.operator) is kind:
            if left.lpar:
                break
            values.append(self.expr(left.right))
            left = left.left
        values.append(self.expr(left))
        return c.Bool(self.at(node), kind.__name__.lower(), tuple(values[::-1]))

    def expr_Comparison(self, node: cst.Comparison) -> c.Expr:
        ops = tuple(_COMPARE[type(part.operator).__name__] for part in node.comparisons)
        rights = tuple(
            self.members(part.comparator)
            if isinstance(part.operator, (cst.In, cst.NotIn))
            and isinstance(part.comparator, cst.Set)
            else self.expr(part.comparator)
            for part in node.comparisons
        )
        return c.Compare(self.at(node), self.expr(node.left), ops, rights)

    def expr_IfExp(self, node: cst.IfExp) -> c.Expr:
        test, body, orelse = self.exprs((node.test, node.body, node.orelse))
        return c.Choose(self.at(node), test, body, orelse)

    def expr_NamedExpr(self, node: cst.NamedExpr) -> c.Expr:
        return c.Bind(self.at(node), self.expr(node.target), self.expr(node.value))

    def expr_Call(self, node: cst.Call) -> c.Expr:
        function = self.expr(node.func)
        args: list[c.Expr] = []
        keywords: list[c.Keyword] = []
        for arg in node.args:
            value = self.expr(arg.value)
            if arg.keyword is not None:
                keywords.append(c.Keyword(self.at(arg), identifier(arg.keyword.value), value))
            elif arg.star == "**":
                keywords.append(c.Keyword(self.at(arg), None, value))
            else:
                if len(node.args) == 1 and isinstance(arg.value, cst.GeneratorExp):
                    if not arg.value.lpar:
                        value = c.Comp(self.parentheses(node), "generator", *_rest_of(value))
                args.append(c.Star(self.at(arg), value) if arg.star else value)
        return c.Call(self.at(node), function, tuple(args), tuple(keywords))

    def parentheses(self, node: cst.Call) -> c.At:
        """The place of a call's parentheses, which are those of a generator that is its only
        argument."""
        _, (line, column) = self.recorder.spans[id(node.func)]
        _, end = self.recorder.spans[id(node)]
        return self.span((line, column + len(_code(node.whitespace_after_func))), end)

    def elements(self, elements: Iterable[Any]) -> tuple[c.Expr, ...]:
        return tuple(
            c.Star(self.at(e), self.expr(e.value))
            if isinstance(e, cst.StarredElement)
            else self.expr(e.value)
            for e in elements
        )

    def with_own_parentheses(self, node: Any) -> c.At:
        """The place with the innermost parentheses, which belong to tuples and generators."""
        if not node.lpar:
            return self.at(node)
        spans = self.recorder.spans
        return self.span(spans[id(node.lpar[-1])][0], spans[id(node.rpar[0])][1])

    def expr_Tuple(self, node: cst.Tuple) -> c.Expr:
        return c.Seq(self.with_own_parentheses(node), "tuple", self.elements(node.elements))

    def expr_List(self, node: cst.List) -> c.Expr:
        return c.Seq(self.at(node), "list", self.elements(node.elements))

    def members(self, node: cst.Set) -> c.Expr:
        """A set that is only searched."""
        return c.Seq(self.at(node), "set", self.elements(node.elements))

    def expr_Set(self, node: cst.Set) -> c.Expr:
        return self.refuse_parts(node, _SETS)

    def expr_StarredElement(self, node: cst.StarredElement) -> c.Expr:
        return c.Star(self.at(node), self.expr(node.value))

    def expr_Dict(self, node: cst.Dict) -> c.Expr:
        starred = [isinstance(e, cst.StarredDictElement) for e in node.elements]
        keys = [None if s else self.expr(e.key) for s, e in zip(starred, node.elements)]  # type: ignore[attr-defined]
        values = [self.expr(e.value) for e in node.elements]
        return c.Dict(self.at(node), tuple(keys), tuple(values))

    def clauses(self, node: cst.CompFor) -> tuple[c.Clause, ...]:
        found: list[c.Clause] = []
        inner: cst.CompFor | None = node
        while inner is not None:
            if inner.asynchronous is not None:
                self.refuse_whole(inner, _FUNCTION_REFUSALS["Await"])
            tests = tuple(self.expr(i.test) for i in inner.ifs)
            target, over = self.expr(inner.target), self.expr(inner.iter)
            found.append(c.Clause(self.at(inner), target, over, tests))
            inner = inner.inner_for_in
        return tuple(found)

    def expr_ListComp(self, node: cst.ListComp) -> c.Expr:
        element = self.expr(node.elt)
        return c.Comp(self.at(node), "list", element, self.clauses(node.for_in))

    def expr_SetComp(self, node: cst.SetComp) -> c.Expr:
        return self.refuse_parts(node, (_SETS[0], "use a list comprehension"))

    def expr_GeneratorExp(self, node: cst.GeneratorExp) -> c.Expr:
        at, element = self.with_own_parentheses(node), self.expr(node.elt)
        return c.Comp(at, "generator", element, self.clauses(node.for_in))

    def expr_DictComp(self, node: cst.DictComp) -> c.Expr:
        at = self.at(node)
        pair = c.Seq(at, "tuple", (self.expr(node.key), self.expr(node.value)))
        return c.Comp(at, "dict", pair, self.clauses(node.for_in))

    def expr_Lambda(self, node: cst.Lambda) -> c.Expr:
        return c.Lambda(self.at(node), self.function(node))

    def expr_Yield(self, node: cst.Yield) -> c.Expr:
        return self.refuse_whole(node, _GENERATOR)

    def expr_Await(self, node: cst.Await) -> c.Expr:
        return self.refuse_whole(node, _FUNCTION_REFUSALS["Await"])


class _Binds(cst.CSTVisitor):
    """The names that syntax binds in the scope that it stands in, and what in it refuses the
    function as a whole.  `declares`: it contains `global` or `nonlocal`."""

    def __init__(self, translator: Translator) -> None:
        super().__init__()
        self.translator = translator
        self.names: list[str] = []
        self.whole: list[cst.CSTNode] = []
        self.declares = False

    def bind(self, target: Any) -> None:
        if isinstance(target, cst.Name):
            self.names.append(self.translator.name(target.value))
        elif isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self.bind(element.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self.bind(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self.bind(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self.bind(node.target)

    def visit_For(self, node: cst.For) -> None:
        self.bind(node.target)

    def visit_AsName(self, node: cst.AsName) -> None:
        self.bind(node.name)

    def visit_ImportAlias(self, node: cst.ImportAlias) -> None:
        if node.asname is None:
            self.names.append(self.translator.dotted(node.name).split(".")[0])

    def visit_Del(self, node: cst.Del) -> None:
        self.bind(node.target)

    def visit_MatchAs(self, node: cst.MatchAs) -> None:
        self.bind(node.name)

    def visit_MatchStar(self, node: cst.MatchStar) -> None:
        self.bind(node.name)

    def visit_MatchMapping(self, node: cst.MatchMapping) -> None:
        self.bind(node.rest)

    def visit_TypeAlias(self, node: cst.TypeAlias) -> None:
        self.bind(node.name)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self.bind(node.target)

    def visit_Yield(self, node: cst.Yield) -> None:
        self.whole.append(node)

    def visit_Await(self, node: cst.Await) -> None:
        self.whole.append(node)

    def visit_Global(self, node: cst.Global) -> None:
        self.declares = True

    def visit_Nonlocal(self, node: cst.Nonlocal) -> None:
        self.declares = True

    # The bodies of these are other scopes; decorators, defaults and bases are not.

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self.bind(node.name)
        return self.visit_only(*node.decorators, node.params)

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        self.bind(node.name)
        return self.visit_only(*node.decorators, *node.bases, *node.keywords)

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return self.visit_only(node.params)

    def visit_only(self, *parts: cst.CSTNode) -> bool:
        for part in parts:
            part.visit(self)
        return False


def _rest_of(node: c.Comp) -> tuple[c.Expr, tuple[c.Clause, ...]]:
    return node.element, node.clauses


def _code(node: Any) -> str:
    return cst.Module([]).code_for_node(node)


def _dotted(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{identifier(node.attr.value)}"
    assert isinstance(node, cst.Name)
    return identifier(node.value)


def _strings(node: Any) -> list[Any]:
    """The parts of strings that stand beside each other."""
    if isinstance(node, cst.ConcatenatedString):
        return [*_strings(node.left), *_strings(node.right)]
    return [node]


def _merged(parts: list[str | c.Field]) -> tuple[str | c.Field, ...]:
    """Adjacent texts as one, and no empty ones."""
    found: list[str | c.Field] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part != "":
            found.append(part)
    return tuple(found)


_QUOTED = {'"': '\\"', "\\": "\\\\"}


def _decoded(text: str, raw: bool) -> str:
    """The value of the text between the fields of an f-string."""
    text = text.replace("{{", "{").replace("}}", "}")
    if raw or "\\" not in text:
        return text
    # A backslash at the end, before a field, stands for itself.
    quoted = re.sub(r'\\.|"|\\$', lambda m: _QUOTED.get(m[0], m[0]), text, flags=re.DOTALL)
    return str(cst.SimpleString(f'"""{quoted}"""').evaluated_value)
