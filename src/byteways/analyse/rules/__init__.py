"""One concern of the findings a file; each rule is a function from Facts to findings."""
