"""Options that no machine can do: status 2, one message with file, line, key, a way out; nothing measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.cli import main
from byteways.plan.suite import parse

ROWS = """
interface = ["copy-2d", "kernel-2d"]
source = "gpu0:device"
destination = "gpu1:device"
size = "1MiB"
"""
COPY = ROWS.replace('["copy-2d", "kernel-2d"]', '"copy"')
KERNEL = ROWS.replace('["copy-2d", "kernel-2d"]', '"kernel"')
BULK = ROWS.replace('["copy-2d", "kernel-2d"]', '"kernel-bulk"')
ROUTE = ROWS.replace('["copy-2d", "kernel-2d"]', '"route"')
STEP = 'interface = "allocate"\nbuffer = "gpu0:device"\nexecutor = "gpu*"\n'
WALK = 'interface = "pointer-chase"\nbuffer = "gpu0:device"\nexecutor = "gpu*"\n'
BESIDE = 'pattern = "interference"\nbeside_source = "gpu*:device"\nbeside_destination = "gpu*:device"\n'


def suite_of(sweep: str) -> str:
    return f'name = "mine"\ntitle = "Mine"\n[[sweep]]\nname = "s"\n{sweep.strip()}\n'


MISTAKES = [
    # the sweep, the key at fault, what is said, what to do
    (ROWS + "options = { pitch_bytes = 0 }", "pitch_bytes", "a pitch of 0 bytes", "at least 4096"),
    (
        ROWS + "options = { width_bytes = 8192, pitch_bytes = 4096 }",
        "pitch_bytes",
        "rows of 8192 bytes overlap at a pitch of 4096",
        "at least 8192",
    ),
    (
        ROWS + "options = { width_bytes = [256, 512], pitch_bytes = [128, 1024] }",
        "pitch_bytes",
        "rows of 256 bytes overlap at a pitch of 128",
        "at least 256",
    ),
    (ROWS + "options = { width_bytes = 0 }", "width_bytes", "rows cannot be 0 bytes wide", "at least 8"),
    (ROWS + "options = { width_bytes = 12 }", "width_bytes", "multiples of 8 bytes", "for example 16"),
    (
        ROWS + "options = { width_bytes = 48, pitch_bytes = 64 }",
        "size",
        "is not a multiple of the row width",
        "of 48",
    ),
    (ROWS + "options = { pitch_bytes = 4294967296 }", "pitch_bytes", "must be from 8 to 2147483647", None),
    (KERNEL + "options = { blocks = 0 }", "blocks", "blocks must be from 1 to 2147483647", None),
    (KERNEL + "options = { blocks = [8, 2147483648] }", "blocks", "blocks in one launch", None),
    (KERNEL + "options = { threads = 2048 }", "threads", "exceed the largest GPU block: 1024", "1024"),
    (BULK + "options = { stages = 33 }", "stages", "stages must be from 1 to 32", None),
    (BULK + "options = { chunk_bytes = 24 }", "chunk_bytes", "must be a multiple of 16, not 24", None),
    (BULK + "options = { threads = 64 }", "threads", "kernel-bulk has no such option", "blocks"),
    (ROUTE + "options = { piece_bytes = 0 }", "piece_bytes", "piece_bytes must be from 4096", None),
    (ROUTE + "options = { piece_bytes = 5000 }", "piece_bytes", "multiple of 4096, not 5000", None),
    (ROUTE + "options = { depth = 1000 }", "depth", "one stream each", None),
    (ROUTE + 'options = { via = "gpu2,gpu2" }', "via", "names a relay twice", "gpu1,gpu2"),
    (ROUTE + 'options = { via = "gpu2", relays = 1 }', "via", "either via, which names the relays", None),
    (
        COPY + 'options = { submit = "graph", pause_ns = 5 }',
        "pause_ns",
        "has no option pause_ns",
        "leave one",
    ),
    (
        COPY + 'pattern = "bidirectional"\noptions = { submit = "batch" }',
        "submit",
        "covers one flow",
        "unidirectional",
    ),
    (COPY + 'cache = "warm"\noptions = { submit = "batch" }', "submit", "are unordered", "cold"),
    (KERNEL + 'options = { submit = "batch" }', "submit", "takes copies, not kernels", "graph"),
    (
        COPY + 'pattern = "bidirectional"\noptions = { pace = "one-at-a-time" }',
        "pace",
        "would be serialised",
        "unidirectional",
    ),
    (COPY + "options = { batch = 9000000000000 }", "batch", "batch must be from 1 to 1048576", None),
    (STEP + "size = 5000", "size", "pages of 4096 bytes; 5000 is not a multiple", "4KiB"),
    (WALK + "size = [4096, 5000]", "size", "a power of two of at least", "64KiB"),
    (
        KERNEL.replace('"1MiB"', "1001"),
        "size",
        "kernel moves multiples of 16 bytes; 1001 is not a multiple",
        None,
    ),
    (
        WALK
        + 'size = "1MiB"\n'
        + BESIDE
        + 'beside_interface = "kernel"\nbeside_options = { threads = 4000 }',
        "threads",
        "exceed the largest GPU block",
        None,
    ),
    (
        WALK + 'size = "1MiB"\n' + BESIDE + 'beside_interface = "kernel"\nbeside_size = 24',
        "beside_size",
        "multiples of 16 bytes; 24 is not a multiple",
        None,
    ),
]


@pytest.mark.parametrize(("sweep", "key", "said", "hint"), MISTAKES)
def test_a_mistake_ends_the_command_before_anything_is_measured(
    sweep: str, key: str, said: str, hint: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a mistake that becomes a skipped case with status 0, or is said without its line and key."""
    path = tmp_path / "mine.toml"
    path.write_text(suite_of(sweep))
    line = next(
        number for number, text in enumerate(path.read_text().splitlines(), 1) if key in text and "=" in text
    )
    assert main(["run", str(path), "--machine", "h200-x4", "--out", str(tmp_path / "R")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error: {path}:{line}: sweep 's'")
    assert f"{key}': " in printed.err.splitlines()[0]
    assert said in printed.err.splitlines()[0]
    assert (hint or "") in printed.err.partition("hint: ")[2]
    assert not (tmp_path / "R").exists()


def test_a_relay_that_is_not_here_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a device that is named outright, is not here, and costs its cases in silence."""
    path = tmp_path / "mine.toml"
    path.write_text(suite_of(ROUTE + 'options = { via = ["gpu2", "gpu3,gpu9"] }'))
    words = ["run", str(path), "--machine", "h200-x4", "--out", str(tmp_path / "R")]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert f"error: {path}:9: sweep 's', key 'options.via': this machine has no device 'gpu9'" in error
    assert "hint: did you mean 'gpu3'? valid: gpu0, gpu1, gpu2, gpu3" in error
    assert not (tmp_path / "R").exists()


def test_what_some_values_of_a_product_cannot_is_skipped() -> None:
    """Catches a product refused as a whole because two of its values do not go together."""
    widths = "options = { width_bytes = [64, 512], pitch_bytes = [128, 1024] }"
    assert parse(suite_of(ROWS + widths), file="mine.toml").sweeps
    submits = 'pattern = ["unidirectional", "bidirectional"]\noptions = { submit = ["calls", "graph"] }'
    assert parse(suite_of(COPY + submits), file="mine.toml").sweeps
    assert parse(
        suite_of(KERNEL.replace('"kernel"', '["copy", "kernel"]').replace('"1MiB"', "[8, 16]")), file="m"
    )
