"""Looks for what keeps byteways from measuring well on this machine, and says what to do about each."""
