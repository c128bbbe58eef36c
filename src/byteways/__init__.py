"""byteways benchmarks every data path in a GPU node and recommends the fastest interface for each.

Importing this package touches no GPU and loads no native code.
"""

#: The only place with the version; pyproject.toml reads it here.
__version__ = "0.2.0.dev0"
