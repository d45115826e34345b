"""Names that imports inside a function bind, and names that `del` forgets."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ...ir.record import record
from ...syntax import core
from ..dispatch import runs
from ..frames import Frames
from ..operations.operators import is_count
from ..operations.stores import Stores
from ..outside.objects import Objects
from ..places import Places
from ..session import Part
from ..values import DictVal, ListVal, SliceVal, kind_text


@record(eq=False)
class Imports(Part):
    """`import` and `del`."""

    places: Places
    objects: Objects
    frames: Frames
    stores: Stores

    @runs(core.Import)
    def run_Import(self, node: core.Import) -> None:
        for alias in node.names:
            module, name = self._imported(alias.name, node), alias.asname
            if name is None:
                name = alias.name.split(".")[0]
                module = sys.modules[name]
            self.state.env[name] = self.objects.lift_name(module, (("module", module.__name__),))

    @runs(core.ImportFrom)
    def run_ImportFrom(self, node: core.ImportFrom) -> None:
        module = self._imported("." * node.level + node.module, node)
        for alias in node.names:
            if not hasattr(module, alias.name):
                self._imported(f"{module.__name__}.{alias.name}", node)
            path = (("module", module.__name__), (".", alias.name))
            value = self.objects.lift_name(getattr(module, alias.name), path)
            self.state.env[alias.asname or alias.name] = value

    def _imported(self, name: str, node: core.Node) -> Any:
        """A module, which is loaded while compiling: in the first call, as it would be anyway."""
        package = self.places.frame.function.__globals__.get("__package__")
        try:
            if name.startswith(".") and not package:
                raise ImportError("attempted relative import with no known parent package")
            return importlib.import_module(name, package or None)
        except ImportError as error:
            raise self.places.located(type(error)(str(error)), node) from None

    @runs(core.Delete)
    def run_Delete(self, node: core.Delete) -> None:
        for target in node.targets:
            self._delete(target)

    def _delete(self, target: core.Target) -> None:
        if isinstance(target, core.Name):
            self.frames.lookup(target.id, target)
            self.state.env.pop(target.id, None)
        elif isinstance(target, core.Seq):
            for part in target.items:
                self._delete(part)  # type: ignore[arg-type]
        elif isinstance(target, core.Item):
            owner, index = self.evaluator.eval(target.value), self.evaluator.eval(target.index)
            if isinstance(owner, DictVal) and owner.cell.path:
                self.places.refuse(
                    target,
                    "removing a key of a dict from outside is not supported",
                    "make a dict without it",
                )
            elif isinstance(owner, DictVal) or (isinstance(owner, ListVal) and is_count(index)):
                self.evaluator.call_method(owner, "pop", (index,), {}, target)
            elif isinstance(owner, ListVal) and isinstance(index, SliceVal):
                self.stores.delete_slice(owner, index, target)
            elif self.evaluator.call_special(owner, "__delitem__", (index,), target) is None:
                kind = kind_text(owner)
                self.places.refuse(
                    target, f"`del` of a part of {kind} is not supported", "make a new one"
                )
        elif isinstance(target, core.Attr):
            self.stores.delete_attribute(self.evaluator.eval(target.value), target.name, target)
