"""What a program moves: collectors, traces of other profilers, advice; `watch`, `advise`. README.md says
where to begin.
"""
