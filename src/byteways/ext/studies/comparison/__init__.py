"""Compare a run with a published study: locations, values, claims and outcome (pure functions)."""
