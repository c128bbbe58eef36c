"""Which interface is best: ranking, recommendation, answers, title."""
