"""Classes of objects that compiled functions read and write: Variables, tensors, change counting.

Start with `variable.py` and `change_counter.py`.

- `variable.py`: `Variable`, the trainable array that tapes watch and optimizers update.
- `tensor.py`: `Tensor` and the immutable tensor of the `tf` namespace.
- `change_counter.py`: `Announces`, the base class of objects that count attribute changes; call
  stubs check such objects again only after a change.
- `compiler_hints.py`: decorators by which classes give the compiler information on their methods.
- `variable_versions.py`: notifies tapes in plain Python of reads and changes of Variables.
- `unconnected.py`: the Variables without a gradient, for error messages.

This folder is at the bottom of the layers: it may import no other folder of s2s.
"""
