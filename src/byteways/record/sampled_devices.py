"""The devices that stand for all of a large machine, as a manifest has them."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from byteways.base.devices import is_gpu

#: Of the sample; any other would do as well.
SEED = 0
#: The option that takes all devices.
OPTION = "--all-devices"


@dataclass(frozen=True)
class DeviceSample:
    """What globs of device names mean in a plan."""

    devices: tuple[str, ...]
    gpus: int  # of the machine
    cpus: int
    classes: tuple[str, ...]  # of links between the sampled devices
    left_out: tuple[str, ...]  # classes of links of the machine that no two sampled devices have
    seed: int = SEED
    option: str = OPTION  # that takes all

    @property
    def opened_gpus(self) -> int:
        """Number of GPUs that workers open."""
        return sum(is_gpu(name) for name in self.devices)

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def note(self) -> str:
        """Returns the sentence for the plan."""
        taken = [sum(name.startswith(kind) for name in self.devices) for kind in ("gpu", "cpu")]
        counts = [
            f"{some} of {total} {word}"
            for some, total, word in zip(taken, (self.gpus, self.cpus), ("GPUs", "NUMA domains"), strict=True)
            if some < total
        ]
        missed = f"; without {', '.join(self.left_out)}" if self.left_out else ""
        classes = "class" if len(self.classes) == 1 else "classes"
        return (
            f"{' and '.join(counts)} are sampled, with {len(self.classes)} {classes} of links"
            f" (seed {self.seed}){missed}; {self.option} takes all"
        )
