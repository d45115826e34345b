"""Calls of functions for each element of arrays."""

from __future__ import annotations

from ...ir.record import record
from ...syntax import core
from ..heap.arrays import Arrays
from ..operations.attributes import Attributes
from ..places import Places
from ..session import Part
from ..surface.indexing import Indexing
from ..surface.surface_calls import SurfaceCalls
from ..values import Args, Kwargs, Num, RangeVal, Ref, Value, array, constant, number


@record(eq=False)
class Vectorized(Part):
    """Functions that are called for each element."""

    places: Places
    arrays: Arrays
    indexing: Indexing
    surface_calls: SurfaceCalls
    attributes: Attributes

    def call_vectorized(
        self, function: Value, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        """A scalar function made a ufunc by `@vectorize`: a loop over the elements."""
        if kwargs or not all(isinstance(a, (Num, Ref)) for a in args):
            self.places.refuse(node, "a vectorized function takes numbers and arrays here")
        if all(isinstance(a, Num) for a in args):
            result = self.evaluator.call(function, tuple(args), {}, node)
            return self.surface_calls.of_rank_0(result)
        total = self.arrays.sym(args[0])
        for a in args[1:]:  # the sum has the shape all arguments are broadcast to
            total = self.b.emit("add", total, self.arrays.sym(a))
        flat: list[Value] = []
        for a in args:
            if isinstance(a, Num):
                flat.append(a)
                continue
            full = self.arrays.wrap(
                self.b.emit("copy", self.b.emit("broadcast_like", self.arrays.sym(a), total))
            )
            flat.append(self.surface_calls.call_surface("numpy.ravel", (full,), {}, node))
        size = self.arrays.wrap(
            self.b.emit(
                "shape", self.arrays.sym(next(f for f in flat if isinstance(f, Ref))), axis=0
            )
        )
        size = number(size)
        zero, one = constant(0), constant(1)
        with self.b.into([]):  # one element, to learn the result's dtype
            before = self.state.copy()
            first = [self.attributes.row(f, zero, node) if isinstance(f, Ref) else f for f in flat]
            dtype = self.arrays.sym(self.evaluator.call(function, tuple(first), {}, node)).dtype
            self.session.state = before
        out = array(self.arrays.wrap(self.b.emit("zeros", size.operand, dtype=dtype)))
        index = core.Name(node.at, self.places.fresh_name(f"k_L{node.line}"))

        def body() -> bool:
            k = number(self.state.env.pop(index.id))
            elements = [self.attributes.row(f, k, node) if isinstance(f, Ref) else f for f in flat]
            value = self.evaluator.call(function, tuple(elements), {}, node)
            self.indexing.assign_index(out, (("int", k.operand),), value, node)
            return False

        self.evaluator.for_each(index, RangeVal(zero, size, one), body, None, node)
        return self.arrays.wrap(self.b.emit("reshape", self.arrays.sym(out), *total.shape))
