"""gpu-fryer: the last lines of a run, with the arithmetic rate of each GPU in Gflop/s."""

from __future__ import annotations

import re

from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.reader import DataCheck
from byteways.ext.audit.imported.reading import Reading
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit

_LINE = r"GPU #(?P<gpu>\d{1,4}):\s+(?P<mean>\S+) Gflops/s"
_BEGINS = re.compile(rf"\s*{_LINE}")
_GPU = re.compile(_LINE + r" \(min: (?P<min>[^,\s]+), max: (?P<max>[^,)\s]+)(?:, dev: [^)]+)?\)$")
_BEGUN = re.compile(_LINE)
_OTHER = re.compile(
    r"Temperature: |Throttling|Thermal |All GPUs seem|Some GPUs|GPU \d+ - |Reasons|Freeing|HW slow|GPU #\d+ "
)


class GpuFryerReader(Reading):
    """Reads the lines of gpu-fryer."""

    name = "gpu-fryer"
    begins = _BEGINS
    data_check = DataCheck(none_because="it prints rates of arithmetic and checks no data")

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._seen: set[int] = set()
        self.take(line)

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        begun = _BEGUN.match(text)
        if begun is None:
            return not text or _OTHER.match(text) is not None
        gpu = int(begun["gpu"])
        if gpu in self._seen:
            return False  # another run
        self._seen.add(gpu)
        found = _GPU.match(text)
        if found is None:
            self.refuse(line.number, f"the line of GPU {gpu} ends early: it was cut")
            return True
        for statistic in ("mean", "min", "max"):
            self.add(
                ForeignValue(
                    line=line.number,
                    test=f"GPU #{gpu}",
                    column=f"Gflops/s ({statistic})",
                    text=found[statistic],
                    unit=Unit("Gflop/s", written="Gflops/s"),
                    statistic=statistic,
                    counts=None,
                    size_bytes=None,
                    operation=Operation(executor=f"gpu{gpu}"),
                    differences=("no-case",),
                )
            )
        return True

    def end(self) -> None:
        """Nothing is open: each line is complete or a mistake."""
