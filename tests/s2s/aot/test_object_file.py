"""Target selection, and reproducible builds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import s2s
from s2s.aot import build, link
from tests.s2s.aot.programs import MIXED, growing, mixed


def build_two(folder: str) -> None:
    wanted = {
        "mixed": (s2s.value_and_grad(mixed), MIXED),
        "gradient": (s2s.value_and_grad(growing), "float64[n]"),
    }
    machine = {"cpu": "x86-64-v3", "target": "x86_64-linux-gnu"}
    build(wanted, out=f"{folder}/net", link=False, **machine)


def test_the_same_input_gives_the_same_bytes(tmp_path) -> None:
    """In this process and in another one."""
    root = Path(__file__).resolve().parents[3]
    here, there = tmp_path / "here", tmp_path / "there"
    build_two(str(here))
    env = {**os.environ, "PYTHONHASHSEED": "5", "PYTHONPATH": str(root)}
    program = f"from tests.s2s.aot.test_object_file import build_two; build_two({str(there)!r})"
    subprocess.run([sys.executable, "-c", program], check=True, env=env, cwd=root)
    contents = [{p.name: p.read_bytes() for p in f.iterdir()} for f in (here, there)]
    assert contents[0] == contents[1]
    assert "libnet.so" not in contents[0]


@pytest.mark.parametrize(
    "target, machine",
    [("x86_64-linux-gnu", 62), ("aarch64-linux-gnu", 183), ("riscv64-linux-gnu", 243)],
)
def test_objects_for_other_machines(tmp_path, target, machine) -> None:
    built = build(
        s2s.grad(growing), "float64[n]", out=tmp_path / "growing", target=target, link=False
    )
    data = built.files["o"].read_bytes()
    assert data[:4] == b"\x7fELF" and int.from_bytes(data[18:20], "little") == machine
    names = {"growing", "growing_workspace", "growing_message"}
    assert set(link.global_symbols(data)) == names


def test_wrong_names_are_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match="no target"):
        build(s2s.grad(growing), "float64[n]", out=tmp_path / "f", target="toaster")
    with pytest.raises(ValueError, match="no name for a library"):
        build(s2s.grad(growing), "float64[n]", out=tmp_path / "my-lib")
    with pytest.raises(ValueError, match="called log in C"):
        build(s2s.grad(growing), "float64[n]", out=tmp_path / "log")
    with pytest.raises(TypeError, match="no type of an argument"):
        build(s2s.grad(growing), "flot64[n]", out=tmp_path / "f")


def test_a_missing_linker_is_told(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(s2s.aot.BuildError, match="no C compiler"):
        build(s2s.grad(growing), "float64[n]", out=tmp_path / "growing")
    assert build(s2s.grad(growing), "float64[n]", out=tmp_path / "growing", link=False).files["a"]
