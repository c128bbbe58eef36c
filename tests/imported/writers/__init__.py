"""One writer a format: it knows the numbers before it formats them, and nothing of the readers."""
