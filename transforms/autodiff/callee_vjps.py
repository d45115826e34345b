"""The vector-Jacobian products of called functions: which are wanted, and their names.

A product of `f` is a function of its own: it takes f's arguments and the adjoints of some of
its results, and yields the adjoints of some of its parameters.  It is asked for by name
before it exists, so that a function that calls itself has a product that calls itself.

By the time a product runs, the function itself has printed what it prints and has not failed.
So a product holds the function without its prints and errors, and where it calls others that
print, it calls silent copies of them.
"""

from __future__ import annotations

from ..ir.builder import NameSupply
from ..ir.nodes import Block, Call, Draw, Function, Module, Print, Raise, calls_in, map_blocks, walk
from ..ir.record import record, replace
from ..rules.random_draws import refuse_second_draw


@record(frozen=True)
class Product:
    """`wanted` and `seeded` are positions among the parameters and results of `function`."""

    name: str
    function: str
    wanted: tuple[int, ...]
    seeded: tuple[int, ...]


class Products:
    """The products of a module's functions; `todo` are those still to be made."""

    def __init__(self, module: Module) -> None:
        self.functions = dict(module.functions)
        params = (p.name for f in module.functions.values() for p in f.params)
        self.names = NameSupply([*module.functions, *params])
        self.known: dict[tuple[str, tuple[int, ...], tuple[int, ...]], Product] = {}
        self.todo: list[Product] = []
        self.copies: dict[str, str] = {}
        self.printing = _having(module, Print)
        self.drawing = _having(module, Draw)
        # Those that an earlier differentiation has made serve again.
        for f in module.functions.values():
            product = f.notes.get("product")
            if product is not None and product.name == f.name:
                self.known[product.function, product.wanted, product.seeded] = product

    def name(self, function: str, wanted: tuple[int, ...], seeded: tuple[int, ...]) -> str:
        key = (function, wanted, seeded)
        if key not in self.known:
            self.known[key] = Product(self.names.fresh(f"{function}_vjp"), *key)
            self.todo.append(self.known[key])
        return self.known[key].name

    def quiet(self, function: Function) -> Function:
        """The function without its prints and errors."""
        return replace(function, body=self._quiet(function.body))

    def _quiet(self, block: Block) -> Block:
        out: Block = []
        for stmt in block:
            if isinstance(stmt, (Print, Raise)):
                continue
            if isinstance(stmt, Draw):
                refuse_second_draw(stmt)
            if isinstance(stmt, Call):
                if stmt.function in self.drawing:
                    refuse_second_draw(stmt)
                stmt = replace(stmt, function=self._silent(stmt.function), keep=False)
            out.append(map_blocks(stmt, self._quiet))
        return out

    def _silent(self, name: str) -> str:
        """The name of a function that computes what `name` computes, and prints nothing."""
        if name not in self.printing:
            return name
        if name not in self.copies:
            self.copies[name] = copy = self.names.fresh(f"{name}_again")
            self.functions[copy] = replace(self.quiet(self.functions[name]), name=copy)
        return self.copies[name]


def _having(module: Module, kind: type) -> set[str]:
    """The functions with statements of a kind, and those that call such."""
    functions = module.functions
    found = {n for n, f in functions.items() if any(isinstance(s, kind) for s in walk(f.body))}
    while True:
        more = {n for n, f in functions.items() if found & set(calls_in(f.body))} | found
        if more == found:
            return found
        found = more
