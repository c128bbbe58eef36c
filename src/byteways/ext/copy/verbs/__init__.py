"""ext/copy/verbs"""
