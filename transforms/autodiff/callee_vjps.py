"""The vector-Jacobian products (VJPs) of called functions: a registry of requests and names.

The VJP of `f` is a separate function.  It takes f's arguments and the adjoints of some of its
results, and yields the adjoints of some of its parameters.  A VJP gets its name when it is
requested, before its body exists, so that the VJP of a recursive function is recursive.

A VJP recomputes the forward values of its function.  By the time it runs, the function itself has
executed its prints and has raised no error.  So the VJP omits the function's prints and errors,
and calls silent copies of the functions that print.
"""

from __future__ import annotations

from ..ir.builder import NameSupply
from ..ir.nodes import Block, Call, Draw, Function, Module, Print, Raise, calls_in, map_blocks, walk
from ..ir.record import record, replace
from ..rules.random_draws import refuse_second_draw
from .callee_pairs import CalleePair, PairKey
from .recursive_pairs import RecursivePairs


@record(frozen=True)
class CalleeVjp:
    """One requested VJP.  `wanted` are the positions of the parameters of `function` whose
    adjoints it yields, `seeded` those of the results whose adjoints it takes."""

    name: str
    function: str
    wanted: tuple[int, ...]
    seeded: tuple[int, ...]


class CalleeVjps:
    """The VJPs of a module's functions.  `todo` is the worklist of those without a body yet;
    `copies` maps functions that print to their silent copies."""

    def __init__(self, module: Module, split: bool = True) -> None:
        self.split = split  # whether the adjoints of calls may be pairs of functions
        self.functions = dict(module.functions)
        params = (p.name for f in module.functions.values() for p in f.params)
        self.names = NameSupply([*module.functions, *params])
        self.known: dict[tuple[str, tuple[int, ...], tuple[int, ...]], CalleeVjp] = {}
        self.todo: list[CalleeVjp] = []
        self.copies: dict[str, str] = {}
        # By function, positions of parameters and seeded results: the pair of functions, or None
        # if there is none.  `demanded` are the parameters that are active at some call.
        self.pairs: dict[PairKey, CalleePair | None] = {}
        # Groups of functions that call each other, while their pairs are being made.
        self.groups: list[RecursivePairs] = []
        self.demanded: dict[str, set[int]] = {}
        self.cycles: dict[str, frozenset[str]] = {}
        self.printing = _functions_with(module, Print)
        self.drawing = _functions_with(module, Draw)
        # Reuse the VJPs that an earlier differentiation has generated.
        for f in module.functions.values():
            product = f.notes.get("product")
            if product is not None and product.name == f.name:
                self.known[product.function, product.wanted, product.seeded] = product
            pair = f.notes.get("pair")
            if pair is not None and pair[1].rev == f.name and pair[1].fwd in self.functions:
                self.pairs[pair[0]] = pair[1]

    def name(self, function: str, wanted: tuple[int, ...], seeded: tuple[int, ...]) -> str:
        """The name of a VJP; the first request adds it to the worklist."""
        key = (function, wanted, seeded)
        if key not in self.known:
            self.known[key] = CalleeVjp(self.names.fresh(f"{function}_vjp"), *key)
            self.todo.append(self.known[key])
        return self.known[key].name

    def cycle(self, function: str) -> frozenset[str]:
        """The functions that a function calls and that call it, itself included; none if it does
        not call itself."""
        if function not in self.cycles:
            reached = self._reached(function)
            cycle = {n for n in reached if function in self._reached(n)}
            self.cycles[function] = frozenset(cycle if function in reached else ())
        return self.cycles[function]

    def _reached(self, function: str) -> set[str]:
        seen: set[str] = set()
        todo = [function]
        while todo:
            new = {*calls_in(self.functions[todo.pop()].body)} - seen
            seen |= new
            todo += new
        return seen

    def without_effects(self, function: Function) -> Function:
        """The function without its prints and errors."""
        return replace(function, body=self._without_effects(function.body))

    def _without_effects(self, block: Block) -> Block:
        out: Block = []
        for stmt in block:
            if isinstance(stmt, (Print, Raise)):
                continue
            if isinstance(stmt, Draw):
                refuse_second_draw(stmt)
            if isinstance(stmt, Call):
                if stmt.function in self.drawing:
                    refuse_second_draw(stmt)
                stmt = replace(stmt, function=self._silent_copy(stmt.function), keep=False)
            out.append(map_blocks(stmt, self._without_effects))
        return out

    def _silent_copy(self, name: str) -> str:
        """The name of a copy of the function `name` that does not print; `name` itself if it
        does not print anyway."""
        if name not in self.printing:
            return name
        if name not in self.copies:
            self.copies[name] = copy = self.names.fresh(f"{name}_again")
            self.functions[copy] = replace(self.without_effects(self.functions[name]), name=copy)
        return self.copies[name]


def _functions_with(module: Module, kind: type) -> set[str]:
    """The functions that contain a statement of a kind, directly or through calls."""
    functions = module.functions
    found = {n for n, f in functions.items() if any(isinstance(s, kind) for s in walk(f.body))}
    while True:
        more = {n for n, f in functions.items() if found & set(calls_in(f.body))} | found
        if more == found:
            return found
        found = more
