"""`s2s report`: the page, as text and in a browser."""

from __future__ import annotations

import html.parser
import json
import re
from pathlib import Path

import pytest

from tests.s2s.cli.browser import CHROMIUM, Browser
from tests.s2s.cli.files import LOSS, SPRING


def text_of(page: str) -> str:
    return re.sub(r"<[^>]*>", "", page)


class Checked(html.parser.HTMLParser):
    """A parser that checks that tags are closed, and collects elements that load or run
    something."""

    empty = ("meta", "br", "line", "rect", "path", "circle")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.foreign: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.empty:
            self.open.append(tag)
        self.scripts += tag == "script"
        self.foreign += [
            f"{tag} {k}" for k, v in attrs if k in ("src", "href", "srcset") or k.startswith("on")
        ]

    def handle_endtag(self, tag: str) -> None:
        assert tag in self.empty or self.open.pop() == tag


def test_what_the_page_tells(run, write, tmp_path):
    out = tmp_path / "page.html"
    done = run("report", f"{write(SPRING)}:energy", "-o", str(out), "--backend", "python",
               "--seconds", "0.01")  # fmt: skip
    assert done.code == 0, done.err
    assert done.out == f"{out}\n"
    page = out.read_text()
    told = text_of(page)
    for title in ("Function and gradient", "Memory over the step", "Saved for the adjoint sweep",
                  "Activity", "Compiling", "Every pass"):  # fmt: skip
        assert title in told
    for fact in ("x: float64[8]", "steps: 100", "np.sin(x)", "8 * x.shape[0] * steps",
                 "only in a comparison", "specialise → reverse", "× the function"):  # fmt: skip
        assert fact in told, fact
    assert "6.4 kB" in told  # 8 numbers in 100 iterations
    assert page.count("<svg") == 1 and "adjoint sweep</text>" in page
    checked = Checked()
    checked.feed(page)
    assert not checked.open and not checked.foreign and checked.scripts == 1


def test_text_of_the_user_is_escaped(run, write, tmp_path):
    text = 'import numpy as np\n\n\ndef f(x: "float64[3]", how="<img src=x onerror=alert(1)>"):\n'
    text += '    """</style><script>alert(1)</script>"""\n    # </pre><b>\n'
    text += '    assert how != "</script>"\n    return np.sum(x) * len("<i>&amp;")\n'
    out = tmp_path / "page.html"
    assert run("report", f"{write(text)}:f", "-o", str(out), "--no-run").code == 0
    page = out.read_text()
    checked = Checked()
    checked.feed(page)
    assert checked.scripts == 1 and not checked.foreign
    for forbidden in ("<img", "</pre><b>", "<script>alert"):
        assert forbidden not in page
    assert "&lt;/style&gt;" in page and "Content-Security-Policy" in page


def test_nothing_is_run_if_asked(run, write, tmp_path):
    text = 'def f(x: "float"):\n    if x < 1e9:\n        raise ValueError("no")\n    return x\n'
    file, out = write(text), tmp_path / "page.html"
    failed = run("report", f"{file}:f", "-o", str(out), "--backend", "python")
    assert failed.code == 3 and "ValueError: no" in failed.err and "--no-run" in failed.err
    assert run("report", f"{file}:f", "-o", str(out), "--no-run").code == 0
    assert "Memory over the step" not in out.read_text()


def test_another_mode(run, write, tmp_path):
    file, out = write("def f(x: 'float64[3]'):\n    return x * x\n"), tmp_path / "page.html"
    assert run("report", f"{file}:f", "-o", str(out), "--no-run").code == 4
    words = ("--mode", "vjp", "--backend", "python", "--seconds", "0.01")
    assert run("report", f"{file}:f", "-o", str(out), *words).code == 0
    assert "f_vjp" in out.read_text()


