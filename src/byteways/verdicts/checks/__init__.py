"""Checks of a run against a reference: a run, nominal peaks, limits, or what such machines normally give."""
