"""Two runs of one study, on two of the machines that it compares: each place has the values of its own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from byteways.answers.results.summary import RecordedRun
from byteways.base.errors import BytewaysError
from byteways.ext.studies.comparison.hardware import named, products, products_of_model
from byteways.ext.studies.comparison.places import Located
from byteways.ext.studies.comparison.value_lookup import Sheet
from byteways.ext.studies.published.study import Study, StudyPlace
from byteways.machine.model import Topology
from byteways.record.simulation_mark import is_simulated, subject


class PairedSheet(Sheet):
    """The values of a run, and those of a run beside it at places of the machine that only that one has."""

    def __init__(self, study: Study, run: RecordedRun, beside: RecordedRun) -> None:
        super().__init__(study, run)
        self._beside = Sheet(study, beside)

    def side(self, place: StudyPlace) -> Sheet:
        """Returns the sheet that has the values of a place."""
        system = products_of_model(place.model or self.study.models[0])
        here, there = (products(run.topology) for run in (self.run, self._beside.run))
        return self._beside if system & there and not system & here else self

    @cached_property
    def located(self) -> dict[str, Located]:
        own = Sheet(self.study, self.run).located
        return {
            name: own[name] if self.side(place) is self else self._beside.located[name]
            for name, place in self.study.places.items()
        }


def check_second_run(study: Study, beside: RecordedRun, name: str) -> None:
    """Raises BytewaysError if no figure of the study draws two machines, or the run is not one of it."""
    if not any(len(_systems(study, figure.places)) > 1 for figure in study.figures):
        raise BytewaysError(
            f"no figure of {study.key} draws two machines",
            cause=f"all of its places are on {study.models[0]}",
            hint=f"leave out --beside, or compare the runs: byteways compare RUN {name}",
        )
    recorded = beside.manifest.get("study") or {}
    if recorded.get("key") != study.key:
        suite = (beside.manifest.get("suite") or {}).get("name")
        raise BytewaysError(
            f"{name} is not a run of {study.key}",
            cause=f"it repeats {recorded['key']}" if recorded.get("key") else f"it ran suite {suite}",
            hint=f"byteways reproduce {study.folder or study.key} on the other machine makes one",
        )


def check_machines(study: Study, here: Topology, beside: RecordedRun, name: str, *, simulated: bool) -> None:
    """Raises BytewaysError if only one run is simulated, or the run beside adds no machine of the study."""
    if is_simulated(beside.manifest) != simulated:
        kinds = {True: "simulated", False: "measured"}
        raise BytewaysError(
            "simulated and measured values are not drawn in one figure",
            cause=f"{name} is {kinds[not simulated]}, and this run is {kinds[simulated]}",
            hint="use two simulated runs, or two measured ones",
        )
    own, other = products(here), products(beside.topology)
    systems = [products_of_model(model) for model in study.models]
    if not any(system & other and not system & own for system in systems):
        wanted = ", ".join(named(system) for system in systems)
        raise BytewaysError(
            f"{name} adds no machine that {study.key} compares",
            cause=f"it has {named(other)}, this run {named(own)}, and the study {wanted}",
            hint="name a run on the other machine of the study",
        )


def check_definitions(run: Mapping[str, Any], beside: Mapping[str, Any], name: str) -> None:
    """Raises BytewaysError if the runs of these manifests do not measure alike: method, or suite."""
    different = [
        what
        for what, own, other in (
            ("the method", run.get("method_version"), beside.get("method_version")),
            ("the suite", _suite(run), _suite(beside)),
        )
        if own != other
    ]
    if different:
        raise BytewaysError(
            f"{name} measured by another definition than this run",
            cause=f"{' and '.join(different)} of the study changed between them",
            hint="repeat the older run with this version",
        )


def _suite(manifest: Mapping[str, Any]) -> str:
    return str((manifest.get("suite") or {}).get("text") or "")


def _systems(study: Study, places: tuple[str, ...]) -> set[str]:
    return {study.places[name].model or study.models[0] for name in places}


def who(sheet: Sheet) -> str:
    """Returns the machine of a sheet as it is named beside values."""
    return subject(sheet.run.manifest)
