"""Random statements that are not control flow."""

from __future__ import annotations

from .expressions import Expressions
from .scope import VECTORS, Scope

Lines = list[str]


class Statements(Expressions):
    """Each method returns the lines of a statement and adds the names it binds to the scope."""

    count = 0
    aliases = rebinding = True

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def bounded(self, text: str) -> str:
        return f"np.sin({text})" if self.rng.random() < 0.4 else text

    # ---- names

    def assign_scalar(self, scope: Scope) -> Lines:
        r = self.rng
        e = self.bounded(self.scalar(scope, r.randint(1, 2)))
        target = self.pick(scope, "s")
        form = r.random()
        if form < 0.25:
            target = self.fresh("c")
        elif form < 0.55:
            return [f"{target} {r.choice(['+=', '-=', '*='])} np.sin({e})"]
        elif form < 0.62:
            other = self.fresh("c")
            scope.names[other] = "s"
            return [f"{other} = {target} = {e}"]
        scope.names[target] = "s"
        return [f"{target} = {e}"]

    def unpack(self, scope: Scope) -> Lines:
        r = self.rng
        a, b = self.scalar(scope), self.scalar(scope)
        first, second = self.pick(scope, "s"), self.fresh("c")
        third = self.fresh("c")
        form = r.randrange(5)
        if form >= 3:
            scope.names.update({second: "s", third: "s"})
        else:
            scope.names[second] = "s"
        return [[
            f"{first}, {second} = pair({a}, {b})",
            f"{first}, {second} = {second_first(second, a)}, {b}",
            f"{first}, {second} = {b}, {first} * ({a})",
            f"{first}, ({second}, {third}) = {b}, pair({first}, {a})",
            f"({second}, {third}), {first} = ({a}, {first}), {b}",
        ][form]]  # fmt: skip

    def walrus(self, scope: Scope) -> Lines:
        name, target = self.fresh("c"), self.pick(scope, "s")
        line = f"{target} = ({name} := {self.scalar(scope)}) * {self.scalar(scope, 0)} + {name}"
        scope.names[name] = "s"
        return [line]

    def swap(self, scope: Scope) -> Lines:
        r = self.rng
        kind = r.choice([k for k in "svvmwuq" if len(scope.of(k)) > 1] or ["s"])
        names = scope.of(kind)
        if len(names) < 2 or kind != "s" and not self.rebinding:
            return self.assign_scalar(scope)
        a, b = r.sample(names, 2)
        if kind == "v" and not self.pure and r.random() < 0.3:
            i, j = self.index(scope, "v"), self.index(scope, "v")
            return [f"{a}[{i}], {b}[{j}] = {b}[{j}], {a}[{i}]"]
        return [f"{a}, {b} = {b}, {a}"]

    def define_flag(self, scope: Scope) -> Lines:
        name = self.fresh("b")
        line = f"{name} = {self.condition(scope)}"
        scope.names[name] = "f"
        return [line]

    def define_int(self, scope: Scope) -> Lines:
        name = self.fresh("k")
        line = f"{name} = {self.integer(scope)}"
        scope.names[name] = "k"
        return [line]

    def define_function(self, scope: Scope) -> Lines:
        """A function that reads the names around it, or a lambda."""
        r = self.rng
        name = self.fresh("g")
        inner = scope.inner(z="s")
        e = self.bounded(self.scalar(inner))
        if r.random() < 0.4:
            lines = [f"{name} = lambda z: {e} * z"]
        elif r.random() < 0.5:
            lines = [f"def {name}(z):", f"    return {e} + z"]
        else:
            lines = [f"def {name}(z):", f"    if {self.condition(inner)}:",
                     f"        return z * {self.const()}", f"    return {e} - z"]  # fmt: skip
        target = self.pick(scope, "s")
        lines.append(f"{target} = {name}({self.scalar(scope, 0)})")
        if scope.depth == 0:
            self.functions.append(name)
        return lines

    # ---- arrays, whole

    def new_array(self, scope: Scope) -> Lines:
        kind = self.rng.choice("vvwuyqqmd")
        name = self.fresh(kind)
        if kind == "m":
            text = self.matrix(scope)
        elif kind == "d":
            e = self.scalar(scope)
            text = self.rng.choice([f"np.array({e})", f"np.full((), {e})", f"np.asarray({e})"])
        else:
            text = self.bounded(self.vector(scope, kind, self.rng.choice([1, 1, 2])))
            if not any(c in text for c in "*+-/("):
                text += " * 1.0"
        scope.names[name] = kind
        return [f"{name} = {text}"]

    def rebind(self, scope: Scope) -> Lines:
        """Rebind a name to a new array, possibly of another size."""
        kinds = [k for k in "vwuyqqq" if scope.of(k)]
        if not kinds or not self.rebinding:
            return self.new_array(scope)
        kind = self.rng.choice(kinds)
        a, e = self.pick(scope, kind), self.vector(scope, kind)
        forms = [f"{a} = np.sin({e})", f"{a} = {a}.copy()"]
        forms += [f"{a} = {a} + {e}"] * (kind != "q")
        forms += [f"{a} = {self.vector(scope, 'q')}"] * (3 * (kind == "q"))
        if kind == "q":
            forms += [f"{a} = {a}[1:] if len({a}) > 2 else {a} * 0.5"]
        if scope.of("m"):
            forms.append(f"{self.pick(scope, 'm')} = {self.matrix(scope)}")
        return [self.rng.choice(forms)]

    def alias(self, scope: Scope) -> Lines:
        forms: list[tuple[str, str]] = []
        for v in scope.of("v"):
            forms += [("w", f"{v}[1:]"), ("w", f"{v}[:-1]"), ("v", v), ("v", f"{v}[::-1]"),
                      ("w", f"tail({v})"), ("y", f"{v}[2:]")]  # fmt: skip
        for m in scope.of("m"):
            forms += [("u", f"{m}[{self.index(scope, 'v')}]"), ("v", f"{m}[:, 1]"), ("m", m),
                      ("u", f"{m}.T[:, 0]"), ("m", f"{m}[::-1]"), ("m", f"{m}.T.T")]  # fmt: skip
        if not forms or not self.aliases:
            return self.new_array(scope)
        kind, text = self.rng.choice(forms)
        name = self.fresh("z")
        scope.names[name] = kind
        return [f"{name} = {text}"]

    def either(self, scope: Scope) -> Lines:
        """A name for either of two arrays, which is then written."""
        if len(scope.of("v")) < 2:
            return self.new_array(scope)
        a, b = self.rng.sample(scope.of("v"), 2)
        name, at = self.fresh("z"), self.index(scope, "v")
        first = f"{name} = {a} if {self.condition(scope)} else {b}"
        return [first, f"{name}[{at}] = {self.bounded(self.scalar(scope))}"]

    # ---- arrays, written in place

    def write_element(self, scope: Scope) -> Lines:
        target = self.element(scope)
        while target.partition("[")[0] not in scope.names:
            scope.names["x"] = "v"  # the statement also writes to an argument
            target = f"x[{self.index(scope, 'v')}]"
        e = self.bounded(self.scalar(scope, self.rng.randint(1, 2)))
        return [self.rng.choice([
            f"{target} = {e}", f"{target} += {e}", f"{target} = {target} + {e}",
            f"{target} *= {e}", f"{target} = {target} * ({e})", f"{target} -= np.sin({target})",
        ])]  # fmt: skip

    def write_slice(self, scope: Scope) -> Lines:
        if not scope.of("v"):
            return self.whole_array(scope)
        v = self.pick(scope, "v")
        e, whole = self.vector(scope, "w"), self.vector(scope, "v")
        forms = [
            f"{v}[1:] = {e}", f"{v}[:-1] = {e}", f"{v}[1:] += {e}", f"{v}[:] = np.sin({whole})",
            f"{v}[1:] = {v}[:-1]", f"{v}[:-1] = {v}[1:] * {self.const()}",
            f"{v}[:-1] = {v}[:-1] + {e}", f"{v}[::2] *= {self.scalar(scope)}",
            f"{v}[::-1] += {whole}", f"{v}[:2] = {self.scalar(scope)}", f"{v}[...] = {whole}",
            f"{v}[2:] = {self.vector(scope, 'y')}", f"{v}[1:-1] -= {self.vector(scope, 'y')}",
            f"{v}[1:] *= {v}[:-1]", f"{v}[:] = {v}[::-1]", f"{v}[1:-1] += {v}[2:] - {v}[:-2]",
        ]  # fmt: skip
        for i in scope.of("i"):
            forms += [f"{v}[{i}:] *= {self.const()}", f"{v}[:{i}] = {self.scalar(scope, 0)}",
                      f"{v}[{i}:{i} + 2] += {v}[{i} + 1]", f"{v}[{i} + 1:] = {v}[{i}:-1]",
                      f"{v}[{i}:] += {v}[:n + 2 - {i}]"]  # fmt: skip
        return [self.rng.choice(forms)]

    def whole_array(self, scope: Scope) -> Lines:
        named = scope.any(VECTORS + "d")
        if not named:
            return self.assign_scalar(scope)
        a, kind = self.rng.choice(named)
        if kind == "d":
            e = self.scalar(scope)
            forms = [f"{a} += {e}", f"{a}[()] = {e}", f"{a}[...] = {e}", f"{a} *= np.sin({e})"]
            return [self.rng.choice(forms)]
        e = f"{a} * {self.scalar(scope, 0)}" if kind == "q" else self.vector(scope, kind)
        forms = [f"{a} += {e}", f"{a} *= np.sin({e})", f"{a} -= {self.scalar(scope)}"]
        forms += [f"{a}[:] = {e}", f"{a} /= 1.5 + np.sum({a} * {a})"]
        return [self.rng.choice(forms)]

    def write_matrix(self, scope: Scope) -> Lines:
        if not scope.of("m"):
            return self.write_slice(scope)
        m = self.pick(scope, "m")
        i, j = self.index(scope, "v"), self.index(scope, "u")
        u, v = self.vector(scope, "u"), self.vector(scope, "v")
        return [self.rng.choice([
            f"{m}[{i}] = np.sin({u})", f"{m}[{i}] += {u}", f"{m}[:, {j}] = {v}",
            f"{m}[:, {j}] *= {self.scalar(scope)}", f"{m}[1:, :2] = {m}[:-1, 1:]",
            f"{m} *= {u}", f"{m}[{i}, 1:] = {self.scalar(scope)}", f"{m}.T[{j}] += {v}",
            f"{m} += ({v})[:, None]", f"{m}[1:] += {m}[:-1]",
            f"{m}[{i}], {m}[0] = {u}, {m}[{i}] * 0.5",
            f"{m}[idx] = {self.scalar(scope, 0)}", f"{m}[idx, 1] += {u}", f"{m}[{m} > 0.3] *= 0.5",
            f"{m}[:, :2] -= {m}[:, 1:]", f"{m}[:] = {self.matrix(scope)}", f"{m}[:2][1] *= 2.0",
        ])]  # fmt: skip

    def call_in_place(self, scope: Scope) -> Lines:
        choices = [f"{v}[1:]" for v in scope.of("v")] + scope.of("v", "w", "u", "q")
        choices += [f"{m}[{self.index(scope, 'v')}]" for m in scope.of("m")]
        if not choices:
            return self.assign_scalar(scope)
        return [f"damp({self.rng.choice(choices)}, {self.scalar(scope)})"]

    def masked(self, scope: Scope) -> Lines:
        named = [(n, k) for n, k in scope.any(VECTORS)]
        if not named:
            return self.assign_scalar(scope)
        v, kind = self.rng.choice(named)
        w = self.pick(scope, kind) if kind != "q" else v
        return [self.rng.choice([
            f"{v}[{w} > 0.1] = {self.scalar(scope)}", f"{v}[{w} > 0.2] *= 0.5",
            f"{v}[{w} < 0.0] = {w}[{w} < 0.0] * 0.5", f"{v}[np.abs({w}) > 0.5] += {self.const()}",
            f"{v}[:] = np.where({w} > 0.0, {v}, {w} * 0.3)",
        ])]  # fmt: skip

    def scatter(self, scope: Scope) -> Lines:
        if not scope.of("v"):
            return self.assign_scalar(scope)
        v, e = self.pick(scope, "v"), self.vector(scope, "u")
        return [self.rng.choice([
            f"{v}[idx] = {e}", f"{v}[idx] += {e}", f"np.add.at({v}, idx, {e})",
            f"{v}[idx[::-1]] *= {self.const()}", f"{v}[idx] = {v}[idx[::-1]]",
        ])]  # fmt: skip

    def through_view(self, scope: Scope) -> Lines:
        """A view that is created and written in one statement."""
        if not scope.of("m") or not scope.of("v"):
            return self.write_slice(scope)
        m, v, z = self.pick(scope, "m"), self.pick(scope, "v"), self.fresh("z")
        e, j, u = self.scalar(scope), self.index(scope, "u"), self.vector(scope, "u", 0)
        return self.rng.choice([
            [f"{z} = {m}.reshape(-1)", f"{z}[idx] = {e}"],
            [f"{z} = {m}.ravel()", f"{z}[-1] *= {e}"],
            [f"{z} = {m}.T", f"{z}[{j}] += {self.vector(scope, 'v', 0)}"],
            [f"{m}[1][{j}] += {e}"], [f"{m}[1:][0] = {u}"], [f"{m}[[0, 1]] = {m}[[1, 0]]"],
            [f"{v}.fill({e})"], [f"np.multiply({v}, {self.scalar(scope, 0)}, out={v})"],
            [f"np.copyto({v}, {self.vector(scope, 'v')})"], [f"{v}[:, None][1] += {e}"],
            [f"{v}[::-2] *= {e}"], [f"{v}[-1:0:-1] = {v}[:-1]"], [f"{m}[::-1, 1:] -= {m}[:, :-1]"],
            [f"{z}, {z}_ = split({v})", f"{z}_ *= {e}", f"{z} += {z}_[0]"],
            [f"{v}[np.arange(n + 2) % 2 == 0] = {e}"], [f"{v}[np.argmax({v})] = {e}"],
            [f"{v}[...], {self.pick(scope, 's')} = {self.vector(scope, 'v')}, np.sum({v})"],
        ])  # fmt: skip

    def writing_function(self, scope: Scope) -> Lines:
        """A function that writes to an array of the enclosing scope, called twice."""
        if not scope.of("v"):
            return self.define_function(scope)
        v, name = self.pick(scope, "v"), self.fresh("g")
        line = self.write_element(Scope({v: "v", "z": "s", **dict.fromkeys(scope.of("s"), "s")}))
        calls = [f"{name}({self.scalar(scope, 0)})", f"{name}({self.const()})"]
        return [f"def {name}(z):", f"    {line[0]}", *calls]

    def holder(self, scope: Scope) -> Lines:
        """Scalars and arrays in a dict or an object, written through it and read again."""
        if not scope.of("v"):
            return self.assign_scalar(scope)
        o, v, t = self.fresh("o"), self.pick(scope, "v"), self.pick(scope, "s")
        e, i = self.scalar(scope), self.index(scope, "v")
        if self.rng.random() < 0.5:
            return [f"{o} = Pair({t}, {v})", f"{o}.t += np.sin({e})", f"{o}.v[{i}] *= {o}.t",
                    f"{t} = {o}.t"]  # fmt: skip
        return [f"{o} = {{'t': {t}, 'v': {v}}}", f"{o}['t'] *= np.sin({e})",
                f"{o}['v'][{i}] += {o}['t']", f"{t} = {o}['t']"]  # fmt: skip

    # ---- lists

    def make_list(self, scope: Scope) -> Lines:
        name = self.fresh("l")
        a, b = self.scalar(scope, 0), self.scalar(scope)
        vectors = scope.of("v", "w", "u", "q") or ["x"]
        v = self.rng.choice(vectors)
        line = self.rng.choice([
            f"{name} = [{a}, {b}]", f"{name} = [{b}]", f"{name} = [e * {a} for e in {v}]",
            f"{name} = [x[k] * {a} for k in range(2)]", f"{name} = [{v}[0]]",
            f"{name} = list({v})", f"{name} = [{a}] * 2",
        ])  # fmt: skip
        scope.names[name] = "l"
        return [line]

    def use_list(self, scope: Scope) -> Lines:
        if not scope.of("l"):
            return self.make_list(scope)
        x, e = self.pick(scope, "l"), self.bounded(self.scalar(scope))
        if self.rng.random() < 0.2:
            return [f"if len({x}) > 1:", f"    {self.pick(scope, 's')} = {x}.pop()"]
        return [self.rng.choice([
            f"{x}.append({e})", f"{x}.append({e})", f"{x}[-1] = {e}", f"{x}[0] += {e}",
            f"{self.pick(scope, 's')} = sum({x}) * {self.const()}", f"{x}.extend([{e}, 0.5])",
        ])]  # fmt: skip


def second_first(name: str, text: str) -> str:
    """The right side of a tuple assignment, which must not read the names that it binds."""
    return text if name not in text else "0.5"
