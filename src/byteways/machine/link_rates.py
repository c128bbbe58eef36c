"""Nominal data rates of links per direction with their sources: the only place with such numbers.

The data rate is the vendor's rate after line encoding, including protocol headers, so no transfer reaches
it. The raw rate on the wire is stored separately as the signalling rate.
"""

from __future__ import annotations

from dataclasses import dataclass

GIGA = 1e9


@dataclass(frozen=True)
class Rate:
    """Rate of a bundle of links per direction in bytes/s; None: unknown, with the reason in `source`."""

    data_bytes_per_s: float | None
    signalling_bytes_per_s: float | None
    source: str


@dataclass(frozen=True)
class _FabricLink:
    data_bytes_per_s: float  # one link, one direction
    signalling_bytes_per_s: float | None  # None: only the driver reports it
    source: str


#: One NVLink, one direction, by generation.
NVLINK = {
    1: _FabricLink(20e9, None, "NVIDIA Tesla P100 whitepaper: 4 links, 160 GB/s both directions"),
    2: _FabricLink(25e9, None, "NVIDIA Tesla V100 whitepaper: 6 links, 300 GB/s both directions"),
    3: _FabricLink(25e9, None, "NVIDIA A100 whitepaper: 12 links, 600 GB/s both directions"),
    4: _FabricLink(25e9, 26.5625e9, "NVIDIA H100 whitepaper: 18 links, 900 GB/s both directions"),
    5: _FabricLink(50e9, None, "NVIDIA Blackwell brief: 18 links, 1.8 TB/s both directions"),
}

#: NVLink generation by compute capability. It overrides NVML, because some drivers report version 5 for
#: sm_90.
_NVLINK_OF_ARCHITECTURE = {
    "sm_60": 1,
    "sm_70": 2,
    "sm_75": 2,
    "sm_80": 3,
    "sm_86": 3,
    "sm_90": 4,
    "sm_100": 5,
    "sm_103": 5,
}

#: Architectures with slower links than their generation: bytes/s of one link in one direction.
_SLOWER = {"sm_86": (14.0625e9, "NVIDIA GA102 whitepaper: 4 links, 56.25 GB/s each direction")}

#: One xGMI link (16 lanes) between GPUs, one direction: bytes/s by architecture, with source. The vendor's
#: data rate is that of the lanes, so it is also the signalling rate.
_XGMI = {
    "gfx906": (50e9, "AMD Radeon Instinct MI60 data sheet: 2 links, 200 GB/s both directions"),
    "gfx908": (
        46e9,
        "16 lanes × 23 Gbit/s; AMD Instinct MI100 data sheet: 3 links, 276 GB/s both directions",
    ),
    "gfx90a": (50e9, "16 lanes × 25 Gbit/s; AMD CDNA 2 white paper: 100 GB/s both directions"),
    "gfx942": (64e9, "16 lanes × 32 Gbit/s; AMD CDNA 3 white paper: 7 links, 896 GB/s both directions"),
    "gfx950": (76.8e9, "16 lanes × 38.4 Gbit/s; AMD CDNA 4 white paper: 7 links, 1075 GB/s both directions"),
}
#: xGMI link between a GPU and a CPU, slower than between GPUs.
_XGMI_TO_CPU = {
    "gfx90a": (
        36e9,
        "16 lanes × 18 Gbit/s; OLCF Crusher guide; Pearson, arXiv:2302.14827 (2023): 36 GB/s each direction, "
        "where the kernel driver assumes 50 GB/s",
    ),
}

#: PCI Express: transfers per second and lane, encoding (payload, total). PCI Express Base Specification 6.0,
#: section 4.2: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, then flits of 256 bytes of which 242 carry TLPs
#: and DLPs.
_PCIE = {
    1: (2.5e9, 8, 10),
    2: (5e9, 8, 10),
    3: (8e9, 128, 130),
    4: (16e9, 128, 130),
    5: (32e9, 128, 130),
    6: (64e9, 242, 256),
}
#: Transfers per second and lane of the extended speed mode, which CCIX has added to PCI Express 4.0.
_ESM_TRANSFERS = 25e9
PCIE_GENERATIONS = tuple(_PCIE)


def nvlink_generation(architecture: str | None, version: int, signalling_bytes_per_s: float) -> int | None:
    """Returns the generation of a GPU's NVLinks.

    Args:
        architecture: Compute capability, `sm_90`; None if unknown.
        version: From NVML; 0 if unknown.
        signalling_bytes_per_s: Of one link, from the driver; 0 if unknown.

    Returns:
        1 to 5; None if unknown.
    """
    if architecture in _NVLINK_OF_ARCHITECTURE:
        return _NVLINK_OF_ARCHITECTURE[architecture]
    for generation, link in NVLINK.items():
        known = link.signalling_bytes_per_s
        if known and abs(signalling_bytes_per_s - known) < 0.001 * known:
            return generation
    return version if version in NVLINK else None


