"""What programs moved, as collectors and profilers write it."""
