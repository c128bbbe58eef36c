"""ext/studies/verbs"""
