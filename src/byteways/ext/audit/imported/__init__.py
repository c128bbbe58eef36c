"""Numbers that other programs measured: one reader a format, one registry, one form of a value."""
