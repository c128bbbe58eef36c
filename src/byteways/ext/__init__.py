"""Extensions: packages that the core does not import. byteways/extensions.py lists what they add to it."""
