"""Syntax highlighting of Python code as HTML: keywords, numbers, strings, comments, names.

It is a line-by-line lexer without a grammar, so it also works for the printed IR of the passes.
"""

from __future__ import annotations

import keyword
import re

from ..transforms.ir.quote import html_text

_WORDS = "|".join(sorted(keyword.kwlist))
_TOKEN = re.compile(
    rf"""(?P<c>\#.*)
    |(?P<s>[rbfRBF]{{0,2}}(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))
    |(?P<d>(?<=def\ )\w+)
    |(?P<k>\b(?:{_WORDS})\b)
    |(?P<n>\b\d[\w.]*(?:(?<=[eE])[+-]\d+)?)
    |(?P<b>\b\w+_bar(?:_\d+)?\b)""",
    re.VERBOSE,
)


def marked(line: str) -> str:
    """One line as HTML.  Classes: c comment, s string, d name that is defined, k keyword,
    n number, b adjoint."""
    out, done = [], 0
    for match in _TOKEN.finditer(line):
        out.append(html_text(line[done : match.start()]))
        out.append(f'<i class="{match.lastgroup}">{html_text(match[0])}</i>')
        done = match.end()
    return "".join([*out, html_text(line[done:])])


# Colours of the tokens and of the page, for the light and the dark theme.
COLOURS = """
  --back: #ffffff; --panel: #f6f7f9; --text: #1c2128; --faint: #6a737d; --line: #d9dde3;
  --lit: #fff1b8; --keyword: #8250df; --number: #0550ae; --string: #0a6640; --comment: #6e7781;
  --defined: #953800; --adjoint: #b3261e; --accent: #0969da; --second: #d9730d; color-scheme: light;
"""
DARK_COLOURS = """
  --back: #0f1318; --panel: #171c23; --text: #dfe5ec; --faint: #8b96a3; --line: #2b333d;
  --lit: #4a4116; --keyword: #c8a2ff; --number: #79b8ff; --string: #7ee0a8; --comment: #8b96a3;
  --defined: #ffb077; --adjoint: #ff9a8f; --accent: #58a6ff; --second: #f0a35e; color-scheme: dark;
"""
_KINDS = {
    "k": "keyword", "n": "number", "s": "string", "c": "comment", "d": "defined", "b": "adjoint",
}  # fmt: skip
_WITHIN = ":is(.s2s-sides, .s2s-code)"
MARKS = "\n".join(
    [
        f"{_WITHIN} i {{ font-style: normal; }}",
        *(f"{_WITHIN} i.{k} {{ color: var(--{name}); }}" for k, name in _KINDS.items()),
    ]
)


def themed(selector: str) -> str:
    """CSS that sets the colours of a selector, by the theme of the system or of the notebook."""
    return f"""
{selector} {{{COLOURS}}}
@media (prefers-color-scheme: dark) {{ {selector} {{{DARK_COLOURS}}} }}
body[data-jp-theme-light="true"] {selector}, body.vscode-light {selector} {{{COLOURS}}}
body[data-jp-theme-light="false"] {selector}, body.vscode-dark {selector} {{{DARK_COLOURS}}}
"""


def code_html(text: str) -> str:
    """Several lines of code as HTML."""
    lines = "\n".join(map(marked, text.splitlines()))
    return f'<pre class="s2s-code">{lines}</pre>'
