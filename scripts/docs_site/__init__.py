"""The documentation site: its settings, its navigation, and what it changes of the pages."""
