"""Draws the pictures of docs/images from reports: the README's, and screenshots for the docs.

    python -m scripts.draw_pictures [NAME ...]

Chromium shows the report of a recorded run (`make examples`), and of runs that are simulated for it; NAME
chooses among `readme`, `h100-x2` and RUNS. Each picture is a PNG of 255 colours, which keeps the tree light.
"""

from __future__ import annotations

import base64
import json
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy
from numpy.typing import NDArray

from tests.report.browser import Browser

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
BYTEWAYS = Path(sys.executable).parent / "byteways"
RECORDED = ROOT / "examples" / "h100x2" / "quick"
#: Simulated for the docs, by the beginning of the pictures' names.
RUNS = {"frontier-mi250x": "full", "elcap-mi300a": "full", "mi300x-8": "full"}
#: Of one picture.
MOST_BYTES = 150_000
COLOURS = 255
#: Pause after a change of the page, for its layout and charts.
SETTLE_S = 0.8
#: Leaves out what a still picture cannot use; the result is the height of the README's picture.
FOR_README = """(() => {
  document.querySelectorAll('.contents, .tools, .save').forEach((part) => { part.style.display = 'none'; });
  document.querySelector('.frame').style.display = 'block';
  document.querySelector('main').style.padding = '1rem 1.4rem';
  return document.querySelector('#node').getBoundingClientRect().bottom + scrollY + 14;
})()"""

Pixels = NDArray[numpy.uint8]


@dataclass(frozen=True)
class View:
    """How a report is looked at."""

    name: str
    width: int
    height: int
    dark: bool = False
    paper: bool = False


VIEWS = (
    View("1400", 1400, 900),
    View("390", 390, 844),
    View("dark", 1400, 900, dark=True),
    View("print", 1123, 794, paper=True),  # A4 landscape at 96 pixels an inch
)


def main() -> None:
    wanted = sys.argv[1:] or ["readme", "h100-x2", *RUNS]
    with tempfile.TemporaryDirectory() as folder:
        if {"readme", "h100-x2"} & {*wanted}:
            report = Path(folder) / "recorded.html"
            _byteways("report", str(RECORDED), "--out", str(report))
            if "readme" in wanted:
                for dark in (False, True):
                    _draw(
                        report,
                        View("", 1180, 760, dark=dark),
                        f"readme-{'dark' if dark else 'light'}",
                        FOR_README,
                    )
            if "h100-x2" in wanted:
                _views(report, "report-h100-x2")
        for machine, suite in RUNS.items():
            if machine in wanted:
                run = Path(folder) / machine
                _byteways("run", suite, "--machine", machine, "--out", str(run))
                _views(run / "report.html", f"report-{machine}")


def _byteways(*arguments: str) -> None:
    subprocess.run([BYTEWAYS, *arguments], check=True, stdout=subprocess.DEVNULL)


def _views(report: Path, name: str) -> None:
    for view in VIEWS:
        _draw(report, view, f"{name}-{view.name}")


def _draw(report: Path, view: View, name: str, end: str = "") -> None:
    """Writes a picture of the beginning of a page.

    Args:
        report: The page.
        view: How it is looked at.
        name: Of the picture, without its ending.
        end: A script that returns the height in pixels; default: that of the view.
    """
    with Browser(dark=view.dark, width=view.width, height=view.height) as browser:
        size = {
            "width": view.width,
            "height": view.height,
            "deviceScaleFactor": 1,
            "mobile": view.width < 500,
        }
        browser.call("Emulation.setDeviceMetricsOverride", size)
        browser.open(report)
        if view.paper:
            browser.evaluate("window.dispatchEvent(new Event('beforeprint'))")
            browser.call("Emulation.setEmulatedMedia", {"media": "print"})
        if end:
            size["height"] = round(browser.evaluate(end))
            browser.call("Emulation.setDeviceMetricsOverride", size)
        time.sleep(SETTLE_S)
        pixels = _pixels(browser)
    IMAGES.mkdir(exist_ok=True)
    path = IMAGES / f"{name}.png"
    path.write_bytes(png(pixels))
    if path.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{path} has {path.stat().st_size} bytes, more than {MOST_BYTES}")
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB")  # noqa: T201


def _pixels(browser: Browser) -> Pixels:
    """Returns what the page shows as [row, column, RGB]; the browser itself decodes its screenshot."""
    shot = browser.call("Page.captureScreenshot", {"format": "png"})["data"]
    text = browser.evaluate(
        f"""(async () => {{
          const image = new Image();
          image.src = "data:image/png;base64," + {json.dumps(shot)};
          await image.decode();
          const canvas = document.createElement("canvas");
          canvas.width = image.width; canvas.height = image.height;
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          const bytes = context.getImageData(0, 0, image.width, image.height).data;
          let text = "";
          for (let at = 0; at < bytes.length; at += 32768) {{
            text += String.fromCharCode(...bytes.subarray(at, at + 32768));
          }}
          return JSON.stringify([image.height, image.width, btoa(text)]);
        }})()"""
    )
    height, width, packed = json.loads(text)
    flat = numpy.frombuffer(base64.b64decode(packed), numpy.uint8)
    return flat.reshape(height, width, 4)[:, :, :3]


def png(pixels: Pixels) -> bytes:
    """Returns a PNG of the most frequent colours; every other colour becomes the nearest of them.

    Args:
        pixels: Shape [row, column, RGB].
    """
    height, width, _ = pixels.shape
    colours, places, counts = numpy.unique(
        pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True
    )
    palette = colours[numpy.argsort(-counts)[:COLOURS]].astype(numpy.int32)
    nearest = numpy.array(
        [numpy.argmin(((palette - colour) ** 2).sum(axis=1)) for colour in colours.astype(numpy.int32)],
        numpy.uint8,
    )
    rows = nearest[places].reshape(height, width)
    filtered = numpy.hstack([numpy.zeros((height, 1), numpy.uint8), rows])
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = (
        (b"IHDR", head),
        (b"PLTE", palette.astype(numpy.uint8).tobytes()),
        (b"IDAT", zlib.compress(filtered.tobytes(), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunks(parts))


def _chunks(parts: tuple[tuple[bytes, bytes], ...]) -> Iterator[bytes]:
    for kind, data in parts:
        yield struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


if __name__ == "__main__":
    main()
