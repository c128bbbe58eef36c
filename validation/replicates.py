"""How well two runs agree: the share of cells within a bound, for GPU bandwidth, host and managed cells.

    python validation/replicates.py RUN_A RUN_B

A cell is one case; its figure is the median over its replicates. Aims: >= 95 % of GPU bandwidth cells of
at least 16 MiB within 1 %, host and managed cells within 5 %.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from pathlib import Path

from byteways.record.record import Record
from byteways.record.run_folder import RunFolder, refuse_mix
from byteways.record.simulation_mark import mark_of

LARGE_BYTES = 16 * 2**20


def figures(run: RunFolder) -> tuple[dict[str, float], dict[str, Record]]:
    """Median bandwidth (bytes/s) by case, and one record of each case."""
    values: dict[str, list[float]] = defaultdict(list)
    records: dict[str, Record] = {}
    for record in run.records:
        if record.status == "measured" and record.bandwidth_bytes_per_s:
            values[record.case_id].append(record.bandwidth_bytes_per_s)
            records[record.case_id] = record
    return {case: statistics.median(found) for case, found in values.items()}, records


def kind(record: Record) -> str:
    memories = {
        end.split(":")[1].split("@")[0]
        for flow in record.flows
        for end in (flow["source"], flow["destination"])
    }
    devices = {end.split(":")[0] for flow in record.flows for end in (flow["source"], flow["destination"])}
    if "managed" in memories:
        return "managed"
    if any(device.startswith("cpu") for device in devices):
        return "host"
    return "GPU"


def main() -> int:
    runs = [RunFolder(Path(folder)) for folder in sys.argv[1:3]]
    refuse_mix(runs)
    (first, records), (second, _) = map(figures, runs)
    for mark in filter(None, (mark_of(run.manifest) for run in runs)):
        print(mark)
    common = sorted(set(first) & set(second))
    print(f"{len(common)} cases in both runs")
    for name, bound in (("GPU", 0.01), ("host", 0.05), ("managed", 0.05)):
        cells = [
            c
            for c in common
            if kind(records[c]) == name and (name != "GPU" or records[c].size_bytes >= LARGE_BYTES)
        ]
        if not cells:
            print(f"{name:8} no cells")
            continue
        changes = {c: abs(second[c] / first[c] - 1) for c in cells}
        within = sum(change <= bound for change in changes.values()) / len(cells)
        print(f"{name:8} {len(cells):4} cells, {100 * within:5.1f} % within {100 * bound:.0f} %, worst:")
        for case in sorted(cells, key=lambda c: -changes[c])[:5]:
            record = records[case]
            what = f"{record.interface} {record.access} {record.pattern} {record.path}"
            where = f"{record.source} > {record.destination} {record.size_bytes} B {record.cache}"
            print(f"    {100 * changes[case]:6.2f} %  {what} {where} {record.options or ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
