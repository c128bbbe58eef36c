"""What this machine is made of: one discovery source a file, put together into one Topology."""

from byteways.topology.discovery import discover

__all__ = ["discover"]
