"""A line whose interface cannot run on a simulated machine: another line represents it there, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.base.errors import BytewaysError
from byteways.ext.studies.comparison.outcome import compare
from byteways.ext.studies.comparison.verdicts import BUILT_IN, UNTESTED
from byteways.ext.studies.published.reading import load, read
from tests.unit.study_runs import flow_case, record, run

SIZES = [size * 2**20 for size in (32, 64, 2048)]
NOTE = "PyTorch copy_ cannot be simulated: runtime copy represents it (the copy call that PyTorch makes)"


@pytest.mark.parametrize(("simulated", "verdict"), [(True, BUILT_IN), (False, UNTESTED)])
def test_the_copy_call_represents_pytorch_on_models_alone(simulated: bool, verdict: str) -> None:
    """Would catch a sentence about PyTorch that a real machine without PyTorch confirms, and a model that
    never tests it or hides what moved the bytes."""
    case = [
        flow_case("copy", "gpu0:device", "gpu1:device", "gpu0", size_bytes=size, cache="warm")
        for size in SIZES
    ]
    made = run("mi300x-8", *(record(one, 48.0) for one in case), simulated=simulated)
    made.manifest["study"] = {"key": "memcpy-peer"}
    made.manifest["suite"] = {"text": SUITE}
    outcome = compare(load("memcpy-peer"), made)
    (found,) = [one for one in outcome.verdicts if one.claim.id == "torch-plateau"]
    assert found.verdict == verdict
    assert (NOTE in found.notes) == simulated
    (figure,) = [one for one in outcome.figures if one.figure.id == "pytorch"]
    assert (NOTE in figure.notes) == simulated
    assert bool(figure.series[0].ours) == simulated


SUITE = """
name = "part"
title = "Part of the study"
budget_s = 10
[[sweep]]
name = "pytorch"
interface = "torch-copy"
source = "gpu[0]:device"
destination = "gpu[1]:device"
executor = "source"
cache = "warm"
size = ["32MiB", "64MiB", "2GiB"]
"""


def test_an_unknown_line_cannot_represent_another(tmp_path: Path) -> None:
    """Would catch a misspelled line, which would leave the claims untested without a word."""
    for name in ("suite.toml", "claims.toml", "published.csv", "study.toml"):
        text = (Path(load.__code__.co_filename).parent / "memcpy-peer" / name).read_text(encoding="utf-8")
        changed = text.replace('simulated_by = "runtime copy"', 'simulated_by = "runtime copies"')
        (tmp_path / name).write_text(changed, encoding="utf-8")
    with pytest.raises(BytewaysError) as raised:
        read(tmp_path, "mine")
    assert "line runtime copies, which represents line PyTorch copy_" in str(raised.value.cause)


def test_a_call_that_names_no_domain_ends_next_to_the_gpu() -> None:
    """Would catch a prefetch to the host that is missing because its pages go to another domain than the
    source names, and one that hides to which they went."""
    case = flow_case("prefetch", "gpu0:managed-coarse", "cpu3:managed-coarse", "gpu0")
    made = run("crusher-mi250x", record(case, 5.0))
    (figure,) = [one for one in compare(load("pearson2023"), made).figures if one.figure.id == "fig3b"]
    assert [row.ours for row in figure.rows if row.line == "prefetch from GPU" and row.ours]
    assert "prefetch from GPU, gpu0>cpu0: gpu0>cpu3, as the call names no NUMA domain" in figure.notes


def test_runs_without_an_interface_are_read_by_another_line() -> None:
    """Would catch recorded runs whose claims cannot be tested since the study has kernels that only store,
    and a run that has both and shows the older one."""
    older = flow_case("kernel", "gpu0:device", "gpu1:device", "gpu0")
    newer = flow_case("store", "gpu1:device", "gpu1:device", "gpu0")
    note = "implicit mapped is not in this run: copying kernel, peer represents it"
    for records, rate in ((((older, 150.0),), 150.0), (((older, 150.0), (newer, 120.0)), 120.0)):
        made = run("crusher-mi250x", *(record(case, shown, mean=1.0) for case, shown in records))
        (figure,) = [one for one in compare(load("pearson2023"), made).figures if one.figure.id == "table3"]
        (row,) = [one for one in figure.rows if (one.line, one.place) == ("implicit mapped", "quad")]
        assert row.ours == pytest.approx(rate / 200)
        assert any(one.startswith(note) for one in figure.notes) == (len(records) == 1)
