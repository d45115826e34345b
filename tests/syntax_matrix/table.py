"""The table of docs/language.md, from the programs."""

from __future__ import annotations

from pathlib import Path

from . import Program, read

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
_BEGIN, _END = "<!-- syntax: begin -->\n", "<!-- syntax: end -->\n"


def render() -> str:
    lines = ["| syntax | supported | refused: what to write instead |", "|---|---|---|"]
    kinds: dict[str, list[Program]] = {}
    for program in read():
        kinds.setdefault(program.kind, []).append(program)
    for kind, programs in kinds.items():
        supported = [_supported(p) for p in programs if p.refused is None]
        refused = [_refused(p) for p in programs if p.refused is not None]
        cells = (kind, "; ".join(supported), "; ".join(refused))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with the present table in it."""
    before, _, rest = PAGE.read_text("utf-8").partition(_BEGIN)
    return f"{before}{_BEGIN}\n{render()}\n{_END}{rest.partition(_END)[2]}"


def _supported(program: Program) -> str:
    notes = [f"Python {'.'.join(map(str, program.python))}"] if program.python > (3, 10) else []
    notes += [f"raises `{program.raises}`"] if program.raises else []
    return f"{program.form} ({', '.join(notes)})" if notes else program.form


def _refused(program: Program) -> str:
    return f"{program.form} ({program.advice})" if program.advice else program.form
