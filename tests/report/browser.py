"""A small DevTools client for headless Chromium: what the tests of the report need."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

START_TIMEOUT_S = 120.0
CALL_TIMEOUT_S = 120.0


def find_chromium() -> str | None:
    """Path of Chromium, None when it is not installed."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


#: Marks of the tests that need one.
IN_BROWSER = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed"),
]


class Browser:
    """One Chromium with one page; every console message, exception and request is kept.

    No host name resolves, so a request to the network would fail and be seen. An error that the page does
    not catch fails the test, whatever it looked for.
    """

    def __init__(self, *, dark: bool = False, width: int = 1280, height: int = 900) -> None:
        program = find_chromium()
        if program is None:
            raise FileNotFoundError("chromium")
        self._profile = tempfile.mkdtemp(prefix="byteways-chromium-")
        self._dark = dark
        self.console: list[str] = []
        self.requests: list[str] = []
        self.errors: list[str] = []  # of all pages
        self._next = 0
        self._process = subprocess.Popen(
            [
                program,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--hide-scrollbars",
                "--host-resolver-rules=MAP * ~NOTFOUND",
                f"--window-size={width},{height}",
                f"--user-data-dir={self._profile}",
                "--remote-debugging-port=0",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._socket = _connect(*self._address())
        self._unread = b""
        target = self._call("Target.createTarget", {"url": "about:blank"}, session=None)["targetId"]
        attached = self._call("Target.attachToTarget", {"targetId": target, "flatten": True}, session=None)
        self._session: str | None = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Performance.enable", {"timeDomain": "threadTicks"})
        scheme = "dark" if dark else "light"
        self.call(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            self.call("Runtime.evaluate", {"expression": "0"})  # what was said before is received
        self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()
        shutil.rmtree(self._profile, ignore_errors=True)
        if value is None:
            assert self.errors == []

    def open(self, path: Path) -> float:
        """Opens a file and waits until it is loaded; returns CPU seconds of the page's thread, to which other
        work on this machine adds nothing.
        """
        self.console.clear()
        self.requests.clear()
        begin = time.monotonic()
        self.call("Page.navigate", {"url": path.resolve().as_uri()})
        while self.evaluate("document.readyState + location.protocol") != "completefile:":
            if time.monotonic() - begin > CALL_TIMEOUT_S:
                raise TimeoutError(f"{path} did not load")
            time.sleep(0.02)
        metrics = self.call("Performance.getMetrics")["metrics"]
        return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, awaited when it is a promise. Raises RuntimeError when it throws."""
        answer = self.call(
            "Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True}
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def call(self, method: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One command of the DevTools protocol."""
        return self._call(method, parameters or {}, session=self._session)

    def press(self, key: str) -> None:
        """A key, as a user presses it."""
        codes = {"Tab": 9, "Enter": 13, "ArrowRight": 39, "ArrowDown": 40, "Escape": 27}
        what = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
        if key == "Enter":
            what["text"] = "\r"
        self.call("Input.dispatchKeyEvent", {"type": "keyDown", **what})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **what})

    def screenshot(self, path: Path, selector: str | None = None) -> None:
        """A picture of the page as it is seen, or of one element."""
        what: dict[str, Any] = {"format": "png", "captureBeyondViewport": True}
        if selector:
            box = self.evaluate(
                f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView();"
                "const b = e.getBoundingClientRect();"
                "return [b.x + scrollX, b.y + scrollY, b.width, b.height]; })()"
            )
            time.sleep(0.5)
            what["clip"] = dict(zip(("x", "y", "width", "height"), box, strict=True)) | {"scale": 1}
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", what)["data"]))

    def pdf(self, path: Path) -> None:
        """What printing gives."""
        answer = self.call("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})
        path.write_bytes(base64.b64decode(answer["data"]))

    def _address(self) -> tuple[str, int, str]:
        """Host, port and path that Chromium prints when it listens."""
        deadline = time.monotonic() + START_TIMEOUT_S
        assert self._process.stderr
        while time.monotonic() < deadline:
            line = self._process.stderr.readline()
            match = re.search(r"ws://([\d.]+):(\d+)(/\S+)", line)
            if match:
                return match[1], int(match[2]), match[3]
            if not line and self._process.poll() is not None:
                break
        raise RuntimeError("chromium did not start")

    def _call(self, method: str, parameters: Mapping[str, Any], session: str | None) -> dict[str, Any]:
        self._next += 1
        number = self._next
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self._socket.sendall(_frame(json.dumps(message).encode()))
        while True:
            answer = json.loads(self._receive())
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _note(self, event: Mapping[str, Any]) -> None:
        """Keeps what the page said and asked for."""
        method, what = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.console.append(f"{what['type']}: {[arg.get('value') for arg in what['args']]}")
        elif method == "Runtime.exceptionThrown":
            self.console.append(f"exception: {json.dumps(what['exceptionDetails'])[:300]}")
            self.errors.append(self.console[-1])
        elif method == "Log.entryAdded":
            self.console.append(f"{what['entry']['level']}: {what['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"][:200])

    def _receive(self) -> bytes:
        """The next text message, put together from its frames."""
        message = b""
        while True:
            first, second = self._bytes(2)
            length = second & 127
            if length == 126:
                (length,) = struct.unpack(">H", self._bytes(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self._bytes(8))
            body = self._bytes(length)
            if first & 15 in (0, 1):
                message += body
                if first & 128:
                    return message

    def _bytes(self, count: int) -> bytes:
        while len(self._unread) < count:
            received = self._socket.recv(1 << 16)
            if not received:
                raise ConnectionError("chromium has gone away")
            self._unread += received
        taken, self._unread = self._unread[:count], self._unread[count:]
        return taken


def _connect(host: str, port: int, path: str) -> socket.socket:
    """A WebSocket (RFC 6455) to Chromium."""
    connection = socket.create_connection((host, port), CALL_TIMEOUT_S)
    key = base64.b64encode(os.urandom(16)).decode()
    connection.sendall(
        f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += connection.recv(1)
    if b" 101 " not in head.splitlines()[0]:
        raise ConnectionError(head.decode())
    return connection


def _frame(payload: bytes) -> bytes:
    """A masked text frame, as clients have to send."""
    size = len(payload)
    if size < 126:
        head = struct.pack(">BB", 0x81, 0x80 | size)
    elif size < 1 << 16:
        head = struct.pack(">BBH", 0x81, 0x80 | 126, size)
    else:
        head = struct.pack(">BBQ", 0x81, 0x80 | 127, size)
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
