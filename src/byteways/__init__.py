"""byteways measures every way a byte can move inside a GPU node, explains the number, and says what to use.

Importing this package touches no GPU and loads no native code.
"""

__version__ = "0.1.0"
