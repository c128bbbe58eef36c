"""What is normal: results by setting, each with the machines they are from; and what follows for another one.

A machine's result is expected within the variation between machines of like settings, which is pooled: few
settings were measured on many machines. A setting of one machine counts, too, within a wider range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib import resources
from math import fsum, log, sqrt
from pathlib import Path
from statistics import median, quantiles, stdev

import msgspec

from byteways.answers.claims.claim import Reference
from byteways.answers.results.repeatability import Spread
from byteways.base.decoding import decoded
from byteways.base.errors import BytewaysError
from byteways.base.files import MOST_MANIFEST_BYTES, read_bytes
from byteways.base.system_errors import unusable

#: The word of --against, and the file that ships in this package.
NORMAL, NORMAL_FILE = "normal", "normal.json"
#: Of the file format.
VERSION = 1
#: Relative standard deviation between machines where no family says it: from a single machine, or settings
#: that only one machine has. Assumed: three times what bandwidths between GPUs vary by.
ASSUMED_DEVIATION = 0.05
#: … and the least, however alike few machines are: firmware, cooling and cables differ elsewhere.
LEAST_DEVIATION = 0.005
#: … and the least of one machine alone, whose settings other machines may not share: four times that.
SINGLE_DEVIATION = 0.02
#: Speed up to which a machine fails beside one machine alone: healthy ones of a kind differed by up to 47 %
#: where one of them had other pages or another state of the host (validation/normal.py).
SINGLE_FAILS_UP_TO = 0.5
#: Degrees of freedom of an assumed deviation.
ASSUMED_FREEDOM = 10.0
#: Relative standard deviation between runs of one machine, and its degrees of freedom. Assumed: beside the
#: rounds of a run, which are compared as well.
OWN_DEVIATION, OWN_FREEDOM = 0.01, 30.0
#: Least degrees of freedom of a family; a smaller one joins the next wider one. A setting with as many is its
#: own family.
LEAST_FAMILY_FREEDOM = 6
#: Machines that lie farther than so many interquartile ranges beyond the quartiles are not normal (the outer
#: fences of J. W. Tukey, Exploratory Data Analysis, 1977): one slow node must not excuse others.
OUTER_FENCE = 3.0
#: Fewest machines of which one can be told to be such.
LEAST_FENCED = 6


@dataclass(frozen=True)
class ReferenceMachine:
    """A machine that results are from, or a publication."""

    name: str  # the host's
    source: str  # where its results are: runs, or title and address of a publication
    uuids: tuple[str, ...] = ()  # of its GPUs
    simulated: bool = False
    published: bool = False
    gpus: Mapping[str, int] = field(default_factory=dict)  # number by model; a publication has none
    links: Mapping[str, int] = field(default_factory=dict)  # number by class


@dataclass(frozen=True)
class Sample:
    """A machine's result of one setting: the median over its cases, devices that are equal in it."""

    machine: int  # index in Normal.machines
    value: float  # bytes/s or ns
    least: float
    most: float
    cases: int
    rounds: int  # of the case with fewest


@dataclass(frozen=True)
class NormalSetting:
    """What machines give in one setting."""

    family: tuple[str, ...]  # keys of like settings, narrowest first
    counts: str | None
    timed_by: str | None  # None: a publication's own way
    suites: Mapping[str, int]  # least number of such cases of a machine, by suite
    samples: tuple[Sample, ...]

    @cached_property
    def usual(self) -> tuple[Sample, ...]:
        """The machines without those that lie apart from the others."""
        if len(self.samples) < LEAST_FENCED:
            return self.samples
        low, _, high = quantiles((log(sample.value) for sample in self.samples), n=4, method="inclusive")
        reach = max(OUTER_FENCE * (high - low), LEAST_DEVIATION)
        return tuple(sample for sample in self.samples if low - reach <= log(sample.value) <= high + reach)


