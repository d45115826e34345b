"""The programs whose compiled form is compared, by name."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# Options that shorten the run of an example; `{out}` is a file in a temporary folder.
SHORT: dict[str, str] = {
    "accumulation": "--steps 2",
    "char_lstm": "--steps 2 --out {out}",
    "digits_cnn": "--epochs 1",
    "digits_mlp": "--epochs 1 --out {out}",
    "find_the_nan": "",
    "integrated_gradients": "--epochs 1 --out {out}",
    "likelihood_scipy": "--samples 100",
    "linear_regression": "--epochs 1 --out {out}",
    "maml_sinusoids": "--steps 2",
    "neural_ode": "--steps 2 --out {out}",
    "pinn_heat": "--steps 2",
    "small_transformer": "--steps 2 --out {out}",
    "wgan_gp": "--rounds 1 --out {out}",
}

Program = Callable[[], None]


def programs() -> dict[str, Program]:
    """The programs by name, as functions that compile, and possibly run, the program."""
    return {**_corpus(), **_rows(), **_examples()}


def _corpus() -> dict[str, Program]:
    from tests.corpus import Case, load
    from tests.judge import transform

    def program(case: Case, dtype: type) -> Program:
        def run() -> None:
            args, kwargs = case.arguments(case.trips[-1], dtype)
            with contextlib.redirect_stdout(io.StringIO()):
                transform(case, None)(*args, **kwargs)

        return run

    return {
        f"corpus/{name}/{np.dtype(dtype).name}": program(case, dtype)
        for name, case in load().items()
        for dtype in (np.float64, np.float32)
    }


def _rows() -> dict[str, Program]:
    from benchmarks.row import OURS
    from benchmarks.rows import all_rows

    return {
        f"row/{row.name}": lambda maker=row.makers[OURS]: maker().run()
        for row in all_rows()
        if OURS in row.makers
    }


def _examples() -> dict[str, Program]:
    def program(name: str) -> Program:
        def run() -> None:
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
                before, here = sys.argv, os.getcwd()
                out = str(Path(folder) / "out.png")
                sys.argv = [name, *SHORT[name].format(out=out).split()]
                os.chdir(folder)
                try:
                    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
                finally:
                    sys.argv = before
                    os.chdir(here)

        return run

    return {f"example/{path.stem}": program(path.stem) for path in sorted(EXAMPLES.glob("*.py"))}
