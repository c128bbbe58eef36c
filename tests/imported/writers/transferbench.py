"""TransferBench 1.50, 1.62, 1.65, 1.67 and 1.69: tests, p2p and a2a, in frames, boxes and commas."""

from __future__ import annotations

from typing import Any

from tests.imported.log import Log

_KERNEL = {"interface": "kernel", "options": {"blocks": 4}}
#: Transfers with what they are.
_TRANSFERS: dict[str, dict[str, Any]] = {
    "G0 -> G000:004 -> G1": {
        **_KERNEL,
        "source": "gpu0:device",
        "destination": "gpu1:device",
        "executor": "gpu0",
    },
    "F1 -> G001:004 -> F0": {
        **_KERNEL,
        "source": "gpu1:device-fine",
        "destination": "gpu0:device-fine",
        "executor": "gpu1",
    },
    "G0 -> DMA00.*:001 -> G1": {
        "interface": "copy",
        "source": "gpu0:device",
        "destination": "gpu1:device",
        "executor": "gpu0",
    },
    "C1 -> GPU02:004 -> G0": {
        **_KERNEL,
        "source": "cpu1:pinned",
        "destination": "gpu0:device",
        "executor": "gpu2",
    },
    "U0 -> C0:8 -> G0": {
        "interface": "memcpy-mt",
        "options": {"threads": 8},
        "source": "cpu0:pageable",
        "destination": "gpu0:device",
        "executor": "cpu0",
    },
    "N -> G000:004 -> G0": {
        **_KERNEL,
        "interface": "store",
        "source": "gpu0:device",
        "destination": "gpu0:device",
        "executor": "gpu0",
        "counts": "read+write",
    },
    "G0 -> D0:1 -> P0": {
        "interface": "copy",
        "source": "gpu0:device",
        "destination": "?:pinned",
        "executor": "gpu0",
    },
    "G0 -> G000:004 -> G0G1": {
        **_KERNEL,
        "source": "gpu0:device",
        "destination": "gpu0:device",
        "executor": "gpu0",
        "differences": ["no-case"],
    },
}


def _begin(log: Log, version: str, *, comma: bool = False) -> None:
    separator = "," if comma else "="
    log.say(
        f"TransferBench v{version}",
        "=" * 63,
        "[Common]                              (Suppress by HIDE_ENV=1)",
    )
    log.say(f"ALWAYS_VALIDATE     {separator}           0 : Validating after all iterations")
    log.say(f"NUM_ITERATIONS      {separator}          10 : Running 10 timed iteration(s)", "")
    log.hints = {"version": version}


def _test(
    log: Log, number: int, routes: list[str], frame: str = " | ", *, rule: str = "", iterate: int = 0
) -> None:
    """Writes a test; its executor's row, its transfers' and the aggregate's."""
    size, test, alone = 64 << 20, f"Test {number}", len(routes) == 1
    log.say(f"Test {number}:", *([rule] if rule else []))
    end = "," if frame == ", " else ""

    def cells(what: str, of: int | None, *more: str, **fields: Any) -> str:
        rate, time = log.number(47.0, 3), log.number(1.4, 3)
        fields = {"differences": ["no-case"], "size_bytes": of, "statistic": "mean", **fields}
        counts = fields.pop("counts", None)
        sums = [log.number(47.0, 3)] if more == ("sum",) else []
        log.expect(test, f"{what} GB/s", rate, "GB/s", counts=counts, **fields)
        for text in sums:
            log.expect(test, f"{what} (sum) GB/s", text, "GB/s", **fields)
        log.expect(test, f"{what} ms", time, "ms", **fields)
        last = [f"{text} GB/s (sum)" for text in sums] or [*more]
        sizes = [f"{of:>12} bytes"] if of else ["", ""]
        return frame.join([f"{rate:>8} GB/s", f"{time:>8} ms", *sizes, *last]) + end

    kind = "DMA" if routes[0].split(" -> ")[1].startswith("D") else "GPU"
    log.say(f" Executor: {kind} 00{frame}" + cells(f"Executor: {kind} 00", len(routes) * size, "sum"))
    for index, route in enumerate(routes):
        fields = {
            "pattern": "unidirectional",
            "counts": "per-direction",
            "differences": [],
            **_TRANSFERS[route],
        }
        if not alone:
            fields |= {"pattern": "transfers", "differences": ["no-case"]}
        label = f"Transfer {index:02}"
        log.say(f"     {label}{frame}" + cells(label, size, route, **fields))
        for turn in range(iterate):
            more = {**fields, "statistic": None, "differences": ["no-case"]}
            label = f"Iter {turn + 1:03}"
            log.say(f"      {label}{frame}" + cells(label, None, **more))
        if iterate:
            log.say(f"      StandardDev{frame}   0.000 GB/s{frame}  11.060 ms{frame}{frame}{end}")
    log.say(
        f" Aggregate (CPU){frame}" + cells("Aggregate (CPU)", len(routes) * size, "Overhead: 0.111 ms"), ""
    )


