"""What MkDocs needs to show pages that are written to be read, and run, in the repository.

- Fences carry words for the tests (`python output`, `sh no-run`), of which only outputs look
  different.  A block that is a file of its own gets its name and line numbers, since what follows
  refers to them.
- CONTRIBUTING.md and CHANGELOG.md live beside docs/, and are pages of the site all the same.
- Links to other files of the repository, which are no pages, become plain text.
- benchmarks.md is written by `make bench`; until then the navigation does without it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md")
MEASURED = "benchmarks.md"
FENCE = re.compile(
    r"^```(?P<language>\w+)(?: (?P<kind>[\w-]+))?\n(?P<name>(?:#|//) \w+\.\w+$)?", re.MULTILINE
)
# Links between files; what looks like one inside of code is code.
LINK = re.compile(
    r"^```.*?^```$|`[^`\n]+`|\[([^\]]+)\]\((?!\w+:|#)([^)#\s]+)(#[^)]*)?\)",
    re.MULTILINE | re.DOTALL,
)


def on_config(config: Any) -> Any:
    if not (ROOT / "docs" / MEASURED).exists():
        for section in config["nav"]:
            for pages in section.values():
                pages[:] = [page for page in pages if MEASURED not in page.values()]
    return config


def on_files(files: Files, *, config: Any) -> Files:
    for name in BESIDE:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    here = page.file.src_uri
    folder = Path("docs", here).parent if here not in BESIDE else Path()

    def link(match: re.Match[str]) -> str:
        if not match[2]:
            return match[0]
        text, target, anchor = match[1], match[2], match[3] or ""
        path = (ROOT / folder / target).resolve()
        if path.is_relative_to(ROOT / "docs") and path.suffix == ".md":
            page_name = path.relative_to(ROOT / "docs").as_posix()
        elif path.parent == ROOT and path.name in BESIDE:
            page_name = path.name
        else:
            return text if path.exists() and path.suffix != ".svg" else match[0]
        up = "../" * here.count("/")
        return f"[{text}]({up}{page_name}{anchor})"

    return FENCE.sub(fence, LINK.sub(link, markdown))


def fence(match: re.Match[str]) -> str:
    language, kind, name = match["language"], match["kind"], match["name"] or ""
    opening = f"``` {language}"
    if kind == "output":
        opening = f"``` {{.{language} .output}}"
    elif name:
        opening += f' title="{name.split()[1]}" linenums="1"'
    return f"{opening}\n{name}"
