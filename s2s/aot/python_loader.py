"""Generate the Python module that loads a library.  It needs only ctypes and NumPy."""

from __future__ import annotations

import inspect
import re

from ..errors import S2SValueError
from ..transforms.ir.quote import python_docstring
from .c_names import RUNTIME_FILE, WRAPPER_GLOBALS
from .export_spec import Export, Item
from .library_state import State
from .size_exprs import tree_text


def text(name: str, origin: str, groups: dict[str, list[Export]], state: State,
         grows: set[str]) -> str:  # fmt: skip
    """The source of the loader module.

    `groups` maps Python names to functions, with one export per signature.  The functions in
    `grows` use the workspace heap, so they may need more workspace than the size query returns."""
    parts = [
        python_docstring(f"{name}: loads lib{name}.so, which s2s made from {origin}.") + "\n",
        RUNTIME_FILE.read_text(),
        f'\n\n_library = _Library("lib{name}.so", "{name}")\n',
    ]
    for exports in groups.values():
        parts += [_function(e, e.name in grows) for e in exports]
    stateless = {k: es for k, es in groups.items() if not any(e.uses_state for e in es)}
    for key, exports in stateless.items():
        parts.append("\n\n" + _wrapper(key, exports, ""))
    if state.slots:
        own = {k: es for k, es in groups.items() if k not in stateless}
        parts.append("\n\n" + _class(name, own, state))
    text = "".join(parts)
    needed = {"namedtuple(": "collections", "SimpleNamespace(": "types"}
    for call, module in needed.items():
        if call in text:
            line = f"from {module} import {call[:-1]}\n"
            text = text.replace("import os\n", f"import os\n{line}", 1)
    return text


def _function(export: Export, grows: bool) -> str:
    """The source that binds one exported symbol as a `_Function`."""
    arguments = "".join(
        f"        ({i.name!r}, {i.dtype!r}, {i.axes!r}, {i.written!r}),\n" for i in export.arguments
    )
    known = export.sizes + [i.name for i in export.arguments if i.axes is None]
    outputs = "".join(
        f"        ({i.name!r}, {i.dtype!r}, {_shape(i, known)}),\n" for i in export.outputs
    )
    return (
        f"_{export.name} = _Function(\n    _library, {export.name!r}, {tuple(export.sizes)!r},\n"
        f"    [\n{arguments}    ],\n    [\n{outputs}    ],\n"
        f"    has_state={export.uses_state}, grows={grows},\n)\n"
    )


def _shape(item: Item, known: list[str]) -> str:
    """The source of a function from sizes and scalars to the shape of an output."""
    if item.axes is None:
        return "None"
    axes = "".join(f"{a}, " for a in item.axes)
    return f"lambda {', '.join(known)}: ({axes.rstrip(' ') if len(item.axes) == 1 else axes[:-2]})"


def _wrapper(key: str, exports: list[Export], indent: str) -> str:
    """The source of a function with the signature of the original Python function."""
    first = exports[0]
    method = bool(indent)
    own = set(inspect.signature(first.function).parameters)
    if taken := sorted(own & {*WRAPPER_GLOBALS, *(f"_{e.name}" for e in exports)}):
        raise S2SValueError(
            f"{key} has a parameter {taken[0]}, which is a name in the module that loads a library",
            advice="rename the parameter",
        )
    values, found, self = (_fresh(n, own) for n in ("values", "found", "self"))
    parameters = ", ".join([self] * method + [first.parameters_text] * bool(first.parameters_text))
    lines = [f"def {key}({parameters}):"]
    lines += [f"    _fixed({e!r}, {e}, {v!r})" for e, v in first.guards]
    given = "".join(f"{i.expression}, " for i in first.arguments)
    lines.append(f"    {values} = ({given})")
    called = f"_{first.name}"
    if len(exports) > 1:
        called = f"_chosen([{', '.join('_' + e.name for e in exports)}], {values})"
    state = f", state={self}.block" if method else ""
    lines.append(f"    {found} = {called}.run({values}{state})")
    order = {index: k for k, index in enumerate(first.leaves)}
    for name, tree in first.trees.items():
        text = tree_text(tree, lambda i: f"{found}[{order[i]}]")
        lines.append(f"    {_fresh(name, own)} = {text}")
    result = re.sub(r"\b[a-z]\w*", lambda m: _fresh(m[0], own), first.result)
    lines.append(f"    return {result}")
    return "".join(f"{indent}{line}\n" for line in lines)


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _class(name: str, groups: dict[str, list[Export]], state: State) -> str:
    """The source of the class that holds the state; functions that use it are its methods."""
    title = "".join(part.capitalize() for part in name.split("_")) or "State"
    slots = "".join(
        f"        ({s.name!r}, {s.dtype!r}, {s.shape or ()!r}, {s.offset}),\n" for s in state.slots
    )
    lines = (
        f"class {title}(_State):\n    _layout = _library, '{name}_init', {state.bytes}, [\n"
        f"{slots}    ]\n"
    )
    for key, exports in groups.items():
        lines += "\n" + _wrapper(key, exports, "    ")
    if len(groups) == 1:
        lines += f"\n    __call__ = {next(iter(groups))}\n"
    return lines
