"""A run time for the texts of the CUDA target on Numba's simulator: see docs/design/cuda.md.

`NUMBA_ENABLE_CUDASIM=1` must be set before Numba is imported.  The simulator executes kernels as
Python, one thread after another between barriers.  New memory is full of NaN or of large integers,
negative and too large indices are errors, and so are data races.
"""

from __future__ import annotations

import builtins
import contextlib
import inspect
import os
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

assert os.environ.get("NUMBA_ENABLE_CUDASIM") == "1", "the simulator is not enabled"

from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray  # noqa: E402

from s2s import kernels as rt  # noqa: E402
from s2s.backends import backends  # noqa: E402
from s2s.transforms import pipeline  # noqa: E402
from tests.cuda.races import Accesses, WatchedArray  # noqa: E402

MAX_BLOCKS = 6

# The functions that kernels call, with NumPy's values instead of exceptions.
_MATH = types.SimpleNamespace(
    acos=np.arccos, acosh=np.arccosh, asin=np.arcsin, asinh=np.arcsinh, atan=np.arctan,
    atan2=np.arctan2, atanh=np.arctanh, copysign=np.copysign, cos=np.cos, cosh=np.cosh,
    degrees=np.degrees, erf=rt.erf, erfc=rt.erfc, exp=np.exp, expm1=np.expm1, fabs=np.fabs,
    fmod=np.fmod, hypot=np.hypot, inf=np.inf, isfinite=np.isfinite, isinf=np.isinf,
    isnan=np.isnan, ldexp=np.ldexp, log=np.log, log10=np.log10, log1p=np.log1p, log2=np.log2,
    nan=np.nan, pow=np.float_power, radians=np.radians, sin=np.sin, sinh=np.sinh, sqrt=np.sqrt,
    tan=np.tan, tanh=np.tanh,
)  # fmt: skip
_LIBDEVICE = types.SimpleNamespace(
    floor=np.floor, floorf=np.floor, ceil=np.ceil, ceilf=np.ceil, rint=np.rint, rintf=np.rint,
    trunc=np.trunc, truncf=np.trunc, exp2=np.exp2, exp2f=np.exp2, cbrt=np.cbrt, cbrtf=np.cbrt,
)  # fmt: skip