@dataclass(frozen=True)
class Normal:
    """Reference results by setting, each with its machines and their sources."""

    version: int
    machines: tuple[ReferenceMachine, ...]
    settings: Mapping[str, NormalSetting]

    def text(self) -> str:
        """Returns the file's content: a line a setting, so that differences can be read."""
        machines = ",\n".join(f"  {_json(asdict(one))}" for one in self.machines)
        settings = ",\n".join(
            f"  {_json(key)}: {_json(asdict(one))}" for key, one in sorted(self.settings.items())
        )
        return (
            f'{{"version": {self.version},\n "machines": [\n{machines}\n ],\n'
            f' "settings": {{\n{settings}\n }}\n}}\n'
        )

    @property
    def simulated(self) -> bool:
        return any(machine.simulated for machine in self.machines)

    @cached_property
    def families(self) -> Mapping[str, Spread]:
        """Relative standard deviation between machines, pooled over all settings of a family."""
        squares: dict[str, list[tuple[float, int]]] = {}
        for one in self.settings.values():
            if freedom := len(one.usual) - 1:
                for key in one.family:
                    squares.setdefault(key, []).append((_own(one) ** 2, freedom))
        pooled = {}
        for key, found in squares.items():
            freedom = sum(number for _, number in found)
            if freedom >= LEAST_FAMILY_FREEDOM:
                variance = fsum(square * number for square, number in found) / freedom
                pooled[key] = Spread(sqrt(variance), float(freedom))
        return pooled

    def between(self, setting: NormalSetting) -> Spread:
        """Returns the relative standard deviation of one machine's result.

        That of its own machines, if they are enough; else that of the narrowest family with enough machines,
        or of its own machines if these differ more; without such a family, what is assumed and its own
        combined.
        """
        own, known = _own(setting), len(setting.usual) - 1
        if known >= LEAST_FAMILY_FREEDOM:
            return Spread(max(own, LEAST_DEVIATION), float(known))
        family = next((self.families[key] for key in setting.family if key in self.families), None)
        if family is None:
            freedom = ASSUMED_FREEDOM + known
            square = (ASSUMED_FREEDOM * ASSUMED_DEVIATION**2 + known * own**2) / freedom
            return Spread(sqrt(square), freedom)
        least = LEAST_DEVIATION if known else SINGLE_DEVIATION
        if all(self.machines[sample.machine].published for sample in setting.samples):
            least = ASSUMED_DEVIATION  # by other programs, on machines that nobody here has seen
        return Spread(max(family.deviation, own, least), family.freedom)

    def reference(self, key: str, own: int | None = None) -> Reference:
        """Returns what a machine's result in a setting is expected to be.

        Args:
            key: The setting.
            own: The machine itself, if it is one of these: its earlier results then say more than others'.
        """
        one = self.settings[key]
        if sample := next((sample for sample in one.samples if sample.machine == own), None):
            deviation = sqrt(OWN_DEVIATION**2 + _between_cases(one) ** 2)
            return Reference("this machine before", sample.value, deviation, OWN_FREEDOM)
        spread = self.between(one)
        parts = spread.deviation, spread.of_median(len(one.usual)), _between_cases(one)
        value = median(sample.value for sample in one.usual)
        return Reference(self.basis(key), value, sqrt(fsum(part**2 for part in parts)), spread.freedom)

    def basis(self, key: str) -> str:
        """`3 machines`, `1 machine`, `2 machines (1 published)`."""
        machines = [self.machines[sample.machine] for sample in self.settings[key].usual]
        published = sum(one.published for one in machines)
        number = f"{len(machines)} machine{'' if len(machines) == 1 else 's'}"
        return f"{number} ({published} published)" if published else number


def _json(data: object) -> str:
    return msgspec.json.encode(_short(data)).decode()


def _short(data: object) -> object:
    """Returns JSON data with whole numbers as such: `3767600000` in place of `3767600000.0`."""
    if isinstance(data, dict):
        return {key: _short(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_short(value) for value in data]
    return int(data) if isinstance(data, float) and data.is_integer() else data


def _own(setting: NormalSetting) -> float:
    """Returns the relative standard deviation between the machines of a setting; 0 of one machine."""
    values = [log(sample.value) for sample in setting.usual]
    return stdev(values) if len(values) > 1 else 0.0


def _between_cases(setting: NormalSetting) -> float:
    """Returns the relative standard deviation between equal devices of one machine, from their range.

    A range of n values is about 2 to 4 standard deviations wide for n from 2 to 30 (L. H. C. Tippett,
    Biometrika 17, 1925); half of it bounds the deviation from above for two values or more.
    """
    halves = [log(one.most / one.least) / 2 for one in setting.usual if one.cases > 1 and one.least > 0]
    return fsum(halves) / len(halves) if halves else 0.0


def read_normal(path: Path | None) -> Normal:
    """Reads reference results; None: those that ship with byteways.

    Raises:
        BytewaysError: The file cannot be read, or `byteways check --learn` did not write it.
    """
    if path is None:
        found: Normal = decoded((resources.files(__package__) / NORMAL_FILE).read_bytes(), Normal)
        return found
    try:
        content = read_bytes(path, MOST_MANIFEST_BYTES)
    except OSError as error:
        raise unusable(f"cannot read the reference {path}", error) from error
    hint = "byteways check --learn RUN… --out FILE writes such a file"
    try:
        found = decoded(content, Normal)
        _validate(found)
    except ValueError as error:
        raise BytewaysError(f"{path} is not a file of --learn", cause=str(error), hint=hint) from error
    return found


def _validate(found: Normal) -> None:
    """Raises ValueError if the file is of another version or its values are impossible."""
    if found.version != VERSION:
        raise ValueError(f"it has version {found.version}, this byteways reads {VERSION}")
    for key, one in found.settings.items():
        if not one.samples:
            raise ValueError(f"the setting '{key:.60}' has no machine")
        for sample in one.samples:
            if not 0 <= sample.machine < len(found.machines):
                raise ValueError(f"the setting '{key:.60}' names a machine that is not listed")
            if not 0 < sample.least <= sample.value <= sample.most < float("inf") or sample.cases < 1:
                raise ValueError(f"the setting '{key:.60}' has an impossible value")
