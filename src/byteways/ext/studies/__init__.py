"""ext/studies"""
