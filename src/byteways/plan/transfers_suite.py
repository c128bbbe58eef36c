"""The suite of `byteways run --transfers`: each set of transfers together, and every transfer alone. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.errors import BytewaysError
from byteways.plan.suite import parse
from byteways.plan.suite_types import Suite
from byteways.plan.transfer_sets import EXAMPLE, TransferSet, parse_transfers, written

#: Size of a transfer: launch overhead no longer counts, and every GPU has room. --size names others.
SIZE = "256MiB"
_HEAD = 'name = "transfers"\ntitle = "Transfers of the command line, together and alone"\n'


def transfers_suite(texts: Sequence[str]) -> Suite:
    """Returns the suite. Raises BytewaysError if a text is not a set of transfers."""
    sets = []
    for text in texts:
        try:
            sets.append(parse_transfers(text))
        except ValueError as error:
            raise BytewaysError(f"--transfers: {error}", hint=f"--transfers '{EXAMPLE}'") from error
    lines = [_HEAD]
    for number, transfers in enumerate(sets):
        listed = f'pattern = "transfers"\ntransfers = "{written(transfers)}"\n'
        lines.append(_sweep(f"together-{number}", transfers, listed, "*", "*"))
    for number, (source, destination) in enumerate(dict.fromkeys(one for each in sets for one in each)):
        alone = ((source, destination),)
        lines.append(_sweep(f"alone-{number}", alone, "", source, destination))
    return parse("".join(lines), file="--transfers")


def _sweep(name: str, transfers: TransferSet, more: str, source: str, destination: str) -> str:
    """Returns the text of a sweep: copy calls and kernels where GPUs take part, else threads of the CPUs."""
    of_gpus = any(device.startswith("gpu") for transfer in transfers for device in transfer)
    interfaces, of_cpus = ('["copy", "kernel"]', "pinned") if of_gpus else ('"memcpy-mt"', "pageable")

    def buffers(end: str) -> str:
        if end == "*":
            return f'["gpu*:device", "cpu*:{of_cpus}"]' if of_gpus else f'"cpu*:{of_cpus}"'
        return f'"{end}:{"device" if end.startswith("gpu") else of_cpus}"'

    return (
        f'[[sweep]]\nname = "{name}"\ninterface = {interfaces}\n{more}source = {buffers(source)}\n'
        f'destination = {buffers(destination)}\nexecutor = "both"\nsize = "{SIZE}"\n'
    )
