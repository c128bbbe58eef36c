"""Formats in which other programs read the verdicts of a check, one a file."""