def test_json_and_a_folder_that_is_not_there(run, model, tmp_path):
    words = ("report", f"{model}:loss", "--args", LOSS, "--no-run", "--json")
    data = json.loads(run(*words, "-o", str(tmp_path / "a.html")).out)
    assert data["saved_bytes"] == 0 and data["active"] and data["times"] is None
    missing = run(*words, "-o", str(tmp_path / "none" / "a.html"))
    assert missing.code == 2 and "no such folder" in missing.err


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with Browser() as b:
        yield b


@pytest.fixture
def page(run, model, tmp_path) -> Path:
    out = tmp_path / "page.html"
    done = run("report", f"{model}:loss", "--args", LOSS, "-o", str(out), "--backend", "python",
               "--seconds", "0.01")  # fmt: skip
    assert done.code == 0, done.err
    return out


def lit(browser: Browser, side: str) -> list[str]:
    """The texts of the highlighted lines on one side."""
    return browser.value(
        f"[...document.querySelectorAll('.s2s-{side} .s2s-line')]"
        ".filter(e => getComputedStyle(e).backgroundColor != 'rgba(0, 0, 0, 0)')"
        ".map(e => e.querySelector('span').textContent.trim())"
    )


def line(browser: Browser, side: str, text: str) -> str:
    """A selector of the line with that text."""
    return browser.value(
        f"(() => {{ const all = [...document.querySelectorAll('.s2s-{side} .s2s-line')];"
        f"const i = all.findIndex(e => e.querySelector('span').textContent.trim() == {text!r});"
        "all[i].id = 'sought-' + i; return '#' + all[i].id; })()"
    )


def test_hovering_lights_up_the_counterparts(browser, page):
    browser.open(page)
    assert lit(browser, "left") == lit(browser, "right") == []
    browser.hover(line(browser, "left", "s += h[i, 0] * y[i]"))
    assert lit(browser, "left") == ["s += h[i, 0] * y[i]"]
    assert lit(browser, "right") == [
        "s += h[i, 0] * y[i]", "# L16: s += h[i, 0] * y[i]", "h_bar[i, 0] += s_bar * y[i]"
    ]  # fmt: skip
    browser.hover(line(browser, "right", "s_bar = out_bar / h.shape[0]"))
    assert lit(browser, "left") == ["return s / h.shape[0]"]
    # for a line of a helper, the line in the helper and the call are highlighted
    browser.hover(line(browser, "right", "h_1_bar = h_bar * (1.0 - h * h)"))
    assert lit(browser, "left") == ["h = act(x @ W + b)", "return np.tanh(z)"]
    browser.hover("footer")
    assert lit(browser, "left") == lit(browser, "right") == []
    assert not browser.errors


def test_a_click_finds_the_next_counterpart(browser, page):
    browser.open(page, height=300)
    own = line(browser, "left", "s += h[i, 0] * y[i]")
    texts = []
    for _ in range(4):
        browser.click(own)
        texts.append(browser.value("document.querySelector('.found span').textContent.trim()"))
    assert texts[1] == "# L16: s += h[i, 0] * y[i]" and texts[3] == texts[0]
    assert not browser.errors


def test_wide_and_narrow_light_and_dark(browser, page, tmp_path):
    seen = {}
    for width, dark in ((1400, False), (1400, True), (420, False)):
        browser.open(page, width, 900, dark)
        sizes = browser.value("[document.documentElement.scrollWidth, innerWidth]")
        assert sizes[0] <= sizes[1]  # no horizontal overflow
        boxes = browser.value(
            "[...document.querySelectorAll('.s2s-side')].map(e => e.getBoundingClientRect().x)"
        )
        assert (boxes[0] < boxes[1]) == (width > 900)
        back = browser.value("getComputedStyle(document.body).backgroundColor")
        text = browser.value("getComputedStyle(document.body).color")
        seen[width, dark] = back
        assert back != text
        picture = tmp_path / f"{width}{dark}.png"
        browser.picture(picture)
        assert picture.stat().st_size > 10_000
    assert seen[1400, False] == seen[420, False] != seen[1400, True]
