"""The operations that loop IR calls, and what each call does: the table `OPS`.

    Apply(function, …)              a scalar function; `OPS[function].is_pure` always holds
    Call, CallBuffers(function, …)  a runtime routine: it may write to buffers, fail, draw
    CallRoutine                     another routine of the program: `CALLEE` describes it

A pass learns here whether a call is harmless: no other file lists operations by what they
do.  A new operation needs an entry here, an implementation in `s2s.kernels`, and one for each
target that has to support it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from ...ir.record import field, record
from ...rules.random_draws import (
    GENERATOR_METHODS,
    INTEGER_METHODS,
    INTERPRETED_METHODS,
    LEGACY_METHODS,
)
from . import nodes as L

# How a call uses an argument: a scalar or generator that is passed by value, or a buffer that is
# only read, only written (all of its elements), or both.
Access = Literal["value", "read", "write", "update"]
# What a call does besides writing to its arguments.  "rng": advances a generator.  "machine": its
# result depends on more than its arguments, as the stack pointer.
Effect = Literal["none", "rng", "machine"]
# The type of the result: a dtype, or a rule.  "first": the dtype of the first argument; "real": the
# same, of its real part; "buffer": a buffer as the first argument; "": no result.
Result = str

# The default cost of a call, in additions.
CALL_COST = 15


@record(frozen=True)
class Operation:
    """One operation.

    `access` describes the arguments in order; if `is_variadic`, any number of arguments like the
    last one may follow, or none.  `what` names the operation in reports to the user.  `may_raise`
    tells whether a call may raise an error itself; a routine that returns a status does not.
    `cost` is that of a call with scalars, in additions.  `is_index` marks integer helpers for
    bounds and sizes.  `has_threads` marks routines that may run in threads of their own.
    `user_name` is the function as the user writes it, if that is not the operation's own name.
    `unavailable` maps the targets that lack the operation ("aot", "cuda") to advice.
    """

    name: str
    access: tuple[Access, ...]
    result: Result = ""
    what: str = "a call"
    is_variadic: bool = False
    may_raise: bool = False
    effect: Effect = "none"
    cost: int = CALL_COST
    is_index: bool = False
    has_threads: bool = False
    user_name: str = ""
    unavailable: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def is_pure(self) -> bool:
        """True if a call only computes its result: it may be shared, moved or left out."""
        return self.is_silent and not any(a in ("write", "update") for a in self.access)

    @property
    def is_silent(self) -> bool:
        """True if a call does nothing but read and write its arguments."""
        return self.effect == "none" and not self.may_raise

    @property
    def is_cheap(self) -> bool:
        """True if a call costs about as much as arithmetic."""
        return self.cost < CALL_COST

    def takes(self, count: int) -> bool:
        """True if the operation can be called with `count` arguments."""
        least = len(self.access) - self.is_variadic
        return count == least or (self.is_variadic and count > least)

    def access_of(self, position: int) -> Access:
        """The access of the argument at a position."""
        return self.access[min(position, len(self.access) - 1)]

    def result_dtype(self, dtypes: Sequence[str]) -> str:
        """The dtype of the result for arguments of these dtypes (of a buffer: of its elements)."""
        if self.result not in ("first", "real", "buffer"):
            return self.result
        if self.result == "real":
            return _REAL.get(dtypes[0], dtypes[0])
        return dtypes[0]


# Advice where a target lacks an operation.
NO_KERNEL = "compute it on the CPU, in a function of its own"
WRITE_OUT = "write it with functions that kernels have, such as exp, log and sqrt"

_REAL = {"complex64": "float32", "complex128": "float64"}
_ACCESS: dict[str, Access] = {"v": "value", "r": "read", "w": "write", "u": "update"}


def _table() -> Iterator[Operation]:
    """All operations.

    Accesses are abbreviated: v(alue), r(ead), w(rite), u(pdate); "*" follows a repeated one.
    """
    yield from _scalar_functions()
    yield from _index_arithmetic()
    yield from _routines()
    yield from _draws()


def _scalar_functions() -> Iterator[Operation]:
    """Scalar functions: NumPy's where Numba has them with NumPy's semantics, otherwise ours."""
    for name in (
        "exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh "
        "arcsinh arccosh arctanh floor ceil trunc rint deg2rad rad2deg degrees radians sign "
        "reciprocal fabs conj"
    ).split():
        yield _operation(f"np.{name}", "v", "first")
    yield _operation("np.spacing", "v", "first", cuda=WRITE_OUT)
    yield _operation("np.sqrt", "v", "first", cost=4)
    for name in "power arctan2 hypot logaddexp logaddexp2 copysign ldexp gcd lcm".split():
        yield _operation(f"np.{name}", "v v", "first")
    yield _operation("np.nextafter", "v v", "first", cuda=WRITE_OUT)
    for name in "isnan isinf isfinite signbit".split():
        yield _operation(f"np.{name}", "v", "bool")
    for name in "real imag".split():
        yield _operation(f"np.{name}", "v", "real")
    yield _operation("abs", "v", "real", cost=1)
    for name in "cbrt erf erfc sinc expit".split():
        yield _operation(f"rt.{name}", "v", "first")
    for name in "gamma lgamma erfcx erfinv erfcinv ndtri digamma".split():
        yield _operation(f"rt.{name}", "v", "first", cuda=WRITE_OUT)
    for name in "fmod heaviside float_power natural_power".split():
        yield _operation(f"rt.{name}", "v v", "first")
    for name in "polygamma beta betaln jv iv ive".split():
        yield _operation(f"rt.{name}", "v v", "first", cuda=WRITE_OUT)
    yield _operation("rt.to_int", "v", "int64")


def _index_arithmetic() -> Iterator[Operation]:
    """Bounds of loops, sizes of slices, and the stack of the machine."""
    for name, access in {
        "trip_count": "v v v",
        "arange_count": "v v v",
        "slice_start": "v v v v",
        "slice_stop": "v v v v",
    }.items():
        yield _operation(f"rt.{name}", access, "int64", is_index=True)
    for name, access in {"chunks": "v v v v", "across": "v v v v v v"}.items():
        yield _operation(f"rt.{name}", access, "int64", is_index=True, cuda=NO_KERNEL)
    for name in "floor_divide remainder".split():  # of floats, too
        yield _operation(f"rt.{name}", "v v", "first", is_index=True)
    stack = "a recursive function"
    for name, result in {"stack_limit": "int64", "stack_is_low": "bool"}.items():
        yield _operation(
            f"rt.{name}", "v", result, what=stack, effect="machine", cuda="write it as a loop"
        )


def _routines() -> Iterator[Operation]:
    """Routines on whole buffers.  One that can fail returns a status, which the caller checks."""
    product = "a product of matrices"
    yield _operation("rt.gemm", "v v v r r v u", what=product, has_threads=True)
    yield _operation("rt.gemm_at", "r r r r v u", what=product, has_threads=True)
    yield _operation("rt.reserve", "r v v", "buffer", what="a growing list", may_raise=True)
    transform = "a Fourier transform"
    yield _operation("rt.fft.fft", "r w v v", what=transform, cuda=NO_KERNEL)
    yield _operation("rt.fft.rfft", "r w v", what=transform, cuda=NO_KERNEL)
    yield _operation("rt.fft.irfft", "r w v", what=transform, cuda=NO_KERNEL)
    yield _operation("rt.fft.resize", "r w", what=transform, cuda=NO_KERNEL)
    for name, access in {
        "solve": "r r w",
        "inv": "r w",
        "solve_triangular": "r r v v v w",
        "cholesky": "r w",
        "eigh_vectors": "r v w",
        "svd_vectors": "r w",
        "pinv": "r v w",
        "solve_banded": "r r v v w",
    }.items():
        yield _operation(
            f"rt.linalg.{name}", access, "int64", what="a matrix function", cuda=NO_KERNEL
        )
    for name, access in {
        "cofactor": "r w",
        "qr_q": "r w",
        "eigh_values": "r r v w",
        "svd_values": "r r w",
        "expm": "r w",
        "lu_compact": "r w",
        "lu_pivots": "r w",
        "pivot_order": "r w",
    }.items():
        yield _operation(f"rt.linalg.{name}", access, what="a matrix function", cuda=NO_KERNEL)
    for name in "det slogdet_log slogdet_sign".split():
        yield _operation(
            f"rt.linalg.{name}", "r", "first", what="a matrix function", cuda=NO_KERNEL
        )


NEEDS_PYTHON = "it needs Python or a library at run time; compute it outside, or write it out"


def _draws() -> Iterator[Operation]:
    """Random draws: one scalar, or a buffer that is filled.

    Their parameters are checked when they are called.
    """

    def draw(name: str, access: str, result: str, user_name: str, aot: bool) -> Operation:
        return _operation(
            f"rt.draws.{name}", access, result, what="a random draw", may_raise=True,
            effect="rng", user_name=user_name,
            aot="" if aot else NEEDS_PYTHON, cuda="draw it on the CPU, and pass it as an argument",
        )  # fmt: skip

    yield draw("default_rng", "v*", "rng", "np.random.default_rng", False)
    yield draw("seed", "v*", "", "np.random.seed", False)
    for methods, legacy in ((GENERATOR_METHODS, False), (LEGACY_METHODS, True)):
        for method, count in methods.items():
            dtype = "int64" if method in INTEGER_METHODS else "float64"
            # `choice` and `permutation` may take an array.
            params = "r*" if method in ("choice", "permutation") else "v " * count
            prefix, rng = ("legacy_", "") if legacy else ("", "v ")
            user_name = f"{'np.random' if legacy else 'Generator'}.{method}"
            # Numba's implementation of `integers` allocates an array.
            aot = not legacy and method not in (*INTERPRETED_METHODS, "integers")
            yield draw(f"{prefix}one_{method}", f"{rng}{params}", dtype, user_name, aot)
            yield draw(f"{prefix}fill_{method}", f"{rng}w {params}", "", user_name, aot)


def _operation(
    name: str,
    access: str,
    result: Result = "",
    *,
    what: str = "a call",
    may_raise: bool = False,
    effect: Effect = "none",
    cost: int = CALL_COST,
    is_index: bool = False,
    has_threads: bool = False,
    user_name: str = "",
    aot: str = "",
    cuda: str = "",
) -> Operation:
    accesses: tuple[Access, ...] = tuple(_ACCESS[a] for a in access.replace("*", "").split())
    return Operation(
        name, accesses, result, what, "*" in access, may_raise, effect, cost, is_index,
        has_threads, user_name, {t: why for t, why in (("aot", aot), ("cuda", cuda)) if why},
    )  # fmt: skip


OPS: dict[str, Operation] = {op.name: op for op in _table()}

# A call of another routine of the program: buffers that it does not own are lent to it, and it may
# raise.
CALLEE = Operation("", ("read",), "buffer", is_variadic=True, may_raise=True)


# ---------------------------------------------------------------- what a statement does


def operation_of(stmt: L.Stmt) -> Operation | None:
    """The operation that a statement calls, or None if it is no call."""
    if isinstance(stmt, (L.Call, L.CallBuffers)):
        return OPS[stmt.function]
    return CALLEE if isinstance(stmt, L.CallRoutine) else None


def written_buffers(stmt: L.Stmt) -> set[str]:
    """The buffers whose elements a statement itself may write, nested blocks excluded."""
    if isinstance(stmt, L.Store):
        return {stmt.buffer}
    if isinstance(stmt, L.CallRoutine):
        owned = (stmt.args[i] for i in stmt.owned)
        return {a.buffer for a in owned if isinstance(a, L.Subview)}
    if not isinstance(stmt, (L.Call, L.CallBuffers)):
        return set()
    op = OPS[stmt.function]
    return {
        a.buffer
        for position, a in enumerate(stmt.args)
        if isinstance(a, L.Subview) and op.access_of(position) in ("write", "update")
    }


def shared_buffers(stmt: L.Stmt) -> set[str]:
    """The buffers whose memory the names that a statement itself defines may refer to."""
    if isinstance(stmt, L.View):
        return {stmt.buffer}
    if isinstance(stmt, L.Rebind):
        return {stmt.other}
    if isinstance(stmt, (L.CallBuffers, L.CallRoutine)):
        op = operation_of(stmt)
        if op is not None and op.result == "buffer":
            return {a.buffer for a in stmt.args if isinstance(a, L.Subview)}
    return set()
