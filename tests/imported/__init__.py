"""Outputs of other programs, written by us after their formats, with the values to come out of them."""
