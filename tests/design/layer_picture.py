"""The layers of the code as a picture, drawn from the import-linter configuration.

python -m tests.design.layer_picture    writes docs/assets/layers.svg
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs" / "assets" / "layers.svg"

WIDTH, ROW, GAP, MARGIN, TITLE = 860, 30, 6, 16, 26
STYLE = "font-family:sans-serif;font-size:13px"


def contracts() -> list[dict[str, Any]]:
    """The layer contracts of pyproject.toml."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib  # type: ignore[no-redef]
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    return [contract for contract in found if contract["type"] == "layers"]


def svg() -> str:
    """Each contract as a stack of rows; a box imports only from boxes in lower rows."""
    shapes: list[str] = []
    y = MARGIN
    for contract in contracts():
        shapes.append(
            _text(MARGIN, y + 16, f"{contract['containers'][0]}: {contract['name']}", 600)
        )
        y += TITLE
        for layer in contract["layers"]:
            names = [name.strip() for name in layer.split("|")]
            width = (WIDTH - 2 * MARGIN - GAP * (len(names) - 1)) / len(names)
            for i, name in enumerate(names):
                x = MARGIN + i * (width + GAP)
                shapes.append(
                    f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW}" rx="4" '
                    'fill="#e8eef7" stroke="#5b7db1"/>'
                )
                shapes.append(_text(x + width / 2, y + 20, name, 400, "middle"))
            y += ROW + GAP
        y += MARGIN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" style="{STYLE}">'
    return "\n".join([head, *shapes, "</svg>", ""])


def _text(x: float, y: float, text: str, weight: int, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-weight="{weight}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )


if __name__ == "__main__":
    FILE.write_text(svg(), encoding="utf-8")
