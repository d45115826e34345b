"""Arrays while specialising: cells and views are resolved to versions of values.

Reading a reference yields the version its cell holds now, seen through its view path.
Writing yields a new version of the whole cell, so that every alias sees it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..ir.builder import Sym
from ..ir.errors import S2STypeError
from ..ir.nodes import Array, ListOf, Operand, Record, Rng, Scalar, Var, is_complex
from ..ir.path_kinds import KIND_NAMES, at_most, dtype_kind
from ..ir.record import field, record
from ..rules.integer_range_checks import require_in_range
from ..rules.promotion import differ_in_integer_dtype, join_elements
from ..syntax import core
from .places import Places
from .session import Part
from .values import (
    Bound,
    Cell,
    Closure,
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
    Rec,
    Ref,
    RestVal,
    RngVal,
    TupleVal,
    Value,
    ViewStep,
    ZipVal,
    constant,
    kind_text,
)

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


def number_path(path: tuple[ViewStep, ...], first: int) -> tuple[tuple[Any, ...], list[Operand]]:
    """The same for a whole path: the attrs and operands of an `update`."""
    steps: list[Any] = []
    operands: list[Operand] = []
    for kind, what in path:
        if kind == "index":
            items, more = number_items(what, first + len(operands))
            steps.append((kind, items))
            operands += more
        elif kind == "reshape":
            start = first + len(operands)
            steps.append((kind, tuple(range(start, start + len(what)))))
            operands += what
        else:
            steps.append((kind, what))
    return tuple(steps), operands


@record(eq=False)
class Arrays(Part):
    """Cells and views of arrays, read as versions of values and written as new ones; lists."""

    places: Places
    # arrays that are elements of a run-time list too: writing to them is refused
    appended: set[Cell] = field(default_factory=set, init=False)
    # lists without elements that become lists of the run where something is appended
    run_time_lists: set[Cell] = field(default_factory=set, init=False)

    # ---- reading

    def sym(self, value: Num | Ref | Rec) -> Sym:
        """The current value as a builder operand."""
        if isinstance(value, Ref):
            self.evaluator.tape.note_access(value.cell)
            return Sym(self.b, self.read(value))
        if not hasattr(value, "operand"):
            what = f"a number or an array was expected here, not {kind_text(value)}"
            raise self.places.refusal(
                self.places.stmt or self.places.frame.node, what, "", S2STypeError
            )
        return Sym(self.b, value.operand)

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

    # ---- results of operations

    def wrap(self, result: Any, refs: tuple[Ref, ...] = ()) -> Value:
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

    def fold(self, operand: Var) -> tuple[Any] | None:
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
        if found.cell in self.evaluator.tape.variables and steps:
            return self.evaluator.tape.part_of_variable(found, operand)
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
        variable = self.evaluator.tape.variables.get(value.cell)
        return bool(value.cell.tensor) or hasattr(variable, "_s2s_tensors")

    def as_tensor(self, value: Value) -> Value:
        """The present value of an array, or of those in a structure, as a tensor.  Later writes
        into the array make new versions of it, so nothing is copied here."""
        if isinstance(value, Ref) and (
            not value.cell.tensor or value.cell in self.evaluator.tape.variables
        ):
            self.evaluator.tape.note_access(value.cell)
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

    def write(
        self, ref: Ref, steps: tuple[ViewStep, ...], value: Any, node: core.Node, add: bool = False
    ) -> None:
        """`ref[steps] = value` (or `+=`, counting repeated indices): a new version of the cell."""
        cell = ref.cell
        self.refuse_tensor(cell, node)
        if cell.choice is not None:
            self._write_choice(ref, steps, value, node, add)
            return
        if cell.param is not None and self.session.outer is not None:
            self.places.refuse(
                node,
                f"{cell.label} belongs to the caller, and a function whose recursion ends "
                "at run time may not write into it",
                "copy the array, and return the copy",
            )
        self.refuse_shared(cell, node)
        if cell.readonly:
            # Nothing is written, so nothing but this raises.
            self.b.fail("ValueError", "assignment destination is read-only")
            return
        base = self.state.heap[cell]
        assert isinstance(base, Var) and isinstance(base.type, Array)
        path, operands = number_path((*ref.path, *steps), 2)
        value = self.b.sym(value)
        if is_complex(value.type) and not is_complex(base.type):
            self.places.refuse(
                node,
                f"a complex value cannot be stored in an array of {base.type.dtype}",
                "make the array complex, or store the value's .real",
            )
        self._refuse_truncation(base, value, label=base.user or cell.label, node=node)
        basic = all(kind != "index" or is_basic(what) for kind, what in steps)
        require_in_range(self.b, value, base.type.dtype, numpy_numbers=basic)
        value = value.astype(base.type.dtype)
        label = base.user or cell.label
        new = self.b.emit(
            "update_add" if add else "update",
            base,
            value,
            *operands,
            path=path,
            hint=label or "t",
            user=label,
        )
        assert isinstance(new.operand, Var)
        self.state.heap[cell] = new.operand
        self.evaluator.tape.note_assignment(cell, base)
        self._refresh_choices(cell)

    def _refuse_truncation(self, base: Var, value: Sym, label: str, node: core.Node) -> None:
        """Refuses a store that NumPy converts to the dtype that the array has on one path only."""
        least, own = self.b.least_kind(base), dtype_kind(base.type)
        if least in ("", own) or at_most(dtype_kind(value.type), least):
            return
        names = KIND_NAMES[least], KIND_NAMES[own]
        self.places.refuse(
            node,
            f"{label or 'this array'} has the dtype {names[0]} on one path and {names[1]} on "
            f"another, and NumPy would convert what is stored in it to {names[0]} on the first",
            f"give it the dtype {names[1]} on all paths, by dtype= or by a number such as 0.0",
        )

    def _write_choice(self, ref: Ref, steps: Any, value: Any, node: core.Node, add: bool) -> None:
        """A name that is one of two arrays: the write goes to the one it is."""
        cond, x, y = ref.cell.choice

        def into(target: Ref) -> Any:
            def run() -> bool:
                self.write(Ref(target.cell, target.path + ref.path), steps, value, node, add)
                return False

            return run

        self.evaluator.joins.if_(Num(cond), into(x), into(y))

    def _refresh_choices(self, written: Cell) -> None:
        """What may be the written array is read again from the array it is."""
        for cell in list(self.state.heap):
            if cell.choice is not None and written in (cell.choice[1].cell, cell.choice[2].cell):
                cond, x, y = cell.choice
                value = self.evaluator.expressions.choose(
                    Num(cond),
                    lambda x=x: self._fresh_read(x),
                    lambda y=y: self._fresh_read(y),
                    self.places.stmt,
                )
                self.state.heap[cell] = self.state.heap[value.cell]

    def _fresh_read(self, ref: Ref) -> Ref:
        value = self.read(ref)
        return self.new_array(value)

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
        frames = {f.depth: f for f in self.places.stack if f.owner is self.evaluator}
        for depth, env in enumerate(self.state.envs):
            frame = frames.get(depth)
            alive = None if frame is None else frame.lifetimes.get(id(frame.stmt))
            # Names in angle brackets are the compiler's own.
            todo += [v for n, v in env.items() if alive is None or n in alive or n[0] == "<"]
        # What objects and containers from outside hold can be reached after the call.
        todo += [self.state.heap.get(cell) for cell in self.evaluator.effects.first_contents]
        return todo

    def reachable(self) -> set[Cell]:
        """Cells that can still be reached through a name that may yet be read."""
        return self.cells_in(self.live_values())

    def cells_in(self, values: list[Value]) -> set[Cell]:
        """The cells of these values, and all that can be reached from there."""
        found: set[Cell] = set()
        todo = list(values)
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

    def new_dict(self, keys: tuple[Any, ...], values: tuple[Value, ...]) -> DictVal:
        cell = Cell()
        self.state.heap[cell] = Fields(keys, values)
        return DictVal(cell)

    def new_instance(
        self, cls: Any, keys: tuple[Any, ...], values: tuple[Value, ...]
    ) -> InstanceVal:
        cell = Cell()
        self.state.heap[cell] = Fields(keys, values)
        return InstanceVal(cell, cls)

    def grow(self, content: Items, elem: Any, node: core.Node | None) -> Growing:
        """A list of known length as a run-time list with elements of type `elem`."""
        value = self.b.emit("list_new", type=ListOf(elem))
        for item in content.values:
            if not isinstance(item, (Num, Ref)):
                self.places.refuse(
                    node,
                    "a list that grows in a loop may hold numbers or arrays only",
                    "keep one list per field",
                )
            if isinstance(item, Ref):
                self.appended.add(item.cell)
            value = self.b.emit("list_append", value, self.as_element(self.element(item), elem))
        return Growing(value.operand)

    def element(self, value: Num | Ref) -> Sym:
        """A value as an element of a run-time list: arrays of rank 0 are numbers there."""
        item = self.sym(value)
        is_array = isinstance(item.type, Array) and not item.ndim
        return self.b.emit("index", item, items=()) if is_array else item

    def as_element(self, item: Sym, elem: Any) -> Sym:
        """A number or array of a list, converted to the dtype of the list's elements."""
        cast = item.astype(elem.dtype)
        self.b.set_least_kind(cast.operand, self.b.least_kind(item.operand))
        return cast

    def widened(self, content: Growing, type_: Any, node: core.Node | None) -> Growing:
        """A run-time list that can hold elements of this type too without loss."""
        elem = content.operand.type.elem
        if not elem.ndim and differ_in_integer_dtype(elem, type_):
            self.places.refuse(
                node,
                f"a list of {elem.dtype} and {type_.dtype} numbers",
                "convert them to one dtype",
            )
        dtype = join_elements(_shapeless(elem), _shapeless(type_)).dtype
        if dtype == elem.dtype:
            return content
        if elem.ndim:
            self.places.refuse(
                node,
                f"a list of {elem.dtype} arrays cannot take one of {type_.dtype}",
                "give all its arrays one dtype",
            )
        numbers = self.b.emit("list_stack", content.operand).astype(dtype)
        wide = self.b.emit("list_unstack", numbers).operand
        self.b.set_least_kind(wide, self.b.least_kind(content.operand))
        return Growing(wide)


def _shapeless(type_: Any) -> Any:
    return replace(type_, shape=()) if isinstance(type_, Array) else type_


def _one_of(cell: Cell, other: Cell) -> bool:
    """Whether `cell` is known to be `other` or one more array, so that writes are followed."""
    return cell.choice is not None and other in (cell.choice[1].cell, cell.choice[2].cell)