def nvlink(
    count: int, generation: int | None, signalling_bytes_per_s: float = 0, architecture: str | None = None
) -> Rate:
    """Returns the rate of `count` parallel NVLinks: nominal for the generation, at most the driver's value.

    Args:
        count: Links in the bundle.
        generation: See nvlink_generation().
        signalling_bytes_per_s: Of one link, from the driver; 0 if unknown.
        architecture: Compute capability, `sm_90`; None if unknown.
    """
    if generation is None:
        unknown = "the driver does not report the NVLink generation"
        return Rate(None, count * signalling_bytes_per_s or None, unknown)
    link = NVLINK[generation]
    signalling = signalling_bytes_per_s or link.signalling_bytes_per_s
    one, source = _SLOWER.get(architecture or "", (link.data_bytes_per_s, link.source))
    if signalling and signalling < one:
        one, source = signalling, "the driver's link rate, lower than the generation's"
    return Rate(
        count * one,
        count * signalling if signalling else None,
        f"{count} links × {one / GIGA:.4g} GB/s ({source})",
    )


def c2c(count: int, megabytes_per_s: int) -> Rate:
    """Returns the rate of `count` NVLink-C2C links, each with the driver's maximum (0: unknown).

    The driver gives one rate for each link and direction, and not that on the wire.
    """
    if not megabytes_per_s:
        return Rate(None, None, "the source does not give the rate of NVLink-C2C links")
    one = megabytes_per_s * 1e6
    source = f"{count} links × {one / GIGA:.4g} GB/s (NVLink-C2C, the driver's maximum)"
    return Rate(count * one, None, source)


def nvlink_signalling(version: int, data_bytes_per_s: float) -> float:
    """Returns the raw rate of an NVLink with this data rate, as a driver reports it; unchanged if unknown."""
    link = NVLINK.get(version)
    raw = link.signalling_bytes_per_s if link else None
    return data_bytes_per_s * raw / link.data_bytes_per_s if link and raw else data_bytes_per_s


def pcie(generation: int, width: int) -> Rate:
    """Returns the rate of a PCI Express link of `width` lanes.

    Raises:
        ValueError: No such generation or width.
    """
    if generation not in _PCIE or not 1 <= width <= 32:
        raise ValueError(f"no PCI Express link has generation {generation} and {width} lanes")
    transfers, payload, total = _PCIE[generation]
    raw = transfers * width / 8
    return Rate(
        raw * payload / total,
        raw,
        f"{transfers / GIGA:g} GT/s × {width} lanes × {payload}/{total} (PCI Express Base Specification)",
    )


def pcie_extended(width: int) -> Rate:
    """Returns the rate of a PCI Express 4.0 link in extended speed mode (ESM), as between MI250X or MI300A
    and a Slingshot NIC. Lanes count as published, without their encoding.
    """
    raw = _ESM_TRANSFERS * width / 8
    told = f"{_ESM_TRANSFERS / GIGA:g} GT/s × {width} lanes in extended speed mode (CCIX Base Specification"
    return Rate(raw, raw, f"{told}; OLCF Frontier guide: 50 GB/s), which sysfs does not tell")


def pcie_transfers(generation: int) -> float:
    """Returns transfers per second and lane of a generation in PCIE_GENERATIONS."""
    return _PCIE[generation][0]


def pcie_generation(transfers_per_s: float) -> int | None:
    """Returns the generation of a rate per lane such as 32e9 (sysfs: `32.0 GT/s PCIe`); None if unknown."""
    for generation, (transfers, _, _) in _PCIE.items():
        if transfers == transfers_per_s:
            return generation
    return None


def xgmi(
    count: int, architecture: str | None, *, to_cpu: bool = False, driver_bytes_per_s: float | None = None
) -> Rate:
    """Returns the rate of `count` parallel xGMI links: nominal for the architecture, otherwise the driver's.

    Args:
        count: Links in the bundle.
        architecture: Of the GPU, `gfx90a`; None if unknown.
        to_cpu: Whether one end is a CPU.
        driver_bytes_per_s: Of one link, from the driver; None if unknown. It has low priority, as older
            kernels report the 50 GB/s of gfx90a for later architectures, too (amdgpu_amdkfd.c).
    """
    table = _XGMI_TO_CPU if to_cpu else _XGMI
    known = table.get(architecture or "")
    one, source = known or (driver_bytes_per_s, "by the kernel driver")
    if one is None:
        return Rate(
            None, None, f"no nominal rate is known for xGMI links of {architecture or 'unknown GPUs'}"
        )
    links = "1 link" if count == 1 else f"{count} links"
    return Rate(count * one, count * one if known else None, f"{links} × {one / GIGA:.4g} GB/s ({source})")
