"""Arrays while specialising: cells and views are resolved to versions of values.

Reading a reference yields the version its cell holds now, seen through its view path.
Writing yields a new version of the whole cell, so that every alias sees it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ...frontend.pytree import Path
from ...ir.builder import Sym
from ...ir.errors import S2STypeError
from ...ir.nodes import Array, ListOf, Operand, Record, Rng, Scalar, Type, Var
from ...ir.path_kinds import KIND_NAMES, dtype_kind
from ...ir.record import field, record
from ...ir.symbolic_dims import Facts
from ...rules.declare import as_python_scalar
from ...rules.promotion import phi_operand_type
from ...syntax import core
from ..places import Places
from ..session import Part
from ..values import (
    Bound,
    Cell,
    Closure,
    Conflict,
    DictVal,
    EnumerateVal,
    Fields,
    GeneratorVal,
    Growing,
    InstanceVal,
    Items,
    KeysVal,
    LibraryVal,
    ListVal,
    MapVal,
    Maybe,
    Num,
    Obj,
    Partial,
    PyObject,
    Rec,
    Ref,
    RestVal,
    RngVal,
    State,
    TupleVal,
    Value,
    ViewStep,
    ZipVal,
    constant,
    kind_text,
)
from ..variables import Variables

_HOLDERS = (Bound, Partial, EnumerateVal, ZipVal, MapVal, LibraryVal, RestVal, KeysVal)


VIEWS = ("index", "transpose", "reshape", "expand_dims", "squeeze")


def is_basic(items: tuple[Any, ...]) -> bool:
    return all(item[0] not in ("array", "mask") for item in items)


def number_items(items: tuple[Any, ...], first: int) -> tuple[tuple[Any, ...], list[Operand]]:
    """Items with operands in place become items with positions, counted from `first`."""
    operands: list[Operand] = []

    def position(operand: Operand | None) -> int | None:
        if operand is None:
            return None
        operands.append(operand)
        return first + len(operands) - 1

    numbered = tuple((item[0], *(position(o) for o in item[1:])) for item in items)
    return numbered, operands


@record(eq=False)
class Arrays(Part):
    """Cells and views of arrays, read as versions of values and written as new ones; lists."""

    places: Places
    variables: Variables
    # arrays that are elements of a run-time list too: writing to them is refused
    appended: set[Cell] = field(default_factory=set, init=False)
    # lists without elements that become lists of the run where something is appended
    run_time_lists: set[Cell] = field(default_factory=set, init=False)
    # of cells reached from outside
    first_contents: dict[Cell, Any] = field(default_factory=dict, init=False)
    # those of dataclasses among them
    held_instances: set[Cell] = field(default_factory=set, init=False)

    # ---- reading

    def sym(self, value: Value) -> Sym:
        """The current value as a builder operand."""
        if isinstance(value, Ref):
            self.variables.note_access(value.cell)
            return Sym(self.b, self.read(value))
        if not hasattr(value, "operand"):
            what = f"a number or an array was expected here, not {kind_text(value)}"
            raise self.places.refusal(
                self.places.stmt or self.places.frame.node, what, "", S2STypeError
            )
        scalar: Any = value
        return Sym(self.b, scalar.operand)

    def read(self, ref: Ref) -> Var:
        base = self.state.heap[ref.cell]
        if not ref.path:
            return base
        # A view of a view begins at the longest part of its path that was read before.
        done, value = len(ref.path), base
        while done:
            hit = self.state.views.get((ref.cell, ref.path[:done]))
            if hit is not None and hit[0] == base.name:
                value = hit[1]
                break
            done -= 1
        for step in ref.path[done:]:
            done += 1
            value = self.apply_step(Sym(self.b, value), step).operand
            assert isinstance(value, Var)
            self.state.views[ref.cell, ref.path[:done]] = (base.name, value)
        return value

    def apply_step(self, base: Sym, step: ViewStep) -> Sym:
        kind, what = step
        if kind == "index":
            items, operands = number_items(what, 1)
            return self.b.emit("index", base, *operands, items=items)
        if kind == "reshape":
            return self.b.emit("reshape", base, *what)
        return self.b.emit(kind, base, axes=what)

    def require_one_kind(
        self, value: Value, node: core.Node | None, needed: str, of_bools: bool = False
    ) -> None:
        """Refuses a number or array whose dtype depends on the path, where the dtype decides; with
        `of_bools`, only one that is a bool on some path."""
        if not isinstance(value, (Num, Ref)):
            return
        operand = self.state.heap[value.cell] if isinstance(value, Ref) else value.operand
        lower, own = self.b.least_kind(operand), dtype_kind(operand.type)
        if lower not in ("", own) and (lower == "b" or not of_bools):
            names = KIND_NAMES[lower], KIND_NAMES[own]
            self.places.refuse(
                node,
                f"{needed} of a value that is {names[0]} on one path and {names[1]} on another",
                f"make it {names[1]} on all paths",
            )

    # ---- results of operations

    def wrap(self, result: Sym | Operand | PyObject, refs: tuple[Ref, ...] = ()) -> Value:
        """What a surface returned, as a value; views of the arguments stay views."""
        if isinstance(result, Sym):
            return self._wrap_operand(result.operand, refs)
        if isinstance(result, (Num, Ref, Rec, TupleVal, ListVal, DictVal, Obj, Closure, Bound)):
            return result
        if isinstance(result, tuple):
            named = type(result) if hasattr(result, "_fields") else None
            return TupleVal(tuple(self.wrap(r, refs) for r in result), named)
        if isinstance(result, list):
            return self.new_list(tuple(self.wrap(r, refs) for r in result))
        return constant(result)

    def _wrap_operand(self, operand: Operand, refs: tuple[Ref, ...]) -> Value:
        type_ = operand.type
        if isinstance(type_, Record):
            return Rec(operand)
        if isinstance(type_, Rng):
            return RngVal(operand)
        if isinstance(type_, ListOf):
            cell = Cell(operand.name if isinstance(operand, Var) else "")
            self.state.heap[cell] = Growing(operand)
            return ListVal(cell)
        if isinstance(type_, Scalar):
            if isinstance(operand, Var):
                return Num(operand, self.fold(operand))
            return Num(operand, (operand.value,))
        assert isinstance(operand, Var)
        memory = self.b.memory.get(operand.name)
        found = None if memory else self._as_view(operand, refs)
        if found is not None:
            return found
        array = self.new_array(operand)
        if memory in ("view", "writeable view"):
            array.cell.readonly = memory == "view"
            for ref in refs:
                self.state.entangle(array.cell, ref.cell)
        return array

    def fold(self, operand: Var) -> tuple[PyObject] | None:
        """An integer that is the same for every call is known: `len(static) - 1`, a fixed axis."""
        value = operand.type.value if isinstance(operand.type, Scalar) else None
        return (value.const,) if value is not None and value.is_const else None

    def new_array(self, operand: Var, label: str = "") -> Ref:
        cell = Cell(label)
        self.state.heap[cell] = operand
        return Ref(cell)

    def _as_view(self, operand: Var, refs: tuple[Ref, ...]) -> Ref | None:
        sources = {self.read(r).name: r for r in refs}
        steps: list[ViewStep] = []
        value: Operand = operand
        certain = readonly = False
        found: Ref | None = None
        while isinstance(value, Var):
            if value.name in sources:
                found = sources[value.name]
                break
            op = self.b.definitions.get(value.name)
            if op is None:
                break
            if op.name in ("broadcast_to", "broadcast_like"):
                readonly = True
            elif op.name == "index" and not is_basic(op.attrs["items"]):
                break
            elif op.name not in VIEWS:
                break
            else:
                steps.append(self._step_of(op))
            value = op.args[0]
        if found is None:
            return None
        if found.cell in self.variables.variables and steps:
            return self.part_of_variable(found, operand)
        steps.reverse()
        certain = not readonly and self._is_certain_view(found, steps)
        if certain:
            ref = Ref(found.cell, (*found.path, *steps))
            base = self.state.heap[ref.cell]
            if ref.path:
                self.state.views[ref.cell, ref.path] = (base.name, operand)
            return ref
        # NumPy may or may not share memory here: reading is fine, writing is refused.
        fresh = self.new_array(operand)
        fresh.cell.readonly, fresh.cell.tensor = readonly, found.cell.tensor
        self.state.entangle(fresh.cell, found.cell)
        return fresh

    def _step_of(self, op: Any) -> ViewStep:
        if op.name == "index":
            items = tuple(
                (item[0], *(None if p is None else op.args[p] for p in item[1:]))
                for item in op.attrs["items"]
            )
            return ("index", items)
        if op.name == "reshape":
            return ("reshape", tuple(op.args[1:]))
        return (op.name, op.attrs["axes"])

    def _is_certain_view(self, ref: Ref, steps: list[ViewStep]) -> bool:
        """A reshape shares memory for sure only while the array is contiguous."""
        contiguous = ref.cell.contiguous
        for kind, what in (*ref.path, *steps):
            if kind == "reshape":
                if not contiguous:
                    return False
            elif kind == "index":
                kinds = [item[0] for item in what]
                while kinds and kinds[0] in ("int", "new"):
                    kinds.pop(0)
                if any(k != "all" for k in kinds):
                    contiguous = False
            elif kind == "transpose":
                contiguous = contiguous and what == tuple(range(len(what)))
        return True

    # ---- tensors

    def is_tensor(self, value: Value) -> bool:
        """Whether operators with it give tensors of the `tf` namespace."""
        if not isinstance(value, Ref):
            return False
        variable = self.variables.variables.get(value.cell)
        return bool(value.cell.tensor) or hasattr(variable, "_s2s_tensors")

    def as_tensor(self, value: Value) -> Value:
        """The present value of an array, or of those in a structure, as a tensor.  Later writes
        into the array make new versions of it, so nothing is copied here."""
        if isinstance(value, Ref) and (
            not value.cell.tensor or value.cell in self.variables.variables
        ):
            self.variables.note_access(value.cell)
            made = self.new_array(self.read(value))
            made.cell.tensor = True
            return made
        if isinstance(value, TupleVal):
            return replace(value, values=tuple(map(self.as_tensor, value.values)))
        if isinstance(value, (ListVal, DictVal)) and not value.cell.path:
            content = self.state.heap[value.cell]
            if isinstance(content, (Items, Fields)):
                values = tuple(map(self.as_tensor, content.values))
                self.state.heap[value.cell] = replace(content, values=values)
            elif isinstance(content, Growing):
                self.state.heap[value.cell] = replace(content, tensor=True)
        return value

    def tensor_of(self, result: Value, *operands: Value) -> Value:
        """A new array that an operator made, as a tensor if one of its operands is one."""
        if isinstance(result, Ref) and any(map(self.is_tensor, operands)):
            result.cell.tensor = True
        return result

    def refuse_tensor(self, cell: Cell, node: core.Node) -> None:
        """Tensors are not written to."""
        if cell.tensor is None:
            self.places.refuse(
                node,
                f"{cell.label or 'this array'} is a tensor on one path, which cannot be "
                "written to, and a NumPy array on another",
                "make it a tensor on both, by tf.constant, or an array, by np.array",
            )
        if cell.tensor:
            text = "a tensor cannot be written to: use tf.tensor_scatter_nd_update, or write into "
            raise self.places.located(TypeError(f"{text}a NumPy array, np.array(tensor)"), node)

    # ---- writing

    def refuse_shared(self, cell: Cell, node: core.Node) -> None:
        """A write is resolved here and now; where another name may share the memory without
        our knowing, the outcome would depend on the run."""
        if cell in self.appended:
            self.places.refuse(
                node,
                f"{cell.label or 'this array'} is also an element of a list: "
                "this write cannot be followed",
                "append or take a copy: `.copy()`",
            )
        partners = [p for pair in self.state.pairs if cell in pair for p in pair if p is not cell]
        if not partners:
            return
        partners = [p for p in partners if not _one_of(p, cell) and not _one_of(cell, p)]
        reachable = self.reachable()
        for other in sorted(partners, key=lambda c: c.label):
            if other.param is not None or other.path or other in reachable:
                array = isinstance(self.state.heap.get(cell), Var)
                name = cell.label or ("this array" if array else "this object")
                label = other.label or ("another array" if array else "another")
                shared = f"share memory with {label}" if array else "be an object with two names"
                self.places.refuse(
                    node,
                    f"{name} may {shared}, so this write cannot be followed",
                    "make a copy first: `.copy()`" if array else "make a new one instead",
                )

    def live_values(self) -> list[Value]:
        """The values of names that may yet be read, and those outside of the function."""
        todo: list[Any] = []
        frames = {f.depth: f for f in self.places.stack if f.owner.session is self.session}
        for depth, env in enumerate(self.state.envs):
            frame = frames.get(depth)
            alive = None if frame is None else frame.lifetimes.get(id(frame.stmt))
            # Names in angle brackets are the compiler's own.
            todo += [v for n, v in env.items() if alive is None or n in alive or n[0] == "<"]
        # What objects and containers from outside hold can be reached after the call.
        todo += [self.state.heap.get(cell) for cell in self.first_contents]
        return todo

    def reachable(self) -> set[Cell]:
        """Cells that can still be reached through a name that may yet be read."""
        return self.cells_in(self.live_values())

    def cells_in(self, values: Iterable[Value | None]) -> set[Cell]:
        """The cells of these values, and all that can be reached from there."""
        found: set[Cell] = set()
        todo: list[Any] = list(values)
        while todo:
            value = todo.pop()
            if isinstance(value, GeneratorVal):
                todo += [value.first, *self.places.env_of(value.frame).values()]
                continue
            cell = getattr(value, "cell", None)
            if cell is not None:
                if cell in found:
                    continue
                found.add(cell)
                todo.append(self.state.heap.get(cell))
            elif isinstance(value, (TupleVal, Items, Fields)):
                todo += value.values
            elif isinstance(value, Maybe):
                todo.append(value.value)
            elif isinstance(value, Growing):
                todo.append(value.example)
            elif isinstance(value, _HOLDERS):
                todo += [getattr(value, "owner", None), getattr(value, "inner", None)]
                todo += getattr(value, "inners", ()) or getattr(value, "args", ())
        return found

    # ---- lists and friends

    def new_list(self, values: tuple[Value, ...], label: str = "") -> ListVal:
        cell = Cell(label)
        self.state.heap[cell] = Items(values)
        return ListVal(cell)

    def new_dict(self, keys: tuple[PyObject, ...], values: tuple[Value, ...]) -> DictVal:
        cell = Cell()
        self.state.heap[cell] = Fields(keys, values)
        return DictVal(cell)

    def new_instance(
        self, cls: PyObject, keys: tuple[PyObject, ...], values: tuple[Value, ...]
    ) -> InstanceVal:
        cell = Cell()
        self.state.heap[cell] = Fields(keys, values)
        return InstanceVal(cell, cls)

    def size(self, array: Sym, axis: int) -> Num:
        dim = self.b.facts.canonical(array.type.shape[axis])
        operand = self.b.emit("shape", array, axis=axis).operand
        return Num(operand, (dim.const,) if dim.is_const else None)

    def is_element(self, ref: Ref) -> None:
        """Notes that an array may be an element of a run-time list, or a view of one."""
        self.appended.add(ref.cell)

    def becomes_run_time_list(self, cell: Cell) -> bool:
        """Lets an empty list become one of the run where something is appended to it; whether
        that is new."""
        new = cell not in self.run_time_lists
        self.run_time_lists.add(cell)
        return new

    def note_first_content(self, cell: Cell, content: Fields) -> None:
        """What an object from outside held before the program wrote into it."""
        self.first_contents[cell] = content

    def from_outside(self, value: DictVal | ListVal | InstanceVal, path: Path) -> None:
        """Marks a container as one that was passed in, or reached."""
        value.cell.path = path
        if isinstance(value, InstanceVal):
            self.held_instances.add(value.cell)
        self.first_contents[value.cell] = self.state.heap[value.cell]

    def python_bool(self, value: Num) -> Num:
        """A truth value as Python's own, which counts as an integer in arithmetic."""
        return Num(as_python_scalar(self.sym(value)).operand, value.known)

    def negated(self, cond: Num) -> Num:
        """`not cond` of a bool number."""
        if cond.known is not None:
            return constant(not cond.known[0])
        return self.python_bool(Num(self.b.emit("logical_not", cond.operand).operand))

    def static(self, value: Value, node: core.Node, what: str) -> PyObject:
        """The Python value behind something that must be known while compiling."""
        if isinstance(value, Obj):
            return value.value
        if isinstance(value, Num) and value.known is not None:
            return value.known[0]
        if isinstance(value, TupleVal):
            return tuple(self.static(v, node, what) for v in value.values)
        if isinstance(value, Num):
            self.places.demand_static(value, node, what)
        return self.places.refuse(
            node, f"{what} must be known while compiling", "pass it through static_argnames"
        )

    def ref_type(self, ref: Ref) -> Array:
        """The type of a reference's value; reads it where it has not been read yet."""
        views, names = dict(self.state.views), self.b.names.snapshot()
        with self.b.into([]):
            type_ = self.read(ref).type
        self.state.views = views
        self.b.names.restore(names)
        assert isinstance(type_, Array)
        return type_

    def pass_sizes(self, value: Num | Ref | Rec, param: Var, facts: Facts) -> None:
        """Tells the facts of a callee the sizes of an argument, where they are known here."""
        assert facts.sizes is not None
        type_ = self.ref_type(value) if isinstance(value, Ref) else value.operand.type
        for axis, dim in enumerate(getattr(type_, "shape", ())):
            size = self.b.facts.size_of(dim)
            if size is not None:
                facts.sizes[f"{param.name}.{axis}"] = size

    def ref_type_in(self, state: State, ref: Ref) -> Array:
        saved, self.session.state = self.state, state
        type_ = self.ref_type(ref)
        self.session.state = saved
        return type_

    def type_where_joined(self, operand: Operand) -> Type:
        """The type of an operand; of a named literal that of its value."""
        return phi_operand_type(self.as_literal(operand))

    def as_literal(self, operand: Operand) -> Operand:
        """The constant that a name was bound to, or the operand itself."""
        op = self.b.definitions.get(operand.name) if isinstance(operand, Var) else None
        return op.args[0] if op is not None and op.name == "literal" else operand

    def usable(self, value: Value, node: core.Node) -> Value:
        """A value that was merged from several paths, unless the paths disagree."""
        if isinstance(value, Conflict):
            self.places.need_unroll(node, value.why, value.advice, peel=True)
        return value.value if isinstance(value, Maybe) else value

    def part_of_variable(self, view: Ref, value: Var) -> Ref:
        """What was read of a Variable stays as it is when the Variable changes."""
        self.variables.note_access(view.cell)
        part = self.new_array(value)
        part.cell.readonly, part.cell.tensor = True, self.is_tensor(view)
        return part


def _one_of(cell: Cell, other: Cell) -> bool:
    """Whether `cell` is known to be `other` or one more array, so that writes are followed."""
    return cell.choice is not None and other in (cell.choice[1].cell, cell.choice[2].cell)
