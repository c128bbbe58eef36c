"""What `--dry-run` prints: every case with its options, on few lines, and why some will not run."""

from __future__ import annotations

import re

from byteways.cli.plan_text import plan_blocks
from byteways.console.layout import Lines, plain
from byteways.plan.planner import make_plan
from byteways.plan.suite import load, parse
from byteways.questions.display.table import Table
from tests.unit import machines

ENDS = 'source = "gpu*:device"\ndestination = "gpu*:device"\nsame_device = "never"\n'


def blocks(*sweeps: str, head: str = "", **plan: float) -> list[Table | Lines]:
    text = f'name = "mine"\ntitle = "Mine"\n{head}\n'
    text += "\n".join(f'[[sweep]]\nname = "s{number}"\n{sweep}' for number, sweep in enumerate(sweeps))
    return plan_blocks(make_plan(parse(text, file="mine.toml"), *machines.gpus(2), **plan))


def lines(found: list[Table | Lines]) -> list[str]:
    return [line for block in found for line in plain(block)]


def test_options_are_there_and_what_differs_in_one_axis_is_a_line() -> None:
    """Catches cases that look alike because their options are not shown, and a line for each of hundreds."""
    said = lines(
        blocks(
            f'interface = ["copy", "kernel"]\n{ENDS}size = "4KiB..1MiB x4"\n'
            'options = { pace = "one-at-a-time" }',
            f'interface = "kernel"\n{ENDS}size = "1MiB"\noptions = {{ blocks = [16, 8, 2, 4, 1] }}',
            head="case_budget_s = 0.5\nrounds = 3",
        )
    )
    assert said[:3] == [
        "s0: pace one-at-a-time; unidirectional; cold; at most 0.50 s",
        "  interface     between                    by            size",
        "  copy, kernel  gpu0:device > gpu1:device  gpu0 or gpu1  4 KiB to 1 MiB (5)",
    ]
    assert "s1: blocks 1 to 16 (5); unidirectional; cold; at most 0.50 s" in said
    assert any(line.startswith("60 cases to measure in 3 rounds, 0 skipped; about ") for line in said)


def test_all_ranks_of_a_collective_are_named() -> None:
    """Catches a collective that is shown as a message of a rank to itself."""
    ends = 'source = "cpu*:pageable"\ndestination = "cpu*:pageable"\n'
    collective = f'interface = "mpi"\n{ends}pattern = "allreduce"\ncache = "warm"\nsize = "8B"'
    said = lines(blocks(collective, ranks=4))
    assert "  mpi        0-3/cpu0 (pageable)  cpu0  8 B" in said


def test_what_disturbs_is_told_apart() -> None:
    """Catches a scan of loads that is printed as the same case ten times."""
    beside = 'beside_source = "gpu0:device"\nbeside_destination = "gpu1:device"\nbeside_interface = "copy"\n'
    said = lines(
        blocks(
            'interface = "pointer-chase"\npattern = "interference"\n'
            'buffer = "gpu0:device"\nexecutor = "gpu0"\n'
            f'size = "1MiB"\n{beside}beside_size = "64MiB"\nbeside_options = {{ pause_ns = [0, 1000] }}'
        )
    )
    title = next(line for line in said if line.startswith("s0:"))
    assert "beside pause_ns 0, 1000" in title
    assert "beside copy of 64 MiB" in title


def test_a_reason_is_said_once_for_all_devices() -> None:
    """Catches as many reasons as the machine has GPUs, and a count that is not that of the cases."""
    ends = ENDS.replace("gpu*:device", "gpu*:device-fine", 1)
    copy = 'interface = "copy"\nsize = "1MiB"\n'
    said = lines(blocks(copy + ends, copy + ENDS))
    start = said.index("reasons for skipping")
    assert len(said[start + 1 : -1]) == 1
    assert re.fullmatch(r"  \[1\] 4 × .*gpu0.* \(gpu1 too\)", said[start + 1])
    assert "s0: unidirectional; cold; skipped [1]" in said
    assert "4 cases to measure in 3 rounds, 4 skipped" in said[-1]


def test_what_is_left_out_for_time_is_counted_by_sweep() -> None:
    """Catches a budget that costs whole sweeps without a word of it."""
    found = blocks(f'interface = "copy"\n{ENDS}size = "4KiB..1GiB"', budget_s=5.5)
    table = next(block for block in found if block.title == "the plan")
    assert isinstance(table, Table)
    ((name, measured, left_out, skipped),) = table.rows
    assert (name, skipped) == ("s0", "0")
    assert int(measured) > 0 < int(left_out)
    assert int(measured) + int(left_out) == 76
    assert f"{left_out} left out for lack of time" in found[-1].title
    why = next(block for block in found if block.title == "left out for lack of time")
    assert isinstance(why, Lines)
    assert why.lines[0].startswith(
        f"{left_out} cases left out to fit the budget of 5.5 s; run with --budget "
    )
    assert "reasons for skipping" not in [block.title for block in found]


def test_a_plan_of_the_full_suite_adds_up() -> None:
    """Catches cases without time among the skipped, and totals that are not those of the sweeps."""
    plan = make_plan(load("full"), *machines.h200x4(), budget_s=60)
    found = {block.title: block for block in plan_blocks(plan)}
    table, skipped, left_out = (
        found[title] for title in ("the plan", "reasons for skipping", "left out for lack of time")
    )
    assert isinstance(table, Table) and isinstance(skipped, Lines) and isinstance(left_out, Lines)
    measured, without_time, refused = (sum(int(row[column]) for row in table.rows) for column in (1, 2, 3))
    assert measured + without_time + refused == len({entry.case.case_id for entry in plan.cases})
    assert sum(int(line.split()[1]) for line in skipped.lines) == refused > 0
    assert int(left_out.lines[0].split()[0]) == without_time > 0
    said = f"{measured} cases to measure in 3 rounds, {without_time} left out for lack of time, "
    assert any(title.startswith(f"{said}{refused} skipped; ") for title in found)


def test_the_full_suite_can_be_read() -> None:
    """Catches a plan of a thousand cases that is printed line by line."""
    plan = make_plan(load("full"), *machines.h200x4(), budget_s=100000)
    assert len(plan.cases) > 2000
    assert len(lines(plan_blocks(plan))) < 450
