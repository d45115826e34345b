"""Print core syntax as Python.

The text is that of `ast.unparse`, except for what core syntax does not keep (annotations, of which
a bare one prints as `...`) and for two things that Python cannot express: a loop with `until` tests
the flag in an `if` at the end of its body, and `Refused` prints as a call whose argument says what
is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import core as c

# Precedence, from the loosest; operands of the same precedence need no parentheses on the left.
_NAMED, _LAMBDA, _CHOOSE, _OR, _AND, _NOT, _COMPARE = range(7)
_BINARY = {"|": 7, "^": 8, "&": 9, "<<": 10, ">>": 10, "+": 11, "-": 11}
_BINARY |= {"*": 12, "/": 12, "//": 12, "%": 12, "@": 12, "**": 14}
_UNARY, _POWER, _ATOM = 13, 14, 16


def show(node: c.Expr | c.Params) -> str:
    """An expression, or the parameters of a function, on one line."""
    return _params(node) if isinstance(node, c.Params) else _expr(node, _NAMED)


def show_block(block: c.Block, indent: str = "") -> str:
    """Statements, each line with its line break."""
    return "".join(f"{line}\n" for stmt in block for line in _stmt(stmt, indent))


def show_function(func: c.Func) -> str:
    if func.is_lambda:
        return f"{_lambda(func)}\n"
    return "".join(f"{line}\n" for line in _def(func, ""))


# ---- statements


def _stmt(node: c.Stmt, pad: str) -> list[str]:
    if isinstance(node, c.If):
        return _if(node, pad, "if")
    if isinstance(node, c.For):
        head = f"for {_bare(node.target)} in {_bare(node.over)}:"
        return _loop(node, head, pad)
    if isinstance(node, c.While):
        return _loop(node, f"while {show(node.test)}:", pad)
    if isinstance(node, c.With):
        items = ", ".join(
            show(i.value) + ("" if i.target is None else f" as {show(i.target)}")
            for i in node.items
        )
        return [f"{pad}with {items}:", *_block(node.body, pad)]
    if isinstance(node, c.Match):
        inner = pad + "    "
        lines = [f"{pad}match {_bare(node.subject)}:"]
        for case in node.cases:
            guard = "" if case.guard is None else f" if {show(case.guard)}"
            lines += [f"{inner}case {_pattern(case.pattern)}{guard}:", *_block(case.body, inner)]
        return lines
    if isinstance(node, c.Try):
        return _try(node, pad)
    if isinstance(node, c.Define):
        return [*(f"{pad}@{show(d)}" for d in node.decorators), *_def(node.func, pad)]
    return [pad + _simple(node)]


def _simple(node: Any) -> str:
    match node:
        case c.Assign(targets=targets, value=value):
            return " = ".join([*map(_bare, targets), _bare(value)])
        case c.Augment(target=target, op=op, value=value):
            return f"{show(target)} {op}= {_bare(value)}"
        case c.Delete(targets=targets):
            return f"del {', '.join(map(show, targets))}"
        case c.Eval(value=value):
            return _bare(value)
        case c.Return(value=None):
            return "return"
        case c.Return(value=value) if value is not None:
            return f"return {_bare(value)}"
        case c.Raise(error=error, cause=cause):
            text = "raise" if error is None else f"raise {show(error)}"
            return text if cause is None else f"{text} from {show(cause)}"
        case c.Assert(test=test, message=message):
            return f"assert {show(test)}" + ("" if message is None else f", {show(message)}")
        case c.Import(names=names):
            return f"import {', '.join(map(_alias, names))}"
        case c.ImportFrom(level=level, module=module, names=names):
            return f"from {'.' * level}{module} import {', '.join(map(_alias, names))}"
        case c.Global(names=names) | c.Nonlocal(names=names):
            return f"{type(node).__name__.lower()} {', '.join(names)}"
        case c.Refused():
            return _expr(node, _NAMED)
        case c.Guard(types=types, before_finally=before, silent=silent):
            kinds = ["finally"] * before + ["print"] * silent
            return f"__guard__({', '.join([*map(show, types), *map(repr, kinds)])})"
        case c.Pass(binds=(name,)):
            return f"{name}: ..."
    return type(node).__name__.lower()  # pass, break, continue


def _alias(node: c.Alias) -> str:
    return node.name if node.asname is None else f"{node.name} as {node.asname}"


def _block(block: c.Block, pad: str) -> list[str]:
    inner = pad + "    "
    return [line for stmt in block for line in _stmt(stmt, inner)] or [f"{inner}pass"]


def _if(node: c.If, pad: str, word: str) -> list[str]:
    lines = [f"{pad}{word} {show(node.test)}:", *_block(node.body, pad)]
    if len(node.orelse) == 1 and isinstance(node.orelse[0], c.If):
        return lines + _if(node.orelse[0], pad, "elif")
    return lines + ([f"{pad}else:", *_block(node.orelse, pad)] if node.orelse else [])


def _loop(node: c.For | c.While, head: str, pad: str) -> list[str]:
    lines = [pad + head, *_block(node.body, pad)]
    if node.until is not None:
        lines += [f"{pad}    if {node.until}:", f"{pad}        break"]
    return lines + ([f"{pad}else:", *_block(node.orelse, pad)] if node.orelse else [])


def _try(node: c.Try, pad: str) -> list[str]:
    lines = [f"{pad}try:", *_block(node.body, pad)]
    for handler in node.handlers:
        types = "" if handler.types is None else f" {show(handler.types)}"
        target = "" if handler.target is None else f" as {handler.target.id}"
        lines += [f"{pad}except{types}{target}:", *_block(handler.body, pad)]
    lines += [f"{pad}else:", *_block(node.orelse, pad)] if node.orelse else []
    return lines + ([f"{pad}finally:", *_block(node.final, pad)] if node.final else [])


def _def(func: c.Func, pad: str) -> list[str]:
    return [f"{pad}def {func.name}({_params(func.params)}):", *_block(func.body, pad)]


# ---- patterns


def _pattern(node: c.Pattern) -> str:
    match node:
        case c.MatchValue(value=value):
            return show(value)
        case c.MatchAs(pattern=None, target=target) | c.MatchStar(target=target):
            star = "*" if isinstance(node, c.MatchStar) else ""
            return star + ("_" if target is None else target.id)
        case c.MatchAs(pattern=pattern, target=target) if pattern and target:
            return f"{_inner_pattern(pattern)} as {target.id}"
        case c.MatchOr(patterns=patterns):
            return " | ".join(map(_inner_pattern, patterns))
        case c.MatchSequence(patterns=patterns):
            return f"[{', '.join(map(_pattern, patterns))}]"
        case c.MatchMapping(keys=keys, patterns=patterns, rest=rest):
            parts = [f"{show(k)}: {_pattern(p)}" for k, p in zip(keys, patterns)]
            parts += [] if rest is None else [f"**{rest.id}"]
            return "{" + ", ".join(parts) + "}"
        case c.MatchClass(cls=cls, patterns=patterns, names=names, named=named):
            parts = [*map(_pattern, patterns)]
            parts += [f"{name}={_pattern(p)}" for name, p in zip(names, named)]
            return f"{show(cls)}({', '.join(parts)})"
    raise AssertionError(node)


def _inner_pattern(node: c.Pattern) -> str:
    """A pattern inside `|` or before `as`."""
    loose = isinstance(node, c.MatchOr) or (isinstance(node, c.MatchAs) and node.pattern)
    return f"({_pattern(node)})" if loose else _pattern(node)


# ---- parameters


def _params(node: c.Params) -> str:
    parts = [_param(p) for p in node.positional_only]
    parts += ["/"] if node.positional_only else []
    parts += [_param(p) for p in node.plain]
    if node.star is not None:
        parts.append(f"*{node.star.name}")
    elif node.keyword_only:
        parts.append("*")
    parts += [_param(p) for p in node.keyword_only]
    if node.star_star is not None:
        parts.append(f"**{node.star_star.name}")
    return ", ".join(parts)


def _param(node: c.Param) -> str:
    return node.name if node.default is None else f"{node.name}={_expr(node.default, _CHOOSE)}"


# ---- expressions


def _bare(node: c.Expr) -> str:
    """An expression where a tuple needs no parentheses."""
    if isinstance(node, c.Seq) and node.kind == "tuple" and node.items:
        return _items(node)
    return show(node)


def _items(node: c.Seq) -> str:
    text = ", ".join(_expr(i, _CHOOSE) for i in node.items)
    return f"{text}," if len(node.items) == 1 else text


def _expr(node: Any, around: int) -> str:
    """An expression, in parentheses if it binds less tightly than `around`."""
    text, own = _PRINTERS[type(node)](node)
    return f"({text})" if own < around else text


def _const(node: c.Const) -> tuple[str, int]:
    if node.value is ...:
        return "...", _ATOM
    if isinstance(node.value, type) or callable(node.value):  # of a desugaring
        return node.value.__name__, _ATOM
    text = repr(node.value).replace("inf", "1e309").replace("nan", "(1e309 - 1e309)")
    if isinstance(node.value, (str, bytes)):
        text = repr(node.value)
    return text, _ATOM


def _attr(node: c.Attr) -> tuple[str, int]:
    value = _expr(node.value, _ATOM)
    if isinstance(node.value, c.Const) and type(node.value.value) is int:
        value += " "
    return f"{value}.{node.name}", _ATOM


def _item(node: c.Item) -> tuple[str, int]:
    index = node.index
    # Before Python 3.11, `a[*b]` is no syntax; slices need a tuple without parentheses.
    starred = isinstance(index, c.Seq) and any(isinstance(i, c.Star) for i in index.items)
    plain = not starred or any(isinstance(i, c.Slice) for i in index.items)  # type: ignore[union-attr]
    return f"{_expr(node.value, _ATOM)}[{_bare(index) if plain else show(index)}]", _ATOM


def _slice(node: c.Slice) -> tuple[str, int]:
    start, stop, step = ("" if p is None else show(p) for p in (node.start, node.stop, node.step))
    return f"{start}:{stop}" + (f":{step}" if step else ""), _ATOM  # stands in an index only


def _unary(node: c.Unary) -> tuple[str, int]:
    if node.op == "not":
        return f"not {_expr(node.operand, _NOT)}", _NOT
    return f"{node.op}{_expr(node.operand, _UNARY)}", _UNARY


def _binary(node: c.Binary) -> tuple[str, int]:
    own = _BINARY[node.op]
    if node.op == "**":  # binds more tightly than a sign on its left, less than one on its right
        return f"{_expr(node.left, _ATOM - 1)} ** {_expr(node.right, _UNARY)}", _POWER
    return f"{_expr(node.left, own)} {node.op} {_expr(node.right, own + 1)}", own


def _compare(node: c.Compare) -> tuple[str, int]:
    rights = (f" {op} {_expr(x, _COMPARE + 1)}" for op, x in zip(node.ops, node.rights))
    return _expr(node.left, _COMPARE + 1) + "".join(rights), _COMPARE


def _bool(node: c.Bool) -> tuple[str, int]:
    own = _OR if node.op == "or" else _AND
    return f" {node.op} ".join(_expr(x, own + 1) for x in node.values), own


def _choose(node: c.Choose) -> tuple[str, int]:
    body, test = _expr(node.body, _CHOOSE + 1), _expr(node.test, _CHOOSE + 1)
    return f"{body} if {test} else {_expr(node.orelse, _CHOOSE)}", _CHOOSE


def _call(node: c.Call) -> tuple[str, int]:
    if len(node.args) == 1 and not node.keywords and _is_generator(node.args[0]):
        return _expr(node.function, _ATOM) + _expr(node.args[0], _NAMED), _ATOM
    parts = [_expr(a, _NAMED) for a in node.args]
    for k in node.keywords:
        value = _expr(k.value, _CHOOSE)
        parts.append(f"**{value}" if k.name is None else f"{k.name}={value}")
    return f"{_expr(node.function, _ATOM)}({', '.join(parts)})", _ATOM


def _is_generator(node: c.Expr) -> bool:
    return isinstance(node, c.Comp) and node.kind == "generator"


def _seq(node: c.Seq) -> tuple[str, int]:
    if node.kind == "list":
        return f"[{', '.join(_expr(i, _CHOOSE) for i in node.items)}]", _ATOM
    if node.kind == "set":
        return f"{{{', '.join(_expr(i, _CHOOSE) for i in node.items)}}}", _ATOM
    return f"({_items(node) if node.items else ''})", _ATOM


def _dict(node: c.Dict) -> tuple[str, int]:
    pairs = (
        f"**{_expr(v, _CHOOSE)}" if k is None else f"{_expr(k, _CHOOSE)}: {_expr(v, _CHOOSE)}"
        for k, v in zip(node.keys, node.values)
    )
    return "{" + ", ".join(pairs) + "}", _ATOM


def _star(node: c.Star) -> tuple[str, int]:
    return f"*{_expr(node.value, _BINARY['|'])}", _ATOM


def _comp(node: c.Comp) -> tuple[str, int]:
    element = _expr(node.element, _NAMED)
    if node.kind == "dict":
        assert isinstance(node.element, c.Seq)
        element = ": ".join(_expr(i, _CHOOSE) for i in node.element.items)
    text = element
    for clause in node.clauses:
        text += f" for {_bare(clause.target)} in {_expr(clause.over, _CHOOSE + 1)}"
        text += "".join(f" if {_expr(t, _CHOOSE + 1)}" for t in clause.tests)
    left, right = {"list": "[]", "dict": "{}", "generator": "()"}[node.kind]
    return f"{left}{text}{right}", _ATOM


def _lambda(func: c.Func) -> str:
    (stmt,) = func.body
    value = stmt.value if isinstance(stmt, c.Return) else stmt
    params = _params(func.params)
    return f"lambda{' ' if params else ''}{params}: {_expr(value, _CHOOSE)}"


def _format(node: c.Format) -> tuple[str, int]:
    # A quote that does not occur inside, as Python before 3.12 demands.
    for escaped in (False, True):
        body = _format_body(node, escaped)
        fields = "".join(f"{{{_field(p, True)}}}" for p in node.parts if isinstance(p, c.Field))
        for quote in ("'", '"', "'''", '"""'):
            if quote not in (fields if escaped else body) and (escaped or body[-1:] != quote[0]):
                return f"f{quote}{body}{quote}", _ATOM
    return f'f"""{_format_body(node, True)}"""', _ATOM


