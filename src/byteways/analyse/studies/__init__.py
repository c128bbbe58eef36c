"""A run beside what a study published: places, cells, claims, and all of it together (pure)."""
