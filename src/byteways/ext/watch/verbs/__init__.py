"""ext/watch/verbs"""
