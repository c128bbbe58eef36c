"""nvbandwidth: text of 0.4, 0.6, 0.8 and 0.10, and JSON."""

from __future__ import annotations

from typing import Any

from tests.imported.log import Log, matrix

_TURNS = {"differences": ["sum-of-turns"]}
_BUFFER = 512 * 1024 * 1024


def _begin(log: Log, version: str, gpus: list[str], *, located: bool = True) -> None:
    log.say(f"nvbandwidth Version: v{version}", f"Built from Git version: v{version}", "")
    log.say("CUDA Runtime Version: 12040", "CUDA Driver Version: 12040", "Driver Version: 550.54.15", "")
    for number, gpu in enumerate(gpus):
        place = f" (00000000:{0x10 + number:02x}:00)" if located else ""
        log.say(f"Device {number}: {gpu}{place}")
    log.say("")
    log.hints = {
        "version": version,
        "gpus": {str(number): gpu for number, gpu in enumerate(gpus)},
        "libraries": {"cuda": "12040", "driver": "550.54.15"},
    }


def _matrix(log: Log, test: str, title: str, rows: int, columns: int, about: float, **options: Any) -> None:
    """Writes a matrix and its sum; `cell(row, column)` gives the expected fields of a cell."""
    unit, part, cell = options.get("unit", "GB/s"), options.get("part", ""), options["cell"]
    narrow = options.get("narrow", False)  # 0.4 has one column less before the numbers
    log.say(title, "  " + "".join(f"{column:10}" for column in range(columns))[narrow:])
    total = 0
    texts: dict[int, list[str]] = {}
    for row, column in matrix(rows, columns):
        absent = rows > 1 and row == column
        text = "N/A" if absent else log.number(about, 2)
        texts.setdefault(row, []).append(text)
        total += 0 if absent else int(text.replace(".", ""))
    for row, cells in texts.items():
        for column, text in enumerate(cells):
            if text != "N/A":
                name = f"(row {row}, column {column})" + (f" {part}" if part else "")
                log.expect(test, name, text, unit, statistic="median", **cell(row, column))
        label = f"{row}" if narrow else f"{row:2}"
        log.say(label + "".join(f"{text:>10}" for text in cells))
        for line in options.get("between", ()):
            log.say(line)
    log.say("")
    key = test + (f"_{part.lower()}" if part else "")
    log.expect(key, "SUM", f"{total // 100}.{total % 100:02}", unit, **_TURNS)
    log.say(f"SUM {key} {total // 100}.{total % 100:02}")


def _host(interface: str, *, outward: bool, **more: Any) -> Any:
    def cell(row: int, column: int) -> dict[str, Any]:
        gpu = f"gpu{column}:device"
        ends = (
            {"source": "?:pinned", "destination": gpu}
            if outward
            else {"source": gpu, "destination": "?:pinned"}
        )
        common = {"interface": interface, "pattern": "unidirectional", "counts": "per-direction"}
        return {**common, "executor": f"gpu{column}", "size_bytes": _BUFFER, **ends, **more}

    return cell


def _peers(interface: str, *, reads: bool, swapped: bool = False, **more: Any) -> Any:
    def cell(row: int, column: int) -> dict[str, Any]:
        here, there = f"gpu{row}:device", f"gpu{column}:device"
        from_there = reads != swapped
        ends = {"source": there if from_there else here, "destination": here if from_there else there}
        common = {"interface": interface, "pattern": "unidirectional", "counts": "per-direction"}
        return {**common, "executor": f"gpu{row}", "size_bytes": _BUFFER, **ends, **more}

    return cell


def _chase(*, peers: bool) -> Any:
    def cell(row: int, column: int) -> dict[str, Any]:
        memory = f"gpu{column}:device" if peers else "?:pinned"
        common = {"interface": "pointer-chase", "pattern": "unidirectional", "counts": "dependent-load"}
        ends = {"source": memory, "destination": memory, "executor": f"gpu{row if peers else column}"}
        return {**common, **ends, "size_bytes": 2 * 1024 * 1024}

    return cell


def old() -> Log:
    """0.4: devices without a place, narrow matrices, one direction of bidirectional copies."""
    log = Log(104)
    _begin(log, "0.4", ["NVIDIA A100-SXM4-80GB"] * 3, located=False)
    log.say("Running host_to_device_memcpy_ce.")
    title = "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)"
    _matrix(log, "host_to_device_memcpy_ce", title, 1, 3, 25.1, narrow=True, cell=_host("copy", outward=True))
    log.say("", "Running device_to_device_bidirectional_memcpy_read_ce.")
    title = "memcpy CE GPU(row) <-> GPU(column) bandwidth (GB/s)"
    cell = _peers("copy", reads=True, pattern="bidirectional")
    _matrix(log, "device_to_device_bidirectional_memcpy_read_ce", title, 3, 3, 233.0, narrow=True, cell=cell)
    return log


