"""The variants of the matrix product in a process, each compiled on first use.

`dispatch_function` emits the dispatch by size.  Most programs use one or two variants, and a
variant takes a tenth of a second to compile, more than many a kernel.  The entries of the address
table are null at first; a callback of `gemm_library.py` then fills them in.  If it fails, the
dispatch function falls back to plain loops, which it contains.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ...runtime.jit_link import GEMM
from .. import value_types as types
from ..gemm import blocked, gemm_call
from ..gemm.gemm_names import VARIANT_TABLE, VARIANTS
from ..llvm_passes import features
from ..llvm_utils import INT, POINTER, declare_function, new_function
from ..type_lowering import Context
from . import gemm_dispatch, gemv

# Up to this many multiplications, times the item size, the blocked product is at least as fast as
# single-threaded BLAS, and threads hardly gain; on machines with vectors of at least so many bytes.
MAX_BUILTIN_WORK, MIN_VECTOR_BYTES = 2**24, 32
CHAR = ir.IntType(8)

# Lowered source of the fallback.
FALLBACK_SOURCE = """
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


def variant_function(module: Any, name: str, dtype: Any, kind: str) -> Any:
    """Define the function of a variant, except the blocked one (`gemm/blocked.py`)."""
    made = ir.Function(module, gemm_call.type_of(dtype), name)
    made.args[6].add_attribute("noalias")  # c
    builder = ir.IRBuilder(made.append_basic_block())
    if kind == "thin":
        gemv.emit(Context(_no_numba), builder, dtype, made.args)
    elif kind == "little":
        gemm_dispatch.emit_small(Context(_no_numba), builder, dtype, made.args)
    else:
        _blas(builder, dtype, made.args)
    builder.ret_void()
    return made


def dispatch_function(module: Any, name: str, dtype: Any, whose: str) -> Any:
    """Define the dispatch function that kernels call.  The table holds the addresses of the
    variants in the order of `VARIANTS`, then that of the callback, which takes the index of a
    missing variant."""
    made = ir.Function(module, gemm_call.type_of(dtype), name)
    cells: Any = ir.GlobalVariable(module, ir.ArrayType(INT, len(VARIANTS) + 1), VARIANT_TABLE)
    cells.initializer = ir.Constant(cells.value_type, None)
    builder = ir.IRBuilder(made.append_basic_block())
    m, n, k = made.args[-3:]
    index = {kind: INT(i) for i, kind in enumerate(VARIANTS)}
    large = index["blocked" if whose == "builtin" else "blas"]
    if not whose and blocked.vector_bytes_of(features()) >= MIN_VECTOR_BYTES:
        work = builder.mul(builder.mul(m, n), builder.mul(k, INT(dtype.bytes)))
        few = builder.icmp_signed("<=", work, INT(MAX_BUILTIN_WORK))
        large = builder.select(few, index["blocked"], index["blas"])
    which = builder.select(gemm_dispatch.is_small(builder, m, n, k), index["little"], large)
    which = builder.select(gemv.is_vector(builder, m, n), index["thin"], which)
    entry = builder.gep(cells, [INT(0), which], inbounds=True)
    missing, go = (builder.append_basic_block() for _ in range(2))
    known = builder.load_atomic(entry, "acquire", 8)
    builder.cbranch(builder.icmp_signed("==", known, INT(0)), missing, go)
    builder.position_at_end(go)
    _tail_call(builder, made, known)
    builder.position_at_end(missing)
    callback = builder.load(builder.gep(cells, [INT(0), INT(len(VARIANTS))], inbounds=True))
    builder.call(
        _function_pointer(builder, callback, ir.FunctionType(ir.VoidType(), [INT])), [which]
    )
    found = builder.load_atomic(entry, "acquire", 8)
    with builder.if_then(builder.icmp_signed("!=", found, INT(0))):
        _tail_call(builder, made, found)
        builder.position_at_end(builder.append_basic_block())  # unreachable
    builder.call(_fallback(module, dtype), list(made.args))
    builder.ret_void()
    return made


def _tail_call(builder: Any, made: Any, address: Any) -> None:
    called = _function_pointer(builder, address, made.function_type)
    builder.call(called, list(made.args), tail=True)
    builder.ret_void()


def _function_pointer(builder: Any, address: Any, type_: Any) -> Any:
    return builder.inttoptr(address, type_.as_pointer())


def _fallback(module: Any, dtype: Any) -> Any:
    made = new_function(module, gemm_call.type_of(dtype), "plain", "noinline")
    builder = ir.IRBuilder(made.append_basic_block())
    gemv.emit_source(
        Context(_no_numba), builder, dtype, FALLBACK_SOURCE, [*made.args], "bbnvvnviii"
    )
    builder.ret_void()
    return made


def _no_numba() -> Any:
    raise AssertionError("products of matrices need nothing of Numba's")


def _blas(builder: Any, dtype: Any, args: Any) -> None:
    """Emit the call of BLAS.  BLAS is column-major, so it computes c.T = b.T @ a.T."""
    swap_a, swap_b, alpha, a, b, beta, c, m, n, k = args
    kinds = [CHAR] * 3 + [INT] * 3 + [POINTER, POINTER, INT, POINTER, INT, POINTER, POINTER, INT]
    type_ = ir.FunctionType(ir.IntType(32), kinds)
    blas = declare_function(builder.module, type_, GEMM)
    letter = {
        flag: builder.select(flag, CHAR(ord("t")), CHAR(ord("n"))) for flag in (swap_a, swap_b)
    }
    places = []
    for number in (alpha, beta):
        place = builder.alloca(number.type)
        builder.store(number, place)
        places.append(builder.bitcast(place, POINTER))
    a, b, c = (builder.bitcast(p, POINTER) for p in (a, b, c))
    b_width = leading_dimension(builder, builder.select(swap_b, k, n))
    a_width = leading_dimension(builder, builder.select(swap_a, m, k))
    kind = CHAR(ord("s" if dtype == types.float32 else "d"))
    builder.call(
        blas,
        [kind, letter[swap_b], letter[swap_a], n, m, k,
         places[0], b, b_width, a, a_width, places[1], c, leading_dimension(builder, n)],
    )  # fmt: skip


def leading_dimension(builder: Any, width: Any) -> Any:
    """The width of a matrix as BLAS takes it: at least 1, or BLAS does nothing at all, not even
    multiply c by beta."""
    empty = builder.icmp_signed("<", width, INT(1))
    return builder.select(empty, INT(1), width)
