"""`s2s doctor`: report the environment that s2s runs in, and problems with it."""

from __future__ import annotations

import argparse
import ctypes
import importlib.metadata
import os
import platform
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .._version import __version__
from ..api import functions
from ..backends import backends
from ..cache import store
from ..call import backend_choice
from ..errors import S2SError
from ..inspect.explain_text import amount
from ..runtime import versions
from .cache import cache_usage
from .exit_codes import CHECK_FAILED, OK
from .json_output import as_json

PACKAGES = (
    "numpy",
    "numba",
    "llvmlite",
    "scipy",
    "rich",
    "pygments",
    "ipython",
    "matplotlib",
    "tqdm",
)
SETTINGS = (
    "S2S_BACKEND", "S2S_CACHE_DIR", "S2S_CALLS", "S2S_CHECK_LOCKS", "S2S_CHECK_REPLAY", "S2S_GEMM",
    "S2S_KEEP_MEMORY", "S2S_PROGRESS", "S2S_TARGET", "S2S_UNTESTED_VERSIONS", "NUMBA_NUM_THREADS",
    "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT",
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
)  # fmt: skip
# CPU features that make kernels much faster.
REPORTED_FEATURES = ("avx2", "fma", "avx512f", "neon", "asimd")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.set_defaults(run=run)


@dataclass
class Findings:
    """Facts by section, and the problems found."""

    facts: dict[str, dict[str, str]] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)


def run(options: argparse.Namespace) -> int:
    found = examine()
    if options.json:
        print(as_json({**found.facts, "trouble": found.trouble}))
    else:
        for section, facts in found.facts.items():
            print(section)
            for name, value in (facts or {"none": ""}).items():
                print(f"  {name:20} {value}".rstrip())
        print("trouble" if found.trouble else "no trouble found")
        for text in found.trouble:
            print(f"  {text}")
    return CHECK_FAILED if found.trouble else OK


def examine() -> Findings:
    found = Findings()
    found.facts["versions"] = {
        "s2s": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "interpreter": sys.executable,
        **{name: _version(name) for name in PACKAGES},
    }
    found.facts["supported versions"] = dict(versions.SUPPORTED)
    is_compiling = _check_versions(found)
    found.facts["machine"] = _machine(is_compiling)
    found.facts["back ends"] = _backends(found)
    found.facts["CUDA"] = _cuda()
    if is_compiling:
        found.facts["calls"] = _try_out(found)
    found.facts["BLAS"] = _blas(found)
    found.facts["cache"] = _cache(found)
    found.facts["settings"] = {n: os.environ[n] for n in SETTINGS if n in os.environ}
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        found.trouble.append("NUMBA_DISABLE_JIT is set: nothing is compiled; unset it")
    return found


def _check_versions(found: Findings) -> bool:
    """Whether compiled code is possible with these versions.  Versions that are not supported are
    trouble, unless the user wants to try them."""
    allowed = versions.is_untested_allowed()
    for name in versions.SUPPORTED:
        try:
            error = versions.problem(name)
        except ImportError as missing:
            found.trouble.append(str(missing))
            return False
        if error is not None and allowed:
            reason = error.message.partition(":")[0]
            found.facts["supported versions"][name] += f" ({reason}, but tried)"
        elif error is not None:
            found.trouble.append(f"{error.message}; {error.advice}")
            return False  # Numba is not imported with an llvmlite that it may not survive
    return True


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _machine(is_compiling: bool) -> dict[str, str]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    facts = {
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": f"{os.cpu_count()}, {usable} for this process",
    }
    if not is_compiling:
        return facts
    import llvmlite.binding as llvm
    import numba

    features = llvm.get_host_cpu_features()
    return {
        **facts,
        "processor": llvm.get_host_cpu_name(),
        "features": ", ".join(f for f in REPORTED_FEATURES if features.get(f)) or "none of note",
        "Numba's threads": str(numba.config.NUMBA_NUM_THREADS),  # type: ignore[attr-defined]
    }


def _backends(found: Findings) -> dict[str, str]:
    """The back end that calls use, and a description of each."""
    native = "the same loop nests, entered without Numba"
    if problem := backends.native_problems()[0]:
        native = f"off: {problem}; numba is used instead"
    origin = "S2S_BACKEND" if os.environ.get("S2S_BACKEND") else "default"
    try:
        chosen = f"{backend_choice.choose_backend(None)}, by {origin}"
    except S2SError as error:
        found.trouble.append(str(error))
        chosen = "?"
    return {
        "chosen": chosen,
        "numba": "a Numba dispatcher whose loop nests s2s writes",
        "njit": "the lowered source, compiled by plain numba.njit",
        "native": native,
        "loops": "the lowered source, interpreted: slow, needs no Numba",
        "python": "the NumPy source, interpreted: for debuggers, needs no Numba",
    }


