"""The suites that are shipped."""
