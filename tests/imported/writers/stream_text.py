"""STREAM 5.10 and 5.9."""

from __future__ import annotations

from tests.imported.log import Log

_LOOPS = ("Copy", "Scale", "Add", "Triad")


def _begin(log: Log, elements: int | None, *, version: str = "5.10") -> None:
    log.say("-" * 61, f"STREAM version $Revision: {version} $", "-" * 61)
    log.say("This system uses 8 bytes per array element.", "-" * 61)
    if elements is not None:
        log.say(f"Array size = {elements} (elements), Offset = 0 (elements)")
        log.say(
            "Memory per array = 610.4 MiB (= 0.6 GiB).", "Total memory required = 1831.1 MiB (= 1.8 GiB)."
        )
    log.say("Each kernel will be executed 10 times.", "-" * 61, "Number of Threads requested = 64")
    log.hints = {"version": version}


def _rows(log: Log, elements: int | None, about: float, *, loops: tuple[str, ...] = _LOOPS) -> None:
    log.say("Function    Best Rate MB/s  Avg time     Min time     Max time")
    for loop in loops:
        numbers = [log.number(about, 1), *(log.number(0.0134, 6) for _ in range(3))]
        _expect(log, loop, numbers, elements)
        log.say(f"{loop + ':':12}{numbers[0]:>12}  " + "  ".join(f"{number:>11}" for number in numbers[1:]))


def _expect(log: Log, loop: str, numbers: list[str], elements: int | None) -> None:
    end = {"source": "?:pageable", "destination": "?:pageable", "pattern": "unidirectional"}
    common = {**end, "interface": f"stream-{loop.lower()}", "size_bytes": elements and 8 * elements}
    alone = {"differences": ["extreme"]}
    log.expect(loop, "Best Rate", numbers[0], "MB/s", statistic="max", counts="read+write", **alone, **common)
    log.expect(loop, "Avg time", numbers[1], "s", statistic="mean", **common)
    log.expect(loop, "Min time", numbers[2], "s", statistic="min", **alone, **common)
    log.expect(loop, "Max time", numbers[3], "s", statistic="max", **alone, **common)


def usual() -> Log:
    log = Log(301)
    _begin(log, 80_000_000)
    log.say("OMP: Info #156: KMP_AFFINITY: 64 available OS procs")
    _rows(log, 80_000_000, 95765.0)
    log.say("-" * 61, "Solution Validates: avg error less than 1.000000e-13 on all three arrays", "-" * 61)
    return log


def twice() -> Log:
    """Two runs by srun, in colour, with CRLF."""
    log = Log(302)
    for elements in (10_000_000, 20_000_000):
        _begin(log, elements)
        _rows(log, elements, 141000.0)
        log.say("-" * 61)
    log.prefix("3: ")
    log.colour()
    log.ends_line = "\r\n"
    return log


def old() -> Log:
    """5.9: other words of the header; the size in words without a unit."""
    log = Log(303)
    log.say("STREAM version $Revision: 5.9 $", "This system uses 8 bytes per DOUBLE PRECISION word.")
    log.say("Array size = 2000000, Offset = 0", "Total memory required = 45.8 MB.")
    log.say("Function      Rate (MB/s)   Avg time     Min time     Max time")
    for loop in _LOOPS:
        numbers = [log.number(8123.4, 4), *(log.number(0.0040, 4) for _ in range(3))]
        _expect(log, loop, numbers, 2_000_000)
        log.say(f"{loop}:       " + "       ".join(numbers))
    log.hints = {"version": "5.9"}
    return log


def pasted() -> Log:
    """The table alone: the size is unknown."""
    log = Log(304)
    _rows(log, None, 21000.0)
    return log


def cut() -> Log:
    log = Log(305)
    log.mistakes.append(2)
    _begin(log, 1000)
    _rows(log, 1000, 21000.0, loops=("Copy", "Scale"))
    return log


def bad() -> Log:
    """A decimal comma, a row with too few numbers."""
    log = Log(306)
    _begin(log, 1000)
    log.say("Function    Best Rate MB/s  Avg time     Min time     Max time")
    log.refuse()
    _expect(log, "Copy", ["0", "0.013366", "0.013366", "0.013366"], 1000)
    del log.values[0]
    log.say("Copy:        95765,2     0.013366     0.013366     0.013366")
    log.refuse()
    log.say("Scale:       95765.2     0.013366")
    for loop in ("Add", "Triad"):
        numbers = ["95765.2", "0.013366", "0.013366", "0.013366"]
        _expect(log, loop, numbers, 1000)
        log.say(f"{loop}: " + " ".join(numbers))
    return log


VARIANTS = {
    "v5.10.txt": usual,
    "v5.10-twice-srun.txt": twice,
    "v5.9.txt": old,
    "table-alone.txt": pasted,
    "cut.txt": cut,
    "bad-numbers.txt": bad,
}
