"""Programs that others wrote, alone and under every collector of `byteways watch`: `make test-programs`."""
