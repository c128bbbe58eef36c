"""Own small programs that are watched beside those of others."""
