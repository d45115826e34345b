import ctypes
import os

import numpy as np

# ---------------------------------------------------------------- how functions are called


class LibraryError(RuntimeError):
    """An error status of a library function; `status` is its number."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def _aligned(size):
    """Uninitialised memory, aligned to 64 bytes."""
    raw = np.empty(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


def _error(status, message):
    """The exception for a status: of Python's or NumPy's class if the message names one."""
    name, colon, text = message.partition(": ")
    kind = getattr(np.linalg, name, None) or getattr(__builtins__, name, None)
    if isinstance(__builtins__, dict):
        kind = kind or __builtins__.get(name)
    if colon and isinstance(kind, type) and issubclass(kind, Exception):
        error = kind(text)
        vars(error)["status"] = status
        return error
    return LibraryError(status, message)


class _Library:
    def __init__(self, name, prefix):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
        self.handle = ctypes.CDLL(path)
        self.message = getattr(self.handle, prefix + "_message")
        self.message.restype = ctypes.c_char_p
        self.message.argtypes = [ctypes.c_int32]

    def check(self, status):
        if status:
            raise _error(status, self.message(status).decode())


_WORKSPACE = 5


class _Function:
    """One function of the library.  Arguments are (name, dtype, axes, written), where axes is None
    for a scalar.  Outputs are (name, dtype, function from the sizes to the shape)."""

    def __init__(self, library, symbol, sizes, arguments, outputs, has_state, grows):
        self.library, self.sizes, self.arguments = library, sizes, arguments
        self.symbol, self.outputs, self.grows = symbol, outputs, grows
        self.call = getattr(library.handle, symbol)
        self.call.restype = ctypes.c_int32
        numbers = [np.ctypeslib.as_ctypes_type(np.dtype(a[1])) for a in arguments if a[2] is None]
        kinds = [
            np.ctypeslib.as_ctypes_type(np.dtype(dtype)) if axes is None else ctypes.c_void_p
            for _, dtype, axes, _ in arguments
        ]
        self.call.argtypes = (
            [ctypes.c_int64] * len(sizes)
            + kinds
            + [ctypes.c_void_p] * (len(outputs) + has_state + 1)
            + [ctypes.c_size_t]
        )
        self.query = getattr(library.handle, symbol + "_workspace")
        self.query.restype = ctypes.c_int64
        self.query.argtypes = [ctypes.c_int64] * len(sizes) + numbers
        self.spare = []  # workspaces that are not in use
        self.needs = {}  # the workspace size by argument sizes

    def accepts(self, values):
        """True if the types and ranks of arguments match, independent of their sizes."""
        return all(
            np.ndim(v) == len(axes or ()) and (axes is None or np.asarray(v).dtype == dtype)
            for v, (_, dtype, axes, _) in zip(values, self.arguments)
        )

    def run(self, values, state=None):
        sizes, given, numbers = self._check(values)
        asked = [*sizes.values(), *numbers]
        outputs = [
            np.empty(() if shape is None else shape(*asked), dtype)
            for _, dtype, shape in self.outputs
        ]
        need = self.needs.get(key := tuple(asked))
        if need is None:
            need = self.query(*asked)
            if len(self.needs) < 1000:
                self.needs[key] = need
        if need < 0:
            text = ", ".join(f"{k} = {v}" for k, v in sizes.items())
            raise ValueError(f"{self.symbol}: the sizes do not fit together: {text}")
        places = [o.ctypes.data for o in outputs]
        block = [] if state is None else [state.ctypes.data]
        try:
            workspace = self.spare.pop()
        except IndexError:  # all are in use by other threads
            workspace = _aligned(0)
        if workspace.size < need:
            workspace = _aligned(need)
        while True:
            status = self.call(
                *sizes.values(), *given, *places, *block, workspace.ctypes.data, workspace.size
            )
            if status != _WORKSPACE or not self.grows:
                break
            wanted = int(workspace[:8].view(np.int64)[0])
            workspace = _aligned(max(wanted, 2 * workspace.size))
        self.spare.append(workspace)
        self.library.check(status)
        return [
            o if shape is not None else o[()] for o, (_, _, shape) in zip(outputs, self.outputs)
        ]

    def _check(self, values):
        sizes = dict.fromkeys(self.sizes)
        given, numbers = [], []
        for value, (name, dtype, axes, written) in zip(values, self.arguments):
            if axes is None:
                number = self._number(value, name, dtype)
                given.append(number)
                numbers.append(number)
                continue
            if not isinstance(value, np.ndarray):
                raise TypeError(f"{name} must be an array of {dtype}, not {type(value).__name__}")
            if value.dtype != dtype or not value.dtype.isnative:
                raise TypeError(f"{name} must be of {dtype}, not {value.dtype}")
            if value.ndim != len(axes):
                raise ValueError(f"{name} must have {len(axes)} axes, not {value.ndim}")
            if not value.flags.c_contiguous or not value.flags.aligned:
                raise ValueError(f"{name} must be contiguous; use np.ascontiguousarray")
            if written and not value.flags.writeable:
                raise ValueError(f"{name} is written, and must not be read-only")
            for axis, size in zip(axes, value.shape):
                if isinstance(axis, str):
                    if sizes[axis] is None:
                        sizes[axis] = size
                    axis, known = f"{axis} = {sizes[axis]}", sizes[axis]
                else:
                    known = axis
                if size != known:
                    shape = ", ".join(map(str, axes))
                    raise ValueError(
                        f"{name} has shape {value.shape}, but should have [{shape}] with {axis}"
                    )
            given.append(value.ctypes.data)
        return sizes, given, numbers

    def _number(self, value, name, dtype):
        kind = np.dtype(dtype)
        if np.ndim(value) or not np.can_cast(np.asarray(value).dtype, kind, "same_kind"):
            raise TypeError(f"{name} must be a number of {dtype}, not {value!r}")
        return kind.type(value).item()


def _fixed(name, value, expected):
    if value != expected or type(value) is not type(expected):
        raise ValueError(f"{name} is {value!r}, but the library was compiled for {expected!r}")


def _chosen(functions, values):
    """The first of several signatures that accepts the arguments."""
    for function in functions:
        if function.accepts(values):
            return function
    return functions[0]


class _State:
    """The state block of a library.  `state` has its arrays by name, as views; scalars are arrays
    of rank 0."""

    _layout: tuple  # the library, the init function, the size, and the slots

    def __init__(self):
        library, init, size, slots = self._layout
        self.block = _aligned(size)
        init = getattr(library.handle, init)
        init.restype = ctypes.c_int32
        init.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        library.check(init(self.block.ctypes.data, self.block.size))
        self.state = {
            name: self.block[offset:][: np.dtype(dtype).itemsize * int(np.prod(shape))]
            .view(dtype)
            .reshape(shape)
            for name, dtype, shape, offset in slots
        }

    @classmethod
    def load(cls, npz=None):
        """The initial state, that at build time, or a saved one."""
        self = cls()
        if npz is not None:
            self._assign(self._read(npz), str(npz))
        return self

    def _read(self, npz):
        """The arrays of a file, which is untrusted input: an array larger than its slot is not
        read."""
        try:
            with np.load(npz, allow_pickle=False) as file:
                arrays = {}
                for name in self.state.keys() & set(file.files):
                    size = file.zip.getinfo(f"{name}.npy").file_size
                    if size > self.state[name].nbytes + 10_000:  # of the header
                        raise ValueError(f"{name} has {size} bytes")
                    arrays[name] = file[name]
                    if not isinstance(arrays[name], np.ndarray):
                        raise ValueError(f"{name} is no array")
                return arrays
        except (FileNotFoundError, PermissionError, IsADirectoryError):
            raise
        except Exception as error:
            raise ValueError(f"{npz} is no proper .npz file: {error}") from error

    def _assign(self, arrays, where):
        """Copy the arrays into the state, all or none."""
        missing = sorted(self.state.keys() - arrays.keys())
        if missing:
            raise ValueError(f"{where} has no {missing[0]}: it belongs to another library")
        for name, place in self.state.items():
            if arrays[name].shape != place.shape or arrays[name].dtype != place.dtype:
                raise ValueError(
                    f"{name} is {place.dtype}{list(place.shape)}, and in {where} "
                    f"{arrays[name].dtype}{list(arrays[name].shape)}"
                )
        for name, place in self.state.items():
            place[...] = arrays[name]

    def save(self, npz):
        np.savez(npz, **self.state)