def framed() -> Log:
    """1.62: `|` between the columns, comments of the file of tests, a line of a driver."""
    log = Log(701)
    _begin(log, "1.62.00")
    for number, route in enumerate(_TRANSFERS, start=1):
        log.say(f"## A transfer of kind {number}")
        _test(log, number, [route])
        if number == 2:
            log.say(":3:hip_module.cpp :584 : 178 us: a line of the runtime's log")
    _test(log, 20, ["G0 -> G000:004 -> G1", "F1 -> G001:004 -> F0"])
    return log


def boxed() -> Log:
    """1.67, CRLF, in colour: box drawings between columns and rows."""
    log = Log(702)
    _begin(log, "1.67.00")
    rule = "-------------------┬--------------┬------------┬-------------------┬--------------------"
    _test(log, 1, ["G0 -> G000:004 -> G1"], " │ ", rule=rule)
    log.say(rule.replace("┬", "┴"))
    log.colour()
    log.ends_line = "\r\n"
    return log


def commas() -> Log:
    """1.69 with OUTPUT_TO_CSV and iterations, by Open MPI's launcher."""
    log = Log(703)
    _begin(log, "1.69.00", comma=True)
    _test(log, 1, ["G0 -> D0:1 -> P0"], ", ", iterate=2)
    log.prefix("[1,0]<stdout>:")
    return log


def _peers(log: Log, *, both: bool, comma: bool = False, remote: bool = False, engine: str = "GFX") -> None:
    name = "Bi" if both else "Uni"
    sides = ("Remote", "Local") if remote else ("Local", "Remote")
    title = f"{name}directional copy peak bandwidth GB/s [{sides[0]} read / {sides[1]} write]"
    log.say(f"{title} (GPU-Executor: {engine})")
    devices, stop = ["CPU 00", "GPU 00", "GPU 01"], "," if comma else ""
    header = "SRC\\DST" if both else "SRC\\EXE+DST" if remote else "SRC+EXE\\DST"
    log.say(f"{header:>12}{stop}" + "".join(f"{device:>10}{stop}" for device in devices))
    for row in devices:
        ways = ("->", "<-", "<->") if both else ("->",)
        for way in ways:
            texts = []
            for column in devices:
                text = "N/A" if both and row == column else log.number(48.0, 2)
                texts.append(text)
                if text != "N/A":
                    _expect_peer(log, row, way, column, text, remote=remote, engine=engine, both=both)
            log.say(f"  {row} {way:>3}{stop}" + "".join(f"{text:>10}{stop}" for text in texts))
        if both:
            log.say("")


def _expect_peer(log: Log, row: str, way: str, column: str, text: str, **how: Any) -> None:
    source, destination = (column, row) if way == "<-" else (row, column)
    executing = destination if how["remote"] else source
    by_gpu = {"GFX": "kernel", "DMA": "copy"}[how["engine"]]
    pattern = "bidirectional" if how["both"] else "unidirectional"
    fields = {
        "interface": by_gpu if executing.startswith("GPU") else "memcpy-mt",
        "pattern": pattern,
        "source": _end(source),
        "destination": _end(destination),
        "executor": _end(executing).split(":")[0],
        "counts": "sum-of-directions" if way == "<->" else "per-direction",
    }
    common = {"statistic": "mean", "size_bytes": 64 << 20}
    log.expect(f"p2p {pattern}", f"({row} {way} {column})", text, "GB/s", **common, **fields)


def _end(device: str) -> str:
    kind, number = device.split()
    return f"{kind.lower()}{int(number)}:{'device' if kind == 'GPU' else 'pinned'}"


def _averages(log: Log, during: str) -> None:
    log.say("                           CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU")
    texts = ["N/A", *(log.number(48.0, 2) for _ in range(3))]
    for column, text in zip(("CPU->CPU", "CPU->GPU", "GPU->CPU", "GPU->GPU"), texts, strict=True):
        if text != "N/A":
            _expect_total(log, f"Averages (During {during})", column, text)
    log.say(f"Averages (During {during:>6}):" + "".join(f"{text:>10}" for text in texts), "")


def _expect_total(log: Log, test: str, column: str, text: str) -> None:
    common = {"statistic": "mean", "size_bytes": 64 << 20, "differences": ["devices-unknown"]}
    log.expect(test, column, text, "GB/s", **common)


