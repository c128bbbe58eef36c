"""One result per case over its rounds, the index of a run, and the names of what it has."""