_CUDA_PACKAGES = (
    "numba-cuda", "numba-cuda-mlir", "cuda-core", "nvmath-python", "nvidia-nvvm",
)  # fmt: skip


def _cuda() -> dict[str, str]:
    """What `target="cuda"` needs.  It is an extra, so nothing that is missing is trouble."""
    facts = {name: _version(name) for name in _CUDA_PACKAGES}
    if facts["numba-cuda"] == "not installed":
        return {"target": "off: pip install 's2s-autodiff[cuda]'"}
    from ..cuda import assembler, devices

    facts["ptxas"] = assembler.tool("ptxas") or "not found (only needed to show machine code)"
    try:
        facts["GPU"] = devices.device("cuda").description
    except S2SError as error:
        facts["GPU"] = f'{error.message}: only target="cuda-emulated" runs here'
    return facts


def _blas(found: Findings) -> dict[str, str]:
    """The BLAS of NumPy and that of SciPy.  Compiled code calls SciPy's."""
    built = np.show_config(mode="dicts") or {}
    ours = built.get("Build Dependencies", {}).get("blas", {})
    facts = {"of NumPy": f"{ours.get('name', '?')} {ours.get('version', '')}".strip()}
    try:
        import scipy

        built = scipy.show_config(mode="dicts") or {}
        theirs = built.get("Build Dependencies", {}).get("blas", {})
        facts["of SciPy"] = f"{theirs.get('name', '?')} {theirs.get('version', '')}".strip()
        from scipy.linalg import cython_blas  # type: ignore  # noqa: F401
    except ImportError:
        found.trouble.append(
            "SciPy is not usable: matrix products cannot be compiled; pip install scipy"
        )
    return {**facts, **_blas_threads()}


_THREAD_COUNT_SYMBOLS = (
    "scipy_openblas_get_num_threads64_", "scipy_openblas_get_num_threads",
    "openblas_get_num_threads64_", "openblas_get_num_threads", "MKL_Get_Max_Threads",
)  # fmt: skip


def _blas_threads() -> dict[str, str]:
    """The thread count of each loaded BLAS, on systems with /proc/self/maps."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return {}
    files = {line.split()[-1] for line in lines if "/" in line}
    found = {}
    for file in sorted(f for f in files if re.search(r"(openblas|mkl_rt)[^/]*\.so", f)):
        library = ctypes.CDLL(file)
        count = next(
            (getattr(library, n) for n in _THREAD_COUNT_SYMBOLS if hasattr(library, n)), None
        )
        if count is not None:
            found[f"threads of {Path(file).parent.name.removesuffix('.libs')}'s"] = str(count())
    return found


def _cache(found: Findings) -> dict[str, str]:
    chosen = os.environ.get("S2S_CACHE_DIR")
    try:
        folder = store.directory()
    except OSError as error:
        found.trouble.append(str(error))
        return {"folder": chosen or "?"}
    if folder in store.temporary:
        found.trouble.append(f"no lasting cache: {store.temporary[folder]}")
    everything = cache_usage(folder).values()
    files, size = sum(k.files for k in everything), sum(k.size for k in everything)
    return {"folder": str(folder), "holds": f"{files} files, {amount(size)}"}


def _try_out(found: Findings) -> dict[str, str]:
    """Compile and run one small gradient with each back end that has a short way from the call to
    the kernel, record a problem if it fails or is wrong, and tell how repeated calls run."""
    ways = {}
    for backend in ("numba", *(() if backends.native_problems()[0] else ("native",))):
        function = functions.grad(_sample, backend=backend)
        try:
            gradients = [function(np.array([0.5, 1.0]), np.eye(2)) for _ in range(3)]
        except Exception as error:
            what = f"a small gradient does not compile with {backend}"
            found.trouble.append(f"{what}: {type(error).__name__}: {error}")
            continue
        if not np.allclose(gradients, [1.0, 2.0]):
            found.trouble.append(f"a small gradient is wrong with {backend}: {gradients[-1]}")
        ways[backend] = _way(function, backend)
    return ways


def _way(function: functions.Function, backend: str) -> str:
    """How a call that resembles the previous one gets to the kernel."""
    kernel = "the Numba dispatcher" if backend == "numba" else "the C entry point"
    if function._plan is not None:
        return f"fast: bytecode of s2s, then {kernel}"
    if type(function) is not function._plain:
        reason = "" if backend == "numba" else f" (no bytecode: {backends.native_problems()[1]})"
        return f"fast: a generated Python function{reason}, then {kernel}"
    return f"slow: each call looks its specialisation up, then {kernel}"


def _sample(x, a):
    return np.sum((a @ x) * x)
