"""Listings of the kernels of a function for a GPU: PTX, and its machine code (SASS)."""

from __future__ import annotations

import re
from typing import Any

from .exit_codes import USAGE, CommandError
from .requested_transform import with_target


def text(
    function: Any, given: tuple[tuple[Any, ...], dict[str, Any]], level: str, capability: str
) -> str:
    """All kernels of the function for arguments, each after a line with its name."""
    from ..cuda import assembler, compiler
    from ..cuda.kernel_text import kernel_texts

    found = re.fullmatch(r"(\d+)\.(\d)", capability)
    if found is None:
        raise CommandError(f"--cc {capability} is no compute capability", "such as 8.0", USAGE)
    cc = int(found[1]), int(found[2])
    function = with_target(function, "cuda")
    args, kwargs = given
    specialiser, bound = function._bind(function._mode, args, kwargs)
    compiled = specialiser.translate(specialiser.describe(bound), specialiser.named(bound))
    parts = []
    for kernel in kernel_texts(compiled.lowered, compiled.cuda).values():
        code = compiler.ptx(kernel, cc).ptx
        code = assembler.sass(code, cc) if level == "sass" else code
        parts.append(f"// {kernel.name}\n{code.strip()}\n")
    return "\n".join(parts)
