"""Save and load weights and the state of a training run, as `.npz` or `.safetensors` files.

Start reading in `weights_and_state.py`, the public functions.  `object_state.py` enumerates the
state of an object such as an optimizer; `npz.py` and `safetensors.py` read the file formats.

Files are untrusted input: a file that is malformed or does not match the model raises a ValueError
that names the file, and nothing is changed.  This folder may import `s2s.layers`, `s2s.objects` and
`s2s.runtime`.
"""

from ..public_names import listing
from .weights_and_state import load_state, load_weights, save_state, save_weights

__all__ = ["load_state", "load_weights", "save_state", "save_weights"]
__dir__ = listing(__name__)
