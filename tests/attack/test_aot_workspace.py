"""The workspace and the state of a library, called from C: sizes are exact, and a failed call
changes nothing.

Each program is built and called by a C program with workspaces of many sizes and with arguments for
which it fails midway.  After each failure, the state and the written arrays are compared byte by
byte with their previous contents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.aot import build, status_codes
from s2s.layers import LSTM, BatchNormalization, Conv2D, Dense, Dropout, Flatten, MaxPool2D
from s2s.losses import SparseCategoricalCrossentropy
from s2s.models import Sequential
from s2s.optimizers import SGD, Adam
from tests.s2s.aot.programs import compile_c, needs_compiler, run

pytestmark = needs_compiler

DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "step.h"

static unsigned char *loaded(const char *path, size_t size) {
    unsigned char *data = aligned_alloc(64, (size + 127) / 64 * 64);
    FILE *file = fopen(path, "rb");
    if (!file || fread(data, 1, size, file) != size) exit(3);
    fclose(file);
    return data;
}

static void *same(const void *data, size_t size) {
    void *copy = malloc(size + 1);
    memcpy(copy, data, size);
    return copy;
}

int main(void) {
    @ARRAYS@
    @STATE@
    double out[64] = {0};
    (void)same;
    int64_t need = step_workspace(@ASKED@);
    printf("need %lld\n", (long long)need);
    int64_t sizes[] = {0, 8, 64, 128, need / 3, need / 2, need - 128, need - 64, need - 1};
    for (int k = 0; k < 9; k++) {
        if (sizes[k] < 0 || sizes[k] >= need) continue;
        /* Memory behind the end is guarded by a pattern. */
        unsigned char *ws = aligned_alloc(64, ((size_t)sizes[k] + 191) / 64 * 64);
        memset(ws, 0x5a, ((size_t)sizes[k] + 191) / 64 * 64);
        int32_t status = step(@GOOD@, @BLOCK@ ws, (size_t)sizes[k]);
        int guarded = 1;
        for (int i = 0; i < 64; i++) guarded &= ws[sizes[k] + i] == 0x5a;
        int64_t told = 0;
        memcpy(&told, ws, 8);
        printf("small %lld %d %d %d %lld\n", (long long)sizes[k], status, guarded, @SAME@,
               sizes[k] >= 64 ? (long long)told : -1LL);
        free(ws);
    }
    size_t bytes = (size_t)need;
    int tries = 0;
    for (int k = 0; k < 3; k++) {
        unsigned char *ws = aligned_alloc(64, (bytes + 127) / 64 * 64);
        int32_t status = step(@BAD@, @BLOCK@ ws, bytes);
        while (status == STEP_WORKSPACE && tries++ < 60) {
            memcpy(&bytes, ws, 8);
            free(ws);
            ws = aligned_alloc(64, (bytes + 127) / 64 * 64);
            printf("again %d\n", @SAME@);
            status = step(@BAD@, @BLOCK@ ws, bytes);
        }
        printf("bad %d %d %s\n", status, @SAME@, step_message(status));
        status = step(@GOOD@, @BLOCK@ ws, bytes);
        while (status == STEP_WORKSPACE && tries++ < 60) {
            memcpy(&bytes, ws, 8);
            free(ws);
            ws = aligned_alloc(64, (bytes + 127) / 64 * 64);
            printf("again %d\n", @SAME@);
            status = step(@GOOD@, @BLOCK@ ws, bytes);
        }
        @REMEMBER@
        double value = @VALUE@;
        printf("good %d %.17g\n", status, value);
        free(ws);
    }
    printf("tries %d\n", tries);
    return 0;
}
"""


@dataclass
class Program:
    """`good` and `bad` are arguments; `fails` is the status message for the bad ones, or None."""

    function: Any
    signature: Any
    sizes: tuple[int, ...]
    good: tuple[Any, ...]
    bad: tuple[Any, ...]
    fails: str
    grows: bool = False
    written: tuple[int, ...] = ()
    result: str = "float"
    places: int = 1
    state: bool = True
    prepared: list[Any] = field(default_factory=list)


