"""The machine that outputs of other programs are of: named by the user, or by the GPUs that they print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from byteways.base.errors import BytewaysError

if TYPE_CHECKING:
    from byteways.ext.audit.imported.value import Hints
    from byteways.ext.audit.judging.machine import AuditMachine

#: Of the option --machine of verbs that read such outputs.
MACHINE_HELP = (
    "The machine they are of: a name from `list machines`, a run folder, or a topology file. "
    "[default: what the files say of GPUs]"
)


def machine_of_outputs(name: str | None, hints: Sequence[Hints]) -> AuditMachine:
    """Returns the machine that is named, or that the outputs name.

    Raises:
        BytewaysError: There is none, or there are several.
    """
    from byteways.cli import topo
    from byteways.ext.audit.judging.machine import AuditMachine
    from byteways.machine.nominal import NOMINAL_MACHINES, nominal_mark, nominal_topology
    from byteways.measuring.conduct.simulation import simulation_of

    if name is None:
        return _printed_machine(hints)
    if name in NOMINAL_MACHINES:
        return AuditMachine(name, nominal_topology(name), nominal_mark(name))
    path = Path(name)
    if path.exists() and (path.is_dir() or path.suffix != ".toml"):
        topology, mark = topo.read(path)
        return AuditMachine(name, topology, mark)
    simulation = simulation_of(name, None)
    assert simulation is not None  # a name was given
    return AuditMachine(name, simulation.topology(), simulation.mark)


def _printed_machine(hints: Sequence[Hints]) -> AuditMachine:
    """Returns the machine whose GPUs the outputs name. Raises BytewaysError without one, or with several."""
    from byteways.ext.audit.judging.machine import machines_of

    found = machines_of(hints)
    if len(found) == 1:
        return found[0]
    models = ", ".join(dict.fromkeys(model for each in hints for model in each.gpus.values()))
    if found:
        cause = f"{models}: {' and '.join(one.name for one in found)} have them, linked in different ways"
    else:
        cause = f"byteways knows no machine of {models}" if models else "the files do not name its GPUs"
    raise BytewaysError(
        "the machine of the numbers is not known",
        cause=cause,
        hint="add --machine: a name of `byteways list machines`, or a file of `byteways topo --save FILE`",
    )
