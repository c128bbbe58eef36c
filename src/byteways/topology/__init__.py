"""The hardware of this machine: one discovery source per file, combined into one Topology."""

from byteways.topology.discovery import discover

__all__ = ["discover"]
