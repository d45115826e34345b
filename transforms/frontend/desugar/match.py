"""`match` becomes `if` and `elif`.

A pattern is a list of steps, in the order in which Python takes them: tests, and names for
attributes, which Python reads once.  What a pattern captures is bound after its last test.  Where
the tests come first and there is no guard, the next case is the `else` of this one:

    match p:                        if p == 0:
        case 0:                         A
            A                       else:
        case [x, y]:                    if isinstance(p, (list, tuple, range)) and len(p) == 2:
            B                               x = p[0]
                                            y = p[1]
                                            B

Otherwise a flag says whether a case was taken.
"""

from __future__ import annotations

import collections.abc
from typing import Any

from ...ir.record import record
from ...syntax import core as c
from ...syntax.names import all_names, fresh, stores
from ...syntax.traverse import rewrite, walk

# Classes whose one positional pattern is matched with the object itself.
_SELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
_EACH = "write a case for each alternative"


@record
class _Test:
    test: c.Expr


@record
class _Set:
    name: str
    value: c.Expr


def expand_match(func: c.Func) -> c.Func:
    """A function without `match`, nested functions included."""
    taken = all_names(func)
    rebound = {name for n in walk(func) if isinstance(n, c.Nonlocal) for name in n.names}

    def change(node: Any) -> Any:
        return _Match(node, taken, rebound).block() if isinstance(node, c.Match) else node

    return rewrite(func, change)


class _Match:
    """`rebound`: names that a call in a guard may bind."""

    def __init__(self, node: c.Match, taken: set[str], rebound: set[str]) -> None:
        self.node, self.taken, self.rebound = node, taken, rebound

    def block(self) -> c.Block:
        node, subject = self.node, self.node.subject
        inside: list[c.Node] = [case.pattern for case in node.cases]
        inside += [case.guard for case in node.cases if case.guard is not None]
        bound = {name.id for name in stores(inside)} | self.rebound
        first = node.cases[0].pattern
        irrefutable = isinstance(first, c.MatchAs) and first.pattern is None
        if isinstance(subject, c.Name) and subject.id not in bound and not irrefutable:
            return self.cases(subject, node.cases)
        name = fresh(f"subject_L{node.line}", self.taken)
        start = c.Assign(subject.at, (c.Name(subject.at, name),), subject)
        return (start, *self.cases(c.Name(subject.at, name), node.cases))

    def cases(self, subject: c.Name, cases: tuple[c.Case, ...]) -> c.Block:
        if not cases:
            return ()
        case, rest = cases[0], self.cases(subject, cases[1:])
        pattern = _Pattern(self.taken)
        pattern.add(case.pattern, subject)
        steps = [*pattern.steps, *(_Set(t.id, value) for t, value in pattern.captures)]
        count = _tests_first(steps)
        if count is not None and case.guard is None:
            body = (*_sets(steps[count:], case), *case.body)
            if not count:
                return body
            return (c.If(case.at, _all(steps[:count], case), body, rest),)
        if count == 0 and case.guard is not None:
            return (*_sets(steps, case), c.If(case.at, case.guard, case.body, rest))
        flag = fresh(f"matched_L{case.line}", self.taken) if rest else ""
        body = case.body
        if rest:
            body = (_assign(flag, c.Const(case.at, True), case), *body)
        if case.guard is not None:
            body = (c.If(case.at, case.guard, body),)
        block = _nested(steps, body, case)
        if not rest:
            return block
        start = _assign(flag, c.Const(case.at, False), case)
        missed = c.Unary(case.at, "not", c.Name(case.at, flag))
        return (start, *block, c.If(case.at, missed, rest))


