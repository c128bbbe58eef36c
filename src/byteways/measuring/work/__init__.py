"""The worker's process: it measures with the standard library and the native core only."""
