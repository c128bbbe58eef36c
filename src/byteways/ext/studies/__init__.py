"""Published experiments repeated: their values and claims, a run compared with them, `reproduce`. README.md
says where to begin.
"""