def _step(model: Any, optimizer: Any) -> Any:
    loss_fn = SparseCategoricalCrossentropy(from_logits=True)

    @s2s.function
    def step(x, y):
        with s2s.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return step


def _labels(classes: int, n: int = 16) -> tuple[Any, Any]:
    """Valid labels, and labels of which one in the middle is invalid."""
    good = np.arange(n) % classes
    bad = good.copy()
    bad[n // 2] = classes + 3
    return good, bad


def pooling() -> Program:
    model = Sequential([Conv2D(4, 3, activation="relu"), MaxPool2D(2), Flatten(), Dropout(0.3),
                        Dense(5)])  # fmt: skip
    x = np.random.default_rng(0).normal(size=(16, 12, 12, 1)).astype(np.float32)
    model(x)
    good, bad = _labels(5)
    return Program(_step(model, Adam()), "float32[n,12,12,1], int64[n]", (16,), (x, good), (x, bad),
                   "IndexError")  # fmt: skip


def normalised() -> Program:
    """Moving averages are written before the loss checks the labels."""
    model = Sequential([Dense(8), BatchNormalization(), Dropout(0.5), Dense(4)])
    x = np.random.default_rng(1).normal(size=(16, 6)).astype(np.float32)
    model(x)
    good, bad = _labels(4)
    return Program(_step(model, SGD(0.1)), "float32[n,6], int64[n]", (16,), (x, good), (x, bad),
                   "IndexError")  # fmt: skip


def recurrent() -> Program:
    model = Sequential([LSTM(6), Dropout(0.2), Dense(3)])
    x = np.random.default_rng(2).normal(size=(16, 7, 4)).astype(np.float32)
    model(x)
    good, bad = _labels(3)
    return Program(_step(model, Adam()), "float32[n,7,4], int64[n]", (16,), (x, good), (x, bad),
                   "IndexError")  # fmt: skip


def _halving(x, limit, i):
    """A `while` loop whose values are saved for the adjoint; their number is known only at run
    time."""
    s = 0.0
    while np.sum(x) > limit:
        x = x * 0.5 + 0.001 * np.sin(x)
        s = s + np.sum(x * x)
    return s + x[i]


def looping() -> Program:
    x = np.linspace(1.0, 2.0, 50)
    return Program(s2s.value_and_grad(_halving), "float64[n], float64, int64", (50,),
                   (x, 1e-3, 3), (x, 1e-3, 50), "IndexError", grows=True, state=False,
                   places=2)  # fmt: skip


def _ragged(x, counts, i):
    """Pieces whose lengths are data."""
    pieces = []
    for k in range(counts.shape[0]):
        pieces.append(np.sum(np.sin(x[: counts[k]]) ** 2))
    total = 0.0
    for p in pieces:
        total = total + p
    return total * x[i]


def ragged() -> Program:
    x, counts = np.linspace(0.1, 1.0, 40), np.array([3, 0, 40, 17], np.int64)
    return Program(s2s.value_and_grad(_ragged), "float64[n], int64[m], int64", (40, 4),
                   (x, counts, 3), (x, counts, 99), "IndexError", grows=True, state=False,
                   places=2)  # fmt: skip


def _in_place(x, i):
    for k in range(x.shape[0]):
        x[k] = x[k] * 2.0 + 1.0
    x[i] = 0.0
    return np.sum(x)


def writing() -> Program:
    """An array of the caller is written before an index is found to be out of bounds."""
    x = np.linspace(0.0, 1.0, 33)
    return Program(s2s.function(_in_place), "float64[n], int64", (33,), (x, 3), (x, 1000),
                   "IndexError", written=(0,), state=False, result="float64")  # fmt: skip


def _singular(a, b):
    b[0] = 7.0
    return np.sum(np.linalg.solve(a, b))


def solving() -> Program:
    a = np.random.default_rng(3).normal(size=(6, 6)) + 4 * np.eye(6)
    b = np.linspace(0.0, 1.0, 6)
    return Program(s2s.function(_singular), "float64[k,k], float64[k]", (6,), (a, b),
                   (np.zeros((6, 6)), b), "LinAlgError", written=(1,), state=False)  # fmt: skip


PROGRAMS = [pooling, normalised, recurrent, looping, ragged, writing, solving]


def _text(program: Program, folder: Path) -> str:
    """The C program; arguments are read from files."""
    arrays, lines = [], {"good": [], "bad": []}
    for kind, given in (("good", program.good), ("bad", program.bad)):
        for k, value in enumerate(given):
            if isinstance(value, np.ndarray):
                name = f"{kind}{k}"
                (folder / f"{name}.bin").write_bytes(value.tobytes())
                arrays.append(f'void *{name} = loaded("{folder}/{name}.bin", {value.nbytes});')
                lines[kind].append(name)
            else:
                lines[kind].append(repr(value))
    same = ["1"]
    remember = []
    for kind in ("good", "bad"):
        for k in program.written:
            size = program.good[k].nbytes
            arrays.append(f"void *{kind}{k}_before = same({kind}{k}, {size});")
            same.append(f"!memcmp({kind}{k}, {kind}{k}_before, {size})")
            remember.append(f"memcpy({kind}{k}_before, {kind}{k}, {size});")
    state, block = [], ""
    if program.state:
        state = ["void *state = aligned_alloc(64, STEP_STATE_BYTES);",
                 "if (step_init(state, STEP_STATE_BYTES)) return 4;",
                 "void *state_before = same(state, STEP_STATE_BYTES);"]  # fmt: skip
        same.append("!memcmp(state, state_before, STEP_STATE_BYTES)")
        remember.append("memcpy(state_before, state, STEP_STATE_BYTES);")
        block = "state, "
    value = "*(float *)out" if program.state else "out[0]"
    outputs = ["(void *)out"] + ["(void *)(out + 8)"] * (program.places - 1)
    sizes = [str(n) for n in program.sizes]
    numbers = [repr(v) for v in program.good if not isinstance(v, np.ndarray)]
    call = {k: ", ".join([*sizes, *lines[k], *outputs]) for k in lines}
    text = DRIVER
    for mark, made in {
        "ARRAYS": "\n    ".join(arrays), "STATE": "\n    ".join(state), "GOOD": call["good"],
        "ASKED": ", ".join([*sizes, *numbers]), "BAD": call["bad"], "BLOCK": block,
        "SAME": " && ".join(same), "REMEMBER": " ".join(remember), "VALUE": value,
    }.items():  # fmt: skip
        text = text.replace(f"@{mark}@", made)
    return text


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda m: m.__name__)
def test_workspaces_and_errors_seen_from_c(make: Any, tmp_path: Path) -> None:
    program = make()
    built = build(program.function, program.signature, tmp_path / "step")
    header = (tmp_path / "step.h").read_text()
    assert ("depends on the data" in header) == program.grows
    options = (f"-I{tmp_path}", str(tmp_path / "libstep.a"), "-lm")
    made = compile_c(_text(program, tmp_path), tmp_path, *options)
    lines = [line.split(" ", 4) for line in run(made).splitlines()]
    need = int(next(w[1] for w in lines if w[0] == "need"))
    assert need > 0
    for word, *rest in lines:
        if word == "small":
            size, status, guarded, same, told = map(int, " ".join(rest).split())
            assert status == status_codes.WORKSPACE, size
            assert guarded and same, size
            assert told == -1 or told == need or program.grows
        elif word == "bad":
            assert int(rest[0]) >= status_codes.FIRST_PROGRAM_ERROR, rest
            assert rest[1] == "1", "a call that failed changed something"
            assert program.fails in " ".join(rest)
        elif word == "again":
            assert rest == ["1"]
    tries = int(next(w[1] for w in lines if w[0] == "tries"))
    assert tries == 0 if not program.grows else tries < 30
    found = [float(w[2]) for w in lines if w[0] == "good"]
    assert all(w[1] == "0" for w in lines if w[0] == "good")
    # The same calls in Python, without those that failed.
    fresh = built.load()
    owner = fresh.Step() if program.state else fresh
    given = tuple(np.array(v) if isinstance(v, np.ndarray) else v for v in program.good)
    for value in found:
        expected = owner.step(*given)
        first = expected[0] if isinstance(expected, tuple) else expected
        assert np.isclose(value, float(first), rtol=1e-6), (value, first)
    assert built.functions == ["step"]
