"""Files that users give: what editors add to them, whatever reads them."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from byteways.cli.topo import read as read_topology
from byteways.machine import nccl_xml_writer
from byteways.plan.hosts.names import read_hosts
from byteways.plan.suite import load as load_suite
from byteways.verdicts.checks.limits import read_limits
from tests.faults.harness import SUITE
from tests.report import sample_run

TOPOLOGY = sample_run.topology(2)
LIMIT = '[[limit]]\nonly = "interface=copy"\nat_least = "70%"\n'

#: Name, text and reader of every kind of file that a verb takes.
KINDS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "suite.toml": (SUITE, lambda path: [sweep.sizes for sweep in load_suite(str(path)).sweeps]),
    "limits.toml": (LIMIT, lambda path: [limit.value for limit in read_limits(path)]),
    "hosts": ("node1\nnode2\n", read_hosts),
    "topology.json": (json.dumps(TOPOLOGY.to_json()), read_topology),
    "topology.xml": (nccl_xml_writer.write(TOPOLOGY), lambda path: read_topology(path)[0].devices),
}


@pytest.mark.parametrize("name", KINDS)
def test_what_editors_of_windows_add(name: str, tmp_path: Path) -> None:
    """Catches `Invalid statement (at line 1, column 1)` for a file with a byte order mark."""
    text, read = KINDS[name]
    plain, marked = tmp_path / name, tmp_path / "marked" / name
    marked.parent.mkdir()
    plain.write_text(text)
    marked.write_bytes(codecs.BOM_UTF8 + text.replace("\n", "\r\n").encode())
    assert read(marked) == read(plain)
