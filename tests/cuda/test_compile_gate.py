"""The kernels of the corpus are compiled for both dialects of NVVM and assembled by ptxas.

`registers.json` has, for each program of the sample and each compute capability, the number of
kernels, the largest number of registers of one, and the bytes that they spill; `--update-golden`
writes it.  With `S2S_TEST_ALL`, all programs are assembled, with the second compiler as well.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

import s2s
from s2s.cuda import assembler, compiler
from s2s.cuda.kernel_text import KernelText, kernel_texts
from tests import scale
from tests.corpus import Case, load
from tests.corpus.known import KNOWN
from tests.cuda.test_emulation import transform
from tests.s2s.cuda.texts import ALL

TABLE = Path(__file__).with_name("registers.json")
CASES = [case for name, case in load().items() if name not in KNOWN]
# Registers depend on the compiler's version: more than this many more are an error.
MORE_REGISTERS = 16

pytestmark = pytest.mark.skipif(assembler.tool("ptxas") is None, reason="ptxas is not installed")


def kernels(case: Case) -> list[KernelText]:
    """The distinct kernels of a case, those of matrix products left out."""
    f = transform(case)
    args, kwargs = case.arguments(case.trips[-1], np.float64)
    specialiser, bound = f._bind(f._mode, args, kwargs)
    compiled = specialiser.translate(specialiser.describe(bound), specialiser.named(bound))
    assert compiled.cuda is not None
    own = [k.name for k in compiled.cuda.kernels if k.kind != "gemm"]
    found = kernel_texts(compiled.lowered, compiled.cuda)
    return list({found[name].digest: found[name] for name in own}.values())


def assembled(texts: list[KernelText], provider: str) -> dict[str, list[int]]:
    """By compute capability: the number of kernels, the most registers, the bytes spilled."""
    rows = {}
    for cc in compiler.TESTED_CAPABILITIES:
        found = [assembler.assemble(compiler.ptx(k, cc, provider).ptx, cc) for k in texts]
        registers = max((a.registers for a in found), default=0)
        spilled = sum(a.spilled_bytes for a in found)
        rows[f"{cc[0]}.{cc[1]}"] = [len(found), registers, spilled]
    return rows


def compare(name: str, rows: dict[str, list[int]], update: bool) -> None:
    table: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    if update:
        table[name] = rows
        lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(table.items())]
        TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return
    known = table.get(name, {})
    for cc, (_, registers, spilled) in rows.items():
        _, most, spill = known.get(cc, [0, 255, 0])
        assert registers <= most + MORE_REGISTERS, f"{name}, {cc}: {registers} registers"
        assert spilled <= spill, f"{name}, {cc}: {spilled} bytes are spilled"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_corpus(case: Case, update_golden: bool) -> None:
    try:
        texts = kernels(case)
    except s2s.UnsupportedError as error:
        pytest.skip(f"refused: {error.message}")
    compare(case.name, assembled(texts, compiler.DEFAULT_PROVIDER), update_golden)
    if scale.ALL and _has("numba-cuda-mlir"):
        assembled(texts, "numba-cuda-mlir")


@pytest.mark.parametrize("name", ALL)
def test_templates(name: str, update_golden: bool) -> None:
    texts = [*kernel_texts(ALL[name].lowered, ALL[name].cuda).values()]
    for provider in compiler.PROVIDERS:
        if _has(provider):
            rows = assembled(texts, provider)
            compare(f"template {name}, {provider}", rows, update_golden)


def _has(provider: str) -> bool:
    try:
        compiler.version(provider)
    except s2s.VersionError:
        return False
    return True
