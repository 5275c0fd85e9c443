"""A headless Chromium for tests of pages, driven over its own pipe: nothing but Chromium is needed.

with Browser() as browser:
    page = browser.open(path)
    page.click("#message-list button")
    assert page.value("document.title") == "..."
    assert page.errors == []
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
    "--no-first-run", "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
)  # fmt: skip
TIMEOUT_S = 60.0


def installed() -> str | None:
    """The path of a Chromium; None: there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class BrowserError(Exception):
    """What the browser answered that is no answer."""


class Browser:
    """A browser of its own, with a profile that is gone afterwards."""

    def __init__(self) -> None:
        self._number = 0
        self._events: list[dict[str, Any]] = []
        self._buffer = b""

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        reading, self._write = os.pipe()
        self._read, writing = os.pipe()
        to_read, to_write = _moved_up(reading), _moved_up(writing)
        command = [str(installed()), *FLAGS, f"--user-data-dir={self._folder.name}", "about:blank"]
        # Chromium reads orders from descriptor 3 and answers on 4.
        shell = f'exec "$@" 3<&{to_read} 4>&{to_write} {to_read}<&- {to_write}>&-'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.ask("Browser.close")
            self._process.wait(10)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._folder.cleanup()

    def open(self, path: Path, *, width: int = 1200, height: int = 900, fragment: str = "") -> Page:
        """A page in a tab of its own, loaded to its end."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Log"):
            page.ask(f"{domain}.enable")
        page.resize(width, height)
        page.ask("Page.navigate", url=path.resolve().as_uri() + fragment)
        page.wait("document.readyState === 'complete' && location.href !== 'about:blank'")
        return page

    def ask(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """One order and its answer."""
        self._number += 1
        order: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session is not None:
            order["sessionId"] = session
        os.write(self._write, json.dumps(order).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            self._events.append(answer)

    def events(self, session: str) -> list[dict[str, Any]]:
        """What the browser reported of a page."""
        return [event for event in self._events if event.get("sessionId") == session]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            piece = os.read(self._read, 1 << 20)
            if not piece:
                raise BrowserError("the browser has ended")
            self._buffer += piece
        first, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(first))


class Page:
    """One tab."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """An order to this tab."""
        return self._browser.ask(method, self._session, **params)

    def value(self, expression: str) -> Any:
        """Of a JavaScript expression.

        Raises:
            BrowserError: It throws.
        """
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until a JavaScript expression is true."""
        end = time.monotonic() + TIMEOUT_S
        while not self.value(condition):
            if time.monotonic() > end:
                raise BrowserError(f"not true within {TIMEOUT_S:.0f} s: {condition}")
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """With the mouse, on the middle of what is shown of the first such element."""
        x, y = self._middle(selector)
        self.mouse("mousePressed", x, y, 1)
        self.mouse("mouseReleased", x, y, 1)

    def drag(self, selector: str, from_share: float, to_share: float) -> None:
        """With the mouse, across an element, from one share of its width to another."""
        left, y, width = self._box(selector)
        ends = [left + share * width for share in (from_share, to_share)]
        self.mouse("mousePressed", ends[0], y, 1)
        for share in (0.5, 1.0):
            self.mouse("mouseMoved", ends[0] + share * (ends[1] - ends[0]), y, 1)
        self.mouse("mouseReleased", ends[1], y, 1)

    def mouse(self, kind: str, x: float, y: float, count: int) -> None:
        """One event of the mouse."""
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=count)

    def type(self, text: str) -> None:
        """Text, into what has the focus."""
        self.ask("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """A key by its name: `ArrowDown`, `Enter`, `Tab`."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            pressed = text if kind == "keyDown" else {}
            self.ask(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key,
                windowsVirtualKeyCode=codes[key], **pressed,
            )  # fmt: skip

    def resize(self, width: int, height: int) -> None:
        """The window."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, scheme: str) -> None:
        """`light` or `dark`."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path: Path, selector: str | None = None) -> None:
        """The window, or an element as a whole."""
        options: dict[str, Any] = {}
        if selector is not None:
            script = "JSON.stringify(document.querySelector({}).getBoundingClientRect())"
            box = json.loads(self.value(script.format(json.dumps(selector))))
            top = self.value("window.scrollY")
            size = {name: box[name] for name in ("x", "width", "height")}
            options = {"clip": {**size, "y": box["y"] + top, "scale": 1}, "captureBeyondViewport": True}
        path.write_bytes(
            base64.b64decode(self.ask("Page.captureScreenshot", format="png", **options)["data"])
        )

    def printed(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"])

    @property
    def errors(self) -> list[str]:
        """What the page threw, or wrote to the console as an error or a warning."""
        self.value("1")  # what was reported before this has come by now
        return [text for event in self._browser.events(self._session) if (text := _error(event))]

    def _middle(self, selector: str) -> tuple[float, float]:
        left, y, width = self._box(selector)
        return left + width / 2, y

    def _box(self, selector: str) -> tuple[float, float, float]:
        """Left, middle of the height, and width, in the window."""
        script = (
            "(() => {{ const e = document.querySelector({0}); if (!e) return null;"
            "e.scrollIntoView({{block: 'center', behavior: 'instant'}});"
            "const b = e.getBoundingClientRect(); return [b.x, b.y + b.height / 2, b.width]; }})()"
        )
        box = self.value(script.format(json.dumps(selector)))
        if box is None:
            raise BrowserError(f"there is no {selector} on the page")
        return box[0], box[1], box[2]


def _moved_up(descriptor: int) -> int:
    """The same file by a number beyond those that the shell gives to Chromium."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10)
    os.close(descriptor)
    return moved


def _error(event: Mapping[str, Any]) -> str:
    params = event.get("params", {})
    match event.get("method"):
        case "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            return str(details.get("exception", {}).get("description") or details["text"])
        case "Runtime.consoleAPICalled" if params["type"] in {"error", "warning", "assert"}:
            return " ".join(str(each.get("value")) for each in params["args"])
        case "Log.entryAdded" if params["entry"]["level"] in {"error", "warning"}:
            return str(params["entry"]["text"])
    return ""
