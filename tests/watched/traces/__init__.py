"""Traces of other profilers, written by us after their formats, with the bins to come out of them."""
