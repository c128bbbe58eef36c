"""`python -m byteways`."""

import sys

from byteways.cli import main

if __name__ == "__main__":
    sys.exit(main())
