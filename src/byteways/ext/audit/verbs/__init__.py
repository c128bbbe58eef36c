"""ext/audit/verbs"""
