"""Shell completion: `s2s completion bash` prints a script that completes commands, options, files,
and the functions in files.

The script calls `s2s _complete`, which parses files but never executes them.
"""

from __future__ import annotations

import argparse
import ast
import glob
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from .exit_codes import OK
from .target_path import functions_in, split

SCRIPTS = {
    "bash": r"""
_s2s() {
    local IFS=$'\n'
    COMPREPLY=($(s2s _complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null))
    # After a file comes a colon, after a folder what is in it.
    [[ ${COMPREPLY[0]} == *[/:] ]] && compopt -o nospace
}
complete -F _s2s s2s
""",
    "zsh": r"""
#compdef s2s
_s2s() {
    local -a found
    found=("${(@f)$(s2s _complete zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    [[ -z $found[1] ]] && return 1
    if [[ $found[1] == *[/:] ]]; then compadd -S '' -a found; else compadd -a found; fi
}
compdef _s2s s2s
""",
    "fish": r"""
complete -c s2s -f -a '(s2s _complete fish (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
""",
}
INSTALLED = {
    "bash": 'eval "$(s2s completion bash)"     in ~/.bashrc',
    "zsh": 'eval "$(s2s completion zsh)"      in ~/.zshrc, after compinit',
    "fish": "s2s completion fish | source      in ~/.config/fish/config.fish",
}
PASSES = (
    "desugar", "specialise", "reverse", "simplify", "save", "storage", "write", "lower", "all",
)  # fmt: skip


def add(parser: argparse.ArgumentParser) -> None:
    lines = "\n".join(f"  {text}" for text in INSTALLED.values())
    parser.epilog = f"to install it:\n{lines}"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", choices=tuple(SCRIPTS))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    print(SCRIPTS[options.shell].strip())
    return OK


def reply(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Print the completions for a shell.  `words` are the shell's name and the words so far; for
    bash, the whole line."""
    shell, *given = words
    if shell == "bash":
        given = _words(given[0])[1:]
    found = candidates(parser, given or [""])
    if shell == "bash" and ":" in given[-1]:
        # bash splits words at colons
        start = given[-1].rindex(":") + 1
        found = [c[start:] for c in found]
    print("\n".join(found))
    return OK


def _words(line: str) -> list[str]:
    """The words of a line.  The last may be incomplete or empty."""
    for closing in ("", '"', "'"):
        try:
            words = shlex.split(line + closing)
        except ValueError:
            continue
        return [*words, ""] if line[-1:].isspace() and not closing else words
    return [""]


def candidates(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """The completions of the last word."""
    *before, current = words
    if before:
        commands = _commands(parser)
        if before[0] not in commands:
            return []
        parser, before = commands[before[0]], before[1:]
        found = _of_command(parser, before, current)
    else:
        found = [*_commands(parser), *_options(parser, [])]
    return [c for c in found if c.startswith(current) and (c[:1] != "-" or current[:1] == "-")]


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _options(parser: argparse.ArgumentParser, before: Sequence[str]) -> list[str]:
    names = [a.option_strings for a in parser._actions if not set(a.option_strings) & set(before)]
    return [max(n, key=len) for n in names if n]


def _of_command(
    parser: argparse.ArgumentParser, before: Sequence[str], current: str
) -> Sequence[str]:
    last = before[-1] if before else ""
    for action in parser._actions:
        if last in action.option_strings and action.nargs != 0:
            return _values(action, before, current)
    function = _function(before)
    for action in parser._actions:
        if not action.option_strings and current[:1] != "-":
            if action.choices is not None:
                return [] if before and before[0] in action.choices else list(action.choices)
            return [] if function else _functions(current)
    return _options(parser, before)


def _values(action: argparse.Action, before: Sequence[str], current: str) -> Sequence[str]:
    """The completions of the value of an option."""
    if action.choices is not None:
        return list(action.choices)
    if action.dest == "after":
        return PASSES
    place, expression = split(_function(before) or "")
    if action.dest == "example":
        return _functions(current) if ".py" in current else functions_in(place)
    if action.dest == "wrt":
        done, _, _ = current.rpartition(",")
        names = [n for n in _parameters(place, expression) if n not in done.split(",")]
        return [f"{done},{n}" if done else n for n in names]
    return _files(current, "*") if action.dest == "output" else []


def _function(before: Sequence[str]) -> str | None:
    return next((w for w in before if ".py" in w and w[:1] != "-"), None)


def _functions(current: str) -> list[str]:
    place, _ = split(current)
    if ".py:" in current:
        return [f"{place}:{name}" for name in functions_in(os.path.expanduser(place))]
    return [name + ":" if name.endswith(".py") else name for name in _files(current, "*.py")]


def _files(current: str, pattern: str) -> list[str]:
    """Folders, and files that match a pattern, with the path prefix that the user typed."""
    head, start = os.path.split(current)
    folder = os.path.expanduser(head) or "."
    found = []
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*"))):
        name = os.path.basename(path)
        if name.startswith(start):
            if os.path.isdir(path):
                found.append(os.path.join(head, name) + "/")
            elif Path(name).match(pattern):
                found.append(os.path.join(head, name))
    return found


def _parameters(place: str, expression: str) -> list[str]:
    """The parameters of a function or method, parsed from its file."""
    try:
        tree: ast.AST = ast.parse(Path(place).expanduser().read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    for name in expression.split("."):
        body = getattr(tree, "body", [])
        kinds = (ast.FunctionDef, ast.ClassDef)
        found = [n for n in body if isinstance(n, kinds) and n.name == name]
        if not found:
            return []
        tree = found[0]
    if not isinstance(tree, ast.FunctionDef):
        return []
    given = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
    return [a.arg for a in given if a.arg not in ("self", "cls")]
