"""Entry thunks of kernels: accepted arguments, results, and ownership of memory."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.backends.native import object_code
from s2s.backends.native.entry_signature import Signature, signature_of
from s2s.cache import store
from s2s.codegen import kernel_module
from s2s.errors import MISS
from s2s.objects.change_counter import Announces
from s2s.runtime.jit_link import numpy_gemm
from s2s.transforms.frontend.pytree import describe

pytest.importorskip("numba")
ROOT = Path(__file__).parents[4]


@pytest.fixture(autouse=True)
def native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s2s.call.backend_choice.DEFAULT", "native")


def entry_of(f: Any) -> Any:
    return f._specialiser(f._mode).latest


def is_native(f: Any) -> bool:
    return not hasattr(entry_of(f).kernels["native"], "dispatcher")


def compiled(function: Any) -> Any:
    return s2s.function(function, backend="native")


def twice(f: Any, *args: Any) -> Any:
    """Call twice: by the general path, and by the call stub."""
    first = f(*args)
    second = f(*args)
    for a, b in zip(first, second, strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(a, b)
    return second


def test_numbers_become_what_numpy_makes_of_them() -> None:
    f = compiled(lambda x, n: (x[0], x.sum(), n + 1, n > 2, x[0] * 1j, np.uint8(n), x.shape[0]))
    for dtype in (np.float32, np.float64):
        x = np.arange(3, dtype=dtype) + 1
        out = twice(f, x, 3)
        assert is_native(f)
        complex_ = np.result_type(dtype, np.complex64)
        kinds = [dtype, dtype, int, bool, complex_.type, np.uint8, int]
        assert [type(v) for v in out] == kinds
        assert out == (1, 6, 4, True, 1j, 3, 3)


@pytest.mark.parametrize("value", [
    True, False, np.True_, 3, -1, 2.5, np.float32(1.5), np.int8(-3), np.uint64(2**63 + 1), 1 + 2j,
    np.complex64(2 - 1j), np.int64(-1), np.float64(0.25),
])  # fmt: skip
def test_numbers_of_every_kind_are_read(value: Any) -> None:
    f = compiled(lambda x, a: (a * x, a, x.copy()))
    out = twice(f, np.ones(2, np.int8), value)
    assert is_native(f)
    np.testing.assert_array_equal(out[0], np.ones(2, np.int8) * value)
    assert out[1] == value


def test_an_integer_that_is_too_large_is_an_error() -> None:
    f = compiled(lambda x, n: x + n)
    assert f(1.0, 2) == 3.0
    with pytest.raises(OverflowError):
        f(1.0, 2**70)
    assert f(1.0, 3) == 4.0


def test_results_live_as_long_as_they_are_referred_to() -> None:
    f = compiled(lambda x: (x * 2, np.stack((x, x))))
    x = np.arange(4.0)
    for _ in range(3):
        a, b = f(x)
    whole = [f(x)[0] for _ in range(200)]
    del b
    gc.collect()
    assert all((w == x * 2).all() for w in [a, *whole])
    assert a.flags.writeable and a.flags.c_contiguous and a.flags.aligned
    a += 1
    np.testing.assert_array_equal(a, x * 2 + 1)


def test_memory_is_given_back() -> None:
    def size() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    if not Path("/proc/self/statm").exists():
        pytest.skip("tells no size of processes")
    f = s2s.value_and_grad(lambda x: (x * x).sum(), backend="native")
    x = np.ones(200_000)
    for _ in range(5):
        f(x)
    before = size()
    for _ in range(200):
        f(x)
    assert size() - before < 50e6


KERNEL = "import numpy as np\nfrom s2s import kernels as rt\n\n\n"


def entry_point(text: str, *args: Any, results: Any) -> Any:
    """The entry point of lowered source."""
    specs: Any = tuple(describe(a) for a in args)
    made = object_code.build(KERNEL + text, "k", (), Signature(specs, results, (), ()))
    assert made is not None
    return made


@pytest.mark.parametrize("part", [slice(None), slice(None, None, -1), slice(3, None, 2)])
def test_a_part_of_an_argument_keeps_it_alive(part: slice) -> None:
    class Owner(np.ndarray):
        pass

    base = np.arange(12.0).reshape(6, 2).view(Owner)
    gone = weakref.ref(base)
    x = base[part].view(np.ndarray)
    f = entry_point("def k(n, x):\n    row = x[n]\n    return (row,)\n", 1, x, results=("array",))
    row = f(1, x)
    expected = x[1].copy()
    np.testing.assert_array_equal(row, expected)
    assert np.shares_memory(row, x)
    del base, x
    gc.collect()
    assert gone() is not None
    np.testing.assert_array_equal(row, expected)
    del row
    gc.collect()
    assert gone() is None


def test_what_does_not_fit_is_a_miss() -> None:
    x = np.arange(6.0).reshape(2, 3)
    f = entry_point("def k(x):\n    return (x[0, 0],)\n", x, results=("float64",))
    assert f(x) == 0.0
    readonly = x.copy()
    readonly.flags.writeable = False
    odd = np.frombuffer(bytearray(49), np.uint8)[1:].view(np.float64).reshape(2, 3)
    meta = x.view(np.dtype(np.float64, metadata={"a": 1}))
    for other in (
        x.astype(np.float32), x.T, x[0], x.tolist(), 3.0, None, readonly, odd, meta,
        x.view(np.memmap), x.astype(">f8"), "x",
    ):  # fmt: skip
        assert f(other) is MISS
    assert f() is MISS and f(x, x) is MISS


def test_what_does_not_fit_at_once_is_made_to() -> None:
    class Length(float):
        pass

    f = compiled(lambda x, a, flag: (x * a, x.sum() if flag else a * 2))
    x = np.arange(6.0).reshape(2, 3)
    odd = np.frombuffer(bytearray(49), np.uint8)[1:].view(np.float64).reshape(2, 3)
    odd[...] = x
    meta = x.view(np.dtype(np.float64, metadata={"a": 1}))
    for y in (x, odd, meta, x.view(np.memmap), np.asfortranarray(x)):
        for a in (0.5, Length(0.5), np.float64(0.5)):
            for flag in (True, np.True_, np.False_):
                out = twice(f, y, a, flag)
                np.testing.assert_array_equal(out[0], x * 0.5)
                assert out[1] == (15.0 if flag else 1.0)


def test_what_is_written_is_written_where_it_was_given() -> None:
    def fill(x: Any, a: float) -> Any:
        x[...] = a
        return x.sum()

    f = compiled(fill)
    odd = np.frombuffer(bytearray(33), np.uint8)[1:].view(np.float64)
    for x in (np.zeros(4), odd, np.zeros(4).view(np.memmap), np.zeros(8)[::2]):
        for a in (1.5, 2.5):
            assert f(x, a) == 4 * a
            assert (x == a).all()


def test_sizes_are_looked_at() -> None:
    f = s2s.grad(lambda x, y: ((x - y) ** 2).sum(), backend="native")
    x = np.arange(3.0)
    for y in (np.ones(3), np.ones(1), np.ones(3), np.ones(1)):
        np.testing.assert_array_equal(f(x, y), 2 * (x - y))
    with pytest.raises(ValueError):
        f(x, np.ones(2))


def test_empty_arrays() -> None:
    f = compiled(lambda x: (x * 2, x.sum(), x[:0]))
    out = twice(f, np.zeros((0, 3)))
    assert out[0].shape == (0, 3) and out[1] == 0.0


def test_errors_with_values_and_without() -> None:
    def pick(x: Any, n: int) -> Any:
        if n > 10:
            raise ValueError("too far")
        if n < 0:
            raise KeyError(f"no {n} of {x[0]}")
        return x[n]

    f = compiled(pick)
    x = np.arange(4.0)
    for _ in range(3):
        assert f(x, 2) == 2.0
        with pytest.raises(ValueError, match="too far"):
            f(x, 11)
        with pytest.raises(KeyError, match=r"no -1 of 0\.0"):
            f(x, -1)
        with pytest.raises(IndexError):
            f(x, 5)


def test_threads_run_at_once() -> None:
    f = s2s.grad(lambda x: (np.sin(x) * x).sum(), backend="native")
    x = np.linspace(0.0, 1.0, 1000)
    expected = f(x)
    wrong: list[int] = []

    def work() -> None:
        for _ in range(200):
            if not (f(x) == expected).all():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_generators_and_records_have_no_entry_point() -> None:
    f = compiled(lambda rng, x: rng.random() + x)
    f(np.random.default_rng(0), 1.0)
    assert not is_native(f) and signature_of(entry_of(f).compiled, None) is None


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path / "cache"))
    object_code._built.clear()
    numpy_gemm.kept.clear()
    return tmp_path / "cache"


@pytest.mark.parametrize("name", ["kernel_*", "runtime_*"])
@pytest.mark.parametrize("damage", ["truncate", "empty", "garble"])
def test_a_damaged_file_is_made_again(home: Path, name: str, damage: str) -> None:
    text = "def k(x):\n    return (x * np.float64(3.0),)\n"
    assert entry_point(text, 2.0, results=("float64",))(2.0) == 6.0
    for file in home.glob(name):
        data = file.read_bytes()
        middle = len(data) // 2
        garbled = data[:middle] + bytes(b ^ 0xFF for b in data[middle:])
        file.write_bytes({"truncate": data[:middle], "empty": b"", "garble": garbled}[damage])
    object_code._built.clear()
    numpy_gemm.kept.clear()
    assert entry_point(text, 2.0, results=("float64",))(2.0) == 6.0
    assert all(store.read_entry(file) is not None for file in home.glob(name))


MODEL = """
import numpy as np, s2s

