"""Refusals of what the CUDA target does not support, at the user's line."""

from __future__ import annotations

from ...ir.errors import UnsupportedError
from ..build.context import Context
from ..loop_ir import nodes as L
from ..loop_ir.operations import OPS
from .kernel_writer import KERNEL_DTYPES

_ON_CPU = "compute it on the CPU, in a function of its own"


def check_supported(ctx: Context, stmts: list[L.Stmt]) -> None:
    """Raise an error if statements contain what has no kernel.  They are those of the statement at
    the current source location."""
    for s in L.walk(stmts):
        if isinstance(s, L.Print):
            raise _refusal(ctx, "print", "return the values, and print them outside")
        if isinstance(s, L.CallRoutine):
            raise _refusal(ctx, "a recursive function", "write it as a loop")
        if isinstance(s, (L.Call, L.CallBuffers)):
            _check_operation(ctx, s.function)
        if isinstance(s, L.Alloc):
            _check_dtype(ctx, s.dtype)
        for e in L.subexprs_read(s):
            if isinstance(e, L.Field) or e.dtype == "record":
                raise _refusal(ctx, "records", "pass their fields as arrays")
            if isinstance(e, L.Apply):
                _check_operation(ctx, e.function)
            _check_dtype(ctx, e.dtype)


def _check_operation(ctx: Context, function: str) -> None:
    op = OPS[function]
    if "cuda" in op.unavailable:
        name = op.user_name or (function if op.what == "a call" else op.what)
        raise _refusal(ctx, name.removeprefix("rt."), op.unavailable["cuda"])


def _check_dtype(ctx: Context, dtype: str) -> None:
    if dtype not in KERNEL_DTYPES:
        what = "complex numbers" if dtype.startswith("complex") else dtype
        if dtype == "rng":
            what = "random generators"
        raise _refusal(ctx, what, _ON_CPU)


def _refusal(ctx: Context, what: str, advice: str) -> UnsupportedError:
    return ctx.unsupported(f'{what} cannot be compiled with target="cuda"', advice)
