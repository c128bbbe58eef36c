"""`byteways audit`: its exit statuses, what it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.called import WIDE, byteways

#: Of ucx_perftest with both ends on one GPU; its MB are 2^20.
ONE_GPU = """\
+--------------------------------------------------------------------------------+
| API:          protocol layer                                                     |
| Test:         tag match bandwidth                                                |
| Data layout:  (automatic)                                                        |
| Send memory:  cuda                                                               |
| Recv memory:  cuda                                                               |
| Message size: 1073741824                                                         |
| Window size:  32                                                                 |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
|              |              |       overhead (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
|    Stage     | # iterations | 50.0%ile | average | overall | average | overall | average | overall |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
Final:                   100    797.113   797.113   797.113  1284644.36  1284644.36        1255        1255
"""


def nvbandwidth(*cells: str, gpu: str = "NVIDIA H100 80GB HBM3") -> str:
    """Copies from the host to GPUs."""
    count = len(cells)
    return "\n".join(
        [
            "nvbandwidth Version: v0.8",
            *(f"Device {number}: {gpu} (00000000:{0x10 + number:02x}:00)" for number in range(count)),
            "",
            "Running host_to_device_memcpy_ce.",
            "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
            "  " + "".join(f"{number:10}" for number in range(count)),
            " 0" + "".join(f"{cell:>10}" for cell in cells),
            "",
            f"SUM host_to_device_memcpy_ce {sum(float(cell) for cell in cells):.2f}",
            "",
        ]
    )


def audit(folder: Path, text: str, *arguments: str) -> tuple[int, str, str]:
    (folder / "log.txt").write_text(text)
    done = byteways(folder, "audit", "log.txt", *arguments, COLUMNS=WIDE)
    return done.returncode, done.stdout, done.stderr


def data(folder: Path, text: str, *arguments: str) -> tuple[int, dict[str, object]]:
    status, out, _ = audit(folder, text, "--json", *arguments)
    return status, json.loads(out)


def test_both_ends_on_one_gpu(tmp_path: Path) -> None:
    """Catches the example of the guide going wrong, in the text and in JSON."""
    status, found = data(tmp_path, ONE_GPU, "--machine", "h100-x8")
    rates = [one for one in found["values"] if one["verdict"] == "impossible"]  # type: ignore[attr-defined]
    assert status == 1 and found["failed"] and len(rates) == 2
    assert {cause["code"] for one in rates for cause in one["causes"]} == {"one-device"}
    status, out, _ = audit(tmp_path, ONE_GPU, "--machine", "h100-x8")
    assert status == 1 and "both ends on one GPU" in out and "NOMINAL" in out.splitlines()[0]


def test_normal_numbers_pass_on_the_machine_that_the_file_names(tmp_path: Path) -> None:
    status, found = data(tmp_path, nvbandwidth("54.90", "54.80"))
    assert status == 0 and found["machine"] == "h100-x8"
    assert [one["verdict"] for one in found["values"]] == ["normal", "normal", "not-judged"]  # type: ignore[attr-defined]
    assert found["values"][2]["reason"] == "sum-of-turns"  # type: ignore[index]


def test_slow_numbers_fail(tmp_path: Path) -> None:
    status, found = data(tmp_path, nvbandwidth("54.90", "12.10"))
    assert status == 1 and found["counts"]["low"] == 1  # type: ignore[index]


def test_every_number_is_printed_on_request(tmp_path: Path) -> None:
    text = nvbandwidth("54.90", "54.80")
    assert "(row 0, column 1)" not in audit(tmp_path, text)[1]
    assert "(row 0, column 1)" in audit(tmp_path, text, "--all")[1]


def test_the_page_escapes_what_a_file_contains(tmp_path: Path) -> None:
    """Catches a name of a test that ends an element of the page."""
    text = ONE_GPU.replace("tag match bandwidth", "</td><script>x")
    status, _, err = audit(tmp_path, text, "--machine", "h100-x8", "--html", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert status == 1 and not err and "<script>" not in page and "&lt;script&gt;" in page
    assert "both ends on one GPU" in page and "NOMINAL" in page


def test_a_run_folder_is_a_machine(tmp_path: Path) -> None:
    """Catches a machine of one's own that must be in the list."""
    from unpack_examples import recorded

    status, found = data(tmp_path, nvbandwidth("54.90", "54.80"), "--machine", str(recorded("h100x2/quick")))
    assert status == 0 and found["counts"]["normal"] == 2  # type: ignore[index]


def test_a_machine_model_is_marked(tmp_path: Path) -> None:
    status, found = data(tmp_path, nvbandwidth("54.90", gpu="NVIDIA H200"))
    assert status == 0 and found["machine"] == "h200-x4" and "MODEL" in found["marks"][0]  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "arguments", "what"),
    [
        (ONE_GPU, (), "do not name its GPUs"),
        (nvbandwidth("54.90", gpu="Riva 128"), (), "Riva 128"),
        (nvbandwidth("24.90", gpu="NVIDIA A100-SXM4-40GB"), (), "linked in different ways"),
        (ONE_GPU, ("--machine", "h100x8"), "h100x8"),
        ("nothing of interest\n", ("--machine", "h100-x8"), "nvbandwidth"),
        ("7 8\n9 10\n", ("--machine", "h100-x8"), "header"),
        ("nvbandwidth Version: v0.8\n", ("--machine", "h100-x8"), "no number"),
        ("\0\0", ("--machine", "h100-x8"), "binary"),
        (ONE_GPU, ("--machine", "h100-x8", "--html", "none/page.html"), "cannot write"),
    ],
)
def test_what_cannot_be_audited(tmp_path: Path, text: str, arguments: tuple[str, ...], what: str) -> None:
    """Catches a traceback, a status of 1, and a message without its cause."""
    status, out, err = audit(tmp_path, text, *arguments)
    assert (status, out) == (2, "") and err.startswith("error: ") and what in err


def test_a_missing_file(tmp_path: Path) -> None:
    done = byteways(tmp_path, "audit", "none.txt", "--machine", "h100-x8")
    assert done.returncode == 2 and "none.txt" in done.stderr


def test_lines_that_cannot_be_read_are_listed(tmp_path: Path) -> None:
    """Catches a number in a local notation that is dropped without a word."""
    text = nvbandwidth("54.90", "54.80").replace("54.80", "54,80", 1)
    status, found = data(tmp_path, text)
    assert status == 0 and len(found["mistakes"]) == 1  # type: ignore[arg-type]
