"""byteways measures every way a byte can move inside a GPU node, explains each result and recommends what
to use.

Importing this package touches no GPU and loads no native code.
"""

#: The one place of the version; pyproject.toml reads it here.
__version__ = "0.2.0.dev0"
