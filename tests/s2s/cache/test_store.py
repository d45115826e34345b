"""The cache directory is private, and damaged entries are recreated."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import s2s
from s2s.backends import build_kernel
from s2s.cache import store
from s2s.errors import CacheError, InternalCompilerError
from tests.s2s.codegen.entries import plain_entry

posix = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")

KERNEL = """import numpy as np

def twice(x):
    return x * np.float64(2.0)

def k(x, out):
    for i in range(x.shape[0]):
        out[i] = twice(x[i])
    return ()
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def signature():
    numba = pytest.importorskip("numba")
    return (numba.float64[::1], numba.float64[::1])


def run_kernel(text: str = KERNEL) -> tuple[np.ndarray, bool]:
    """The result, and whether the machine code was loaded from disk."""
    build_kernel._built.clear()
    kernel = build_kernel.build(text, "k", signature(), plain_entry(text, "k"))
    out = np.empty(3)
    kernel(np.arange(3.0), out)
    return out, bool(kernel.stats.cache_hits)


@posix
def test_directory_is_created_for_the_owner_only(home):
    assert store.directory() == home
    assert home.stat().st_mode & 0o777 == 0o700


@posix
def test_a_directory_others_can_write_to_is_refused(home):
    home.mkdir()
    home.chmod(0o777)
    with pytest.raises(CacheError, match="others can write to it"):
        store.directory()


@posix
def test_an_unusable_default_falls_back_to_a_private_one(tmp_path, monkeypatch):
    monkeypatch.delenv("S2S_CACHE_DIR")
    monkeypatch.setattr(store, "user_directory", lambda: tmp_path / "shared")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    with pytest.warns(UserWarning, match="others can write to it"):
        path = store.directory()
    assert path != tmp_path / "shared" and path.stat().st_mode & 0o777 == 0o700
    assert store.directory() == path


def test_user_directory_follows_the_platform(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert store.user_directory() == tmp_path / "s2s"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert store.user_directory() == Path.home() / "Library" / "Caches" / "s2s"


def test_digest_keeps_parts_apart():
    assert store.digest("ab", "c") != store.digest("a", "bc")


def test_second_build_is_warm(home):
    first, warm = run_kernel()
    assert not warm
    again, warm = run_kernel()
    assert warm
    np.testing.assert_array_equal(first, [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(again, first)


@pytest.mark.parametrize("damage", ["truncate", "empty", "garble"])
def test_a_damaged_entry_is_compiled_again(home, damage):
    run_kernel()
    entries = list(home.glob("numba_*"))
    assert entries
    for file in entries:
        data = file.read_bytes()
        middle = len(data) // 2
        garbled = data[:middle] + bytes(b ^ 0xFF for b in data[middle:])
        file.write_bytes({"truncate": data[:middle], "empty": b"", "garble": garbled}[damage])
    out, _ = run_kernel()
    np.testing.assert_array_equal(out, [0.0, 2.0, 4.0])
    assert run_kernel()[1]


def test_code_that_numba_rejects_is_our_bug(home):
    bad = "def k(x, out):\n    return (x.no_such_thing,)\n"
    with pytest.raises(InternalCompilerError, match="compiling generated code") as info:
        build_kernel.build(bad, "k", signature(), plain_entry(bad, "k"))
    assert "bug in s2s" in str(info.value)
    assert info.value.__cause__ is not None


def test_processes_share_one_cache(home):
    code = (
        "import sys, numpy as np, numba\n"
        "from s2s.backends import build_kernel\n"
        "from tests.s2s.codegen.entries import plain_entry\n"
        f"text = {KERNEL!r}\n"
        "k = build_kernel.build(text, 'k', (numba.float64[::1],) * 2, plain_entry(text, 'k'))\n"
        "out = np.empty(3); k(np.arange(3.0), out); print(out.sum())\n"
    )
    root = Path(__file__).parents[3]
    runs = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=root)
        for _ in range(3)
    ]
    assert [r.communicate()[0].split() for r in runs] == [[b"6.0"]] * 3
    assert run_kernel()[1]


def test_a_disk_that_is_full(home, monkeypatch):
    """Compiled code runs although it cannot be cached."""

    def full(path, data):
        raise OSError(28, "No space left on device")

    def f(x):
        return x * 2.5 + 1.0

    monkeypatch.setattr(store, "_write", full)
    with pytest.warns(UserWarning, match="No space left"):
        assert s2s.function(f, backend="numba")(2.0) == 6.0
    assert not list(home.glob("kernel_*"))
