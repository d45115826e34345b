"""Assembles PTX with ptxas, and shows the machine code of a GPU (SASS) with nvdisasm.

Both come with the wheels nvidia-cuda-nvcc and nvidia-cuda-nvdisasm, or with a CUDA toolkit.
Calls do not need them: the driver assembles PTX itself.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..errors import DeviceError

_WHEELS = {"ptxas": "nvidia-cuda-nvcc", "nvdisasm": "nvidia-cuda-nvdisasm"}


@dataclass(frozen=True)
class Assembled:
    """Machine code for a GPU, and its use of the resources of a multiprocessor."""

    cubin: bytes
    registers: int
    spilled_bytes: int
    shared_bytes: int
    stack_bytes: int


def tool(name: str) -> str | None:
    """The path of `ptxas` or `nvdisasm`: that of a wheel, or that of the toolkit."""
    for folder in sys.path:
        for path in sorted(Path(folder or ".").glob(f"nvidia/cu*/bin/{name}"), reverse=True):
            return str(path)
    return shutil.which(name)


def assemble(ptx: str, cc: tuple[int, int]) -> Assembled:
    """Assemble PTX for a compute capability."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        report = _run(
            "ptxas", "-v", f"-arch=sm_{cc[0]}{cc[1]}", str(source), "-o", str(target)
        )  # fmt: skip

        def number(pattern: str) -> int:
            return sum(int(found) for found in re.findall(pattern, report))

        return Assembled(
            target.read_bytes(),
            number(r"Used (\d+) registers"),
            number(r"(\d+) bytes spill stores"),
            number(r"(\d+) bytes smem"),
            number(r"(\d+) bytes stack frame"),
        )


def sass(ptx: str, cc: tuple[int, int]) -> str:
    """The machine code of PTX for a compute capability, as text."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernel.cubin")
        file.write_bytes(assemble(ptx, cc).cubin)
        return _run("nvdisasm", "-c", "-plr", str(file))


def _run(name: str, *arguments: str) -> str:
    path = tool(name)
    if path is None:
        raise DeviceError(f"{name} is not installed", advice=f"pip install {_WHEELS[name]}")
    found = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
    if found.returncode:
        raise DeviceError(f"{name} fails: {found.stderr.strip() or found.stdout.strip()}")
    return found.stdout + found.stderr
