"""The ways to multiply matrices in a process: each is compiled when a product first goes it.

Which one a product goes is told by its sizes (`chooser`).  Most programs go one or two of them, and
a way takes a tenth of a second to compile, more than many a kernel.  Where the addresses of the
ways stand, there is null at first; `s2s.codegen.gemm_library` is asked for it then.  Should it
have none to give, plain loops do: they are always there.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ...runtime.jit_link import GEMM
from .. import value_types as types
from ..gemm import blocked, gemm_call
from ..gemm.gemm_names import TABLE, WAYS
from ..llvm_passes import features
from ..llvm_utils import INT, POINTER, declared, new_function
from ..type_lowering import Context
from . import gemm_dispatch, gemv

# Up to so many multiplications, times the bytes of a number, our own are at least as fast as a
# library's on one thread, and threads hardly gain; on machines with vectors of so many bytes.
OWN, WIDE = 2**24, 32
CHAR = ir.IntType(8)

PLAIN = """
def plain(swap_a, swap_b, alpha, a, b, beta, c, m, n, k, zero):
    down = 1 if swap_a else k
    right = m if swap_a else 1
    b_down = 1 if swap_b else n
    b_right = k if swap_b else 1
    for i in range(m):
        for j in range(n):
            t = zero
            for p in range(k):
                t = t + a[i * down + p * right] * b[p * b_down + j * b_right]
            c[i * n + j] = alpha * t + c[i * n + j] * beta if beta != zero else alpha * t
"""


def way(module: Any, name: str, dtype: Any, kind: str) -> Any:
    """The function for products of one kind, but for those by tiles (`blocked`)."""
    made = ir.Function(module, gemm_call.type_of(dtype), name)
    made.args[6].add_attribute("noalias")  # c
    builder = ir.IRBuilder(made.append_basic_block())
    if kind == "thin":
        gemv.emit(Context(_never), builder, dtype, made.args)
    elif kind == "little":
        gemm_dispatch.emit_little(Context(_never), builder, dtype, made.args)
    else:
        _blas(builder, dtype, made.args)
    builder.ret_void()
    return made


def chooser(module: Any, name: str, dtype: Any, whose: str) -> Any:
    """The function that kernels call.  The table holds the addresses of the ways to go, in order of
    `WAYS`, and behind them that of what is called with the number of one that is missing."""
    made = ir.Function(module, gemm_call.type_of(dtype), name)
    cells: Any = ir.GlobalVariable(module, ir.ArrayType(INT, len(WAYS) + 1), TABLE)
    cells.initializer = ir.Constant(cells.value_type, None)
    builder = ir.IRBuilder(made.append_basic_block())
    m, n, k = made.args[-3:]
    number = {kind: INT(i) for i, kind in enumerate(WAYS)}
    large = number["blocked" if whose == "builtin" else "blas"]
    if not whose and blocked.width(features()) >= WIDE:
        work = builder.mul(builder.mul(m, n), builder.mul(k, INT(dtype.bytes)))
        few = builder.icmp_signed("<=", work, INT(OWN))
        large = builder.select(few, number["blocked"], number["blas"])
    which = builder.select(gemm_dispatch.is_little(builder, m, n, k), number["little"], large)
    which = builder.select(gemv.is_thin(builder, m, n), number["thin"], which)
    place = builder.gep(cells, [INT(0), which], inbounds=True)
    missing, go = (builder.append_basic_block() for _ in range(2))
    known = builder.load_atomic(place, "acquire", 8)
    builder.cbranch(builder.icmp_signed("==", known, INT(0)), missing, go)
    builder.position_at_end(go)
    _hand_on(builder, made, known)
    builder.position_at_end(missing)
    ask = builder.load(builder.gep(cells, [INT(0), INT(len(WAYS))], inbounds=True))
    builder.call(_pointer(builder, ask, ir.FunctionType(ir.VoidType(), [INT])), [which])
    found = builder.load_atomic(place, "acquire", 8)
    with builder.if_then(builder.icmp_signed("!=", found, INT(0))):
        _hand_on(builder, made, found)
        builder.position_at_end(builder.append_basic_block())  # nothing comes here
    builder.call(_plain(module, dtype), list(made.args))
    builder.ret_void()
    return made


def _hand_on(builder: Any, made: Any, address: Any) -> None:
    called = _pointer(builder, address, made.function_type)
    builder.call(called, list(made.args), tail=True)
    builder.ret_void()


def _pointer(builder: Any, address: Any, type_: Any) -> Any:
    return builder.inttoptr(address, type_.as_pointer())


def _plain(module: Any, dtype: Any) -> Any:
    made = new_function(module, gemm_call.type_of(dtype), "plain", "noinline")
    builder = ir.IRBuilder(made.append_basic_block())
    gemv.write(Context(_never), builder, dtype, PLAIN, [*made.args], "bbnvvnviii")
    builder.ret_void()
    return made


def _never() -> Any:
    raise AssertionError("products of matrices need nothing of Numba's")


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
