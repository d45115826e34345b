"""Writes TensorFlow's results for the scenarios to oracle.json.

S2S_ORACLE=tensorflow python -m tests.tapes.make_oracle        (with tensorflow installed)
"""

from __future__ import annotations

import json
from pathlib import Path

from .scenarios import SCENARIOS, outcome, tf

FILE = Path(__file__).with_name("oracle.json")


def main() -> None:
    assert tf.__name__ == "tensorflow", "set S2S_ORACLE=tensorflow"
    found = {name: outcome(f) for name, f in SCENARIOS.items()}
    FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
