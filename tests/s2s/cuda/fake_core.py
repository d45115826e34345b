"""A machine with a GPU that does not exist: cuda.core and the driver, with the names and parameters
that they document.  Memory is that of the host; launches run in emulation.  `Machine.log` has every
operation in order."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from s2s.cuda import compiler, cublas, cuda_device, devices, emulator

STREAM = 4096


class Machine:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[str] = []
        self.kernels: dict[str, Any] = {}  # emulated functions by symbol
        self.live = 0
        self.driver_status = 0
        compiled = compiler.ptx

        def recorded(kernel: Any, cc: Any, provider: str = compiler.DEFAULT_PROVIDER) -> Any:
            self.kernels[kernel.symbol] = emulator.function(kernel)
            return compiled(kernel, cc, provider)

        monkeypatch.setattr(compiler, "ptx", recorded)
        monkeypatch.setattr(cuda_device, "_packages", lambda: (self.core(), self.driver()))
        monkeypatch.setattr(devices, "_devices", {})
        self.device = devices.device("cuda")

    def count(self, operation: str) -> int:
        return self.log.count(operation)

    # ---- cuda.core

    def core(self) -> Any:
        machine = self

        class Buffer:
            def __init__(self, size: int) -> None:
                self.bytes = np.full(size + 256, 0xFF, np.uint8)
                start = self.bytes.ctypes.data
                self.handle, self.size = start + -start % 256, size
                machine.live += 1
                machine.log.append("allocate")

            def __del__(self) -> None:
                machine.live -= 1

        class Stream:
            handle = STREAM

            @staticmethod
            def from_handle(number: int) -> Any:
                return SimpleNamespace(
                    handle=number, wait=lambda other: machine.log.append(f"{number} waits")
                )

            def wait(self, other: Any) -> None:
                machine.log.append(f"waits for {other.handle}")

            def sync(self) -> None:
                machine.log.append("synchronise")

        class Device:
            device_id, name = 0, "a GPU of the tests"
            compute_capability = SimpleNamespace(major=8, minor=0)

            def set_current(self) -> None:
                machine.log.append("set_current")

            def create_stream(self) -> Any:
                return Stream()

            def allocate(self, size: int, *, stream: Any) -> Any:
                assert isinstance(stream, Stream) and size > 0
                return Buffer(size)

        class ObjectCode:
            def __init__(self, text: str) -> None:
                self.text = text

            @staticmethod
            def from_ptx(module: bytes) -> Any:
                return ObjectCode(module.decode())

            def get_kernel(self, name: str) -> Any:
                assert f".entry {name}(" in self.text
                machine.log.append("load")
                return machine.kernels[name]

        class LaunchConfig:
            def __init__(self, *, grid: int, block: int) -> None:
                assert grid > 0 and 0 < block <= 1024
                self.grid, self.block = grid, block

        def launch(stream: Any, config: Any, kernel: Any, *arguments: Any) -> None:
            assert isinstance(stream, Stream)
            machine.log.append("launch")
            kernel(config.grid, config.block, False, *[_plain(a) for a in arguments])

        utils = SimpleNamespace(StridedMemoryView=View)
        return SimpleNamespace(
            Device=Device, Stream=Stream, ObjectCode=ObjectCode, LaunchConfig=LaunchConfig,
            launch=launch, utils=utils,
        )  # fmt: skip

    # ---- cuda.bindings.driver

    def driver(self) -> Any:
        def copy(kind: str) -> Any:
            def run(target: int, source: int, nbytes: int, stream: int) -> tuple[int]:
                assert stream == STREAM
                self.log.append(kind)
                ctypes.memmove(target, source, nbytes)
                return (self.driver_status,)

            return run

        def fill(dtype: Any) -> Any:
            def run(target: int, value: int, count: int, stream: int) -> tuple[int]:
                assert stream == STREAM
                self.log.append("fill")
                text = np.full(count, value, dtype).tobytes()
                ctypes.memmove(target, text, len(text))
                return (self.driver_status,)

            return run

        def allocate_host(size: int) -> tuple[int, int]:
            self.log.append("allocate pinned")
            self.pinned = np.empty(size, np.uint8)
            return self.driver_status, self.pinned.ctypes.data

        return SimpleNamespace(
            cuMemAllocHost=allocate_host,
            cuMemcpyHtoDAsync=copy("copy in"), cuMemcpyDtoHAsync=copy("copy out"),
            cuMemcpyDtoDAsync=copy("copy"), cuMemsetD8Async=fill(np.uint8),
            cuMemsetD16Async=fill(np.uint16), cuMemsetD32Async=fill(np.uint32),
        )  # fmt: skip

    def with_cublas(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Install a cuBLAS that computes products on the host, by columns."""
        library = SimpleNamespace(
            create=lambda: 7,
            set_stream=lambda handle, stream: self.log.append(f"cublas on {stream}"),
            dgemm_strided_batched_64=self._gemm(np.float64, ctypes.c_double),
            sgemm_strided_batched_64=self._gemm(np.float32, ctypes.c_float),
        )
        monkeypatch.setattr(cublas, "import_module", lambda name: library)

    def _gemm(self, dtype: Any, scalar: Any) -> Any:
        def gemm(
            handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int, a: int,
            lda: int, stride_a: int, b: int, ldb: int, stride_b: int, beta: int, c: int, ldc: int,
            stride_c: int, batch: int,
        ) -> None:  # fmt: skip
            assert handle == 7
            self.log.append("cublas")
            new, old = scalar.from_address(alpha).value, scalar.from_address(beta).value
            for i in range(batch):
                x = _columns(a, lda, k if not transa else m, stride_a * i, scalar)
                y = _columns(b, ldb, n if not transb else k, stride_b * i, scalar)
                z = _columns(c, ldc, n, stride_c * i, scalar)
                x = x[:m, :k] if not transa else x[:k, :m].T
                y = y[:k, :n] if not transb else y[:n, :k].T
                z[:m, :n] = new * (x @ y) + (old * z[:m, :n] if old else 0)

        return gemm


def _columns(address: int, leading: int, count: int, start: int, scalar: Any) -> Any:
    """A matrix that is stored by columns."""
    size = ctypes.sizeof(scalar)
    flat = np.ctypeslib.as_array((scalar * (leading * count)).from_address(address + start * size))
    return flat.reshape(count, leading).T


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


class View:
    """`StridedMemoryView` of an object with `__cuda_array_interface__`."""

    def __init__(self, x: Any, stream: int) -> None:
        about = x.__cuda_array_interface__
        self.ptr, self.readonly = about["data"]
        self.shape, self.dtype = about["shape"], np.dtype(about["typestr"])
        strides = about["strides"]
        self.strides = None if strides is None else [s // self.dtype.itemsize for s in strides]
        self.device_id = getattr(x, "device_id", 0)
        assert stream == STREAM

    @classmethod
    def from_any_interface(cls, x: Any, stream_ptr: int | None = None) -> View:
        assert stream_ptr is not None
        return cls(x, stream_ptr)


class Foreign:
    """An array of another library on the device."""

    def __init__(self, array: np.ndarray[Any, Any], device_id: int = 0) -> None:
        self.array, self.device_id = array, device_id

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        about = self.array.__array_interface__
        strides = None if self.array.flags.c_contiguous else self.array.strides
        return {**about, "strides": strides, "version": 3}
