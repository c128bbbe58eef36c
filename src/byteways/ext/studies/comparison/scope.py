"""Which figures of a study a machine can reproduce, by its devices and links: known before measuring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from byteways.ext.studies.comparison.places import locate
from byteways.ext.studies.published.study import Study
from byteways.machine.model import Topology


@dataclass(frozen=True)
class Scope:
    """A study's figures by the source's own names (`Fig. 2a`), possible here or not."""

    possible: tuple[str, ...]
    gone: Mapping[str, tuple[str, ...]]  # impossible figures by reason

    @property
    def words(self) -> str:
        """'none of Fig. 2b, Fig. 2c: …', one part per reason; '' if all are possible."""
        return "; ".join(f"none of {', '.join(names)}: {reason}" for reason, names in self.gone.items())


def scope(study: Study, topology: Topology) -> Scope:
    """Returns which figures have a place on this machine. The plan decides on memory kinds and libraries."""
    located = locate(study, topology)
    possible: dict[str, None] = {}
    gone: dict[str, dict[str, None]] = {}
    for figure in study.figures:
        if figure.kind == "hops":  # concerns links, not places
            here = len(topology.names("gpu")) > 1
            reasons = [] if here else ["it needs two GPUs"]
        else:
            places = [located[name] for name in figure.places]
            here = any(place.devices or (figure.kind == "matrix" and place.named) for place in places)
            reasons = [place.why or place.reason for place in places if not place.devices]
        if here:
            possible[figure.locator] = None
        else:
            gone.setdefault(reasons[0], {})[figure.locator] = None
    return Scope(
        tuple(possible),
        {
            reason: tuple(name for name in names if name not in possible)
            for reason, names in gone.items()
            if any(name not in possible for name in names)
        },
    )
