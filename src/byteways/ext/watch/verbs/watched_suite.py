"""The suite that measures what a program moved, for `run --from` and `watch --measure`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from byteways.base.errors import BytewaysError
from byteways.ext.watch.bins import Watched
from byteways.ext.watch.folder import read_watch_folder
from byteways.ext.watch.questions import may_alter, own_options, questions_of
from byteways.machine.model import Topology
from byteways.measuring.conduct.simulation import Simulation
from byteways.plan.built_suite import SuiteKeys
from byteways.plan.question_suite import suite_of_questions
from byteways.plan.suite_types import Suite

HEAD_OF_SUITE = {"name": "watched", "title": "What a program moved", "rounds": 3, "precision": 0.02}


def suite_of_folder(folder: Path, simulation: Simulation | None) -> Suite:
    """Returns the suite that measures what a program moved, the longest time first.

    Raises:
        BytewaysError: The folder cannot be read, or nothing of it can be measured on this machine.
    """
    from byteways.machine.discovery import discover
    from byteways.models.topology import topology_of

    topology = topology_of(simulation.model) if simulation else discover()
    return suite_of_watched(read_watch_folder(folder).watched, topology, HEAD_OF_SUITE, str(folder))


def suite_of_watched(
    watched: Watched,
    topology: Topology,
    head: SuiteKeys,
    name: str,
    settings: Sequence[Mapping[str, str]] = (),
) -> Suite:
    """Returns the suite that measures what a program moved, the longest time first.

    Args:
        watched: What it moved.
        topology: The machine.
        head: The suite's own keys.
        name: What messages call the program: its folder.
        settings: Variables with which all that they may alter is measured, too.

    Raises:
        BytewaysError: Nothing of it can be measured on this machine.
    """
    known = {*topology.names(), "host", ""}
    found = questions_of(watched)
    here = [one for one in found if known.issuperset((one.source, one.destination))]
    if not here:
        cause = (
            "its operations have no ends that are known" if not found else "this machine lacks its devices"
        )
        raise BytewaysError(f"nothing of {name} can be measured", cause=cause, hint="byteways run quick")
    return suite_of_questions(here, topology, head, name, settings, may_alter, own_options(watched))
