"""Turns a suite and a machine into cases (pure)."""