class Device:
    """The methods that a host function calls.  `launches` and the other attributes count them."""

    def __init__(self) -> None:
        self.launches = self.threads = self.fetches = self.gemms = 0
        self.failures: list[Any] = []

    def begin(self, failures: list[Any]) -> tuple[Any, Any]:
        self.failures = failures
        self.err, self.err_values = np.zeros(5, np.int64), np.zeros(4)
        return self.err, self.err_values

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        assert all(size >= 0 for size in shape), shape
        kind = np.dtype(dtype).kind
        return np.full(shape, {"f": np.nan, "b": True}.get(kind, 77), dtype)

    def scalar(self, value: Any, dtype: Any) -> Any:
        return np.array([value], dtype)

    def view(self, array: Any, shape: tuple[int, ...]) -> Any:
        out = array.reshape(shape)
        assert array.size == 0 or np.shares_memory(out, array)
        return out

    def blocks(self, cells: int, block: int) -> int:
        return max(1, min(MAX_BLOCKS, -(-int(cells) // block)))

    def launch(self, kernel: Any, blocks: int, threads: int, *args: Any) -> None:
        self.launches += 1
        self.threads += blocks * threads
        # Host arrays would be copied in and out: two aliases of one buffer would lose stores.
        accesses = Accesses(kernel.__name__)
        names = inspect.signature(kernel.fn).parameters
        passed = [
            a if not isinstance(a, np.ndarray)
            else FakeCUDAArray(a) if a is self.err or a is self.err_values
            else WatchedArray(_flat(a), accesses, name)
            for a, name in zip(args, names, strict=True)
        ]  # fmt: skip
        kernel[blocks, threads](*passed)

    def gemm(
        self, kernel: Any, swap_a: bool, swap_b: bool, m: int, n: int, k: int,
        alpha: Any, a: Any, a_at: int, b: Any, b_at: int, beta: Any, c: Any, c_at: int,
    ) -> None:  # fmt: skip
        self.gemm_batched(
            kernel, swap_a, swap_b, m, n, k, alpha, a, a_at, b, b_at, beta, c, c_at, 1, 0, 0, 0
        )

    def gemm_batched(
        self, kernel: Any, swap_a: bool, swap_b: bool, m: int, n: int, k: int,
        alpha: Any, a: Any, a_at: int, b: Any, b_at: int, beta: Any, c: Any, c_at: int,
        batch: int, a_step: int, b_step: int, c_step: int,
    ) -> None:  # fmt: skip
        """By NumPy: the kernel needs blocks of 256 threads, which the simulator makes slowly."""
        self.gemms += 1
        if self.err[0]:
            return
        assert a.dtype == b.dtype == c.dtype == np.asarray(alpha).dtype == np.asarray(beta).dtype
        for z in range(batch):
            x = _matrix(a, a_at + z * a_step, (k, m) if swap_a else (m, k))
            y = _matrix(b, b_at + z * b_step, (n, k) if swap_b else (k, n))
            rt.gemm(swap_a, swap_b, alpha, x, y, beta, _matrix(c, c_at + z * c_step, (m, n)))

    def fetch(self, array: Any) -> Any:
        self.fetches += 1
        self.check()
        return array[0]

    def check(self) -> None:
        """Raise the error if there is one."""
        site = int(self.err[0])
        if not site:
            return
        exception, message, failure, dtypes = self.failures[site - 1]
        if failure is None:
            raise getattr(builtins, exception)(message)
        values = [
            self.err_values[k] if dtype.startswith("float") else self.err[1 + k]
            for k, dtype in enumerate(dtypes[:4])
        ]
        values += [0] * (len(dtypes) - len(values))
        raise rt.Failure(failure, *(np.dtype(d).type(v) for d, v in zip(dtypes, values)))


def _flat(array: Any) -> Any:
    if not array.size:
        return np.zeros(1, array.dtype)  # an index into it fails the comparison of results
    assert array.flags.c_contiguous
    return array.reshape(-1)


def _matrix(array: Any, at: int, shape: tuple[int, int]) -> Any:
    size = shape[0] * shape[1]
    assert 0 <= at and at + size <= array.size
    return array.reshape(-1)[at : at + size].reshape(shape)


def load(text: str, block: int) -> dict[str, Any]:
    """The module of a text, with blocks of so many threads."""
    assert "BLOCK = 128\n" in text
    module = types.ModuleType("cuda_program")
    exec(compile(text.replace("BLOCK = 128\n", f"BLOCK = {block}\n"), "<cuda>", "exec"),
         vars(module))  # fmt: skip
    vars(module).update(math=_MATH, libdevice=_LIBDEVICE)
    return vars(module)


def kernel_of(compiled: Any, block: int, devices: list[Device]) -> Callable[..., Any]:
    """The kernel of a specialisation in the convention of `s2s.backends`; the device of each call
    is appended to `devices`."""
    entry = load(compiled.lowered, block)[compiled.entry]
    program = compiled.cuda
    outs = sorted(compiled.out_like.items())

    def kernel(params: tuple[Any, ...], seed: Any, buffers: Any) -> list[Any]:
        device = Device()
        devices.append(device)
        values = [*params, *([] if seed is None else [seed])]
        for (_, like), buffer in zip(outs, buffers):
            made = np.empty(params[like].shape, compiled.params[like].type.dtype)
            values.append(made if buffer is None else buffer)
        given, typed = list(values), []
        for value, param in zip(values, program.params, strict=True):
            if param.is_array:
                assert value.ndim == param.rank and value.dtype == param.dtype, param
                typed.append(np.ascontiguousarray(value).reshape(value.shape))
            else:
                typed.append(np.dtype(param.dtype).type(value))
        results = entry(device, *typed)
        device.check()
        for value, array in zip(given, typed):
            if isinstance(value, np.ndarray) and array is not value:
                if value.flags.writeable:
                    value[...] = array
        found = []
        for result, kind in zip(results, program.results, strict=True):
            if kind.kind == "slot":
                assert result.shape == (1,), kind
                result = result[0]
            assert np.asarray(result).dtype == kind.dtype, (result, kind)
            found.append(result)
        for (position, _), buffer in zip(outs, typed[len(typed) - len(outs) :]):
            found.insert(position, buffer)
        return found

    return kernel


@dataclass
class Run:
    """The compilations and calls in a context."""

    compiled: list[Any] = field(default_factory=list)
    devices: list[Device] = field(default_factory=list)

    def statistics(self) -> dict[str, int]:
        """The statistics of the last text."""
        return vars(self.compiled[-1].cuda.stats)


@contextlib.contextmanager
def on_simulator(block: int) -> Iterator[Run]:
    """Context in which `backend="loops"` compiles for CUDA and runs on the simulator."""
    run = Run()
    compile_request, make = pipeline.compile_request, backends.make

    def compile_for_cuda(request: Any) -> Any:
        request.target = "cuda"
        compiled = compile_request(request)
        run.compiled.append(compiled)
        return compiled

    def make_kernel(backend: str, compiled: Any, *others: Any) -> Any:
        return kernel_of(compiled, block, run.devices)

    pipeline.compile_request, backends.make = compile_for_cuda, make_kernel
    try:
        yield run
    finally:
        pipeline.compile_request, backends.make = compile_request, make