def waived() -> Log:
    """0.6 under Open MPI's launcher: waived tests without names, warnings within a matrix."""
    log = Log(106)
    _begin(log, "0.6", ["NVIDIA GH200 480GB"])
    log.say("Running host_to_device_memcpy_ce.")
    title = "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)"
    warning = "[node7:4242] PMIX WARNING: a shared memory segment is left behind"
    cell = _host("copy", outward=True)
    _matrix(log, "host_to_device_memcpy_ce", title, 1, 1, 371.0, between=[warning], cell=cell)
    log.say("", "Waived: ", "Waived: ", "Running device_to_host_memcpy_sm.")
    title = "memcpy SM CPU(row) <- GPU(column) bandwidth (GB/s)"
    _matrix(log, "device_to_host_memcpy_sm", title, 1, 1, 295.0, cell=_host("kernel", outward=False))
    log.say("", "Running host_device_latency_sm.", "memory latency SM CPU(row) <-> GPU(column) (ns)")
    title = log.lines.pop()
    _matrix(log, "host_device_latency_sm", title, 1, 1, 772.0, unit="ns", cell=_chase(peers=False))
    log.say("", "Waived: ", "NOTE: The reported results may not reflect what the platform can do.")
    log.prefix("[1,0]<stdout>:")
    return log


def several() -> Log:
    """0.8, CRLF: the three matrices of a bidirectional test, all to one, a local copy, twice in one file."""
    log = Log(108)
    test = "device_to_device_bidirectional_memcpy_write_ce"
    for _ in range(2):
        _begin(log, "0.8", ["NVIDIA H100 80GB HBM3"] * 2)
        log.say(f"Running {test}.")
        for part, about in (("Write1", 380.0), ("Write2", 381.0), ("Total", 761.0)):
            cell = _peers("copy", reads=False, swapped=part == "Write2", pattern="bidirectional")
            if part == "Total":
                cell = _peers("copy", reads=False, pattern="bidirectional", counts="sum-of-directions")
            title = f"memcpy CE GPU(row) <-> GPU(column) {part} bandwidth (GB/s)"
            _matrix(log, test, title, 2, 2, about, part=part, cell=cell)
            log.say("")
        log.say("Running all_to_one_read_sm.")
        title = "memcpy SM GPU(row) -> GPU(column) bandwidth (GB/s)"
        _matrix(log, "all_to_one_read_sm", title, 1, 2, 330.0, cell=_all_to_one)
        log.say("", "Running device_local_copy.")
        title = "memcpy local GPU(column) bandwidth (GB/s)"
        _matrix(log, "device_local_copy", title, 1, 2, 1300.0, cell=_local)
        log.say("")
    log.ends_line = "\r\n"
    return log


def _all_to_one(row: int, column: int) -> dict[str, Any]:
    common = {
        "interface": "kernel",
        "pattern": "fan-in",
        "counts": "sum-of-directions",
        "size_bytes": _BUFFER,
    }
    return {**common, "source": "?:device", "destination": f"gpu{column}:device", "executor": f"gpu{column}"}


def _local(row: int, column: int) -> dict[str, Any]:
    gpu = f"gpu{column}"
    common = {
        "interface": "copy",
        "pattern": "unidirectional",
        "counts": "per-direction",
        "size_bytes": _BUFFER,
    }
    return {**common, "source": f"{gpu}:device", "destination": f"{gpu}:device", "executor": gpu}


def newest() -> Log:
    """0.10 in colour: reasons of waived tests, variation over samples, two decimals of latencies, TMA."""
    log = Log(110)
    log.say("nvbandwidth Version: v0.10.0", "Built from Git version: v0.10.0", "")
    log.say("CUDA Runtime Version: 13.2 (13020)", "CUDA Driver Version (API): 13.2 (13020)")
    log.say("Driver Version: 595.71.05", "")
    log.hints = {
        "version": "0.10.0",
        "libraries": {"cuda": "13.2 (13020)", "driver": "595.71.05"},
        "gpus": {},
    }
    log.say("Running device_to_device_memcpy_read_tma.")
    title = "memcpy TMA GPU(row) -> GPU(column) bandwidth (GB/s)"
    test = "device_to_device_memcpy_read_tma"
    _matrix(log, test, title, 3, 3, 395.0, cell=_peers("kernel-bulk", reads=True))
    log.say(f"COEFFICIENT_OF_VARIATION {test} 0.00", "", "Waived: it needs peers of two nodes")
    log.say(
        "Running device_to_device_latency_sm.", "Device to Device Latency SM GPU(row) <-> GPU(column) (ns)"
    )
    title = log.lines.pop()
    _matrix(log, "device_to_device_latency_sm", title, 3, 3, 826.0, unit="ns", cell=_chase(peers=True))
    log.say("COEFFICIENT_OF_VARIATION device_to_device_latency_sm 0.01", "")
    log.colour()
    return log


