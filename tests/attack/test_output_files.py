"""Output files: symbolic links are followed, pipes and devices are written to, and a regular file
is replaced only when the new one is complete."""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.cli.main import main
from s2s.layers import Dense
from s2s.runtime import output_file
from s2s.saving import npz, safetensors

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and pipes are those of POSIX")
PROGRAM = "import numpy as np\n\ndef f(x: 'float64[3]'):\n    return np.sum(x * x)\n"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], None]:
    program = tmp_path_factory.mktemp("program") / "program.py"
    program.write_text(PROGRAM)

    def write(path: Path) -> None:
        assert main(["report", f"{program}:f", "--no-run", "-o", str(path)]) == 0

    return write


def weights(path: Path) -> None:
    layer = Dense(2)
    layer(np.ones((1, 3), np.float32))
    layer.set_weights([np.full((3, 2), 7.0), np.zeros(2)])
    s2s.save_weights(layer, path)


def state(path: Path) -> None:
    layer = Dense(2)
    layer(np.ones((1, 3), np.float32))
    layer.set_weights([np.full((3, 2), 7.0), np.zeros(2)])
    s2s.save_state(path, model=layer)


def is_page(content: bytes) -> bool:
    return content.startswith(b"<!DOCTYPE html>") and content.rstrip().endswith(b"</html>")


def is_npz(content: bytes) -> bool:
    return bool(np.all(npz.load(io.BytesIO(content))["0.dense/kernel"] == 7.0))


def is_safetensors(content: bytes) -> bool:
    return bool(np.all(safetensors.loads(content)["0.dense/kernel"] == 7.0))


WRITERS: dict[str, tuple[Any, str, Callable[[bytes], bool]]] = {
    "report": (None, "page.html", is_page),
    "weights": (weights, "w.npz", is_npz),
    "safetensors": (weights, "w.safetensors", is_safetensors),
    "state": (state, "s.npz", is_npz),
}


@pytest.fixture(params=WRITERS)
def writer(request: pytest.FixtureRequest, page: Any) -> tuple[Any, str, Any]:
    write, name, is_right = WRITERS[request.param]
    return write or page, name, is_right


def test_links_are_followed(writer: Any, tmp_path: Path) -> None:
    write, name, is_right = writer
    (tmp_path / "folder").mkdir()
    target, link, chain = tmp_path / "folder" / name, tmp_path / name, tmp_path / f"chain-{name}"
    link.symlink_to(Path("folder") / name)
    chain.symlink_to(link)
    write(link)  # the target does not exist yet
    assert is_right(target.read_bytes())
    for path in (link, chain):
        target.write_bytes(b"old")
        target.chmod(0o640)
        write(path)
        assert link.is_symlink() and chain.is_symlink() and not target.is_symlink()
        assert is_right(target.read_bytes()) and stat.S_IMODE(target.stat().st_mode) == 0o640
    assert {p.name for p in (tmp_path / "folder").iterdir()} == {name}
    assert {p.name for p in tmp_path.iterdir()} == {name, f"chain-{name}", "folder"}


def test_links_that_lead_nowhere(writer: Any, tmp_path: Path, capsys: Any) -> None:
    write, name, _ = writer
    (tmp_path / name).symlink_to(tmp_path / name)
    (tmp_path / f"2-{name}").symlink_to(tmp_path / "none" / name)
    for path in (tmp_path / name, tmp_path / f"2-{name}"):
        with pytest.raises((OSError, AssertionError)):
            write(path)
        assert path.is_symlink()


def test_pipes_are_written_to(writer: Any, tmp_path: Path) -> None:
    write, name, is_right = writer
    path, found = tmp_path / name, []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()), daemon=True)
    reader.start()
    write(path)
    reader.join(60)
    assert is_right(found[0]) and stat.S_ISFIFO(path.lstat().st_mode)


def test_devices_are_written_to(writer: Any, tmp_path: Path, capsys: Any) -> None:
    write, name, _ = writer
    for device in ("/dev/null", "/dev/full"):
        before = os.stat(device)
        link = tmp_path / f"{device[5:]}-{name}"
        link.symlink_to(device)
        if device == "/dev/null":
            write(link)
        else:
            with pytest.raises((OSError, AssertionError)):
                write(link)
        after = os.stat(device)
        assert link.is_symlink() and (after.st_mode, after.st_rdev) == (
            before.st_mode,
            before.st_rdev,
        )


def test_folders_are_left_alone(writer: Any, tmp_path: Path, capsys: Any) -> None:
    write, name, _ = writer
    (tmp_path / name).mkdir()
    with pytest.raises((OSError, AssertionError)):
        write(tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == [name] and (tmp_path / name).is_dir()


def test_files_have_the_modes_of_other_files(writer: Any, tmp_path: Path) -> None:
    write, name, is_right = writer
    before = os.umask(0o027)
    try:
        write(tmp_path / name)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640
    assert is_right((tmp_path / name).read_bytes())


def test_a_name_as_long_as_names_can_be(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 251 + ".npz")
    weights(path)
    assert is_npz(path.read_bytes())


def test_standard_output(tmp_path: Path) -> None:
    code = "from s2s.runtime import output_file\noutput_file.write('/dev/stdout', b'page')\n"
    piped = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    assert piped.stdout == b"page"
    with open(tmp_path / "out", "wb") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert (tmp_path / "out").read_bytes() == b"page"


def test_a_disk_that_is_full_leaves_the_old_file(
    writer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    write, name, _ = writer
    (tmp_path / name).write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises((OSError, AssertionError)):
        write(tmp_path / name)
    assert (tmp_path / name).read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_an_error_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), output_file.writing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old" and [p.name for p in tmp_path.iterdir()] == ["file"]


def test_libraries_are_written_through_links(tmp_path: Path) -> None:
    def f(x):
        return x * x

    (tmp_path / "target").mkdir()
    names = ["step.o", "step.h", "step.py", "libstep.a", "step_adjoint.py", "step.pc", "step.cmake"]
    linked = shutil.which("cc") is not None
    names += ["libstep.so"] if linked else []
    for name in names:
        (tmp_path / name).symlink_to(tmp_path / "target" / name)
    s2s.aot.build(s2s.grad(f), "float64", tmp_path / "step", link=linked)
    for name in names:
        assert (tmp_path / name).is_symlink() and (tmp_path / "target" / name).stat().st_size
    assert {p.name for p in tmp_path.iterdir()} == {*names, "target"}
