"""Finds what prevents good measurements on this machine, and advises how to fix it."""