def cut() -> Log:
    """The end of the file is missing, within a row: its values up to there, and mistakes."""
    log = Log(111)
    log.say("Running device_to_host_memcpy_ce.", "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)")
    log.mistakes.append(log.next_line - 1)  # the matrix without its sum, at its title
    log.say("           0         1")
    log.refuse()  # the cut number
    cell = _host("copy", outward=False)(0, 0)
    log.expect("device_to_host_memcpy_ce", "(row 0, column 0)", "55.20", "GB/s", statistic="median", **cell)
    log.say(" 0     55.20     55.21")
    log.cut_bytes = 3
    return log


def bad() -> Log:
    """Numbers that are none, rows that do not fit, a matrix without its test."""
    log = Log(112)
    log.say("nvbandwidth Version: v0.8", "", "Running host_to_device_memcpy_ce.")
    log.say("memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)", "           0         1         2")
    log.refuse()
    log.mistakes.append(log.next_line)
    cell = _host("copy", outward=True)(0, 2)
    log.expect("host_to_device_memcpy_ce", "(row 0, column 2)", "55.20", "GB/s", statistic="median", **cell)
    log.say(" 0     55,20       nan     55.20", "")
    log.refuse()
    log.say("SUM host_to_device_memcpy_ce -55.20", "", "Running host_to_device_memcpy_sm.")
    log.say("memcpy SM CPU(row) -> GPU(column) bandwidth (GB/s)", "           0         1         2")
    log.refuse()
    log.say(" 0     55.20     55.20", "")
    log.expect("host_to_device_memcpy_sm", "SUM", "110.40", "GB/s", **_TURNS)
    log.say("SUM host_to_device_memcpy_sm 110.40")
    return log


def document() -> Log:
    """JSON of 0.8 with devices: a test with three matrices in one, a waived one, one that failed."""
    log = Log(113)
    test, size = "device_to_device_bidirectional_memcpy_read_sm", 2
    rows: list[list[str]] = []
    for part, about in (("Read1", 350.0), ("Read2", 351.0), ("Total", 701.0)):
        for row in range(size):
            cells = []
            for column in range(size):
                text = "N/A" if row == column else log.number(about, 3)
                cells.append(text)
                if text == "N/A":
                    continue
                counts = "sum-of-directions" if part == "Total" else "per-direction"
                swapped = part == "Read2"
                cell = _peers("kernel", reads=True, swapped=swapped, pattern="bidirectional", counts=counts)
                pointer = f"/nvbandwidth/testcases/0/bandwidth_matrix/{len(rows)}/{column}"
                name = f"(row {row}, column {column}) {part}"
                log.expect(test, name, text, "GB/s", statistic="median", pointer=pointer, **cell(row, column))
            rows.append(cells)
    total = sum(float(text) for row in rows[-size:] for text in row if text != "N/A")
    log.expect(test, "sum", repr(total), "GB/s", pointer="/nvbandwidth/testcases/0/sum", **_TURNS)
    log.mistakes.append(1)  # the test that failed
    title = "memcpy SM GPU(row) <-> GPU(column) Total bandwidth (GB/s)"
    passed = {"bandwidth_description": title, "bandwidth_matrix": rows, "name": test}
    devices = [f"{gpu}: NVIDIA H200 (00000000:{0x10 + gpu:02x}:00): (node7)" for gpu in range(size)]
    content = {
        "CUDA Runtime Version": 12080,
        "Driver Version": "570.124.06",
        "GPU Device list": devices,
        "git_version": "v0.8",
        "testcases": [
            {**passed, "status": "Passed", "sum": total},
            {"name": "all_to_host_memcpy_ce", "status": "Waived"},
            {"name": "host_to_all_memcpy_ce", "status": "Error", "error": "CUDA_ERROR_OUT_OF_MEMORY"},
        ],
        "version": "v0.8",
    }
    log.document({"nvbandwidth": content})
    gpus = {str(gpu): "NVIDIA H200" for gpu in range(size)}
    log.hints = {"version": "0.8", "gpus": gpus, "hosts": ["node7"]}
    log.hints["libraries"] = {"cuda": "12080", "driver": "570.124.06"}
    return log


VARIANTS = {
    "v0.4-devices.txt": old,
    "v0.6-openmpi.txt": waived,
    "v0.8-twice-crlf.txt": several,
    "v0.10-colour.txt": newest,
    "cut.txt": cut,
    "bad-numbers.txt": bad,
    "v0.8.json": document,
}
