"""Helpers for building LLVM IR with llvmlite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

INT = ir.IntType(64)
POINTER = ir.IntType(8).as_pointer()
NULL = ir.Constant(POINTER, None)
BIT = ir.IntType(1)


def entry_alloca(builder: Any, type_: Any, count: int | None = None, zero: bool = False) -> Any:
    """An alloca in the entry block of the function."""
    with builder.goto_entry_block():
        made = builder.alloca(type_, size=None if count is None else INT(count))
        if zero:
            builder.store(ir.Constant(type_, None), made)
    return made


def alloca_of(builder: Any, value: Any) -> Any:
    """An alloca that holds a value."""
    made = entry_alloca(builder, value.type)
    builder.store(value, made)
    return made


def declare_function(module: Any, type_: Any, name: str) -> Any:
    """The function of this name, declared if the module does not have it."""
    return module.globals.get(name) or ir.Function(module, type_, name)


def new_function(module: Any, type_: Any, name: str, *attributes: str) -> Any:
    """A new function with internal linkage."""
    made = ir.Function(module, type_, name)
    made.linkage = "internal"
    for attribute in attributes:
        made.attributes.add(attribute)
    return made


@contextmanager
def counted_loop(builder: Any, stop: Any, start: Any = None) -> Iterator[Any]:
    """A loop over the integers from `start` (default 0) up to `stop`, exclusive."""
    before = builder.block
    head, inside, after = (builder.append_basic_block() for _ in range(3))
    builder.branch(head)
    builder.position_at_end(head)
    i = builder.phi(INT)
    i.add_incoming(INT(0) if start is None else start, before)
    builder.cbranch(builder.icmp_signed("<", i, stop), inside, after)
    builder.position_at_end(inside)
    yield i
    i.add_incoming(builder.add(i, INT(1)), builder.block)
    builder.branch(head)
    builder.position_at_end(after)


def struct(builder: Any, values: list[Any]) -> Any:
    """A literal struct of values."""
    whole: Any = ir.Constant(ir.LiteralStructType([v.type for v in values]), ir.Undefined)
    for position, value in enumerate(values):
        whole = builder.insert_value(whole, value, position)
    return whole


def member(builder: Any, pointer: Any, position: int) -> Any:
    """The address of a member of a struct."""
    return builder.gep(pointer, [ir.IntType(32)(0), ir.IntType(32)(position)], inbounds=True)
