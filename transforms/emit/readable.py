"""From value form to the readable source: the passes for the text alone, storage, the writer.

The kernel is compiled from the same value form, without these passes.
"""

from __future__ import annotations

from ..bufferize.bufferize import bufferize_function, note_written_arguments
from ..frontend.kernel_interface import Interface, Written
from ..ir.nodes import Function, Module
from ..ir.record import replace
from .given_names import with_given_names
from .merge_names import merge_names
from .numpy_writer import words, write_with_places
from .outside_values import Outside
from .recompute import recompute_subexpressions
from .sweep_algebra import simplify_sweeps
from .temporary_names import temporary_names
from .user_text import UserText


def readable_source(module: Module, interface: Interface) -> Written:
    """The text of a program after the last pass in value form."""
    module = recompute_subexpressions(simplify_sweeps(with_given_names(module)))
    module = note_written_arguments(module)
    main = module.main
    names = set() if main.source is None else UserText(main.source).locals
    outside = Outside.of(interface, (names - {*interface.args}) | {*module.functions})
    reserved = frozenset({*outside.roots.values(), *(name for name, _ in outside.before.values())})
    main = replace(main, notes={**main.notes, "reserved_names": reserved})
    others = [f for f in module.functions.values() if f.name != main.name]
    if "has_functions" in main.notes:
        functions = [_stored(f, None) for f in others]
    else:
        functions = [merge_names(bufferize_function(f)) for f in others]
    main = _stored(main, outside)
    module = Module({f.name: f for f in [main, *functions]}, main.name)
    text, places = write_with_places(module, outside)
    return Written(text, places, [(name, path) for path, name in outside.roots.items()])


def _stored(function: Function, outside: Outside | None) -> Function:
    """A function in memory form, with names for its temporaries."""
    # The names of temporaries depend on which of them are substituted into expressions, and that
    # depends on the lengths of the names.
    first: dict[str, str] = {}
    for _ in range(2):
        draft = bufferize_function(function)
        written = words(merge_names(draft), outside)
        variables: dict[str, str] = draft.notes["variables"]
        first = first or variables
        printed = {
            value: first.get(value, name) for value, name in variables.items() if name in written
        }
        names, restored = temporary_names(function, printed)
        if names == function.notes.get("preferred_names"):
            break
        notes = {**function.notes, "preferred_names": names, "restored_names": restored}
        function = replace(function, notes=notes)
    return merge_names(bufferize_function(function))
