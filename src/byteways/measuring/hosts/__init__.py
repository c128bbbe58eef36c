"""Runs between hosts: one rank on each host, and pairs of hosts that measure at the same time."""
