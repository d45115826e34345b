"""`GradientTape` in plain Python: the block of a tape is replayed as a compiled function.

(In a compiled function a tape is syntax, which the compiler removes.)  Start with
`gradient_tape.py`, the public class.

- `block_source.py`: the source of the `with` block that a frame is about to enter.
- `block_function.py`: the block as a function of the names it reads.
- `snapshot.py`: the inputs of the block as they were at entry.
- `query.py`: a call of `tape.gradient` and the like: builds, runs and checks the replay function.

This folder may import `api`, `inspect`, `dispatch`, `backends`, `call`, `codegen`, `runtime`,
`cache`, `objects`, `errors` and the compiler (`transforms`).
"""
