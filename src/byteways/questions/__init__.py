"""What follows from the records of a run (pure): results, claims, findings, tables, comparisons, verdicts."""
