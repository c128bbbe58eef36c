"""What a run says, computed again from its records by code that shares nothing with byteways."""
