"""Keys of source files change with their text and with nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from s2s.cache import source_key as module
from s2s.cache import store
from s2s.cache.source_key import platform_key, source_key, version
from s2s.dispatch.persistent import compiler_key


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def package(tmp_path):
    """A package of two files."""
    folder = tmp_path / "package"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.py").write_text("a = 1\n")
    (folder / "inner" / "b.py").write_text("b = 1\n")
    return folder


@pytest.fixture
def read(monkeypatch):
    """The files that are read."""
    paths: list[str] = []
    plain = module._bytes
    monkeypatch.setattr(module, "_bytes", lambda path: paths.append(path) or plain(path))
    return paths


@pytest.fixture
def later(monkeypatch):
    """A clock an hour ahead: the files are older than the resolution of file times."""
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 3600 * 10**9)


def memos(home: Path) -> list[str]:
    return sorted(p.name for p in home.glob("sources_*"))


def test_files_are_read_once(home, package, read, later):
    first = source_key(str(package))
    assert sorted(map(os.path.basename, read)) == ["a.py", "b.py"] and len(memos(home)) == 1
    del read[:]
    assert source_key(str(package)) == first and not read


@pytest.mark.parametrize("name", ["a.py", "inner/b.py"])
def test_an_edit_changes_the_key(home, package, later, name):
    """Also one that keeps the size and the time of modification."""
    first = source_key(str(package))
    status = (package / name).stat()
    text = (package / name).read_text()
    (package / name).write_text(text.replace("1", "2"))
    os.utime(package / name, ns=(status.st_atime_ns, status.st_mtime_ns))
    edited = source_key(str(package))
    assert edited != first
    (package / name).write_text(text)
    assert source_key(str(package)) == first


def test_names_and_numbers_of_files_count(home, package, later):
    keys = {source_key(str(package))}
    (package / "a.py").rename(package / "c.py")
    keys.add(source_key(str(package)))
    (package / "d.py").write_text("")
    keys.add(source_key(str(package)))
    (package / "d.py").unlink()
    (package / "inner" / "b.py").unlink()
    keys.add(source_key(str(package)))
    assert len(keys) == 4


def test_other_files_do_not_count(home, package, later):
    first = source_key(str(package))
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "a.py").write_text("")
    (package / "notes.txt").write_text("")
    (package / "linked").symlink_to(package / "inner")
    assert source_key(str(package)) == first


def test_rounded_times_and_copies_keep_the_key(home, package, tmp_path, later):
    """As in an image, whose layers keep whole seconds."""
    first = source_key(str(package))
    for file in package.rglob("*.py"):
        os.utime(file, (1_700_000_000, 1_700_000_000))
    assert source_key(str(package)) == first
    shutil.copytree(package, tmp_path / "copy" / "package")
    assert source_key(str(tmp_path / "copy" / "package")) == first


def test_hashes_of_files_just_written_are_not_kept(home, package, read):
    """Another edit may leave the same times."""
    first = source_key(str(package))
    assert not memos(home)
    del read[:]
    assert source_key(str(package)) == first and len(read) == 2


def test_a_read_only_directory(home, package, read, later, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert source_key(str(package)) == source_key(str(package))
    assert len(read) == 4 and not memos(home)


def test_a_damaged_hash_is_not_used(home, package, read, later):
    first = source_key(str(package))
    (memo,) = home.glob("sources_*")
    memo.write_bytes(memo.read_bytes()[:-1])
    del read[:]
    assert source_key(str(package)) == first and len(read) == 2
    store.write_entry(memo, None)
    assert source_key(str(package)) == first and len(read) == 4


def test_the_keys_of_this_package():
    """Every process gets the same; they are hashes of different files."""
    code = (
        "from s2s.cache.source_key import platform_key\n"
        "from s2s.dispatch.persistent import compiler_key\n"
        "print(platform_key(), compiler_key())"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.split() == [platform_key(), compiler_key()]
    assert platform_key() != compiler_key()


def test_the_version_of_a_package_is_found_without_importing_it():
    assert version("numba") and version("numba") != version("llvmlite")
    assert version("no_such_package") == b""
