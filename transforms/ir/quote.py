"""Escape untrusted text (names, file names, messages) for the language it is written into.

File names, qualified names and the names of variables are arbitrary strings.  Each function here
yields text that cannot end the comment, string or line it is put into.  Every template that
writes such text uses one of them.
"""

from __future__ import annotations

import keyword
import os
import re


def printable(text: str) -> str:
    """One line without control characters: line breaks, terminal escapes, marks of bidirectional
    text and lone surrogates become backslash escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def printable_lines(text: str) -> str:
    """As `printable`, for several lines, which may be indented by tabs."""
    return "".join(c if c.isprintable() or c in "\n\t" else _escape(c) for c in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()


def file_name(path: str) -> str:
    """The base name of a path, for display."""
    return printable(os.path.basename(path))


# Python reads a comment with this text in the first two lines as the encoding of the file.
_CODING = re.compile(r"coding(?=[:=])")


def python_comment(text: str) -> str:
    """The text of a Python comment, without the `#`."""
    return _CODING.sub("coding ", printable(text))


def python_docstring(text: str) -> str:
    """A Python string literal in triple quotes."""
    inner = printable(text.replace("\\", "\\\\")).replace('"', '\\"')
    return f'"""{inner}"""'


def attribute(holder: str, name: str) -> str:
    """A Python expression that reads an attribute.  The name need not be an identifier, since
    `setattr` accepts any string."""
    plain = name.isidentifier() and name.isascii() and not keyword.iskeyword(name)
    return f"{holder}.{name}" if plain else f"getattr({holder}, {name!r})"


def c_comment(text: str) -> str:
    """The text of a C comment, without its delimiters.  It contains neither the start nor the
    end of a comment, and no line ends in a backslash."""
    inner = printable(text).replace("*/", "* /").replace("/*", "/ *")
    return inner + " " if inner.endswith(("\\", "*", "/")) else inner


def c_identifier(name: str) -> str:
    """A name of ASCII letters, digits and underscores; other letters are written as their code
    points, `u` and four hexadecimal digits."""
    ascii_name = "".join(c if c.isascii() or not c.isalnum() else f"u{ord(c):04x}" for c in name)
    return re.sub(r"\W", "_", ascii_name, flags=re.ASCII)


def html_text(text: str) -> str:
    """The text of an HTML element or attribute."""
    import html  # imported late: its tables are large

    return html.escape(printable_lines(text))
