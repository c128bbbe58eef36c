"""A package, so that tests import what they share by its full name: `from tests.cache import cached`."""
