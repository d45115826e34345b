"""Names that imports inside a function bind, and names that `del` forgets."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ..syntax import core
from .values import Mixin, State


class Imports(Mixin):
    state: State

    def run_Import(self, node: core.Import) -> None:
        for alias in node.names:
            module, name = self._imported(alias.name, node), alias.asname
            if name is None:
                name = alias.name.split(".")[0]
                module = sys.modules[name]
            self.state.env[name] = self.lift_name(module, (("module", module.__name__),))

    def run_ImportFrom(self, node: core.ImportFrom) -> None:
        module = self._imported("." * node.level + node.module, node)
        for alias in node.names:
            if not hasattr(module, alias.name):
                self._imported(f"{module.__name__}.{alias.name}", node)
            path = (("module", module.__name__), (".", alias.name))
            value = self.lift_name(getattr(module, alias.name), path)
            self.state.env[alias.asname or alias.name] = value

    def _imported(self, name: str, node: core.Node) -> Any:
        """A module, which is loaded while compiling: in the first call, as it would be anyway."""
        package = self.frame.function.__globals__.get("__package__")
        try:
            if name.startswith(".") and not package:
                raise ImportError("attempted relative import with no known parent package")
            return importlib.import_module(name, package or None)
        except ImportError as error:
            raise self.located(type(error)(str(error)), node) from None

    def run_Delete(self, node: core.Delete) -> None:
        for target in node.targets:
            if not isinstance(target, core.Name):
                self.refuse(target, "`del` of a part is not supported", "make one without it")
            self.lookup(target.id, target)
            self.state.env.pop(target.id, None)
