"""The cache of specialisations: keys, guards, limits, warnings, threads, argument checks."""

from __future__ import annotations

import functools
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.call.bind_arguments import unwrap
from s2s.dispatch import specializations
from s2s.dispatch.specializations import Options, Specialiser, looks_decorated, specialiser_for
from s2s.errors import RecompilationWarning, S2STypeError, UnsupportedError


def made(function: Any, mode: str = "primal", **options: Any) -> Specialiser:
    return specialiser_for(unwrap(function), mode, Options(**options), False)


def count(specialiser: Specialiser) -> int:
    return sum(len(entries) for entries in specialiser.entries.values())


# ---------------------------------------------------------------- lookup


def test_types_are_keys_and_sizes_are_not() -> None:
    found = made(lambda x: x * 2.0)
    first, params = found.find((np.ones(3),), "loops")
    assert found.find((np.ones(7),), "loops")[0] is first and found.latest is first
    for other in (np.ones(3, np.float32), np.ones((3, 3)), 1.0, np.ones(6)[::2]):
        assert found.find((other,), "loops")[0] is not first
    assert len(found.entries) == count(found) == 5
    assert first.run("loops", params)[0].tolist() == [2.0, 2.0, 2.0]


def test_guards_select_among_specialisations_of_one_key() -> None:
    found = made(lambda x: x * (2.0 if TEXTS[0] == "a" else 3.0))
    entries = []
    for text in ("a", "b", "a", "b"):
        TEXTS[0] = text
        entries.append(found.find((np.ones(3),), "loops")[0])
    assert entries[0] is entries[2] and entries[1] is entries[3] is not entries[0]
    assert len(found.entries) == 1 and count(found) == 2


def test_static_values_are_keys() -> None:
    found = made(lambda x, kind: x if kind == "a" else -x, static=("kind",))
    (
        found.find((1.0, "a"), "loops"),
        found.find((1.0, "b"), "loops"),
        found.find((2.0, "a"), "loops"),
    )
    assert len(found.entries) == 2


def test_integers_that_change_become_parameters() -> None:
    class Thing:
        size = 2

    thing = Thing()
    found = made(lambda x: np.zeros(thing.size) + x)
    for size in (2, 3, 4, 5):
        thing.size = size
        entry, params = found.find((1.0,), "loops")
        assert entry.run("loops", params)[0].shape == (size,)
    assert count(found) == 2 and found.lifted_ints


def test_the_number_of_keys_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specializations, "MAX_TYPE_KEYS", 4)
    found = made(lambda x, tag: x * 2.0, static=("tag",))
    for tag in range(9):
        found.find((1.0, tag), "loops")
        assert len(found.entries) <= 4
    newest = found._key((1.0, 8))
    assert newest in found.entries and found._key((1.0, 0)) not in found.entries


def test_a_warning_names_what_keeps_changing() -> None:
    found = made(lambda x: x * float(len(TEXTS[0])))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(8):
            TEXTS[0] = "a" * (k + 1)
            found.find((1.0,), "loops")
    TEXTS[0] = "a" * 20
    with pytest.warns(RecompilationWarning, match="was compiled 9 times .* changing is .*TEXTS"):
        found.find((1.0,), "loops")
    TEXTS[0] = "a" * 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once only
        found.find((1.0,), "loops")


TEXTS = [""]


def test_threads_share_one_specialisation() -> None:
    found = made(lambda x: np.sum(x * 2.0))
    barrier, entries = threading.Barrier(6), []

    def run() -> None:
        barrier.wait()
        entries.append(found.find((np.ones(3),), "loops")[0])

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(entries) == 6 and len(set(map(id, entries))) == 1 and count(found) == 1


def test_prepare_compiles_without_running() -> None:
    found = made(lambda x: np.sum(x) / 0.0)
    found.prepare((np.ones(3),), "loops", True)
    (entry,) = next(iter(found.entries.values()))
    assert list(entry.kernels) == ["loops"]
    assert found.find((np.ones(4),), "loops")[0] is entry


# ---------------------------------------------------------------- one specialiser per function


def square(x: Any) -> Any:
    return x * x


def test_one_specialiser_for_function_mode_and_options() -> None:
    first = made(square)
    assert made(square) is first and made(square, boundscheck=False) is not first
    assert made(square, "vjp") is not first and made(square, "vjp", wrt="x") is made(square, "vjp")
    assert made(square, backend="loops") is first  # all back ends share the compiler's work


def test_copies_by_functools_have_their_own() -> None:
    @functools.wraps(square)
    def cube(x: Any) -> Any:
        return x * x * x

    made(square)
    other = made(vars(cube)["__wrapped__"])
    assert other is made(square)
    target = unwrap(square)
    copied: Any = lambda x: x  # noqa: E731
    copied.__dict__.update(vars(target.function))
    assert made(copied) is not made(square) and made(copied).function is copied


def test_looks_decorated(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not looks_decorated(square)
    monkeypatch.setitem(globals(), "square", s2s.grad(square))
    plain = globals()["square"].__wrapped__
    assert looks_decorated(plain)

    @s2s.function
    def inside(x: Any) -> Any:
        return inside if x is None else x

    assert looks_decorated(inside.__wrapped__)


# ---------------------------------------------------------------- argument checks


@pytest.mark.parametrize(
    "value, message",
    [
        (3, r"x is int; pass 3\.0"),
        (np.int32(3), r"x is int32; pass 3\.0"),
        (np.arange(3), r"x is an array of int64; pass x\.astype\(np\.float64\)"),
        ((1.0, 2), r"x\[1\] is int; pass a float"),
        ("text", "x of square is a str, which holds no numbers"),
        ([], "x of square holds no numbers: it has no gradient"),
    ],
)
def test_arguments_that_have_no_gradient(value: Any, message: str) -> None:
    with pytest.raises(S2STypeError, match=message):
        made(square, "vjp").find((value,), "loops")


def test_static_arguments() -> None:
    with pytest.raises(S2STypeError, match="has no parameter 'z'"):
        made(square, static=("z",))
    with pytest.raises(S2STypeError, match="x of square is static: it has no gradient"):
        made(square, "vjp", static=("x",))
    with pytest.raises(
        S2STypeError, match="x of square is static, but an array has no fixed value"
    ):
        made(square, static=("x",)).find((np.ones(2),), "loops")


def test_arguments_of_no_type() -> None:
    with pytest.raises(S2STypeError, match="x of square: "):
        made(square).find((np.array(["a"]),), "loops")
    with pytest.raises(UnsupportedError, match="x of square: .*does not fit in 64 bits"):
        made(square).find((2**70,), "loops")


def test_functions_that_nest_too_deeply() -> None:
    space: dict[str, Any] = {}
    with pytest.raises(Exception) as info:
        exec(f"f = lambda x: {'(' * 50}x{')' * 50}", space)
        made(space["f"]).find((1.0,), "loops")
    assert "source" in str(info.value)


def test_options_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specializations.thread_pool, "thread_count", lambda: 1)
    assert made(square).parallel is False and made(square, parallel=True).parallel is True
    monkeypatch.setattr(specializations.thread_pool, "thread_count", lambda: 4)
    assert made(square).parallel is None and made(square, parallel=False).parallel is False
