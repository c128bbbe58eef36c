"""Comparisons as data, made in one place (compare.py) and worded in one place (wording.py)."""
