"""The versions of CPython, llvmlite and Numba that machine code is made with.

The code generator uses internals of Numba and llvmlite, which change between releases; with other
versions it may fail, or abort the process.  `require_llvm` and `require_numba` are called before
their first use in a process and refuse versions that are not tested.  The back ends "python" and
"loops" do not call them.
"""

from __future__ import annotations

import os
import platform
import re
import sys

from ..errors import VersionError
from ..transforms.ir.lazy import memoize
from . import gc_pause

# As in pyproject.toml, which a test compares.
SUPPORTED = {"python": ">=3.10,<3.15", "llvmlite": ">=0.48,<0.51", "numba": ">=0.66,<0.69"}
UNTESTED = "S2S_UNTESTED_VERSIONS"  # if set, other versions are tried


def is_supported(version: str, supported: str) -> bool:
    """Whether a version is in a range such as `>=0.66,<0.69`.  A pre-release or development version
    counts as the release that it leads to, except for the lowest one, which it precedes.  A version
    without a number, such as `0+unknown`, is not supported."""
    found = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?(.*)", version)
    limits = re.fullmatch(r">=(\d+)\.(\d+),<(\d+)\.(\d+)", supported)
    assert limits is not None, supported
    low, high = tuple(map(int, limits.groups()[:2])), tuple(map(int, limits.groups()[2:]))
    if found is None:
        return False
    release = int(found[1]), int(found[2])
    if release == low and int(found[3] or 0) == 0:
        return re.match(r"[._-]?(a|b|c|rc|alpha|beta|pre|preview|dev)", found[4]) is None
    return low <= release < high


def version_of(name: str) -> str:
    """The version of Python, or of an installed package, which is imported."""
    if name == "python":
        return platform.python_version()
    try:
        return __import__(name).__version__
    except Exception:  # it is not installed, or does not fit another package
        import importlib.metadata

        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            raise ImportError(f"s2s needs {name}, which is not installed") from None


def problem(name: str) -> VersionError | None:
    """The error for a version that is not supported, whether or not it is to be tried."""
    version, supported = version_of(name), SUPPORTED[name]
    if name == "python":
        advice = f"use CPython {supported}"
        shown, called = platform.python_implementation(), "CPython"
        fits = sys.implementation.name == "cpython" and is_supported(version, supported)
    else:
        advice = f'pip install "{name}{supported}"'
        shown, called = name, name
        fits = is_supported(version, supported)
    if fits:
        return None
    return VersionError(
        f"{shown} {version} is not supported: compiled code needs {called} {supported}",
        advice=f'{advice}; backend="python" and backend="loops" run without it.  {UNTESTED}=1 '
        "tries it at your own risk: compilation may fail, or abort the process",
    )


def _require(name: str) -> None:
    if not is_untested_allowed() and (error := problem(name)) is not None:
        raise error


def is_untested_allowed() -> bool:
    return os.environ.get(UNTESTED, "") not in ("", "0")


@memoize
def require_llvm() -> None:
    """Refuse versions of CPython and llvmlite that are not supported.  Does not import Numba."""
    _require("python")
    _require("llvmlite")


@memoize
def require_numba() -> None:
    """Refuse versions of CPython, llvmlite and Numba that are not supported.  Imports Numba, after
    the other two have been checked: Numba itself may not survive another llvmlite."""
    require_llvm()
    with gc_pause.paused():  # Numba allocates many objects when it is imported
        _require("numba")
