"""Traces of other profilers as bins: one file a format, one registry, one way of collecting."""
