"""The C header of a library, and its pkg-config and CMake files."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection

from ..transforms.frontend.pytree import path_text
from ..transforms.ir.quote import c_comment, c_identifier
from . import status_codes
from .c_names import Unique
from .export_spec import Export, Item
from .library_state import State
from .link import flag

# C types by dtype.  A complex number is passed as a pair of real numbers.
_C = {
    "float32": "float", "float64": "double", "bool": "uint8_t", "complex64": "float",
    "complex128": "double",
}  # fmt: skip

INTRODUCTION = """\
/* {name}.h -- made by s2s from {origin}.

   Arrays are contiguous, the last axis first.  Every function returns 0 ({upper}_OK) or a status
   that {name}_message explains; sizes that do not fit, null pointers, overlapping arrays and a
   workspace that is too small are such statuses, and errors of the program are.  Nothing is
   allocated: `workspace` is the caller's, aligned to 64 bytes, of as many bytes as the function
   with the ending _workspace tells; its content means nothing between calls.  A function that
   returns another status than 0 leaves {the_state}arrays that it writes as they were;
   outputs are undefined then.  Functions may run at once in several threads, with a
   workspace{and_state} for each. */
"""


def c_type(dtype: str) -> str:
    return _C.get(dtype) or f"{dtype}_t"


def text(
    name: str, origin: str, exports: list[Export], state: State, messages: dict[int, str],
    workspaces: dict[str, int | None], grows: Collection[str] = (),
) -> str:  # fmt: skip
    """The text of the header.  Functions in `grows` use the workspace heap, so their workspace size
    depends on data."""
    upper = name.upper()
    unique = Unique()
    for macro in (*status_codes.NAMES.values(), "STATE_BYTES", "STATE_LAYOUT"):
        unique(f"{upper}_{macro}")
    lines = [
        INTRODUCTION.format(
            name=name,
            origin=c_comment(origin),
            upper=upper,
            and_state=" and a state" if state.slots else "",
            the_state="the state and " if state.slots else "",
        ),
        f"#ifndef S2S_{upper}_H",
        f"#define S2S_{upper}_H",
        "",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        "/* Statuses. */",
        "enum {",
    ]
    for status, short in status_codes.NAMES.items():
        lines.append(f"    {upper}_{short} = {status}, /* {c_comment(messages[status])} */")
    for status, message in messages.items():
        if status >= status_codes.FIRST_PROGRAM_ERROR:
            unique(f"{upper}_ERROR_{status}")
            lines.append(f"    {upper}_ERROR_{status} = {status}, /* {c_comment(message)} */")
    lines += ["};", "", f"const char *{name}_message(int32_t status);", ""]
    if state.slots:
        lines += _state(name, upper, state, unique)
    for export in exports:
        lines += _function(export, workspaces[export.name], unique, export.name in grows)
    lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def _state(name: str, upper: str, state: State, unique: Unique) -> list[str]:
    """The macros of the state layout, and the prototype of the init function."""
    lines = [
        "/* The state: one block, aligned to 64 bytes, with everything the functions remember.",
        f"   {name}_init writes the one there was when the library was built.  A block of another",
        "   layout or version is refused. */",
        f"#define {upper}_STATE_BYTES {state.bytes}",
        f"#define {upper}_STATE_LAYOUT INT64_C({state.layout})",
    ]
    for slot in state.slots:
        kind = c_type(slot.dtype)
        extent = "" if slot.shape is None else "".join(f"[{n}]" for n in slot.shape)
        lines.append(
            f"#define {unique(f'{upper}_AT_{identifier(slot.name)}')} {slot.offset} "
            f"/* {kind} {c_comment(slot.name)}{extent} */"
        )
    return [*lines, "", f"int32_t {name}_init(void *state, size_t state_bytes);", ""]


def identifier(name: str) -> str:
    """A name as part of an upper-case macro."""
    return re.sub("_+", "_", c_identifier(name)).strip("_").upper() or "X"


def _function(export: Export, workspace: int | None, unique: Unique, grows: bool) -> list[str]:
    """The prototypes of a function and of its workspace size query."""
    called = ", ".join(
        path_text(p.path) for p in export.entry.compiled.params if p.path[0][0] == "arg"
    )
    lines = [f"/* {c_comment(f'{export.function.__qualname__}({called})')} */"]
    for expression, value in export.guards:
        lines.append(f"/* compiled for {c_comment(expression)} = {c_comment(repr(value))} */")
    if grows:
        lines += [
            "/* How much workspace it needs depends on the data.  The size that is told is one to",
            "   begin with.  If the function answers that the workspace is too small, the first",
            "   eight bytes of it hold a larger size, as an int64_t, to call it again with. */",
        ]
    if workspace is not None:
        macro = unique(f"{export.name.upper()}_WORKSPACE_BYTES")
        lines.append(f"#define {macro} {workspace}")
    parameters = [f"int64_t {size}" for size in export.sizes]
    parameters += [_parameter(i, out=False) for i in export.arguments]
    parameters += [_parameter(i, out=True) for i in export.outputs]
    parameters += ["void *state"] * export.uses_state + [
        "void *workspace",
        "size_t workspace_bytes",
    ]
    lines += _prototype(f"int32_t {export.name}", parameters)
    scalars = [_parameter(i, out=False) for i in export.arguments if i.axes is None]
    query = [f"int64_t {size}" for size in export.sizes] + scalars
    lines += _prototype(f"int64_t {export.name}_workspace", query or ["void"])
    return [*lines, ""]


def _parameter(item: Item, out: bool) -> str:
    kind = c_type(item.dtype)
    pairs = " of complex numbers" if item.dtype.startswith("complex") else ""
    if item.axes is None:
        return f"{kind} *{item.name}" if out else f"{kind} {item.name}"
    extent = f" /* [{', '.join(map(str, item.axes))}]{pairs} */"
    const = "" if out or item.written else "const "
    return f"{const}{kind} *{item.name}{extent}"


def _prototype(head: str, parameters: list[str]) -> list[str]:
    line = f"{head}({', '.join(parameters)});"
    if len(line) <= 100:
        return [line]
    body = textwrap.indent(",\n".join(parameters), "    ")
    return [f"{head}(", *body.splitlines()[:-1], body.splitlines()[-1] + ");"]


# ---------------------------------------------------------------- build systems


def pkg_config(name: str, version: str, libraries: list[str]) -> str:
    private = " ".join([*map(flag, libraries), "-lm"])
    return (
        "prefix=${pcfiledir}\n\n"
        f"Name: {name}\nDescription: made by s2s\nVersion: {version}\n"
        f"Cflags: -I${{prefix}}\nLibs: -L${{prefix}} -l{name}\nLibs.private: {private}\n"
    )


def cmake(name: str, libraries: list[str]) -> str:
    needed = " ".join([*libraries, "m"])
    return (
        f"# include({name}.cmake), then target_link_libraries(program {name}::{name})\n"
        f"add_library({name}::{name} STATIC IMPORTED)\n"
        f"set_target_properties({name}::{name} PROPERTIES\n"
        f'  IMPORTED_LOCATION "${{CMAKE_CURRENT_LIST_DIR}}/lib{name}.a"\n'
        f'  INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_LIST_DIR}}"\n'
        f'  INTERFACE_LINK_LIBRARIES "{needed.replace(" ", ";")}")\n'
    )