@s2s.value_and_grad
def loss(w, x):
    h = np.tanh(x @ w)
    return (h * h).mean()

@s2s.grad
def logdet(a):
    return np.linalg.slogdet(a)[1]
"""
PROGRAM = """
import sys
import numpy as np
sys.path.insert(0, {folder!r})
import model
x = np.linspace(-1.0, 1.0, 600).reshape(30, 20)
print([repr(v) for v in model.loss(x[:20, :7].copy(), x)])
print("numba" in sys.modules, "s2s.transforms.pipeline" in sys.modules)
print(model.logdet(np.eye(3) * 2.0)[0, 0])
"""


def test_a_second_process_needs_neither_numba_nor_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    program = PROGRAM.format(folder=str(tmp_path))
    outs = []
    for _ in range(2):
        env = {**os.environ, "S2S_CACHE_DIR": str(tmp_path / "cache"), "S2S_BACKEND": "native"}
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env=env, text=True, capture_output=True
        )
        assert not done.returncode, done.stderr
        *values, known, last = done.stdout.splitlines()
        outs.append((values, last))
    assert known == "False False"
    assert outs[0] == outs[1] and last == "0.5"


@pytest.mark.parametrize("swap_a", [False, True])
@pytest.mark.parametrize("swap_b", [False, True])
def test_products_of_all_small_shapes(swap_a: bool, swap_b: bool) -> None:
    """Shapes include columns, 1 by 1 matrices and sizes above the limit of plain loops; `c` holds
    NaN where it must not be read."""
    text = (
        f"def k(alpha, a, b, beta, c):\n    rt.gemm({swap_a}, {swap_b}, alpha, a, b, beta, c)\n"
        "    return (alpha,)\n"
    )
    rng = np.random.default_rng(0)
    made: Any = None
    shapes = "111 511 514 119 431 234 302 012 210 220 999".split()
    for m, n, k in [*(map(int, s) for s in shapes), (20, 1, 30), (30, 30, 3)]:
        a = rng.standard_normal((k, m) if swap_a else (m, k))
        b = rng.standard_normal((n, k) if swap_b else (k, n))
        for alpha, beta in ((1.0, 0.0), (2.0, 1.0), (-1.0, 0.5)):
            c = rng.standard_normal((m, n)) if beta else np.full((m, n), np.nan)
            want = alpha * (a.T if swap_a else a) @ (b.T if swap_b else b) + (
                beta * c if beta else 0
            )
            numbers = np.float64(alpha), a, b, np.float64(beta), c
            made = made or entry_point(text, *numbers, results=("float64",))
            assert made(*numbers) == alpha
            np.testing.assert_allclose(c, want, rtol=1e-12, atol=1e-12)


def test_a_factorisation_is_linked_without_a_word(capfd, monkeypatch, tmp_path):
    """Linking LAPACK's functions, which Numba registers with LLVM by name, prints no warning."""
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))

    def volume(x):
        return np.linalg.det(x) * 1.25

    np.testing.assert_allclose(s2s.grad(volume)(np.eye(2)), 1.25 * np.eye(2))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "part",
    [
        lambda x: x[::2], lambda x: x[1:-1:3], lambda x: x[-4:], lambda x: x[2:9], lambda x: x[:-2],
        lambda x: x[-5:-1], lambda x: np.concatenate((x[:3], x[4:])),
        lambda x: x[: x.shape[0] // 3], lambda x: x[x.shape[0] % 4 :],
        lambda x: x[x.shape[0] // 4 : x.shape[0] // 2], lambda x: x[2 * x.shape[0] - 9 :],
    ],
)  # fmt: skip
def test_sizes_that_are_derived_are_compared_by_the_entry_point(part: Any) -> None:
    f = compiled(lambda x, y: np.sum(part(x) * y))
    for n in (12, 12, 7, 30, 3, 1, 0, 12):
        x = np.arange(float(n)) + 1
        want = part(x)
        y = np.linspace(1, 2, want.size)
        np.testing.assert_allclose(f(x, y), np.sum(want * y))
        if want.size > 2:
            assert all(call.bytecode is not None for call in f._shared.calls)
            with pytest.raises(ValueError, match="broadcast"):
                f(x, y[1:])


def test_sizes_of_arrays_that_objects_keep() -> None:
    """These sizes are known only after the arrays have been unboxed."""

    class Kept(Announces):
        weights: Any

    kept = Kept()
    kept.weights = np.arange(4.0)
    mask = np.array([True, False, True, True, True])

    @s2s.function(backend="native")
    def f(x: Any) -> Any:
        return np.sum(x[mask] * kept.weights)

    for _ in range(3):
        assert f(np.ones(5)) == 6
    assert entry_of(f).stubs_generated == 1


def test_numbers_made_by_the_entry_point_are_whole_objects() -> None:
    f = compiled(lambda x: (x + 1, x * np.float32(2), x * 1j, np.int8(x)))
    rng = np.random.default_rng(0)
    kept = []
    for x in rng.normal(size=2000):
        got = f(x)
        assert got == (x + 1, x * np.float32(2), x * 1j, np.int8(x))
        assert [type(g) for g in got] == [np.float64, np.float64, np.complex128, np.int8]
        assert [sys.getsizeof(g) for g in got] == [sys.getsizeof(type(g)(1)) for g in got]
        kept.append(got[0] if len(kept) % 2 else got)
    del kept
    gc.collect()


def test_a_kernel_with_a_loop_lets_other_threads_run() -> None:
    """Only kernels of scalar arithmetic hold the GIL during the call."""

    def is_brief(function: Any, *args: Any) -> bool:
        seen = []
        before = kernel_module.is_brief
        with pytest.MonkeyPatch.context() as patch, pytest.MonkeyPatch.context() as cold:
            cold.setattr(store, "read_entry", lambda path: None)
            patch.setattr(kernel_module, "is_brief", lambda *a: seen.append(before(*a)) or seen[-1])
            compiled(function)(*args)
        return seen[-1]

    def loop(x: Any) -> Any:
        while x < 1e6:
            x = x * 1.01
        return x

    def recursion(x: Any) -> Any:
        return x if x > 1e3 else recursion(x * 1.5)

    assert is_brief(lambda x: np.exp(x) + 1, 1.5)
    assert not is_brief(loop, 1.5)
    assert not is_brief(lambda x: x + 1, np.ones(3))
    assert not is_brief(recursion, 1.5)
