"""Core syntax: the only syntax that the partial evaluator knows.

Every node begins with `at`, its place in the user's file: (line, column, end line, end column),
lines from 1 and columns in characters from 0, as in `ir.nodes.Span`.  A node that a desugaring
creates has the place of what it stands for.  Trees are immutable: passes build new nodes
(`traverse.rewrite`) and share the parts that do not change.  Children are nodes, tuples of nodes,
or None.

    func   = Func name params body is_lambda   a def; a lambda, whose body is one Return;
                                               the block of a tape
    params = Params positional_only plain star keyword_only star_star
    param  = Param name default

    stmt   = Assign targets value          a = b = e and x: T = e
           | Augment op target value       x += e
           | Delete targets
           | Eval value                    an expression as a statement
           | If test body orelse
           | For target over body orelse until
           | While test body orelse until  until: the flag that ends a loop after an iteration
           | Return value
           | Raise error cause
           | Assert test message
           | Define func decorators
           | Import names | ImportFrom level module names      names: Alias name asname
           | With items body               items: WithItem value target
           | Guard types before_finally silent     what the lines of `at` must not do
           | Pass binds
           | Global names                  names that are only read
           | Refused message advice        unsupported syntax: an error when it is reached
    sugar  : Break | Continue              `desugar/jumps.py` replaces these, every Return but the
                                           last, and the orelse of loops
           | Match subject cases           cases: Case pattern guard body; `desugar/match.py`
           | Try body handlers orelse final    handlers: Handler types target body;
                                           `desugar/try_blocks.py`
           | Nonlocal names                `desugar/nonlocals.py`

    expr   = Const value | Name id | Attr value name | Item value index | Slice start stop step
           | Unary op operand | Binary op left right | Bool op values | Choose test body orelse
           | Compare left ops rights       one op; `desugar/chains.py` replaces chains
           | Call function args keywords   args: expr or Star; Keyword name value, None for **
           | Seq kind items                kind: "tuple", "list", or "set" to the right of `in`
           | Dict keys values               None for **
           | Star value
           | Comp kind element clauses     kind: "list", "dict" (element: a pair) or "generator";
                                           Clause target over tests
           | Lambda func
           | Format parts                  parts: str or Field value conversion spec
           | Bind target value             target := value
           | Let target value body         of a desugaring: the body, in which the name stands
                                           for the value
           | Refused message advice
           | Result id always              after `jumps.py`: the variable of a function's result
    target = Name | Attr | Item | Star of a target | Seq of targets
    pattern: MatchValue value              compared by ==, and None, True and False by `is`
           | MatchAs pattern target        a capture; both None: the wildcard
           | MatchOr patterns | MatchSequence patterns | MatchStar target
           | MatchMapping keys patterns rest
           | MatchClass cls patterns names named      named: the patterns of the attributes `names`
    op     = the token of Python: "+", "not", "is not", ...; Augment has "+" for +=

The parser mangles private names (`_Class__name`), so that `id` and `name` are those that Python
looks up.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from ..ir.record import record

At: TypeAlias = tuple[int, int, int, int]


@record(eq=False)
class Node:
    at: At

    @property
    def line(self) -> int:
        return self.at[0]

    @property
    def end_line(self) -> int:
        return self.at[2]


# ---- statements


@record(eq=False)
class Assign(Node):
    targets: tuple[Target, ...]
    value: Expr


@record(eq=False)
class Augment(Node):
    target: Target
    op: str
    value: Expr


@record(eq=False)
class Delete(Node):
    targets: tuple[Target, ...]


@record(eq=False)
class Eval(Node):
    value: Expr


@record(eq=False)
class If(Node):
    test: Expr
    body: Block
    orelse: Block = ()


@record(eq=False)
class For(Node):
    target: Target
    over: Expr
    body: Block
    orelse: Block = ()
    until: str | None = None


@record(eq=False)
class While(Node):
    test: Expr
    body: Block
    orelse: Block = ()
    until: str | None = None


@record(eq=False)
class Return(Node):
    value: Expr | None


@record(eq=False)
class Raise(Node):
    error: Expr | None
    cause: Expr | None


@record(eq=False)
class Assert(Node):
    test: Expr
    message: Expr | None


@record(eq=False)
class Define(Node):
    func: Func
    decorators: tuple[Expr, ...] = ()


@record(eq=False)
class Alias(Node):
    name: str
    asname: str | None


@record(eq=False)
class Import(Node):
    names: tuple[Alias, ...]


@record(eq=False)
class ImportFrom(Node):
    level: int
    module: str
    names: tuple[Alias, ...]


@record(eq=False)
class WithItem(Node):
    value: Expr
    target: Target | None


@record(eq=False)
class With(Node):
    items: tuple[WithItem, ...]
    body: Block


@record(eq=False)
class Pass(Node):
    """Nothing, at run time.  A bare annotation (`x: int`) makes its name local."""

    binds: tuple[str, ...] = ()


@record(eq=False)
class Global(Node):
    names: tuple[str, ...]


@record(eq=False)
class Nonlocal(Node):
    names: tuple[str, ...]


@record(eq=False)
class Break(Node):
    pass


@record(eq=False)
class Continue(Node):
    pass


# ---- match


@record(eq=False)
class MatchValue(Node):
    value: Expr


@record(eq=False)
class MatchAs(Node):
    pattern: Pattern | None
    target: Name | None


@record(eq=False)
class MatchOr(Node):
    patterns: tuple[Pattern, ...]


@record(eq=False)
class MatchStar(Node):
    target: Name | None


@record(eq=False)
class MatchSequence(Node):
    patterns: tuple[Pattern, ...]


@record(eq=False)
class MatchMapping(Node):
    keys: tuple[Expr, ...]
    patterns: tuple[Pattern, ...]
    rest: Name | None


@record(eq=False)
class MatchClass(Node):
    cls: Expr
    patterns: tuple[Pattern, ...]
    names: tuple[str, ...]
    named: tuple[Pattern, ...]


@record(eq=False)
class Case(Node):
    pattern: Pattern
    guard: Expr | None
    body: Block


@record(eq=False)
class Match(Node):
    subject: Expr
    cases: tuple[Case, ...]


# ---- try


@record(eq=False)
class Handler(Node):
    """`except types as target:`; no types for a bare `except`."""

    types: Expr | None
    target: Name | None
    body: Block


@record(eq=False)
class Try(Node):
    body: Block
    handlers: tuple[Handler, ...]
    orelse: Block = ()
    final: Block = ()


@record(eq=False)
class Guard(Node):
    """Refuses errors that the statements in the lines of `at` would raise and these types would
    catch, since compiled code catches none; any errors, before a `finally`; and any output, where
    the lines are to be `silent`."""

    types: tuple[Expr, ...]
    before_finally: bool = False
    silent: bool = False


@record(eq=False)
class Refused(Node):
    """Unsupported syntax, as a statement or an expression.  `binds` are the names that Python
    would bind there: they are local to the function."""

    message: str
    advice: str
    binds: tuple[str, ...] = ()


# ---- functions


@record(eq=False)
class Param(Node):
    name: str
    default: Expr | None = None


@record(eq=False)
class Params(Node):
    positional_only: tuple[Param, ...] = ()
    plain: tuple[Param, ...] = ()
    star: Param | None = None
    keyword_only: tuple[Param, ...] = ()
    star_star: Param | None = None

    def all(self) -> list[Param]:
        """Every parameter, in the order of the signature."""
        star = [] if self.star is None else [self.star]
        rest = [] if self.star_star is None else [self.star_star]
        return [*self.positional_only, *self.plain, *star, *self.keyword_only, *rest]


@record(eq=False)
class Func(Node):
    name: str
    params: Params
    body: Block
    is_lambda: bool = False


# ---- expressions


@record(eq=False)
class Const(Node):
    value: Any


@record(eq=False)
class Name(Node):
    id: str


@record(eq=False)
class Result(Name):
    """The variable that holds the result of a function with several returns.  `always`: every path
    through the function ends in a jump, so that the variable is bound where it is read."""

    always: bool


@record(eq=False)
class Attr(Node):
    value: Expr
    name: str


@record(eq=False)
class Item(Node):
    value: Expr
    index: Expr


@record(eq=False)
class Slice(Node):
    start: Expr | None
    stop: Expr | None
    step: Expr | None


@record(eq=False)
class Unary(Node):
    op: str
    operand: Expr


@record(eq=False)
class Binary(Node):
    left: Expr
    op: str
    right: Expr


@record(eq=False)
class Compare(Node):
    """A chain: `rights[i]` is evaluated only if the comparisons before it hold.  With one operator
    after `desugar/chains.py`."""

    left: Expr
    ops: tuple[str, ...]
    rights: tuple[Expr, ...]


@record(eq=False)
class Bool(Node):
    op: str  # "and", "or"
    values: tuple[Expr, ...]


@record(eq=False)
class Choose(Node):
    """`body if test else orelse`."""

    test: Expr
    body: Expr
    orelse: Expr


@record(eq=False)
class Keyword(Node):
    name: str | None
    value: Expr


@record(eq=False)
class Call(Node):
    function: Expr
    args: tuple[Expr, ...] = ()
    keywords: tuple[Keyword, ...] = ()


@record(eq=False)
class Seq(Node):
    kind: str
    items: tuple[Expr, ...]


@record(eq=False)
class Dict(Node):
    keys: tuple[Expr | None, ...]
    values: tuple[Expr, ...]


@record(eq=False)
class Star(Node):
    value: Expr


@record(eq=False)
class Clause(Node):
    """`for target in over if test if test`."""

    target: Target
    over: Expr
    tests: tuple[Expr, ...] = ()


@record(eq=False)
class Comp(Node):
    kind: str
    element: Expr
    clauses: tuple[Clause, ...]


@record(eq=False)
class Lambda(Node):
    func: Func


@record(eq=False)
class Field(Node):
    """`{value!conversion:spec}` in an f-string."""

    value: Expr
    conversion: str | None = None
    spec: Format | None = None


@record(eq=False)
class Format(Node):
    parts: tuple[str | Field, ...]


@record(eq=False)
class Bind(Node):
    target: Name
    value: Expr


@record(eq=False)
class Let(Node):
    target: Name
    value: Expr
    body: Expr


Expr: TypeAlias = (
    Const | Name | Result | Attr | Item | Slice | Unary | Binary | Compare | Bool | Choose | Call
    | Seq | Dict | Star | Comp | Lambda | Format | Bind | Let | Refused
)  # fmt: skip
Target: TypeAlias = Name | Attr | Item | Star | Seq
Pattern: TypeAlias = (
    MatchValue | MatchAs | MatchOr | MatchStar | MatchSequence | MatchMapping | MatchClass
)
Stmt: TypeAlias = (
    Assign | Augment | Delete | Eval | If | For | While | Return | Raise | Assert | Define | Import
    | ImportFrom | With | Pass | Break | Continue | Match | Try | Guard | Global | Nonlocal
    | Refused
)  # fmt: skip
Block: TypeAlias = tuple[Stmt, ...]
