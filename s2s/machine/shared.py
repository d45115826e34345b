"""The functions of `s2s.products`, each a module of its own, as object code for this machine."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..compile import FASTMATH
from ..linking import GEMM
from . import blocked, gemm, optimise, scattered
from . import kinds as types
from .context import Context
from .writing import INT, POINTER, declared

# Up to so many multiplications, times the bytes of a number, our own are at least as fast as a
# library's on one thread, and threads hardly gain; on machines with vectors of so many bytes.
OWN, WIDE = 2**24, 32
CHAR = ir.IntType(8)


def object_code(name: str, whose: str) -> bytes:
    module = ir.Module(name)
    vector_bytes = blocked.width(optimise.features())
    dtype = types.float32 if name.endswith("f32") else types.float64
    large = {"blas": _blas, "builtin": _own}.get(whose, _either if vector_bytes >= WIDE else _blas)
    by_tiles = {blocked.NAME: blocked.Gemm, scattered.NAME: scattered.Scattered}
    kind = by_tiles.get(name.rpartition(".")[0])
    if kind is None:
        made = gemm.function(Context(_never), module, dtype, large)
    else:
        made = kind(module, dtype, vector_bytes).function()
    made.linkage = "external"
    optimise.mark(module, FASTMATH)
    final = optimise.parsed(str(module))
    if kind is blocked.Gemm:
        optimise.tidy(final)  # the loops that matter are written as they are to be
    else:
        optimise.run(final, neighbours=kind is not None)
    return optimise.machine().emit_object(final)


def _never() -> Any:
    raise AssertionError("products of matrices need nothing of Numba's")


def _either(builder: Any, dtype: Any, args: Any) -> None:
    """Our own or BLAS, which may have several threads for it: by size."""
    m, n, k = args[-3:]
    work = builder.mul(builder.mul(m, n), builder.mul(k, INT(dtype.bytes)))
    with builder.if_else(builder.icmp_signed("<=", work, INT(OWN))) as (ours, blas):
        with ours:
            _own(builder, dtype, args)
        with blas:
            _blas(builder, dtype, args)


def _own(builder: Any, dtype: Any, args: Any) -> None:
    vector_bytes = blocked.width(optimise.features())
    builder.call(blocked.Gemm(builder.module, dtype, vector_bytes).declared(), list(args))


def _blas(builder: Any, dtype: Any, args: Any) -> None:
    """BLAS counts columns first, so it is told to compute c.T = b.T @ a.T."""
    swap_a, swap_b, alpha, a, b, beta, c, m, n, k = args
    kinds = [CHAR] * 3 + [INT] * 3 + [POINTER, POINTER, INT, POINTER, INT, POINTER, POINTER, INT]
    type_ = ir.FunctionType(ir.IntType(32), kinds)
    blas = declared(builder.module, type_, GEMM)
    letter = {
        flag: builder.select(flag, CHAR(ord("t")), CHAR(ord("n"))) for flag in (swap_a, swap_b)
    }
    places = []
    for number in (alpha, beta):
        place = builder.alloca(number.type)
        builder.store(number, place)
        places.append(builder.bitcast(place, POINTER))
    a, b, c = (builder.bitcast(p, POINTER) for p in (a, b, c))
    b_width = builder.select(swap_b, k, n)
    a_width = builder.select(swap_a, m, k)
    kind = CHAR(ord("s" if dtype == types.float32 else "d"))
    builder.call(
        blas,
        [kind, letter[swap_b], letter[swap_a], n, m, k,
         places[0], b, b_width, a, a_width, places[1], c, n],
    )  # fmt: skip
