"""Writes docs/benchmarks.md and its plot from the measurements."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from . import judge as j
from . import row as r
from .reasons import REASONS

DASH = "–"
HEADINGS = {
    "training": "Training steps",
    "loops": "Gradients of loop programs",
    "second order": "Second order",
    "overhead": "Call overhead",
}


def write(rows: list[r.Row], results: dict[str, Any], path: Path) -> None:
    judged = [j.judge(row, results[row.name]) for row in rows if row.name in results]
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = path.with_suffix(".svg")
    drawn = plot(judged, picture)
    machines = [found["machine"] for found in results.values()]
    path.write_text(page(judged, machines, picture.name if drawn else ""))


def page(judged: list[j.Judged], machines: list[dict[str, Any]], picture: str) -> str:
    parts = ["# Benchmarks", conditions(machines), summary(judged)]
    if picture:
        parts.append(f"![How many times longer each peer takes]({picture})")
    short = [x for x in judged if x.shortfalls]
    if short:
        parts.append("## Rows that fall short")
        short.sort(key=lambda x: x.ahead or 0.0)
        parts.append(shortfall_table(short))
        parts.append(reasons(short))
    for group in r.GROUPS:
        members = [x for x in judged if x.row.group == group]
        if members:
            parts.append(f"## {HEADINGS[group]}")
            parts.append(times(members))
            parts.append(starts(members))
    failed = failures(judged)
    if failed:
        parts += ["## Not measured", failed]
    return "\n\n".join(part for part in parts if part) + "\n"


def conditions(machines: list[dict[str, Any]]) -> str:
    if not machines:
        return ""
    last = machines[-1]
    libraries = ", ".join(f"{name} {version}" for name, version in last["versions"].items())
    text = [
        "Written by `make bench`; figures are to be read as ratios.",
        f"{last['processor']}, {last['cores']} cores, Python {last['python']}, {libraries};",
        f"{last['threads']} thread(s) for every library.",
        "All peers of a row run in one process on the same inputs in the same dtype, their results",
        "are compared first, their repetitions alternate, and the least time of a call counts.",
        "The column s2s is the default back end, numba; njit and native are the other two.",
        "A call is the value and the gradient, or a whole training step.  Starts are measured in",
        "fresh processes, from the end of the import to the first result: cold with empty caches,",
        "warm with filled ones, the least of three unless they take long; memory is that of the",
        "warm process at its peak.",
    ]
    dates = sorted({machine["date"] for machine in machines if "date" in machine})
    if len(dates) > 1:
        text.append(f"The rows were measured between {dates[0]} and {dates[-1]}.")
    alike = [{k: v for k, v in m.items() if k not in ("date", "quick")} for m in machines]
    if any(machine != alike[-1] for machine in alike):
        text.append("**Some rows were measured with other versions or on another machine.**")
    if any(machine["quick"] for machine in machines):
        text.append("**Some rows are from a quick run with few repetitions.**")
    return "\n".join(text)


def summary(judged: list[j.Judged]) -> str:
    loops = [x for x in judged if x.row.group == "loops"]
    by_hand = [(x.to_jax, x.to_hand) for x in loops if x.to_jax and x.to_hand]
    ahead = [x.ahead for x in judged if x.ahead is not None]
    lines = [
        f"- faster than every peer on {sum(a > 1.0 for a in ahead)} of {len(ahead)} rows, "
        f"geometric mean {number(j.geometric_mean(ahead))}× the best peer",
        f"- loop programs: geometric mean {number(j.geometric_mean(x.to_jax for x in loops))}× "
        f"JAX (target {j.LOOPS_TO_JAX_MEAN:g}); of the {len(by_hand)} that have one, the "
        f"hand-written adjoint {number(j.geometric_mean(a * b for a, b in by_hand))}×, "
        f"s2s {number(j.geometric_mean(a for a, _ in by_hand))}×",
        "- time over the hand-written Numba adjoint: geometric mean "
        f"{number(j.geometric_mean(x.to_hand for x in judged))} (target {j.TO_HAND:g} each)",
        "- gradient over primal: geometric mean "
        f"{number(j.geometric_mean(x.to_primal for x in judged if j.counts_to_primal(x)))} "
        f"(targets {j.TO_PRIMAL_MEAN:g} in the mean, {j.TO_PRIMAL:g} each)",
    ]
    return "\n".join(lines)


def shortfall_table(judged: list[j.Judged]) -> str:
    head = ["row", "best peer / s2s", "JAX / s2s", "s2s / by hand", "gradient / primal", "short of"]
    body = [[x.row.title, *ratios(x), "; ".join(x.shortfalls)] for x in judged]
    return table(head, body)


def reasons(short: list[j.Judged]) -> str:
    """One line for each row with a known reason."""
    found = {
        start: why for x in short for start, why in REASONS.items() if x.row.name.startswith(start)
    }
    return "\n".join(f"- `{start}`: {why}" for start, why in found.items())


def ratios(x: j.Judged) -> list[str]:
    best = f"{number(x.ahead)} ({x.best})" if x.ahead is not None else DASH
    return [best, number(x.to_jax), number(x.to_hand), number(x.to_primal)]


def times(judged: list[j.Judged]) -> str:
    columns = (r.NATIVE, r.NJIT, r.HAND, *r.RIVALS)
    columns = [p for p in columns if any(p in x.seconds for x in judged)]
    head = ["row", "best peer / s2s", "JAX / s2s", "s2s / by hand", "gradient / primal", "s2s"]
    body = []
    for x in sorted(judged, key=lambda x: x.ahead or 0.0):
        own = duration(x.seconds.get(r.OURS))
        body.append([x.row.title, *ratios(x), own, *(duration(x.seconds.get(p)) for p in columns)])
    return table([*head, *columns], body)


def starts(judged: list[j.Judged]) -> str:
    peers = (r.OURS, r.NATIVE, r.NJIT, *r.RIVALS)
    peers = [p for p in peers if any(p in x.start for x in judged)]
    if not peers:
        return ""
    head = ["row", *(f"{p} {what}" for p in peers for what in ("cold", "warm", "MB"))]
    body = []
    for x in judged:
        cells = [x.row.title]
        for p in peers:
            cells += [seconds(x.started(p, when, "first")) for when in ("cold", "warm")]
            peak = x.started(p, "warm", "peak")
            cells.append(f"{peak:.0f}" if peak else DASH)
        body.append(cells)
    return "Seconds to the first result, and megabytes:\n\n" + table(head, body)


def failures(judged: list[j.Judged]) -> str:
    lines = []
    for x in judged:
        for peer, found in x.peers.items():
            if "error" in found:
                lines.append(f"- {x.row.title}, {peer}: {found['error'].splitlines()[0][:200]}")
    left_out = Counter(peer for x in judged if x.peers for peer in {*x.row.makers} - {*x.peers})
    for peer, count in sorted(left_out.items()):
        lines.append(f"- {peer}: not asked for on {count} rows")
    return "\n".join(lines)


def table(head: list[str], body: list[list[str]]) -> str:
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *body))


def number(value: float | None) -> str:
    if value is None:
        return DASH
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def seconds(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f}"


def duration(value: float | None) -> str:
    if value is None:
        return DASH
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value * 1e6:.3g} µs"


def plot(judged: list[j.Judged], path: Path) -> bool:
    """One line per row, one mark per peer: time of the peer over time of s2s."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "s2s"
    import matplotlib.pyplot as plt

    shown = [x for x in judged if x.ahead is not None or x.to_hand is not None]
    if not shown:
        return False
    shown.sort(key=lambda x: (r.GROUPS.index(x.row.group), x.ahead or 0.0), reverse=True)
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.24 * len(shown)), layout="constrained")
    marks = dict(zip((r.HAND, *r.RIVALS), "|osv^D*x"))
    for peer, mark in marks.items():
        places = [(x.ratio(peer), k) for k, x in enumerate(shown) if x.ratio(peer)]
        if places:
            size = 90 if peer == r.HAND else 26
            axes.scatter(*zip(*places), marker=mark, s=size, label=peer)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(shown)), [x.row.title for x in shown], fontsize=8)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    axes.set_xlabel("time of a peer / time of s2s (right of the line: s2s is faster)")
    axes.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=len(marks), fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return True
