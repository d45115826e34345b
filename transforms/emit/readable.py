"""From value form to the readable source: the passes for the text alone, storage, the writer.

The kernel is compiled from the same value form, without these passes.
"""

from __future__ import annotations

from ..bufferize.bufferize import bufferize
from ..frontend.kernel_interface import Interface, Written
from ..ir.nodes import Module
from ..ir.record import replace
from .given_names import with_given_names
from .merge_names import merge_names
from .numpy_writer import write_with_places
from .outside_values import Outside
from .user_text import UserText


def readable_source(module: Module, interface: Interface) -> Written:
    """The text of a program after the last pass in value form."""
    module = with_given_names(module)
    main = module.main
    names = set() if main.source is None else UserText(main.source).locals
    outside = Outside.of(interface, (names - {*interface.args}) | {*module.functions})
    reserved = frozenset(outside.roots.values())
    module = module.with_main(replace(main, notes={**main.notes, "reserved_names": reserved}))
    text, places = write_with_places(merge_names(bufferize(module)), outside)
    return Written(text, places, [(name, path) for path, name in outside.roots.items()])
