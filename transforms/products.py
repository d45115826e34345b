"""The vector-Jacobian products of called functions: which are wanted, and their names.

A product of `f` is a function of its own: it takes f's arguments and the adjoints of some of
its results, and yields the adjoints of some of its parameters.  It is asked for by name
before it exists, so that a function that calls itself has a product that calls itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .build import NameSupply
from .ir import Block, Call, For, Function, If, Module, Print, Raise, While


@dataclass(frozen=True)
class Product:
    """`wanted` and `seeded` are positions among the parameters and results of `function`."""

    name: str
    function: str
    wanted: tuple[int, ...]
    seeded: tuple[int, ...]


class Products:
    """The products of a module's functions; `todo` are those still to be made."""

    def __init__(self, module: Module) -> None:
        functions = module.functions.values()
        self.names = NameSupply([*module.functions, *(p.name for f in functions for p in f.params)])
        self.known: dict[tuple[str, tuple[int, ...], tuple[int, ...]], Product] = {}
        self.todo: list[Product] = []
        # Those that an earlier differentiation has made serve again.
        for f in functions:
            product = f.notes.get("product")
            if product is not None and product.name == f.name:
                self.known[product.function, product.wanted, product.seeded] = product

    def name(self, function: str, wanted: tuple[int, ...], seeded: tuple[int, ...]) -> str:
        key = (function, wanted, seeded)
        if key not in self.known:
            self.known[key] = Product(self.names.fresh(f"{function}_vjp"), *key)
            self.todo.append(self.known[key])
        return self.known[key].name


def quiet(function: Function) -> Function:
    """The function without its prints and errors: by the time its product runs, the function
    itself has printed, and has not failed."""

    def visit(block: Block) -> Block:
        out: Block = []
        for stmt in block:
            if isinstance(stmt, (Print, Raise)):
                continue
            if isinstance(stmt, If):
                stmt = replace(stmt, then=visit(stmt.then), orelse=visit(stmt.orelse))
            elif isinstance(stmt, For):
                stmt = replace(stmt, body=visit(stmt.body))
            elif isinstance(stmt, While):
                stmt = replace(stmt, test=visit(stmt.test), body=visit(stmt.body))
            elif isinstance(stmt, Call):
                stmt = replace(stmt, keep=False)
            out.append(stmt)
        return out

    return replace(function, body=visit(function.body))
