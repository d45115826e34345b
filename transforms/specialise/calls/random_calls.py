"""Methods of random number generators."""

from __future__ import annotations

from ...ir.builder import Sym
from ...ir.record import record
from ...rules import SURFACES
from ...rules.numpy.random import permutation_indices
from ...syntax import core
from ..control.updates import Updates
from ..heap.arrays import Arrays
from ..places import Places
from ..session import Part
from ..surface.guards import Guards
from ..surface.surface_calls import SurfaceCalls
from ..values import Args, Kwargs, Obj, Ref, RngVal, Value

_ADVICE = {
    "spawn": "make the generators outside and pass them in",
    "bit_generator": "pass the generator itself",
    "permuted": "use rng.permutation, row by row",
    "multivariate_normal": "write mean + np.linalg.cholesky(cov) @ rng.standard_normal(n)",
    "bytes": "use rng.integers",
}


@record(eq=False)
class RandomCalls(Part):
    """Random numbers."""

    places: Places
    arrays: Arrays
    updates: Updates
    guards: Guards
    surface_calls: SurfaceCalls

    def call_generator(
        self, owner: RngVal, name: str, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        if name == "shuffle":
            return self.shuffle(owner, args, kwargs, node)
        path = f"numpy.random.Generator.{name}"
        if path not in SURFACES:
            advice = _ADVICE.get(name, "see docs/language.md for the methods that are")
            return self.places.refuse(node, f"{path} is not supported", advice)
        return self.surface_calls.call_surface(path, (owner, *args), kwargs, node)

    def shuffle(self, owner: RngVal | None, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        """The array takes on its own elements in another order."""
        if len(args) != 1 or kwargs or not isinstance(args[0], Ref):
            self.places.refuse(
                node, "shuffle takes one array here", "use rng.permutation, which makes a new one"
            )
        ref = args[0]
        rng = None if owner is None else Sym(self.b, owner.operand)
        with self.guards.guarding(node):
            x = self.arrays.sym(ref)
            order = permutation_indices(self.b, rng, x.shape[0])
            items = (("array", 1), *(("all",) for _ in range(x.ndim - 1)))
            self.updates.write(ref, (), self.b.emit("index", x, order, items=items), node)
        return Obj(None)
