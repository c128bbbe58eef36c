"""Draws the README's picture from a recorded run: measured links, a copy matrix and concurrent flows.

    python scripts/draw_readme_picture.py [RUN]

Reads what `byteways show RUN --json` says and the topology in the run folder; Chromium renders the page.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from statistics import median, mode
from typing import Any

ROOT = Path(__file__).parents[1]
RUN = ROOT / "examples" / "h200x4-rounds" / "quick"
PICTURE = ROOT / "docs" / "images" / "measured.png"
WIDTH, HEIGHT = 1110, 470
#: Pixels of stroke per GB/s, so that a PCI Express link is still a line and NVLink a band.
STROKE = 0.055
INK, SOFT, FAINT, BLUE, PALE = "#1b2430", "#5b6776", "#d5dbe3", "#1f5fae", "#c9dcf3"

Cell = Mapping[str, Any]


def cells_of(data: Mapping[str, Any], *accesses: str) -> dict[str, float]:
    """GB/s by path, of single copies at the size that most paths have."""
    found = [
        cell
        for cell in data["cells"]
        if (cell["interface"], cell["pattern"]) == ("copy", "unidirectional") and cell["access"] in accesses
    ]
    size = mode(cell["size_bytes"] for cell in found)
    return {cell["path"]: cell["bandwidth_bytes_per_s"] / 1e9 for cell in found if cell["size_bytes"] == size}


def text(x: float, y: float, words: str, *, size: int = 14, fill: str = INK, more: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{fill}" {more}>{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str = "#fff") -> str:
    place = f'x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return f'<rect {place} rx="8" fill="{fill}" stroke="{SOFT}"/>'


def link(x: float, y: float, down: float, rate: float) -> str:
    return (
        f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{x:.0f}" y2="{down:.0f}" stroke="{BLUE}" '
        f'stroke-width="{max(rate * STROKE, 1.5):.1f}"/>'
    )


def node(writes: Mapping[str, float], to_gpu: Mapping[str, float], to_host: Mapping[str, float]) -> str:
    """The GPUs between NVSwitch and CPU, every line as wide as its measured rate."""
    gpus = sorted({path.partition(">")[0] for path in writes})
    step, middle = 108, '" text-anchor="middle'
    width = step * len(gpus) - 16
    parts = [text(0, 20, "Measured bandwidth of a node with 4 × H200", size=17, more='font-weight="600"')]
    for place, gpu in enumerate(gpus):
        centre = place * step + (step - 16) / 2
        sent = median(rate for path, rate in writes.items() if path.startswith(gpu) and path[-4:] != gpu)
        parts += [
            link(centre, 92, 190, sent),
            link(centre, 246, 350, to_gpu[f"cpu0>{gpu}"]),
            box(place * step, 190, step - 16, 56),
            text(centre, 224, gpu, size=16, more='text-anchor="middle" font-weight="600"'),
            text(centre + 14, 145, f"{sent:.0f}", more='font-weight="600"'),
            text(centre + 10, 293, f"{to_gpu[f'cpu0>{gpu}']:.0f} in", size=13),
            text(centre + 10, 311, f"{to_host[f'{gpu}>cpu0']:.0f} out", size=13),
        ]
    for y, words in ((40, "NVSwitch, NVLink 4 ×18"), (350, "cpu0, PCIe 5.0 ×16")):
        parts += [box(0, y, width, 52, "#eef2f7"), text(width / 2, y + 31, words, more=f'class="m{middle}"')]
    key = "GB/s per direction, interface copy; line width = bandwidth"
    parts.append(text(0, 432, key, size=13, fill=SOFT))
    return "".join(parts)


def matrix(writes: Mapping[str, float]) -> str:
    """Source by destination; the diagonal, a copy inside one GPU, is not on the scale of links."""
    gpus = sorted({path.partition(">")[0] for path in writes})
    parts = [text(0, 20, "copy, GB/s, from row to column", size=15, more='font-weight="600"')]
    links = [rate for path, rate in writes.items() if path[:4] != path[-4:]]
    for column, destination in enumerate(gpus):
        parts.append(text(60 + column * 62, 46, destination, size=13, fill=SOFT))
        for row, source in enumerate(gpus):
            rate = writes[f"{source}>{destination}"]
            shade = FAINT if source == destination else BLUE
            place = f'x="{50 + column * 62}" y="{54 + row * 34}" width="58" height="30"'
            weight = 0.55 if source == destination else 0.5 + 0.5 * rate / max(links)
            parts.append(f'<rect {place} rx="4" fill="{shade}" opacity="{weight:.2f}"/>')
            ink = INK if source == destination else "#fff"
            at = (79 + column * 62, 74 + row * 34)
            parts.append(text(*at, f"{rate:.0f}", fill=ink, more='text-anchor="middle"'))
    parts += [text(0, 74 + row * 34, gpu, size=13, fill=SOFT) for row, gpu in enumerate(gpus)]
    return "".join(parts)


def bars(rows: Sequence[Sequence[str]]) -> str:
    """Concurrent cases: what single-flow rates predict, and what was measured."""
    wanted = {
        ("bidirectional", "copy, write"): "gpu0 ↔ gpu1",
        ("fan-in", "copy, write", "cpu0"): "4 GPUs → cpu0",
        ("fan-out", "copy, read"): "cpu0 → 4 GPUs",
        ("all-pairs", "copy, write"): "all pairs, copy",
        ("all-pairs", "kernel, write"): "all pairs, kernel",
    }
    parts = [text(0, 20, "Concurrent flows, GB/s in total", size=15, more='font-weight="600"')]
    chosen = []
    for key, label in wanted.items():
        row = next(
            row for row in rows if tuple(row[: len(key[:2])]) == key[:2] and row[2].endswith(key[2:] or "")
        )
        chosen.append((label, float(row[5]), float(row[6]), row[7]))
    scale = 280 / max(predicted for _, predicted, _, _ in chosen)
    for place, (label, predicted, measured, share) in enumerate(chosen):
        y = 34 + place * 33
        for value, fill in ((predicted, PALE), (measured, BLUE)):
            shape = f'x="130" y="{y}" width="{value * scale:.1f}" height="24"'
            parts.append(f'<rect {shape} rx="3" fill="{fill}"/>')
        said = f"{measured:.0f} of {predicted:.0f} ({share})"
        parts += [text(0, y + 17, label), text(138 + predicted * scale, y + 17, said, size=13, fill=SOFT)]
    legend = "dark: measured; pale: predicted from single-flow rates and links"
    parts.append(text(0, 34 + len(chosen) * 33 + 16, legend, size=13, fill=SOFT))
    return "".join(parts)


def page(data: Mapping[str, Any]) -> str:
    writes, to_gpu = cells_of(data, "write", "local"), cells_of(data, "read")
    between = {path: rate for path, rate in writes.items() if "cpu" not in path}
    contention = next(topic for topic in data["topics"] if topic["anchor"] == "together")
    panels = (
        (30, 20, node(between, to_gpu, {path: rate for path, rate in writes.items() if "cpu" in path})),
        (530, 20, matrix(between)),
        (530, 236, bars(contention["tables"][-1]["rows"])),
    )
    drawn = "".join(f'<g transform="translate({x} {y})">{inner}</g>' for x, y, inner in panels)
    style = "body{margin:0;background:#fff}svg{font-family:'DejaVu Sans',Helvetica,Arial,sans-serif}"
    return (
        f'<!doctype html><meta charset="utf-8"><style>{style}</style>'
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">{drawn}</svg>'
    )


def main(arguments: Sequence[str]) -> int:
    run = Path(arguments[0]) if arguments else RUN
    program = Path(sys.executable).with_name("byteways")
    shown = subprocess.run(
        [program, "show", run, "--json"], capture_output=True, text=True, check=True, timeout=600
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "picture.html"
        file.write_text(page(json.loads(shown.stdout)), encoding="utf-8")
        flags = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
        size = (f"--window-size={WIDTH},{HEIGHT}", "--force-device-scale-factor=1.5")
        command = ["chromium", *flags, *size, f"--user-data-dir={folder}/profile"]
        subprocess.run([*command, f"--screenshot={PICTURE}", file.as_uri()], check=True, timeout=120)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
