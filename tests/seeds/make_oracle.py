"""Writes TensorFlow's results for every block to oracle.json.

python -m tests.seeds.make_oracle        (with tensorflow installed)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .documents import BLOCKS
from .run_block import noise, run, weights

FILE = Path(__file__).with_name("oracle.json")


def main() -> None:
    import tensorflow as tf

    def initial(self: Any, shape: Any, dtype: Any = None, **_: Any) -> Any:
        return tf.constant(weights(tuple(shape)))

    tf.keras.initializers.GlorotUniform.__call__ = initial
    tf.random.normal = lambda shape, *a, **k: tf.constant(noise(tuple(shape)))
    tf.data.Dataset.shuffle = lambda self, *a, **k: self
    found = {block.id: run(block, tf, "tensorflow") for block in BLOCKS}
    found["version"] = {"tensorflow": tf.__version__}
    FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
