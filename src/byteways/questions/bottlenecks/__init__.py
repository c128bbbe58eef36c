"""Predicts concurrent flows from single ones, and names the bottleneck of slower ones."""
