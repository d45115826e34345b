"""The kernel of a specialisation for the CUDA target: runs the host function of an emitted module.

If an argument is on the device, all arrays must be, and the results stay there.  If all arrays are
on the host, they are copied to the device for the call, and the results are copied back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..call.kernel_arguments import Kernel
from ..errors import S2STypeError, S2SValueError, translate
from ..transforms.frontend.pytree import path_text
from . import devices
from .device_array import DeviceArray
from .host_module import HostModule

if TYPE_CHECKING:
    from ..transforms.pipeline import Compiled


def kernel(target: str, compiled: Compiled) -> Kernel:
    """The kernel of a specialisation on the device of a target."""
    return _Kernel(target, compiled)


class _Kernel:
    def __init__(self, target: str, compiled: Compiled) -> None:
        assert compiled.cuda is not None
        self.target = target
        self.compiled, self.program = compiled, compiled.cuda
        self.modules: dict[int | None, HostModule] = {}
        # pairs (result, parameter) for the results that have the shape of a parameter
        self.buffers = sorted(compiled.out_like.items())
        self.names = [path_text(p.path) for p in compiled.params]

    @property
    def device(self) -> Any:
        return devices.device(self.target)

    def module(self) -> HostModule:
        """The emitted module for the number of threads in a block that the device is set to."""
        block = getattr(self.device, "block", None)
        if block not in self.modules:
            self.modules[block] = HostModule(self.compiled.lowered, self.program, block)
        return self.modules[block]

    def __call__(self, params: tuple[Any, ...], seed: Any, buffers: Sequence[Any]) -> Sequence[Any]:
        on_device = self._are_on_device(params)
        self._check(params)
        made = [
            self._buffer(params, b, r, p, on_device) for b, (r, p) in zip(buffers, self.buffers)
        ]
        given = [*params, *(() if seed is None else (seed,)), *made]
        assert len(given) == len(self.program.params), self.compiled.name
        arguments = tuple(
            [self._argument(about, value) for about, value in zip(self.program.params, given)]
        )
        call, found = self.module().run(
            self.compiled.entry, self.device, arguments, self._translated
        )
        results = [self._result(r.kind, v) for r, v in zip(self.program.results, found)]
        for (result, _), buffer in zip(self.buffers, made):
            results.insert(result, buffer)
        if on_device:
            if call.failures:
                own = {id(a) for a in given}
                for value in results:
                    if isinstance(value, DeviceArray) and id(value) not in own:
                        value._call = call
                for buffer in made:
                    buffer._call = call
                self.device.defer_check(call)
            return results
        call.report()
        for i in self.compiled.written:
            params[i][...] = arguments[i].numpy()
        same = {id(a): p for a, p in zip(arguments, given) if isinstance(a, DeviceArray)}
        results = [_on_host(r, same) for r in results]
        for buffer, (result, _) in zip(buffers, self.buffers):
            if buffer is not None:
                buffer[...] = results[result]
                results[result] = buffer
        return results

    def _translated(self, error: Exception) -> Exception:
        return translate(error, self.compiled)

    # ---- arguments

    def _are_on_device(self, params: tuple[Any, ...]) -> bool:
        """Whether the arrays are on the device; an error if some are and some are not."""
        device = [n for n, p in zip(self.names, params) if isinstance(p, DeviceArray)]
        host = [
            (n, p) for n, p in zip(self.names, params) if isinstance(p, np.ndarray) and p.ndim > 0
        ]
        if device and host:
            name = host[0][0]
            raise S2STypeError(
                f"{name} is an array on the host, and {device[0]} is on the device",
                advice=f"copy it once, before the calls: {name} = s2s.to_device({name}, "
                f'"{self.device.target}")',
            )
        return bool(device)

    def _check(self, params: tuple[Any, ...]) -> None:
        for name, param in zip(self.names, params):
            if isinstance(param, DeviceArray) and param._device is not self.device:
                raise S2STypeError(
                    f"{name} is on {param.target}, and the function runs on {self.device.target}",
                    advice=f'copy it: s2s.to_device({name}.numpy(), "{self.device.target}")',
                )

    def _argument(self, about: Any, value: Any) -> Any:
        """The argument of the host function: an array of the device, or a number."""
        if isinstance(value, DeviceArray):
            return value
        if about.is_array:
            return self.device.from_host(value, about.dtype)
        if about.dtype in ("float64", "int64", "bool"):
            return {"float64": float, "int64": int, "bool": bool}[about.dtype](value)
        return np.dtype(about.dtype).type(value)

    def _buffer(
        self, params: tuple[Any, ...], given: Any, result: int, param: int, on_device: bool
    ) -> DeviceArray:
        """The array for a result that has the shape of a parameter."""
        dtype = self.compiled.result_types[result].dtype
        if given is not None and on_device:
            if not isinstance(given, DeviceArray):
                raise S2SValueError(
                    "out is an array on the host, and the arguments are on the device",
                    advice="leave out= away: results stay on the device until .numpy()",
                )
            return given
        return self.device.empty(np.shape(params[param]), dtype)

    # ---- results

    def _result(self, kind: str, value: Any) -> Any:
        if kind == "slot":
            return DeviceArray(self.device, value._memory, (), value.dtype)
        return value


def _on_host(value: Any, same: dict[int, Any]) -> Any:
    """A result on the host; an argument of the caller's if it is one."""
    if not isinstance(value, DeviceArray):
        return value
    given = same.get(id(value))
    return given if isinstance(given, np.ndarray) else value.numpy()
