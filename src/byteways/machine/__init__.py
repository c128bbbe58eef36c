"""The hardware of this machine: one discovery source per file, combined into one Topology (discovery.py)."""
