"""p2pBandwidthLatencyTest of CUDA 11 and 12, and older ones."""

from __future__ import annotations

from typing import Any

from tests.imported.log import Log, matrix


def _begin(log: Log, gpus: int, model: str) -> None:
    log.say("[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]")
    for gpu in range(gpus):
        log.say(f"Device: {gpu}, {model}, pciBusID: {0x19 + gpu:x}, pciDeviceID: 0, pciDomainID:0")
    log.say("Device=0 CAN Access Peer Device=1", "Device=1 CANNOT Access Peer Device=0", "")
    log.say(
        "***NOTE: In case a device doesn't have P2P access to other one, it falls back to normal copies.", ""
    )
    log.say("P2P Connectivity Matrix", "     D\\D" + "".join(f"{gpu:6}" for gpu in range(gpus)))
    for gpu in range(gpus):
        log.say(f"{gpu:6}\t" + "     1" * gpus)
    log.hints = {"gpus": {str(gpu): model for gpu in range(gpus)}}


def _bandwidths(log: Log, gpus: int, title: str, about: float, **ways: bool) -> None:
    both, peer, reads = ways.get("both", False), ways.get("peer", True), ways.get("reads", False)
    log.say(f"{title} Matrix (GB/s)", "   D\\D" + "".join(f"{gpu:6} " for gpu in range(gpus)))
    for row in range(gpus):
        cells = [log.number(2800.0 if row == column else about, 2) for column in range(gpus)]
        for column, text in enumerate(cells):
            ends = (f"gpu{row}:device", f"gpu{column}:device")
            local = row == column
            counts = "read+write" if local else "sum-of-directions" if both else "per-direction"
            no_case = both if local else not peer
            codes = ["no-case", "size-unknown"] if no_case else ["size-unknown"]
            fields = _fields(row, *(reversed(ends) if reads else ends), both=both)
            name = f"(row {row}, column {column})"
            log.expect(title, name, text, "GB/s", counts=counts, differences=codes, **fields)
        log.say(f"{row:6} " + " ".join(f"{text:>6}" for text in cells) + " ")


def _fields(row: int, source: str, destination: str, *, both: bool = False) -> dict[str, Any]:
    ends = {"source": source, "destination": destination, "executor": f"gpu{row}"}
    pattern = "bidirectional" if both else "unidirectional"
    return {**ends, "interface": "copy", "pattern": pattern, "statistic": "mean"}


def _latencies(
    log: Log, gpus: int, title: str, about: float, *, peer: bool = True, reads: bool = False
) -> None:
    log.say(f"{title} Matrix (us)")
    for clock in ("GPU", "CPU"):
        log.say(f"   {clock}" + "".join(f"{gpu:6} " for gpu in range(gpus)))
        texts = {cell: log.number(about, 2) for cell in matrix(gpus, gpus)}
        for row in range(gpus):
            for column in range(gpus):
                ends = (f"gpu{row}:device", f"gpu{column}:device")
                no_case = clock == "CPU" or (not peer and row != column)
                fields = _fields(row, *(reversed(ends) if reads else ends))
                fields |= {"counts": "call", "size_bytes": 16, "differences": ["no-case"] if no_case else []}
                log.expect(title, f"(row {row}, column {column}) {clock}", texts[row, column], "us", **fields)
            log.say(f"{row:6} " + " ".join(f"{texts[row, column]:>6}" for column in range(gpus)) + " ")
        log.say("")


def newest() -> Log:
    """CUDA 12: both kinds of access, latencies by the clock of the GPU and of the CPU."""
    log = Log(601)
    _begin(log, 3, "NVIDIA H100 80GB HBM3")
    _bandwidths(log, 3, "Unidirectional P2P=Disabled Bandwidth", 37.5, peer=False)
    _bandwidths(log, 3, "Unidirectional P2P=Enabled Bandwidth (P2P Writes)", 376.0)
    _bandwidths(log, 3, "Unidirectional P2P=Enabled Bandwidth (P2P Reads)", 366.0, reads=True)
    log.say("[node7:1] NVRM: an unrelated line of the kernel")
    _bandwidths(log, 3, "Bidirectional P2P=Disabled Bandwidth", 45.5, peer=False, both=True)
    _bandwidths(log, 3, "Bidirectional P2P=Enabled Bandwidth", 740.0, both=True)
    _latencies(log, 3, "P2P=Disabled Latency", 18.0, peer=False)
    _latencies(log, 3, "P2P=Enabled Latency (P2P Writes)", 2.8)
    log.say("NOTE: The CUDA Samples are not meant for performance measurements.")
    return log


def twice() -> Log:
    """Two runs, CRLF, by srun, in colour."""
    log = Log(602)
    for _ in range(2):
        _begin(log, 2, "Tesla V100-SXM2-16GB")
        _bandwidths(log, 2, "Unidirectional P2P=Enabled Bandwidth (P2P Writes)", 48.3)
        _latencies(log, 2, "P2P=Enabled Latency (P2P Writes)", 2.1)
    log.prefix("0: ")
    log.colour()
    log.ends_line = "\r\n"
    return log


def pasted() -> Log:
    """Matrices alone, of an old version without the access."""
    log = Log(603)
    _bandwidths(log, 2, "Unidirectional P2P=Enabled Bandwidth", 20.3)
    _latencies(log, 2, "P2P=Enabled Latency (P2P Reads)", 3.0, reads=True)
    return log


def cut() -> Log:
    """The last row is missing, and a part of the row before."""
    log = Log(604)
    _bandwidths(log, 3, "Unidirectional P2P=Enabled Bandwidth (P2P Writes)", 376.0)
    log.lines[3:] = [log.lines[3][:16]]
    log.values = [value for value in log.values if value["line"] < 4]
    log.mistakes = [1, 4]
    return log


def bad() -> Log:
    """Numbers that are none."""
    log = Log(605)
    title = "Unidirectional P2P=Enabled Bandwidth (P2P Writes)"
    log.say(f"{title} Matrix (GB/s)", "   D\\D     0      1 ")
    for row, cells in enumerate((["-1.00", "nan"], ["1,00", "376.00"])):
        for column, text in enumerate(cells):
            if text == "376.00":
                fields = _fields(row, "gpu1:device", "gpu1:device")
                codes = {"counts": "read+write", "differences": ["size-unknown"]}
                log.expect(title, f"(row {row}, column {column})", text, "GB/s", **codes, **fields)
            else:
                log.refuse()
        log.say(f"{row:6} " + " ".join(cells))
    return log


VARIANTS = {
    "cuda-12.txt": newest,
    "cuda-11-twice-srun.txt": twice,
    "matrices-alone.txt": pasted,
    "cut.txt": cut,
    "bad-numbers.txt": bad,
}
