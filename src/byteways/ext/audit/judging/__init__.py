"""Audit of numbers that other programs printed: possible, normal, low, odd, or counted otherwise."""
