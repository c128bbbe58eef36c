"""Measures: conductor, workers, several hosts, and what they share."""
