"""`byteways topo` on synthetic machines: golden text, JSON that comes back, and machines read from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byteways.base.errors import BytewaysError
from byteways.cli import topo as view
from byteways.console.layout import plain
from byteways.machine.model import Topology
from tests.changed import replace
from tests.machines import amd, synthetic
from tests.report.run_builder import Builder

MACHINES = Path(__file__).parents[1] / "machines"


def printed(topology: Topology) -> str:
    return "\n\n".join("\n".join(plain(block)) for block in view.blocks(topology)) + "\n"


@pytest.mark.parametrize("name", ["bare_vm", "h200x4", "switched_server", "server_with_nics"])
def test_golden_text(name: str, tmp_path: Path) -> None:
    """Catches any change of what a user reads. Renew: write `printed(...)` to tests/machines/<name>.txt."""
    topology = getattr(synthetic, name)(tmp_path).topology()
    assert printed(topology) == (MACHINES / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", ["frontier", "mi300a_x4", "mi300x_x8", "mi300x_cpx", "two_cards"])
def test_golden_text_of_amd_machines(name: str, tmp_path: Path) -> None:
    """Catches any change of what a user reads. Renew as above."""
    topology = amd.topology_of(tmp_path, getattr(amd, name)(), caches=name == "mi300a_x4")
    assert printed(topology) == (MACHINES / f"{name}.txt").read_text()


def test_multiprocessors_that_no_gpu_tells(tmp_path: Path) -> None:
    """Catches a column of nothing but "unknown" before NVIDIA's driver is in use, and values below other
    headings.
    """
    topology = synthetic.h200x4(tmp_path).topology()
    shapeless = [replace(one, multiprocessors=None, architecture="") for one in topology.devices]
    lines = printed(replace(topology, devices=tuple(shapeless))).splitlines()
    at = lines.index("GPUs")
    assert " ".join(lines[at + 1].split()) == "device model memory memory peak PCI address NUMA"
    assert " ".join(lines[at + 2].split()) == "gpu0 NVIDIA H200 140.4 GiB 4917 GB/s 0000:00:05.0 0"


def test_links_of_two_kinds_between_two_devices_both_show(tmp_path: Path) -> None:
    """Catches a table that knows links by their ends, where NVLink and PCIe lead to the same CPU."""
    machine = synthetic.h200x4(tmp_path)
    for link in machine.management[0].fabric_links:
        link.remote_kind = "cpu"
    text = " ".join(printed(machine.topology()).split())
    assert "gpu0<>cpu0 PCIe 5.0 ×16" in text
    assert "gpu0<>cpu0 NVLink4 ×18" in text


def test_xml_of_nccl_out_and_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches other output on stdout besides the XML, and a file whose type is guessed from its name."""
    topology = synthetic.h200x4(tmp_path).topology()
    monkeypatch.setattr(view, "this_machine", lambda: topology)
    view.topo(as_nccl_xml=True)
    saved = tmp_path / "machine.json"
    saved.write_text(capsys.readouterr().out)
    view.topo(source=saved)
    assert "NVLink4 ×18" in capsys.readouterr().out
    view.topo(source=saved, as_nccl_xml=True)
    assert capsys.readouterr().out == saved.read_text()


def test_two_formats_at_once_are_refused() -> None:
    """Catches one of two wishes that is silently dropped."""
    with pytest.raises(BytewaysError, match="exclude each other") as caught:
        view.topo(as_json=True, as_nccl_xml=True)
    assert caught.value.hint


def test_json_is_the_topology(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches JSON that loses something, or that cannot be read back by --from."""
    topology = synthetic.switched_server(tmp_path).topology()
    monkeypatch.setattr(view, "this_machine", lambda: topology)
    view.topo(as_json=True)
    text = capsys.readouterr().out
    assert Topology.from_json(json.loads(text)) == topology
    saved = tmp_path / "machine.json"
    saved.write_text(text)
    view.topo(source=saved)
    assert capsys.readouterr().out == printed(topology)


def test_a_run_folder_shows_its_machine(tmp_path: Path) -> None:
    """Catches a run folder whose topology is not found on a login node."""
    topology = synthetic.h200x4(tmp_path).topology()
    manifest = {**Builder(topology).manifest(), "topology": topology.to_json()}
    (tmp_path / "run.json").write_text(json.dumps(manifest))
    assert view.read(tmp_path) == (topology, "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot read"),
        ("{}", "contains no topology"),
        ("[" * 100_000, "cannot read"),
        ("[1]", "contains no topology"),
        ("<html/>", "contains no topology"),
        (None, "cannot read"),
    ],
)
def test_files_that_hold_no_machine(text: str | None, said: str, tmp_path: Path) -> None:
    """Catches a traceback instead of an error that says what to do."""
    path = tmp_path / "machine.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BytewaysError, match=said) as caught:
        view.read(path)
    assert caught.value.hint


def test_a_saved_machine_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a file that --from refuses, output among the data of stdout, and a wish that is dropped."""
    path = tmp_path / "machine.json"
    view.topo(save=path)
    said = capsys.readouterr()
    assert (said.out, str(path) in said.err) == ("", True)
    shown, _ = view.read(path)
    assert shown.names("cpu") == view.this_machine().names("cpu")
    for other in ({"as_json": True}, {"source": path}, {"machine": "h200-x4"}, {"as_nccl_xml": True}):
        with pytest.raises(BytewaysError, match="exclude each other") as caught:
            view.topo(save=path, **other)
        assert caught.value.hint
    with pytest.raises(BytewaysError, match="cannot write") as caught:
        view.topo(save=tmp_path / "none/machine.json")
    assert caught.value.hint


def test_what_a_file_lacks_is_listed() -> None:
    """Catches nulls whose reasons only JSON has."""
    topology, _ = view.read(MACHINES / "files/rocm-smi-topo-mi300x8.txt")
    (block,) = [one for one in view.blocks(topology) if getattr(one, "title", "") == "Left out by the source"]
    assert any("gpu.memory_bytes of gpu0 to gpu7: format-lacks" in line for line in block.lines)


def test_a_machine_that_cannot_be_probed_is_shown_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a topo that needs working runtimes."""
    from byteways.measuring.conduct import probe

    def lost() -> None:
        raise BytewaysError("this machine could not be probed", cause="worker ended by SIGSEGV")

    monkeypatch.setattr(probe, "probe", lost)
    topology = view.this_machine()
    assert topology.names("cpu")
    assert topology.notes[-1] == (
        "the runtimes could not be queried: this machine could not be probed: worker ended by SIGSEGV"
    )


def test_a_terminal_gets_the_same_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches rows, sources or notes that only the plain form shows."""
    import rich.console

    topology = synthetic.switched_server(tmp_path).topology()
    console = rich.console.Console(
        force_terminal=True, width=200, record=True, highlight=False, no_color=True
    )
    monkeypatch.setattr("byteways.console.layout.terminal_console", lambda **_: console)
    view.show(view.blocks(topology))
    terminal = console.export_text().split()
    assert not [word for word in printed(topology).split() if word not in terminal]
