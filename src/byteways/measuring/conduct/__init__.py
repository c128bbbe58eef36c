"""The conductor's process: it starts workers and writes the run folder. It never loads the native core."""
