"""Weights and the state of a training run, on disk: `.npz` or `.safetensors`.

Start with `weights_and_state.py`.  `object_state.py` finds the arrays of a model or an optimizer;
`npz.py` and `safetensors.py` read the formats.  Files may come from anywhere: what is malformed, or
does not fit the model, is refused with a ValueError that names the file.  This folder may import
`s2s.layers`, `s2s.objects` and `s2s.runtime`.
"""

from .weights_and_state import load_state, load_weights, save_state, save_weights

__all__ = ["load_state", "load_weights", "save_state", "save_weights"]
