"""Plans a run between hosts: which two hosts meet when, and what each pair measures (pure).

A plan is a rule, from which its pairs are computed round by round: 10,000 hosts have 50 million pairs.
"""
