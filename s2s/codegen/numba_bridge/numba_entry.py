"""The signature of the Numba function around a kernel, and its Python source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...transforms.frontend.pytree import ArraySpec, ScalarSpec, Spec
from ...transforms.ir.record import record
from ..size_guards import Relation

PREFIX = "_s2s_"
# The functions that Numba compiles: one around the kernel of the code generator, one around the
# lowered source;
CALL, CALL_LOWERED = f"{PREFIX}call", f"{PREFIX}call_whole"
# and their callees, intrinsics of `codegen/numba_bridge/numba_intrinsic.py`.
CHECK, BODY, ARRAY = f"{PREFIX}check", f"{PREFIX}body", f"{PREFIX}array"
TABLE = "s2s_table"


# The classes of weakly typed numbers.
PYTHON_CLASSES: dict[str, type] = {"float64": float, "int64": int}


def is_borrowable(spec: Spec) -> bool:
    """True if a parameter has a type in `borrowed_arguments.py`."""
    if not isinstance(spec, ScalarSpec):
        return isinstance(spec, ArraySpec)
    weak = spec.weak and spec.dtype not in PYTHON_CLASSES
    return np.dtype(spec.dtype).kind in "iuf" and not weak


@record(frozen=True)
class Entry:
    """The interface of the Numba function around a kernel.

    A kernel takes parameters, the cotangent of its value, and the buffers of those results that
    have the shape of a parameter.  The Numba function takes the parameters alone, unless the
    cotangent is no scalar; then the cotangent is its last parameter.  Arrays at the positions
    `tabled` are passed in one table (`numba_bridge/array_table.py`), the last argument.  `seed` is
    a scalar cotangent, `buffers` are pairs (result, parameter), `written` the parameters that are
    written, and `relations` the guards on sizes (`size_guards.py`).  `arrays` are rank and dtype of
    the parameters whose shape a buffer has; `results` is the number of all results, `classes` are
    those of the NumPy scalars among them, and None for others.  With `into`, the caller passes the
    buffers after the other parameters, and they are not results.  `overlap` is the message of the
    ValueError for written arrays that may overlap others; without one, `Overlap` is raised, which
    the caller handles.
    """

    parameters: int
    results: int
    arrays: dict[int, tuple[int, str]]
    tabled: dict[int, Any]
    seed: Any
    buffers: tuple[tuple[int, int], ...]
    written: tuple[int, ...]
    relations: tuple[Relation, ...]
    classes: tuple[str | None, ...] = ()
    into: bool = False
    overlap: str = ""

    @property
    def direct(self) -> list[int]:
        """The parameters that are arguments of the Numba function."""
        return [i for i in range(self.parameters) if i not in self.tabled]

    def with_buffers(self, others: Sequence[Any], buffers: Sequence[Any]) -> list[Any]:
        """The results of the Numba function in order: `others`, and the buffers that have the shape
        of a parameter."""
        whole = list(others)
        if self.into:
            return whole
        for (result, _), buffer in zip(self.buffers, buffers):
            whole.insert(result, buffer)
        return whole

    def arguments(self, names: list[str]) -> list[str]:
        """The arguments of the Numba function, for the names of the kernel's parameters."""
        given = names[len(names) - len(self.buffers) :] if self.into else []
        return [*(names[i] for i in self.direct), *given, *([TABLE] if self.tabled else [])]


def scalar_text(value: Any) -> str:
    """Python source of a finite NumPy scalar."""
    return f"np.{value.dtype.name}({value.item()!r})"


def empty_text(like: str, ndim: int, dtype: str) -> str:
    """Python source that allocates an array of the shape of another, in C order."""
    sizes = "".join(f"{like}.shape[{axis}], " for axis in range(ndim))
    return f"np.empty(({sizes}), np.{dtype})"


def entry_text(lowered: str, name: str, entry: Entry) -> str:
    """Source of the Python functions that Numba compiles: `CALL` around the kernel of the code
    generator, and `CALL_LOWERED` around the lowered source, for kernels that are `Unsupported`."""
    (header,) = re.findall(rf"^def {name}\((.*)\):$", lowered, re.MULTILINE)
    names = header.split(", ") if header else []
    passed, given = list(names), ", ".join(entry.arguments(names))
    check = [f"    {CHECK}({given})"]
    if not (entry.written or entry.relations or entry.tabled):
        check.clear()
    lines = [f"def {CALL}({given}):", *check, f"    return {BODY}({given})", "", ""]
    lines += [f"def {CALL_LOWERED}({given}):", *check]
    lines += [f"    {names[i]} = {ARRAY}_{i}({given})" for i in entry.tabled]
    if entry.seed is not None:
        passed[entry.parameters] = scalar_text(entry.seed)
    buffers = names[len(names) - len(entry.buffers) :]
    for buffer, (_, position) in zip(buffers, entry.buffers):
        if entry.into:
            break
        lines.append(f"    {buffer} = {empty_text(names[position], *entry.arrays[position])}")
    lines.append(f"    rest = {BODY}({', '.join(passed)})")
    rest = [f"rest[{i}]" for i in range(entry.results - len(buffers))]
    results = entry.with_buffers(rest, buffers)
    lines.append(f"    return ({''.join(r + ', ' for r in results)})")
    return "\n".join(["", "", *lines, ""])
