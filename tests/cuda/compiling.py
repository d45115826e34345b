"""Texts of the CUDA target, compiled without running them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import s2s
from s2s.transforms import pipeline
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.target.emit import emit
from s2s.transforms.lower.target.program import CudaProgram
from tests.transforms.lower.loop_ir_parser import parse


def compiled(f: Callable[..., Any], *args: Any, mode: str = "vjp", wrt: Any = None) -> Any:
    """The result of compiling a function, or its gradient, for arguments in order."""
    options = {} if wrt is None else {"wrt": wrt}
    made = s2s.value_and_grad(f, **options) if mode == "vjp" else s2s.function(f)
    specialiser = made._specialiser(mode)
    request = specialiser.request(specialiser.describe(args), specialiser.named(args))
    request.target = "cuda"
    return pipeline.compile_request(request)


def same_name(a: str, b: str) -> bool:
    return a == b


def emitted(source: str, **types: str) -> tuple[str, CudaProgram]:
    """The text of a routine that is given as the text of loop IR, and its description."""
    return emit(routine(source, **types), same_name, {}, set())


def routine(source: str, **types: str) -> L.Routine:
    """A routine with typed parameters: x="float64[:, :]"."""
    (found,) = parse(source, {"f": types})
    found.params = [_param(p.name, types.get(p.name, "int64")) for p in found.params]
    return found


def _param(name: str, type_: str) -> L.Param:
    dtype, bracket, axes = type_.partition("[")
    return L.Param(name, dtype, axes.count(":") if bracket else None)


def kernel_bodies(text: str) -> list[str]:
    """The kernels of a text, without decorators and without the test of the error flag."""
    parts = text.split("@cuda.jit\n")[1:]
    return [
        p.split("\n\n\n")[0].replace("    if err[0] != 0:\n        return\n", "") for p in parts
    ]


def host_function(text: str) -> str:
    """The body of the host function."""
    return text.split("dev.begin(FAILURES)\n")[1].rstrip("\n")
