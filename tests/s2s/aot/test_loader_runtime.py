"""The loader: what it refuses of arguments and of saved states, and that threads do not share."""

from __future__ import annotations

import io
import threading
import zipfile
from typing import Any

import numpy as np
import pytest

from tests.s2s.aot.programs import growing, mixed, mixed_args, needs_compiler, small_library

pytestmark = needs_compiler


@pytest.fixture(scope="module")
def module() -> Any:
    return small_library().load()


def test_memory_is_aligned(module) -> None:
    for size in (1, 63, 64, 1000):
        memory = module._aligned(size)
        assert memory.ctypes.data % 64 == 0 and memory.size == size


def test_errors_are_those_of_python_where_there_are(module) -> None:
    error = module._error(17, "ValueError: a: b")
    assert type(error) is ValueError and str(error) == "a: b" and error.status == 17
    assert isinstance(module._error(18, "LinAlgError: Singular matrix"), np.linalg.LinAlgError)
    for message in ("print: x", "no error", "int: 3", "BaseException: x", "SystemExit: 3", ": x"):
        error = module._error(20, message)
        assert type(error) is module.LibraryError and str(error) == message and error.status == 20


@pytest.mark.parametrize(
    "u, n, error",
    [
        (np.ones(4, np.float32), 1, TypeError), (np.ones((2, 2)), 1, ValueError),
        (np.ones(8)[::2], 1, ValueError), ([1.0, 2.0], 1, TypeError),
        (np.ones(4), 1.5, TypeError), (np.ones(4), np.ones(2, int), TypeError),
        (np.ones(4), "1", TypeError), (np.ones(4), None, TypeError),
        (np.ones(33, np.uint8)[1:].view(np.float64), 1, ValueError),
        (np.ones(4, ">f8"), 1, TypeError),
    ],
)  # fmt: skip
def test_arguments_of_other_types_are_refused(module, u, n, error) -> None:
    with pytest.raises(error):
        module.relaxed(u, n)


def test_numbers_of_other_types_that_fit(module) -> None:
    for n in (2, np.int32(2), np.array(2), True):
        assert module.relaxed(np.ones(5), n) == 5.0


def test_threads_have_workspaces_of_their_own(module) -> None:
    args = [mixed_args(n) for n in (10, 20, 30, 40)]
    wrong: list[Any] = []

    def work(k: int) -> None:
        for _ in range(50):
            value, _ = module.mixed(*args[k])
            if not np.isclose(value, mixed(*args[k]), rtol=1e-5):
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    workspaces = module._parts_mixed.spare
    assert 1 <= len(workspaces) <= 4 and len({id(w) for w in workspaces}) == len(workspaces)


def test_a_workspace_grows_until_it_is_enough(module) -> None:
    x = np.arange(1.0, 5.0) * 0.01
    value, _ = module.growing(x)
    assert value == pytest.approx(growing(x), rel=1e-12)


def test_states_are_saved_and_loaded(module, tmp_path) -> None:
    state, x = module.Parts(), np.array([1.0, 2.0, 3.0])
    state(x)
    file = tmp_path / "state.npz"
    state.save(file)
    other = module.Parts.load(file)
    assert other.state["self/count"] == 1
    assert state(x) == other(x) and module.Parts.load()(x) != state(x)
    np.testing.assert_array_equal(other.state["self/last"], x)


def saved(module: Any, tmp_path: Any, **changes: Any) -> Any:
    arrays = {**{k: v.copy() for k, v in module.Parts().state.items()}, **changes}
    file = tmp_path / "state.npz"
    np.savez(file, **{k: v for k, v in arrays.items() if v is not None})
    return file


@pytest.mark.parametrize(
    "changes, text",
    [
        ({"self/count": None}, "has no self/count"),
        ({"self/last": np.zeros(4, np.float32)}, "self/last is float32"),
        ({"self/last": np.zeros(3)}, "self/last is float32"),
        ({"self/last": np.zeros(100_000, np.float32)}, "has 400128 bytes"),
        ({"self/last": np.array([1, None, 3], object)}, "no proper .npz file"),
        ({"self/count": np.zeros((), ">i8")}, "self/count is int64"),
    ],
)
def test_files_that_do_not_fit_change_nothing(module, tmp_path, changes, text) -> None:
    state = module.Parts()
    before = state.block.copy()
    with pytest.raises(ValueError, match=text):
        state._assign(state._read(saved(module, tmp_path, **changes)), "f")
    np.testing.assert_array_equal(state.block, before)


def test_files_that_are_none(module, tmp_path) -> None:
    file = tmp_path / "x.npz"
    with pytest.raises(FileNotFoundError):
        module.Parts.load(file)
    for data in (b"", b"PK\x03\x04", b"\x93NUMPY", b"not a file" * 100):
        file.write_bytes(data)
        with pytest.raises(ValueError, match="no proper .npz"):
            module.Parts.load(file)


def test_a_header_that_promises_more_than_there_is(module, tmp_path) -> None:
    """It is refused before memory is reserved for it."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (2**40,)}
    )
    file = saved(module, tmp_path, **{"self/last": None})
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("self/last.npy", header.getvalue() + bytes(12))
    with pytest.raises(ValueError, match="no proper .npz"):
        module.Parts.load(file)
