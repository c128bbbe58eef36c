"""The option --beside: a finished run of the same study on another machine, drawn with this one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from byteways.cli.runs import opened_run
from byteways.measuring.conduct.opening import topology_of
from byteways.measuring.conduct.probe import probe
from byteways.measuring.conduct.simulation import Simulation

if TYPE_CHECKING:
    from byteways.ext.studies.published.study import Study
    from byteways.record.run_folder import RunFolder

BesideRun = Annotated[
    Path | None,
    typer.Option(
        "--beside",
        help="A finished run of the same study on another machine: draw both in one picture.",
        metavar="RUN",
    ),
]


def opened_second_run(path: Path | None, study: Study) -> RunFolder | None:
    """Opens the run that is drawn beside another one; None without one.

    Raises:
        BytewaysError: The folder is no run of this study, or no figure of the study draws two machines.
    """
    from byteways.ext.studies.comparison.two_machines import check_second_run

    if path is None:
        return None
    run = opened_run(path)
    check_second_run(study, run, str(path))
    return run


def check_pair(study: Study, run: RunFolder, beside: RunFolder | None) -> None:
    """Raises BytewaysError if two runs of a study are not drawn beside each other."""
    from byteways.ext.studies.comparison.two_machines import check_definitions, check_machines
    from byteways.record.simulation_mark import is_simulated

    if beside is not None:
        name = str(beside.path)
        check_machines(study, run.topology, beside, name, simulated=is_simulated(run.manifest))
        check_definitions(run.manifest, beside.manifest, name)


def check_before(study: Study, beside: RunFolder, simulation: Simulation | None, resume: Path | None) -> None:
    """Raises BytewaysError, before anything is measured, if the runs will not be drawn beside each other."""
    from byteways.answers.results.progress import opened
    from byteways.ext.studies.comparison.two_machines import check_definitions, check_machines

    if resume is not None:
        check_pair(study, opened(resume), beside)
        return
    name = str(beside.path)
    probed = simulation.probe() if simulation else probe(None)
    topology = topology_of(probed, simulation)
    check_machines(study, topology, beside, name, simulated=simulation is not None)
    told = {"method_version": probed.method_version, "suite": {"text": study.suite.text}}
    check_definitions(told, beside.manifest, name)
