"""The verbs `watch` and `advise`."""
