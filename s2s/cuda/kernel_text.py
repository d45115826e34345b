"""The kernels of an emitted module, each as a text of its own.

Names do not matter to the compiled code, so parameters and variables are renamed in order of their
appearance, and comments are dropped.  Equal kernels of different programs then have equal texts,
are compiled once, and share their entries in the cache.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..cache import store
from ..transforms.ir.lazy import lazy_property

ENTRY = "kernel"  # the name of the function in a kernel's own text
_BLOCK = "BLOCK = "


@dataclass(frozen=True)
class KernelText:
    """The text of one kernel with the device functions that it calls.  `types` are those of its
    parameters: `"float64*"` for an array, `"int64"` for a scalar.  `block` is the number of threads
    of a block, 0 if the text does not depend on it; `line` is the user's line."""

    name: str
    text: str
    types: tuple[str, ...]
    block: int
    line: str = ""

    @lazy_property
    def digest(self) -> str:
        return store.digest(self.text, repr(self.types), str(self.block))

    @property
    def symbol(self) -> str:
        """The name of the compiled kernel."""
        return f"s2s_{self.digest[:16]}"


def with_block(text: str, block: int) -> str:
    """The emitted module for another number of threads in a block."""
    if block < 1 or block & (block - 1):
        raise ValueError(f"the number of threads of a block is a power of 2, not {block}")
    lines = [f"{_BLOCK}{block}" if line.startswith(_BLOCK) else line for line in text.split("\n")]
    return "\n".join(lines)


def block_of(text: str) -> int:
    """The number of threads of a block in an emitted module."""
    line = next(line for line in text.split("\n") if line.startswith(_BLOCK))
    return int(line.removeprefix(_BLOCK))


def kernel_texts(text: str, program: Any) -> dict[str, KernelText]:
    """The kernels of an emitted module by name; `program` is its `CudaProgram`."""
    functions = {f.name: f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef)}
    block = block_of(text)
    described = {kernel.name: kernel for kernel in program.kernels}
    device = {name for name, f in functions.items() if _is_device_function(f)}
    found = {}
    for name, kernel in described.items():
        needed = _called(functions[name], functions, device)
        parts = [ast.unparse(functions[f]) for f in functions if f in needed]
        parts.append(_normalised(functions[name]))
        types = tuple(type_ for _, type_ in kernel.params)
        own = "\n\n\n".join(parts) + "\n"
        found[name] = KernelText(name, own, types, block if "BLOCK" in own else 0, kernel.line)
    return found


def _is_device_function(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(d, ast.Call) and any(k.arg == "device" for k in d.keywords)
        for d in function.decorator_list
    )


def _called(
    function: ast.FunctionDef, functions: dict[str, ast.FunctionDef], device: set[str]
) -> set[str]:
    """The device functions that a function calls, and those that these call."""
    found: set[str] = set()
    open_ = [function]
    while open_:
        for node in ast.walk(open_.pop()):
            if isinstance(node, ast.Name) and node.id in device and node.id not in found:
                found.add(node.id)
                open_.append(functions[node.id])
    return found


def _normalised(function: ast.FunctionDef) -> str:
    """The source of a kernel, with its name and those of its variables replaced."""
    bound = {a.arg for a in function.args.args}
    bound |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and _is_store(n)}
    names: dict[str, str] = {}
    for name in _in_order(function):
        if name in bound:
            names.setdefault(name, f"v{len(names)}")
    tree = ast.parse(ast.unparse(function)).body[0]
    assert isinstance(tree, ast.FunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = names[node.arg]
    tree.name = ENTRY
    return ast.unparse(tree)


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _in_order(function: ast.FunctionDef) -> Iterator[str]:
    """The names of a function in the order of its text."""
    for arg in function.args.args:
        yield arg.arg
    found: Iterable[ast.Name] = (n for n in ast.walk(function) if isinstance(n, ast.Name))
    for node in sorted(found, key=lambda n: (n.lineno, n.col_offset)):
        yield node.id
