"""The verbs `import` and `audit`."""
