"""ext/audit"""
