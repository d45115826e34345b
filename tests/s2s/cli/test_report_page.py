"""The page of `s2s report`: its sections, what is escaped, and how it behaves in a browser."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import re
from pathlib import Path

import pytest

from s2s.cli import report_page
from s2s.inspect.explain_text import amount
from s2s.transforms.diagnostics.activity_report import SourceLocation
from s2s.transforms.diagnostics.tape_report import Loop, Saved, Size
from tests.s2s.cli.browser import CHROMIUM, Browser
from tests.s2s.cli.files import LOSS, SPRING


def text_of(page: str) -> str:
    return re.sub(r"<[^>]*>", "", page)


class Checked(html.parser.HTMLParser):
    """Sees that tags are closed, and collects the elements that load or run something."""

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


# ---------------------------------------------------------------- parts of the page


def test_sizes():
    assert report_page._size(None, amount) == "?"
    assert report_page._size(Size("8 * n", None), amount) == "<code>8 * n</code>"
    assert report_page._size(Size("16", 16), str) == "16"
    assert report_page._size(Size("8 * n", 16), amount) == "16 B<br><code>8 * n</code>"


def test_rows_of_saved_values():
    place = SourceLocation("/home/user/<m>.py", 8, "for i in range(n < 3):")
    saved = Saved("t", "array", place, "x < 1", (Loop(place, None), Loop(None, None)),
                  Size("8", 8), None, None)  # fmt: skip
    assert report_page._saved_row(saved) == (
        "<code>x &lt; 1</code>",
        '<span class="place">L8</span>',
        "stored in each iteration<br>in a loop"
        '<br>in <span class="place">L8</span> <code>for i in range(n &lt; 3)</code>',
        "8 B",
        "",
        "?",
    )


def test_differences_between_passes():
    text = report_page._diff("@@ -1 +1 @@\n-x < 1\n+x > 1\n same")
    assert text == (
        '<pre class="s2s-code"><span class="where">@@ -1 +1 @@</span>\n'
        '<span class="removed">-x &lt; 1</span>\n<span class="added">+x &gt; 1</span>\n same</pre>'
    )


def test_only_the_script_of_the_page_may_run(run, model, tmp_path):
    out = tmp_path / "page.html"
    assert run("report", f"{model}:loss", "--args", LOSS, "--no-run", "-o", str(out)).code == 0
    page = out.read_text()
    policy = re.findall(r'Content-Security-Policy" content="(.*?)"', page)[0]
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'") and f"script-src 'sha256-{digest}'" in policy
    assert "http://" not in page.replace("http://www.w3.org/", "") and "https://" not in page


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
    """The texts of the lines that are lit up on a side."""
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
    # a line of a helper lights up in the helper, and the call that led there
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
        assert sizes[0] <= sizes[1]  # nothing hangs over
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
