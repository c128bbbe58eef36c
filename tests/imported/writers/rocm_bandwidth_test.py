"""rocm_bandwidth_test 2.0 to 2.6: matrices and tables by size."""

from __future__ import annotations

from typing import Any

from tests.imported.log import Log

_ENDS = ["cpu0:pinned", "gpu0:device", "gpu1:device"]


def _begin(log: Log, version: str) -> None:
    log.say("............", f"          RocmBandwidthTest Version: {version}", "")
    log.say("          Launch Command is: rocm-bandwidth-test (rocm_bandwidth -a + rocm_bandwidth -A)", "")
    log.say("          Device: 0,  AMD EPYC 7A53 64-Core Processor")
    for number in (1, 2):
        log.say(f"          Device: {number},  AMD Instinct MI250X,  GPU-9f5071617{number},  0{number}:0.0")
    log.say("", "          Inter-Device Access", "", "          D/D       0         1         2")
    for number in range(3):
        log.say("", f"          {number}         1         1         1")
    log.say("", "          Inter-Device Numa Distance", "", "          D/D       0         1         2")
    for number in range(3):
        log.say("", f"          {number}         0         20        N/A")
    log.hints = {"version": version, "gpus": {"0": "AMD Instinct MI250X", "1": "AMD Instinct MI250X"}}


def _matrix(log: Log, title: str, decimals: int, *, both: bool = False) -> None:
    log.say("", "", f"          {title} copy peak bandwidth GB/s", "")
    log.say("          D/D       0           1           2           ", "")
    test = f"{'Bi' if both else 'Uni'}directional copy peak bandwidth"
    for row in range(3):
        cells = []
        for column in range(3):
            absent = (row == column == 0) or (both and row == column)
            cells.append("N/A" if absent else log.number(1300.0 if row == column else 25.0, decimals))
        for column, text in enumerate(cells):
            if text != "N/A":
                counts = "sum-of-directions" if both else "read+write" if row == column else "per-direction"
                fields = _pair(_ENDS[row], _ENDS[column], both=both, codes=["extreme", "size-unknown"])
                name = f"(row {row}, column {column})"
                log.expect(test, name, text, "GB/s", statistic="max", counts=counts, **fields)
        log.say(f"          {row}         " + "".join(f"{text:12}" for text in cells), "")


def _pair(source: str, destination: str, *, both: bool, codes: list[str]) -> dict[str, Any]:
    pattern = "bidirectional" if both else "unidirectional"
    ends = {"source": source, "destination": destination, "pattern": pattern}
    return {**ends, "interface": "copy", "differences": codes}


def _sizes(log: Log, *, both: bool, title: str) -> None:
    log.say("", f"================    {title}Benchmark Result    ================")
    log.say("================ Src Device Id: 0 Src Device Type: Cpu ================")
    log.say("================ Dst Device Id: 2 Dst Device Type: Gpu ================", "")
    log.say("Data Size      Avg Time(us)   Avg BW(GB/s)   Min Time(us)   Peak BW(GB/s)  ")
    for size, words in ((1024, "1 KB"), (1 << 20, "1 MB"), (1 << 29, "512 MB")):
        numbers = [log.number(about, 3) for about in (45.0, 46.6, 44.6, 46.9)]
        _expect_size(log, numbers, size, both=both)
        log.say(f"{words:15}" + "".join(f"{number:15}" for number in numbers))


def _expect_size(log: Log, numbers: list[str], size: int, *, both: bool) -> None:
    test, timed = "Bidirectional" if both else "Unidirectional", ["no-case"] if both else []
    columns = (("Avg Time", "us", "mean"), ("Avg BW", "GB/s", "mean"), ("Min Time", "us", "min"))
    for (column, unit, statistic), text in zip((*columns, ("Peak BW", "GB/s", "max")), numbers, strict=True):
        codes = (["extreme"] if statistic != "mean" else []) + (timed if unit == "us" else [])
        counts = "call" if unit == "us" else "sum-of-directions" if both else "per-direction"
        fields = _pair("cpu0:pinned", "?:device", both=both, codes=codes)
        log.expect(test, column, text, unit, statistic=statistic, counts=counts, size_bytes=size, **fields)


def all_pairs() -> Log:
    """2.5: matrices of all pairs."""
    log = Log(621)
    _begin(log, "2.5.1")
    _matrix(log, "Unidirectional", 3)
    _matrix(log, "Bidirectional", 3, both=True)
    return log


def old() -> Log:
    """2.0: a misspelt title, six decimals; in colour, CRLF, by Hydra."""
    log = Log(622)
    _begin(log, "2.0.1")
    _matrix(log, "Unidirectional", 6)
    log.say("rocm_bandwidth_test: a warning between the tables")
    _matrix(log, "Bdirectional", 6, both=True)
    log.prefix("[0] ")
    log.colour()
    log.ends_line = "\r\n"
    return log


def by_size() -> Log:
    """2.6: one pair by size, without the list of devices; twice."""
    log = Log(623)
    for title, both in (("", False), ("Bidirectional ", True)):
        log.say("....", "          RocmBandwidthTest Version: 2.6.0", "")
        log.say("          Launch Command is: rocm-bandwidth-test -b 0,2", "")
        _sizes(log, both=both, title=title)
    log.hints = {"version": "2.6.0"}
    return log


def bad() -> Log:
    """A row that was cut, a number that is none, a table that ends before its first row."""
    log = Log(624)
    log.say("          RocmBandwidthTest Version: 2.6.0", "")
    log.say("================    Unidirectional Benchmark Result    ================")
    log.say("================ Src Device Id: 0 Src Device Type: Cpu ================")
    log.say("================ Dst Device Id: 2 Dst Device Type: Gpu ================")
    log.say("Data Size      Avg Time(us)   Avg BW(GB/s)   Min Time(us)   Peak BW(GB/s)  ")
    log.refuse()
    log.say("1 KB           4.920          0.416")
    log.refuse()
    _expect_size(log, ["-4.920", "0.416", "4.640", "0.441"], 2048, both=False)
    del log.values[0]
    log.say("2 KB           -4.920         0.416          4.640          0.441")
    log.refuse()
    log.say("          Unidirectional copy peak bandwidth GB/s", "          D/D       0           1")
    return log


VARIANTS = {
    "v2.5-matrices.txt": all_pairs,
    "v2.0-hydra-colour-crlf.txt": old,
    "v2.6-sizes.txt": by_size,
    "bad.txt": bad,
}
