"""Process-independent keys: equal for equal code, different for changed code, none for what another
process cannot identify."""

from __future__ import annotations

import enum
import functools
import importlib.util
import os
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.cache.stable_identity import (
    ObjectNumbering,
    Unstorable,
    check_plain,
    class_key,
    file_hash,
    identity,
    is_of_python,
    key_kind,
    stable_key,
)
from s2s.transforms.frontend.kernel_interface import ObjectGuard

TEXT = """
def f(x, k=2.0):
    return x * k

class A:
    def method(self):
        return 1
"""


def module(path: Path, text: str = TEXT, name: str = "identity_program") -> Any:
    """The module that another process would have after a change of the file."""
    path.write_text(text)
    os.utime(path, ns=(1, hash(text) % 10**9))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    exec(compile(text, str(path), "exec"), vars(made))
    return made


@pytest.fixture(autouse=True)
def forget() -> Any:
    yield
    sys.modules.pop("identity_program", None)


class Colour(enum.Enum):
    RED = 1


class Thing:
    pass


def expected(value: Any, kind: str = "is") -> Any:
    return ObjectGuard((("arg", "x"),), kind, value)


# ---------------------------------------------------------------- functions and classes


def test_the_same_text_has_the_same_key(tmp_path: Path) -> None:
    first = module(tmp_path / "p.py")
    second = module(tmp_path / "p.py")
    assert first.f is not second.f and identity(first.f) == identity(second.f)
    assert class_key(first.A) == class_key(second.A)


@pytest.mark.parametrize(
    "old, new",
    [
        ("x * k", "x + k"), ("2.0", "3.0"), ("(x, k", "(y, k"), ("\ndef f", "\n\ndef f"),
        ("return 1", "return 2"),
    ],
)  # fmt: skip
def test_changed_text_has_another_key(tmp_path: Path, old: str, new: str) -> None:
    before = module(tmp_path / "p.py")
    keys = identity(before.f), class_key(before.A)
    changed = TEXT.replace(old, new).replace("x * k", "y * k" if "y, k" in new else "x * k")
    after = module(tmp_path / "p.py", changed)
    assert identity(after.f) != keys[0] and class_key(after.A) != keys[1]


def test_defaults_are_part_of_the_key_unless_left_out(tmp_path: Path) -> None:
    f = module(tmp_path / "p.py").f
    before, without = identity(f), identity(f, defaults=False)
    f.__defaults__ = (5.0,)
    assert identity(f) != before and identity(f, defaults=False) == without
    f.__defaults__ = (Thing(),)
    with pytest.raises(Unstorable):
        identity(f)
    assert identity(f, defaults=False) == without


def test_derived_functions(tmp_path: Path) -> None:
    f = module(tmp_path / "p.py").f
    keys = [identity(g) for g in (f, s2s.grad(f), s2s.value_and_grad(f), s2s.grad(f, wrt="k"))]
    assert len(set(map(repr, keys))) == 4
    assert identity(s2s.grad(f)) == keys[1]


def test_what_is_no_python_function() -> None:
    for value in (np.tanh, len, functools.partial(sum), "text", Thing()):
        with pytest.raises(Unstorable):
            identity(value)


def test_classes_of_the_main_program_have_no_key() -> None:
    cls = type("C", (), {"__module__": "__main__"})
    main = sys.modules["__main__"]
    if getattr(main, "__file__", None) is None:
        with pytest.raises(Unstorable):
            class_key(cls)
    else:  # the file of the program identifies it
        assert class_key(cls)[:2] == ("__main__", "C")


def test_bases_are_part_of_the_key(tmp_path: Path) -> None:
    base = module(tmp_path / "p.py").A
    before = class_key(type("B", (base,), {"__module__": __name__}))
    base = module(tmp_path / "p.py", TEXT.replace("return 1", "return 2")).A
    assert class_key(type("B", (base,), {"__module__": __name__})) != before


def test_is_of_python() -> None:
    class Slots:
        __slots__ = ("a",)

    class Local(threading.local):
        pass

    assert is_of_python(Thing) and is_of_python(Local)
    for cls in (dict, np.ndarray, type("D", (dict,), {}), types.SimpleNamespace):
        assert not is_of_python(cls)


def test_file_hash_follows_the_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    first = file_hash(str(path))
    assert file_hash(str(path)) == first
    path.write_text("other")
    assert file_hash(str(path)) != first
    with pytest.raises(FileNotFoundError):
        file_hash(str(tmp_path / "absent"))


# ---------------------------------------------------------------- values of guards


def test_keys_of_values() -> None:
    met = ObjectNumbering()
    assert stable_key(expected(3, "equals"), met) == 3
    assert stable_key(expected(np.tanh), met) == ("library", "numpy", "tanh")
    assert stable_key(expected(np), met) == ("module", "numpy")
    assert stable_key(expected(Colour.RED), met)[::2] == ("enum", "RED")
    assert stable_key(expected(Thing), met)[0] == "class"
    with pytest.raises(Unstorable):
        stable_key(expected(types.SimpleNamespace()), met)
    with pytest.raises(Unstorable):
        stable_key(expected(Thing(), "equals"), met)


def test_objects_are_numbered_by_identity() -> None:
    one, other, items = Thing(), Thing(), [1]
    met = ObjectNumbering()
    keys = [stable_key(expected(v), met) for v in (one, other, one, items)]
    assert [k[-1] for k in keys] == [0, 1, 0, 2]
    assert keys[0] == keys[2] != keys[1] and key_kind(keys[0]) == key_kind(keys[1])
    assert key_kind(keys[3]) == ("list", ()) and key_kind(("library", "numpy", "tanh"))[2] == "tanh"
    # Objects are kept alive: a new one cannot have the id of an old one.
    numbers = {met.number(Thing()) for _ in range(20)}
    assert len(numbers) == 20


def test_plain_values() -> None:
    for value in (1, 2.5, True, 1j, "a", b"a", None, ..., np.dtype("f8"), np.float32(1), (1, [2]),
                  slice(1, None), int):  # fmt: skip
        check_plain(value)
    for value in (Thing(), (1, Thing()), slice(Thing()), Colour.RED, {1: 2}, np.ones(2)):
        with pytest.raises(Unstorable):
            check_plain(value)
