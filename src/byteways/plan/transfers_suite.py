"""The suite of `byteways run --transfers`: each set of transfers together, and every transfer alone. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.base.errors import BytewaysError
from byteways.cases.transfer_sets import EXAMPLE, TransferSet, parse_transfers, written
from byteways.plan.built_suite import NamedSweep, SuiteKeys, built_suite
from byteways.plan.suite_types import Suite

#: Size of a transfer: launch overhead no longer counts, and every GPU has room. --size names others.
SIZE = "256MiB"
_HEAD = {"name": "transfers", "title": "Transfers of the command line, together and alone"}


def transfers_suite(texts: Sequence[str]) -> Suite:
    """Returns the suite. Raises BytewaysError if a text is not a set of transfers."""
    sets = []
    for text in texts:
        try:
            sets.append(parse_transfers(text))
        except ValueError as error:
            raise BytewaysError(f"--transfers: {error}", hint=f"--transfers '{EXAMPLE}'") from error
    sweeps: list[NamedSweep] = []
    for number, transfers in enumerate(sets):
        listed = {"pattern": "transfers", "transfers": written(transfers)}
        sweeps.append((f"together-{number}", _keys(transfers, listed, "*", "*")))
    for number, alone in enumerate(dict.fromkeys(one for each in sets for one in each)):
        sweeps.append((f"alone-{number}", _keys((alone,), {}, *alone)))
    return built_suite(_HEAD, sweeps, file="--transfers")


def _keys(transfers: TransferSet, more: SuiteKeys, source: str, destination: str) -> SuiteKeys:
    """Returns the keys of a sweep: copy calls and kernels where GPUs take part, else threads of the CPUs."""
    of_gpus = any(device.startswith("gpu") for transfer in transfers for device in transfer)
    of_cpus = "pinned" if of_gpus else "pageable"

    def buffers(end: str) -> str | list[str]:
        if end == "*":
            return ["gpu*:device", f"cpu*:{of_cpus}"] if of_gpus else f"cpu*:{of_cpus}"
        return f"{end}:{'device' if end.startswith('gpu') else of_cpus}"

    return {
        "interface": ["copy", "kernel"] if of_gpus else "memcpy-mt",
        **more,
        "source": buffers(source),
        "destination": buffers(destination),
        "executor": "both",
        "size": SIZE,
    }