class _Pattern:
    """The steps of one pattern, and the names that it captures."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.steps: list[_Test | _Set] = []
        self.captures: list[tuple[c.Name, c.Expr]] = []

    def test(self, test: c.Expr) -> None:
        self.steps.append(_Test(test))

    def refuse(self, node: c.Node, message: str, advice: str) -> None:
        bound = tuple(sorted({n.id for n in stores([node])}))
        self.test(c.Refused(node.at, message, advice, bound))

    def add(self, node: c.Pattern, value: c.Expr) -> None:
        """Matches `value`, an expression without effects that may be evaluated repeatedly."""
        if isinstance(node, c.MatchValue):
            self.test(_equals(node, value))
        elif isinstance(node, c.MatchAs):
            if node.pattern is not None:
                self.add(node.pattern, value)
            if node.target is not None:
                self.captures.append((node.target, value))
        elif isinstance(node, c.MatchOr):
            self.add_or(node, value)
        elif isinstance(node, c.MatchSequence):
            self.add_sequence(node, value)
        elif isinstance(node, c.MatchMapping):
            self.add_mapping(node, value)
        elif isinstance(node, c.MatchClass):
            self.add_class(node, value)

    def add_or(self, node: c.MatchOr, value: c.Expr) -> None:
        tests: list[c.Expr] = []
        for alternative in node.patterns:
            inner = _Pattern(self.taken)
            inner.add(alternative, value)
            if inner.captures:
                return self.refuse(node, "alternatives that bind names are not supported", _EACH)
            if any(isinstance(step, _Set) for step in inner.steps):
                why = "an alternative with patterns inside attributes is not supported"
                return self.refuse(node, why, _EACH)
            tests.append(_all(inner.steps, alternative))
        self.test(c.Bool(node.at, "or", tuple(tests)))
        return None

    def add_sequence(self, node: c.MatchSequence, value: c.Expr) -> None:
        at, count = node.at, len(node.patterns)
        self.test(_is_sequence(node, value))
        stars = [i for i, p in enumerate(node.patterns) if isinstance(p, c.MatchStar)]
        size = _call(node, len, value)
        if not stars:
            self.test(c.Compare(at, size, ("==",), (c.Const(at, count),)))
        elif count > 1:
            self.test(c.Compare(at, size, (">=",), (c.Const(at, count - 1),)))
        for i, part in enumerate(node.patterns):
            if isinstance(part, c.MatchStar):
                if part.target is not None:
                    self.captures.append((part.target, _rest_list(part, value, i, count - i - 1)))
                continue
            position = i - count if stars and i > stars[0] else i
            self.add(part, c.Item(part.at, value, _integer(part, position)))

    def add_mapping(self, node: c.MatchMapping, value: c.Expr) -> None:
        if not all(isinstance(key, c.Const) for key in node.keys):
            return self.refuse(node, "a key that is no literal is not supported", "test it by `if`")
        self.test(_is_mapping(node, value))
        for key in node.keys:
            self.test(c.Compare(node.at, key, ("in",), (value,)))
        for key, pattern in zip(node.keys, node.patterns):
            self.add(pattern, c.Item(pattern.at, value, key))
        if node.rest is not None:
            self.captures.append((node.rest, self.others(node, value)))
        return None

    def others(self, node: c.MatchMapping, value: c.Expr) -> c.Expr:
        """`{k: v for k, v in value.items() if k not in keys}`."""
        at = node.at
        key, item = (c.Name(at, fresh(n, self.taken)) for n in ("key", "item"))
        tests: tuple[c.Expr, ...] = ()
        if node.keys:
            tests = (c.Compare(at, key, ("not in",), (c.Seq(at, "tuple", node.keys),)),)
        pair = c.Seq(at, "tuple", (key, item))
        over = c.Call(at, c.Attr(at, value, "items"))
        return c.Comp(at, "dict", pair, (c.Clause(at, pair, over, tests),))

    def add_class(self, node: c.MatchClass, value: c.Expr) -> None:
        at, cls = node.at, node.cls
        self.test(_call(node, isinstance, value, cls))
        match_args = c.Attr(at, cls, "__match_args__")
        attributes: list[tuple[c.Pattern, c.Expr, c.Expr]] = []
        for i, pattern in enumerate(node.patterns):
            name = c.Item(at, match_args, _integer(node, i))
            has: c.Expr = _call(node, hasattr, value, name)
            part: c.Expr = _call(node, getattr, value, name)
            if len(node.patterns) == 1:
                declares = _call(node, hasattr, cls, c.Const(at, "__match_args__"))
                has = c.Bool(at, "or", (c.Unary(at, "not", declares), has))
                part = c.Choose(at, declares, part, _itself(node, value))
            attributes.append((pattern, has, part))
        for text, pattern in zip(node.names, node.named):
            has = _call(node, hasattr, value, c.Const(at, text))
            attributes.append((pattern, has, c.Attr(at, value, text)))
        for _, has, _ in attributes:
            self.test(has)
        if len(attributes) == 1 and isinstance(attributes[0][0], c.MatchValue):
            pattern, _, part = attributes[0]
            return self.test(_equals(pattern, part))  # type: ignore[arg-type]
        # Python reads all attributes before it matches any.
        names = [fresh(f"part_L{pattern.line}", self.taken) for pattern, _, _ in attributes]
        self.steps += [_Set(name, part) for name, (_, _, part) in zip(names, attributes)]
        for name, (pattern, _, _) in zip(names, attributes):
            self.add(pattern, c.Name(pattern.at, name))
        return None


def _equals(node: c.MatchValue, value: c.Expr) -> c.Expr:
    constant = node.value.value if isinstance(node.value, c.Const) else ...
    single = constant is None or isinstance(constant, bool)
    return c.Compare(node.at, value, ("is" if single else "==",), (node.value,))


def _is_sequence(node: c.Node, value: c.Expr) -> c.Expr:
    """Other sequences than the three are refused: Python iterates some and indexes others."""
    at = node.at
    text = _call(node, isinstance, value, _classes(node, str, bytes, bytearray))
    other = (
        _call(node, isinstance, value, c.Const(at, collections.abc.Sequence)),
        c.Unary(at, "not", text),
        c.Refused(at, "a sequence pattern for this class is not supported", "convert it to a list"),
    )
    known = _call(node, isinstance, value, _classes(node, list, tuple, range))
    return c.Bool(at, "or", (known, c.Bool(at, "and", other)))


def _is_mapping(node: c.Node, value: c.Expr) -> c.Expr:
    at = node.at
    other = (
        _call(node, isinstance, value, c.Const(at, collections.abc.Mapping)),
        c.Refused(at, "a mapping pattern for this class is not supported", "convert it to a dict"),
    )
    known = _call(node, isinstance, value, c.Const(at, dict))
    return c.Bool(at, "or", (known, c.Bool(at, "and", other)))


def _itself(node: c.MatchClass, value: c.Expr) -> c.Expr:
    is_self = _call(node, issubclass, node.cls, _classes(node, *_SELF))
    why = "a positional pattern for a class without `__match_args__` is not supported"
    return c.Choose(node.at, is_self, value, c.Refused(node.at, why, "name the attribute"))


def _rest_list(node: c.MatchStar, value: c.Expr, before: int, after: int) -> c.Expr:
    start = _integer(node, before) if before else None
    stop = _integer(node, -after) if after else None
    part = c.Item(node.at, value, c.Slice(node.at, start, stop, None))
    return _call(node, list, part)


# ---- statements


def _tests_first(steps: list[_Test | _Set]) -> int | None:
    """How many tests there are, if all of them come first."""
    count = sum(isinstance(step, _Test) for step in steps)
    return count if all(isinstance(step, _Test) for step in steps[:count]) else None


def _nested(steps: list[_Test | _Set], body: c.Block, place: c.Node) -> c.Block:
    if not steps:
        return body
    count = next((i for i, s in enumerate(steps) if isinstance(s, _Set)), len(steps))
    if not count:
        return (*_sets(steps[:1], place), *_nested(steps[1:], body, place))
    return (c.If(place.at, _all(steps[:count], place), _nested(steps[count:], body, place)),)


def _all(steps: list[Any], place: c.Node) -> c.Expr:
    tests = tuple(step.test for step in steps)
    if not tests:
        return c.Const(place.at, True)
    return tests[0] if len(tests) == 1 else c.Bool(place.at, "and", tests)


def _sets(steps: list[Any], place: c.Node) -> c.Block:
    return tuple(_assign(step.name, step.value, place) for step in steps)


def _assign(name: str, value: c.Expr, place: c.Node) -> c.Stmt:
    return c.Assign(place.at, (c.Name(place.at, name),), value)


# ---- expressions


def _call(node: c.Node, function: Any, *args: c.Expr) -> c.Expr:
    return c.Call(node.at, c.Const(node.at, function), args)


def _classes(node: c.Node, *classes: type) -> c.Expr:
    return c.Seq(node.at, "tuple", tuple(c.Const(node.at, cls) for cls in classes))


def _integer(node: c.Node, value: int) -> c.Expr:
    return c.Const(node.at, value)
