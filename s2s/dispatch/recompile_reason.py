"""The reason for a recompilation: the guard of an earlier specialisation that failed, or the
argument that has a new type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..transforms.frontend.pytree import (
    ArraySpec,
    Fixed,
    Path,
    RecordSpec,
    ScalarSpec,
    Spec,
    TreeSpec,
    child_step,
    path_text,
)

if TYPE_CHECKING:
    from .specialization import Specialization

FIRST_CALL_REASON = "it is the first call"


def why_compiled(
    known: Sequence[Specialization],
    latest: Specialization | None,
    new: Specialization,
    args: tuple[Any, ...],
) -> str:
    """The reason why `new` was compiled, for messages.  `known` are the specialisations for
    arguments of the same types, newest first; `latest` is the one that ran before."""
    if known:
        return f"what changed is {known[0].broken_guard(args)}"
    if latest is None:
        return FIRST_CALL_REASON
    return type_change(latest.specs, new.specs) or "an argument is of a new type"


def type_change(before: Mapping[str, Spec], now: Mapping[str, Spec]) -> str:
    """A description of the first argument whose type differs; empty if there is none."""
    for name, spec in now.items():
        if name in before and before[name] != spec:
            path, old, new = _difference((("arg", name),), before[name], spec)
            return f"{path_text(path)} is {spec_text(new)}, and was {spec_text(old)} before"
    return ""


def _difference(path: Path, old: Spec, new: Spec) -> tuple[Path, Spec, Spec]:
    """The innermost path at which two specs differ, and both specs there."""
    if isinstance(old, TreeSpec) and isinstance(new, TreeSpec) and old.cls is new.cls:
        if old.keys == new.keys:
            for key, a, b in zip(new.keys, old.children, new.children):
                if a != b:
                    return _difference((*path, child_step(new.kind, key)), a, b)
    return path, old, new


def spec_text(spec: Spec) -> str:
    """A readable description of a spec."""
    if isinstance(spec, ArraySpec):
        parts = [] if spec.layout == "C" else ["not contiguous"]
        parts += [] if spec.writeable else ["read-only"]
        tail = f" ({', '.join(parts)})" if parts else ""
        return f"{spec.dtype}[{', '.join(':' * spec.ndim)}]{tail}"
    if isinstance(spec, ScalarSpec):
        python = {"int64": "int", "float64": "float"}
        return python.get(spec.dtype, spec.dtype) if spec.weak else spec.dtype
    if isinstance(spec, RecordSpec):
        return f"a structured array of {spec.ndim} dimensions"
    if isinstance(spec, TreeSpec):
        return f"a {spec.cls.__name__} of {len(spec.children)}"
    if isinstance(spec, Fixed):
        plain = spec.value is None or isinstance(spec.value, (str, bytes, bool, int, float))
        return repr(spec.value) if plain else f"another {type(spec.value).__name__}"
    return "a Generator"
