"""A realistic mailbox, made up from a seed, and the truth about it."""
