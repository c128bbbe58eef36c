"""Compares runs: of one machine case by case, of several machines by link class."""
