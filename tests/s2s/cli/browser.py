"""A headless Chromium, controlled through a pipe by the DevTools protocol: pages, mouse,
screenshots."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


class Browser:
    """`with Browser() as b: b.open(path); b.hover(".line"); b.value("document.title")`"""

    def __enter__(self) -> Browser:
        assert CHROMIUM is not None
        self.folder = tempfile.mkdtemp(prefix="s2s-browser-")
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        # Chromium reads commands from 3 and answers on 4.
        words = " ".join([CHROMIUM, *FLAGS, f"--user-data-dir={self.folder}", "about:blank"])
        self.process = subprocess.Popen(
            ["bash", "-c", f"exec {words} 3<&{theirs_in} 4>&{theirs_out}"],
            pass_fds=(theirs_in, theirs_out), start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self.commands, self.answers = os.fdopen(ours_out, "wb"), os.fdopen(ours_in, "rb")
        self.count, self.session, self.errors = 0, None, []
        target = self._say("Target.createTarget", url="about:blank")["targetId"]
        attached = self._say("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._say(f"{domain}.enable")
        return self

    def __exit__(self, *_: Any) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.commands.close()
        self.answers.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _say(self, method: str, **params: Any) -> dict[str, Any]:
        self.count += 1
        message: dict[str, Any] = {"id": self.count, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        self.commands.write(json.dumps(message).encode() + b"\0")
        self.commands.flush()
        while True:
            answer = self._answer()
            if answer.get("id") == self.count:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.errors.append(json.dumps(answer["params"]))

    def _answer(self) -> dict[str, Any]:
        data = bytearray()
        while True:
            byte = self.answers.read(1)
            assert byte, "the browser has gone away"
            if byte == b"\0":
                return json.loads(data)
            data += byte

    # ---- pages

    def open(self, path: Path, width: int = 1400, height: int = 900, dark: bool = False) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._say("Emulation.setEmulatedMedia", features=[scheme])
        self._say(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
            mobile=False,
        )  # fmt: skip
        self._say("Page.navigate", url=path.as_uri())
        end = time.monotonic() + 30
        loaded = f"document.readyState == 'complete' && location.href == {path.as_uri()!r}"
        while not self.value(loaded):
            assert time.monotonic() < end
            time.sleep(0.01)

    def value(self, expression: str) -> Any:
        answer = self._say("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def hover(self, selector: str) -> None:
        self._mouse(selector, "mouseMoved")

    def click(self, selector: str) -> None:
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self._mouse(selector, kind)

    def _mouse(self, selector: str, kind: str) -> None:
        box = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); "
            "return [r.x + Math.min(60, r.width / 2), r.y + r.height / 2]; })()"
        )
        pressed = {"button": "left", "clickCount": 1} if kind != "mouseMoved" else {}
        self._say("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], **pressed)

    def picture(self, path: Path, whole: bool = False) -> None:
        data = self._say("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))
