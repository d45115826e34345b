"""The command-line tool `s2s`: show, check, time and export the gradients of functions in files.

Start reading in `main.py`, which parses the command line and maps errors to exit codes
(`exit_codes.py`).  Each subcommand is one module with `add(parser)` and `run(options)`: `show.py`,
`report.py`, `check.py`, `aot.py`, `bench.py`, `cache.py`, `doctor.py` and `completion.py`.
`loaded_function.py` resolves the options to a compiled function and its arguments, with
`target_path.py` (import of FILE.py:FUNC), `argument_syntax.py` (the syntax of --args),
`default_arguments.py` and `requested_transform.py`.

This folder may import `s2s.aot`, `s2s.layers`, `s2s.tape`, `s2s.testing`, `s2s.api` and what is
below them.  Only `__main__` imports it.
"""

from __future__ import annotations

from .main import main

__all__ = ["main"]
