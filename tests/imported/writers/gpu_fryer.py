"""gpu-fryer 1.0 to 1.2."""

from __future__ import annotations

from tests.imported.log import Log


def _gpu(log: Log, gpu: int, about: float, *, deviation: bool = True) -> None:
    texts = [log.number(about, 0), log.number(about, 2), log.number(about, 2)]
    fields = {"executor": f"gpu{gpu}", "differences": ["no-case"]}
    for statistic, text in zip(("mean", "min", "max"), texts, strict=True):
        log.expect(f"GPU #{gpu}", f"Gflops/s ({statistic})", text, "Gflop/s", statistic=statistic, **fields)
    dev = ", dev: 512.10" if deviation else ""
    log.say(f"GPU #{gpu}: {texts[0]:>6} Gflops/s (min: {texts[1]}, max: {texts[2]}{dev})")
    log.say("         Temperature: 48.83°C (min: 47.00, max: 50.00)")
    log.say("         Throttling HW: false, Thermal SW: false, Thermal HW: false")


def usual() -> Log:
    log = Log(831)
    log.say("Detected 8 GPUs", "6 (6597 Gflops/s) - 6 (6597 Gflops/s) | Temperatures: 58°C - 56°C")
    for gpu in range(8):
        _gpu(log, gpu, 51494.0)
    log.say("All GPUs seem healthy")
    return log


def old() -> Log:
    """Without a deviation, CRLF, by srun, in colour; two precisions in a file."""
    log = Log(832)
    for about in (373000.0, 730000.0):
        for gpu in range(2):
            _gpu(log, gpu, about, deviation=False)
    log.prefix("1: ")
    log.colour()
    log.ends_line = "\r\n"
    return log


def between() -> Log:
    """Lines of a driver between those of the GPUs."""
    log = Log(833)
    _gpu(log, 0, 705000.0)
    log.say("NVRM: Xid (PCI:0000:19:00): 79, GPU has fallen off the bus.")
    _gpu(log, 1, 705000.0)
    log.say("Some GPUs are not healthy")
    return log


def bad() -> Log:
    """A line that was cut, numbers that are none."""
    log = Log(834)
    log.refuse()
    log.expect(
        "GPU #0",
        "Gflops/s (max)",
        "51.00",
        "Gflop/s",
        statistic="max",
        executor="gpu0",
        differences=["no-case"],
    )
    log.refuse()
    log.say("GPU #0: NaN Gflops/s (min: -5.00, max: 51.00, dev: 1.00)")
    log.refuse()
    log.say("GPU #1:  51494 Gflops/s (min: 505")
    return log


VARIANTS = {
    "v1.1.txt": usual,
    "v1.0-twice-srun-colour.txt": old,
    "between.txt": between,
    "bad.txt": bad,
}