def _format_body(node: c.Format, escaped: bool) -> str:
    """The inside of an f-string; `escaped`: with a backslash before quotes that are text."""
    found = ""
    for part in node.parts:
        if isinstance(part, c.Field):
            found += f"{{{_field(part, escaped)}}}"
            continue
        text = part.replace("\\", "\\\\")
        if not part.isprintable():
            text = part.encode("unicode_escape").decode()
        if escaped:
            text = text.replace("'", "\\'").replace('"', '\\"')
        found += text.replace("{", "{{").replace("}", "}}")
    return found


def _field(part: c.Field, escaped: bool) -> str:
    value = _expr(part.value, _CHOOSE)
    space = " " if value.startswith("{") else ""
    conversion = "" if part.conversion is None else f"!{part.conversion}"
    spec = "" if part.spec is None else f":{_format_body(part.spec, escaped)}"
    return f"{space}{value}{conversion}{spec}"


def _bind(node: c.Bind) -> tuple[str, int]:
    return f"({node.target.id} := {_expr(node.value, _CHOOSE)})", _ATOM


def _let(node: c.Let) -> tuple[str, int]:
    value = f"{node.target.id} = {_expr(node.value, _CHOOSE)}"
    return f"(let {value}: {_expr(node.body, _CHOOSE)})", _ATOM


_PRINTERS: dict[type, Callable[[Any], tuple[str, int]]] = {
    c.Const: _const,
    c.Name: lambda node: (node.id, _ATOM),
    c.Result: lambda node: (node.id, _ATOM),
    c.Attr: _attr,
    c.Item: _item,
    c.Slice: _slice,
    c.Unary: _unary,
    c.Binary: _binary,
    c.Compare: _compare,
    c.Bool: _bool,
    c.Choose: _choose,
    c.Call: _call,
    c.Seq: _seq,
    c.Dict: _dict,
    c.Star: _star,
    c.Comp: _comp,
    c.Lambda: lambda node: (_lambda(node.func), _LAMBDA),
    c.Format: _format,
    c.Bind: _bind,
    c.Let: _let,
    c.Refused: lambda node: (f"__refused__({node.message!r})", _ATOM),
}
