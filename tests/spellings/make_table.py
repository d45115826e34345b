"""Writes TensorFlow's outcome of each case of `table.py` to table.json.

python -m tests.spellings.make_table        (with tensorflow installed)
"""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

from .table import CASES, run, shown

FILE = Path(__file__).with_name("table.json")


def outcome(tf: Any, expression: str, file: Path) -> Any:
    try:
        value = shown(run(tf, expression, False, file)["value"])
    except Exception as error:
        return {"raises": type(error).__name__}
    try:
        gradients = shown(run(tf, expression, True, file)["gradients"])
    except Exception:
        gradients = None
    return [value, gradients]


def main() -> None:
    import tensorflow as tf

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        found = {case: outcome(tf, case, Path(folder) / "case.py") for case in CASES}
    lines = [f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in found.items()]
    head = f'"tensorflow": {json.dumps(tf.__version__)}'
    text = "{\n" + ",\n".join([head, *lines]) + "\n}\n"
    FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
