"""The copy library from Python and PyTorch, and `plan`, which writes its plans. README.md says where to
begin.
"""

#: Modules that other packages may import; the rest is this package's own.
FACE = (
    "copies",
    "fast",
    "native_library",
    "plans",
)
