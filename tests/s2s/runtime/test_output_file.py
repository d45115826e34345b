"""Files that the user names: complete or unchanged, links followed, streams written to."""

from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from s2s.runtime import output_file
from s2s.runtime.output_file import write, writing

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX files")


def test_a_file_is_written_and_replaced(tmp_path) -> None:
    file = tmp_path / "f"
    for data in (b"first", b"", b"x" * 100_000):
        write(file, data)
        assert file.read_bytes() == data
    write(str(file), b"last")
    assert file.read_bytes() == b"last" and [p.name for p in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_after_an_error_the_old_file_is_unchanged(tmp_path, error) -> None:
    file = tmp_path / "f"
    for before in (None, b"old"):
        if before is not None:
            file.write_bytes(before)
        with pytest.raises(error), writing(file) as out:
            out.write(b"half")
            raise error
        assert (file.read_bytes() if file.exists() else None) == before
        assert len([*tmp_path.iterdir()]) == (before is not None)


def test_until_the_end_the_old_file_is_there(tmp_path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"old")
    with writing(file) as out:
        out.write(b"new")
        out.flush()
        assert file.read_bytes() == b"old"
        out.seek(0)
        out.write(b"N")
    assert file.read_bytes() == b"New"


@posix
def test_permissions_are_kept(tmp_path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"old")
    file.chmod(0o640)
    write(file, b"new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@posix
def test_links_are_followed(tmp_path) -> None:
    (tmp_path / "there").mkdir()
    real, link, chain = tmp_path / "there/real", tmp_path / "link", tmp_path / "chain"
    link.symlink_to(real)
    chain.symlink_to("link")
    write(chain, b"first")  # the target does not exist yet
    assert real.read_bytes() == b"first" and link.is_symlink() and chain.is_symlink()
    write(link, b"second")
    assert real.read_bytes() == b"second" and chain.is_symlink()
    assert [p.name for p in (tmp_path / "there").iterdir()] == ["real"]
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(OSError):
        write(loop, b"x")


@posix
def test_pipes_are_written_to(tmp_path) -> None:
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    with writing(pipe) as out:
        out.write(b"0123")
        out.seek(1)  # as writers of archives do
        out.write(b"x")
    reader.join()
    assert found == [b"0x23"] and stat.S_ISFIFO(pipe.stat().st_mode)


@posix
def test_devices_are_not_replaced() -> None:
    write("/dev/null", b"gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    for path in ("/dev/fd/1", "/dev/stdout", "/proc/self/fd/1"):
        assert output_file._is_stream(path, None)
    assert not output_file._is_stream("plain", None)


def test_folders_and_missing_folders_are_errors(tmp_path) -> None:
    with pytest.raises((IsADirectoryError, PermissionError)):
        write(tmp_path, b"x")
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "missing" / "f", b"x")
    assert [*tmp_path.iterdir()] == []


def test_two_writers_leave_one_of_both(tmp_path) -> None:
    file = tmp_path / "f"
    contents = [bytes([k]) * 50_000 for k in range(4)]
    threads = [threading.Thread(target=lambda d=d: [write(file, d) for _ in range(5)])
               for d in contents]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert file.read_bytes() in contents and [*tmp_path.iterdir()] == [file]
    assert Path(sys.executable).exists()
