"""What conductor and worker both need. Imports nothing of either."""
