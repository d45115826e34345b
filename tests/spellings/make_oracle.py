"""Writes TensorFlow's results for the expressions, and for the page's tables, to oracle.json.

python -m tests.spellings.make_oracle        (with tensorflow installed)
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from .cases import outcomes, page_outcomes

FILE = Path(__file__).with_name("oracle.json")


def main() -> None:
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        found = {
            "tensorflow": tf.__version__,
            "expressions": outcomes(tf, Path(folder)),
            "page": page_outcomes(tf, Path(folder), 0),
        }
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