def peers() -> Log:
    """1.50: p2p in both modes."""
    log = Log(704)
    _begin(log, "1.50")
    log.say(f"Bytes Per Direction {64 << 20}")
    _peers(log, both=False)
    _averages(log, "UniDir")
    _peers(log, both=True)
    _averages(log, "BiDir")
    return log


def peers_csv() -> Log:
    """1.65 with commas: remote reads by copy engines; twice in a file."""
    log = Log(705)
    for _ in range(2):
        _begin(log, "1.65", comma=True)
        log.say(f"Bytes Per Direction,{64 << 20}")
        _peers(log, both=False, comma=True, remote=True, engine="DMA")
    return log


def all_to_all() -> Log:
    """1.62: the summary of a2a."""
    log = Log(706)
    _begin(log, "1.62")
    log.say("GPU-GFX All-To-All benchmark:", "=" * 26, "- Copying 67108864 bytes between all pairs of GPUs")
    log.say("", f"Summary: [{64 << 20} bytes per Transfer]", "=" * 58)
    log.say("SRC\\DST  GPU 00     GPU 01        STotal      Actual")
    for row in range(2):
        texts = ["N/A" if row == column else log.number(51.0, 3) for column in range(2)]
        for column, text in enumerate(texts):
            if text != "N/A":
                ends = {
                    "source": f"gpu{row}:device",
                    "destination": f"gpu{column}:device",
                    "executor": f"gpu{row}",
                }
                fields = {**ends, "pattern": "all-pairs", "counts": "per-direction"}
                _expect_cell(log, row, f"GPU {column:02}", text, **fields)
        totals = [log.number(360.0, 3) for _ in range(2)]
        for name, text in zip(("STotal", "Actual"), totals, strict=True):
            _expect_cell(log, row, name, text)
        log.say(f"GPU {row:02} " + "".join(f"{text:>9}  " for text in (*texts, *totals)))
    log.say("")
    texts = [log.number(360.0, 3) for _ in range(5)]
    for name, text in zip(("GPU 00", "GPU 01", "STotal", "Actual", "Actual (max)"), texts, strict=True):
        _expect_total(log, "RTotal", name, text)
    log.say("RTotal " + "".join(f"{text:>9}  " for text in texts), "")
    for name in ("Average   bandwidth (GPU Timed)", "Aggregate bandwidth (CPU Timed)"):
        text = log.number(400.0, 3)
        _expect_total(log, " ".join(name.split()), "GB/s", text)
        log.say(f"{name}: {text:>8} GB/s")
    return log


def _expect_cell(log: Log, row: int, column: str, text: str, **fields: Any) -> None:
    common = {"statistic": "mean", "size_bytes": 64 << 20, "differences": ["no-case"]}
    log.expect("a2a", f"(GPU {row:02}, {column})", text, "GB/s", **common, **fields)


def bad() -> Log:
    """A row that was cut, numbers that are none, a test without rows."""
    log = Log(707)
    log.say(" Executor: GPU 00 |   47.056 GB/s |    1.400 ms |     64 bytes | 47.056 GB/s (sum)")
    for column, unit, text in (
        ("GB/s", "GB/s", "47.056"),
        ("(sum) GB/s", "GB/s", "47.056"),
        ("ms", "ms", "1.400"),
    ):
        log.expect(
            "Test", f"Executor: GPU 00 {column}", text, unit, statistic="mean", differences=["no-case"]
        )
    for value in log.values:
        value |= {"line": 1, "size_bytes": 64}
    log.say("Test 1:")
    log.refuse()
    log.say("     Transfer 00  |   47.056 GB/s |    1.4")
    log.refuse()
    fields = {**_TRANSFERS["G0 -> G000:004 -> G1"], "pattern": "unidirectional", "statistic": "mean"}
    log.expect("Test 1", "Transfer 00 ms", "0.000", "ms", size_bytes=64, **fields)
    log.say("     Transfer 00  |      nan GB/s |    0.000 ms |      64 bytes | G0 -> G000:004 -> G1")
    log.say("Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)")
    log.say(" SRC+EXE\\DST    CPU 00    GPU 00")
    log.refuse()
    log.say("  GPU 00  ->     23.83")
    log.refuse()
    log.say("Test 2:")
    return log


VARIANTS = {
    "v1.62-frames.txt": framed,
    "v1.67-boxes-colour-crlf.txt": boxed,
    "v1.69-openmpi.csv": commas,
    "v1.50-p2p.txt": peers,
    "v1.65-p2p.csv": peers_csv,
    "v1.62-a2a.txt": all_to_all,
    "bad.txt": bad,
}
